// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/demand.hpp>
#include <allot/gpu/free_index.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Chooses where one pod is to stand: a node of one of its pools that has room, and devices of it; nothing if
/// it will not have any. It may not change what it chooses from, and the same index and pod must give the
/// same answer.
template <class P>
concept placement_policy = std::copyable<P> &&
    requires(const P choose, const free_index& from, const pod_shape& pod) {
  { choose(from, pod) } -> std::same_as<std::optional<pod_location>>;
};

/// Keeps large blocks whole: a pod goes where it leaves the least room.
///
/// Whole GPUs: the node with the fewest free GPUs that suffice, then the lowest node (the rule of the Helios
/// simulator, which the published figures rest on). A fraction: the shared device with the smallest gap
/// that suffices, then the lowest node; when none has room, the node with the fewest free GPUs, then the
/// lowest. A pod without GPUs: the fullest node, then the lowest. On its node: `free_index::choose_devices`.
/// Nothing if and only if there is no room. O(types x log64 nodes + devices of a node).
struct best_fit {
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    std::optional<free_index::candidate> best;
    if (pod.is_fraction()) {
      best = least(from, pod, [&](std::size_t type) { return from.smallest_gap(type, pod.milli); });
    }
    if (!best) {
      best = least(from, pod, [&](std::size_t type) { return from.fewest_free(type, pod.devices); });
    }
    if (!best) return std::nullopt;
    const auto devices = from.choose_devices(best->node, pod);
    if (!devices) return std::nullopt;
    return pod_location{best->node, *devices};
  }

 private:
  template <class Candidate>
  [[nodiscard]] static std::optional<free_index::candidate> least(const free_index& from,
                                                                  const pod_shape& pod, Candidate of_type) {
    std::optional<free_index::candidate> best;
    const auto& types = from.layout().types();
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (!types[t].is_in(pod.pools)) continue;
      const std::optional<free_index::candidate> c = of_type(t);
      if (c && (!best || *c < *best)) best = c;
    }
    return best;
  }
};

static_assert(placement_policy<best_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
