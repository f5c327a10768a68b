// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/gpu/demand.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// One uninterrupted run of a job.
struct job_run {
  job_index job = 0;
  /// Whether it ended by an eviction.
  bool evicted = false;
  instant begin = 0;
  instant end = 0;
  /// Its pods are `run_log::pods(run)`.
  std::uint32_t first_pod = 0;
  std::uint32_t pods = 0;
};

/// Watches a simulation and remembers where every job ran, and when. 48 bytes a run and 24 a pod.
class run_log {
 public:
  /// In the order in which they began. A run that has not ended has no meaningful end.
  [[nodiscard]] std::span<const job_run> runs() const noexcept { return runs_; }
  /// Where it stood; empty without nodes.
  [[nodiscard]] std::span<const gpu::placed_pod> pods(const job_run& run) const {
    return std::span{pods_}.subspan(run.first_pod, run.pods);
  }
  /// The last run of a job, or null.
  [[nodiscard]] const job_run* last_run(job_index j) const {
    return j < last_.size() && last_[j] != none ? &runs_[last_[j]] : nullptr;
  }

  template <class Simulator>
  void submitted(const Simulator&, job_index) {}
  template <class Simulator>
  void refused(const Simulator&, job_index, refusal) {}
  template <class Simulator>
  void started(const Simulator& sim, job_index j, const resources<Simulator::n>&) {
    job_run run{j, false, sim.now(), sim.now(), static_cast<std::uint32_t>(pods_.size()), 0};
    if (sim.where().has_nodes()) {
      const auto place = sim.policy().place_of(sim.history(j).id);
      for (const gpu::placed_pod& pod : sim.where().inventory().pods(place)) {
        pods_.push_back(pod);
        ++run.pods;
      }
    }
    if (last_.empty()) last_.assign(sim.jobs().size(), none);
    last_[j] = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back(run);
    running_.resize(last_.size());
    running_[j] = true;
  }
  template <class Simulator>
  void evicted(const Simulator& sim, job_index j, job_index, relation, instant) {
    end(sim.now(), j).evicted = true;
  }
  template <class Simulator>
  void finished(const Simulator& sim, job_index j) {
    end(sim.now(), j);
  }
  template <class Simulator>
  void cancelled(const Simulator& sim, job_index j) {
    if (j < running_.size() && running_[j]) end(sim.now(), j);
  }
  template <class Simulator>
  void settled(const Simulator&) {}

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  job_run& end(instant now, job_index j) {
    running_[j] = false;
    job_run& run = runs_[last_[j]];
    run.end = now;
    return run;
  }

  std::vector<job_run> runs_;
  std::vector<gpu::placed_pod> pods_;
  /// By job.
  std::vector<std::uint32_t> last_;
  std::vector<bool> running_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
