// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/compare.hpp"

#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A page that shows sides of several runs each (configurations of a sweep): for each set of sides (a
/// scenario at a load) the headline figures as bars with their standard deviations, and a table of means,
/// deviations and differences from the first side of the set. Precondition: a side.
[[nodiscard]] std::string page_of_sides(const std::vector<run_group>& groups);

}  // namespace lab
}  // namespace v0
}  // namespace allot
