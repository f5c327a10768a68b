// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// What each quota is owed of what there is, given what each wants: its entitlement.
///
/// First what is its own, then the surplus, from the root down and in exact integers. What a quota keeps for
/// itself (beyond its lend limit) is its own to use and nobody else's; of its parent's pool it is guaranteed
/// what it lends into it, and shares in the rest by the surplus rule, up to its borrow limit. The own jobs of
/// an inner quota take part as a peer of its children. In sum the entitlements are min(capacity, demand)
/// unless limits stand in the way, and none exceeds its demand.
template <std::size_t N = 1, class SurplusRule = proportional_to_weight>
class division {
 public:
  explicit division(SurplusRule rule = {}) : rule_(std::move(rule)) {}

  /// `demand[i]` is what the own jobs of quota i use and wait for, together, per dimension.
  /// Precondition: one demand a slot, none negative or unlimited. O(n log children).
  void update(const ledger<N>& l, std::span<const resources<N>> demand) {
    ALLOT_ASSERT(demand.size() == l.tree().slots(), "one demand for each quota");
    entitled_.resize(demand.size());
    own_.resize(demand.size());
    use_.resize(demand.size());
    const auto order = l.tree().top_down();
    for (std::size_t d = 0; d < N; ++d) {
      for (auto it = order.rbegin(); it != order.rend(); ++it) add_up(l, demand, *it, d);
      for (const quota_id x : order) {
        if (!l.tree().parent(x)) {
          entitled_[x.index()][d] = std::min(use_[x.index()], std::max(quantity{}, l.total_supply(x, d)));
        }
        divide(l, demand, x, d);
      }
      for (auto it = order.rbegin(); it != order.rend(); ++it) sum_up(l.tree(), *it, d);
    }
  }

  /// Of all jobs in the subtree of x.
  [[nodiscard]] const resources<N>& entitled(quota_id x) const { return entitled_[x.index()]; }
  /// Of the jobs attached to x itself.
  [[nodiscard]] const resources<N>& own(quota_id x) const { return own_[x.index()]; }

 private:
  /// What x would draw on its supply if everybody got what they want, as the ledger's `drawn`.
  void add_up(const ledger<N>& l, std::span<const resources<N>> demand, quota_id x, std::size_t d) {
    quantity use = demand[x.index()][d];
    for (const quota_id c : l.tree().children(x)) use += claim_of(l, c, d);
    use_[x.index()] = use;
  }
  /// What child c asks of its parent's pool.
  [[nodiscard]] quantity claim_of(const ledger<N>& l, quota_id c, std::size_t d) const {
    const supply& s = l.supply_of(c, d);
    const quantity most = std::min(use_[c.index()], std::max(quantity{}, s.total + s.borrow));
    return std::max(quantity{}, most - s.kept);
  }

  /// Divides the pool of x, so far in `entitled_`, among its own jobs and its children.
  void divide(const ledger<N>& l, std::span<const resources<N>> demand, quota_id x, std::size_t d) {
    const quota_tree<N>& tree = l.tree();
    const quantity pool = entitled_[x.index()][d];
    claimants_.clear();
    guaranteed_.clear();
    const auto claim = [&](quota_id who, quantity wants, quantity own) {
      claimants_.push_back({who, wants, tree.spec(who).weight[d], {}});
      guaranteed_.push_back(std::clamp(own, quantity{}, wants));
    };
    claim(x, demand[x.index()][d], l.supply_of(x, d).own_pool);
    for (const quota_id c : tree.children(x)) {
      const supply& s = l.supply_of(c, d);
      claim(c, claim_of(l, c, d), std::min(s.total, s.lend));
    }
    quantity promised{};
    for (const quantity g : guaranteed_) promised += g;
    if (promised > pool) {
      share_shortage(pool);
    } else {
      for (std::size_t i = 0; i < claimants_.size(); ++i) claimants_[i].granted = guaranteed_[i];
      rule_(pool - promised, claimants_);
    }
    own_[x.index()][d] = claimants_.front().granted;
    for (std::size_t i = 1; i < claimants_.size(); ++i) {
      const quota_id c = claimants_[i].quota;
      entitled_[c.index()][d] = std::min(use_[c.index()], claimants_[i].granted + l.supply_of(c, d).kept);
    }
  }

  /// Overcommitted: there is less than was promised, so all get the same part of it.
  void share_shortage(quantity pool) {
    for (std::size_t i = 0; i < claimants_.size(); ++i) {
      std::swap(claimants_[i].wants, guaranteed_[i]);
      claimants_[i].weight = claimants_[i].wants.in_milli();
    }
    proportional_(pool, claimants_);
  }

  /// From pools to what the jobs get: what a child keeps is part of its parent's subtree, not of its pool.
  void sum_up(const quota_tree<N>& tree, quota_id x, std::size_t d) {
    quantity sum = own_[x.index()][d];
    for (const quota_id c : tree.children(x)) sum += entitled_[c.index()][d];
    entitled_[x.index()][d] = sum;
  }

  std::vector<resources<N>> entitled_;
  std::vector<resources<N>> own_;
  std::vector<quantity> use_;
  std::vector<claimant> claimants_;
  std::vector<quantity> guaranteed_;
  SurplusRule rule_;
  proportional_to_weight proportional_;
};

}  // namespace v0
}  // namespace allot
