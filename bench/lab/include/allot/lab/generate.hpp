// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// A training team.
struct training_team {
  /// The quota that it submits to.
  std::string tenant;
  /// Its jobs are named prefix-00001, prefix-00002...
  std::string prefix;
  /// Its share of the training in the workload, and the size of its largest job: its nominal quota.
  std::int64_t gpus = 0;
};

/// Several training teams and one serving team on one cluster.
///
/// *Training.* Sizes are powers of two and mostly one; durations range from half a minute to three days, with
/// most of the work in few jobs, as in Microsoft's Philly trace. Work arrives in office hours, half as much
/// at weekends. The teams take turns: for a day or two one team is busy (it submits about two and a half
/// times its average) while the others are quiet, then another, then all are (more than the cluster has), and
/// after the second round none is. So there is mostly capacity to lend, and a team to borrow it.
///
/// *Serving.* Services of one to eight one-GPU replicas, each of them a job that is not preemptible, start
/// during the day, mostly in the morning and less at weekends, and stay between three hours and a day.
///
/// The work matches `load_permille`, to a GPU-minute and whatever the seed (some of it remains when the time
/// is over). Every team draws from its own stream, so one can be changed without the others.
struct team_workload {
  std::uint64_t seed = 1;
  /// Starting on a Monday, 0:00.
  std::int64_t days = 14;
  std::int64_t cluster_gpus = 128;
  /// All work, in thousandths of what the cluster can do in that time.
  std::int64_t load_permille = 900;
  /// The serving part of it, in thousandths of the same.
  std::int64_t serving_permille = 110;

  vector<training_team> training = {{"quota1.1", "b", 48}, {"quota1.2", "c", 80}};
  std::string serving_tenant = "quota1";
  std::string serving_prefix = "a";
  std::int32_t serving_priority = 100;
  /// Of training jobs; nothing: they save nothing.
  std::optional<instant> checkpoint = 30 * minute;
  instant restart = 2 * minute;
};

/// The workload that the parameters describe, sorted by submission. The same parameters give the same jobs on
/// every machine. Precondition: at least one day, GPU and training team; every team has a GPU and its own
/// tenant and prefix; 0 <= serving <= load <= 10,000 permille.
[[nodiscard]] trace generate_teams(const team_workload& w);

/// A plain workload of any size, for benchmarks: arrivals without a rhythm (Poisson), exponential durations,
/// 1, 2, 4 or 8 GPUs (70, 15, 10 and 5 percent), tenants drawn evenly.
struct uniform_workload {
  std::uint64_t seed = 1;
  std::size_t jobs = 10'000;
  /// Named t0, t1...
  std::size_t tenants = 3;
  std::int64_t cluster_gpus = 128;
  /// In thousandths of the cluster, on average.
  std::int64_t load_permille = 900;
  instant mean_duration = hour;
};

/// The workload described by the parameters, sorted by submission. Precondition: only seed and jobs may be 0.
[[nodiscard]] trace generate_uniform(const uniform_workload& w);

}  // namespace lab
}  // namespace v0
}  // namespace allot
