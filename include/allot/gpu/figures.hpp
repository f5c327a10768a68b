// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/room.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot {
inline namespace v0 {
namespace gpu {

// Figures of a cluster at one moment, for reports. For its fragmentation see `fragmentation`.

/// GPUs of a part of a cluster. Capacity is used, closed or idle; what pods being evicted still hold is idle.
struct gpu_usage {
  /// All GPUs.
  quantity capacity;
  /// What placed pods have, except those being evicted.
  quantity used;
  /// Unused, on closed nodes.
  quantity closed;

  /// What could be placed: unused GPUs of open nodes.
  [[nodiscard]] constexpr quantity idle() const noexcept { return capacity - used - closed; }
  /// The used share in millionths, rounded down; 0 without capacity.
  [[nodiscard]] constexpr std::int64_t millionths_used() const noexcept {
    if (capacity == quantity{}) return 0;
    return static_cast<std::int64_t>(static_cast<wide>(used.in_milli()) * 1'000'000U /
                                     static_cast<wide>(capacity.in_milli()));
  }

  friend constexpr bool operator==(const gpu_usage&, const gpu_usage&) noexcept = default;
};

/// Usage of one node. O(devices of the node).
[[nodiscard]] inline gpu_usage usage_of(const free_index& index, node_id n) {
  gpu_usage u{quantity::whole(index.layout().gpus(n)), index.used(n), {}};
  if (index.is_closed(n)) u.closed = u.capacity - u.used;
  return u;
}
/// Usage of all nodes in these pools and of these models. O(types).
[[nodiscard]] inline gpu_usage usage_in(const free_index& index, std::uint64_t pools = all_pools,
                                        std::uint64_t models = all_models) {
  const quantity capacity = index.layout().gpus_in(pools, models);
  const quantity used = index.used_in(pools, models);
  return {capacity, used, capacity - used - index.free_in(pools, models)};
}
/// Usage by model, in the order of `cluster::models`. O(models x types).
[[nodiscard]] inline std::vector<gpu_usage> usage_by_model(const free_index& index) {
  std::vector<gpu_usage> all;
  for (std::size_t m = 0; m < index.layout().models().size(); ++m) {
    all.push_back(usage_in(index, all_pools, std::uint64_t{1} << m));
  }
  return all;
}
/// Usage by pool, in the order of `cluster::pools`. O(pools x types).
[[nodiscard]] inline std::vector<gpu_usage> usage_by_pool(const free_index& index) {
  std::vector<gpu_usage> all;
  for (std::size_t p = 0; p < index.layout().pools().size(); ++p) {
    all.push_back(usage_in(index, std::uint64_t{1} << p));
  }
  return all;
}

/// How many pods of this shape fit at the same time, at most `most`: the largest gang of them that could be
/// placed now. An upper bound for pods with fractions of several devices. O(types x sizes), O(types x gaps)
/// for a fraction, O(nodes) if the pod needs host resources that nodes count.
[[nodiscard]] inline std::uint64_t largest_gang(const free_index& index, const pod_shape& pod,
                                                std::uint64_t most = free_index::any_number) {
  return std::min(detail::room(index, pod, most), most);
}

/// Idle GPUs in the pools and of the models that the request accepts, although it does not fit: there are
/// enough of them, but not together, or not with the CPU and memory that it needs. Zero if it fits, if there
/// are not enough, or if it could never fit. Complexity as `why_not`.
[[nodiscard]] inline quantity stranded_for(const free_index& index, const pod_request& d) {
  const unplaceable why = why_not(index, d);
  return why.reason == obstacle::fragmented || why.reason == obstacle::host_full ? why.free : quantity{};
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
