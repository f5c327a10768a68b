// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace allot {
inline namespace v0 {

/// Which jobs of its own quota a job may evict (Kueue's withinClusterQueue).
enum class preempt_within : std::uint8_t { never, lower_priority, lower_or_newer_equal };

/// Which jobs of quotas that borrow a job may evict to get back what its side owns (Kueue's
/// reclaimWithinCohort).
enum class preempt_reclaim : std::uint8_t { never, lower_priority, any };

/// What the jobs of one quota may take from others when they don't fit.
struct preempt_settings {
  preempt_within within = preempt_within::lower_priority;
  preempt_reclaim reclaim = preempt_reclaim::any;
  /// Whether its jobs may take from the quotas below it, even what those use within their nominal (PAI's
  /// child-level preemption). Nothing ever lets a job take from a quota above its own.
  bool children = false;

  friend bool operator==(const preempt_settings&, const preempt_settings&) = default;
};

}  // namespace v0
}  // namespace allot
