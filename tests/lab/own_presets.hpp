// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/lab/own_policy.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/standard.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace allot_test {

/// `standard`, but jobs are spread, and the quotas are renamed, which is visible.
struct spreading : allot::standard {
  static constexpr std::string_view name = "spreading";
  static constexpr std::string_view summary = "as standard, spread over the nodes";
  using placement_type = allot::gpu::worst_fit;

  template <std::size_t N>
  static void adapt(std::vector<allot::quota_spec<N>>& specs) {
    for (auto& s : specs) {
      if (s.parent.empty() && specs.size() == 1) s.name += " and more";
    }
  }
};

}  // namespace allot_test
