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

/// The most choices tried for one job.
inline constexpr std::size_t most_flavor_choices = 256;

namespace detail {

/// `walk_flavors` for a job that has a choice.
template <class Session, class Fit, class Preempt>
[[nodiscard]] auto walk_menu(Session& session, const typename Session::record& r, Fit fit, Preempt preempt)
    -> decltype(fit()) {
  const flavor_choice& rule = session.queues().settings(r.facts.quota).flavors;
  decltype(fit()) at;
  // Calls `tried()` for each choice until it returns true.
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
      if (r.facts.request[d] > std::max(quantity{}, session.books().assumed().balance(r.facts.quota, d)))
        return true;
    }
    return false;
  };
  const bool spare_loans = rule.when_can_borrow == flavor_step::try_next;
  const bool spare_others = rule.when_can_preempt == flavor_step::try_next;
  const auto fits = [&] { return (at = fit()).has_value(); };
  const auto preempts = [&] { return (at = preempt()).has_value(); };

  const auto does_without_a_loan = [&] { return !borrows() && (fits() || (!spare_others && preempts())); };

  const bool prefers_eviction =
      spare_others && spare_loans && rule.preference == flavor_preference::preemption_over_borrowing;

  if (spare_loans && for_each_choice(does_without_a_loan)) return at;
  if (prefers_eviction && for_each_choice([&] { return !borrows() && preempts(); })) return at;
  if (for_each_choice([&] { return fits() || (!spare_others && preempts()); })) return at;
  if (spare_others && for_each_choice(preempts)) return at;
  session.choose(r, {});
  return {};
}

}  // namespace detail

/// Tries the flavors that a pending job accepts, best first, and chooses the first that works.
///
/// `fit()` returns a place for the job under its current choice if that needs no evictions; `preempt()`
/// evicts others if that helps. The first flavor that works is taken; but if the quota's `flavor_choice` says
/// `try_next`, flavors without that price come before those with it, and those that borrow before those that
/// evict, or those that evict without a loan before them if that is its `preference`. If `when_can_borrow`
/// says so, a job does not evict in order to borrow either until all flavors were tried. Returns the result
/// of the call that succeeded, nothing if no flavor works; the job then has its first choice.
template <class Session, class Fit, class Preempt>
[[nodiscard]] auto walk_flavors(Session& session, const typename Session::record& r, Fit fit, Preempt preempt)
    -> decltype(fit()) {
  if constexpr (Session::has_flavors) {
    if (!r.menu.empty()) return detail::walk_menu(session, r, fit, preempt);
  }
  if (auto at = fit()) return at;
  return preempt();
}

}  // namespace v0
}  // namespace allot
