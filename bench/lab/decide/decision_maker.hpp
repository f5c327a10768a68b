// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/decide/decide.hpp"
#include "lab/decide/scenario_host.hpp"
#include "lab/replay/planned_nodes.hpp"
#include "lab/scenario/explain.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Runs the jobs of a scenario through a scheduler, as a host would, and records what it decides. One cycle
/// is fast for any number of resources, so this is compiled only for the largest number of dimensions.
class decision_maker {
 public:
  static constexpr std::size_t n = max_resources;
  using scheduler_type = scenario_host<n>::scheduler_type;
  using plan_type = scheduler_type::plan_type;
  using job_index = sim::job_index;

  /// Before the first cycle.
  explicit decision_maker(std::unique_ptr<scenario_host<n>> host);
  decision_maker(const decision_maker&) = delete;
  decision_maker& operator=(const decision_maker&) = delete;

  /// Runs up to `rounds` cycles.
  void run(std::size_t rounds);
  /// The decisions, and the resulting state.
  [[nodiscard]] decision conclude();

  // The state.

  [[nodiscard]] const scenario& file() const noexcept { return scenario_; }
  [[nodiscard]] const vector<std::string_view>& ids() const noexcept { return jobs_.ids; }
  [[nodiscard]] const sim::job<n>& job(job_index j) const { return jobs_.setup.jobs[j]; }
  /// The scenario's entry of one of its own jobs; null for other jobs.
  [[nodiscard]] const job_entry* entry(job_index j) const {
    const auto at = jobs_.origins[j].entry;
    return at ? &scenario_.jobs[*at] : nullptr;
  }
  /// None if the job was refused.
  [[nodiscard]] job_id id_of(job_index j) const { return ids_[j]; }
  [[nodiscard]] scheduler_type& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] const scheduler_type& scheduler() const noexcept { return scheduler_; }
  [[nodiscard]] bool is_single_queue() const noexcept { return host_->single_queue; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] const std::string& name_of(quota_id x) const { return scenario_.quotas[x.index()].spec.name; }
  /// What the units of the job use if it is running, else what they request.
  [[nodiscard]] amounts used_by(job_index j) const;
  [[nodiscard]] capacity_kind capacity_of(job_index j) const {
    return job(j).preemptible ? capacity_kind::any : host_->not_preemptible;
  }
  /// What jobs hold in the user's quotas, which the preset may ignore.
  [[nodiscard]] ledger<n> accounts() const;
  /// The same before anything was decided.
  [[nodiscard]] const ledger<n>& accounts_before() const { return before_; }
  /// The usage and the pending requests of each quota's own jobs.
  [[nodiscard]] vector<resources<n>> demand() const;
  /// By quota: its part of the capacity according to the policy's own division.
  [[nodiscard]] vector<amounts> entitlements() const;
  /// The flavors of a choice, by resource.
  [[nodiscard]] vector<flavor_name> flavors_of(job_index j, const flavor_pick& pick) const;
  /// The sets of a job whose pods differ, with the flavors of a choice and no pods; none of any other job.
  [[nodiscard]] vector<decision::pod_set> sets_of(job_index j, const flavor_pick& pick) const;
  [[nodiscard]] vector<std::string_view> nodes_of(gpu::allocation_id at) const;
  /// The nodes of all its running pods.
  [[nodiscard]] vector<std::string_view> nodes_of_job(job_index j) const;
  /// Why a job is pending.
  [[nodiscard]] decision::pending_job explain_waiting(job_index j);
  /// The GPUs of those pods that have no room. Free GPUs in separate pieces do not help them.
  [[nodiscard]] quantity missing_blocks(const gpu::unplaceable& why, job_index j) const;
  [[nodiscard]] std::string_view gpu_resource(job_index j) const;
  /// Whether the policy has bounds of its own, and not the ledger's law.
  [[nodiscard]] bool has_own_bounds() const;
  /// Why that bound does not allow the request of the job with this id.
  [[nodiscard]] std::string explain_lack(const shortfall& s, std::string_view id,
                                         const resources<n>& request) const;
  [[nodiscard]] standing standing_of(quota_id x, std::size_t d) const;
  /// The name of a quota as the scheduler knows it.
  [[nodiscard]] std::string_view queue_name(quota_id x) const { return scheduler_.tree().name(x); }
  /// The pod request of the job under its current choice of flavors.
  [[nodiscard]] gpu::pod_request pod_request_of(job_index j) const;
  /// What a pending job could request under a choice of flavors, and what blocks it then.
  struct choice {
    flavor_pick pick{};
    resources<n> request{};
    gpu::pod_request pod_request{};
    vector<shortfall> lacks{};
    gpu::unplaceable place{};
  };
  /// In the order of the job's choices; a job without flavors has one. At most `most`.
  [[nodiscard]] vector<choice> choices_of(job_index j, std::size_t most = 32) const;

 private:
  void record(const plan_type& plan);
  void let_go();
  [[nodiscard]] bool is_quiet(const plan_type& plan);
  [[nodiscard]] std::uint64_t pods_at(job_index j, gpu::allocation_id at, std::uint32_t pods) const;
  void close_accounts();

  const scenario& scenario_;
  std::unique_ptr<scenario_host<n>> host_;
  // Parts of it.
  const workload<n>& jobs_ = host_->jobs;
  const quota_tree<n>& accounts_ = host_->accounts;
  scheduler_type& scheduler_ = host_->scheduler;
  const vector<job_id>& ids_ = host_->ids;
  vector<job_id>& going_ = host_->going;
  instant& now_ = host_->now;
  /// Of the last plan: beneficiaries that wait for their victims to end.
  vector<job_index> awaiting_;
  /// Since it was first asked for, after the last cycle.
  std::optional<planned_nodes> planned_;
  /// Jobs pending in the last plan.
  vector<job_id> held_last_;
  bool had_plan_ = false;
  ledger<n> before_;
  decision made_;
};

/// Runs up to `rounds` cycles on the jobs of the scenario; null if a running job does not fit where the
/// scenario places it.
[[nodiscard]] std::unique_ptr<decision_maker> make_decisions(const scenario& s, std::size_t rounds,
                                                             errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
