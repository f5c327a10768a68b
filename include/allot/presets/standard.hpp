// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/order.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// The library's own policy. Every quota gets what it owns when it needs it, and idle capacity is lent.
///
/// - Quota order: quotas within their own supply first, then the lowest weighted borrowed share.
/// - Within a quota: priority, then submission; a job that does not fit lets smaller ones pass.
/// - A quota reclaims what it owns from borrowers; within a quota a higher priority may preempt a lower one.
/// - Victim order: lowest priority, then the quota with the highest weighted share, then the newest.
/// - Non-preemptible jobs are never admitted on borrowed capacity.
///
/// With the option `reservations` a job that does not fit holds a reservation instead of letting all others
/// pass, up to that many jobs of each quota (`queue_head::reserve`). The view then has to show estimates. (On
/// the demo's three teams, exact estimates, ten seeds: with one reservation and the shortest estimate first,
/// jobs of 17 to 64 GPUs wait 52 hours on average instead of 91, all jobs 2.2 hours instead of 3.8.)
struct standard {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "standard";
  static constexpr std::string_view summary =
      "own share guaranteed, idle share lent by weight, reclaimed from borrowers";
  static constexpr bool ignores_quotas = false;

  using policies_type = policies<within_nominal_then_borrowed_share, by_settings,
                                 lowest_priority_then_highest_share, eligible_is_fair, unprotected>;

  /// How many jobs of a quota hold a reservation at once (`queue_settings::reservations`); 0: none.
  std::uint32_t reservations = 0;
  /// The order in which the others are tried.
  backfill_order backfill = backfill_order::queue;

  [[nodiscard]] constexpr queue_settings defaults() const noexcept {
    return with_reservations(
        {.order = queue_order::priority,
         .head = queue_head::best_effort,
         .preempt = {.within = preempt_within::lower_priority, .reclaim = preempt_reclaim::any}},
        reservations, backfill);
  }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}
};
static_assert(preset<standard>);

}  // namespace v0
}  // namespace allot
