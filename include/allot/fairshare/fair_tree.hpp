// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/job_rank.hpp>
#include <allot/quota/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// Slurm's Fair Tree: ranks users (quotas with jobs) in the order in which the account tree serves them.
///
/// Among siblings the one with the larger level share LF = S / U comes first, where S is its part of the
/// siblings' shares (weights) and U its part of their parent's usage; an account is ranked with all below it.
/// A share of zero makes LF 0; otherwise zero usage makes it infinite. Equal users share a rank; equal
/// accounts are merged: their children are compared with one another, each by its LF in its own account; a
/// user equal to an account shares the rank of that account's best user. LF is compared exactly, not in
/// floating point.
class fair_tree {
 public:
  /// `own_usage[i]` is what the own jobs of quota i have used, in any unit, e.g. a decayed sum; below 2^62 in
  /// total. Shares are the weights of dimension d. Every leaf is a user; the own jobs of an inner quota are
  /// one if `has_own_jobs(quota)`, as a peer of the children and with the share of the quota itself.
  /// O(n log n); buffers are reused.
  template <std::size_t N, class HasOwnJobs>
  void update(const quota_tree<N>& tree, std::size_t d, std::span<const std::int64_t> own_usage,
              HasOwnJobs has_own_jobs) {
    ALLOT_ASSERT(own_usage.size() == tree.slots(), "one usage for each quota");
    used_.assign(own_usage.begin(), own_usage.end());
    ranks_.assign(tree.slots(), none);
    const auto order = tree.top_down();
    std::int64_t all = 0;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const quota_id p = tree.parent(*it);
      (p ? used_[p.index()] : all) += used_[it->index()];
    }
    ranked_ = 0;
    rank_ = 0;
    nodes_.clear();
    enlist(tree, d, tree.roots(), quota_id::none(), 0, all);
    const auto expand = [&](quota_id account) {
      const bool own = has_own_jobs(account);
      enlist(tree, d, tree.children(account), own ? account : quota_id::none(),
             own ? own_usage[account.index()] : 0, used_[account.index()]);
    };
    rank(tree, 0, false, expand);
  }
  /// The same, with every quota ranked whether it has work or not.
  template <std::size_t N>
  void update(const quota_tree<N>& tree, std::size_t d, std::span<const std::int64_t> own_usage) {
    update(tree, d, own_usage, [](quota_id) { return false; });
  }

  /// The rank of the own jobs of x: the number of users before it; equal users share a rank.
  /// The number of quota slots if x is not a user.
  [[nodiscard]] std::size_t rank(quota_id x) const {
    return ranks_[x.index()] == none ? ranks_.size() : ranks_[x.index()];
  }
  /// The number of ranked users.
  [[nodiscard]] std::size_t users() const noexcept { return ranked_; }
  /// Slurm's fair-share factor: 1 for the first, 1 / users for the last. Precondition: x is a user.
  [[nodiscard]] ratio factor(quota_id x) const {
    return {static_cast<wide>(ranked_ - rank(x)), static_cast<wide>(ranked_)};
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct node {
    quota_id quota;
    bool is_user;
    ratio level_share;
  };

  template <std::size_t N>
  void enlist(const quota_tree<N>& tree, std::size_t d, std::span<const quota_id> siblings, quota_id own,
              std::int64_t own_usage, std::int64_t usage) {
    wide shares = own ? share_of(tree, own, d) : 0;
    for (const quota_id x : siblings) shares += share_of(tree, x, d);
    const auto level_share = [&](wide share, std::int64_t used) {
      if (share == 0) return ratio{};
      return used == 0 ? ratio::infinite()
                       : ratio{share * static_cast<wide>(usage), shares * static_cast<wide>(used)};
    };
    if (own) nodes_.push_back({own, true, level_share(share_of(tree, own, d), own_usage)});
    for (const quota_id x : siblings) {
      nodes_.push_back({x, tree.children(x).empty(), level_share(share_of(tree, x, d), used_[x.index()])});
    }
  }
  template <std::size_t N>
  [[nodiscard]] static wide share_of(const quota_tree<N>& tree, quota_id x, std::size_t d) {
    return static_cast<wide>(std::max<std::int64_t>(0, tree.spec(x).weight[d].in_milli()));
  }

  /// Ranks all users below the siblings from `first` on, and removes those siblings. `tied`: the best user
  /// shares the rank given last.
  template <std::size_t N, class Expand>
  void rank(const quota_tree<N>& tree, std::size_t first, bool tied, const Expand& expand) {
    detail::sort(nodes_.begin() + static_cast<std::ptrdiff_t>(first), nodes_.end(),
                 [](const node& a, const node& b) {
                   if (const auto o = a.level_share <=> b.level_share; o != 0) return o > 0;
                   return a.is_user != b.is_user ? a.is_user : a.quota < b.quota;
                 });
    const std::size_t end = nodes_.size();
    for (std::size_t i = first; i < end;) {
      if (i > first) tied = nodes_[i].level_share == nodes_[i - 1].level_share;
      if (nodes_[i].is_user) {
        if (!tied) rank_ = ranked_;
        ranks_[nodes_[i].quota.index()] = rank_;
        ++ranked_;
        ++i;
        continue;
      }
      // Among equals users come first, so only accounts are left.
      const ratio level_share = nodes_[i].level_share;
      for (; i < end && nodes_[i].level_share == level_share; ++i) expand(quota_id{nodes_[i].quota});
      rank(tree, end, tied, expand);
    }
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(first), nodes_.end());
  }

  vector<std::int64_t> used_;
  vector<std::size_t> ranks_;
  vector<node> nodes_;
  std::size_t ranked_ = 0;
  std::size_t rank_ = 0;
};

/// The contender whose user has the best Fair Tree rank comes first, then the best job. After an update of
/// the ranks, call `tournament::refresh_all`.
struct fair_tree_rank_first {
  /// The ranks that are compared; must outlive the order.
  const fair_tree* ranks;

  template <std::size_t N>
  [[nodiscard]] std::pair<std::size_t, job_rank> operator()(const ledger<N>&, const contender<N>& c) const {
    return {ranks->rank(c.origin), c.head};
  }
};

}  // namespace v0
}  // namespace allot
