// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/detail/kept_portions.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// The entitlement of each quota: its due part of the capacity, given the demand of all quotas.
///
/// Each first gets its own, then part of the surplus, from the root down and in exact integers. What a quota
/// keeps for itself (beyond its lend limit) only it can use; of its parent's pool it is guaranteed what it
/// lends into it, and shares in the rest by the surplus rule, up to its borrow limit. The own jobs of an
/// inner quota take part as a peer of its children. The entitlements add up to min(capacity, demand) unless
/// prevented by limits or by a rule that leaves something undivided, and none exceeds its demand.
template <std::size_t N = 1, class SurplusRule = proportional_to_weight>
class division {
  static_assert(surplus_rule<SurplusRule>,
                "allot: the surplus rule must take (allot::quantity surplus, std::span<allot::claimant>)");

 public:
  explicit division(SurplusRule rule = SurplusRule{}) : rule_(std::move(rule)) {}

  /// `demand[i]` is what the own jobs of quota i use and request, together, per dimension.
  /// Precondition: one demand per slot, none negative or unlimited. O(n log children), with a rule that is
  /// O(n log n).
  void update(const ledger<N>& l, std::span<const resources<N>> demand) {
    ALLOT_ASSERT(demand.size() == l.tree().slots(), "one demand for each quota");
    seats_.resize(demand.size());
    entitled_.resize(demand.size());
    own_.resize(demand.size());
    kept_.clear();
    const auto order = l.tree().top_down();
    for (std::size_t i = 0; i < demand.size(); ++i) {
      for (std::size_t d = 0; d < N; ++d) seats_[i][d].demand = demand[i][d];
    }
    for (std::size_t d = 0; d < N; ++d) {
      for (auto it = order.rbegin(); it != order.rend(); ++it) add_up(l, *it, d);
      for (const quota_id x : order) {
        if (!l.tree().parent(x)) fill_root(l, x, d);
        divide<false>(l, x, d);
      }
      for (auto it = order.rbegin(); it != order.rend(); ++it) sum_up(l.tree(), *it, d);
    }
    changed_.clear();
    changed_own_.clear();
  }

  /// Sets the demand of the own jobs of `x`; all else is as at the last update (or change), with the same
  /// ledger except for usage. The result equals that of an update with that demand. Must also be called, with
  /// the demand unchanged, for quotas whose other inputs to the rule have changed (for `first_come`, their
  /// usage).
  ///
  /// Redivides only what depends on it: the pools on the path of x, and those below that change in size. If x
  /// was given less than it wanted and still wants more than it is given, and the rule ignores such wants,
  /// nothing is divided and the cost is O(depth). The pool of a quota with many children costs
  /// O((1 + thousandths that move) log children) if the rule is a `keeping_rule`.
  void change_demand(const ledger<N>& l, quota_id x, const resources<N>& demand) {
    ALLOT_ASSERT(seats_.size() == l.tree().slots(), "call update() for this tree first");
    ALLOT_ASSERT(is_valid_request(demand), "a demand is neither negative nor unlimited");
    changed_own_.clear();
    for (std::size_t d = 0; d < N; ++d) change(l, x, d, demand[d]);
  }

  /// The entitlement of all jobs in the subtree of x. Zero if there was no such quota at the last update.
  [[nodiscard]] const resources<N>& entitled(quota_id x) const noexcept { return of(entitled_, x); }
  /// The entitlement of the jobs attached to x itself; zero likewise.
  [[nodiscard]] const resources<N>& own(quota_id x) const noexcept { return of(own_, x); }
  /// The quotas whose `own` the last `change_demand` has changed. One may be named more than once. Empty
  /// after an update, which may have changed all.
  [[nodiscard]] std::span<const quota_id> changed_own() const noexcept { return changed_own_; }

  /// The rule, to change its settings; changes take effect at the next update.
  [[nodiscard]] SurplusRule& rule() noexcept { return rule_; }

