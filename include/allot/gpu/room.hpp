// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

namespace detail {

[[nodiscard]] constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a + b < a ? free_index::any_number : a + b;
}

/// How many pods of this shape fit now on the nodes of one type, judged only by free GPU and gap counts. For
/// shapes that need one device or whole ones.
[[nodiscard]] inline std::uint64_t room_by_counts(const free_index& index, std::size_t type,
                                                  const pod_shape& here) {
  std::uint64_t count = 0;
  const std::uint32_t gpus = index.layout().types()[type].gpus;
  for (std::uint32_t free = here.devices; free <= gpus; ++free) {
    count += index.nodes_with_free(type, free) * (free / here.devices) * (milli_per_gpu / here.milli);
  }
  if (!here.is_fraction()) return count;
  for (std::uint32_t gap = here.milli; gap < milli_per_gpu; ++gap) {
    count += index.devices_with_gap(type, gap) * (gap / here.milli);
  }
  return count;
}

enum class look : std::uint8_t { at_all, at_gpus };

/// Whether a pod of this shape may lack room on nodes of this type although its GPUs are free.
[[nodiscard]] inline bool may_lack_host(const node_type& type, const pod_shape& here) noexcept {
  return (type.counts_cpu() && here.cpu_milli > 0) || (type.counts_memory() && here.memory_mib > 0) ||
         type.counts_slots();
}

/// How many pods of this shape fit now on open nodes, or any number of at least `enough`. Pods of one shape
/// compete only for capacity, so the placement of the first ones does not matter (except for fractions of
/// several devices, for which this is an upper bound). O(types x sizes), or gaps for a fraction; O(nodes) if
/// the host must be checked, or for several fractions.
[[nodiscard]] inline std::uint64_t room(const free_index& index, const pod_shape& pod,
                                        std::uint64_t enough = free_index::any_number,
                                        look at = look::at_all) {
  std::uint64_t count = 0;
  for_each_type(index.layout(), pod, [&](std::size_t t, const pod_shape& here) {
    if (count >= enough) return;
    const node_type& type = index.layout().types()[t];
    const bool host_matters = at == look::at_all && may_lack_host(type, here);
    if (!host_matters && here.devices == 0) {
      if (index.fewest_free(t, 0)) count = free_index::any_number;
    } else if (!host_matters && !type.mig && (!here.is_fraction() || here.devices == 1)) {
      count = saturating_sum(count, room_by_counts(index, t, here));
    } else {
      for (std::size_t i = 0; i < type.nodes.size() && count < enough; ++i) {
        const node_id n = type.nodes[i];
        if (index.is_closed(n)) continue;
        count = saturating_sum(
            count, at == look::at_all ? index.pods_with_room(n, here) : index.pods_on_devices(n, here));
      }
    }
  });
  return count;
}

/// How many pods of this shape fit on an empty node of this type; `any_number` if nothing limits them.
[[nodiscard]] inline std::uint64_t pods_when_empty(const node_type& type, const pod_shape& here) {
  std::uint64_t pods = free_index::any_number;
  const auto at_most = [&pods](std::int64_t left, std::int64_t one) {
    if (one > 0) pods = std::min(pods, static_cast<std::uint64_t>(left / one));
  };
  // Fractions of several devices: the portions of all devices, divided by the devices of a pod.
  if (here.devices > 0) {
    const std::uint64_t on_device =
        type.mig ? mig_device{*type.mig}.room(*profile_of(*type.mig, here.mig)) : milli_per_gpu / here.milli;
    pods = here.is_fraction() || type.mig ? type.gpus * on_device / here.devices : type.gpus / here.devices;
  }
  if (type.counts_cpu()) at_most(type.cpu_milli, here.cpu_milli);
  if (type.counts_memory()) at_most(type.memory_mib, here.memory_mib);
  if (type.counts_slots()) at_most(type.pod_slots, 1);
  return pods;
}

