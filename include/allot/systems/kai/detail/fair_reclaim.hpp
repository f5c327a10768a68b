// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/systems/kai/detail/rounded_sum.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// What is evicted as one when reclaiming for a job: an elastic pod, or a whole gang.
template <std::size_t N>
struct reclaim_bundle {
  quota_id quota;
  resources<N> amount{};
};

/// When a job may reclaim from running jobs of other quotas: the rules of KAI-Scheduler v0.13.
///
/// The gate: with the job, its quota stays within its fair share in every dimension; and a non-preemptible
/// job stays within what the quota deserves.
///
/// A set of victims is fair if each of its bundles, in turn, may be taken by one of two rules. They compare
/// the two quotas right below the lowest common ancestor, before that bundle is evicted:
/// - *maintain fair share*: the victim's side uses more than its allocatable share in some dimension;
/// - *guarantee what is deserved*: the beneficiary's side, with the request, stays within what it deserves in
///   every dimension, and the victim's side uses more than it deserves in some;
/// and if then, at the beneficiary's quota and every one above, against each sibling that lost something, the
/// beneficiary's side is not over its fair share or, with the margin, stays less saturated (usage over fair
/// share) than the sibling is left, in each dimension of the request or of what the sibling lost.
///
/// The last bundle of a quota may thus take it below what it deserves. KAI visits the queues and jobs of a
/// set in the order of a hash table; here in the order given.
template <std::size_t N = 1>
class fair_reclaim {
 public:
  /// The margin in thousandths, at least 1000: KAI's relcaimerSaturationMultiplier (its spelling).
  explicit fair_reclaim(std::int64_t margin = 1000) : margin_(std::max<std::int64_t>(1000, margin)) {}

  /// The gate. `pod` is what each pod of the request requests: where a gang would use up exactly a share that
  /// is more than its quota deserves, KAI's sum of its parts of GPUs may exceed that (`rounded_sum`). Without
  /// it, sums are exact. O(N).
  [[nodiscard]] static bool may_reclaim(const share_accounts<N>& a, quota_id x, const resources<N>& request,
                                        capacity_kind in, const resources<N>& pod = {}) {
    if (!a.at_most(a.allocated(x), request, a.fair_share(x))) return false;
    for (const std::size_t d : a.counted()) {
      const quantity share = a.fair_share(x)[d];
      if (a.allocated(x)[d] + request[d] != share || pod[d] >= request[d] || a.unit(d) != 1000 ||
          share <= a.deserved(x)[d]) {
        continue;
      }
      if (!detail::adds_up_within(a.allocated(x)[d], pod[d], request[d], share)) return false;
    }
    return in != capacity_kind::guaranteed || a.at_most(a.guaranteed(x), request, a.deserved(x));
  }

  /// Whether the set is fair, in the state before any of it is evicted. Precondition: no bundle belongs to
  /// the beneficiary's own quota. O(bundles x depth + depth x quotas that lose).
  [[nodiscard]] bool is_fair(const share_accounts<N>& a, quota_id x, const resources<N>& request,
                             capacity_kind in, std::span<const reclaim_bundle<N>> bundles) {
    for (const std::size_t i : touched_) remaining_[i].is_known = false;
    touched_.clear();
    remaining_.resize(std::max(remaining_.size(), a.tree().slots()));
    for (const reclaim_bundle<N>& b : bundles) {
      const auto [ours, theirs] = sides(a.tree(), x, b.quota);
      if (!may_take(a, ours, request, theirs, left(a, theirs).amount)) return false;
      take(a, b);
    }
    return stays_less_saturated(a, x, request, in);
  }

  /// Whether a fair set may contain the bundle. It is judged by itself: what is taken before it only forbids
  /// more, but for what is taken on the beneficiary's own side, from the quotas below `ours`. That is at most
  /// `nearer(ours)`, which is called if it matters. O(depth + N).
  template <class Nearer>
  [[nodiscard]] bool may_be_in_fair_set(const share_accounts<N>& a, quota_id x, const resources<N>& request,
                                        const reclaim_bundle<N>& b, const Nearer& nearer) const {
    const auto [ours, theirs] = sides(a.tree(), x, b.quota);
    if (!may_take(a, ours, request, theirs, a.allocated(theirs))) return false;
    const resources<N> left = a.allocated(theirs) - b.amount;
    resources<N> has = a.allocated(ours) + request;
    if (is_fair_to(a, ours, has, theirs, left, request, b.amount)) return true;
    if (ours == x) return false;
    has -= nearer(ours);
    return is_fair_to(a, ours, has, theirs, left, request, b.amount);
  }

