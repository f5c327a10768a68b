// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <compare>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The rank of a pending job in the order of its quota; the lesser comes first. Total, because ids differ.
struct job_rank {
  /// The key of the job order, e.g. the complement of the priority, or the expected duration.
  std::int64_t key = 0;
  /// The time of submission, or the number of the call if the view gives no time; under
  /// `backfill_order::aged` that by which the job takes its turn.
  instant submitted = 0;
  /// A number that is unique among the jobs of the scheduler, as `identified_view` gives it.
  std::uint64_t id = 0;
  /// More pods for an elastic job that is already running: at an equal key, after jobs that are not running
  /// yet (KAI).
  bool elastic = false;

  friend constexpr std::strong_ordering operator<=>(const job_rank& a, const job_rank& b) noexcept {
    if (const auto o = a.key <=> b.key; o != 0) return o;
    if (const auto o = a.elastic <=> b.elastic; o != 0) return o;
    if (const auto o = a.submitted <=> b.submitted; o != 0) return o;
    return a.id <=> b.id;
  }
  friend constexpr bool operator==(const job_rank& a, const job_rank& b) noexcept { return (a <=> b) == 0; }
};

}  // namespace v0
}  // namespace allot
