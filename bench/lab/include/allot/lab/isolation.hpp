// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

// What sharing a cluster means to its tenants, compared with having a part of it alone. The caller does both
// replays; only jobs that have the time in question in both can be compared.

/// A time of one job in the shared cluster, and in the part that it would have alone.
struct shared_and_alone {
  instant shared = 0;
  instant alone = 0;
};

/// The sharing anomaly of one tenant: how much longer its jobs wait for their first start on average than
/// they would alone on its quota (Zhao et al., HiveD, OSDI 2020). Negative where sharing is a gain.
struct anomaly_figures {
  std::size_t jobs = 0;
  wide shared = 0;
  wide alone = 0;

  /// Of the mean delays, rounded to the nearest millisecond, halves away from zero; 0 without jobs.
  [[nodiscard]] constexpr std::int64_t anomaly() const noexcept {
    if (jobs == 0) return 0;
    const bool negative = shared < alone;
    const wide difference = negative ? alone - shared : shared - alone;
    const auto mean = static_cast<std::int64_t>((2 * difference + jobs) / (2 * wide{jobs}));
    return negative ? -mean : mean;
  }
  [[nodiscard]] constexpr instant mean_shared() const noexcept { return mean(shared); }
  [[nodiscard]] constexpr instant mean_alone() const noexcept { return mean(alone); }

 private:
  [[nodiscard]] constexpr instant mean(wide sum) const noexcept {
    return jobs == 0 ? 0 : static_cast<instant>((2 * sum + jobs) / (2 * wide{jobs}));
  }
};

/// Of the queueing delays of a tenant's jobs. O(jobs).
[[nodiscard]] anomaly_figures sharing_anomaly(std::span<const shared_and_alone> delays);

/// Finish-time fairness (Mahajan et al., Themis, NSDI 2020): rho of a job is its completion time in the
/// shared cluster over that in its tenant's weight share of the cluster alone. Above 1, sharing is a loss.
struct finish_time_figures {
  std::size_t jobs = 0;
  /// In millionths, each rounded to the nearest.
  wide sum = 0;
  std::int64_t max = 0;
  std::size_t above_one = 0;
  /// Above 1.05, the value from which Shockwave (NSDI 2023) counts a job as treated unfairly.
  std::size_t unfair = 0;

  /// In millionths; 0 without jobs.
  [[nodiscard]] constexpr std::int64_t mean() const noexcept {
    return jobs == 0 ? 0 : static_cast<std::int64_t>((2 * sum + jobs) / (2 * wide{jobs}));
  }
  /// One more job, of this rho in millionths.
  constexpr void add(std::int64_t rho) noexcept {
    ++jobs;
    sum += static_cast<wide>(rho);
    max = std::max(max, rho);
    above_one += rho > 1'000'000 ? 1U : 0U;
    unfair += rho > 1'050'000 ? 1U : 0U;
  }
  constexpr finish_time_figures& operator+=(const finish_time_figures& other) noexcept {
    jobs += other.jobs;
    sum += other.sum;
    max = std::max(max, other.max);
    above_one += other.above_one;
    unfair += other.unfair;
    return *this;
  }
};

/// Of completion times. A time of zero counts as a millisecond, the shortest there is. O(jobs).
[[nodiscard]] finish_time_figures finish_time_fairness(std::span<const shared_and_alone> times);

}  // namespace lab
}  // namespace v0
}  // namespace allot
