// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/report/run_summary.hpp"
#include "lab/sweep/compare.hpp"
#include "lab/sweep/compare_common.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A page that shows sides of several runs each (configurations of a sweep). For each set of sides (a
/// scenario at a load) it has the headline figures as bars with their standard deviations, and a table of
/// means, deviations and differences from the first side of the set. Before them it has curves over the loads
/// of each scenario: of the figures in `curves`, or if there are none of the headline figures. Precondition:
/// there is a side.
[[nodiscard]] std::string page_of_sides(const vector<run_group>& groups, const vector<std::string>& curves);

/// Adds a note on runs, by name, whose input differs from that of the first: the remarks of `remark_on`, one
/// paragraph for each kind. Adds nothing if all inputs are the same.
void write_other_inputs(std::string& html, std::string_view first,
                        const vector<std::pair<std::string_view, shared_input>>& runs);

/// The same on a run that measures another part of itself: the remark of `remark_on_window`.
void write_other_window(std::string& html, std::string_view run, std::string_view part,
                        std::string_view first, std::string_view part_of_first);

/// What a figure is called in a table, with its mark.
[[nodiscard]] std::string label_of(const shown_figure& f, const other_jobs& others);

/// What the figures mean, those that only comparisons have and their marks too.
void write_compared_definitions(std::string& html);

}  // namespace lab
}  // namespace v0
}  // namespace allot
