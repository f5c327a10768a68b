// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Spreads pods: the node with the most free GPU capacity, including the gaps of shared devices. For a
/// fraction, the devices with the most free; of several, one on which it can start at once, then the lowest.
/// Whole GPUs and MIG instances as in `free_index::choose_devices`.
struct most_free {
  /// The type of the scores.
  using score_type = std::int32_t;

  [[nodiscard]] std::int32_t operator()(const free_index& from, node_id n, const pod_shape&) const {
    return static_cast<std::int32_t>(free_milli(from, n));
  }

  /// The devices that the pod gets there; none if it does not fit.
  [[nodiscard]] std::uint64_t devices(const free_index& from, node_id n, const pod_shape& here) const {
    if (!here.is_fraction() || !here.mig.is_none()) return from.choose_devices(n, here).value_or(0);
    const device_use& use = from.devices();
    std::uint64_t chosen = 0;
    for (std::uint32_t k = 0; k < here.devices; ++k) {
      std::uint32_t best = max_gpus_per_node;
      std::tuple<std::uint32_t, bool> best_rank{here.milli, false};
      for (std::uint32_t d = 0; d < use.count(n); ++d) {
        if ((chosen >> d & 1U) != 0) continue;
        const bool at_once = use.used(n, d) + use.held(n, d) + here.milli <= milli_per_gpu;
        const std::tuple rank{use.gap(n, d), at_once};
        if (best == max_gpus_per_node ? rank >= best_rank : rank > best_rank) best = d, best_rank = rank;
      }
      if (best == max_gpus_per_node) return 0;
      chosen |= std::uint64_t{1} << best;
    }
    return chosen;
  }

  /// What is free of the devices of a node, in milli.
  [[nodiscard]] static std::int64_t free_milli(const free_index& from, node_id n) {
    std::int64_t sum = 0;
    for (std::uint32_t d = 0; d < from.layout().gpus(n); ++d) sum += from.devices().gap(n, d);
    return sum;
  }
};

/// The emptiest node (see `most_free`), then the lowest.
using worst_fit = scored_placement<most_free>;
static_assert(placement_policy<worst_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
