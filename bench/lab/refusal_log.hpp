// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/explain.hpp"
#include "lab/replay_result.hpp"

#include <allot/core/ids.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job_runs.hpp>

#include <string>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// What there is no place for, and why, of the jobs that are refused for it: asked of the nodes as they are
/// then.
class refusal_log {
 public:
  template <class Simulator>
  void submitted(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void refused(const Simulator& sim, sim::job_index j, refusal why) {
    if (why != refusal::larger_than_cluster) return;
    const gpu::demand asked = sim.policy().view().demand(j, sim.jobs()[j].fewest_pods(), {});
    const gpu::unplaceable answer = sim.where().why_not(asked);
    refused_.push_back({j, answer.reason, explain(answer, sim.where())});
  }
  template <class Simulator>
  void started(const Simulator&, sim::job_index, const resources<Simulator::n>&) {}
  template <class Simulator>
  void grew(const Simulator&, sim::job_index, job_id, const resources<Simulator::n>&) {}
  template <class Simulator>
  void shrank(const Simulator&, sim::job_index, job_id, const sim::interruption&) {}
  template <class Simulator>
  void evicted(const Simulator&, sim::job_index, const sim::interruption&) {}
  template <class Simulator>
  void finished(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void cancelled(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void settled(const Simulator&) {}

  /// Tells the jobs, which are those of the simulation by number.
  void tell(std::vector<replayed_job>& jobs) {
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
  std::vector<entry> refused_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
