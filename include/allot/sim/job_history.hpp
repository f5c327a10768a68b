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

#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace sim {

enum class job_outcome : std::uint8_t {
  /// Not submitted when the simulation ended.
  future,
  waiting,
  running,
  completed,
  refused,
  cancelled,
  /// It ran as long as a job of its kind may, and is over.
  time_limit,
};

/// Why a run was cut short, or a running job lost a pod.
struct interruption {
  enum class cause : std::uint8_t {
    /// The policy says so: see `how`.
    decided,
    /// A node on which it stood has failed.
    node_down,
    /// It had been told to go before the simulation began.
    told_before,
  };
  cause why{};
  relation how{};
  /// For whom, if for anybody.
  std::optional<job_index> beneficiary{};
  /// Of a run that was cut short: the work that came to nothing, as the time that it takes all pods.
  instant lost = 0;
};

/// What became of a job.
struct job_history {
  job_outcome outcome = job_outcome::future;
  refusal why_refused = refusal::none;
  /// Which of its flavors it had last; before it had any, the first of all.
  flavor_pick pick{};
  /// When it first started and when it ended; meaningless before.
  instant first_start = 0;
  instant end = 0;
  instant last_start = 0;
  job_progress work{};
  /// How often it started, was told to go by the policy, and was lost with a node. Pods that come and go
  /// while it runs do not count.
  std::uint32_t runs = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t node_failures = 0;
  job_id id{};
  event_queue<job_index>::ticket end_event{};
  event_queue<job_index>::ticket limit_event{};

  /// Running time that came to nothing, as the time of all its pods: work since the last checkpoint, and
  /// restarts.
  [[nodiscard]] constexpr instant lost() const noexcept { return work.in_time_of_all(work.lost()); }
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