 private:
  /// A pool with at least so many claimants is kept: with fewer, dividing it again is as fast.
  static constexpr std::size_t fewest_kept = 256;
  static constexpr std::uint32_t no_kept = ~std::uint32_t{0};
  static constexpr std::uint32_t most_failures = 6;
  struct kept_pool {
    detail::kept_portions portions;
    /// What all claimants were granted before the surplus was divided.
    quantity promised;
    /// How often in a row it was given up because too much moved, and for how many more divisions it is
    /// therefore not kept.
    std::uint32_t failures = 0;
    std::uint32_t rest = 0;
  };

  struct seat {
    quantity demand;
    /// What it would draw on its supply if all demands were met, as the ledger's `drawn`.
    quantity use;
    /// What it is granted of its parent's pool.
    quantity granted;
    /// What it divides: `granted` and what it keeps, as far as it can use them.
    quantity pool;
  };

  /// A quota on the path of a changed demand, what it was entitled to before, what its claimant on that path
  /// wanted and wants now, and whether all of its claimants had what they wanted.
  struct step {
    quota_id quota;
    quantity entitled;
    quantity wanted;
    quantity wants;
    bool was_met = false;
  };
  /// A quota whose pool has changed, and what it was entitled to before.
  struct resized_pool {
    quota_id quota;
    quantity entitled;
  };

  [[nodiscard]] static const resources<N>& of(const vector<resources<N>>& all, quota_id x) noexcept {
    static constexpr resources<N> nothing{};
    return x.index() < all.size() ? all[x.index()] : nothing;
  }
  [[nodiscard]] seat& at(quota_id x, std::size_t d) { return seats_[x.index()][d]; }
  [[nodiscard]] const seat& at(quota_id x, std::size_t d) const { return seats_[x.index()][d]; }

  void add_up(const ledger<N>& l, quota_id x, std::size_t d) {
    seat& s = at(x, d);
    s.use = s.demand;
    for (const quota_id c : l.tree().children(x)) s.use += claim_of(l, c, d);
  }
  /// What child c claims of its parent's pool.
  [[nodiscard]] quantity claim_of(const ledger<N>& l, quota_id c, std::size_t d) const {
    const supply& s = l.supply_of(c, d);
    const quantity most = std::min(at(c, d).use, std::max(quantity{}, s.total + s.borrow));
    return std::max(quantity{}, most - s.kept);
  }
  void fill_root(const ledger<N>& l, quota_id x, std::size_t d) {
    seat& s = at(x, d);
    s.pool = std::min(s.use, std::max(quantity{}, l.total_supply(x, d)));
  }
  void fill(const ledger<N>& l, quota_id c, std::size_t d) {
    seat& s = at(c, d);
    s.pool = std::min(s.use, s.granted + l.supply_of(c, d).kept);
  }

