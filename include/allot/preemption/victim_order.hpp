// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/lost_work.hpp>
#include <allot/preemption/running_index.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

namespace allot {
inline namespace v0 {

/// The next job that a quota would yield in a search for victims.
template <std::size_t N>
struct victim_candidate {
  /// The quota that would yield.
  quota_id quota;
  /// Why it may be preempted.
  relation how = relation::borrower;
  /// The job that it would yield next.
  running_job<N> next{};
  /// What its eviction frees: its request and that of its elastic pods, which go with it.
  resources<N> yields{};
  /// The time of the search.
  instant now = 0;
};

/// The former name of `victim_candidate`.
template <std::size_t N>
using donor [[deprecated("allot: it is victim_candidate since 0.2.0")]] = victim_candidate<N>;

namespace detail {

/// A quota whose jobs may have to yield, with those still to be tried: the first `left`, the next one last;
/// or, if the order has a `within_quota`, a heap of `left` job indices from `first` on.
template <std::size_t N>
struct victim_source {
  static constexpr std::size_t no_heap = std::numeric_limits<std::size_t>::max();

  quota_id quota;
  std::size_t scope;
  std::span<const running_job<N>> jobs;
  std::size_t left;
  std::size_t first = no_heap;
  /// Whether it is a heap by now; until a job is dropped, only its first is in its place.
  bool is_heap = false;
  /// How many of the jobs, the first ones, were ruled out by priority when the heap was made.
  std::size_t ruled_out = 0;
  relation how{};
  /// Queue entries of an earlier offer are stale.
  std::size_t offer = 0;
  std::size_t given = 0;
  /// The last refusal, when `refused_at` victims had been taken.
  bool refused = false;
  bool closed = false;
  std::size_t refused_at = 0;
  resources<N> refused_yields{};
};

}  // namespace detail

/// A victim order that has an order of its own within a quota: see `victim_order`.
template <class Order, std::size_t N>
concept orders_within_quota = requires(const Order order, const running_job<N>& job, instant now) {
  { order.within_quota(job, job, now) } -> std::same_as<bool>;
};

/// A victim order: a callable that maps a candidate to its key; the least key yields first. It is evaluated
/// again after each victim of that candidate, in the state without the victims chosen so far (else one quota
/// would yield everything, KAI v0.5.1), and may depend on the usage of the candidate itself only.
///
/// Within a quota jobs yield in the order of `compare_as_victims`, unless the order has a member
/// `within_quota(a, b, now)` that says whether a yields before b: a strict total order, and one that the key
/// follows, or the best job of a quota hides behind another. If that depends on the order's options, a member
/// `orders_within()` says whether it has one; without one, a search does not sort the jobs of a quota.
template <class Order, std::size_t N>
concept victim_order = requires(const Order order, const ledger<N>& l, const victim_candidate<N>& v) {
  { order(l, v) } -> std::totally_ordered;
};

/// Other quotas before the beneficiary's own; lowest priority; then the candidate with the highest weighted
/// borrowed share and, among those within their own, the one that uses most of its supply, so that several
/// quotas yield in proportion; then newest. An inner quota yields only its own jobs, so it is measured by
/// them and its own pool.
///
/// With `least_at_stake_first` of a priority elastic pods come first, then the job that may lose least work
/// (`work_at_stake`: where all save their work equally often, the smallest), of those the one that does lose
/// least (`lost_work`), and only then the share. It is for hosts where jobs hold reservations: a gang that
/// has waited for days for its nodes does not yield them to a job that a smaller one could make room for.
struct lowest_priority_then_highest_share {
  /// Whether of a priority the job that may lose least work yields first.
  bool least_at_stake_first = false;

  /// By which candidates are compared, least first.
  template <std::size_t N>
  struct key_for {
    /// Whether it is in the beneficiary's own quota: such jobs come last.
    bool same_quota = false;
    /// @{
    /// What its next job may lose, and what it would; zero if they do not count, or it is elastic.
    wide stake = 0;
    wide lost = 0;
    /// @}
    /// What the candidate borrows; the highest weighted share comes first.
    borrowed_share share{};
    /// The largest part, over the dimensions, of its supply that it uses; the largest comes first.
    ratio use_of_supply{};
    /// The rank of its next job.
    victim_rank next{};

    friend constexpr std::strong_ordering operator<=>(const key_for& a, const key_for& b) noexcept {
      if (a.same_quota != b.same_quota) return a.same_quota <=> b.same_quota;
      if (const auto o = a.next.priority <=> b.next.priority; o != 0) return o;
      if (a.stake != b.stake) return less(a.stake < b.stake);
      if (a.lost != b.lost) return less(a.lost < b.lost);
      if (const auto o = b.share <=> a.share; o != 0) return o;
      if (const auto o = b.use_of_supply <=> a.use_of_supply; o != 0) return o;
      return a.next <=> b.next;
    }
    friend constexpr bool operator==(const key_for& a, const key_for& b) noexcept { return (a <=> b) == 0; }

   private:
    [[nodiscard]] static constexpr std::strong_ordering less(bool is) noexcept {
      return is ? std::strong_ordering::less : std::strong_ordering::greater;
    }
  };

  template <std::size_t N>
  [[nodiscard]] key_for<N> operator()(const ledger<N>& l, const victim_candidate<N>& v) const {
    const contender<N> giving{v.quota, !l.tree().children(v.quota).empty()};
    key_for<N> key{.same_quota = v.how == relation::same_quota,
                   .share = share_of(l, giving),
                   .next = victim_rank::of(v.next)};
    for (std::size_t k = 0; k < N; ++k) {
      const account a = account_of(l, giving, k);
      if (a.used <= quantity{}) continue;
      const auto whole = static_cast<wide>(std::max(quantity{}, a.supply).in_milli());
      key.use_of_supply = std::max(key.use_of_supply, ratio{static_cast<wide>(a.used.in_milli()), whole});
    }
    if (!least_at_stake_first || v.next.elastic) return key;
    key.stake = work_at_stake(v.next, v.now, 0, N);
    key.lost = lost_work(v.next, v.now, 0, N);
    return key;
  }
  /// Whether jobs of one quota yield by what they may lose.
  [[nodiscard]] constexpr bool orders_within() const noexcept { return least_at_stake_first; }
  /// Whether a yields before b, by the same order.
  template <std::size_t N>
  [[nodiscard]] bool within_quota(const running_job<N>& a, const running_job<N>& b, instant now) const {
    if (!least_at_stake_first || a.priority != b.priority || a.elastic || b.elastic) {
      return compare_as_victims(a, b) < 0;
    }
    const wide x = work_at_stake(a, now, 0, N);
    const wide y = work_at_stake(b, now, 0, N);
    if (x != y) return x < y;
    const wide lost = lost_work(a, now, 0, N);
    const wide other = lost_work(b, now, 0, N);
    return lost != other ? lost < other : compare_as_victims(a, b) < 0;
  }
};

/// Other quotas before the beneficiary's own; lowest priority; newest (Kueue's candidate order).
struct lowest_priority_then_newest {
  /// By which candidates are compared, least first.
  template <std::size_t N>
  struct key_for {
    /// Whether it is in the beneficiary's own quota: such jobs come last.
    bool same_quota = false;
    /// The rank of its next job.
    victim_rank next{};

    friend constexpr std::strong_ordering operator<=>(const key_for& a, const key_for& b) noexcept {
      if (a.same_quota != b.same_quota) return a.same_quota <=> b.same_quota;
      return a.next <=> b.next;
    }
    friend constexpr bool operator==(const key_for& a, const key_for& b) noexcept { return (a <=> b) == 0; }
  };

  template <std::size_t N>
  [[nodiscard]] key_for<N> operator()(const ledger<N>&, const victim_candidate<N>& v) const {
    return {v.how == relation::same_quota, victim_rank::of(v.next)};
  }
};

/// Other quotas before the beneficiary's own; lowest priority; elastic pods before gangs; then the least lost
/// work (see `lost_work`): a job that has just written a checkpoint yields before one that is about to. This
/// depends on the time of the search, so each search sorts the jobs again, in O(jobs) for each quota that may
/// have to yield; ties are broken by `compare_as_victims`.
struct cheapest_lost_work {
  /// The GPU dimensions, of any flavor.
  std::size_t first = 0;
  /// The number of GPU dimensions, from `first` on.
  std::size_t count = 1;

  /// By which candidates are compared, least first.
  template <std::size_t N>
  struct key_for {
    /// Whether it is in the beneficiary's own quota: such jobs come last.
    bool same_quota = false;
    /// The GPU time that its eviction loses, for what it frees.
    wide cost = 0;
    /// Its rank among jobs of equal cost.
    victim_rank next{};

    friend constexpr std::strong_ordering operator<=>(const key_for& a, const key_for& b) noexcept {
      if (a.same_quota != b.same_quota) return a.same_quota <=> b.same_quota;
      if (const auto o = a.next.priority <=> b.next.priority; o != 0) return o;
      if (const auto o = b.next.elastic <=> a.next.elastic; o != 0) return o;
      if (a.cost != b.cost)
        return a.cost < b.cost ? std::strong_ordering::less : std::strong_ordering::greater;
      return a.next <=> b.next;
    }
    friend constexpr bool operator==(const key_for& a, const key_for& b) noexcept { return (a <=> b) == 0; }
  };

  template <std::size_t N>
  [[nodiscard]] key_for<N> operator()(const ledger<N>&, const victim_candidate<N>& v) const {
    return {v.how == relation::same_quota, lost_work(v.next, v.now, first, count), victim_rank::of(v.next)};
  }
  /// Whether a yields before b at the time `now`, by the same cost.
  template <std::size_t N>
  [[nodiscard]] bool within_quota(const running_job<N>& a, const running_job<N>& b, instant now) const {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.elastic != b.elastic) return a.elastic;
    const wide cost = lost_work(a, now, first, count);
    const wide other = lost_work(b, now, first, count);
    return cost != other ? cost < other : compare_as_victims(a, b) < 0;
  }
};

}  // namespace v0
}  // namespace allot
