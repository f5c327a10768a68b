// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/isolation.hpp>
#include <allot/lab/metrics/statistics.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/preemption/eligibility.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

// The figures of a simulation, in exact integers: times in milliseconds, amounts of GPU time in milli-GPUs x
// milliseconds. `metrics` defines each figure.

/// Why a job waits (the split of the Philly study, with the rest distinguished).
enum class wait_cause : std::uint8_t {
  /// A limit of its quota, or of an ancestor, does not allow it, or its quota backs off: fair-share delay.
  fair_share,
  /// Its quota allows it and enough GPUs are free, but not together: fragmentation delay.
  fragmentation,
  /// Its quota allows it, but too few GPUs are free.
  capacity,
  /// It could run: it waits for its turn behind others, for jobs being evicted, or until it is ready.
  order,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(wait_cause value) noexcept {
  switch (value) {
    case wait_cause::fair_share:
      return "fair_share";
    case wait_cause::fragmentation:
      return "fragmentation";
    case wait_cause::capacity:
      return "capacity";
    case wait_cause::order:
      return "order";
  }
  return "";
}
/// The number of causes.
inline constexpr std::size_t wait_cause_count = 4;

/// How a quota, or all of them, got back what was lent.
struct reclaim_figures {
  /// How long it was without what it had a claim to, beyond the grace period and within the window.
  instant violated = 0;
  /// How long it took to get it back, for all claims that arose in the window and were met.
  sample_summary latency;
  /// The number of claims not met in the end.
  std::size_t open = 0;
};

/// The state of a quota's own jobs and own pool, in milli-GPUs.
struct quota_moment {
  /// What its jobs use.
  std::int64_t used = 0;
  /// What the fair-share division of the current demand gives its own jobs.
  std::int64_t entitled = 0;
  /// What its jobs use of other quotas' pools, and other quotas' jobs of its pool.
  std::int64_t borrowed = 0;
  /// What other quotas' jobs use of its pool.
  std::int64_t lent = 0;
  /// The number of its pending jobs.
  std::uint32_t pending = 0;

  friend constexpr bool operator==(const quota_moment&, const quota_moment&) noexcept = default;
};

/// The outcomes of the jobs. The total is the sum of the others.
struct job_counts {
  /// All jobs.
  std::size_t total = 0;
  /// Those that did all their work.
  std::size_t completed = 0;
  /// Neither ended nor refused when the simulation ended: the sum of the next three.
  std::size_t unfinished = 0;
  /// They were pending then.
  std::size_t waiting = 0;
  /// They were running then.
  std::size_t running = 0;
  /// They were not yet submitted then.
  std::size_t future = 0;
  /// Those that the scheduler refused.
  std::size_t refused = 0;
  /// Those that were cancelled.
  std::size_t cancelled = 0;
  /// They reached their time limit.
  std::size_t time_limit = 0;

  friend bool operator==(const job_counts&, const job_counts&) = default;
};

/// The waiting time by cause, in milliseconds, summed over the jobs; see `wait_cause`. The parts add up to
/// the whole.
struct wait_split {
  /// The waiting time, by `wait_cause`.
  std::array<wide, wait_cause_count> by{};

  [[nodiscard]] constexpr wide operator[](wait_cause c) const noexcept {
    return by[static_cast<std::size_t>(c)];
  }
  /// The waiting time of all causes.
  [[nodiscard]] constexpr wide total() const noexcept {
    wide sum = 0;
    for (const wide part : by) sum += part;
    return sum;
  }
};

/// Of the jobs with a deadline that were neither refused nor cancelled, how many met it.
struct deadline_counts {
  /// The jobs with a deadline.
  std::size_t jobs = 0;
  /// Those of them that met it.
  std::size_t met = 0;

