// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/preemption/lost_work.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// `lowest_priority_then_highest_share`, or, where jobs hold reservations, the smallest job first: of a
/// priority, elastic pods and then the job that requests least, of those the one that loses least work
/// (`lost_work`), and of those the quota with the highest share. A gang that has waited for days for its
/// nodes then does not yield them to a job that a smaller one could make room for.
struct standard_victim_order : lowest_priority_then_highest_share {
  /// Whether the smallest job yields first.
  bool smallest = false;

  /// By which candidates are compared, least first.
  template <std::size_t N>
  struct key_for {
    /// @{
    /// The size and the lost work of its next job, if these count.
    wide size = 0;
    wide lost = 0;
    /// @}
    /// The key without these.
    lowest_priority_then_highest_share::key_for<N> otherwise{};

    friend constexpr std::strong_ordering operator<=>(const key_for& a, const key_for& b) noexcept {
      const auto& x = a.otherwise;
      const auto& y = b.otherwise;
      if (x.same_quota != y.same_quota) return x.same_quota <=> y.same_quota;
      if (const auto o = x.next.priority <=> y.next.priority; o != 0) return o;
      if (a.size != b.size) return less(a.size < b.size);
      if (a.lost != b.lost) return less(a.lost < b.lost);
      return x <=> y;
    }
    friend constexpr bool operator==(const key_for& a, const key_for& b) noexcept { return (a <=> b) == 0; }

   private:
    [[nodiscard]] static constexpr std::strong_ordering less(bool is) noexcept {
      return is ? std::strong_ordering::less : std::strong_ordering::greater;
    }
  };

  template <std::size_t N>
  [[nodiscard]] key_for<N> operator()(const ledger<N>& l, const victim_candidate<N>& d) const {
    key_for<N> key{};
    key.otherwise = lowest_priority_then_highest_share::operator()(l, d);
    if (!smallest || d.next.elastic) return key;
    key.size = size_of(d.next);
    key.lost = lost_work(d.next, d.now, 0, N);
    return key;
  }
  /// Whether jobs of one quota yield by their size.
  [[nodiscard]] constexpr bool orders_within() const noexcept { return smallest; }
  /// Whether a yields before b, by the same order.
  template <std::size_t N>
  [[nodiscard]] bool within_quota(const running_job<N>& a, const running_job<N>& b, instant now) const {
    if (!smallest || a.priority != b.priority || a.elastic || b.elastic) return compare_as_victims(a, b) < 0;
    const wide x = size_of(a);
    const wide y = size_of(b);
    if (x != y) return x < y;
    const wide lost = lost_work(a, now, 0, N);
    const wide other = lost_work(b, now, 0, N);
    return lost != other ? lost < other : compare_as_victims(a, b) < 0;
  }

 private:
  /// In thousandths, over all dimensions.
  template <std::size_t N>
  [[nodiscard]] static constexpr wide size_of(const running_job<N>& job) noexcept {
    wide sum = 0;
    for (std::size_t d = 0; d < N; ++d) {
      sum += static_cast<wide>(std::max(quantity{}, job.request[d]).in_milli());
    }
    return sum;
  }
};

/// The library's own policy. Every quota gets what it owns when it needs it, and idle capacity is lent.
///
/// - Quota order: quotas within their own supply first, then the lowest weighted borrowed share.
/// - Within a quota: priority, then submission; a job that does not fit lets smaller ones pass.
/// - A quota reclaims what it owns from borrowers; within a quota a higher priority may preempt a lower one.
/// - Victim order: lowest priority, then the quota with the highest weighted share, then the newest.
/// - Non-preemptible jobs are never admitted on borrowed capacity.
///
/// With the option `reservations` a job that does not fit holds a reservation instead of letting all others
/// pass, up to that many jobs of each quota (`queue_head::reserve`). The view then has to show estimates.
/// Within a quota the jobs of a priority then go by `backfill_order::aged`, of a priority the smallest job
/// yields first (`standard_victim_order`), and a reserved job that is to borrow yields to owners that
/// reclaim, not to each of their jobs that would fit (`queue_settings::owners_backfill`).
///
/// On the demo's three teams (two weeks, ten seeds, exact estimates) mean waits in hours and the useful
/// utilisation are, by `reservations`:
///
/// | reservations | 5 to 8 GPUs | 9 to 16 | 17 to 64 | all jobs | useful |
/// |-------------:|------------:|--------:|---------:|---------:|-------:|
/// |            0 |        16.9 |    43.3 |     90.6 |      3.8 | 80.7 % |
/// |            1 |         9.5 |     8.9 |     14.2 |      1.8 | 79.2 % |
/// |            2 |         8.2 |     7.5 |     13.9 |      1.8 | 79.4 % |
/// |            3 |         7.5 |     7.0 |     14.9 |      1.9 | 79.5 % |
///
/// It costs evictions, mostly of single-GPU jobs: 594 in two weeks instead of 170, which lose 326 GPU-hours
/// instead of 205. Without any estimates the waits for 17 to 64 GPUs are 71 hours with two reservations.
struct standard {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "standard";
  static constexpr std::string_view summary =
      "own share guaranteed, idle share lent by weight, reclaimed from borrowers";
  static constexpr bool ignores_quotas = false;

  // Qualified, for `policies` is a member here.
  using policies_type =
      allot::policies<within_nominal_then_borrowed_share, by_settings, standard_victim_order>;

  /// How many jobs of a quota hold a reservation at once (`queue_settings::reservations`); 0: none.
  std::uint32_t reservations = 0;
  /// The order in which the jobs of a priority are tried, if any hold reservations.
  backfill_order backfill = backfill_order::aged;

  /// The parts under these options.
  [[nodiscard]] constexpr policies_type policies() const {
    policies_type parts;
    parts.victims.smallest = reservations > 0;
    return parts;
  }

  [[nodiscard]] constexpr queue_settings defaults() const noexcept {
    queue_settings settings{
        .order = queue_order::priority,
        .head = queue_head::best_effort,
        .preempt = {.within = preempt_within::lower_priority, .reclaim = preempt_reclaim::any}};
    settings.owners_backfill = reservations > 0;
    return with_reservations(settings, reservations, backfill);
  }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<standard>);

}  // namespace v0
}  // namespace allot
