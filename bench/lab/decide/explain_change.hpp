// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/lab/change_story.hpp>

#include <optional>
#include <span>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// What the changes would make of all that is decided at once on the jobs of the scenario: see `read_change`.
/// Returns nullopt and adds the reason to `found` if a change names nothing, or the scenario is wrong with
/// them.
[[nodiscard]] std::optional<change_story> explain_changes(const scenario& s,
                                                          std::span<const std::string> changes,
                                                          errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
