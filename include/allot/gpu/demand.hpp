// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A machine of a cluster, in the order of its specification.
using node_id = id<struct node_tag>;

/// What an inventory has placed, until it is released; then the id may stand for something else.
using allocation_id = id<struct allocation_tag>;

inline constexpr std::uint32_t milli_per_gpu = 1000;
/// The GPUs of a node are the bits of one word.
inline constexpr std::uint32_t max_gpus_per_node = 64;

/// A set of pools: bit p is the pool of index p. Every pool, those included that do not exist yet.
inline constexpr std::uint64_t all_pools = ~std::uint64_t{0};

/// What a job asks of the machines. Two equal demands fare alike, so a host may remember that one of them
/// did not fit.
struct demand {
  /// Of each pod (of the whole job, if `total`): whole GPUs; or less than one, a fraction of one device; or
  /// none, for a pod that only needs a node.
  quantity gpus;
  std::uint32_t pods = 1;
  /// `gpus` is the whole job's, which stands on as few nodes as its size needs (see `split`). `pods` is then
  /// not looked at.
  bool total = false;
  /// The acceptable pools.
  std::uint64_t pools = all_pools;

  friend constexpr auto operator<=>(const demand&, const demand&) noexcept = default;
  friend constexpr bool operator==(const demand&, const demand&) noexcept = default;
};

/// What one pod asks of one node: `milli` of each of `devices` GPUs.
struct pod_shape {
  std::uint32_t devices = 0;
  /// milli_per_gpu, or less for a fraction of one device.
  std::uint32_t milli = milli_per_gpu;
  std::uint64_t pools = all_pools;

  [[nodiscard]] constexpr bool is_fraction() const noexcept { return milli < milli_per_gpu; }

  friend constexpr bool operator==(const pod_shape&, const pod_shape&) noexcept = default;
};

/// Where a pod stands, or is to stand.
struct pod_location {
  node_id node;
  /// Bit d is device d of the node. None, for a pod that needs some: whichever suit.
  std::uint64_t devices = 0;

  friend constexpr bool operator==(const pod_location&, const pod_location&) noexcept = default;
};

/// A pod that has its place: it has `milli` of each of its devices.
struct placed_pod {
  pod_location where;
  std::uint32_t milli = milli_per_gpu;

  [[nodiscard]] constexpr quantity gpus() const noexcept {
    return quantity::milli(milli) * std::popcount(where.devices);
  }

  friend constexpr bool operator==(const placed_pod&, const placed_pod&) noexcept = default;
};

/// The pods of a demand: `pods` of shape `each`, and one more of `rest` whole GPUs unless that is 0.
struct pod_split {
  pod_shape each;
  std::uint64_t pods = 1;
  std::uint32_t rest = 0;

  [[nodiscard]] constexpr pod_shape rest_shape() const noexcept { return {rest, milli_per_gpu, each.pools}; }
};

/// The pods that a demand consists of, or nothing if it is none that can be placed: no pods, a negative
/// amount, or one above a GPU that is not whole.
///
/// A total of at most the size of the largest acceptable node is one pod. A larger one fills as many nodes
/// of that size as it can, all of whose GPUs must be free, and the rest stands on one node (the rule of the
/// Helios simulator, and what FORMATS says of traces). O(1).
[[nodiscard]] constexpr std::optional<pod_split> split(const demand& d, std::uint32_t largest_node) noexcept {
  const std::int64_t milli = d.gpus.in_milli();
  if (!d.gpus.is_bounded() || milli < 0 || (!d.total && d.pods == 0)) return std::nullopt;
  const std::uint64_t pods = d.total ? 1 : d.pods;
  if (milli < milli_per_gpu) {
    const bool any = milli > 0;
    return pod_split{{any ? 1U : 0U, any ? static_cast<std::uint32_t>(milli) : milli_per_gpu, d.pools}, pods};
  }
  if (milli % milli_per_gpu != 0) return std::nullopt;
  const std::uint64_t gpus = static_cast<std::uint64_t>(milli) / milli_per_gpu;
  if (d.total && largest_node > 0 && gpus > largest_node) {
    return pod_split{{largest_node, milli_per_gpu, d.pools},
                     gpus / largest_node,
                     static_cast<std::uint32_t>(gpus % largest_node)};
  }
  // What no node can hold need not be told apart.
  const auto devices = static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, max_gpus_per_node + 1));
  return pod_split{{devices, milli_per_gpu, d.pools}, pods};
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
