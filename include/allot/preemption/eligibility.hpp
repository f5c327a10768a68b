// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/running_index.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/ledger.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {

/// The job that needs room.
template <std::size_t N>
struct beneficiary {
  /// The quota that it is attached to.
  quota_id quota;
  /// What it requests of that quota.
  resources<N> request{};
  /// Which capacity it may use.
  capacity_kind in = capacity_kind::any;
  /// Its priority, higher first.
  std::int64_t priority = 0;
  /// The time of its submission.
  instant submitted = 0;
  /// What the settings of its quota let it take from others.
  preempt_settings may{};
  /// The time of the search, for minimum runtimes and lost work.
  instant now = 0;
  /// The job, in a search of a scheduler.
  job_id id{};
};

/// Why a job may be preempted.
enum class relation : std::uint8_t {
  /// Its quota uses more than it owns, and the beneficiary's side owns the request. Against its children, the
  /// side of an inner quota's own job is its own pool.
  borrower,
  /// Its quota is below the beneficiary's.
  descendant,
  /// It is in the beneficiary's own quota.
  same_quota,
  /// Its quota uses more than it owns, and so would the beneficiary's side: the one with more than its fair
  /// share of the surplus yields.
  rival,
  /// The same, but priority decides (Kueue's reclaim while borrowing).
  borrower_while_borrowing,
  /// It is restarted elsewhere to open a place.
  consolidation,
  /// Its quota, or one above it, has shrunk below its usage.
  resized,
  /// It has run for as long as it may, and does not wait again.
  time_limit,
};
/// The name of the way in which it yields: "reclaim" from a borrower, "children" of the beneficiary, by
/// "priority" in its quota, "fair_share" of rivals. Empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(relation value) noexcept {
  switch (value) {
    case relation::borrower:
      return "reclaim";
    case relation::descendant:
      return "children";
    case relation::same_quota:
      return "priority";
    case relation::rival:
      return "fair_share";
    case relation::borrower_while_borrowing:
      return "reclaim_while_borrowing";
    case relation::consolidation:
      return "consolidate";
    case relation::resized:
      return "resized";
    case relation::time_limit:
      return "time_limit";
  }
  return "";
}
/// The number of relations.
inline constexpr std::size_t relation_count = 8;

/// Whether a request, or what a job yields, uses any of these dimensions.
template <std::size_t N>
[[nodiscard]] constexpr bool uses_any(const std::type_identity_t<resources<N>>& request,
                                      const std::array<bool, N>& these) noexcept {
  for (std::size_t d = 0; d < N; ++d) {
    if (these[d] && request[d] > quantity{}) return true;
  }
  return false;
}

namespace detail {

template <std::size_t N>
[[nodiscard]] constexpr std::array<bool, N> requested_dimensions(const beneficiary<N>& b) noexcept {
  std::array<bool, N> requested{};
  for (std::size_t d = 0; d < N; ++d) requested[d] = b.request[d] > quantity{};
  return requested;
}
template <std::size_t N>
[[nodiscard]] constexpr std::size_t count(const std::array<bool, N>& these) noexcept {
  std::size_t n = 0;
  for (const bool is : these) n += is ? 1U : 0U;
  return n;
}

}  // namespace detail

/// Whether the beneficiary may also take from borrowers what its side does not own.
template <std::size_t N>
[[nodiscard]] constexpr bool asks_others(const beneficiary<N>& b) noexcept {
  return asks_rivals(b.may) || b.may.borrow != preempt_borrow::never;
}

/// The dimensions that matter to a search: those in which the request does not fit or, if the quota allows it
/// and only a place is missing, all that are requested.
template <std::size_t N>
[[nodiscard]] std::array<bool, N> contested_dimensions(const ledger<N>& l, const beneficiary<N>& b) {
  std::array<bool, N> contested{};
  bool any = false;
  for (std::size_t d = 0; d < N; ++d) {
    contested[d] = b.request[d] > quantity{} && b.request[d] > l.headroom(b.quota, d, b.in);
    any = any || contested[d];
  }
  return any ? contested : detail::requested_dimensions(b);
}

/// The dimensions among `these` in which x uses more than it owns.
template <std::size_t N>
[[nodiscard]] std::array<bool, N> borrowed_dimensions(const ledger<N>& l, quota_id x,
                                                      std::array<bool, N> these) {
  for (std::size_t d = 0; d < N; ++d) these[d] = these[d] && l.balance(x, d) < quantity{};
  return these;
}

/// Calls `visit(quota)` for each quota at or below x that borrows in one of these dimensions, as do all
/// quotas between it and x; parents first.
template <std::size_t N, class Visit>
void for_each_borrower(const ledger<N>& l, quota_id x, const std::array<bool, N>& these, Visit& visit) {
  const auto borrowed = borrowed_dimensions(l, x, these);
  if (borrowed == std::array<bool, N>{}) return;
  visit(x);
  for (const quota_id c : l.tree().children(x)) for_each_borrower(l, c, borrowed, visit);
}
/// Calls `visit(quota)` for each quota below x, parents before children.
template <std::size_t N, class Visit>
void for_each_descendant(const quota_tree<N>& tree, quota_id x, Visit& visit) {
  for (const quota_id c : tree.children(x)) {
    visit(c);
    for_each_descendant(tree, c, visit);
  }
}

