// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {
namespace detail {

/// Dimensions as bits.
using dimension_bits = std::uint64_t;

/// Whether x uses more than its supply in one of these dimensions.
template <std::size_t N>
[[nodiscard]] bool borrows_in(const ledger<N>& l, quota_id x, dimension_bits these) {
  for (; these != 0; these &= these - 1) {
    if (l.balance(x, static_cast<std::size_t>(std::countr_zero(these))) < quantity{}) return true;
  }
  return false;
}

/// The jobs of borrowing quotas, in the order of `compare_candidates`, for the searches of a cycle in which
/// the same dimensions are contested: those being evicted, or the others.
///
/// At each quota its children that borrow are ranked by their first jobs. So a search reads the jobs below a
/// quota in order without meeting the quotas that are within their supply, however many there are. The lists
/// are made when a search first comes by, and a change concerns the path of its quota alone. Sorted arrays:
/// few children move up or down, and each moves others by memory only.
template <std::size_t N>
class ranked_borrowers {
  static_assert(N <= 64, "there is a bit for each dimension");

 public:
  /// A job.
  struct spot {
    const running_job<N>* job = nullptr;
    instant started = 0;
    std::int64_t priority = 0;
    /// The next of its quota; those between are gone.
    std::uint32_t next = none;
    job_id id{};
  };

  ranked_borrowers(dimension_bits contested, bool leaving) : contested_(contested), leaving_(leaving) {}

  [[nodiscard]] bool is_for(dimension_bits contested, bool leaving) const noexcept {
    return contested_ == contested && leaving_ == leaving;
  }
  /// Starts over. O(1) if there are as many quotas as before.
  void begin(std::size_t slots) {
    seats_.resize(slots);
    spots_.clear();
    ++time_;
  }
  /// The ledger has changed at x, or jobs of x are gone. O(depth (N + log children)) and what is moved; more
  /// if quotas borrow for the first time since `begin`, whose jobs are listed.
  template <class Jobs>
  void take_in(const ledger<N>& l, const Jobs& jobs, quota_id x) {
    for (quota_id above = l.tree().parent(x); above; x = above, above = l.tree().parent(above)) {
      if (seats_[above.index()].ranked != time_) continue;
      const std::uint32_t first = first_of(l, jobs, x);
      seat& s = seats_[x.index()];
      if (s.ranked_by == first) continue;
      vector<child>& peers = seats_[above.index()].borrowers;
      if (s.ranked_by != none) peers.erase(position(peers, s.ranked_by));
      if (first != none) peers.insert(position(peers, first), {first, x});
      s.ranked_by = first;
    }
  }

  /// Ranks what is below x as the ledger stands, if that was not done yet. Until the next call of `begin`
  /// changes are to be taken in.
  template <class Jobs>
  void rank(const ledger<N>& l, const Jobs& jobs, quota_id x) {
    seat& s = seats_[x.index()];
    if (s.ranked == time_) return;
    s.ranked = time_;
    s.borrowers.clear();
    for (const quota_id c : l.tree().children(x)) {
      const std::uint32_t first = first_of(l, jobs, c);
      seats_[c.index()].ranked_by = first;
      if (first != none) s.borrowers.push_back({first, c});
    }
    detail::sort(s.borrowers.begin(), s.borrowers.end(),
                 [&](const child& a, const child& b) { return before(a.first, b.first); });
  }

