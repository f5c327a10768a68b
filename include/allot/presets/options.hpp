// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace allot {
inline namespace v0 {

/// How a surplus is divided; see fairshare/.
enum class surplus_name : std::uint8_t {
  weight,
  quota,
  priority,
  first_come,
  decayed_usage,
  parent_peer,
  most_under_served,
  capped,
};
/// How amounts that do not divide exactly are rounded.
enum class rounding_name : std::uint8_t { webster, largest_remainders, none };
/// Which quota comes next.
enum class quota_order_name : std::uint8_t {
  borrowed_share,
  dominant_share,
  saturation,
  fair_tree,
  under_nominal,
  priority,
  submission,
  best_job,
};
/// Which job is preempted first.
enum class victim_order_name : std::uint8_t { priority_share, newest, lost_work };
/// The test of whether a preemption is fair.
enum class guard_name : std::uint8_t { none, final_share, initial_share, final_then_initial, saturation };

/// HyperPod: how idle compute is given out.
enum class hyperpod_idle : std::uint8_t { fcfs, fair_share };
/// HyperPod: how the tasks of a team are ordered.
enum class hyperpod_tasks : std::uint8_t { fcfs, ranking };
/// Kueue with fair sharing: the rules by which a borrower may preempt another, tried in this order.
enum class fair_strategies : std::uint8_t { final_share, initial_share, final_then_initial };

/// The run-time options of a preset. An empty option takes the preset's default; options that a preset does
/// not know are ignored.
struct preset_options {
  std::optional<surplus_name> surplus{};
  std::optional<rounding_name> rounding{};
  std::optional<quota_order_name> queue_order{};
  std::optional<victim_order_name> victim_order{};
  std::optional<guard_name> guard{};

  std::optional<hyperpod_idle> idle{};
  std::optional<hyperpod_tasks> tasks{};
  std::optional<fair_strategies> strategies{};
  /// Kueue with fair sharing: by dimension, the number of the resource that it is a flavor of. A dimension
  /// that is not listed is a resource of its own.
  std::vector<std::uint8_t> resource_of{};
  /// KAI's time-based fair share: how strongly past usage counts, in thousandths; 0: not at all.
  std::optional<std::int64_t> k{};
  /// The time after which past usage counts half (0: no decay), and how far back usage counts.
  std::optional<instant> half_life{};
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

}  // namespace v0
}  // namespace allot
