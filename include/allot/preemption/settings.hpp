// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {

/// Which jobs of its own quota a job may evict (Kueue's withinClusterQueue).
enum class preempt_within : std::uint8_t { never, lower_priority, lower_or_newer_equal };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(preempt_within value) noexcept {
  switch (value) {
    case preempt_within::never:
      return "never";
    case preempt_within::lower_priority:
      return "lower_priority";
    case preempt_within::lower_or_newer_equal:
      return "lower_or_newer_equal";
  }
  return "";
}

/// Which jobs of borrowing quotas a job may evict to reclaim what its side owns (Kueue's
/// reclaimWithinCohort).
enum class preempt_reclaim : std::uint8_t { never, lower_priority, any };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(preempt_reclaim value) noexcept {
  switch (value) {
    case preempt_reclaim::never:
      return "never";
    case preempt_reclaim::lower_priority:
      return "lower_priority";
    case preempt_reclaim::any:
      return "any";
  }
  return "";
}

/// Which jobs of borrowing quotas a job may evict to borrow itself (Kueue's borrowWithinCohort), always of
/// strictly lower priority. `preempt_reclaim` must allow them too. Not to be combined with rivals in one
/// tree: what priority takes, fair share takes back, forever (Kueue #3779).
enum class preempt_borrow : std::uint8_t { never, lower_priority };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(preempt_borrow value) noexcept {
  switch (value) {
    case preempt_borrow::never:
      return "never";
    case preempt_borrow::lower_priority:
      return "lower_priority";
  }
  return "";
}

/// Which jobs of borrowing quotas may be evicted by a job that would borrow too, being entitled to more of
/// the surplus: the search's guard decides when that is fair.
enum class preempt_rivals : std::uint8_t {
  never,
  lower_priority,
  any,
  /// `any` if the policies have a guard that decides what is fair between rivals, else `never`.
  by_guard,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(preempt_rivals value) noexcept {
  switch (value) {
    case preempt_rivals::never:
      return "never";
    case preempt_rivals::lower_priority:
      return "lower_priority";
    case preempt_rivals::any:
      return "any";
    case preempt_rivals::by_guard:
      return "by_guard";
  }
  return "";
}

/// The priorities from one to another, both included.
struct priority_range {
  /// The lowest of them.
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  /// The highest.
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  /// Whether this is one of them.
  [[nodiscard]] constexpr bool has(std::int64_t priority) const noexcept {
    return least <= priority && priority <= most;
  }
  friend bool operator==(const priority_range&, const priority_range&) = default;
};
/// Which priorities preempt which, within what a policy allows (the two ranges of PAI's preemption policies).
struct priority_bounds {
  /// The jobs that may preempt.
  priority_range preempting{};
  /// The jobs that they may preempt.
  priority_range preempted{};

  friend bool operator==(const priority_bounds&, const priority_bounds&) = default;
};

/// What a quota's jobs may preempt when they don't fit.
struct preempt_settings {
  /// From its own quota.
  preempt_within within = preempt_within::lower_priority;
  /// From borrowers, of what its side owns.
  preempt_reclaim reclaim = preempt_reclaim::any;
  /// Whether its jobs may take from the quotas below it, even what those use within their nominal (PAI's
  /// child-level preemption). No setting lets a job take from a quota above its own.
  bool children = false;
  /// From borrowers, of what its side does not own: by priority.
  preempt_borrow borrow = preempt_borrow::never;
  /// The highest priority that a borrower may preempt (Kueue's maxPriorityThreshold); none: any lower one.
  std::optional<std::int64_t> borrow_max_priority{};
  /// From borrowers, of what its side does not own: by fair share.
  preempt_rivals rivals = preempt_rivals::by_guard;
  /// By which jobs of the quota, and from which, what it owns is reclaimed.
  priority_bounds reclaim_priorities{};
  /// Whether only jobs of strictly lower priority are taken from the quotas below it.
  bool children_lower_priority = false;
  /// By which jobs of the quota, and from which, these are taken.
  priority_bounds children_priorities{};

  friend bool operator==(const preempt_settings&, const preempt_settings&) = default;
};

/// Whether a job may preempt rivals. `by_guard` must have been resolved by what knows the guard, a search or
/// a scheduler: see `with_guard`.
[[nodiscard]] constexpr bool asks_rivals(const preempt_settings& may) noexcept {
  return may.rivals == preempt_rivals::lower_priority || may.rivals == preempt_rivals::any;
}
/// Whether a job may preempt at all.
[[nodiscard]] constexpr bool may_preempt(const preempt_settings& may) noexcept {
  return may.within != preempt_within::never || may.reclaim != preempt_reclaim::never || may.children ||
         may.borrow != preempt_borrow::never || may.rivals != preempt_rivals::never;
}
/// Whether the quota's jobs reclaim what it owns whatever the priorities are.
[[nodiscard]] constexpr bool always_reclaims(const preempt_settings& may) noexcept {
  return may.reclaim == preempt_reclaim::any && may.reclaim_priorities == priority_bounds{};
}
/// The settings with `by_guard` resolved by whether the guard decides what is fair between rivals.
[[nodiscard]] constexpr preempt_settings with_guard(preempt_settings may, bool judges_rivals) noexcept {
  if (may.rivals == preempt_rivals::by_guard) {
    may.rivals = judges_rivals ? preempt_rivals::any : preempt_rivals::never;
  }
  return may;
}

/// How long the jobs of a quota run before they may be preempted (KAI's min-runtime): a job is protected
/// while now < started + guarantee. Zero: not set.
struct runtime_guarantee {
  /// Against jobs of the same quota.
  instant preempt = 0;
  /// Against jobs of other quotas.
  instant reclaim = 0;

  friend bool operator==(const runtime_guarantee&, const runtime_guarantee&) = default;
};

}  // namespace v0
}  // namespace allot
