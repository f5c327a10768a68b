// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/scenario/scenario.hpp"

#include <cstddef>
#include <set>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// A readable summary of a valid scenario: nodes, the quota tree with its numbers, jobs.
[[nodiscard]] std::string summary(const scenario& s);
/// The same for a trace; `read`: the columns of tags that a scenario reads.
[[nodiscard]] std::string summary(const trace& t, const std::string& file,
                                  const std::set<std::size_t>& read = {});

/// What in a valid scenario is no error and yet probably not meant: jobs that can never run, and running ones
/// that stand where they would not be placed. Empty if there is nothing. A running job that does not fit is
/// reported.
[[nodiscard]] std::string describe_doubts(const scenario& s, errors& found);

/// `allot check`: reads all of a scenario, or of a CSV trace (a file called *.csv). Returns the exit status:
/// 0 with a summary on standard output, or 2 with all errors on standard error.
[[nodiscard]] int run_check(const scenario_source& source);

/// `allot policies`: the policy names that a scenario can use, with what each is, in lines of at most
/// `width` characters.
[[nodiscard]] std::string list_policies(std::size_t width = 80);

}  // namespace lab
}  // namespace v0
}  // namespace allot
