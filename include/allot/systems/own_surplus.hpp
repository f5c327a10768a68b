// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/surplus.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/detail/divided_surplus.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {

namespace detail {

/// Of the quotas the one with the smallest part of its entitlement comes first.
template <std::size_t N, class Surplus>
struct divided_order {
  const divided_surplus<N, Surplus>* state = nullptr;

  [[nodiscard]] share_key operator()(const ledger<N>& l, const contender<N>& c) const {
    return state->saturation(l, c);
  }
};

template <std::size_t N, class Surplus>
struct divided_guard {
  const divided_surplus<N, Surplus>* state = nullptr;

  static constexpr bool less_fair_when_larger = true;
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }

  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b,
                                   const victim_candidate<N>& v) const {
    return state->guard(l, b, v, 1000);
  }
};

template <class Session, class Surplus>
using cycle_over_surplus =
    cycle_over<Session, divided_surplus<Session::n, Surplus>,
               policies<divided_order<Session::n, Surplus>, by_settings, lowest_priority_then_highest_share,
                        divided_guard<Session::n, Surplus>>>;

template <class Session, class Surplus>
class divided_cycle : public cycle_over_surplus<Session, Surplus> {
 public:
  template <class Policies>
  explicit divided_cycle(const Policies& p)
      : cycle_over_surplus<Session, Surplus>(divided_surplus<Session::n, Surplus>{},
                                             {.not_preemptible = p.not_preemptible}) {}

  /// See `dividing_cycle`.
  [[nodiscard]] const resources<Session::n>& entitled(quota_id x) const { return this->state().entitled(x); }
};

}  // namespace detail

/// Policies that follow a surplus rule of your own: it divides the surplus into entitlements, the
/// quota with the smallest part of its entitlement is served first (`lowest_saturation`), and may take from a
/// quota with a larger part of its own (`saturation_guard`). All else is as in `standard`.
///
/// `Surplus` is default constructible. When a quota has changed, all are ordered again: O(n) per decision.
template <surplus_rule Surplus>
struct divided_by {
  /// How a step goes through the jobs: see `policies`.
  template <class Session>
  using cycle = detail::divided_cycle<Session, Surplus>;

  /// The order of the jobs of one quota.
  by_settings jobs{};
  /// Which capacity non-preemptible jobs use: see `policies`.
  capacity_kind not_preemptible = capacity_kind::guaranteed;

  /// True: its guard says what is fair between rivals. See `victim_guard`.
  [[nodiscard]] static constexpr bool judges_rivals() noexcept { return true; }
};

}  // namespace v0
}  // namespace allot
