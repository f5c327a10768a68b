// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// Alibaba PAI's quota tree: a parent's nominal contains its children's, parents hold jobs too, siblings use
/// each other's idle share and reclaim their own (self-level preemption), and a quota with `preempt.children`
/// on may preempt jobs of the quotas below it even within their own share (child-level preemption). No quota
/// preempts jobs above it.
///
/// The documentation does not say in which order victims are chosen; here the quotas below give in proportion
/// to what they have, lowest priority first.
struct pai {
  static constexpr std::string_view name = "pai";
  static constexpr std::string_view summary =
      "Alibaba PAI: nested quotas, siblings lend, parents may take from their children";
  static constexpr bool ignores_quotas = false;

  using policies_type = policies<>;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return {}; }
  /// In PAI every parent is inclusive.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    for (quota_spec<N>& s : specs) s.inclusive = true;
  }
};
static_assert(preset<pai>);

}  // namespace v0
}  // namespace allot