  friend bool operator==(const deadline_counts&, const deadline_counts&) = default;
};

/// The figures of all jobs, or of those of one quota, class or size. If there is a window, times are of the
/// jobs submitted in it, preemptions and lost time are those in it, of whatever jobs, and outcomes are of the
/// whole run.
struct job_figures {
  /// How many there were, by outcome.
  job_counts jobs;
  /// How many of them were submitted in the window.
  std::size_t submitted = 0;
  /// From submission to completion, of the jobs that completed.
  sample_summary jct;
  /// From submission to the first start, of the jobs that started.
  sample_summary queue;
  /// All time in which the job did not run, of the jobs that completed.
  sample_summary wait;
  /// `bounded_slowdown` with a bound of 10 s, of the jobs that completed, in thousandths.
  sample_summary slowdown;
  /// The same, with every job as a user of its own that has 1/N of the cluster while N jobs are there
  /// (`job_contention`); without those that had come before the simulation began.
  finish_time_figures fairness;
  /// All waiting of all jobs that came, completed or not.
  wait_split waited;
  /// The longest time that a job waited for its first start, even if it never started.
  instant max_wait = 0;
  /// How many jobs came; how many of them never started though they were not withdrawn; and how many waited
  /// for their first start more than `starvation_factor` times the median of their class, or times 10 s if
  /// that is longer.
  std::size_t came = 0;
  /// How many never started though they were not withdrawn.
  std::size_t unstarted = 0;
  /// How many waited unusually long for their first start.
  std::size_t starved = 0;
  /// How many met their deadlines.
  deadline_counts deadlines;
  /// How often a job was preempted by the policy and pending again, and how often one was lost with a node.
  std::uint64_t preemptions = 0;
  /// How often one was lost with a node.
  std::uint64_t node_failures = 0;
  /// @{
  /// How often one could not be started or evicted, in the whole run: see `host_faults`.
  std::uint64_t failed_starts = 0;
  std::uint64_t failed_evictions = 0;
  /// @}
  /// The number of jobs preempted, and the most preemptions of one of them.
  std::uint64_t preempted_jobs = 0;
  /// The most preemptions of one job.
  std::uint32_t most_preemptions = 0;
  /// GPUs times lost running time: work since the last checkpoint, and restarts.
  wide lost = 0;
  /// Of all jobs or those of a quota only: GPU time that the jobs had.
  wide allocated = 0;
  /// GPU time that the quotas' own jobs had of other quotas' pools, and others' jobs of theirs.
  wide borrowed = 0;
  /// GPU time that others' jobs had of the quotas' own pools.
  wide lent = 0;
  /// GPU time that they were entitled to and lacked.
  wide fair_share_error = 0;
};

/// A wait is unusually long if it exceeds this multiple of the median of the job's class.
inline constexpr std::int64_t starvation_factor = 10;
/// The shortest time considered long for a job, in a slowdown and as a median.
inline constexpr instant short_time = 10'000;

/// Job sizes, by GPUs.
inline constexpr std::array<std::string_view, 7> size_names = {"<1",   "1",     "2-4", "5-8",
                                                               "9-16", "17-64", ">64"};
/// The index in `size_names` of a job of that size.
[[nodiscard]] constexpr std::size_t size_bucket(std::int64_t milli_gpus) noexcept {
  constexpr std::array<std::int64_t, 6> most = {999, 1000, 4000, 8000, 16'000, 64'000};
  std::size_t i = 0;
  while (i < most.size() && milli_gpus > most[i]) ++i;
  return i;
}

/// The figures of one quota.
struct quota_figures {
  /// The quota.
  quota_id quota;
  /// The figures of its own jobs.
  job_figures of;
  /// Its claims on what it has lent.
  reclaim_figures reclaims;
  /// How much of its entitlement the quota had, in millionths, summed over the milliseconds in which it had
  /// usage or demand.
  wide satisfaction = 0;
  /// The time in which it had usage or demand.
  instant active = 0;
};

/// GPU time of some of the nodes: the capacity, and what jobs had of it.
struct part_figures {
  /// GPU time of the nodes.
  wide capacity = 0;
  /// GPU time that jobs had.
  wide allocated = 0;

