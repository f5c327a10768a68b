// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/fair_tree.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/fairshare/subtree_usage.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/saturation_guard.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/exhaustive_cycle.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/named_parts.hpp>
#include <allot/systems/selectable_surplus.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

namespace allot {
inline namespace v0 {

namespace detail {

/// State beyond the ledger that orders and guards consult, reflecting the decisions taken so far.
template <std::size_t N>
class fairness_state {
 public:
  explicit fairness_state(const named_parts& parts)
      : chosen_(parts),
        entitlements_(selectable_surplus(parts)),
        history_(history_settings{.half_life = parts.half_life, .window = parts.window}) {}

  template <class Session>
  void reset(Session& session) {
    const ledger<N>& l = session.books().assumed();
    const quota_tree<N>& tree = session.tree();
    usage.rebuild(l);
    own_.assign(tree.slots(), resources<N>{});
    demand_.assign(tree.slots(), resources<N>{});
    for (const quota_id x : tree.top_down()) own_[x.index()] = l.own_usage(x);
    for (const quota_id x : tree.top_down()) demand_[x.index()] = own_[x.index()] + session.queues().asked(x);
    capacity = resources<N>{};
    for (const quota_id root : tree.roots()) {
      for (std::size_t d = 0; d < N; ++d) capacity[d] += l.total_supply(root, d);
    }
    entitlements_.update(l, demand_);
    history_.reset(tree, session.now());
    history_.set_capacity(capacity, session.now());
    for (const quota_id x : tree.top_down()) history_.charge(tree, x, own_[x.index()], session.now());
    rank_users(tree);
  }
  /// The queue or usage of x has changed. Returns whether the standing of other quotas may have changed too.
  template <class Session>
  bool look(Session& session, quota_id x) {
    const ledger<N>& l = session.books().assumed();
    const resources<N> used = l.own_usage(x);
    const resources<N> wanted = used + session.queues().asked(x);
    const bool uses_other = used != own_[x.index()];
    if (uses_other) {
      usage.release(session.tree(), x, own_[x.index()]);
      usage.charge(session.tree(), x, used);
      if (follows_history()) {
        history_.end_by(session.now());
        history_.release(session.tree(), x, own_[x.index()], session.now());
        history_.charge(session.tree(), x, used, session.now());
      }
      own_[x.index()] = used;
    }
    if (follows_entitlements() && (uses_other || wanted != demand_[x.index()])) {
      entitlements_.change_demand(l, x, wanted);
    }
    // Users that want nothing have no rank.
    const bool starts_or_stops = (wanted == resources<N>{}) != (demand_[x.index()] == resources<N>{});
    demand_[x.index()] = wanted;
    const bool ranks_anew = follows_history() && (uses_other || starts_or_stops);
    if (ranks_anew) rank_users(session.tree());
    return ranks_anew || follows_entitlements();
  }

  /// The clock has moved by that span.
  void rebase(instant by) { history_.rebase(by); }

  /// What counts of the past; empty if nothing does.
  [[nodiscard]] vector<std::uint64_t> past_usage() const {
    return follows_history() ? history_.save(own_) : vector<std::uint64_t>{};
  }
  template <class Session>
  [[nodiscard]] bool resume(const Session& session, std::span<const std::uint64_t> numbers,
                            std::span<const quota_id> ids) {
    if (!follows_history()) return numbers.empty();
    vector<resources<N>> own(own_.size());
    if (!history_.restore(session.tree(), numbers, own, ids)) return false;
    // The sums of subtrees are those of `own_`.
    for (const quota_id x : session.tree().top_down()) {
      usage.release(session.tree(), x, own_[x.index()]);
      usage.charge(session.tree(), x, own[x.index()]);
    }
    own_ = std::move(own);
    rank_users(session.tree());
    return true;
  }

  [[nodiscard]] const named_parts& chosen() const noexcept { return chosen_; }
  [[nodiscard]] const division<N, selectable_surplus>& entitlements() const noexcept { return entitlements_; }
  [[nodiscard]] const fair_tree& users() const noexcept { return users_; }

  subtree_usage<N> usage;
  resources<N> capacity{};

 private:
  [[nodiscard]] bool follows_entitlements() const noexcept {
    return chosen_.queue_order == quota_order_name::saturation || chosen_.guard == guard_name::saturation;
  }
  [[nodiscard]] bool follows_history() const noexcept {
    return chosen_.queue_order == quota_order_name::fair_tree;
  }
  /// Ranks by past usage of the first dimension, decayed as `chosen()` says.
  void rank_users(const quota_tree<N>& tree) {
    if (!follows_history()) return;
    used_.assign(tree.slots(), 0);
    history_.for_each_past_use(tree, true, 0,
                               [this](quota_id x, std::int64_t use) { used_[x.index()] = use; });
    users_.update(tree, 0, used_, [&](quota_id x) { return demand_[x.index()] != resources<N>{}; });
  }

  named_parts chosen_;
  division<N, selectable_surplus> entitlements_;
  usage_history<N> history_;
  fair_tree users_;
  vector<resources<N>> own_;
  vector<resources<N>> demand_;
  vector<std::int64_t> used_;
};

/// The quota order that is chosen.
template <std::size_t N>
struct selectable_order {
  const fairness_state<N>* state = nullptr;

  using by_share = within_nominal_then_borrowed_share::key;
  using by_number = std::pair<std::int64_t, by_share>;
  using by_age = std::pair<instant, std::uint64_t>;
  using key = std::variant<by_share, share_key, by_number, by_age, job_rank>;

  [[nodiscard]] key operator()(const ledger<N>& l, const contender<N>& c) const {
    const by_share share = within_nominal_then_borrowed_share{}(l, c);
    const total_use<N> total{&state->usage, true};
    switch (state->chosen().queue_order.value_or(quota_order_name::borrowed_share)) {
      case quota_order_name::borrowed_share:
        return share;
      case quota_order_name::dominant_share:
        return lowest_total_share<N>{total, state->capacity}(l, c);
      case quota_order_name::saturation:
        return lowest_saturation<N, division<N, selectable_surplus>>{total, &state->entitlements()}(l, c);
      case quota_order_name::fair_tree:
        return by_number{static_cast<std::int64_t>(state->users().rank(c.origin)), by_share{{}, c.head}};
      case quota_order_name::under_nominal:
        return by_number{within_nominal_first{}(l, c), by_share{{}, c.head}};
      case quota_order_name::priority:
        return by_number{highest_priority_first{}(l, c), share};
      case quota_order_name::submission:
        return submission_first{}(l, c);
      case quota_order_name::best_job:
        break;
    }
    return c.head;
  }
};

template <std::size_t N>
struct selectable_victim_order {
  victim_order_name which = victim_order_name::priority_share;

  using key = std::variant<lowest_priority_then_highest_share::key_for<N>,
                           lowest_priority_then_newest::key_for<N>, cheapest_lost_work::key_for<N>>;

  [[nodiscard]] key operator()(const ledger<N>& l, const victim_candidate<N>& v) const {
    switch (which) {
      case victim_order_name::priority_share:
        break;
      case victim_order_name::newest:
        return lowest_priority_then_newest{}(l, v);
      case victim_order_name::lost_work:
        return cheapest_lost_work{0, N}(l, v);
    }
    return lowest_priority_then_highest_share{}(l, v);
  }
  [[nodiscard]] bool within_quota(const running_job<N>& a, const running_job<N>& b, instant now) const {
    return which == victim_order_name::lost_work ? cheapest_lost_work{0, N}.within_quota(a, b, now)
                                                 : compare_as_victims(a, b) < 0;
  }
};

template <std::size_t N>
struct selectable_guard {
  const fairness_state<N>* state = nullptr;

  static constexpr bool less_fair_when_larger = true;
  static constexpr std::size_t strategies = 2;
  [[nodiscard]] bool judges_rivals() const { return state->chosen().judges_rivals(); }

  [[nodiscard]] verdict operator()(const ledger<N>& l, const beneficiary<N>& b, const victim_candidate<N>& v,
                                   std::size_t strategy) const {
    const guard_name which = state->chosen().guard.value_or(guard_name::none);
    if (which == guard_name::final_then_initial) return final_then_initial_share{}(l, b, v, strategy);
    if (strategy > 0) return {};
    switch (which) {
      case guard_name::final_share:
        return final_share{}(l, b, v);
      case guard_name::initial_share:
        return initial_share{}(l, b, v);
      case guard_name::saturation: {
        const auto due = [this](quota_id x, std::size_t k) { return state->entitlements().entitled(x)[k]; };
        return saturation_guard<decltype(due)>{due, state->chosen().saturation_multiplier, 1000}(l, b, v);
      }
      default:
        return {eligible_is_fair{}(l, b, v)};
    }
  }
};

/// The exhaustive cycle, with the state of its order and guard kept up to date.
template <class Session>
class selectable_cycle {
 public:
  static constexpr std::size_t n = Session::n;

  template <class SelectablePolicies>
  explicit selectable_cycle(const SelectablePolicies& p) : state_(p.parts), cycle_(parts_of(p)) {}

  void reset(Session& session) {
    state_.reset(session);
    cycle_.reset(session);
  }
  void run(Session& session) {
    show_state();
    cycle_.run(session, [&](quota_id x) { return state_.look(session, x); });
  }
  void rebase(instant by) {
    state_.rebase(by);
    cycle_.rebase(by);
  }
  [[nodiscard]] cycle_memory memory(const Session& session) const {
    cycle_memory m = cycle_.memory(session);
    m.past_usage = state_.past_usage();
    return m;
  }
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id> ids) {
    show_state();
    const bool keeps_usage = state_.resume(session, m.past_usage, ids);
    cycle_.resume(session, m, [&](quota_id x) { return state_.look(session, x); });
    return keeps_usage;
  }

 private:
  using policies_type =
      policies<selectable_order<n>, by_settings, selectable_victim_order<n>, selectable_guard<n>>;

  /// To its parts: again before they are used, as it may have been copied or moved.
  void show_state() noexcept { cycle_.quota_order().state = cycle_.guard().state = &state_; }
  template <class SelectablePolicies>
  [[nodiscard]] static policies_type parts_of(const SelectablePolicies& p) {
    policies_type result;
    result.victims.which = p.parts.victim_order.value_or(victim_order_name::priority_share);
    result.not_preemptible = p.not_preemptible;
    return result;
  }

  fairness_state<n> state_;
  typename policies_type::template cycle<Session> cycle_;
};

}  // namespace detail

/// The parts of the exhaustive cycle, each selected by name at run time. Ordering by saturation or Fair Tree
/// re-evaluates all quotas when one has changed: O(n) per decision. Past usage only says whose turn it is: in
/// an unchanged world all have had theirs, so its fading wakes no host.
struct selectable_policies {
  template <class Session>
  using cycle = detail::selectable_cycle<Session>;

  named_parts parts{};
  by_settings jobs{};
  capacity_kind not_preemptible = capacity_kind::guaranteed;

  [[nodiscard]] bool judges_rivals() const noexcept { return parts.judges_rivals(); }
};

}  // namespace v0
}  // namespace allot
