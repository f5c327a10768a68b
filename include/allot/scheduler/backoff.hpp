// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// For how long a quota does not borrow a resource of which its owner has taken back some: see
/// `queue_settings::borrow_backoff`. Spans in the unit of the host's clock.
struct backoff_times {
  /// After the first reclaim; 0: it borrows again at once.
  instant first = 0;
  /// At most: the span doubles each time.
  instant longest = 0;

  friend bool operator==(const backoff_times&, const backoff_times&) = default;
};

/// The span after so many reclaims in a row: `first`, twice as long each time, at most `longest`. 0 for none.
/// Precondition: neither is negative.
[[nodiscard]] constexpr instant backoff_span(const backoff_times& t, std::uint32_t times) noexcept {
  if (times == 0 || t.first == 0) return 0;
  constexpr std::uint32_t most_doublings = 62;
  const std::uint32_t doublings = times - 1 < most_doublings ? times - 1 : most_doublings;
  return t.first > t.longest >> doublings ? t.longest : t.first << doublings;
}

/// That a quota does not borrow a resource for now, or how often in a row it has been reclaimed.
struct backoff {
  /// Which quota, and which of its resources.
  quota_id quota{};
  /// The resource.
  std::size_t dimension = 0;
  /// When jobs that borrowed it were reclaimed last.
  instant since = 0;
  /// From then on the quota may borrow it again.
  instant until = 0;
  /// How many reclaims in a row there were; 0 once a run that borrowed has ended in peace.
  std::uint32_t times = 0;

  /// Whether it says anything: of no quota it does not.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return static_cast<bool>(quota); }
  friend bool operator==(const backoff&, const backoff&) = default;
};

}  // namespace v0
}  // namespace allot
