// SPDX-License-Identifier: BSL-1.0
//
// What status, page and metrics say in the same way.
#pragma once

#include "governor/src/snapshot.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_governor {

/// A quota in a drawing of the tree.
struct tree_line {
  std::size_t quota = 0;
  std::size_t depth = 0;
};
/// Every quota once: those below another right after it, else as in the file.
[[nodiscard]] std::vector<tree_line> tree_order(const snapshot& s);
/// By quota, whether there is one below it.
[[nodiscard]] std::vector<bool> inner_quotas(const snapshot& s);

/// The amount of a resource; nothing if the row is too short.
[[nodiscard]] allot::quantity amount_of(const amounts_row& row, std::size_t resource);
/// "8 gpu, 64 cpu".
[[nodiscard]] std::string amounts_text(const snapshot& s, const amounts_row& row);
/// What a job requests: "8 gpu", and of a heterogeneous one "24 gpu on 1 + 3 nodes".
[[nodiscard]] std::string request_text(const snapshot& s, const snapshot::job& j);
/// "8 gpu".
[[nodiscard]] std::string amount_text(const snapshot& s, allot::quantity q, std::size_t resource);

/// "-" if there is none.
[[nodiscard]] std::string quota_name(const snapshot& s, std::optional<std::size_t> quota);
/// A number with at most three decimals; "inf" and "nan" if it is not one.
[[nodiscard]] std::string decimal_text(double number);
/// A span in a suitable unit: "45 s", "12 min", "3.4 h", "2.5 d". Clocks step: a negative one is "0 s".
[[nodiscard]] std::string span_text(milliseconds span);

/// The end of a reason: "; it starts at TIME at the latest".
[[nodiscard]] std::string start_clause(milliseconds at);
/// Why it waits, without when it starts if that is told elsewhere; of one that is released, why the host does
/// not start it.
[[nodiscard]] std::string reason_text(const snapshot& s, const snapshot::job& j);

/// The listed jobs of a phase.
[[nodiscard]] std::vector<const snapshot::job*> jobs_in(const snapshot& s, job_phase phase);
/// How many there are, also those that are not listed.
[[nodiscard]] std::size_t count_in(const snapshot& s, job_phase phase);

/// A text for a format that demands UTF-8: as it is, or with other bytes as \xNN. The middle of a very long
/// one is left out.
[[nodiscard]] std::string utf8_text(std::string_view text);
/// A text of a user for people: of one line, nothing in it is obeyed, and not longer than about `most` bytes.
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t most = 60);

}  // namespace allot_governor
