// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/scenario.hpp"

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a person wants to see of a valid scenario: nodes, the tree of quotas with their numbers, jobs.
[[nodiscard]] std::string summary(const scenario& s);
/// The same of a trace alone.
[[nodiscard]] std::string summary(const trace& t, const std::string& file);

/// `allot check`: reads all of a scenario, or of a CSV trace (a file called *.csv). Returns the exit status:
/// 0 with a summary on standard output, or 2 with everything that is wrong on standard error.
[[nodiscard]] int run_check(const scenario_source& source);

/// `allot policies`: the names that a scenario's policy can have, with a line each.
[[nodiscard]] std::string list_policies();

}  // namespace lab
}  // namespace v0
}  // namespace allot
