// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/setup.hpp>
#include <allot/sim/speed_tables.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A job that its quota's access rule refuses. It never reaches the scheduler.
struct refused_job {
  std::string_view id;
  quota_id quota;
  instant submit = 0;
  instant duration = 0;
  /// In seconds; 0 if unknown.
  std::int64_t estimate = 0;
  /// "zoe may not submit to team-a: it admits the users ana".
  std::string text;
};

/// The origin of a job in a workload.
struct job_origin {
  /// The index in `scenario::jobs`, or none.
  std::optional<std::uint32_t> entry{};
  /// The index in the jobs of the trace, or none.
  std::optional<std::uint32_t> traced{};
};

/// How fast these jobs run, as the scenario says.
[[nodiscard]] sim::speed_tables speeds_of(const scenario& s, const vector<job_origin>& jobs);
/// The columns of tags of the trace that they depend on.
[[nodiscard]] std::set<std::size_t> columns_of_speeds(const scenario& s);

/// The input of the simulator and the scheduler. Refers to texts of the scenario, which must outlive it.
template <std::size_t N>
struct workload {
  /// The quotas as the user gave them: the simulator adapts them to the preset. (In the presets of Kueue a
  /// quota without children may not borrow a flavor that it does not list.) The settings are those of the
  /// quotas that exist from the start.
  sim::setup<N> setup;
  /// For every quota, including those added by events.
  vector<queue_settings> settings{};
  /// For the jobs in `setup.jobs`, in their order.
  vector<std::string_view> ids{};
  vector<job_origin> origins{};
  /// The names of the sets of `setup.unlike`.
  vector<vector<std::string_view>> set_names{};

  /// Those of a job; none if its pods are alike.
  [[nodiscard]] std::span<const std::string_view> sets_of(const sim::job<N>& job) const {
    if (job.unlike == 0) return {};
    return set_names[job.unlike - 1];
  }
  /// The job classes, by `job::job_class`; the first is that of jobs without a class.
  vector<std::string_view> classes{};
  /// By submission, then id.
  vector<refused_job> refused{};
  /// How fast the jobs run; none: at the nominal speed.
  std::optional<sim::speed_tables> speeds{};
};

/// The first set of a job for which the quota lacks something under these flavors, whose number is in
/// `workload::sets_of`; none if all its pods are alike.
template <std::size_t N>
[[nodiscard]] std::optional<std::size_t> lacking_set(const sim::workload_view<N>& view, sim::job_index j,
                                                     const flavor_pick& pick, const shortfall& why) {
  if (view.pod_sets(j) < 2) return std::nullopt;
  const std::uint32_t fewest = view.jobs[j].fewest_pods();
  const pods_by_set pods = view.by_set(j, fewest);
  const quantity allowed = view.amount(j, fewest, pick)[why.dimension] - why.missing;
  quantity sum;
  for (std::size_t s = 0; s < view.pod_sets(j); ++s) {
    const quantity its = view.pod(j, pod_set_id{s}, pick)[why.dimension] * std::int64_t{pods[s]};
    sum += its;
    if (its > quantity{} && sum > allowed) return s;
  }
  return std::nullopt;
}

/// The jobs of scenario and trace together, sorted by submission, then id; the settings from the preset,
/// overridden by the quotas. N is 1 or max_resources, and must hold the scenario's resources. Running jobs
/// are treated like the others here: a simulation, in which nothing runs at the beginning, must refuse them.
template <std::size_t N>
[[nodiscard]] workload<N> make_workload(const scenario& s);
extern template workload<1> make_workload<1>(const scenario&);
extern template workload<max_resources> make_workload<max_resources>(const scenario&);

/// Takes the places of the jobs that are running, or being evicted, in `to.setup.where`, and lists them in
/// `to.setup.running`. Jobs with known devices come first, then those with known nodes, so that a job that
/// may run anywhere does not take their places. A running job with several flavors has the first one that its
/// quota allows and that has room where the job runs. Reports jobs that do not fit.
template <std::size_t N>
void place_running(const scenario& s, workload<N>& to, errors& found);
extern template void place_running<1>(const scenario&, workload<1>&, errors&);
extern template void place_running<max_resources>(const scenario&, workload<max_resources>&, errors&);

/// Reports the running jobs that `place_running` can't place, for those who only check a scenario.
void check_running(const scenario& s, errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
