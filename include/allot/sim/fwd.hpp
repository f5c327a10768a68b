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
struct deadline_counts;
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
struct job_counts;
template <std::size_t N>
struct job_event;
enum class job_event_kind : std::uint8_t;
struct job_figures;
struct job_history;
enum class job_outcome : std::uint8_t;
struct job_run;
struct livelocks_seen;
template <std::size_t N>
class metrics;
template <std::size_t N>
struct metrics_settings;
enum class node_change : std::uint8_t;
struct node_event;
template <std::size_t N, class Places>
class observer;
template <std::size_t N>
class observers;
struct part_figures;
class places;
template <std::size_t N>
struct quota_event;
struct quota_figures;
struct quota_moment;
struct reclaim_figures;
struct run_figures;
class run_log;
template <std::size_t N>
class run_logger;
struct run_pod;
struct running_job_at_start;
struct sample_summary;
template <std::size_t N, class Places>
struct setup;
template <std::size_t N, class Places>
class simulator;
class step_integral;
struct time_window;
enum class wait_cause : std::uint8_t;
template <std::size_t N>
class wait_reasons;
struct wait_split;
template <std::size_t N>
struct workload_view;

}  // namespace sim

}  // namespace v0
}  // namespace allot
