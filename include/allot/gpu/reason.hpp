// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Why a request can't be placed.
enum class obstacle : std::uint8_t {
  /// It can be placed.
  none,
  /// Not a valid request (see `split`).
  invalid_demand,
  /// A pod of the request is larger than any node of the cluster.
  too_large_for_any_node,
  /// Some node could hold a pod of the request, but none in its pools.
  pool_has_no_such_node,
  /// Some node in its pools could, but none of an acceptable GPU model.
  model_has_no_such_node,
  /// Its pods do not all fit, even if the nodes of its pools and models are empty.
  larger_than_cluster,
  /// Its pods do not all fit in any one domain of the required topology level, even if it is empty.
  larger_than_any_domain,
  /// The nodes of its pools and models have fewer free GPUs than it requests.
  full,
  /// They have enough free GPUs, but not together.
  fragmented,
  /// Its GPUs would fit, but the CPU, memory or pod slots of their nodes are used up.
  host_full,
  /// All of its pods fit, but not in one domain of the required topology level.
  no_domain_has_room,
};

/// For programs; messages for users are better made from the numbers.
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
    case obstacle::model_has_no_such_node:
      return "model_has_no_such_node";
    case obstacle::larger_than_cluster:
      return "larger_than_cluster";
    case obstacle::larger_than_any_domain:
      return "larger_than_any_domain";
    case obstacle::full:
      return "full";
    case obstacle::fragmented:
      return "fragmented";
    case obstacle::host_full:
      return "host_full";
    case obstacle::no_domain_has_room:
      return "no_domain_has_room";
  }
  return "";
}

/// Why a request can't be placed, with the supporting numbers. Counts are over nodes of acceptable pools and
/// models; what pods being evicted still hold counts as free.
struct unplaceable {
  obstacle reason = obstacle::none;
  /// By the whole job.
  quantity asked;
  /// The total and the free GPUs; free includes the gaps of shared GPUs but nothing on closed nodes.
  quantity capacity;
  quantity free;
  /// The most that one pod of this kind could get now: GPUs of one node, or a part of one device.
  quantity largest_block;
  /// The number of its pods, and how many of them, excluding the smaller pod of a split total, fit now; with
  /// `no_domain_has_room`, in the domain with the most room; with `larger_than_any_domain`, in the domain
  /// that would have the most room if it were empty.
  std::uint64_t pods = 0;
  std::uint64_t pods_with_room = 0;
  /// With these two reasons, the required level and that domain; or that node, if the level is the node
  /// level.
  std::uint8_t level = any_level;
  domain_id best_domain{};
  node_id best_node{};

  /// Whether it would not fit on the empty cluster either.
  [[nodiscard]] constexpr bool is_never() const noexcept {
    return reason != obstacle::none && reason < obstacle::full;
  }

  friend bool operator==(const unplaceable&, const unplaceable&) = default;
};

/// The same for people: "5 gpu are free, but not together: of its 2 pods 1 have room, and the largest block
/// is 4". Names no domain: see `topology::qualified_name`.
[[nodiscard]] inline std::string to_string(const unplaceable& why) {
  const std::string asked = allot::to_string(why.asked);
  const std::string pods = std::to_string(why.pods);
  const std::string with_room = std::to_string(why.pods_with_room);
  const std::string room =
      why.pods == 1 ? "it has one pod" : "of its " + pods + " pods " + with_room + " have room";
  switch (why.reason) {
    case obstacle::full:
      return asked + " gpu are asked for and " + allot::to_string(why.free) + " are free";
    case obstacle::fragmented:
      if (why.asked == quantity{}) return "none of the nodes on which it may stand is open";
      return allot::to_string(why.free) + " gpu are free, but not together: " + room +
             ", and the largest block is " + allot::to_string(why.largest_block);
    case obstacle::too_large_for_any_node:
      return "a pod of it is larger than any node";
    case obstacle::pool_has_no_such_node:
      return "none of the nodes on which it may stand could hold a pod of it";
    case obstacle::model_has_no_such_node:
      return "none of the nodes with a GPU model that it accepts could hold a pod of it";
    case obstacle::host_full:
      return "the GPUs are there, but not the CPU, memory or pod slots beside them: " + room;
    case obstacle::larger_than_cluster:
      return asked + " gpu are asked for, and the nodes on which it may stand have " +
             allot::to_string(why.capacity);
    case obstacle::larger_than_any_domain:
      return "its pods have to stand in one domain, and the largest has room for " + with_room + " of " +
             pods;
    case obstacle::no_domain_has_room:
      return "its pods have to stand in one domain, and the one with most room has room for " + with_room +
             " of " + pods;
    case obstacle::none:
    case obstacle::invalid_demand:
      break;
  }
  return "there is no place for it";
}

