// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/observers.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// One uninterrupted run of a job, or of one pod of an elastic job beyond those that it needs.
struct job_run {
  /// The job.
  job_index job = 0;
  /// Whether it was cut short.
  bool evicted = false;
  /// Whether it is a pod beyond those that the job needs.
  bool elastic = false;
  /// @{
  /// When it began and ended.
  instant begin = 0;
  instant end = 0;
  /// @}

  /// Its pods are `run_log::pods(run)`.
  std::uint32_t first_pod = 0;
  /// The number of its pods.
  std::uint32_t pods = 0;
};

/// Where a pod of a run was.
struct run_pod {
  /// Its node and devices.
  gpu::pod_location where;
  /// What it had of each of its devices.
  std::uint32_t milli = gpu::milli_per_gpu;

  /// What it had of all its devices together.
  [[nodiscard]] constexpr quantity gpus() const noexcept {
    return gpu::placed_pod{.where = where, .milli = milli}.gpus();
  }
};

/// Where and when every job of a simulation ran; written by a `run_logger`. 32 bytes per run and 24 per pod.
class run_log {
 public:
  /// In the order in which they began. The end of a run that has not ended is meaningless, except after
  /// `pause`.
  [[nodiscard]] std::span<const job_run> runs() const noexcept { return runs_; }
  /// Where it ran; empty without nodes.
  [[nodiscard]] std::span<const run_pod> pods(const job_run& run) const {
    return std::span{pods_}.subspan(run.first_pod, run.pods);
  }
  /// The last run of a job, not of pods beyond those that it needs, or null.
  [[nodiscard]] const job_run* last_run(job_index j) const {
    return j < last_.size() && last_[j] != none ? &runs_[last_[j]] : nullptr;
  }
  /// The simulation pauses before its end: current runs have lasted until now. It may continue. O(jobs).
  void pause(instant now) {
    for (std::size_t j = 0; j < running_.size(); ++j) {
      if (running_[j]) runs_[last_[j]].end = now;
    }
    for (const auto& pod : elastic_) runs_[pod.second].end = now;
  }

  /// Records what has just happened in the simulation.
  template <std::size_t N>
  void note(const simulator<N>& sim, const job_event<N>& e) {
    switch (e.what) {
      case job_event_kind::started:
        if (last_.empty()) last_.assign(sim.jobs().size(), none);
        last_[e.job] = begin(sim, e.job, sim.history(e.job).id, false);
        running_.resize(last_.size());
        running_[e.job] = true;
        break;
      case job_event_kind::grew:
        elastic_.emplace(std::pair{e.job, e.pod}, begin(sim, e.job, e.pod, true));
        break;
      case job_event_kind::shrank: {
        const auto at = elastic_.find({e.job, e.pod});
        runs_[at->second].end = sim.now();
        runs_[at->second].evicted = true;
        elastic_.erase(at);
        break;
      }
      case job_event_kind::evicted:
      case job_event_kind::finished:
        end(sim.now(), e.job, e.what == job_event_kind::evicted);
        break;
      case job_event_kind::cancelled:
        if (running_.size() > e.job && running_[e.job]) end(sim.now(), e.job, false);
        break;
      case job_event_kind::submitted:
      case job_event_kind::refused:
        break;
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  template <std::size_t N>
  [[nodiscard]] std::uint32_t begin(const simulator<N>& sim, job_index j, job_id unit, bool elastic) {
    // The job may have started before the simulation.
    const instant since = elastic ? sim.now() : sim.history(j).last_start;
    job_run run{j, false, elastic, since, since, static_cast<std::uint32_t>(pods_.size()), 0};
    if (sim.places().has_nodes()) {
      for (const gpu::placed_pod& pod : sim.places().inventory().pods(sim.scheduler().place_of(unit))) {
        pods_.push_back({pod.where, pod.milli});
        ++run.pods;
      }
    }
    runs_.push_back(run);
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  void end(instant now, job_index j, bool cut_short) {
    running_[j] = false;
    const auto close = [&](job_run& run) {
      run.end = now;
      run.evicted = cut_short;
    };
    close(runs_[last_[j]]);
    const auto first = elastic_.lower_bound({j, job_id{0}});
    auto last = first;
    for (; last != elastic_.end() && last->first.first == j; ++last) close(runs_[last->second]);
    elastic_.erase(first, last);
  }

  vector<job_run> runs_;
  vector<run_pod> pods_;
  /// By job.
  vector<std::uint32_t> last_;
  vector<bool> running_;
  /// The current runs of pods beyond those that their jobs need.
  std::map<std::pair<job_index, job_id>, std::uint32_t> elastic_;
};

/// Observes a simulation and records its runs in a log, which it references.
template <std::size_t N>
class run_logger final : public observer<N> {
 public:
  explicit run_logger(run_log& log) noexcept : log_(&log) {}
  /// As declared in `observer`.
  void on(const simulator<N>& sim, const job_event<N>& e) override { log_->note(sim, e); }

 private:
  run_log* log_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
