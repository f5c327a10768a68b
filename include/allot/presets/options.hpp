// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/scheduler/settings.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// How a surplus is divided; see fairshare/.
enum class surplus_name : std::uint8_t {
  /// In proportion to weight.
  weight,
  /// In proportion to what the quotas own (the over-quota demonstration of Run:ai).
  quota,
  /// `priority_bands`: to the highest priority first, within one priority by weight.
  priority,
  /// `first_come`: no division.
  first_come,
  /// `decayed_surplus`: by weight, less for those that have used much lately (KAI's time-based fair share).
  decayed_usage,
  /// `parent_as_peer` (HTCondor).
  parent_peer,
  /// `even_totals` in proportion to what the quotas own (YARN).
  most_under_served,
  /// As `weight`: what Armada calls the demand-capped adjusted share.
  capped,
};
/// The name in configurations; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(surplus_name value) noexcept {
  switch (value) {
    case surplus_name::weight:
      return "weight";
    case surplus_name::quota:
      return "quota";
    case surplus_name::priority:
      return "priority";
    case surplus_name::first_come:
      return "first_come";
    case surplus_name::decayed_usage:
      return "decayed_usage";
    case surplus_name::parent_peer:
      return "parent_as_peer";
    case surplus_name::most_under_served:
      return "most_under_served";
    case surplus_name::capped:
      return "capped";
  }
  return "";
}
/// How amounts that do not divide exactly are rounded.
enum class rounding_name : std::uint8_t { webster, largest_remainders, none };
/// The name in configurations; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(rounding_name value) noexcept {
  switch (value) {
    case rounding_name::webster:
      return "webster";
    case rounding_name::largest_remainders:
      return "largest_remainder";
    case rounding_name::none:
      return "none";
  }
  return "";
}
/// Which quota comes next.
enum class quota_order_name : std::uint8_t {
  /// `within_nominal_then_borrowed_share`.
  borrowed_share,
  /// `lowest_total_share`.
  dominant_share,
  /// `lowest_saturation`.
  saturation,
  /// `fair_tree_rank_first`.
  fair_tree,
  /// `within_nominal_first`.
  under_nominal,
  /// `highest_priority_first`.
  priority,
  /// `submission_first`.
  submission,
  /// `best_job_first`.
  best_job,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(quota_order_name value) noexcept {
  switch (value) {
    case quota_order_name::borrowed_share:
      return "borrowed_share";
    case quota_order_name::dominant_share:
      return "dominant_share";
    case quota_order_name::saturation:
      return "saturation";
    case quota_order_name::fair_tree:
      return "fair_tree";
    case quota_order_name::under_nominal:
      return "under_nominal";
    case quota_order_name::priority:
      return "priority";
    case quota_order_name::submission:
      return "submission";
    case quota_order_name::best_job:
      return "best_job";
  }
  return "";
}
/// Which job is preempted first.
enum class victim_order_name : std::uint8_t { priority_share, newest, lost_work };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(victim_order_name value) noexcept {
  switch (value) {
    case victim_order_name::priority_share:
      return "priority_share";
    case victim_order_name::newest:
      return "newest";
    case victim_order_name::lost_work:
      return "lost_work";
  }
  return "";
}
/// The test of whether a preemption is fair.
enum class guard_name : std::uint8_t { none, final_share, initial_share, final_then_initial, saturation };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(guard_name value) noexcept {
  switch (value) {
    case guard_name::none:
      return "none";
    case guard_name::final_share:
      return "final_share";
    case guard_name::initial_share:
      return "initial_share";
    case guard_name::final_then_initial:
      return "final_then_initial";
    case guard_name::saturation:
      return "saturation";
  }
  return "";
}

/// HyperPod: how idle compute is given out.
enum class hyperpod_idle : std::uint8_t { fcfs, fair_share };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(hyperpod_idle value) noexcept {
  switch (value) {
    case hyperpod_idle::fcfs:
      return "fcfs";
    case hyperpod_idle::fair_share:
      return "fair_share";
  }
  return "";
}
/// HyperPod: how the tasks of a team are ordered.
enum class hyperpod_tasks : std::uint8_t { fcfs, ranking };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(hyperpod_tasks value) noexcept {
  switch (value) {
    case hyperpod_tasks::fcfs:
      return "fcfs";
    case hyperpod_tasks::ranking:
      return "ranking";
  }
  return "";
}
/// Kueue with fair sharing: the rules by which a borrower may preempt another, tried in this order.
enum class fair_strategies : std::uint8_t { final_share, initial_share, final_then_initial };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(fair_strategies value) noexcept {
  switch (value) {
    case fair_strategies::final_share:
      return "final_share";
    case fair_strategies::initial_share:
      return "initial_share";
    case fair_strategies::final_then_initial:
      return "final_then_initial";
  }
  return "";
}

/// The run-time options of a preset. An empty option takes the preset's default; options that a preset does
/// not know are ignored.
struct preset_options {
  /// @{
  /// Of the entitlements that the order and the guard `saturation` compare with.
  std::optional<surplus_name> surplus{};
  std::optional<rounding_name> rounding{};
  /// @}

