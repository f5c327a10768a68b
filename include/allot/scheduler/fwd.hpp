// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: views, settings, the loop, plans. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

enum class addressee : std::uint8_t;
template <class Session>
class availability;
enum class backfill_order : std::uint8_t;
struct backoff;
struct backoff_times;
struct by_settings;
template <std::size_t MostMoves>
struct consolidation;
struct cycle_abilities;
struct cycle_memory;
enum class delay_cause : std::uint8_t;
struct departures;
struct eviction_after_resize;
class eviction_counts;
template <class Session, class QuotaOrder, class VictimOrder, class Guard, class Protection, class... Options>
class exhaustive_cycle;
template <class Scheduler>
struct explained_change;
struct flavor_choice;
template <std::size_t N>
class flavor_menu;
enum class flavor_preference : std::uint8_t;
enum class flavor_step : std::uint8_t;
struct gathering;
struct holder;
enum class job_state : std::uint8_t;
enum class kept_by : std::uint8_t;
class livelock_detector;
struct no_placement;
enum class pending_reason : std::uint8_t;
template <class QuotaOrder, class JobOrder, class VictimOrder, class Guard, class Protection,
          class... Options>
struct policies;
enum class queue_head : std::uint8_t;
enum class queue_order : std::uint8_t;
struct queue_settings;
template <std::size_t N>
struct quota_gauges;
template <std::size_t N>
struct quota_rules;
enum class refusal : std::uint8_t;
struct reservation;
template <class Job>
struct resumption;
template <class View, class Placement, class Policies>
class scheduler;
struct scheduler_memory;
template <class Job, class Place>
struct scheduler_state;
struct settled;
struct shortest_first;
struct submission;
struct unit_state;
template <class Places, std::size_t MostPlaces>
class with_pod_sets;

}  // namespace v0
}  // namespace allot
