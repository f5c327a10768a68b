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

/// Alibaba PAI's quota tree: a parent's nominal contains its children's, parents hold jobs too, siblings use
/// each other's idle share and reclaim their own (self-level preemption), and a quota with `preempt.children`
/// on may preempt jobs of the quotas below it even within their own share (child-level preemption); in both
/// only jobs of strictly lower priority. `preempt.reclaim_priorities` and `preempt.children_priorities` are
/// PAI's ranges: who may preempt, and who may be preempted. No quota preempts jobs above it.
///
/// The documentation does not say in which order victims are chosen; here the quotas below give in proportion
/// to what they have, lowest priority first.
struct pai {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "pai";
  static constexpr std::string_view summary =
      "Alibaba PAI: nested quotas, siblings lend, parents may take from their children";
  static constexpr bool ignores_quotas = false;

  using policies_type = policies<within_nominal_then_borrowed_share, by_settings,
                                 lowest_priority_then_highest_share, eligible_is_fair, unprotected>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept {
    return {.order = queue_order::priority,
            .head = queue_head::best_effort,
            .preempt = {.within = preempt_within::lower_priority,
                        .reclaim = preempt_reclaim::lower_priority,
                        .children = false,
                        .children_lower_priority = true}};
  }
  /// @}

  /// In PAI every parent is inclusive.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    for (quota_spec<N>& s : specs) s.inclusive = true;
  }
};
static_assert(preset<pai>);

}  // namespace v0
}  // namespace allot
