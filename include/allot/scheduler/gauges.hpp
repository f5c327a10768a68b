// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/quota/loans.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// How many evictions plans have listed, by the victim's quota and the cause. The scheduler keeps no such
/// counts: the host notes each plan, and persists the counts if they are to survive a restart (Prometheus
/// does without). An elastic job that is evicted whole, and each pod that it loses alone, count as one.
class eviction_counts {
 public:
  /// Indexed by `relation`.
  using by_cause = std::array<std::uint64_t, relation_count>;

  /// O(evictions). Allocates only for a quota with a larger id than all before.
  template <class Plan>
  void note(const Plan& plan) {
    for (const auto& e : plan.evictions) {
      if (e.quota.index() >= counts_.size()) counts_.resize(e.quota.index() + 1);
      ++counts_[e.quota.index()][static_cast<std::size_t>(e.how)];
    }
  }
  /// By `relation`; all zero for a quota of which none was noted.
  [[nodiscard]] by_cause of(quota_id x) const noexcept {
    return x.index() < counts_.size() ? counts_[x.index()] : by_cause{};
  }

 private:
  vector<by_cause> counts_;
};

/// What a monitoring system shows of one quota.
template <std::size_t N = 1>
struct quota_gauges {
  /// Which quota.
  quota_id quota;
  /// As in its specification.
  resources<N> nominal{};
  /// What its own jobs use, those being evicted included.
  resources<N> used{};
  /// The same, with the jobs of all quotas below it.
  resources<N> used_in_subtree{};
  /// What its own jobs use of other quotas' pools (see `loan_book`).
  resources<N> borrowed{};
  /// What other quotas' jobs use of its own pool.
  resources<N> lent{};
  /// What it is entitled to with all below it, under policies that divide the capacity (`runai`), as of the
  /// last step; else its nominal. Where another `division` decides, its result belongs here.
  resources<N> entitled{};
  /// What its jobs that wait request together. With `used` it is the demand of its own jobs, as a `division`
  /// takes it.
  resources<N> requested{};
  /// Its jobs that wait, by `pending_reason`.
  std::array<std::size_t, pending_reason_count> waiting{};
  /// By `relation`.
  eviction_counts::by_cause evictions{};
};

/// The gauges of all quotas, parents before children. Reads the scheduler between two steps: nothing is kept
/// up to date for it while it decides. O(quotas * depth + waiting jobs), and what one `why` costs for each
/// equivalence class of these.
template <class Scheduler>
[[nodiscard]] vector<quota_gauges<Scheduler::n>> gauges_of(Scheduler& s,
                                                           const eviction_counts& evictions = {}) {
  constexpr std::size_t n = Scheduler::n;
  const quota_tree<n>& tree = s.tree();
  const loan_book<n> loans{s.ledger()};
  const auto order = tree.top_down();
  vector<resources<n>> in_subtree(tree.slots());
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    in_subtree[x->index()] += s.ledger().own_usage(*x);
    if (const quota_id p = tree.parent(*x)) in_subtree[p.index()] += in_subtree[x->index()];
  }
  vector<resources<n>> nominated(tree.slots());
  for (const job_id id : s.nominated()) nominated[s.quota(id).index()] += s.request(id);
  vector<quota_gauges<n>> all;
  all.reserve(order.size());
  for (const quota_id x : order) {
    quota_gauges<n>& g = all.emplace_back();
    g.quota = x;
    g.nominal = tree.spec(x).nominal;
    g.used = s.ledger().own_usage(x);
    g.used_in_subtree = in_subtree[x.index()];
    for (std::size_t d = 0; d < n; ++d) {
      g.borrowed[d] = loans.borrowed(x, d);
      g.lent[d] = loans.lent(x, d);
    }
    g.entitled = s.entitled(x).value_or(g.nominal);
    g.requested = s.requested(x) + nominated[x.index()];
    g.waiting = s.waiting_by_reason(x);
    g.evictions = evictions.of(x);
  }
  return all;
}

}  // namespace v0
}  // namespace allot
