// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/sim/statistics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

// What a simulation comes to, in exact integers: times in milliseconds, amounts of GPU time in milli-GPUs x
// milliseconds. `metrics` says how each figure is defined.

/// The state of a quota's own jobs and own pool, in milli-GPUs.
struct quota_moment {
  std::int64_t used = 0;
  /// What the fair-share division of everybody's present demand gives its own jobs.
  std::int64_t entitled = 0;
  /// What its jobs use of other quotas' pools, and others' jobs of its pool.
  std::int64_t borrowed = 0;
  std::int64_t lent = 0;
  /// How many of its jobs wait.
  std::uint32_t pending = 0;

  friend constexpr bool operator==(const quota_moment&, const quota_moment&) noexcept = default;
};

/// What became of the jobs. The total is the sum of the others.
struct job_counts {
  std::size_t total = 0;
  std::size_t completed = 0;
  /// Still waiting when nothing happened any more.
  std::size_t unfinished = 0;
  std::size_t refused = 0;
  std::size_t cancelled = 0;
  /// They had run as long as jobs of their kind may.
  std::size_t time_limit = 0;

  friend bool operator==(const job_counts&, const job_counts&) = default;
};

/// The figures of all jobs, or of those of one quota.
struct job_figures {
  job_counts jobs;
  /// From submission to completion, of the jobs that completed.
  sample_summary jct;
  /// From submission to the first start, of the jobs that started.
  sample_summary queue;
  /// All time in which the job did not run, of the jobs that completed.
  sample_summary wait;
  /// The longest time that a job waited for its first start, whether that came or not.
  instant max_wait = 0;
  /// How often a job was told to go by the policy and waited again, and how often one was lost with a node.
  std::uint64_t preemptions = 0;
  std::uint64_t node_failures = 0;
  /// GPUs times running time that came to nothing: work since the last checkpoint, and restarts.
  wide lost = 0;
  /// GPU time that the jobs had.
  wide allocated = 0;
  /// GPU time that the quotas' own jobs had of other quotas' pools, and others' jobs of theirs.
  wide borrowed = 0;
  wide lent = 0;
  /// GPU time that was due to them and not had.
  wide fair_share_error = 0;
};

/// The figures of one quota.
struct quota_figures {
  quota_id quota;
  job_figures of;
  /// How much of what it was entitled to the quota had, in millionths, added up over the milliseconds in
  /// which it used or wanted something.
  wide satisfaction = 0;
  instant active = 0;
};

struct run_figures {
  job_figures of;
  /// The first submission of a job that was not refused, and the last end of a run; both 0 if there is none.
  instant first_submit = 0;
  instant end = 0;
  /// GPU time between these two: what there was (0 when that has no bound), what nobody used, and what of
  /// that stood on nodes that were partly in use.
  wide capacity = 0;
  bool capacity_is_bounded = true;
  wide idle = 0;
  wide stranded = 0;
  /// Jain's index in billionths, added up over the milliseconds in which some quota used or wanted something.
  wide jain = 0;
  instant active = 0;
  /// How many jobs the policy told to go, to wait again or for good, by `relation`.
  std::array<std::uint64_t, relation_count> preemptions_by{};
  /// How many pods elastic jobs had to give up that went on without them, with a node or by the policy.
  std::uint64_t pods_given_up = 0;
  /// By quota id, those included that were removed.
  std::vector<quota_figures> quotas;

  [[nodiscard]] constexpr instant makespan() const noexcept {
    return end > first_submit ? end - first_submit : 0;
  }
};

/// `part` of `whole` in millionths, rounded to the nearest; of nothing it is nothing. For a person to read.
[[nodiscard]] constexpr std::int64_t rate_in_millionths(wide part, wide whole) noexcept {
  return whole == 0 ? 0 : static_cast<std::int64_t>((part * 1'000'000 + whole / 2) / whole);
}

/// GPU time in thousandths of a GPU-hour, rounded to the nearest.
[[nodiscard]] constexpr std::int64_t milli_gpu_hours(wide milli_gpu_milliseconds) noexcept {
  constexpr wide unit = 3'600'000;
  return static_cast<std::int64_t>((milli_gpu_milliseconds + unit / 2) / unit);
}

}  // namespace sim
}  // namespace v0
}  // namespace allot
