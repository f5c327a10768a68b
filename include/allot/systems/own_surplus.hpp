// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/surplus.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/detail/selectable.hpp>
#include <allot/systems/named_parts.hpp>

namespace allot {
inline namespace v0 {

/// Policies that follow a surplus rule of your own: it divides the surplus into entitlements, the
/// quota with the smallest part of its entitlement is served first (`lowest_saturation`), and may take from a
/// quota with a larger part of its own (`saturation_guard`). All else is as in `standard`.
///
/// `Surplus` is default constructible, or made of `const named_parts&`. When a quota has changed, all are
/// ordered again: O(n) per decision.
template <surplus_rule Surplus>
struct divided_by {
  /// How a step goes through the jobs: see `policies`.
  template <class Session>
  using cycle = detail::selectable_cycle<Session, Surplus>;

  /// Another order, guard or order of victims by name; the surplus rule is always the one above.
  named_parts parts{.queue_order = quota_order_name::saturation, .guard = guard_name::saturation};
  /// The order of the jobs of one quota.
  by_settings jobs{};
  /// Which capacity non-preemptible jobs use: see `policies`.
  capacity_kind not_preemptible = capacity_kind::guaranteed;

  /// Whether its guard says what is fair between rivals: see `victim_guard`.
  [[nodiscard]] bool judges_rivals() const noexcept { return parts.judges_rivals(); }
};

}  // namespace v0
}  // namespace allot
