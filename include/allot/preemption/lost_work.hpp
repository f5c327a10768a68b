// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/running_index.hpp>

#include <algorithm>
#include <cstddef>

namespace allot {
inline namespace v0 {

namespace detail {

/// What a job loses that has not saved so much of its run time: that and its restart, on the `count`
/// dimensions from `first` on.
template <std::size_t N>
[[nodiscard]] constexpr wide loss_of(const running_job<N>& job, instant unsaved, std::size_t first,
                                     std::size_t count) {
  wide amount = 0;
  for (std::size_t d = first; d < std::min(N, first + count); ++d) {
    amount += static_cast<wide>(std::max(quantity{}, job.request[d]).in_milli());
  }
  return (static_cast<wide>(unsaved) + static_cast<wide>(std::max(instant{}, job.restart))) * amount;
}
template <std::size_t N>
[[nodiscard]] constexpr instant run_time(const running_job<N>& job, instant now) noexcept {
  return now > job.started ? now - job.started : 0;
}

}  // namespace detail

/// The cost of an eviction at `now`, in time x thousandths of a GPU: the work since the job's last checkpoint
/// plus the restart, on all its GPUs. A job that never saves its work loses all of it. Checkpoints are at
/// started + checkpoint, + 2 checkpoint, …; one due at `now` is done. GPUs are the `count` dimensions from
/// `first` on. Exact.
template <std::size_t N>
[[nodiscard]] constexpr wide lost_work(const running_job<N>& job, instant now, std::size_t first = 0,
                                       std::size_t count = 1) {
  const instant ran = detail::run_time(job, now);
  return detail::loss_of(job, job.checkpoint > 0 ? ran % job.checkpoint : ran, first, count);
}

/// The most that an eviction could cost about `now`: as `lost_work` just before the next checkpoint. It does
/// not depend on the time for a job that saves its work.
template <std::size_t N>
[[nodiscard]] constexpr wide work_at_stake(const running_job<N>& job, instant now, std::size_t first = 0,
                                           std::size_t count = 1) {
  const instant most = job.checkpoint > 0 ? job.checkpoint : detail::run_time(job, now);
  return detail::loss_of(job, most, first, count);
}

}  // namespace v0
}  // namespace allot