  /// Begins to read.
  void start() noexcept {
    ahead_.clear();
    last_ = none;
  }
  /// Reads, too, the jobs of all quotas below x that borrowed, as did all quotas between them and x, when it
  /// was ranked or a change was taken in last. Precondition: x is ranked.
  void read_below(quota_id x) { add_child(x, 0); }
  /// The next job, null if there is none. A quota that `skips(quota)` and what is below it are left out.
  /// O(depth log jobs read).
  template <class Jobs, class Skips>
  [[nodiscard]] const spot* next(const Jobs& jobs, Skips skips) {
    if (last_ != none) add_job(live(jobs, spots_[last_].next));
    last_ = none;
    while (!ahead_.empty()) {
      detail::pop_heap(ahead_.begin(), ahead_.end(), comes_later());
      const cursor at = ahead_.back();
      ahead_.pop_back();
      last_ = at.first;
      if (!at.parent) break;
      add_child(at.parent, at.rank + 1);
      const quota_id x = seats_[at.parent.index()].borrowers[at.rank].quota;
      last_ = none;
      if (skips(x)) continue;
      add_child(x, 0);
      add_job(live(jobs, seats_[x.index()].first));
    }
    return last_ == none ? nullptr : &spots_[last_];
  }
  /// No further job of the quota of the last one is read.
  void leave_quota() noexcept { last_ = none; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct child {
    /// Its first job, or of a quota below it.
    std::uint32_t first;
    quota_id quota;
  };
  /// What is known of a quota. Values of an earlier time are void.
  struct seat {
    std::uint64_t listed = 0;
    std::uint64_t ranked = 0;
    /// Its own first job.
    std::uint32_t first = none;
    /// The job by which it is ranked among its parent's children, if it is.
    std::uint32_t ranked_by = none;
    vector<child> borrowers{};
  };
  /// A job, or the child of that rank with its first job.
  struct cursor {
    std::uint32_t first;
    std::uint32_t rank = 0;
    quota_id parent{};
  };

  [[nodiscard]] bool before(std::uint32_t i, std::uint32_t j) const { return before(spots_[i], spots_[j]); }
  [[nodiscard]] static bool before(const spot& a, const spot& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.started != b.started) return a.started > b.started;
    return compare_candidates<N>({a.job}, {b.job}, quota_id::none()) < 0;
  }
  [[nodiscard]] auto comes_later() const {
    return [this](const cursor& a, const cursor& b) { return before(b.first, a.first); };
  }
  [[nodiscard]] child* position(vector<child>& peers, std::uint32_t first) const {
    return detail::partition_point(peers.begin(), peers.end(),
                                   [&](const child& c) { return before(c.first, first); });
  }

  void add_child(quota_id x, std::size_t rank) {
    const vector<child>& all = seats_[x.index()].borrowers;
    if (seats_[x.index()].ranked != time_ || rank == all.size()) return;
    add({all[rank].first, static_cast<std::uint32_t>(rank), x});
  }
  void add_job(std::uint32_t i) {
    if (i != none) add({i});
  }
  void add(const cursor& c) {
    ahead_.push_back(c);
    detail::push_heap(ahead_.begin(), ahead_.end(), comes_later());
  }

  /// The job that a link leads to.
  template <class Jobs>
  std::uint32_t live(const Jobs& jobs, std::uint32_t& link) {
    while (link != none && jobs.is_gone(spots_[link].id)) link = spots_[link].next;
    return link;
  }
  /// The first job of x and the quotas below it; none if x is within its supply.
  template <class Jobs>
  [[nodiscard]] std::uint32_t first_of(const ledger<N>& l, const Jobs& jobs, quota_id x) {
    if (!borrows_in(l, x, contested_)) return none;
    list(jobs, x);
    seat& s = seats_[x.index()];
    const std::uint32_t own = live(jobs, s.first);
    if (l.tree().children(x).empty()) return own;
    rank(l, jobs, x);
    if (s.borrowers.empty()) return own;
    const std::uint32_t below = s.borrowers.front().first;
    return own == none || before(below, own) ? below : own;
  }
  template <class Jobs>
  void list(const Jobs& jobs, quota_id x) {
    seat& s = seats_[x.index()];
    if (s.listed == time_) return;
    s.listed = time_;
    const std::size_t first = spots_.size();
    jobs.for_each(x, [&](const candidate<N>& c) {
      if (c.leaving != leaving_ || !uses_contested(*c.job)) return;
      spots_.push_back({c.job, c.job->started, c.job->priority, none, c.job->id});
    });
    if (s.first = none; first == spots_.size()) return;
    // They mostly come in the reverse of the order.
    std::reverse(spots_.begin() + static_cast<std::ptrdiff_t>(first), spots_.end());
    detail::sort(spots_.begin() + static_cast<std::ptrdiff_t>(first), spots_.end(),
                 [](const spot& a, const spot& b) { return before(a, b); });
    s.first = static_cast<std::uint32_t>(first);
    for (std::size_t i = first; i + 1 < spots_.size(); ++i)
      spots_[i].next = static_cast<std::uint32_t>(i + 1);
  }
  [[nodiscard]] bool uses_contested(const running_job<N>& j) const {
    for (dimension_bits these = contested_; these != 0; these &= these - 1) {
      if (j.request[static_cast<std::size_t>(std::countr_zero(these))] > quantity{}) return true;
    }
    return false;
  }

  dimension_bits contested_;
  bool leaving_;
  /// Counts the calls of `begin`.
  std::uint64_t time_ = 0;
  /// By quota.
  vector<seat> seats_;
  vector<spot> spots_;
  /// A heap of where to read on; the job read last, whose successor is yet to be added, is `last_`.
  vector<cursor> ahead_;
  std::uint32_t last_ = none;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
