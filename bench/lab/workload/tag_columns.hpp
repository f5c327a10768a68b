// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A column of a trace that is kept as a tag, and the column of a trace that it may have been meant for: one
/// with a similar name, or one that other systems give this name. Empty if there is none, or if some job has
/// a value there.
struct tag_column {
  std::string_view name;
  std::string_view meant;
};

/// The tag columns of a trace, in their order, without those that a scenario reads (`read`, by index).
/// O(jobs), plus the columns.
[[nodiscard]] vector<tag_column> unread_tag_columns(const trace& t, const std::set<std::size_t>& read);

/// The column of a trace that one of this name is probably meant for, whatever its case: "tenant" for "vc"
/// and "Tenant", "priority" for "priorty"; empty for a name that resembles none.
[[nodiscard]] std::string_view trace_column_meant_by(std::string_view name);

/// A line about each of these that was probably meant for another one, for standard error; `file` is the
/// name of the trace.
[[nodiscard]] std::string doubtful_tags(const trace& t, std::string_view file,
                                        const std::set<std::size_t>& read);

}  // namespace lab
}  // namespace v0
}  // namespace allot
