// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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
/// Where the view shows estimates, a job that does not fit holds a reservation instead of letting all others
/// pass: three jobs of each quota, or as many as the option `reservations` says (`queue_head::reserve`).
/// Within a quota the jobs of a priority then go by `backfill_order::aged`, of a priority the job that may
/// lose least work yields first (`lowest_priority_then_highest_share::least_at_stake_first`: where all save
/// their work equally often, the smallest), and a reserved job that is to borrow yields to owners that
/// reclaim, not to each of their jobs that would fit (`queue_settings::owners_backfill`).
///
/// What that gives, and costs, is measured in bench/lab/README.md, "Reservations".
struct standard {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "standard";
  static constexpr std::string_view summary =
      "own share guaranteed, idle share lent by weight, reclaimed from borrowers";
  static constexpr bool ignores_quotas = false;

  // The default parts; qualified, for `policies` is a member here.
  using policies_type = allot::policies<>;

  /// How many jobs of a quota hold a reservation at once (`queue_settings::reservations`); 0: none. Not set:
  /// three if the view shows estimates.
  std::optional<std::uint32_t> reservations{};
  /// The order in which the jobs of a priority are tried, if any hold reservations.
  backfill_order backfill = backfill_order::aged;
  /// For how long a quota does not borrow what was reclaimed from it (`queue_settings::borrow_backoff`): the
  /// first time and, from then on twice as long each time, at most (if that is less, always as the first
  /// time). Without the first there is none.
  instant first_backoff = 0;
  instant longest_backoff = 0;
  /// For how long a job gathers capacity whose start is not known, as jobs without an estimate are in its way
  /// (`queue_settings::gather`, which is bounded in share, too), in units of the host's clock; 0: jobs do not
  /// gather. If it is set, quotas have two reservations unless `reservations` says otherwise; without any it
  /// has no effect. The view needs `estimate(job)`, which may return 0.
  instant gather = 0;
  /// From that age on a job that asks for no more than its quota owns is not passed any more, in units of the
  /// host's clock; 0: it may be passed for ever (`queue_settings::strict_after`).
  instant strict_after = 0;
  /// Nothing is evicted for a job that has waited less than that, in units of the host's clock
  /// (`queue_settings::preempt_after`); the view needs `submitted(job)`. 0: it preempts at once.
  instant preempt_after = 0;

  /// The parts under these options.
  [[nodiscard]] constexpr policies_type policies() const {
    policies_type parts;
    parts.victims.least_at_stake_first = depth() > 0;
    return parts;
  }

  [[nodiscard]] constexpr queue_settings defaults() const noexcept {
    queue_settings settings{
        .order = queue_order::priority,
        .head = reservations ? queue_head::best_effort : queue_head::by_preset,
        .preempt = {.within = preempt_within::lower_priority, .reclaim = preempt_reclaim::any}};
    settings.owners_backfill = depth() > 0;
    settings.strict_after = strict_after;
    settings.preempt_after = preempt_after;
    if (first_backoff != 0) {
      settings.borrow_backoff = {first_backoff,
                                 longest_backoff > first_backoff ? longest_backoff : first_backoff};
    }
    if (depth() > 0) settings.gather.longest = gather;
    return with_reservations(settings, depth(), backfill);
  }
  constexpr void use_estimates() noexcept {
    if (!reservations) reservations = gather > 0 ? 2 : 3;
  }
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>&) {}
  /// @}

 private:
  [[nodiscard]] constexpr std::uint32_t depth() const noexcept {
    return reservations.value_or(gather > 0 ? 2 : 0);
  }
};
static_assert(preset<standard>);

}  // namespace v0
}  // namespace allot
