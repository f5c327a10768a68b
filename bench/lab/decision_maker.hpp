// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/decide.hpp"
#include "lab/explain.hpp"

#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>
#include <allot/systems/by_name.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Runs the jobs of a scenario through a scheduler, as a host would, and keeps what it decides. One cycle is
/// quick whatever it counts, so it is compiled for the most dimensions only.
class decision_maker {
 public:
  static constexpr std::size_t n = max_resources;
  using scheduler_type = scheduler_for<any_preset, sim::workload_view<n>, sim::places>;
  using plan_type = scheduler_type::plan_type;
  using job_index = sim::job_index;

  /// `w` is the workload of the scenario, those placed that run; `accounts` are the user's quotas as the
  /// preset sees them. In a single queue the scheduler sees one quota instead, which has everything.
  decision_maker(const scenario& s, workload<n> w, quota_tree<n> accounts, const any_preset& preset);
  decision_maker(const decision_maker&) = delete;
  decision_maker& operator=(const decision_maker&) = delete;

  /// Up to so many cycles.
  void run(std::size_t rounds);
  /// What was decided, and how things stand then.
  [[nodiscard]] decision conclude();

  // How things stand.

  [[nodiscard]] const scenario& file() const noexcept { return scenario_; }
  [[nodiscard]] const std::vector<std::string_view>& ids() const noexcept { return jobs_.ids; }
  [[nodiscard]] const sim::job<n>& job(job_index j) const { return jobs_.setup.jobs[j]; }
  /// Of the scenario's own jobs: what it says of it.
  [[nodiscard]] const job_entry* entry(job_index j) const {
    const auto at = jobs_.origins[j].entry;
    return at ? &scenario_.jobs[*at] : nullptr;
  }
  /// None of one that was refused.
  [[nodiscard]] job_id id_of(job_index j) const { return ids_[j]; }
  [[nodiscard]] scheduler_type& policy() noexcept { return scheduler_; }
  [[nodiscard]] const scheduler_type& policy() const noexcept { return scheduler_; }
  [[nodiscard]] bool is_single_queue() const noexcept { return single_queue_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] const std::string& name_of(quota_id x) const { return scenario_.quotas[x.index()].spec.name; }
  /// What its units of a job have, one that runs, or ask for.
  [[nodiscard]] amounts used_by(job_index j) const;
  [[nodiscard]] capacity_kind capacity_of(job_index j) const {
    return job(j).preemptible ? capacity_kind::any : not_preemptible_;
  }
  /// Of the accounts of the user's quotas, which the preset may ignore: what jobs hold.
  [[nodiscard]] ledger<n> accounts() const;
  /// The same before anything was decided.
  [[nodiscard]] const ledger<n>& accounts_before() const { return *before_; }
  /// What the own jobs of each quota use and wait for.
  [[nodiscard]] std::vector<resources<n>> demand() const;
  /// By quota: what the policy's own division gives it of what there is.
  [[nodiscard]] std::vector<amounts> entitlements() const;
  /// The flavors of a choice, by resource.
  [[nodiscard]] std::vector<flavor_name> flavors_of(job_index j, const flavor_pick& pick) const;
  [[nodiscard]] std::vector<std::string_view> nodes_of(gpu::allocation_id at) const;
  /// Of all its pods that run.
  [[nodiscard]] std::vector<std::string_view> nodes_of_job(job_index j) const;
  /// Why a waiting job waits.
  [[nodiscard]] decision::pending_job explain_waiting(job_index j);
  /// The GPUs of those of its pods that have no room: free GPUs that are not together do not help.
  [[nodiscard]] quantity missing_blocks(const gpu::unplaceable& why, job_index j) const;
  [[nodiscard]] std::string_view gpu_resource(job_index j) const;
  [[nodiscard]] standing standing_of(quota_id x, std::size_t d) const;
  /// The name of a quota as the scheduler knows it.
  [[nodiscard]] std::string_view queue_name(quota_id x) const { return scheduler_.tree().name(x); }
  /// The demand of the job as it is chosen now.
  [[nodiscard]] gpu::pod_request pod_request_of(job_index j) const;
  /// What a waiting job could ask for, by choice of flavors, and what stops it then.
  struct choice {
    flavor_pick pick{};
    resources<n> request{};
    gpu::pod_request pod_request{};
    std::vector<shortfall> lacks{};
    gpu::unplaceable place{};
  };
  /// In the order of its choices; one of a job that has none. At most `most`.
  [[nodiscard]] std::vector<choice> choices_of(job_index j, std::size_t most = 32) const;

 private:
  void adopt_running();
  void submit_pending();
  void refuse(job_index j, std::string reason, std::string text);
  void record(const plan_type& plan);
  void let_go();
  [[nodiscard]] bool is_quiet(const plan_type& plan);
  [[nodiscard]] std::uint64_t pods_at(job_index j, gpu::allocation_id at, std::uint32_t pods) const;
  void close_accounts();

  const scenario& scenario_;
  workload<n> jobs_;
  quota_tree<n> accounts_;
  bool single_queue_;
  capacity_kind not_preemptible_;
  scheduler_type scheduler_;
  /// By number of the job; of an elastic job the pods that it needs.
  std::vector<job_id> ids_;
  /// Units that were told to go and have not gone.
  std::vector<job_id> going_;
  /// Of the last plan: who waits for those who were told to go for him.
  std::vector<job_index> awaiting_;
  /// Those held in the last plan.
  std::vector<job_id> held_last_;
  bool had_plan_ = false;
  std::map<job_index, bool> unproven_;
  std::optional<ledger<n>> before_;
  instant now_ = 0;
  decision made_;
};

/// Up to `rounds` cycles on the jobs of the scenario; nothing when a running job does not fit where it is
/// said to stand.
[[nodiscard]] std::unique_ptr<decision_maker> make_decisions(const scenario& s, std::size_t rounds,
                                                             errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
