// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <compare>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The place of a waiting job in the order of its quota; the lesser goes first. Total, because ids differ.
struct job_rank {
  /// What the job order says, e.g. the priority negated, or the expected duration.
  std::int64_t key = 0;
  instant submitted = 0;
  std::uint64_t id = 0;

  friend constexpr auto operator<=>(const job_rank&, const job_rank&) noexcept = default;
  friend constexpr bool operator==(const job_rank&, const job_rank&) noexcept = default;
};

}  // namespace v0
}  // namespace allot
