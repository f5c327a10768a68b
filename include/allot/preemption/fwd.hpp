// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: who yields, and what keeps it fair. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

template <class... Protections>
class any_protection;
template <std::size_t N>
struct beneficiary;
struct cheapest_lost_work;
template <std::size_t N>
class consolidation_search;
struct eligible_is_fair;
enum class fairness_rule : std::uint8_t;
struct final_share;
struct final_then_initial_share;
struct initial_share;
struct lowest_priority_then_highest_share;
struct lowest_priority_then_newest;
template <class Guarantees>
struct minimum_runtime;
struct no_second_pass;
struct possible_victims;
enum class preempt_borrow : std::uint8_t;
enum class preempt_reclaim : std::uint8_t;
enum class preempt_rivals : std::uint8_t;
struct preempt_settings;
enum class preempt_within : std::uint8_t;
enum class relation : std::uint8_t;
enum class resize_outcome : std::uint8_t;
template <std::size_t N>
struct rival_sides;
template <std::size_t N>
class running_index;
template <std::size_t N>
struct running_job;
struct runtime_guarantee;
enum class runtime_source : std::uint8_t;
template <class Entitlement>
class saturation_guard;
enum class search_outcome : std::uint8_t;
template <std::size_t N>
struct search_progress;
struct second_pass;
struct unprotected;
struct verdict;
template <std::size_t N>
struct victim;
template <std::size_t N>
struct victim_candidate;
struct victim_rank;

}  // namespace v0
}  // namespace allot
