// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/ranked_borrowers.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

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
/// The jobs of borrowing quotas are kept in the order in which they would be considered during a cycle
/// (`ranked_borrowers`), and each search reads them from the front until the request fits: what it costs
/// depends on how many have to go, not on how many jobs or quotas there are. Jobs that are claimed to others
/// are skipped together. (A head that may not borrow, and needs jobs of its own quota as well, first takes
/// all others, as in Kueue.)
///
/// Kueue has jobs at its leaves only. Here a quota with children may have jobs too: against other quotas they
/// count like those of a leaf, except that no job takes from a quota above or below its own.
template <std::size_t N>
class hierarchical_reclaim {
 public:
  /// Starts over on the ledger's tree.
  void reset(const ledger<N>& l) {
    places_.assign(l.tree().slots(), place{});
    borrowers_.clear();
    search_ = 0;
  }
  /// Must be called before the first search of a cycle. Until the next call the jobs that hold something only
  /// become fewer, and all changes are noted.
  void begin_cycle() noexcept {
    ++cycle_;
    changes_.clear();
  }
  /// The ledger has changed at x, or jobs of x are gone.
  void record_change(const ledger<N>&, quota_id x) { changes_.push_back(x); }
  /// Whether a job that would borrow may preempt.
  [[nodiscard]] static constexpr bool may_preempt_on_loan(const preempt_settings& may) noexcept {
    return may.borrow != preempt_borrow::never;
  }

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; otherwise nothing has changed. To be called inside savepoints of the ledger and the world, which
  /// the caller rolls back. O(own jobs log own jobs + candidates considered depth (log candidates + N)), and
  /// once a cycle for each borrowing quota, O(its jobs log jobs).
  template <holding_jobs<N> Jobs, search_world<N> World>
  [[nodiscard]] bool run(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b,
                         const std::array<bool, N>& contested, World& world) {
    contested_ = contested;
    victims_.clear();
    is_own_listed_ = false;
    takes_from_others_ = b.may.reclaim != preempt_reclaim::never && l.tree().parent(b.quota);
    if (takes_from_others_) {
      climb(l, b);
      rank_borrowers(l, jobs, b);
    }
    const bool hierarchical = any(l, jobs, b, group::hierarchical);
    const bool outside = hierarchical || any(l, jobs, b, group::by_priority);
    if (!outside && own(jobs, b).empty()) return false;
    const bool no_loans = b.may.borrow == preempt_borrow::never;
    if (!outside || (no_loans && !has_own_left(l, b.quota))) return attempt(l, jobs, b, world, true);
    const bool first = !(no_loans && !hierarchical);
    return attempt(l, jobs, b, world, first) || attempt(l, jobs, b, world, !first);
  }

  /// The victims found by the last successful search.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  using borrowers = detail::ranked_borrowers<N>;

  enum class group : std::uint8_t { hierarchical, by_priority };

  /// What a search knows of a quota above the beneficiary's, or of that itself. Values of earlier searches
  /// are void.
  struct place {
    std::uint64_t above_in = 0;
    /// Whether its side below owns the request.
    bool owned = false;
  };
  /// The borrowers of the searches that contest the same dimensions.
  struct borrower_list {
    borrowers jobs;
    /// The cycle in which it was used last, and the changes that it has taken in.
    std::uint64_t cycle = 0;
    std::size_t taken_in = 0;
  };

  /// The candidates of the same quota, in order.
  template <class Jobs>
  [[nodiscard]] const vector<candidate<N>>& own(const Jobs& jobs, const beneficiary<N>& b) {
    if (std::exchange(is_own_listed_, true)) return own_;
    own_.clear();
    if (b.may.within == preempt_within::never) return own_;
    jobs.for_each(b.quota, [&](const candidate<N>& c) {
      if (uses_any(c.job->request, contested_) && may_preempt(b, *c.job, relation::same_quota))
        own_.push_back(c);
    });
    detail::sort(own_.begin(), own_.end(), [&](const candidate<N>& x, const candidate<N>& y) {
      return compare_candidates(x, y, b.quota) < 0;
    });
    return own_;
  }

