// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/quota/ledger.hpp>

#include <array>
#include <cstddef>

#include "tests/support/law_oracle.hpp"

namespace allot_test {

/// Which jobs may be preempted, by the definitions: every number is computed from the law's definition on
/// each call. The test charges and releases jobs in the oracle.
template <std::size_t N>
class yield_oracle {
 public:
  using dimensions = std::array<bool, N>;

  explicit yield_oracle(const allot::quota_tree<N>& tree)
      : tree_(tree), law_({tree.specs().begin(), tree.specs().end()}, tree.removed()), idle_(tree) {}

  void charge(const allot::running_job<N>& j, int sign = 1) {
    for (std::size_t d = 0; d < N; ++d) {
      law_.add(j.quota.index(), d, sign * j.request[d].in_milli(), j.in);
    }
  }
  void release(const allot::running_job<N>& j) { charge(j, -1); }

  [[nodiscard]] law_oracle<N>& law() { return law_; }

  /// Whether the quota allows the request, in one dimension or in all.
  [[nodiscard]] bool admits(const allot::beneficiary<N>& b, std::size_t d) {
    return b.request[d] == allot::quantity{} ||
           law_.admits(b.quota.index(), d, b.request[d].in_milli(), b.in);
  }
  [[nodiscard]] bool admits(const allot::beneficiary<N>& b) {
    for (std::size_t d = 0; d < N; ++d) {
      if (!admits(b, d)) return false;
    }
    return true;
  }

  /// The dimensions that the quota does not allow; if it allows all, the requested ones.
  [[nodiscard]] dimensions contested(const allot::beneficiary<N>& b) {
    const bool all = admits(b);
    dimensions result{};
    for (std::size_t d = 0; d < N; ++d) {
      result[d] = all ? b.request[d] > allot::quantity{} : !admits(b, d);
    }
    return result;
  }

  /// Whether the beneficiary's own pool, or a quota from its own up to `side`, has the requested amount of
  /// its own left in every contested dimension.
  [[nodiscard]] bool owns(const allot::beneficiary<N>& b, allot::quota_id side, const dimensions& contested) {
    const auto all = [&](auto has) {
      for (std::size_t d = 0; d < N; ++d) {
        if (contested[d] && !has(d)) return false;
      }
      return true;
    };
    const std::size_t x = b.quota.index();
    if (all([&](std::size_t d) {
          return law_.own_pool(x, d) - law_.used(x, d) >= big{b.request[d].in_milli()};
        })) {
      return true;
    }
    if (!side) return false;
    for (allot::quota_id at = b.quota;; at = tree_.parent(at)) {
      // With the request included, nothing is missing there.
      if (all([&](std::size_t d) { return balance_with(b, d, at) >= 0; })) return true;
      if (at == side) return false;
    }
  }

  /// Whether the job uses capacity owned outside `top` in a contested dimension.
  [[nodiscard]] bool owes(const allot::running_job<N>& j, allot::quota_id top, const dimensions& contested) {
    for (std::size_t d = 0; d < N; ++d) {
      const std::size_t x = j.quota.index();
      bool owed = contested[d] && j.request[d] > allot::quantity{} && law_.used(x, d) > law_.own_pool(x, d);
      for (allot::quota_id at = j.quota; at != top; at = tree_.parent(at)) {
        owed = owed && law_.balance(at.index(), d) < 0;
      }
      if (owed) return true;
    }
    return false;
  }

  /// Whether the beneficiary may preempt the job in this state.
  [[nodiscard]] bool may_ask(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                             const dimensions& contested) {
    bool helps = false;
    for (std::size_t d = 0; d < N; ++d) helps = helps || (contested[d] && j.request[d] > allot::quantity{});
    if (!helps) return false;
    if (j.quota == b.quota) {
      if (b.may.within == allot::preempt_within::never) return false;
      return j.priority < b.priority || (b.may.within == allot::preempt_within::lower_or_newer_equal &&
                                         j.priority == b.priority && j.submitted > b.submitted);
    }
    const allot::quota_id top = tree_.common_ancestor(j.quota, b.quota);
    if (!top || top == j.quota) return false;
    if (top == b.quota && b.may.children) {
      return within(b.may.children_priorities, b, j) &&
             (!b.may.children_lower_priority || j.priority < b.priority);
    }
    if (b.may.reclaim == allot::preempt_reclaim::never || !within(b.may.reclaim_priorities, b, j))
      return false;
    if (b.may.reclaim == allot::preempt_reclaim::lower_priority && j.priority >= b.priority) return false;
    const allot::quota_id side = top == b.quota ? allot::quota_id::none() : tree_.side_of(b.quota, top);
    return owns(b, side, contested) && owes(j, top, contested);
  }

