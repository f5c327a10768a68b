// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/policies.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

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
  /// `parent_as_peer` (HTCondor); with a rounding, as `quota`.
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
/// How shares are rounded to whole units; `none`: they are not, but exact to a thousandth.
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

/// Parts of the exhaustive cycle, chosen by name at run time, and what those parts can be told. What is not
/// chosen is as in `standard`.
struct named_parts {
  /// @{
  /// Of the entitlements that the order and the guard `saturation` compare with. With a rounding, shares are
  /// whole units; without one, exact to a thousandth.
  std::optional<surplus_name> surplus{};
  std::optional<rounding_name> rounding{};
  /// @}

  /// @{
  /// The parts themselves.
  std::optional<quota_order_name> queue_order{};
  std::optional<victim_order_name> victim_order{};
  std::optional<guard_name> guard{};
  /// @}

  /// Of the surplus rule `decayed_usage`: how strongly past usage counts, in thousandths; 0: not at all.
  std::int64_t k = 1000;
  /// Of the order `fair_tree`: the time after which past usage counts half; 0: all of it counts alike.
  instant half_life = 0;
  /// Of the order `fair_tree`: how far back usage counts; 0: as far as it is known.
  instant window = 0;
  /// Of the guard `saturation`, in thousandths, at least 1,000: how much more of its entitlement a victim's
  /// quota must have.
  std::uint32_t saturation_multiplier = 1000;

  /// Whether an order or a guard is chosen: a surplus rule alone changes no decision.
  [[nodiscard]] constexpr bool chooses_any() const noexcept { return queue_order || victim_order || guard; }
  /// Whether the chosen guard judges fairness between rivals.
  [[nodiscard]] constexpr bool judges_rivals() const noexcept {
    return guard.value_or(guard_name::none) != guard_name::none;
  }
};

/// Whether the order of quotas, the guard and the order of victims of a preset can be replaced by name: those
/// of `standard` and the defaults of `policies` can. (With parts that are chosen the order of victims is the
/// chosen one, also where jobs hold reservations.)
template <class P>
inline constexpr bool takes_named_parts = std::is_same_v<typename P::policies_type, allot::policies<>>;

}  // namespace v0
}  // namespace allot
