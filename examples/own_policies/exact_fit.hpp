// SPDX-License-Identifier: BSL-1.0
// A placement: a node that the job fills up, else the one with the most free GPUs.
#pragma once

#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/presets/standard.hpp>

#include <bit>
#include <cstdint>
#include <string_view>

struct full_or_empty {
  using score_type = std::int64_t;
  score_type operator()(const allot::gpu::free_index& from, allot::gpu::node_id n,
                        const allot::gpu::pod_shape& here) const {
    const auto free = std::popcount(from.free_devices(n));
    return free == static_cast<int>(here.devices) ? 1000 : free;
  }
};

struct exact_fit : allot::standard {
  static constexpr std::string_view name = "exact_fit";
  static constexpr std::string_view summary = "as standard, on a node that the job fills, else the emptiest";
  using placement_type = allot::gpu::scored_placement<full_or_empty>;
};
