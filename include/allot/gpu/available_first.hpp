// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/best_fit.hpp>
#include <allot/gpu/demand.hpp>
#include <allot/gpu/free_index.hpp>

#include <bit>
#include <compare>
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
/// While nobody is on the way out this is best fit for whole GPUs, in O(types x log64 nodes); else, for whole
/// GPUs, O(log64 nodes) for each node with room on which a pod would have to wait and that would be chosen
/// otherwise; for a fraction O(devices).
struct available_first {
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    if (pod.is_fraction()) return choose_fraction(from, pod);
    if (from.held_in(pod.pools) == quantity{}) return best_fit{}(from, pod);
    std::optional<choice> best;
    const auto& types = from.layout().types();
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (!types[t].is_in(pod.pools)) continue;
      for (auto c = from.fewest_free(t, pod.devices); c; c = from.next_free(t, *c)) {
        const auto devices = from.choose_devices(c->node, pod);
        if (!devices) continue;
        const bool must_wait = (*devices & from.held_devices(c->node)) != 0;
        if (const choice here{must_wait, *c, *devices}; !best || here < *best) best = here;
        if (!must_wait) break;
      }
    }
    if (!best) return std::nullopt;
    return pod_location{best->at.node, best->devices};
  }

 private:
  struct choice {
    bool must_wait = false;
    free_index::candidate at{};
    std::uint64_t devices = 0;

    friend constexpr auto operator<=>(const choice&, const choice&) noexcept = default;
  };

  [[nodiscard]] static std::optional<pod_location> choose_fraction(const free_index& from,
                                                                   const pod_shape& pod) {
    std::optional<pod_location> best;
    std::tuple<bool, bool, int> best_score;
    const cluster& layout = from.layout();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const node_id n{i};
      if (!layout.type_of(n).is_in(pod.pools)) continue;
      const auto devices = from.choose_devices(n, pod);
      if (!devices) continue;
      const std::uint64_t free = from.free_devices(n);
      const bool opens_device = (*devices & free) != 0;
      const bool must_wait = !from.is_ready(placed_pod{{n, *devices}, pod.milli});
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
