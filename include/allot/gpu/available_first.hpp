// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/best_fit.hpp>
#include <allot/gpu/demand.hpp>
#include <allot/gpu/free_index.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Where KAI-Scheduler v0.13 puts a pod while others are on their way out: of the nodes with room, those that
/// can take a fraction on a device that is shared already; then those where it can start at once, for nobody
/// who was told to go still holds what it needs; then the one with the fewest free GPUs; then the lowest.
/// On its node: `free_index::choose_devices`, which prefers what nobody holds as well.
///
/// While nobody is on the way out this is best fit for whole GPUs, in O(types x log64 nodes); else O(nodes),
/// for a fraction O(devices).
struct available_first {
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    if (!pod.is_fraction() && from.held_in(pod.pools) == quantity{}) return best_fit{}(from, pod);
    std::optional<pod_location> best;
    std::tuple<bool, bool, int> best_score;
    const cluster& layout = from.layout();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const node_id n{i};
      if (!layout.type_of(n).is_in(pod.pools)) continue;
      const auto devices = from.choose_devices(n, pod);
      if (!devices) continue;
      const std::uint64_t free = from.free_devices(n);
      const bool opens_device = pod.is_fraction() && (*devices & free) != 0;
      const bool must_wait = !from.is_ready(placed_pod{{n, *devices}, pod.milli}) ||
                             (!pod.is_fraction() && (*devices & from.held_devices(n)) != 0);
      const std::tuple score{opens_device, must_wait, std::popcount(free)};
      if (best && !(score < best_score)) continue;
      best = pod_location{n, *devices};
      best_score = score;
    }
    return best;
  }
};

static_assert(placement_policy<available_first>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