  /// Divides the pool of x among its own jobs and its children; records changed pools in `changed_`. For
  /// later changes the division of a large one is kept.
  void divide_and_keep(const ledger<N>& l, quota_id x, std::size_t d) {
    const quantity promised = divide<true>(l, x, d);
    if constexpr (keeping_rule<SurplusRule>) {
      const bool is_large = l.tree().children(x).size() >= fewest_kept;
      if (is_large && rule_.keeps()) keep(x, d, promised, promised <= at(x, d).pool);
    }
  }
  /// The same, without keeping; changes are noted only if it `IsChange`, not an update. Returns
  /// what was promised before any surplus.
  template <bool IsChange>
  quantity divide(const ledger<N>& l, quota_id x, std::size_t d) {
    const quota_tree<N>& tree = l.tree();
    const quantity pool = at(x, d).pool;
    if (tree.children(x).empty()) {
      set_own<IsChange>(x, d, pool);
      return pool;
    }
    claimants_.clear();
    wanted_.clear();
    quantity promised{};
    const auto claim = [&](quota_id who, bool own_jobs, quantity wants, quantity own) {
      const quota_spec<N>& spec = tree.spec(who);
      claimants_.push_back({.quota = who,
                            .wants = wants,
                            .weight = spec.weight[d].in_milli(),
                            .granted = granted_first(own, wants),
                            .guaranteed = std::max(quantity{}, own),
                            .priority = spec.priority,
                            .dimension = static_cast<std::uint32_t>(d),
                            .own_jobs = own_jobs});
      promised += claimants_.back().granted;
    };
    claim(x, true, at(x, d).demand, l.supply_of(x, d).own_pool);
    claimants_.back().owned = claimants_.back().guaranteed;
    claimants_.back().used = l.own_usage(x, d);
    for (const quota_id c : tree.children(x)) {
      const supply& s = l.supply_of(c, d);
      claim(c, false, claim_of(l, c, d), std::min(s.total, s.lend));
      claimant& k = claimants_.back();
      k.owned = std::max(quantity{}, s.total);
      k.kept = std::min(at(c, d).use, s.kept);
      k.used = std::max(quantity{}, l.drawn(c, d) - s.kept);
    }
    if (promised > pool) {
      share_shortage(pool);
    } else {
      rule_(pool - promised, claimants_);
    }
    set_own<IsChange>(x, d, claimants_.front().granted);
    for (std::size_t i = 1; i < claimants_.size(); ++i) {
      grant<IsChange>(l, claimants_[i].quota, d, claimants_[i].granted);
    }
    return promised;
  }
  template <bool IsChange = true>
  void set_own(quota_id x, std::size_t d, quantity amount) {
    const quantity before = std::exchange(own_[x.index()][d], amount);
    if (!IsChange || before == amount) return;
    entitled_[x.index()][d] += amount - before;
    changed_own_.push_back(x);
  }
  /// Child c is granted that much of its parent's pool.
  template <bool IsChange = true>
  void grant(const ledger<N>& l, quota_id c, std::size_t d, quantity amount) {
    const quantity before = at(c, d).pool;
    at(c, d).granted = amount;
    fill(l, c, d);
    if (IsChange && at(c, d).pool != before) changed_.push_back({c, entitled_[c.index()][d]});
  }

