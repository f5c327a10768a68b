// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/gpu/demand.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {
namespace sim {

/// The number of a job in a workload that is sorted by submission, then id.
using job_index = std::uint32_t;

/// A job of a simulated workload. Times are in milliseconds.
template <std::size_t N = 1>
struct job {
  quota_id quota{};
  /// Of the whole job.
  resources<N> request{};
  gpu::demand demand{};
  std::int32_t priority = 0;
  bool preemptible = true;
  instant submit = 0;
  /// How long it runs when nothing interrupts it.
  instant duration = 0;
  /// Work is saved after every so much of it; what came since is lost on eviction. Nothing: never saved.
  std::optional<instant> checkpoint{};
  /// What going on after an eviction costs before work resumes.
  instant restart = 0;

  /// How much of `done` work survives an eviction.
  [[nodiscard]] constexpr instant saved(instant done) const noexcept {
    if (!checkpoint) return 0;
    return *checkpoint <= 0 ? done : done / *checkpoint * *checkpoint;
  }
};

/// Shows a workload to a scheduler: a job is its number. All jobs of a single queue are of quota 0.
template <std::size_t N = 1>
struct workload_view {
  using job = job_index;

  std::span<const sim::job<N>> jobs;
  bool single_queue = false;

  [[nodiscard]] quota_id quota(job j) const { return single_queue ? quota_id{0} : jobs[j].quota; }
  [[nodiscard]] const resources<N>& request(job j) const { return jobs[j].request; }
  [[nodiscard]] std::int32_t priority(job j) const { return jobs[j].priority; }
  [[nodiscard]] instant submitted(job j) const { return jobs[j].submit; }
  [[nodiscard]] std::uint64_t id(job j) const { return j; }
  [[nodiscard]] bool preemptible(job j) const { return jobs[j].preemptible; }
  [[nodiscard]] instant duration(job j) const { return jobs[j].duration; }
  [[nodiscard]] const gpu::demand& demand(job j) const { return jobs[j].demand; }
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
