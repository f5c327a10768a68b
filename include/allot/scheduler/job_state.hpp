// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string_view>

namespace allot {
inline namespace v0 {

/// The state of a job in the scheduler.
enum class job_state : std::uint8_t {
  /// Not, or no longer, a job of the scheduler.
  unknown,
  pending,
  /// Decided on, and waiting for evictions.
  nominated,
  running,
  /// Being evicted; it still holds its share.
  evicting,
  /// Admitted, and the host is not done with its start: see `scheduler::starting`. All else is as if it ran.
  starting,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(job_state value) noexcept {
  switch (value) {
    case job_state::unknown:
      return "unknown";
    case job_state::pending:
      return "pending";
    case job_state::nominated:
      return "nominated";
    case job_state::running:
      return "running";
    case job_state::evicting:
      return "evicting";
    case job_state::starting:
      return "starting";
  }
  return "";
}

}  // namespace v0
}  // namespace allot