/// How many pods of this shape fit on the empty cluster. O(types).
[[nodiscard]] inline std::uint64_t room(const cluster& empty, const pod_shape& pod) {
  std::uint64_t count = 0;
  for_each_type(empty, pod, [&](std::size_t t, const pod_shape& here) {
    const node_type& type = empty.types()[t];
    const std::uint64_t each = pods_when_empty(type, here);
    count = each == free_index::any_number ? each : saturating_sum(count, each * type.nodes.size());
  });
  return count;
}

/// The number of nodes on which a pod of this shape, of whole GPUs, fits now; may stop counting at `enough`.
/// As `room`.
[[nodiscard]] inline std::uint64_t nodes_with_room(const free_index& index, const pod_shape& pod,
                                                   std::uint64_t enough, look at) {
  std::uint64_t count = 0;
  for_each_type(index.layout(), pod, [&](std::size_t t, const pod_shape& here) {
    const node_type& type = index.layout().types()[t];
    if (at == look::at_gpus || !may_lack_host(type, here)) {
      for (std::uint32_t free = here.devices; free <= type.gpus; ++free)
        count += index.nodes_with_free(t, free);
      return;
    }
    for (std::size_t i = 0; i < type.nodes.size() && count < enough; ++i) {
      const node_id n = type.nodes[i];
      if (!index.is_closed(n) && index.has_room(n, here)) ++count;
    }
  });
  return count;
}
/// The same for the empty cluster. O(types).
[[nodiscard]] inline std::uint64_t nodes_with_room(const cluster& empty, const pod_shape& pod) {
  std::uint64_t count = 0;
  for_each_type(empty, pod, [&](std::size_t t, const pod_shape&) { count += empty.types()[t].nodes.size(); });
  return count;
}

// Every full pod of a split total takes a node that the smaller pod could have had, so it needs another.

[[nodiscard]] inline bool has_room_for_rest(const cluster& empty, const pod_split& pods) {
  return !pods.has_rest() || nodes_with_room(empty, pods.rest) > pods.pods;
}
[[nodiscard]] inline bool has_room(const cluster& empty, const pod_split& pods) {
  return room(empty, pods.each) >= pods.pods && has_room_for_rest(empty, pods);
}
[[nodiscard]] inline bool has_room_for_rest(const free_index& index, const pod_split& pods,
                                            look at = look::at_all) {
  return !pods.has_rest() || nodes_with_room(index, pods.rest, pods.pods + 1, at) > pods.pods;
}
[[nodiscard]] inline bool has_room(const free_index& index, const pod_split& pods, look at = look::at_all) {
  return room(index, pods.each, pods.pods, at) >= pods.pods && has_room_for_rest(index, pods, at);
}

/// The GPUs of the whole job; for pods that request GPU memory or a MIG instance, the minimum over the
/// acceptable models.
[[nodiscard]] inline quantity asked(const cluster& layout, const pod_request& r, const pod_split& pods) {
  if (!pods.each.depends_on_type() && !pods.each.is_fraction()) return r.total ? r.gpus : r.gpus * r.pods;
  std::uint32_t least = pods.each.milli;
  for_each_type(layout, pods.each,
                [&](std::size_t, const pod_shape& here) { least = std::min(least, here.milli); });
  return quantity::milli(least) * (std::int64_t{pods.each.devices} * static_cast<std::int64_t>(pods.pods));
}

[[nodiscard]] inline quantity largest_block(const free_index& index, pod_shape pod) {
  pod.devices = 1;
  const bool is_fraction = pod.is_fraction() || pod.depends_on_type();
  std::uint32_t most_free = 0;
  std::uint32_t largest_gap = 0;
  for_each_type(index.layout(), pod, [&](std::size_t t, const pod_shape&) {
    std::uint32_t free = index.layout().types()[t].gpus;
    while (free > most_free && index.nodes_with_free(t, free) == 0) --free;
    most_free = std::max(most_free, free);
    if (!is_fraction) return;
    std::uint32_t gap = milli_per_gpu - 1;
    while (gap > largest_gap && index.devices_with_gap(t, gap) == 0) --gap;
    largest_gap = std::max(largest_gap, gap);
  });
  if (!is_fraction) return quantity::whole(most_free);
  return most_free > 0 ? quantity::whole(1) : quantity::milli(largest_gap);
}

}  // namespace detail