  friend bool operator==(const part_figures&, const part_figures&) = default;
};

/// The figures of a whole simulation.
struct run_figures {
  /// The figures of all jobs.
  job_figures of;
  /// The first submission of a job that was not refused, and the last end of a run; both 0 if there is none.
  instant first_submit = 0;
  /// The last end of a run.
  instant end = 0;
  /// The period of figures that are integrals over time: the part of the window between these two.
  time_window window{0, 0};
  /// GPU time in that window: the capacity (0 if unbounded), what was idle, and what of that was on partly
  /// used nodes.
  wide capacity = 0;
  /// Whether the capacity is known, so that what was idle is.
  bool capacity_is_bounded = true;
  /// GPU time that no job had.
  wide idle = 0;
  /// Of that, what was on partly used nodes.
  wide stranded = 0;
  /// GPUs that were free but that the typical pods of the workload could not use, on average, over time
  /// (FGD's F, see `gpu::fragmentation`). Nothing without nodes.
  std::optional<wide> fragments{};
  /// By GPU model, as in `gpu::cluster::models`, and by pool, as in `gpu::cluster::pools`.
  vector<part_figures> models{};
  /// GPU time by pool, as in `gpu::cluster::pools`.
  vector<part_figures> pools{};
  /// What was idle while a job that its quota allowed could not be placed.
  wide idle_while_unplaceable = 0;
  /// What was idle while jobs gathered it (`queue_settings::gather`): as much as they requested, at most.
  wide idle_while_gathered = 0;
  /// Of the allocated GPU time in that window, what was lost: on restarts, and on work lost later. That is
  /// `of.lost`, but for what was lost before the first submission, by jobs that ran already.
  wide lost_of_allocated = 0;
  /// The largest gang that could be placed (`largest_gang`): GPUs times milliseconds, and the smallest.
  /// Nothing without nodes.
  wide largest_gang = 0;
  /// The least that the largest gang was, in GPUs; nothing without nodes.
  std::optional<std::int64_t> smallest_largest_gang{};
  /// GPUs of evicted jobs, beyond what they were evicted for, in thousandths.
  wide over_preempted = 0;
  /// Of all quotas together.
  reclaim_figures reclaims;
  /// Jain's index in billionths, summed over the milliseconds in which any quota had usage or demand.
  wide jain = 0;
  /// The time in which any quota had usage or demand.
  instant active = 0;
  /// The number of jobs evicted by the policy, pending again or for good, by `relation`.
  std::array<std::uint64_t, relation_count> preemptions_by{};
  /// The number of pods that continuing elastic jobs lost, with a node or by the policy.
  std::uint64_t pods_given_up = 0;
  /// By quota id, including removed quotas.
  vector<quota_figures> quotas;
  /// By the class of the job, `job::job_class`.
  vector<job_figures> classes;
  /// By the GPUs of the job, as `size_names`.
  std::array<job_figures, size_names.size()> sizes{};

  /// From the first submission to the last end of a run.
  [[nodiscard]] constexpr instant makespan() const noexcept {
    return end > first_submit ? end - first_submit : 0;
  }
  /// The largest fair-share error of a quota.
  [[nodiscard]] wide largest_fair_share_error() const noexcept {
    wide most = 0;
    for (const quota_figures& q : quotas) most = q.of.fair_share_error > most ? q.of.fair_share_error : most;
    return most;
  }
};

/// `part` of `whole` in millionths, rounded to the nearest; 0 if `whole` is 0. For display.
[[nodiscard]] constexpr std::int64_t rate_in_millionths(wide part, wide whole) noexcept {
  return whole == 0 ? 0 : static_cast<std::int64_t>((part * 1'000'000 + whole / 2) / whole);
}

/// Jain's index over time, in millionths; nullopt if no quota ever had usage or demand.
[[nodiscard]] constexpr std::optional<std::int64_t> mean_jain(const run_figures& f) noexcept {
  if (f.active == 0) return std::nullopt;
  return rate_in_millionths(f.jain, static_cast<wide>(f.active) * 1'000'000'000);
}

/// GPU time in thousandths of a GPU-hour, rounded to the nearest.
[[nodiscard]] constexpr std::int64_t milli_gpu_hours(wide milli_gpu_milliseconds) noexcept {
  constexpr wide unit = 3'600'000;
  return static_cast<std::int64_t>((milli_gpu_milliseconds + unit / 2) / unit);
}

/// How many there are for each GPU-hour of a GPU time, in millionths, rounded to the nearest; 0 for no time.
[[nodiscard]] constexpr std::int64_t per_gpu_hour_in_millionths(std::uint64_t count,
                                                                wide milli_gpu_milliseconds) noexcept {
  constexpr wide gpu_hour = 3'600'000'000;
  return rate_in_millionths(static_cast<wide>(count) * gpu_hour, milli_gpu_milliseconds);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
