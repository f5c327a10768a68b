// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v0 {

/// Kueue's classical preemption, hierarchical since v0.11: finds the preemption targets for a request.
///
/// Candidates use a contested dimension and are allowed by the policy of the beneficiary's quota:
/// - *own*: jobs of the same quota (`preempt.within`);
/// - jobs of other quotas in the same tree that use more than they own, as do all quotas above them up to the
///   common ancestor (`preempt.reclaim`). Where the beneficiary's side of that ancestor owns what is
///   requested, they occupy its capacity: *hierarchical*. Elsewhere priority decides: a job of lower
///   priority, not above `preempt.borrow_max_priority`, may be preempted even if the beneficiary then
///   borrows; the others only if it does not.
///
/// They are considered in this order: jobs already being evicted before the rest; hierarchical, then by
/// priority, then own; and then `compare_candidates`. There are up to two attempts: in one the beneficiary
/// may borrow, in the other it may not. In each, victims are taken until the request fits; then unnecessary
/// ones are put back, last first.
///
/// Kueue has jobs at its leaves only. Here a quota with children may have jobs too: against other quotas they
/// count like those of a leaf, except that no job takes from a quota above or below its own.
template <std::size_t N>
class hierarchical_reclaim {
 public:
  /// Starts over on the ledger's tree.
  void reset(const ledger<N>&) noexcept {}
  /// Whether a job that would borrow may preempt.
  [[nodiscard]] static constexpr bool may_preempt_on_loan(const preempt_settings& may) noexcept {
    return may.borrow != preempt_borrow::never;
  }

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; otherwise nothing has changed. To be called inside savepoints of the ledger and the world, which
  /// the caller rolls back. O(candidates (log candidates + depth N)), with candidates of all quotas that use
  /// more than they own.
  template <holding_jobs<N> Jobs, search_world<N> World>
  [[nodiscard]] bool run(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b,
                         const std::array<bool, N>& contested, World& world) {
    contested_ = contested;
    victims_.clear();
    find(l, jobs, b);
    if (entries_.empty()) return false;
    const bool none_outside = reclaimed_ + by_priority_ == 0;
    const bool no_loans = b.may.borrow == preempt_borrow::never;
    if (none_outside || (no_loans && !has_own_left(l, b.quota))) return attempt(l, b, world, true);
    const bool first = !(no_loans && reclaimed_ == 0);
    return attempt(l, b, world, first) || attempt(l, b, world, !first);
  }

  /// The victims found by the last successful search.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  enum class group : std::uint8_t { hierarchical, by_priority, own };

  struct entry {
    candidate<N> who;
    group in = group::own;
    relation how = relation::same_quota;
    /// Whether it may be preempted only if the beneficiary does not borrow.
    bool against_loans = false;
    /// The lowest quota above both.
    quota_id ancestor{};
  };

  template <class Jobs>
  void find(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b) {
    entries_.clear();
    reclaimed_ = by_priority_ = 0;
    if (b.may.within != preempt_within::never) {
      jobs.for_each(b.quota, [&](const candidate<N>& c) {
        if (!uses_any(c.job->request, contested_) || !may_preempt(b, *c.job, relation::same_quota)) return;
        entries_.push_back({c, group::own, relation::same_quota, false, b.quota});
      });
    }
    if (b.may.reclaim != preempt_reclaim::never) find_outside(l, jobs, b);
    std::sort(entries_.begin(), entries_.end(), [&](const entry& x, const entry& y) {
      if (x.who.leaving != y.who.leaving) return x.who.leaving;
      if (x.in != y.in) return x.in < y.in;
      return compare_candidates(x.who, y.who, b.quota) < 0;
    });
  }

  /// Walks up from the beneficiary's quota, adding at each ancestor what was not seen before. Once a quota on
  /// the way owns what reaches it, all jobs beyond occupy capacity of its side.
  template <class Jobs>
  void find_outside(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b) {
    const quota_tree<N>& tree = l.tree();
    resources<N> arriving = b.request;
    bool owns = false;
    quota_id below = b.quota;
    for (quota_id above = tree.parent(below); above; below = above, above = tree.parent(above)) {
      bool fits = true;
      for (std::size_t d = 0; d < N; ++d) {
        fits = fits && (b.request[d] == quantity{} || arriving[d] <= l.balance(below, d));
        arriving[d] = l.passed_up(below, d, arriving[d]);
      }
      owns = owns || fits;
      for (const quota_id c : tree.children(above)) {
        if (c != below) add_subtree(l, jobs, b, c, above, owns);
      }
    }
  }
  template <class Jobs>
  void add_subtree(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, quota_id x,
                   quota_id ancestor, bool owns) {
    if (detail::is_within_supply(l, x, contested_)) return;
    for (const quota_id c : l.tree().children(x)) add_subtree(l, jobs, b, c, ancestor, owns);
    jobs.for_each(x, [&](const candidate<N>& c) {
      if (!uses_any(c.job->request, contested_) || !may_preempt(b, *c.job, relation::borrower)) return;
      ++(owns ? reclaimed_ : by_priority_);
      const bool to_borrower = !owns && may_preempt(b, *c.job, relation::borrower_while_borrowing);
      entries_.push_back({c, owns ? group::hierarchical : group::by_priority,
                          to_borrower ? relation::borrower_while_borrowing : relation::borrower,
                          !owns && !to_borrower, ancestor});
    });
  }

  /// Whether the quota has something left of its own in every contested dimension.
  [[nodiscard]] bool has_own_left(const ledger<N>& l, quota_id x) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (contested_[d] && l.balance(x, d) <= quantity{}) return false;
    }
    return true;
  }

  template <class World>
  [[nodiscard]] bool attempt(ledger<N>& l, const beneficiary<N>& b, World& world, bool may_borrow) {
    detail::kueue_trial<N, World> trial{l, world, b};
    victims_.clear();
    for (const entry& e : entries_) {
      if (e.in != group::own && ((may_borrow && e.against_loans) || !still_owes(l, e))) continue;
      trial.take(*e.who.job);
      victims_.push_back({*e.who.job, e.how});
      if (!trial.fits(may_borrow)) continue;
      trial.fill_back(victims_, may_borrow);
      return true;
    }
    for (const victim<N>& v : victims_) trial.put_back(v.job);
    victims_.clear();
    return false;
  }
  /// Whether its quota and all above it, up to the common ancestor, still use more than they own: earlier
  /// victims may have brought one down.
  [[nodiscard]] bool still_owes(const ledger<N>& l, const entry& e) const {
    for (quota_id x = e.who.job->quota; x != e.ancestor; x = l.tree().parent(x)) {
      if (detail::is_within_supply(l, x, contested_)) return false;
    }
    return true;
  }

  std::array<bool, N> contested_{};
  std::vector<entry> entries_;
  std::vector<victim<N>> victims_;
  std::size_t reclaimed_ = 0;
  std::size_t by_priority_ = 0;
};

}  // namespace v0
}  // namespace allot