/// Whether the request fits on the empty cluster. O(types).
[[nodiscard]] inline bool could_ever_fit(const cluster& empty, const pod_request& r) {
  const auto pods = split(r, empty);
  return pods && detail::has_room(empty, *pods);
}

/// Whether the request fits now, whatever the policy. O(types x sizes), O(types x gaps) for a fraction,
/// O(nodes) if it needs host resources that nodes count. For several pods with fractions of several devices
/// each, true only means that it may fit.
[[nodiscard]] inline bool has_room(const free_index& index, const pod_request& r) {
  const auto pods = split(r, index.layout());
  return pods && detail::has_room(index, *pods);
}

namespace detail {

/// Why the request, of these pods, has no room now. Permanent reasons take precedence over temporary ones.
[[nodiscard]] inline obstacle obstacle_of(const free_index& index, const pod_request& r,
                                          const pod_split& pods, quantity asked, quantity free) {
  const cluster& layout = index.layout();
  // A total is split by the size of the nodes in question, which determines the size of its pods.
  const auto fits_a_node = [&](std::uint64_t pools, std::uint64_t models) {
    pod_request other = r;
    other.pools = pools;
    other.models = models;
    const auto parts = split(other, layout);
    return parts && room(layout, parts->each) > 0;
  };
  const std::uint64_t ever = room(layout, pods.each);
  if (ever == 0) {
    if (fits_a_node(r.pools, all_models)) return obstacle::model_has_no_such_node;
    return fits_a_node(all_pools, all_models) ? obstacle::pool_has_no_such_node
                                              : obstacle::too_large_for_any_node;
  }
  if (ever < pods.pods || !has_room_for_rest(layout, pods)) return obstacle::larger_than_cluster;
  if (asked > free) return obstacle::full;
  return has_room(index, pods, look::at_gpus) ? obstacle::host_full : obstacle::fragmented;
}

}  // namespace detail

/// Why the request can't be placed now, regardless of the topology; `obstacle::none` if it can. Permanent
/// reasons take precedence over temporary ones. Complexity as `has_room`.
[[nodiscard]] inline unplaceable why_not(const free_index& index, const pod_request& r) {
  const cluster& layout = index.layout();
  unplaceable why;
  why.capacity = layout.gpus_in(r.pools, r.models);
  why.free = index.free_in(r.pools, r.models);
  const auto pods = split(r, layout);
  if (!pods) {
    why.asked = r.total ? r.gpus : r.gpus * r.pods;
    why.reason = obstacle::invalid_request;
    return why;
  }
  why.asked = detail::asked(layout, r, *pods);
  why.largest_block = detail::largest_block(index, pods->each);
  why.pods = pods->all_pods();
  why.pods_with_room = std::min(pods->pods, detail::room(index, pods->each, pods->pods));
  // What fits now fits ever.
  const bool fits = why.pods_with_room == pods->pods && detail::has_room_for_rest(index, *pods);
  if (!fits) why.reason = detail::obstacle_of(index, r, *pods, why.asked, why.free);
  return why;
}
/// The reason that `why_not` gives, without the figures beside it, which cost more.
[[nodiscard]] inline obstacle obstacle_to(const free_index& index, const pod_request& r) {
  const auto pods = split(r, index.layout());
  if (!pods) return obstacle::invalid_request;
  const quantity asked = detail::asked(index.layout(), r, *pods);
  const quantity free = index.free_in(r.pools, r.models);
  if (asked <= free && detail::has_room(index, *pods)) return obstacle::none;
  return detail::obstacle_of(index, r, *pods, asked, free);
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