namespace detail {

/// Visits the types on which a pod may run, with its shape there.
template <class Visit>
void for_each_type(const cluster& layout, const pod_shape& pod, Visit visit) {
  for (std::size_t t = 0; t < layout.types().size(); ++t) {
    if (const auto here = layout.types()[t].shape_on(pod)) visit(t, *here);
  }
}

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

[[nodiscard]] inline bool has_room(const cluster& empty, const pod_split& pods) {
  return room(empty, pods.each) >= pods.pods &&
         (!pods.has_rest() || nodes_with_room(empty, pods.rest) > pods.pods);
}
[[nodiscard]] inline bool has_room(const free_index& index, const pod_split& pods, look at = look::at_all) {
  return room(index, pods.each, pods.pods, at) >= pods.pods &&
         (!pods.has_rest() || nodes_with_room(index, pods.rest, pods.pods + 1, at) > pods.pods);
}

/// The GPUs of the whole job; for pods that request GPU memory or a MIG instance, the minimum over the
/// acceptable models.
[[nodiscard]] inline quantity asked(const cluster& layout, const pod_request& d, const pod_split& pods) {
  if (!pods.each.depends_on_type() && !pods.each.is_fraction()) return d.total ? d.gpus : d.gpus * d.pods;
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
[[nodiscard]] inline bool could_ever_fit(const cluster& empty, const pod_request& d) {
  const auto pods = split(d, empty.largest_node(d.pools, d.models));
  return pods && detail::has_room(empty, *pods);
}

/// Whether the request fits now, whatever the policy. O(types x sizes), O(types x gaps) for a fraction,
/// O(nodes) if it needs host resources that nodes count. For several pods with fractions of several devices
/// each, true only means that it may fit.
[[nodiscard]] inline bool has_room(const free_index& index, const pod_request& d) {
  const auto pods = split(d, index.layout().largest_node(d.pools, d.models));
  return pods && detail::has_room(index, *pods);
}

/// Why the request can't be placed now, regardless of the topology; `obstacle::none` if it can. Permanent
/// reasons take precedence over temporary ones. Complexity as `has_room`.
[[nodiscard]] inline unplaceable why_not(const free_index& index, const pod_request& d) {
  const cluster& layout = index.layout();
  unplaceable why;
  why.capacity = layout.gpus_in(d.pools, d.models);
  why.free = index.free_in(d.pools, d.models);
  const auto pods = split(d, layout.largest_node(d.pools, d.models));
  if (!pods) {
    why.asked = d.total ? d.gpus : d.gpus * d.pods;
    why.reason = obstacle::invalid_demand;
    return why;
  }
  why.asked = detail::asked(layout, d, *pods);
  why.largest_block = detail::largest_block(index, pods->each);
  why.pods = pods->all_pods();
  why.pods_with_room = std::min(pods->pods, detail::room(index, pods->each, pods->pods));
  // A total is split by the size of the nodes in question, which determines the size of its pods.
  const auto fits_a_node = [&](std::uint64_t pools, std::uint64_t models) {
    pod_request other = d;
    other.pools = pools;
    other.models = models;
    const auto parts = split(other, layout.largest_node(pools, models));
    return parts && detail::room(layout, parts->each) > 0;
  };
  if (!fits_a_node(d.pools, d.models)) {
    why.reason = fits_a_node(d.pools, all_models)     ? obstacle::model_has_no_such_node
                 : fits_a_node(all_pools, all_models) ? obstacle::pool_has_no_such_node
                                                      : obstacle::too_large_for_any_node;
  } else if (!detail::has_room(layout, *pods)) {
    why.reason = obstacle::larger_than_cluster;
  } else if (why.asked > why.free) {
    why.reason = obstacle::full;
  } else if (!detail::has_room(index, *pods, detail::look::at_gpus)) {
    why.reason = obstacle::fragmented;
  } else if (!detail::has_room(index, *pods)) {
    why.reason = obstacle::host_full;
  }
  return why;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
