// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/replay_result.hpp"

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// Gives every job that was refused a sentence that says why, where it has none yet.
void explain_refusals(replay_result& r);

/// What a person should know besides the figures: the first refused jobs by name, and how many never ran.
/// Empty when there is nothing.
[[nodiscard]] std::string warnings(const replay_result& r);

/// The figures that come first, as text for a terminal.
[[nodiscard]] std::string headline(const replay_result& r);

}  // namespace lab
}  // namespace v0
}  // namespace allot
