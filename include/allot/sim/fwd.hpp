// SPDX-License-Identifier: BSL-1.0
#pragma once

// The nouns of the room: the simulator. Declared only, and without
// default template arguments.

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

namespace sim {

struct cancel_event;
enum class decision_kind : std::uint64_t;
class decision_log;
template <std::size_t N, class Places>
class driver;
class fingerprint;
template <std::size_t N>
struct flavor_set;
struct host_faults;
struct interruption;
template <std::size_t N>
struct job;
template <std::size_t N>
struct job_event;
enum class job_event_kind : std::uint8_t;
struct job_history;
enum class job_outcome : std::uint8_t;
template <std::size_t N, class Places>
class job_place;
struct job_run;
struct livelocks_seen;
enum class node_change : std::uint8_t;
struct node_event;
template <std::size_t N, class Places>
class observer;
template <std::size_t N>
class observers;
template <std::size_t N, class Progress, class Places>
class pacing;
class places;
template <std::size_t N>
struct quota_event;
class run_log;
template <std::size_t N>
class run_logger;
struct run_pod;
struct running_job_at_start;
template <std::size_t N, class Places>
struct setup;
template <std::size_t N, class Places>
class simulator;
class speed_tables;
template <std::size_t N>
struct unlike_pods;
template <std::size_t N>
struct workload_view;

}  // namespace sim

}  // namespace v0
}  // namespace allot
