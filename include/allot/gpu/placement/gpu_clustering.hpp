// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/detail/pod_kinds.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <bit>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Places like with like (see `pod_kinds`): best on a node with only pods of the same kind; else on one with
/// some; else on one without pods; else on any. Among these, the node with more GPU capacity in use, in steps
/// of 320 milli. Devices as in `free_index::choose_devices`.
///
/// The score of the policy GpuClustering in the simulator of the paper on fragmentation gradient descent
/// (Weng et al., ATC 2023), number for number, including ties: 75, 50, 25 or 0, plus 25 times the used part,
/// where eight GPUs are the whole whatever the node has. All nodes are equal for a pod without GPUs.
struct clustering_score {
  /// The type of the scores.
  using score_type = std::int16_t;

  [[nodiscard]] std::int16_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    if (here.devices == 0) return 0;
    constexpr std::int64_t whole = std::int64_t{8} * milli_per_gpu;
    const std::int64_t filling = 25 * (whole - most_free::free_milli(from, n)) / whole;
    return static_cast<std::int16_t>(filling +
                                     company(from.kinds(n), pod_kinds::of(here.devices, here.milli)));
  }

 private:
  [[nodiscard]] static constexpr std::int64_t company(pod_kinds::set there, pod_kinds::set own) noexcept {
    if (there == 0) return 25;
    if ((there & own) == 0) return 0;
    return std::popcount(there) == 1 ? 75 : 50;
  }
};

/// The node with the highest `clustering_score`, then the lowest.
using gpu_clustering = scored_placement<clustering_score>;
static_assert(placement_policy<gpu_clustering>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
