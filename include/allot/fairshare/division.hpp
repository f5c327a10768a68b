// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
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
    const auto order = l.tree().top_down();
    for (std::size_t i = 0; i < demand.size(); ++i) {
      for (std::size_t d = 0; d < N; ++d) seats_[i][d].demand = demand[i][d];
    }
    for (std::size_t d = 0; d < N; ++d) {
      for (auto it = order.rbegin(); it != order.rend(); ++it) add_up(l, *it, d);
      for (const quota_id x : order) {
        if (!l.tree().parent(x)) fill_root(l, x, d);
        divide(l, x, d);
      }
      for (auto it = order.rbegin(); it != order.rend(); ++it) sum_up(l.tree(), *it, d);
    }
    changed_.clear();
  }

  /// Sets the demand of the own jobs of `x`; all else is as at the last update (or change), with the same
  /// ledger except for usage. The result equals that of an update with that demand. Must also be called, with
  /// the demand unchanged, for quotas whose other inputs to the rule have changed (for `first_come`, their
  /// usage).
  ///
  /// Redivides only what depends on it: the pools on the path of x, and those below that change in size. If x
  /// was given less than it wanted and still wants more than it is given, and the rule ignores such wants,
  /// nothing is divided and the cost is O(depth).
  void change_demand(const ledger<N>& l, quota_id x, const resources<N>& demand) {
    ALLOT_ASSERT(seats_.size() == l.tree().slots(), "call update() for this tree first");
    ALLOT_ASSERT(is_valid_request(demand), "a demand is neither negative nor unlimited");
    for (std::size_t d = 0; d < N; ++d) change(l, x, d, demand[d]);
  }

  /// The entitlement of all jobs in the subtree of x. Zero if there was no such quota at the last update.
  [[nodiscard]] const resources<N>& entitled(quota_id x) const noexcept { return of(entitled_, x); }
  /// The entitlement of the jobs attached to x itself; zero likewise.
  [[nodiscard]] const resources<N>& own(quota_id x) const noexcept { return of(own_, x); }

  /// The rule, to change its settings; changes take effect at the next update.
  [[nodiscard]] SurplusRule& rule() noexcept { return rule_; }

 private:
  struct seat {
    quantity demand;
    /// What it would draw on its supply if all demands were met, as the ledger's `drawn`.
    quantity use;
    /// What it is granted of its parent's pool.
    quantity granted;
    /// What it divides: `granted` and what it keeps, as far as it can use them.
    quantity pool;
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

  /// Divides the pool of x among its own jobs and its children; records changed pools in `changed_`.
  void divide(const ledger<N>& l, quota_id x, std::size_t d) {
    const quota_tree<N>& tree = l.tree();
    const quantity pool = at(x, d).pool;
    if (tree.children(x).empty()) {
      own_[x.index()][d] = pool;
      return;
    }
    claimants_.clear();
    wanted_.clear();
    quantity promised{};
    const auto claim = [&](quota_id who, bool own_jobs, quantity wants, quantity own) {
      const quota_spec<N>& spec = tree.spec(who);
      claimants_.push_back({.quota = who,
                            .wants = wants,
                            .weight = spec.weight[d].in_milli(),
                            .granted = std::clamp(own, quantity{}, wants),
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
    own_[x.index()][d] = claimants_.front().granted;
    for (std::size_t i = 1; i < claimants_.size(); ++i) {
      const quota_id c = claimants_[i].quota;
      const quantity before = at(c, d).pool;
      at(c, d).granted = claimants_[i].granted;
      fill(l, c, d);
      if (at(c, d).pool != before) changed_.push_back(c);
    }
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

  /// A quota on the path of a changed demand, and what its claimant on that path wanted before.
  struct step {
    quota_id quota;
    quantity wanted;
    bool divided = false;
  };

  void change(const ledger<N>& l, quota_id x, std::size_t d, quantity demand) {
    const bool ignores_unmet = ignores_unmet_wants(rule_);
    if (ignores_unmet && at(x, d).demand == demand) return;
    path_.clear();
    changed_.clear();
    path_.push_back({x, at(x, d).demand});
    at(x, d).demand = demand;
    quantity more = demand - path_.front().wanted;
    for (quota_id c = x;;) {
      const quota_id p = l.tree().parent(c);
      const quantity before = claim_of(l, c, d);
      at(c, d).use += more;
      if (!p) break;
      path_.push_back({p, before});
      more = claim_of(l, c, d) - before;
      c = p;
    }
    // Downwards. Pools that change off the path are deferred; they do not depend on anything still to come.
    quantity pool = at(path_.back().quota, d).pool;
    fill_root(l, path_.back().quota, d);
    for (std::size_t k = path_.size(); k-- > 0;) {
      step& s = path_[k];
      const quota_id below = k > 0 ? path_[k - 1].quota : quota_id::none();
      const quantity pool_below = below ? at(below, d).pool : quantity{};
      s.divided = !ignores_unmet || at(s.quota, d).pool != pool || is_felt(l, s, below, d);
      if (s.divided) {
        divide(l, s.quota, d);
      } else if (below) {
        fill(l, below, d);
      }
      pool = pool_below;
    }
    divide_below(l, d);
    quantity more_below{};
    for (std::size_t k = 0; k < path_.size(); ++k) {
      const step& s = path_[k];
      quantity& sum = entitled_[s.quota.index()][d];
      const quantity before = sum;
      if (s.divided) {
        sum_up(l.tree(), s.quota, d);
      } else {
        sum += more_below;
      }
      more_below = sum - before;
    }
  }

  /// Whether the claimant's new wants may change how the pool of a quota on the path is divided: not if it
  /// was given less than it wanted, and still is.
  [[nodiscard]] bool is_felt(const ledger<N>& l, const step& s, quota_id below, std::size_t d) const {
    const seat& c = at(below ? below : s.quota, d);
    const quantity wants = below ? claim_of(l, below, d) : c.demand;
    const quantity given = below ? c.granted : own_[s.quota.index()][d];
    if (wants == s.wanted) return false;
    const supply& has = l.supply_of(below ? below : s.quota, d);
    const quantity own = std::max(quantity{}, below ? std::min(has.total, has.lend) : has.own_pool);
    return s.wanted <= given || wants < given || std::min(own, s.wanted) != std::min(own, wants);
  }

  /// Divides the pools off the path that have changed, and those below them that change in turn.
  void divide_below(const ledger<N>& l, std::size_t d) {
    const auto is_on_path = [&](quota_id x) {
      return detail::any_of(path_.begin(), path_.end(), [&](const step& s) { return s.quota == x; });
    };
    erase_if(changed_, is_on_path);
    // Grows during the walk; parents come before their children.
    for (std::size_t i = 0; i < changed_.size(); ++i) divide(l, changed_[i], d);
    for (std::size_t i = changed_.size(); i-- > 0;) sum_up(l.tree(), changed_[i], d);
    changed_.clear();
  }

  vector<per_dimension<seat, N>> seats_;
  vector<resources<N>> entitled_;
  vector<resources<N>> own_;
  vector<claimant> claimants_;
  vector<quantity> wanted_;
  /// The quotas whose pool has changed and has not been divided since.
  vector<quota_id> changed_;
  vector<step> path_;
  SurplusRule rule_;
  proportional_to_weight proportional_;
};

}  // namespace v0
}  // namespace allot