/// The contested dimensions in which x's own jobs borrow from beyond `top`, a quota above x: they use
/// more than x's own pool, and x and every quota between it and `top` use more than they own. (A quota that
/// covers what its subtree borrows owes nothing to the outside; nor do an inner quota's jobs for what only
/// its children borrow.) O(N depth).
template <std::size_t N>
[[nodiscard]] std::array<bool, N> reclaimable_dimensions(const ledger<N>& l, quota_id x, quota_id top,
                                                         std::array<bool, N> contested) {
  for (std::size_t d = 0; d < N; ++d) {
    contested[d] = contested[d] && l.own_usage(x, d) > l.supply_of(x, d).own_pool;
  }
  for (; x && x != top; x = l.tree().parent(x)) contested = borrowed_dimensions(l, x, contested);
  return contested;
}

/// Whether x, and every quota between it and `top`, still uses all that it owns in each of these dimensions
/// after giving up `yields`. A beneficiary that takes what it does not own must leave others that much, or
/// they take it back. (Kueue only asks whether a quota borrows before the eviction: from one that borrows 2
/// it evicts a job of 1 and a gang of 8 for a borrowing job of higher priority; the job of 1, now within its
/// quota's own, takes it back, and lets the gang in again. Nor does borrowing much in one dimension cost what
/// is owned in another, Kueue #9494.) O(N depth).
template <std::size_t N>
[[nodiscard]] bool keeps_its_own(const ledger<N>& l, quota_id x, quota_id top,
                                 const std::type_identity_t<resources<N>>& yields,
                                 const std::array<bool, N>& these) {
  for (std::size_t d = 0; d < N; ++d) {
    if (!these[d] || yields[d] <= quantity{}) continue;
    quantity freed = yields[d];
    if (l.own_usage(x, d) - freed < l.supply_of(x, d).own_pool) return false;
    for (quota_id a = x; a && a != top && freed > quantity{}; a = l.tree().parent(a)) {
      if (l.balance(a, d) + freed > quantity{}) return false;
      freed = -l.passed_up(a, d, -freed);
    }
  }
  return true;
}

/// Whether the beneficiary takes back its own, so that borrowers beyond `side` must yield (hierarchical
/// reclaim, Kueue): whether some quota from its own up to `side` owns the request. A quota does if what
/// reaches it fits its balance in every contested dimension; the beneficiary's quota also if the request fits
/// what its own jobs leave of its own pool, whatever its children use of it. Without a `side` only the latter
/// counts: it gives an inner quota a claim against its children. O(N depth).
template <std::size_t N>
[[nodiscard]] bool owns_request(const ledger<N>& l, const beneficiary<N>& b, quota_id side,
                                const std::array<bool, N>& contested) {
  const auto fits = [&](const resources<N>& request, auto room) {
    for (std::size_t d = 0; d < N; ++d) {
      if (contested[d] && request[d] > room(d)) return false;
    }
    return true;
  };
  if (fits(b.request,
           [&](std::size_t d) { return l.supply_of(b.quota, d).own_pool - l.own_usage(b.quota, d); })) {
    return true;
  }
  if (!side) return false;
  resources<N> arriving = b.request;
  for (quota_id x = b.quota; x; x = l.tree().parent(x)) {
    if (fits(arriving, [&](std::size_t d) { return l.balance(x, d); })) return true;
    if (x == side) return false;
    for (std::size_t d = 0; d < N; ++d) arriving[d] = l.passed_up(x, d, arriving[d]);
  }
  return false;
}

namespace detail {

/// The bounds of the priorities in preemption by that relation; null if there are none.
[[nodiscard]] constexpr const priority_bounds* bounds_of(const preempt_settings& may, relation how) noexcept {
  if (how == relation::borrower || how == relation::borrower_while_borrowing) return &may.reclaim_priorities;
  return how == relation::descendant ? &may.children_priorities : nullptr;
}

}  // namespace detail

/// Whether the priority rules of the beneficiary's quota rule out every job of that priority or a higher one.
/// Always true for relations by which no beneficiary preempts.
template <std::size_t N>
[[nodiscard]] constexpr bool rules_out(const beneficiary<N>& b, std::int64_t priority,
                                       relation how) noexcept {
  const bool is_lower = priority < b.priority;
  if (const priority_bounds* const bounds = detail::bounds_of(b.may, how)) {
    if (!bounds->preempting.has(b.priority) || priority > bounds->preempted.most) return true;
  }
  switch (how) {
    case relation::borrower:
      return b.may.reclaim == preempt_reclaim::never ||
             (b.may.reclaim == preempt_reclaim::lower_priority && !is_lower);
    case relation::descendant:
      return !b.may.children || (b.may.children_lower_priority && !is_lower);
    case relation::rival:
      return !asks_rivals(b.may) || (b.may.rivals == preempt_rivals::lower_priority && !is_lower);
    case relation::borrower_while_borrowing:
      return b.may.reclaim == preempt_reclaim::never || b.may.borrow == preempt_borrow::never || !is_lower ||
             priority > b.may.borrow_max_priority.value_or(priority);
    case relation::consolidation:
    case relation::resized:
    case relation::time_limit:
      return true;
    case relation::same_quota:
      break;
  }
  if (b.may.within == preempt_within::lower_or_newer_equal) return priority > b.priority;
  return b.may.within == preempt_within::never || !is_lower;
}

/// Whether these rules let a job be preempted: it is not ruled out, nor below the priorities that may be
/// preempted and, of equals in one quota, is the newer.
template <std::size_t N>
[[nodiscard]] constexpr bool may_preempt(const beneficiary<N>& b, const running_job<N>& victim,
                                         relation how) noexcept {
  if (rules_out(b, victim.priority, how)) return false;
  const priority_bounds* const bounds = detail::bounds_of(b.may, how);
  if (bounds && victim.priority < bounds->preempted.least) return false;
  return how != relation::same_quota || victim.priority < b.priority || victim.submitted > b.submitted;
}

}  // namespace v0
}  // namespace allot