  /// What a claimant is granted before the surplus is divided.
  [[nodiscard]] static quantity granted_first(quantity own, quantity wants) {
    return std::clamp(own, quantity{}, wants);
  }
  /// Keeps the division of the pool of x, which has just been made.
  void keep(quota_id x, std::size_t d, quantity promised, bool is_surplus) {
    if (kept_.empty()) {
      kept_of_.assign(seats_.size(), no_kept);
      place_.resize(seats_.size());
    }
    if (kept_of_[x.index()] == no_kept) {
      kept_of_[x.index()] = static_cast<std::uint32_t>(kept_.size());
      kept_.emplace_back();
    }
    kept_pool& k = kept_[kept_of_[x.index()]][d];
    k.portions.forget();
    if (!is_surplus || (k.rest > 0 && k.rest-- > 0)) return;
    k.promised = promised;
    k.portions.reset(claimants_.size());
    for (std::size_t i = 0; i < claimants_.size(); ++i) {
      const claimant& c = claimants_[i];
      if (i > 0) place_[c.quota.index()] = static_cast<std::uint32_t>(i);
      const quantity first = granted_first(c.guaranteed, c.wants);
      k.portions.set(i, rule_.measure(c), (c.wants - first).in_milli(), (c.granted - first).in_milli());
    }
    k.portions.begin();
  }
  /// The division of the pool of x, if it is kept; else null.
  [[nodiscard]] kept_pool* kept(quota_id x, std::size_t d) {
    if (kept_.empty() || kept_of_[x.index()] == no_kept) return nullptr;
    kept_pool& k = kept_[kept_of_[x.index()]][d];
    return k.portions.is_valid() ? &k : nullptr;
  }
  /// What a claimant wants of a kept pool has changed: the subtree of `below`, or the own jobs of that quota.
  void rewant(const ledger<N>& l, kept_pool& k, const step& s, quota_id below, std::size_t d) {
    const quantity own = guaranteed(l.supply_of(below ? below : s.quota, d), static_cast<bool>(below));
    const quantity first = granted_first(own, s.wants);
    k.promised += first - granted_first(own, s.wanted);
    k.portions.change_room(below ? place_[below.index()] : 0, (s.wants - first).in_milli());
  }
  /// Brings the kept division of the pool of x up to date; divides it from scratch where that is cheaper.
  void adjust(const ledger<N>& l, kept_pool& k, quota_id x, std::size_t d) {
    const quantity pool = at(x, d).pool;
    const auto children = l.tree().children(x);
    const bool is_settled =
        k.promised <= pool &&
        k.portions.settle((pool - k.promised).in_milli(), [&](std::size_t place, std::int64_t given) {
          const quota_id c = place == 0 ? quota_id::none() : children[place - 1];
          const quantity own = guaranteed(l.supply_of(c ? c : x, d), static_cast<bool>(c));
          const quantity wants = c ? claim_of(l, c, d) : at(x, d).demand;
          const quantity granted = granted_first(own, wants) + quantity::milli(given);
          c ? grant(l, c, d, granted) : set_own(x, d, granted);
        });
    k.failures = is_settled ? 0 : std::min(k.failures + 1, most_failures);
    if (is_settled) return;
    k.rest = (1U << k.failures) - 1;
    divide_and_keep(l, x, d);
  }
  /// What of its parent's pool a child is guaranteed, or the own jobs of a quota of its own.
  [[nodiscard]] static quantity guaranteed(const supply& has, bool is_child) {
    return std::max(quantity{}, is_child ? std::min(has.total, has.lend) : has.own_pool);
  }

  /// Overcommitted: there is less than was promised, so all get the same fraction.
  void share_shortage(quantity pool) {
    for (claimant& c : claimants_) {
      wanted_.push_back(c.wants);
      c.wants = std::exchange(c.granted, quantity{});
      c.weight = c.wants.in_milli();
    }
    if constexpr (shortage_rule<SurplusRule>) {
      rule_.divide_shortage(pool, claimants_);
    } else {
      proportional_(pool, claimants_);
    }
    for (std::size_t i = 0; i < claimants_.size(); ++i) claimants_[i].wants = wanted_[i];
  }

  /// Turns pools into what the jobs get: what a child keeps is part of its parent's subtree, not of its pool.
  void sum_up(const quota_tree<N>& tree, quota_id x, std::size_t d) {
    quantity sum = own_[x.index()][d];
    for (const quota_id c : tree.children(x)) sum += entitled_[c.index()][d];
    entitled_[x.index()][d] = sum;
  }