  /// @{
  /// Parts by name instead of the preset's own, for presets that take parts (`any_preset::takes_parts`).
  std::optional<quota_order_name> queue_order{};
  std::optional<victim_order_name> victim_order{};
  std::optional<guard_name> guard{};
  /// @}

  /// @{
  /// Of HyperPod and of Kueue with fair sharing; see the types.
  std::optional<hyperpod_idle> idle{};
  std::optional<hyperpod_tasks> tasks{};
  std::optional<fair_strategies> strategies{};
  /// @}

  /// @{
  /// Of the presets that reserve for blocked jobs, and of `standard`, which does not by default: how many
  /// jobs of a quota hold a reservation at once, and in which order the others are tried. See
  /// `queue_settings`.
  std::optional<std::uint32_t> reservations{};
  std::optional<backfill_order> backfill{};
  /// @}

  /// Kueue with fair sharing: by dimension, the number of the resource that it is a flavor of. A dimension
  /// that is not listed is a resource of its own.
  std::vector<std::uint8_t> resource_of{};
  /// Kueue with fair sharing: whether shares are rounded as Kueue's floating-point numbers are.
  std::optional<bool> float_shares{};
  /// Kueue: whether a head that is passed over goes on with its next flavor in the next cycle (Kueue 0.20),
  /// rather than with its first.
  std::optional<bool> preserve_scan_progress{};
  /// KAI's time-based fair share: how strongly past usage counts, in thousandths; 0: not at all.
  std::optional<std::int64_t> k{};
  /// The time after which past usage counts half (0: no decay), and how far back usage counts.
  std::optional<instant> half_life{};
  /// How far back usage counts, in the host's units of time.
  std::optional<instant> window{};
  /// KAI: by dimension, in thousandths, the unit that shares are rounded down to; by default 1,000, a whole
  /// GPU.
  std::vector<std::int64_t> share_units{};
  /// KAI's relcaimerSaturationMultiplier, in thousandths, at least 1,000.
  std::optional<std::int64_t> saturation_multiplier{};

  /// Whether an order or guard is chosen by name rather than taken from the preset.
  [[nodiscard]] constexpr bool chooses_parts() const noexcept { return queue_order || victim_order || guard; }
  /// Whether the chosen guard judges fairness between rivals.
  [[nodiscard]] constexpr bool judges_rivals() const noexcept {
    return guard.value_or(guard_name::none) != guard_name::none;
  }
};

/// A preset with options: `configure(options)` returns its parts under them. Default: options change nothing.
template <class P>
concept configurable_preset = requires(const preset_options& o) {
  { P::configure(o) } -> std::convertible_to<typename P::policies_type>;
};
/// A preset whose settings of quotas depend on the options. Default: `defaults()`, whatever they are.
template <class P>
concept preset_with_optional_defaults = requires(const preset_options& o) {
  { P::defaults(o) } -> std::convertible_to<queue_settings>;
};

namespace detail {

/// These settings with reservations for as many jobs as the options say, else for so many; none: as they are.
[[nodiscard]] constexpr queue_settings with_reservations(queue_settings settings, const preset_options& o,
                                                         std::uint32_t otherwise) noexcept {
  const std::uint32_t reservations = o.reservations.value_or(otherwise);
  if (reservations == 0) return settings;
  settings.head = queue_head::reserve;
  settings.reservations = reservations;
  settings.backfill = o.backfill.value_or(backfill_order::queue);
  return settings;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
