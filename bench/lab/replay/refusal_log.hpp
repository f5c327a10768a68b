// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/report/replay_result.hpp"
#include "lab/scenario/explain.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The requests without a place, and the reasons, of the jobs refused for that; determined on the nodes at
/// the time of the refusal.
template <std::size_t N>
class refusal_log final : public sim::observer<N> {
 public:
  explicit refusal_log(const workload<N>& w) : workload_(&w) {}

  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    if (e.what != sim::job_event_kind::refused || e.why_refused != refusal::larger_than_cluster) return;
    const gpu::pod_request asked =
        sim.scheduler().view().pod_request(e.job, sim.jobs()[e.job].fewest_pods(), {});
    const gpu::unplaceable answer = why_never(asked, sim.places());
    const auto sets = workload_->sets_of(sim.jobs()[e.job]);
    refused_.push_back({e.job, answer.reason, explain(answer, sim.places(), sets)});
  }

  /// Sets the reasons in the jobs, which are indexed by number in the simulation.
  void tell(vector<replayed_job>& jobs) {
    for (entry& e : refused_) {
      jobs[e.job].reason = gpu::to_string(e.reason);
      jobs[e.job].explanation = std::move(e.text);
    }
    refused_.clear();
  }

 private:
  struct entry {
    sim::job_index job;
    gpu::obstacle reason;
    std::string text;
  };
  const workload<N>* workload_;
  vector<entry> refused_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
