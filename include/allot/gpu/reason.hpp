// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/demand.hpp>
#include <allot/gpu/free_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Why a demand has no place.
enum class obstacle : std::uint8_t {
  /// It has one.
  none,
  /// Not something that can be placed: no pods, a negative amount, or one above a GPU that is not whole.
  invalid_demand,
  /// A pod of it is larger than any node of the cluster.
  too_large_for_any_node,
  /// Some node could hold a pod of it, but none in its pools.
  pool_has_no_such_node,
  /// Not all of its pods fit, even if nothing else stands in its pools.
  larger_than_cluster,
  /// Its pools have fewer free GPUs than it asks for.
  full,
  /// Its pools have as many free GPUs as it asks for, but not together.
  fragmented,
};

/// For a program to read; a person is better served by a sentence made of the numbers.
[[nodiscard]] constexpr std::string_view to_string(obstacle o) noexcept {
  switch (o) {
    case obstacle::none:
      return "none";
    case obstacle::invalid_demand:
      return "invalid_demand";
    case obstacle::too_large_for_any_node:
      return "too_large_for_any_node";
    case obstacle::pool_has_no_such_node:
      return "pool_has_no_such_node";
    case obstacle::larger_than_cluster:
      return "larger_than_cluster";
    case obstacle::full:
      return "full";
    case obstacle::fragmented:
      return "fragmented";
  }
  return "";
}

/// Why a demand has no place, with the numbers to check it by. What is counted is counted in the pools of
/// the demand; what is held by those who were told to go counts as free.
struct unplaceable {
  obstacle reason = obstacle::none;
  /// By the whole job.
  quantity asked;
  /// The GPUs that there are, and those that are free, with all gaps of shared ones but not on closed nodes.
  quantity capacity;
  quantity free;
  /// The most that one pod of this kind could get now: GPUs of one node, or a part of one device.
  quantity largest_block;
  /// How many pods it has, and how many of them, without the smaller one of a split total, have a place now.
  std::uint64_t pods = 0;
  std::uint64_t pods_with_room = 0;

  /// Whether it could not stand on the empty cluster either.
  [[nodiscard]] constexpr bool is_never() const noexcept {
    return reason != obstacle::none && reason != obstacle::full && reason != obstacle::fragmented;
  }

  friend bool operator==(const unplaceable&, const unplaceable&) = default;
};

namespace detail {

inline constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

/// How many pods of this shape have room now, on nodes that are not closed. Pods of one shape do not get in
/// each other's way more than their number, so it does not matter where the first ones go. O(types x sizes,
/// or gaps for a fraction).
[[nodiscard]] inline std::uint64_t room(const free_index& index, const pod_shape& pod) {
  std::uint64_t count = 0;
  const auto& types = index.layout().types();
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (!types[t].is_in(pod.pools)) continue;
    if (pod.devices == 0) {
      if (index.fewest_free(t, 0)) return any_number;
      continue;
    }
    for (std::uint32_t free = pod.devices; free <= types[t].gpus; ++free) {
      count += index.nodes_with_free(t, free) * (free / pod.devices) * (milli_per_gpu / pod.milli);
    }
    if (!pod.is_fraction()) continue;
    for (std::uint32_t gap = pod.milli; gap < milli_per_gpu; ++gap) {
      count += index.devices_with_gap(t, gap) * (gap / pod.milli);
    }
  }
  return count;
}

/// How many pods of this shape the empty cluster has room for. O(types).
[[nodiscard]] inline std::uint64_t room(const cluster& empty, const pod_shape& pod) {
  std::uint64_t count = 0;
  for (const node_type& t : empty.types()) {
    if (!t.is_in(pod.pools)) continue;
    if (pod.devices == 0) return any_number;
    count += t.nodes.size() * (t.gpus / pod.devices) * (milli_per_gpu / pod.milli);
  }
  return count;
}

/// Whether all pods of a split have room, in a `free_index` or in an empty `cluster`.
template <class In>
[[nodiscard]] bool has_room(const In& in, const pod_split& pods) {
  if (room(in, pods.each) < pods.pods) return false;
  if (pods.rest == 0) return true;
  // Each of the full nodes takes the places of all the smaller pods that it could hold.
  return room(in, pods.rest_shape()) > pods.pods * (pods.each.devices / pods.rest);
}

[[nodiscard]] inline quantity largest_block(const free_index& index, const pod_shape& pod) {
  const auto& types = index.layout().types();
  std::uint32_t most_free = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (!types[t].is_in(pod.pools)) continue;
    std::uint32_t free = types[t].gpus;
    while (free > most_free && index.nodes_with_free(t, free) == 0) --free;
    most_free = std::max(most_free, free);
  }
  if (!pod.is_fraction()) return quantity::whole(most_free);
  if (most_free > 0) return quantity::whole(1);
  std::uint32_t largest_gap = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (!types[t].is_in(pod.pools)) continue;
    std::uint32_t gap = milli_per_gpu - 1;
    while (gap > largest_gap && index.devices_with_gap(t, gap) == 0) --gap;
    largest_gap = std::max(largest_gap, gap);
  }
  return quantity::milli(largest_gap);
}

}  // namespace detail

/// Whether the demand has a place when nothing else stands in the cluster. O(types).
[[nodiscard]] inline bool could_ever_fit(const cluster& empty, const demand& d) {
  const auto pods = split(d, empty.largest_node(d.pools));
  return pods && detail::has_room(empty, *pods);
}

/// Whether the demand has a place now, whatever policy would choose it. O(types x sizes), a fraction
/// O(types x gaps).
[[nodiscard]] inline bool has_room(const free_index& index, const demand& d) {
  const auto pods = split(d, index.layout().largest_node(d.pools));
  return pods && detail::has_room(index, *pods);
}

/// Why the demand has no place now; `obstacle::none` if it has one. A lasting reason goes before a passing
/// one. O(types x gaps).
[[nodiscard]] inline unplaceable why_not(const free_index& index, const demand& d) {
  const cluster& layout = index.layout();
  unplaceable why;
  why.asked = d.total ? d.gpus : d.gpus * d.pods;
  why.capacity = layout.gpus_in(d.pools);
  why.free = index.free_in(d.pools);
  const auto pods = split(d, layout.largest_node(d.pools));
  if (!pods) {
    why.reason = obstacle::invalid_demand;
    return why;
  }
  why.largest_block = detail::largest_block(index, pods->each);
  why.pods = pods->pods + (pods->rest > 0 ? 1 : 0);
  why.pods_with_room = std::min(pods->pods, detail::room(index, pods->each));
  pod_shape anywhere = pods->each;
  anywhere.pools = all_pools;
  // A total is not too large for the nodes: it would have been split if its pools had any.
  const bool has_nodes = d.total && layout.size() > 0;
  if (!has_nodes && detail::room(layout, anywhere) == 0) {
    why.reason = obstacle::too_large_for_any_node;
  } else if (detail::room(layout, pods->each) == 0) {
    why.reason = obstacle::pool_has_no_such_node;
  } else if (!detail::has_room(layout, *pods)) {
    why.reason = obstacle::larger_than_cluster;
  } else if (!detail::has_room(index, *pods)) {
    why.reason = why.asked > why.free ? obstacle::full : obstacle::fragmented;
  }
  return why;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