  void change(const ledger<N>& l, quota_id x, std::size_t d, quantity demand) {
    const bool ignores_unmet = ignores_unmet_wants(rule_);
    if (ignores_unmet && at(x, d).demand == demand) return;
    path_.clear();
    changed_.clear();
    path_.push_back({x, entitled_[x.index()][d], at(x, d).demand, demand, is_met(x, d)});
    at(x, d).demand = demand;
    // Up to where nobody asks for more or less any more, mostly at a limit.
    quantity more = demand - path_.front().wanted;
    quota_id top = x;
    quota_id above = l.tree().parent(x);
    for (; above && !(ignores_unmet && more == quantity{}); above = l.tree().parent(top)) {
      const quantity before = claim_of(l, top, d);
      at(top, d).use += more;
      const quantity after = claim_of(l, top, d);
      path_.push_back({above, entitled_[above.index()][d], before, after, is_met(above, d)});
      more = after - before;
      top = above;
    }
    at(top, d).use += more;
    // Downwards. Pools that change off the path are deferred; they do not depend on anything still to come.
    quantity pool = at(top, d).pool;
    if (!above) fill_root(l, top, d);
    for (std::size_t k = path_.size(); k-- > 0;) {
      const step& s = path_[k];
      const quota_id below = k > 0 ? path_[k - 1].quota : quota_id::none();
      const quantity pool_below = below ? at(below, d).pool : quantity{};
      if (kept_pool* const its = kept(s.quota, d)) {
        rewant(l, *its, s, below, d);
        adjust(l, *its, s.quota, d);
      } else if (s.was_met && is_met(s.quota, d)) {
        below ? grant(l, below, d, s.wants) : set_own(s.quota, d, s.wants);
      } else if (!ignores_unmet || at(s.quota, d).pool != pool || is_felt(l, s, below, d)) {
        divide_and_keep(l, s.quota, d);
      } else if (below) {
        fill(l, below, d);
      }
      pool = pool_below;
    }
    divide_below(l, d);
    for (std::size_t k = 0; k + 1 < path_.size(); ++k) pass_up(path_[k], path_[k + 1].quota, d);
    const quantity entitled = entitled_[top.index()][d] - path_.back().entitled;
    for (; above && entitled != quantity{}; above = l.tree().parent(above)) {
      entitled_[above.index()][d] += entitled;
    }
  }
  /// The entitlement of a quota has changed, and so has its parent's.
  template <class Changed>
  void pass_up(const Changed& c, quota_id parent, std::size_t d) {
    entitled_[parent.index()][d] += entitled_[c.quota.index()][d] - c.entitled;
  }

  /// Whether all that share the pool of x have all that they want, as far as the rule lets them.
  [[nodiscard]] bool is_met(quota_id x, std::size_t d) const {
    if constexpr (keeping_rule<SurplusRule>) return rule_.keeps() && at(x, d).pool == at(x, d).use;
    return false;
  }
  /// Whether the claimant's new wants may change how the pool of a quota on the path is divided: not if it
  /// was given less than it wanted, and still is.
  [[nodiscard]] bool is_felt(const ledger<N>& l, const step& s, quota_id below, std::size_t d) const {
    if (s.wants == s.wanted) return false;
    const quantity given = below ? at(below, d).granted : own_[s.quota.index()][d];
    const quantity own = guaranteed(l.supply_of(below ? below : s.quota, d), static_cast<bool>(below));
    return s.wanted <= given || s.wants < given || std::min(own, s.wanted) != std::min(own, s.wants);
  }

  /// Divides the pools off the path that have changed, and those below them that change in turn.
  void divide_below(const ledger<N>& l, std::size_t d) {
    const auto is_on_path = [&](quota_id x) {
      return detail::any_of(path_.begin(), path_.end(), [&](const step& s) { return s.quota == x; });
    };
    erase_if(changed_, [&](const resized_pool& c) { return is_on_path(c.quota); });
    // Grows during the walk; parents come before their children.
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const quota_id x = changed_[i].quota;
      kept_pool* const its = kept(x, d);
      its != nullptr ? adjust(l, *its, x, d) : divide_and_keep(l, x, d);
    }
    for (std::size_t i = changed_.size(); i-- > 0;) {
      pass_up(changed_[i], l.tree().parent(changed_[i].quota), d);
    }
    changed_.clear();
  }

  vector<per_dimension<seat, N>> seats_;
  vector<resources<N>> entitled_;
  vector<resources<N>> own_;
  vector<claimant> claimants_;
  vector<quantity> wanted_;
  /// The quotas whose pool has changed and has not been divided since.
  vector<resized_pool> changed_;
  vector<quota_id> changed_own_;
  vector<step> path_;
  /// The divisions of large pools, and by quota where its are.
  vector<per_dimension<kept_pool, N>> kept_;
  vector<std::uint32_t> kept_of_;
  /// By quota, its place among the claimants of its parent's pool, if that is kept.
  vector<std::uint32_t> place_;
  SurplusRule rule_;
  proportional_to_weight proportional_;
};

}  // namespace v0
}  // namespace allot
