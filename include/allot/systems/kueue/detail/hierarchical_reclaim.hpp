// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/search.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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
/// The jobs of a tree are sorted once a cycle, in the order in which they would be considered, and each
/// search reads them from the front until the request fits: what it costs depends on how many have to go, not
/// on how many there are. Jobs that are promised to others are skipped together.
///
/// Kueue has jobs at its leaves only. Here a quota with children may have jobs too: against other quotas they
/// count like those of a leaf, except that no job takes from a quota above or below its own.
template <std::size_t N>
class hierarchical_reclaim {
 public:
  /// Starts over on the ledger's tree.
  void reset(const ledger<N>& l) {
    places_.assign(l.tree().slots(), place{});
    lines_.assign(l.tree().slots(), line{});
    search_ = scan_ = 0;
  }
  /// Since the last call, the jobs that hold something have only become fewer. Without a call nothing is
  /// assumed about them.
  void begin_cycle() noexcept {
    ++cycle_;
    for (place& p : places_) p.within = 0;
  }
  /// The ledger has changed at x. All its changes are noted between calls of `begin_cycle`.
  void note_change(const ledger<N>& l, quota_id x) noexcept {
    for (; x; x = l.tree().parent(x)) places_[x.index()].within = 0;
  }
  /// Whether a job that would borrow may preempt.
  [[nodiscard]] static constexpr bool may_preempt_on_loan(const preempt_settings& may) noexcept {
    return may.borrow != preempt_borrow::never;
  }

  /// On success the victims have been released in the ledger and taken off in the world, and the request
  /// fits; otherwise nothing has changed. To be called inside savepoints of the ledger and the world, which
  /// the caller rolls back. O(candidates considered (log jobs of the quota + depth N)) and, for the first
  /// search of a cycle in a tree, O(jobs log jobs).
  template <holding_jobs<N> Jobs, search_world<N> World>
  [[nodiscard]] bool run(ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b,
                         const std::array<bool, N>& contested, World& world) {
    contested_ = contested;
    victims_.clear();
    own_.clear();
    if (b.may.within != preempt_within::never) find_own(jobs, b);
    line_ = nullptr;
    if (b.may.reclaim != preempt_reclaim::never && l.tree().parent(b.quota)) climb(l, jobs, b);
    const bool hierarchical = any(l, jobs, b, group::hierarchical);
    const bool outside = hierarchical || any(l, jobs, b, group::by_priority);
    if (!outside && own_.empty()) return false;
    const bool no_loans = b.may.borrow == preempt_borrow::never;
    if (!outside || (no_loans && !has_own_left(l, b.quota))) return attempt(l, jobs, b, world, true);
    const bool first = !(no_loans && !hierarchical);
    return attempt(l, jobs, b, world, first) || attempt(l, jobs, b, world, !first);
  }

  /// The victims found by the last successful search.
  [[nodiscard]] std::span<const victim<N>> victims() const noexcept { return victims_; }

 private:
  enum class group : std::uint8_t { none, hierarchical, by_priority };

  /// A job in the line of its tree.
  struct spot {
    candidate<N> who;
    quota_id quota;
    std::int32_t priority = 0;
    /// Bit d: it uses dimension d.
    std::uint64_t uses = 0;
    job_id id{};
    /// The spot that follows; those between are gone.
    std::uint32_t next = 0;
  };
  /// The jobs of a tree in the order of `compare_candidates`, the first `leaving` of them being evicted.
  struct line {
    std::uint64_t sorted_in = 0;
    std::uint32_t leaving = 0;
    /// Of those being evicted, and of the others.
    std::uint32_t first_leaving = 0;
    std::uint32_t first = 0;
    vector<spot> spots;
  };
  /// What a search knows of a quota. Values of earlier searches are ignored.
  struct place {
    /// The search in which it is the beneficiary's quota or above it, and whether its side below owns the
    /// request.
    std::uint64_t above_in = 0;
    bool owned = false;
    /// The scan that found that its jobs are not candidates and will not become any.
    std::uint64_t out_in = 0;
    /// It is within its supply in these dimensions, by the ledger outside of searches.
    std::uint64_t within = 0;
  };
  static_assert(N <= 64, "a spot has a bit for each dimension");

  template <class Jobs>
  void find_own(const Jobs& jobs, const beneficiary<N>& b) {
    jobs.for_each(b.quota, [&](const candidate<N>& c) {
      if (uses_any(c.job->request, contested_) && may_preempt(b, *c.job, relation::same_quota))
        own_.push_back(c);
    });
    detail::sort(own_.begin(), own_.end(), [&](const candidate<N>& x, const candidate<N>& y) {
      return compare_candidates(x, y, b.quota) < 0;
    });
  }

