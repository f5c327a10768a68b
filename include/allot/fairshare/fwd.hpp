// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: what each team is owed of the surplus, and whose turn it is. Declared only, and
// without default template arguments.

#include <cstddef>

namespace allot {
inline namespace v0 {

struct account;
struct best_job_first;
struct borrowed_share;
struct by_owned;
struct by_weight;
struct claimant;
template <std::size_t N>
struct contender;
class decay_factor;
template <class Rounding>
class decayed_surplus;
template <std::size_t N, class SurplusRule>
class division;
template <class Measure>
class even_totals;
class fair_tree;
struct fair_tree_rank_first;
class first_come;
struct highest_priority_first;
struct history_settings;
struct job_rank;
template <std::size_t N>
struct least_past_use_first;
template <class... Orders>
class lexicographic;
template <std::size_t N, class Entitlements>
struct lowest_saturation;
template <std::size_t N>
struct lowest_total_share;
template <std::size_t N>
struct past_use_of;
struct past_use_settings;
template <std::size_t N>
struct pending_minimum;
struct portion;
template <class Measure, class Rounding>
class proportional;
class rounded_down;
struct share_key;
struct submission_first;
template <std::size_t N>
class subtree_usage;
template <std::size_t N>
struct total_use;
template <std::size_t N>
class usage_history;
struct water_level;
class webster;
class winner_trees;
struct within_nominal_first;
struct within_nominal_then_borrowed_share;

}  // namespace v0
}  // namespace allot
