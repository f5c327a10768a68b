// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/fairshare/order.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// The cluster divided into fixed parts: no quota lends or borrows, whatever its limits say. The baseline
/// that lending is measured against. A parent's pool in addition to its children's is for its own use only.
struct static_quotas {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "static_quotas";
  static constexpr std::string_view summary = "fixed parts: no lending, no borrowing";
  static constexpr bool ignores_quotas = false;

  using policies_type = policies<within_nominal_then_borrowed_share, by_settings,
                                 lowest_priority_then_highest_share, eligible_is_fair, unprotected>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept {
    return {.order = queue_order::priority,
            .head = queue_head::best_effort,
            .preempt = {.within = preempt_within::lower_priority, .reclaim = preempt_reclaim::never}};
  }
  /// @}

  /// Makes every quota static.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    for (quota_spec<N>& s : specs) s.is_static = true;
  }
};
static_assert(preset<static_quotas>);

}  // namespace v0
}  // namespace allot