  /// The most that may be taken from the quotas below `side`, except for the overshoot of the last bundle:
  /// its usage beyond the lower of the bounds that apply. `side` is a child of a common ancestor, `ours` that
  /// ancestor's child towards the beneficiary.
  [[nodiscard]] static quantity excess(const share_accounts<N>& a, quota_id ours, quota_id side,
                                       const resources<N>& request, std::size_t d) {
    quantity bound = a.allocatable(side)[d];
    if (a.at_most(a.allocated(ours), request, a.deserved(ours))) {
      bound = std::min(bound, a.deserved(side)[d]);
    }
    return bound.is_unlimited() ? quantity{} : std::max(quantity{}, a.allocated(side)[d] - bound);
  }

 private:
  struct left_of {
    bool is_known = false;
    resources<N> amount{};
    /// What it lost.
    resources<N> lost{};
  };

  [[nodiscard]] left_of& left(const share_accounts<N>& a, quota_id x) {
    left_of& l = remaining_[x.index()];
    if (!l.is_known) {
      l = {true, a.allocated(x), {}};
      touched_.push_back(x.index());
    }
    return l;
  }

  /// The two quotas right below the lowest common ancestor, ours first.
  [[nodiscard]] static std::pair<quota_id, quota_id> sides(const quota_tree<N>& tree, quota_id x,
                                                           quota_id victims) {
    const quota_id top = tree.common_ancestor(x, victims);
    const auto side = [&](quota_id q) { return q == top ? top : tree.side_of(q, top); };
    return {side(x), side(victims)};
  }
  /// Whether more may be taken from a side that has so much left.
  [[nodiscard]] static bool may_take(const share_accounts<N>& a, quota_id ours, const resources<N>& request,
                                     quota_id theirs, const resources<N>& has) {
    if (!a.at_most(has, a.allocatable(theirs))) return true;
    return a.at_most(a.allocated(ours), request, a.deserved(ours)) && !a.at_most(has, a.deserved(theirs));
  }
  void take(const share_accounts<N>& a, const reclaim_bundle<N>& b) {
    for (quota_id q = b.quota; q; q = a.tree().parent(q)) {
      left_of& l = left(a, q);
      l.amount -= b.amount;
      l.lost += b.amount;
    }
  }

  [[nodiscard]] bool stays_less_saturated(const share_accounts<N>& a, quota_id x, const resources<N>& request,
                                          capacity_kind in) const {
    const quota_tree<N>& tree = a.tree();
    for (quota_id q = x; q; q = tree.parent(q)) {
      const left_of& own = remaining_[q.index()];
      const resources<N> has = (own.is_known ? own.amount : a.allocated(q)) + request;
      for (const std::size_t i : touched_) {
        const quota_id sibling{i};
        if (sibling == q || tree.parent(sibling) != tree.parent(q)) continue;
        const left_of& theirs = remaining_[i];
        if (!is_fair_to(a, q, has, sibling, theirs.amount, request, theirs.lost)) return false;
      }
      if (in == capacity_kind::guaranteed && !a.at_most(a.guaranteed(q), request, a.deserved(q)))
        return false;
    }
    return true;
  }
  /// Whether a quota may have so much while a sibling is left with so much: it is not over its fair share or,
  /// with the margin, less saturated than that, in each dimension of the request or of what the sibling lost.
  [[nodiscard]] bool is_fair_to(const share_accounts<N>& a, quota_id ours, const resources<N>& has,
                                quota_id sibling, const resources<N>& left, const resources<N>& request,
                                const resources<N>& lost) const {
    return detail::all_of(a.counted().begin(), a.counted().end(), [&](std::size_t d) {
      if (lost[d] <= quantity{} && request[d] <= quantity{}) return true;
      return !is_unfair(has[d], a.fair_share(ours)[d], left[d], a.fair_share(sibling)[d]);
    });
  }
  /// Whether it is over its share and not less saturated than a sibling that has a share.
  [[nodiscard]] bool is_unfair(quantity used, quantity share, quantity theirs, quantity their_share) const {
    if (used <= share || used <= quantity{} || their_share <= quantity{}) return false;
    const auto u = static_cast<wide>(used.in_milli());
    const auto t = static_cast<wide>(std::max(quantity{}, theirs).in_milli());
    return ratio{u * static_cast<wide>(margin_), static_cast<wide>(share.in_milli()) * 1000} >=
           ratio{t, static_cast<wide>(their_share.in_milli())};
  }

  std::int64_t margin_;
  vector<left_of> remaining_;
  vector<std::size_t> touched_;
};

}  // namespace v0
}  // namespace allot
