// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/detail/event_queue.hpp>
#include <allot/sim/detail/job_progress.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace sim {

/// The state of a job when the simulation has ended or is paused.
enum class job_outcome : std::uint8_t {
  /// Not yet submitted when the simulation ended.
  future,
  waiting,
  running,
  completed,
  refused,
  cancelled,
  /// It reached its time limit.
  time_limit,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(job_outcome value) noexcept {
  switch (value) {
    case job_outcome::future:
      return "future";
    case job_outcome::waiting:
      return "waiting";
    case job_outcome::running:
      return "running";
    case job_outcome::completed:
      return "completed";
    case job_outcome::refused:
      return "refused";
    case job_outcome::cancelled:
      return "cancelled";
    case job_outcome::time_limit:
      return "time_limit";
  }
  return "";
}

/// Why a run was cut short, or a running job lost a pod.
struct interruption {
  /// What cut it short.
  enum class cause : std::uint8_t {
    /// Decided by the policy: see `how`.
    decided,
    /// A node on which it ran has failed.
    node_down,
    /// Its eviction began before the simulation.
    told_before,
    /// It could not be started: see `host_faults`.
    start_failed,
  };
  /// The name of the enumerator; empty if there is no such value.
  [[nodiscard]] friend constexpr std::string_view to_string(cause value) noexcept {
    switch (value) {
      case cause::decided:
        return "decided";
      case cause::node_down:
        return "node_down";
      case cause::told_before:
        return "told_before";
      case cause::start_failed:
        return "start_failed";
    }
    return "";
  }
  /// What cut it short.
  cause why{};
  /// With `decided`, by which relation.
  relation how{};
  /// The job that benefits, if any.
  std::optional<job_index> beneficiary{};
  /// For a run that was cut short: what it lost, as time of all pods.
  instant lost = 0;
};

/// The history of a job.
struct job_history {
  /// What has become of it.
  job_outcome outcome = job_outcome::future;
  /// Why it was refused, if it was.
  refusal why_refused = refusal::none;
  /// The flavors it had last; before it had any, the first of all.
  flavor_pick pick{};
  /// When it first started and when it ended; meaningless before.
  instant first_start = 0;
  /// When it ended; meaningless before.
  instant end = 0;
  /// When it started last; meaningless before it has.
  instant last_start = 0;
  /// The work done and lost.
  job_progress work{};
  /// How often it started, was preempted by the policy, and was lost with a node. Pods that come and go while
  /// it runs do not count.
  std::uint32_t runs = 0;
  /// How often the policy has evicted it.
  std::uint32_t preemptions = 0;
  /// How often it was lost with a node.
  std::uint32_t node_failures = 0;
  /// @{
  /// How often its start, or an eviction of it or of its pods, was begun, and how often that failed.
  std::uint32_t starts = 0;
  std::uint32_t failed_starts = 0;
  std::uint32_t evictions = 0;
  std::uint32_t failed_evictions = 0;
  /// @}
  /// Its id in the scheduler; none before it is submitted.
  job_id id{};
  /// @{
  /// The events of its end, of its time limit and of its start; meaningless unless it runs.
  event_queue<job_index>::ticket end_event{};
  event_queue<job_index>::ticket limit_event{};
  event_queue<job_index>::ticket start_event{};
  /// @}

  /// Lost running time, as the time of all its pods: work since the last checkpoint, and restarts.
  [[nodiscard]] constexpr instant lost() const noexcept { return work.in_time_of_all(work.lost()); }
};

template <std::size_t N>
instant workload_view<N>::attained(job j, instant now) const {
  return histories == nullptr ? 0 : histories[j].work.held(now);
}
template <std::size_t N>
instant workload_view<N>::done(job j, instant now) const {
  return histories == nullptr ? 0 : histories[j].work.in_time_of_all(histories[j].work.done(now));
}
template <std::size_t N>
std::uint32_t workload_view<N>::runs(job j) const {
  return histories == nullptr ? 0 : histories[j].runs;
}
template <std::size_t N>
instant workload_view<N>::first_start(job j) const {
  return histories == nullptr ? 0 : histories[j].first_start;
}

}  // namespace sim
}  // namespace v0
}  // namespace allot
