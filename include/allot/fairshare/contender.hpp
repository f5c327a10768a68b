// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/job_rank.hpp>
#include <allot/quota/ledger.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {

/// A participant when an inner quota chooses among its children: a child, represented by the best pending job
/// of its subtree, or the quota's own jobs, which compete as a peer of the children.
template <std::size_t N>
struct contender {
  /// The child that competes, or the quota whose own jobs do.
  quota_id quota;
  /// The own jobs of `quota`, rather than its whole subtree.
  bool own_jobs = false;
  /// The part of the job's request that reaches `quota`: less what quotas on the way keep for themselves.
  resources<N> request{};
  /// The rank of the job among the jobs of its own quota.
  job_rank head{};
  /// The quota that the job is attached to, and its whole request, for orders that use them.
  quota_id origin{};
  /// The whole request.
  resources<N> asked{};
};

/// What a contender has and uses in one dimension before its job is added.
struct account {
  /// What it may use without borrowing: its own pool and what is lent to it from below.
  quantity supply;
  /// What it draws on that.
  quantity used;
};

/// The account of a contender in dimension `d`: of its own pool if its own jobs compete, else of its subtree.
/// O(1).
template <std::size_t N>
[[nodiscard]] account account_of(const ledger<N>& l, const contender<N>& c, std::size_t d) {
  if (c.own_jobs) return {l.supply_of(c.quota, d).own_pool, l.own_usage(c.quota, d)};
  return {l.total_supply(c.quota, d), l.drawn(c.quota, d)};
}

}  // namespace v0
}  // namespace allot
