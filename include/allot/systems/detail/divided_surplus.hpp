// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/subtree_usage.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/preemption/saturation_guard.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/exhaustive_cycle.hpp>
#include <allot/scheduler/policies.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// What the quotas use and want, and what they are entitled to by a surplus rule, with the decisions taken so
/// far.
template <std::size_t N, class Surplus>
class divided_surplus {
 public:
  divided_surplus() = default;
  /// With `follows` false the entitlements are those of the last `reset`.
  divided_surplus(Surplus rule, bool follows) : entitlements_(std::move(rule)), follows_(follows) {}

  template <class Session>
  void reset(Session& session) {
    const ledger<N>& l = session.books().assumed();
    usage_.rebuild(l);
    used_.assign(session.tree().slots(), resources<N>{});
    demand_.assign(session.tree().slots(), resources<N>{});
    for (const quota_id x : session.tree().top_down()) {
      used_[x.index()] = l.own_usage(x);
      demand_[x.index()] = used_[x.index()] + session.queues().asked(x);
    }
    entitlements_.update(l, demand_);
  }
  /// The queue or usage of x has changed. Returns whether the standing of other quotas may have changed too.
  template <class Session>
  bool look(Session& session, quota_id x) {
    const ledger<N>& l = session.books().assumed();
    const resources<N> uses = l.own_usage(x);
    const resources<N> wants = uses + session.queues().asked(x);
    if (uses == used_[x.index()] && wants == demand_[x.index()]) return follows_;
    set_used(session.tree(), x, uses);
    demand_[x.index()] = wants;
    if (follows_) entitlements_.change_demand(l, x, wants);
    return follows_;
  }
  /// What x itself uses.
  void set_used(const quota_tree<N>& tree, quota_id x, const resources<N>& uses) {
    if (uses == used_[x.index()]) return;
    usage_.release(tree, x, used_[x.index()]);
    usage_.charge(tree, x, uses);
    used_[x.index()] = uses;
  }

  void rebase(instant) noexcept {}
  [[nodiscard]] static vector<std::uint64_t> past_usage() { return {}; }
  template <class Session>
  [[nodiscard]] static bool resume(const Session&, std::span<const std::uint64_t> numbers,
                                   std::span<const quota_id>) {
    return numbers.empty();
  }

  [[nodiscard]] const resources<N>& entitled(quota_id x) const { return entitlements_.entitled(x); }
  /// Of each quota's own jobs.
  [[nodiscard]] const vector<resources<N>>& used() const noexcept { return used_; }
  /// Of each quota's own jobs, those that wait included.
  [[nodiscard]] const vector<resources<N>>& demand() const noexcept { return demand_; }
  /// Of whole subtrees.
  [[nodiscard]] total_use<N> total() const noexcept { return {&usage_, true}; }
  /// For the order in which the quota with the smallest part of its entitlement comes first.
  [[nodiscard]] share_key saturation(const ledger<N>& l, const contender<N>& c) const {
    return lowest_saturation<N, division<N, Surplus>>{total(), &entitlements_}(l, c);
  }
  /// Whether it is fair to take from a rival; `margin` in thousandths.
  [[nodiscard]] verdict guard(const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v,
                              std::uint32_t margin) const {
    const auto due = [this](quota_id x, std::size_t d) { return entitled(x)[d]; };
    return saturation_guard<decltype(due)>{due, margin, 1000}(l, b, v);
  }

 private:
  division<N, Surplus> entitlements_{Surplus{}};
  subtree_usage<N> usage_;
  vector<resources<N>> used_;
  vector<resources<N>> demand_;
  bool follows_ = true;
};

/// The exhaustive cycle, and the state that its order and its guard look at: each has a pointer `state` to
/// it.
template <class Session, class State, class Policies>
class cycle_over {
 public:
  static constexpr std::size_t n = Session::n;

  cycle_over(State state, const Policies& parts) : state_(std::move(state)), cycle_(parts) {}

  void reset(Session& session) {
    state_.reset(session);
    cycle_.reset(session);
  }
  void run(Session& session) {
    show_state();
    cycle_.run(session, look(session));
  }
  void rebase(instant by) {
    state_.rebase(by);
    cycle_.rebase(by);
  }
  /// See `resumable_cycle`.
  [[nodiscard]] cycle_memory memory(const Session& session) const {
    cycle_memory m = cycle_.memory(session);
    m.past_usage = state_.past_usage();
    return m;
  }
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) {
    show_state();
    const bool keeps_usage = state_.resume(session, m.past_usage, ids);
    cycle_.resume(session, m, look(session));
    return keeps_usage;
  }

 protected:
  [[nodiscard]] const State& state() const noexcept { return state_; }

 private:
  /// Again before they are used: the cycle may have been copied or moved.
  void show_state() {
    cycle_.quota_order().state = &state_;
    cycle_.guard().state = &state_;
  }
  [[nodiscard]] auto look(Session& session) {
    return [this, &session](quota_id x) { return state_.look(session, x); };
  }

  State state_;
  typename Policies::template cycle<Session> cycle_;
};

}  // namespace detail

}  // namespace v0
}  // namespace allot
