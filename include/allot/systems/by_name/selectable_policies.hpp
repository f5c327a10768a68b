// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/fairshare/fair_tree.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/systems/by_name/named_parts.hpp>
#include <allot/systems/by_name/selectable_surplus.hpp>
#include <allot/systems/detail/divided_surplus.hpp>

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
        divided_(selectable_surplus(parts),
                 parts.queue_order == quota_order_name::saturation || parts.guard == guard_name::saturation),
        history_(history_settings{.half_life = parts.half_life, .window = parts.window}) {}

  template <class Session>
  void reset(Session& session) {
    const ledger<N>& l = session.books().assumed();
    const quota_tree<N>& tree = session.tree();
    divided_.reset(session);
    capacity = resources<N>{};
    for (const quota_id root : tree.roots()) {
      for (std::size_t d = 0; d < N; ++d) capacity[d] += l.total_supply(root, d);
    }
    history_.reset(tree, session.now());
    history_.set_capacity(capacity, session.now());
    for (const quota_id x : tree.top_down()) history_.charge(tree, x, used(x), session.now());
    rank_users(tree);
  }
  /// The queue or usage of x has changed. Returns whether the standing of other quotas may have changed too.
  template <class Session>
  bool look(Session& session, quota_id x) {
    const resources<N> used_before = used(x);
    const bool wanted_before = wants_any(x);
    const bool is_divided_anew = divided_.look(session, x);
    if (!follows_history()) return is_divided_anew;
    const bool uses_other = used(x) != used_before;
    if (uses_other) {
      history_.end_by(session.now());
      history_.release(session.tree(), x, used_before, session.now());
      history_.charge(session.tree(), x, used(x), session.now());
    }
    // Users that want nothing have no rank.
    const bool ranks_anew = uses_other || wants_any(x) != wanted_before;
    if (ranks_anew) rank_users(session.tree());
    return ranks_anew || is_divided_anew;
  }

  /// The clock has moved by that span.
  void rebase(instant by) { history_.rebase(by); }

  /// What counts of the past; empty if nothing does.
  [[nodiscard]] vector<std::uint64_t> past_usage() const {
    return follows_history() ? history_.save(divided_.used()) : vector<std::uint64_t>{};
  }
  template <class Session>
  [[nodiscard]] bool resume(const Session& session, std::span<const std::uint64_t> numbers,
                            std::span<const quota_id> ids) {
    if (!follows_history()) return numbers.empty();
    vector<resources<N>> own(divided_.used().size());
    if (!history_.restore(session.tree(), numbers, own, ids)) return false;
    for (const quota_id x : session.tree().top_down()) divided_.set_used(session.tree(), x, own[x.index()]);
    rank_users(session.tree());
    return true;
  }

  [[nodiscard]] const named_parts& chosen() const noexcept { return chosen_; }
  [[nodiscard]] const divided_surplus<N, selectable_surplus>& divided() const noexcept { return divided_; }
  [[nodiscard]] const fair_tree& users() const noexcept { return users_; }

  resources<N> capacity{};

 private:
  [[nodiscard]] const resources<N>& used(quota_id x) const { return divided_.used()[x.index()]; }
  [[nodiscard]] bool wants_any(quota_id x) const { return divided_.demand()[x.index()] != resources<N>{}; }
  [[nodiscard]] bool follows_history() const noexcept {
    return chosen_.queue_order == quota_order_name::fair_tree;
  }
  /// Ranks by past usage of the first dimension, decayed as `chosen()` says.
  void rank_users(const quota_tree<N>& tree) {
    if (!follows_history()) return;
    past_use_.assign(tree.slots(), 0);
    history_.for_each_past_use(tree, true, 0,
                               [this](quota_id x, std::int64_t use) { past_use_[x.index()] = use; });
    users_.update(tree, 0, past_use_, [this](quota_id x) { return wants_any(x); });
  }

  named_parts chosen_;
  divided_surplus<N, selectable_surplus> divided_;
  usage_history<N> history_;
  fair_tree users_;
  vector<std::int64_t> past_use_;
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
    switch (state->chosen().queue_order.value_or(quota_order_name::borrowed_share)) {
      case quota_order_name::borrowed_share:
        return share;
      case quota_order_name::dominant_share:
        return lowest_total_share<N>{state->divided().total(), state->capacity}(l, c);
      case quota_order_name::saturation:
        return state->divided().saturation(l, c);
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
      case guard_name::saturation:
        return state->divided().guard(l, b, v, state->chosen().saturation_multiplier);
      default:
        return {eligible_is_fair{}(l, b, v)};
    }
  }
};

}  // namespace detail

/// The parts of the exhaustive cycle, each selected by name at run time. Ordering by saturation or Fair Tree
/// re-evaluates all quotas when one has changed: O(n) per decision. Past usage only says whose turn it is: in
/// an unchanged world all have had theirs, so its fading wakes no host.
struct selectable_policies {
  /// How a step goes through the jobs: see `policies`.
  template <class Session>
  struct cycle
      : detail::cycle_over<
            Session, detail::fairness_state<Session::n>,
            policies<detail::selectable_order<Session::n>, by_settings,
                     detail::selectable_victim_order<Session::n>, detail::selectable_guard<Session::n>>> {
    explicit cycle(const selectable_policies& p)
        : cycle::cycle_over(detail::fairness_state<Session::n>{p.parts},
                            {.victims = {p.parts.victim_order.value_or(victim_order_name::priority_share)},
                             .not_preemptible = p.not_preemptible}) {}
  };

  /// What is chosen.
  named_parts parts{};
  /// The order of the jobs of one quota.
  by_settings jobs{};
  /// Which capacity non-preemptible jobs use: see `policies`.
  capacity_kind not_preemptible = capacity_kind::guaranteed;

  /// Whether the chosen guard says what is fair between rivals: see `victim_guard`.
  [[nodiscard]] bool judges_rivals() const noexcept { return parts.judges_rivals(); }
};

}  // namespace v0
}  // namespace allot
