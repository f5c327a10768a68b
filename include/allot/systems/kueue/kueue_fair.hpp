// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/kueue/detail/one_head_policies.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

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

/// Kueue (v0.20) with fair sharing, decision for decision (`one_head_cycle`, `fair_share_targets`); what
/// `kueue` says holds here too. The preemption strategies are `policies_type::rules`; which dimensions are
/// flavors of one resource is `policies_type::resource_of`.
///
/// Where Kueue is nondeterministic:
/// - Trees are ordered by the ids of their roots, heads equal in everything by their own ids.
/// - Among cohorts with equal shares, the youngest is taken for preemption (in Kueue a random one, #10131).
///
/// Shares are compared as exact fractions. Kueue's are floating-point numbers, where equal shares may come
/// out different by one unit in the last place, so that a quota is taken from, or spared, that is exactly as
/// far above its own as another. The option `float_shares` computes Kueue's numbers (`float_share`), for
/// those who migrate and compare. It matters only for equal shares of different weights: on random worlds
/// with weights of 0.5, 1, 2 and 3, Kueue's decision was another in 5 of 3,165 (0.16 %), and none with the
/// option.
///
/// It does not keep the laws *Guarantee* (see `kueue`) and *Quiet*: a quota may reclaim in one resource what
/// it owns while it borrows another, and its victim then comes first again by share, forever. It keeps *Fair*
/// among the heads of quotas; jobs behind a head are not compared.
struct kueue_fair {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "kueue_fair";
  static constexpr std::string_view summary =
      "Kueue with fair sharing: one head a quota a cycle, lowest weighted borrowed share first";
  static constexpr bool ignores_quotas = false;

  using policies_type = one_head_by_share;
  /// @}

  /// When a borrower may preempt another.
  fair_strategies strategies = fair_strategies::final_then_initial;
  /// By dimension, the number of the resource that it is a flavor of. A dimension that is not listed is a
  /// resource of its own.
  vector<std::uint8_t> resource_of{};
  /// Whether shares are rounded as Kueue's floating-point numbers are, rather than exact.
  bool float_shares = false;
  /// @{
  /// As in `kueue`.
  bool preserve_scan_progress = true;
  bool recompute_overlaps = true;
  /// @}

  /// The parts under these options.
  [[nodiscard]] policies_type policies() const {
    policies_type parts;
    parts.rules.first =
        strategies == fair_strategies::initial_share ? share_rule::initial_share : share_rule::final_share;
    parts.rules.then_initial = strategies == fair_strategies::final_then_initial;
    parts.resource_of = resource_of;
    parts.float_shares = float_shares;
    parts.preserve_scan_progress = preserve_scan_progress;
    parts.recompute_overlaps = recompute_overlaps;
    return parts;
  }
  /// The settings of quotas that are not configured: those of `kueue`.
  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return detail::kueue_defaults; }
  /// The same as `kueue`.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    kueue::adapt(specs);
  }
};
static_assert(preset<kueue_fair>);

}  // namespace v0
}  // namespace allot
