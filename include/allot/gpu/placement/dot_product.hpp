// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The host size that makes CPU and GPUs comparable: what the simulator of the paper on fragmentation
/// gradient descent (Weng et al., ATC 2023) takes as the largest.
inline constexpr std::int64_t reference_cpu_milli = 128'000;
/// The GPUs of the node that amounts of GPUs are measured by: eight, in milli.
inline constexpr std::int64_t reference_gpu_milli = 8'000;

namespace detail {

/// 0 where CPU is not counted.
[[nodiscard]] inline std::int64_t free_cpu_milli(const free_index& from, node_id n) {
  return from.layout().type_of(n).counts_cpu() ? from.hosts().free_cpu_milli(n) : 0;
}
[[nodiscard]] constexpr std::int64_t asked_gpu_milli(const pod_shape& here) noexcept {
  return std::int64_t{here.devices} * here.milli;
}

}  // namespace detail

/// Matches the request with what is free: the lower the product of the two vectors (CPU, GPU), the better, so
/// that a pod is placed where little is left of what it needs most (Tetris, with the sign that the paper
/// gives it). Devices as in `free_index::choose_devices`.
///
/// The score of the policy DotProd in the simulator of the paper on fragmentation gradient descent (Weng et
/// al., ATC 2023), in exact arithmetic: 100 minus 50 times the product, both as parts of the reference host,
/// rounded towards 0; 0 from a product of 4. The paper's ties are ties here.
struct dot_product_score {
  /// The type of the scores.
  using score_type = std::int8_t;

  [[nodiscard]] std::int8_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    constexpr std::int64_t one = reference_cpu_milli * reference_cpu_milli;
    constexpr std::int64_t gpu_unit = one / (reference_gpu_milli * reference_gpu_milli);
    const std::int64_t cpu = detail::free_cpu_milli(from, n) * here.cpu_milli;
    const std::int64_t gpu = most_free::free_milli(from, n) * detail::asked_gpu_milli(here) * gpu_unit;
    const std::int64_t product = std::min(cpu, 4 * one) + std::min(gpu, 4 * one);
    return product >= 4 * one ? std::int8_t{0} : static_cast<std::int8_t>((2 * one - product) / (one / 50));
  }
};

/// The node with the highest `dot_product_score`, then the lowest.
using dot_product = scored_placement<dot_product_score>;
static_assert(placement_policy<dot_product>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
