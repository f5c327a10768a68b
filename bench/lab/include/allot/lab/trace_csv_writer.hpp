// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/trace.hpp>
#include <allot/lab/trace_csv.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// Receives a text, tens of thousands of bytes at once; a piece is valid during the call.
using text_sink = std::function<void(std::string_view piece)>;

/// Writes a trace as canonical CSV in pieces to `sink`: the jobs in the order of `trace::jobs`, the required
/// columns, the optional ones that some job uses, and the tags. Lines end in a line feed. `read_trace_csv`
/// reads the same trace back. O(jobs x columns).
void write_trace_csv(const trace& t, const text_sink& sink);

/// The same as one text.
[[nodiscard]] std::string to_csv(const trace& t);

/// Whether the job has a value in that column that differs from what an empty field means there.
[[nodiscard]] bool says(const trace_job& job, trace_column column);

}  // namespace lab
}  // namespace v0
}  // namespace allot
