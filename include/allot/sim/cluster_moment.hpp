// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/demand.hpp>
#include <allot/gpu/inventory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace sim {

// What the state of a cluster comes to at one moment, from the counts of its index: O(types x GPUs of a node)
// whatever the number of nodes.

/// Free GPUs on nodes that are partly in use, where a pod that takes a whole node finds no room, in milli.
/// What is free on closed nodes is not free.
[[nodiscard]] inline std::int64_t fragmented_gpus(const gpu::inventory& inventory) {
  std::int64_t free = inventory.free().in_milli();
  const auto& types = inventory.layout().types();
  for (std::size_t t = 0; t < types.size(); ++t) {
    const std::uint64_t empty = inventory.index().nodes_with_free(t, types[t].gpus);
    free -= static_cast<std::int64_t>(empty * types[t].gpus * gpu::milli_per_gpu);
  }
  return free;
}

/// The largest number of whole GPUs that a job could get now whose GPUs are split over as few nodes as they
/// need (`gpu::split`): all of the empty nodes of the largest kind, and what the fullest of the others has
/// free.
[[nodiscard]] inline std::int64_t largest_gang(const gpu::inventory& inventory) {
  const auto& types = inventory.layout().types();
  std::uint32_t largest = 0;
  for (const auto& t : types) largest = std::max(largest, t.gpus);
  std::uint64_t whole = 0;
  std::uint32_t rest = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    std::uint32_t free = types[t].gpus;
    if (free == 0) continue;
    if (free == largest) whole += inventory.index().nodes_with_free(t, free--);
    while (free > rest && inventory.index().nodes_with_free(t, free) == 0) --free;
    rest = std::max(rest, free);
  }
  return static_cast<std::int64_t>(whole * largest + rest);
}

}  // namespace sim
}  // namespace v0
}  // namespace allot
