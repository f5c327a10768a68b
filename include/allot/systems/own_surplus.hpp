// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/subtree_usage.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/preemption/saturation_guard.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/exhaustive_cycle.hpp>
#include <allot/scheduler/policies.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {

namespace detail {

/// What the quotas are entitled to by the rule, and what they use, with the decisions taken so far.
template <std::size_t N, class Surplus>
struct divided_state {
  division<N, Surplus> entitlements{Surplus{}};
  subtree_usage<N> usage{};
  /// Of each quota's own jobs.
  vector<resources<N>> used{};
  vector<resources<N>> demand{};

  template <class Session>
  void reset(Session& session) {
    const ledger<N>& l = session.books().assumed();
    usage.rebuild(l);
    used.assign(session.tree().slots(), resources<N>{});
    demand.assign(session.tree().slots(), resources<N>{});
    for (const quota_id x : session.tree().top_down()) {
      used[x.index()] = l.own_usage(x);
      demand[x.index()] = used[x.index()] + session.queues().asked(x);
    }
    entitlements.update(l, demand);
  }
  /// The queue or usage of x has changed.
  template <class Session>
  void look(Session& session, quota_id x) {
    const resources<N> uses = session.books().assumed().own_usage(x);
    const resources<N> wants = uses + session.queues().asked(x);
    if (uses == used[x.index()] && wants == demand[x.index()]) return;
    usage.release(session.tree(), x, used[x.index()]);
    usage.charge(session.tree(), x, uses);
    used[x.index()] = uses;
    demand[x.index()] = wants;
    entitlements.change_demand(session.books().assumed(), x, wants);
  }
};

/// `lowest_saturation`, by the state of the cycle.
template <std::size_t N, class Surplus>
struct divided_order {
  const divided_state<N, Surplus>* state = nullptr;

  [[nodiscard]] share_key operator()(const ledger<N>& l, const contender<N>& c) const {
    return lowest_saturation<N, division<N, Surplus>>{{&state->usage, true}, &state->entitlements}(l, c);
  }
};

template <std::size_t N, class Surplus>
struct entitled_in {
  const divided_state<N, Surplus>* state = nullptr;

  [[nodiscard]] quantity operator()(quota_id x, std::size_t d) const {
    return state->entitlements.entitled(x)[d];
  }
};

/// The exhaustive cycle, with the division kept up to date.
template <class Session, class Surplus>
class divided_cycle {
 public:
  static constexpr std::size_t n = Session::n;

  template <class Policies>
  explicit divided_cycle(const Policies& p) : cycle_(parts_of(p)) {}

  void reset(Session& session) {
    state_.reset(session);
    cycle_.reset(session);
  }
  void run(Session& session) {
    // Once more in each step: it may have been copied or moved since.
    show_state();
    cycle_.run(session, look(session));
  }
  /// See `resumable_cycle`.
  [[nodiscard]] cycle_memory memory(const Session& session) const { return cycle_.memory(session); }
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id>) {
    show_state();
    cycle_.resume(session, m, look(session));
    return m.past_usage.empty();
  }
  void rebase(instant by) { cycle_.rebase(by); }
  [[nodiscard]] const resources<n>& entitled(quota_id x) const { return state_.entitlements.entitled(x); }

 private:
  using guard_type = saturation_guard<entitled_in<n, Surplus>>;
  using policies_type =
      policies<divided_order<n, Surplus>, by_settings, lowest_priority_then_highest_share, guard_type>;

  template <class Policies>
  [[nodiscard]] static policies_type parts_of(const Policies& p) {
    return {.guard = guard_type{{}}, .not_preemptible = p.not_preemptible};
  }
  void show_state() {
    cycle_.quota_order().state = &state_;
    cycle_.guard() = guard_type{{&state_}};
  }
  [[nodiscard]] auto look(Session& session) {
    return [this, &session](quota_id x) {
      state_.look(session, x);
      return true;
    };
  }

  divided_state<n, Surplus> state_;
  typename policies_type::template cycle<Session> cycle_;
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