  /// Walks up from the beneficiary's quota: once a quota on the way owns what reaches it, all jobs beyond
  /// occupy capacity of its side.
  template <class Jobs>
  void climb(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b) {
    const quota_tree<N>& tree = l.tree();
    ++search_;
    has_owned_ = has_other_ = false;
    resources<N> arriving = b.request;
    bool owns = false;
    quota_id below = b.quota;
    places_[below.index()].above_in = search_;
    for (quota_id above = tree.parent(below); above; below = above, above = tree.parent(above)) {
      bool fits = true;
      for (std::size_t d = 0; d < N; ++d) {
        fits = fits && (b.request[d] == quantity{} || arriving[d] <= l.balance(below, d));
        arriving[d] = l.passed_up(below, d, arriving[d]);
      }
      owns = owns || fits;
      (owns ? has_owned_ : has_other_) = true;
      places_[above.index()].above_in = search_;
      places_[above.index()].owned = owns;
    }
    contested_bits_ = 0;
    for (std::size_t d = 0; d < N; ++d) contested_bits_ |= std::uint64_t{contested_[d]} << d;
    line_ = &line_of(tree, jobs, below);
  }
  /// The line of that root's tree.
  template <class Jobs>
  [[nodiscard]] line& line_of(const quota_tree<N>& tree, const Jobs& jobs, quota_id root) {
    line& at = lines_[root.index()];
    if (cycle_ != 0 && at.sorted_in == cycle_) return at;
    at.sorted_in = cycle_;
    at.spots.clear();
    add_subtree(tree, jobs, root, at.spots);
    detail::sort(at.spots.begin(), at.spots.end(), [](const spot& x, const spot& y) {
      return compare_candidates(x.who, y.who, quota_id::none()) < 0;
    });
    at.leaving = 0;
    for (std::uint32_t i = 0; i < at.spots.size(); ++i) {
      at.spots[i].next = i + 1;
      if (at.spots[i].who.leaving) ++at.leaving;
    }
    at.first_leaving = 0;
    at.first = at.leaving;
    return at;
  }
  template <class Jobs>
  void add_subtree(const quota_tree<N>& tree, const Jobs& jobs, quota_id x, vector<spot>& to) {
    jobs.for_each(x, [&](const candidate<N>& c) {
      spot s{c, x, c.job->priority, 0, c.job->id};
      for (std::size_t d = 0; d < N; ++d) s.uses |= std::uint64_t{c.job->request[d] > quantity{}} << d;
      to.push_back(s);
    });
    for (const quota_id c : tree.children(x)) add_subtree(tree, jobs, c, to);
  }
  /// The list that x's jobs are in now; none while x, or a quota between it and the common ancestor, is
  /// within its supply. It stays so while others go. None, too, above and below the beneficiary's quota.
  [[nodiscard]] group group_of(const ledger<N>& l, const beneficiary<N>& b, quota_id x) {
    const quota_tree<N>& tree = l.tree();
    quota_id a = x;
    for (; places_[a.index()].above_in != search_; a = tree.parent(a)) {
      if (!detail::is_within_supply(l, a, contested_)) continue;
      if (cycle_ != 0 && victims_.empty()) places_[a.index()].within = contested_bits_;
      return group::none;
    }
    if (a == x || a == b.quota) return group::none;
    return places_[a.index()].owned ? group::hierarchical : group::by_priority;
  }
  /// Calls `visit(spot)` for the candidates of a list, those being evicted or the others, until it returns
  /// true. With `to_borrower`, those that may be evicted even if the beneficiary then borrows.
  template <class Jobs, class Visit>
  bool scan(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, group list, bool leaving,
            bool to_borrower, Visit visit) {
    if (line_ == nullptr || !(list == group::hierarchical ? has_owned_ : has_other_)) return false;
    const relation how =
        to_borrower && list == group::by_priority ? relation::borrower_while_borrowing : relation::borrower;
    const std::size_t end = leaving ? line_->leaving : line_->spots.size();
    ++scan_;
    for (std::uint32_t* link = leaving ? &line_->first_leaving : &line_->first; *link < end;) {
      spot& s = line_->spots[*link];
      // The rules are about priority alone, and it only gets higher.
      if (rules_out(b, s.priority, relation::borrower) || rules_out(b, s.priority, how)) return false;
      place& at = places_[s.quota.index()];
      const bool is_out =
          at.within == contested_bits_ || at.out_in == scan_ || (s.uses & contested_bits_) == 0;
      if (!is_out && jobs.is_gone(s.id)) {
        *link = s.next;
        continue;
      }
      link = &s.next;
      if (is_out) continue;
      if (group_of(l, b, s.quota) != list) {
        at.out_in = scan_;
        continue;
      }
      if (visit(s)) return true;
    }
    return false;
  }
  template <class Jobs>
  [[nodiscard]] bool any(const ledger<N>& l, const Jobs& jobs, const beneficiary<N>& b, group list) {
    const auto found = [](const spot&) { return true; };
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
        const bool fits = scan(l, jobs, b, list, leaving, may_borrow, [&](const spot& s) {
          const bool to_borrower =
              list == group::by_priority && !rules_out(b, s.priority, relation::borrower_while_borrowing);
          return take(*s.who.job, to_borrower ? relation::borrower_while_borrowing : relation::borrower);
        });
        if (fits) return true;
      }
      return detail::any_of(own_.begin(), own_.end(), [&](const candidate<N>& c) {
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
  std::uint64_t contested_bits_ = 0;
  vector<candidate<N>> own_;
  vector<victim<N>> victims_;
  /// By root.
  vector<line> lines_;
  /// That of the search's tree; null if it may take from no other quota.
  line* line_ = nullptr;
  vector<place> places_;
  /// Whether jobs of some quotas would be hierarchical candidates, and of some others by priority.
  bool has_owned_ = false;
  bool has_other_ = false;
  std::uint64_t cycle_ = 0;
  std::uint64_t search_ = 0;
  std::uint64_t scan_ = 0;
};

}  // namespace v0
}  // namespace allot
