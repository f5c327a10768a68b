// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/victim_order.hpp>

#include <algorithm>
#include <compare>
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

/// Other quotas before the beneficiary's own; lowest priority; elastic pods before gangs; then the least lost
/// work (see `lost_work`): a job that has just written a checkpoint yields before one that is about to. This
/// depends on the time of the search, so each search sorts the jobs again, in O(jobs) for each quota that may
/// have to yield; ties are broken by `compare_as_victims`.
struct cheapest_lost_work {
  /// The GPU dimensions, of any flavor.
  std::size_t first = 0;
  /// The number of GPU dimensions, from `first` on.
  std::size_t count = 1;

  /// By which candidates are compared, least first.
  template <std::size_t N>
  struct key_for {
    /// Whether it is in the beneficiary's own quota: such jobs come last.
    bool same_quota = false;
    /// The GPU time that its eviction loses, for what it frees.
    wide cost = 0;
    /// Its rank among jobs of equal cost.
    victim_rank next{};

    friend constexpr std::strong_ordering operator<=>(const key_for& a, const key_for& b) noexcept {
      if (a.same_quota != b.same_quota) return a.same_quota <=> b.same_quota;
      if (const auto o = a.next.priority <=> b.next.priority; o != 0) return o;
      if (const auto o = b.next.elastic <=> a.next.elastic; o != 0) return o;
      if (a.cost != b.cost)
        return a.cost < b.cost ? std::strong_ordering::less : std::strong_ordering::greater;
      return a.next <=> b.next;
    }
    friend constexpr bool operator==(const key_for& a, const key_for& b) noexcept { return (a <=> b) == 0; }
  };

  template <std::size_t N>
  [[nodiscard]] key_for<N> operator()(const ledger<N>&, const victim_candidate<N>& d) const {
    return {d.how == relation::same_quota, lost_work(d.next, d.now, first, count), victim_rank::of(d.next)};
  }
  /// Whether a yields before b at the time `now`, by the same cost.
  template <std::size_t N>
  [[nodiscard]] bool within_quota(const running_job<N>& a, const running_job<N>& b, instant now) const {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.elastic != b.elastic) return a.elastic;
    const wide cost = lost_work(a, now, first, count);
    const wide other = lost_work(b, now, first, count);
    return cost != other ? cost < other : compare_as_victims(a, b) < 0;
  }
};

}  // namespace v0
}  // namespace allot
