// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {

/// The next choice after `pick`, in the order of the menu: of the last group first, so that the first group
/// keeps its better flavors longest. Returns whether there is one.
template <std::size_t N>
[[nodiscard]] bool advance(flavor_pick& pick, const flavor_menu<N>& menu) {
  for (std::size_t g = menu.groups(); g-- > 0;) {
    if (++pick[g] < menu.options(g).size()) return true;
    pick[g] = 0;
  }
  return false;
}

/// So many choices of one job are tried at most.
inline constexpr std::size_t most_flavor_choices = 256;

/// Tries the flavors that a waiting job accepts, best first, and makes the choice that does that of the job.
///
/// `fit()` returns a place for the job as it is chosen at the moment, if it needs none to go; `preempt()`
/// makes others go, if that helps. The first flavor that does it is taken; but when the quota's
/// `flavor_choice` says `try_next`, those that cost nothing come before those with that price, and those that
/// borrow before those that evict. Who is to borrow no more readily than that does not evict in order to
/// borrow either, before all flavors were tried. Returns what the call that did it returned, nothing when no
/// flavor does; then the job has its first choice.
template <class Session, class Fit, class Preempt>
[[nodiscard]] auto walk_flavors(Session& session, typename Session::record& r, Fit fit, Preempt preempt)
    -> decltype(fit()) {
  if (r.menu.empty()) {
    if (auto at = fit()) return at;
    return preempt();
  }
  const flavor_choice& rule = session.settings(r.facts.quota).flavors;
  decltype(fit()) at;
  // Calls `tried()` for each choice until it says that the walk is over.
  const auto for_each_choice = [&](auto tried) {
    flavor_pick pick{};
    std::size_t left = most_flavor_choices;
    do {
      session.choose(r, pick);
      if (tried()) return true;
    } while (--left > 0 && advance(pick, r.menu));
    return false;
  };
  const auto borrows = [&] {
    for (std::size_t d = 0; d < Session::n; ++d) {
      if (r.facts.request[d] > std::max(quantity{}, session.assumed().balance(r.facts.quota, d))) return true;
    }
    return false;
  };
  const bool spare_loans = rule.when_can_borrow == flavor_step::try_next;
  const bool spare_others = rule.when_can_preempt == flavor_step::try_next;
  const auto fits = [&] { return (at = fit()).has_value(); };
  const auto preempts = [&] { return (at = preempt()).has_value(); };

  const auto does_without_a_loan = [&] { return !borrows() && (fits() || (!spare_others && preempts())); };

  if (spare_loans && for_each_choice(does_without_a_loan)) return at;
  if (for_each_choice([&] { return fits() || (!spare_others && preempts()); })) return at;
  if (spare_others && for_each_choice(preempts)) return at;
  session.choose(r, {});
  return {};
}

}  // namespace v0
}  // namespace allot
