// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: notions of fairness that no preset of the library uses. Declared only, and without
// default template arguments.

#include <cstddef>

namespace allot {
inline namespace v0 {

struct adjusted_share;
class adjusted_shares;
template <std::size_t N>
class admission_usage;
template <std::size_t N>
struct admission_usage_settings;
struct disruption_budget;
class eviction_history;
template <std::size_t N>
class hierarchical_drf;
template <std::size_t N>
struct lowest_admission_score_first;
template <std::size_t N>
struct lowest_hierarchical_share;
struct share_claim;
template <std::size_t N>
class whole_gangs;

}  // namespace v0
}  // namespace allot
