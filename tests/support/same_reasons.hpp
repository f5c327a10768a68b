// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>

namespace allot_test {

/// Whether a plan and `why`, or two of either, say the same of why a job waits.
template <class Pending>
[[nodiscard]] bool same_reasons(const Pending& a, const Pending& b) {
  if (a.id != b.id || a.quota != b.quota || a.reason != b.reason) return false;
  if (a.binding != b.binding || a.out_of_reach != b.out_of_reach || a.departures != b.departures ||
      a.ready_at != b.ready_at || a.kept_for != b.kept_for || a.resized_at != b.resized_at ||
      a.reservation != b.reservation || a.backs_off != b.backs_off)
    return false;
  if constexpr (std::equality_comparable<decltype(a.placement)>) {
    return a.placement == b.placement;
  } else {
    return a.placement.has_value() == b.placement.has_value();
  }
}

}  // namespace allot_test
