// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/report/replay_result.hpp"

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// Gives every refused job that has no explanation yet a sentence with the reason.
void explain_refusals(replay_result& r);

/// What the user should know besides the figures: the first refused jobs by name, and how many never ran.
/// Empty if there is nothing.
[[nodiscard]] std::string warnings(const replay_result& r);

/// The main figures, as text for a terminal.
[[nodiscard]] std::string headline(const replay_result& r);

}  // namespace lab
}  // namespace v0
}  // namespace allot