  /// Walks up from the beneficiary's quota: once a quota on the way owns what reaches it, all jobs beyond
  /// occupy capacity of its side.
  void climb(const ledger<N>& l, const beneficiary<N>& b) {
    const quota_tree<N>& tree = l.tree();
    ++search_;
    resources<N> arriving = b.request;
    bool owns = false;
    quota_id below = b.quota;
    places_[below.index()].above_in = search_;
    for (quota_id above = tree.parent(below); above; below = above, above = tree.parent(above)) {
      bool fits = true;
      for (std::size_t d = 0; d < N; ++d) {
        if (b.request[d] == quantity{}) continue;
        fits = fits && arriving[d] <= l.balance(below, d);
        arriving[d] = l.passed_up(below, d, arriving[d]);
      }
      owns = owns || fits;
      places_[above.index()] = {search_, owns};
    }
    contested_bits_ = 0;
    for (std::size_t d = 0; d < N; ++d) contested_bits_ |= detail::dimension_bits{contested_[d]} << d;
  }
  /// Brings the borrowers up to date, before the search takes anything.
  template <class Jobs>
  void rank_borrowers(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b) {
    for (const bool leaving : {false, true}) {
      if (leaving && !jobs.any_leaving()) return;
      const auto at = detail::find_if(borrowers_.begin(), borrowers_.end(), [&](const borrower_list& list) {
        return list.jobs.is_for(contested_bits_, leaving);
      });
      const auto i = static_cast<std::size_t>(at - borrowers_.begin());
      if (at == borrowers_.end()) borrowers_.push_back({borrowers{contested_bits_, leaving}});
      borrower_list& list = borrowers_[i];
      if (list.cycle != cycle_) {
        list.jobs.begin(l.tree().slots());
        list.taken_in = changes_.size();
        list.cycle = cycle_;
      }
      for (; list.taken_in < changes_.size(); ++list.taken_in) {
        list.jobs.take_in(l, jobs, changes_[list.taken_in]);
      }
      for (quota_id a = l.tree().parent(b.quota); a; a = l.tree().parent(a)) list.jobs.rank(l, jobs, a);
      (leaving ? leaving_ : staying_) = i;
    }
  }
  /// Whether x and all quotas between it and the common ancestor still borrow, in the middle of a search.
  /// Once one of them does not, that stays so while others go.
  [[nodiscard]] bool still_borrows(const ledger<N>& l, quota_id x) const {
    for (; places_[x.index()].above_in != search_; x = l.tree().parent(x)) {
      if (!detail::borrows_in(l, x, contested_bits_)) return false;
    }
    return true;
  }
  /// Calls `visit(job)` for the candidates of a list, those being evicted or the others, until it returns
  /// true. With `to_borrower`, those that may be evicted even if the beneficiary then borrows.
  template <class Jobs, class Visit>
  bool scan(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, group list, bool leaving,
            bool to_borrower, Visit visit) {
    if (!takes_from_others_ || (leaving && !jobs.any_leaving())) return false;
    const relation how =
        to_borrower && list == group::by_priority ? relation::borrower_while_borrowing : relation::borrower;
    borrowers& candidates = borrowers_[leaving ? leaving_ : staying_].jobs;
    candidates.start();
    for (quota_id a = l.tree().parent(b.quota); a; a = l.tree().parent(a)) {
      if (places_[a.index()].owned == (list == group::hierarchical)) candidates.read_below(a);
    }
    const auto is_on_path = [&](quota_id x) { return places_[x.index()].above_in == search_; };
    while (const auto* const next = candidates.next(jobs, is_on_path)) {
      // It only gets higher.
      if (rules_out(b, next->priority, relation::borrower) || rules_out(b, next->priority, how)) return false;
      if (!may_preempt(b, *next->job, relation::borrower)) continue;
      if (!victims_.empty() && !still_borrows(l, next->job->quota)) {
        candidates.leave_quota();
      } else if (visit(*next->job)) {
        return true;
      }
    }
    return false;
  }
  template <class Jobs>
  [[nodiscard]] bool any(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, group list) {
    const auto found = [](const running_job<N>&) { return true; };
    return scan(l, jobs, b, list, true, false, found) || scan(l, jobs, b, list, false, false, found);
  }

  /// Whether the quota has something left of its own in every contested dimension.
  [[nodiscard]] bool has_own_left(const ledger<N>& l, quota_id x) const {
    for (std::size_t d = 0; d < N; ++d) {
      if (contested_[d] && l.balance(x, d) <= quantity{}) return false;
    }
    return true;
  }

  template <class Jobs, class World>
  [[nodiscard]] bool attempt(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, World& world,
                             bool may_borrow) {
    detail::kueue_trial<N, World> trial{l, world, b};
    victims_.clear();
    const auto take = [&](const running_job<N>& j, relation how) {
      trial.take(j);
      victims_.push_back({j, how});
      return trial.fits(may_borrow);
    };
    const auto take_all = [&](bool leaving) {
      for (const group list : {group::hierarchical, group::by_priority}) {
        const bool fits = scan(l, jobs, b, list, leaving, may_borrow, [&](const running_job<N>& j) {
          const bool to_borrower =
              list == group::by_priority && !rules_out(b, j.priority, relation::borrower_while_borrowing);
          return take(j, to_borrower ? relation::borrower_while_borrowing : relation::borrower);
        });
        if (fits) return true;
      }
      if (leaving && !jobs.any_leaving()) return false;
      const auto& these = own(jobs, b);
      return detail::any_of(these.begin(), these.end(), [&](const candidate<N>& c) {
        return c.leaving == leaving && take(*c.job, relation::same_quota);
      });
    };
    if (take_all(true) || take_all(false)) {
      trial.fill_back(victims_, may_borrow);
      return true;
    }
    for (const victim<N>& v : victims_) trial.put_back(v.job);
    victims_.clear();
    return false;
  }

  std::array<bool, N> contested_{};
  detail::dimension_bits contested_bits_ = 0;
  /// The candidates of the same quota, once the search needs them.
  vector<candidate<N>> own_;
  bool is_own_listed_ = false;
  vector<victim<N>> victims_;
  /// Whether the search may take from other quotas.
  bool takes_from_others_ = false;
  /// By quota.
  vector<place> places_;
  vector<borrower_list> borrowers_;
  /// Of these, those of the search: of the jobs being evicted, and of the others.
  std::size_t leaving_ = 0;
  std::size_t staying_ = 0;
  /// Where the ledger has changed in this cycle.
  vector<quota_id> changes_;
  std::uint64_t cycle_ = 0;
  std::uint64_t search_ = 0;
};

}  // namespace v0
}  // namespace allot
