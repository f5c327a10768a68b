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

/// The cost of an eviction at `now`, in time x thousandths of a GPU: the work since the job's last checkpoint
/// plus the restart, on all its GPUs. A job that never saves its work loses all of it. Checkpoints are at
/// started + checkpoint, + 2 checkpoint, …; one due at `now` is done. GPUs are the `count` dimensions from
/// `first` on. Exact.
template <std::size_t N>
[[nodiscard]] constexpr wide lost_work(const running_job<N>& job, instant now, std::size_t first = 0,
                                       std::size_t count = 1) {
  const instant ran = now > job.started ? now - job.started : 0;
  const instant unsaved = job.checkpoint > 0 ? ran % job.checkpoint : ran;
  wide amount = 0;
  for (std::size_t d = first; d < std::min(N, first + count); ++d) {
    amount += static_cast<wide>(std::max(quantity{}, job.request[d]).in_milli());
  }
  return (static_cast<wide>(unsaved) + static_cast<wide>(std::max(instant{}, job.restart))) * amount;
}

}  // namespace v0
}  // namespace allot
