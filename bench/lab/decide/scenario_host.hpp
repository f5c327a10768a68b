// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a host has before its first cycle: a scheduler to which the running jobs of a scenario are known and
/// the pending ones submitted, whatever their submission time. N is 1 or `max_resources`, and holds the
/// scenario's resources. The scenario must outlive it.
template <std::size_t N>
struct scenario_host {
  using scheduler_type = scheduler_for<named_policy, sim::workload_view<N>, sim::places>;
  using job_index = sim::job_index;

  /// A pending job that can never start.
  struct rejection {
    job_index job;
    std::string reason;
    std::string text;
  };

  /// `w` is the workload of the scenario with its running jobs placed; `of_user` are the user's quotas as the
  /// preset sees them. With a single queue the scheduler sees one quota instead, which has everything.
  scenario_host(const scenario& s, workload<N> w, quota_tree<N> of_user, const named_policy& preset);
  scenario_host(const scenario_host&) = delete;
  scenario_host& operator=(const scenario_host&) = delete;

  /// Tells the scheduler what is announced by `now`; adds to `found` what can't become of the quotas.
  void expect_what_is_known(errors& found);

  const scenario& file;
  workload<N> jobs;
  quota_tree<N> accounts;
  bool single_queue;
  capacity_kind not_preemptible;
  scheduler_type scheduler;
  /// By job number, none for a job that was refused; for an elastic job, the pods that it needs.
  vector<job_id> ids;
  /// Units being evicted.
  vector<job_id> going{};
  vector<rejection> rejected{};
  /// No job was submitted or started later.
  instant now = 0;

 private:
  void adopt_running();
  void submit_pending();
};
extern template struct scenario_host<1>;
extern template struct scenario_host<max_resources>;

/// Null if a running job does not fit where the scenario places it, or what is announced can't become of the
/// quotas; then the reason is added to `found`. Also null if no preset has the name of the scenario's policy,
/// which is an error of reading it.
template <std::size_t N>
[[nodiscard]] std::unique_ptr<scenario_host<N>> host_jobs(const scenario& s, errors& found);
extern template std::unique_ptr<scenario_host<1>> host_jobs<1>(const scenario&, errors&);
extern template std::unique_ptr<scenario_host<max_resources>> host_jobs<max_resources>(const scenario&,
                                                                                       errors&);

}  // namespace lab
}  // namespace v0
}  // namespace allot
