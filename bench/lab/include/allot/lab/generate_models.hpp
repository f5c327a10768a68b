// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/lab/random.hpp>

#include <array>
#include <cstdint>

// The jobs of published traces, as tables: sizes with their frequencies, quantiles of durations by size, and
// how submissions follow the hours of a day. bench/lab/README.md says which fact each is fitted to.

namespace allot {
inline namespace v0 {
namespace lab {

/// The kinds of jobs in a workload.
enum class job_model : std::uint8_t {
  /// Training as at Microsoft in 2017 (Philly): nearly all jobs have one GPU, most of the work is in those
  /// with eight; the longest last weeks.
  philly,
  /// Training as at SenseTime in 2020 (Helios): shorter and larger jobs.
  helios,
  /// Latency-sensitive pods as at Alibaba in 2023 (openb): one GPU or a large part of one.
  openb_sensitive,
  /// Best-effort pods of the same trace: mostly parts of a GPU, half of them gone after five minutes.
  openb_best_effort,
  /// Services of one to eight replicas that start during the day and stop at night. Each replica is a job.
  inference,
  /// Notebooks and shells: an hour or two of work, some of them then forgotten for a day or three.
  interactive,
};

/// A job as drawn: `copies` equal ones arrive at once.
struct job_shape {
  /// Of each, in thousandths.
  std::int64_t gpus_milli = 1000;
  instant duration = 0;
  std::int64_t copies = 1;

  friend bool operator==(const job_shape&, const job_shape&) = default;
};

/// How many jobs arrive in each hour of a day, and at weekends in percent of that.
struct daily_rhythm {
  std::array<std::uint64_t, 24> hours;
  std::uint64_t weekend_percent;
};

/// When jobs of that kind are submitted.
[[nodiscard]] const daily_rhythm& rhythm_of(job_model m);

/// Draws a job of at most `largest_milli` thousandths of a GPU (all copies of a service together) that lasts
/// at most `longest`. Precondition: at least one GPU and one second.
[[nodiscard]] job_shape draw_job(random_stream& random, job_model m, std::int64_t largest_milli,
                                 instant longest);

}  // namespace lab
}  // namespace v0
}  // namespace allot
