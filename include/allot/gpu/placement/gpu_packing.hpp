// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Opens as little as possible: best a node whose shared devices suffice, the fuller the better; else a used
/// node, of which the fewest free GPUs are taken; else an unused one, the smallest. Devices as in
/// `free_index::choose_devices`, on whose order the score relies.
///
/// The score of the policy GpuPacking in the simulator of the paper on fragmentation gradient descent (Weng
/// et al., ATC 2023), number for number, including ties: 100 minus a hundredth of the free milli of the
/// shared devices, at least 50; 50 minus the free GPUs taken, at least 33; 33 minus the GPUs of the node, at
/// least their number. All nodes are equal for a pod without GPUs.
struct packing_score {
  /// The type of the scores.
  using score_type = std::int8_t;

  [[nodiscard]] std::int8_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    if (here.devices == 0) return 0;
    const std::uint64_t free = from.free_devices(n);
    const auto free_count = static_cast<std::uint32_t>(std::popcount(free));
    if (free_count == from.layout().gpus(n))
      return narrow(std::max(33 - signed_of(free_count), signed_of(free_count)));
    const std::uint64_t chosen = from.choose_devices(n, here).value_or(0);
    if ((chosen & free) != 0) return narrow(std::max(50 - std::popcount(chosen & free), 33));
    std::int32_t percent = 0;
    for (std::uint64_t left = chosen; left != 0; left &= left - 1) {
      percent += signed_of(from.devices().gap(n, device_use::lowest(left)) * 100 / milli_per_gpu);
    }
    return narrow(std::max(100 - percent / 10, 50));
  }

 private:
  [[nodiscard]] static constexpr std::int32_t signed_of(std::uint32_t count) noexcept {
    return static_cast<std::int32_t>(count);
  }
  [[nodiscard]] static constexpr std::int8_t narrow(std::int32_t score) noexcept {
    return static_cast<std::int8_t>(score);
  }
};

/// The node with the highest `packing_score`, then the lowest.
using gpu_packing = scored_placement<packing_score>;
static_assert(placement_policy<gpu_packing>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
