// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/compare.hpp"
#include "lab/run_summary.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A page that shows sides of several runs each (configurations of a sweep): for each set of sides (a
/// scenario at a load) the headline figures as bars with their standard deviations, and a table of means,
/// deviations and differences from the first side of the set. Precondition: a side.
[[nodiscard]] std::string page_of_sides(const std::vector<run_group>& groups);

/// Adds what is to be known of runs, by their names, that did not run on the input of the first: the remarks
/// of `remark_on`, a paragraph for all of a kind; nothing when they all did.
void write_other_inputs(std::string& html, std::string_view first,
                        const std::vector<std::pair<std::string_view, shared_input>>& runs);

}  // namespace lab
}  // namespace v0
}  // namespace allot