  [[nodiscard]] static bool within(const allot::priority_bounds& these, const allot::beneficiary<N>& b,
                                   const allot::running_job<N>& j) {
    return b.priority >= these.preempting.least && b.priority <= these.preempting.most &&
           j.priority >= these.preempted.least && j.priority <= these.preempted.most;
  }
  /// Whether the beneficiary may preempt the job though both borrow: because of its priority, or as a rival
  /// whose side keeps no smaller a share. Changes the usage temporarily.
  [[nodiscard]] bool may_ask_while_borrowing(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                                             const dimensions& contested) {
    return stands_beyond(b, j, contested) && keeps(b, j, contested) &&
           b.may.rivals == allot::preempt_rivals::never && b.may.reclaim != allot::preempt_reclaim::never &&
           b.may.borrow != allot::preempt_borrow::never && j.priority < b.priority &&
           within(b.may.reclaim_priorities, b, j) &&
           (!b.may.borrow_max_priority || j.priority <= *b.may.borrow_max_priority);
  }
  [[nodiscard]] bool may_ask_as_rival(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                                      const dimensions& contested) {
    if (b.may.rivals == allot::preempt_rivals::never) return false;
    if (b.may.rivals == allot::preempt_rivals::lower_priority && j.priority >= b.priority) return false;
    return stands_beyond(b, j, contested) && keeps(b, j, contested) && is_fair(b, j);
  }
  /// Whether both borrow, and the job's side would still use all that it owns without it. Changes the usage
  /// temporarily.
  [[nodiscard]] bool is_rival(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                              const dimensions& contested) {
    return stands_beyond(b, j, contested) && keeps(b, j, contested);
  }
  /// The rule of the final share, at the children of the lowest common ancestor.
  [[nodiscard]] bool is_fair(const allot::beneficiary<N>& b, const allot::running_job<N>& j) {
    const allot::quota_id top = tree_.common_ancestor(j.quota, b.quota);
    const bool own = top == b.quota;
    const allot::quota_id ours = own ? top : tree_.side_of(b.quota, top);
    const fraction before = share(ours, own);
    std::array<big, N> had{};
    for (std::size_t d = 0; d < N; ++d) had[d] = balance_of(ours, d, own);
    release(j);
    const fraction left = share(tree_.side_of(j.quota, top), false);
    charge(j);
    for (std::size_t d = 0; d < N; ++d) law_.add(b.quota.index(), d, b.request[d].in_milli(), b.in);
    const fraction wanted = share(ours, own);
    bool borrows = false;
    for (std::size_t d = 0; d < N; ++d) {
      const big has = balance_of(ours, d, own);
      borrows = borrows || (has < 0 && has < had[d]);
    }
    for (std::size_t d = 0; d < N; ++d) law_.add(b.quota.index(), d, -b.request[d].in_milli(), b.in);
    return less(wanted, left) || (!less(left, wanted) && (!borrows || less(before, wanted)));
  }

 private:
  /// A weighted share, and the unweighted share, which breaks ties between two infinite ones.
  struct fraction {
    big num = 0;
    big den = 1;
    big plain_num = 0;
    big plain_den = 1;
  };
  [[nodiscard]] static bool less(const fraction& a, const fraction& b) {
    const bool a_infinite = a.den == 0;
    const bool b_infinite = b.den == 0;
    if (a_infinite && b_infinite) return a.plain_num * b.plain_den < b.plain_num * a.plain_den;
    if (a_infinite || b_infinite) return b_infinite;
    return a.num * b.den < b.num * a.den;
  }
  [[nodiscard]] big balance_of(allot::quota_id x, std::size_t d, bool own_jobs) {
    return own_jobs ? law_.own_pool(x.index(), d) - law_.used(x.index(), d) : law_.balance(x.index(), d);
  }
  [[nodiscard]] fraction share(allot::quota_id x, bool own_jobs) {
    fraction most;
    const allot::quota_id lender = own_jobs ? x : tree_.parent(x);
    for (std::size_t d = 0; d < N; ++d) {
      const big used =
          own_jobs ? law_.used(x.index(), d) - law_.own_pool(x.index(), d) : -law_.balance(x.index(), d);
      const big lendable = idle_.potential(lender, d).in_milli();
      if (used <= 0 || lendable <= 0) continue;
      const big weight = tree_.spec(x).weight[d].in_milli();
      const fraction here{used, lendable * weight, used, lendable};
      if (most.num == 0 || (most.den != 0 && (here.den == 0 || most.num * here.den < here.num * most.den))) {
        most.num = here.num;
        most.den = here.den;
      }
      if (most.plain_num * here.plain_den < here.plain_num * most.plain_den) {
        most.plain_num = here.plain_num;
        most.plain_den = here.plain_den;
      }
    }
    return most;
  }
  /// A borrower on the far side of a quota above both, or below the beneficiary's quota.
  [[nodiscard]] bool stands_beyond(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                                   const dimensions& contested) {
    const allot::quota_id top = tree_.common_ancestor(j.quota, b.quota);
    if (!top || top == j.quota || (top == b.quota && b.may.children)) return false;
    return owes(j, top, contested);
  }
  /// Whether, once the job is released, its quota and all quotas below the common ancestor use only their
  /// own.
  [[nodiscard]] bool keeps(const allot::beneficiary<N>& b, const allot::running_job<N>& j,
                           const dimensions& contested) {
    const allot::quota_id top = tree_.common_ancestor(j.quota, b.quota);
    bool all = true;
    release(j);
    for (std::size_t d = 0; d < N; ++d) {
      if (!contested[d] || j.request[d] == allot::quantity{}) continue;
      all = all && law_.used(j.quota.index(), d) >= law_.own_pool(j.quota.index(), d);
      for (allot::quota_id at = j.quota; at != top; at = tree_.parent(at)) {
        all = all && law_.balance(at.index(), d) <= 0;
      }
    }
    charge(j);
    return all;
  }

  [[nodiscard]] big balance_with(const allot::beneficiary<N>& b, std::size_t d, allot::quota_id at) {
    law_.add(b.quota.index(), d, b.request[d].in_milli(), b.in);
    const big balance = law_.balance(at.index(), d);
    law_.add(b.quota.index(), d, -b.request[d].in_milli(), b.in);
    return balance;
  }

  const allot::quota_tree<N>& tree_;
  law_oracle<N> law_;
  /// For the maximum possible usage, which does not depend on the current usage.
  allot::ledger<N> idle_;
};

}  // namespace allot_test
