// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/dot_product.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Best fit over CPU and GPUs: the less of both a pod would leave on a node, the better, both weighted
/// equally relative to the reference host (`reference_cpu_milli`). Devices as in
/// `free_index::choose_devices`.
///
/// The score of the policy BestFit in the simulator of the paper on fragmentation gradient descent (Weng et
/// al., ATC 2023), in exact arithmetic: 100 minus the percentage that is left, rounded towards 0. The
/// simulator then scales the scores of all nodes with room to integers from 0 to 100. That is left out: it
/// changes neither order nor ties within a range of 100, so on hosts no larger than the reference.
struct vector_best_fit_score {
  /// The type of the scores.
  using score_type = std::int32_t;

  [[nodiscard]] std::int32_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    const bool counts_cpu = from.layout().type_of(n).counts_cpu();
    const std::int64_t cpu = counts_cpu ? from.hosts().free_cpu_milli(n) - here.cpu_milli : 0;
    const std::int64_t gpu = most_free::free_milli(from, n) - detail::asked_gpu_milli(here);
    constexpr std::int64_t gpu_unit = reference_cpu_milli / reference_gpu_milli;
    constexpr std::int64_t percent = 2 * reference_cpu_milli / 100;
    return static_cast<std::int32_t>((100 * percent - cpu - gpu_unit * gpu) / percent);
  }
};

/// The node with the highest `vector_best_fit_score`, then the lowest.
using vector_best_fit = scored_placement<vector_best_fit_score>;
static_assert(placement_policy<vector_best_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
