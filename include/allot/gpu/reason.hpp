// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/text.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstdint>
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
  invalid_request,
  /// No node of the cluster could hold a pod of the request, even if it were empty: it is larger than any, or
  /// of a kind that none takes (whole GPUs where all are cut into instances).
  too_large_for_any_node,
  /// Some node could hold a pod of the request, but none in its pools.
  pool_has_no_such_node,
  /// Some node in its pools could, but none of an acceptable GPU model.
  model_has_no_such_node,
  /// Its pods do not all fit, even if the nodes of its pools and models are empty.
  larger_than_cluster,
  /// Its pods do not all fit in any one domain of the required topology level, even if it is empty.
  larger_than_any_domain,
  /// Its pods can't all be placed as their sets ask, even if the cluster is empty.
  sets_never_together,
  /// The nodes of its pools and models have fewer free GPUs than it requests.
  full,
  /// They have enough free GPUs, but not together.
  fragmented,
  /// Its GPUs would fit, but the CPU, memory or pod slots of their nodes are used up.
  host_full,
  /// All of its pods fit, but not in one domain of the required topology level.
  no_domain_has_room,
  /// Its pods can't all be placed as their sets ask, though no set has too little room by itself.
  sets_not_together,
  /// One more of its pods would fit, but not in the domain in which the others are.
  no_room_beside,
  /// All of its pods fit, but on nodes that are out before it would have ended (`occupancy::expect_outages`).
  outage,
};

/// For programs; messages for users are better made from the numbers.
[[nodiscard]] constexpr std::string_view to_string(obstacle o) noexcept {
  switch (o) {
    case obstacle::none:
      return "none";
    case obstacle::invalid_request:
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
    case obstacle::sets_never_together:
      return "sets_never_together";
    case obstacle::full:
      return "full";
    case obstacle::fragmented:
      return "fragmented";
    case obstacle::host_full:
      return "host_full";
    case obstacle::no_domain_has_room:
      return "no_domain_has_room";
    case obstacle::sets_not_together:
      return "sets_not_together";
    case obstacle::no_room_beside:
      return "no_room_beside";
    case obstacle::outage:
      return "outage";
  }
  return "";
}

/// Why a request can't be placed, with the supporting numbers. Counts are over nodes of acceptable pools and
/// models; what pods being evicted still hold counts as free.
struct unplaceable {
  /// What is lacking.
  obstacle reason = obstacle::none;
  /// By the whole job.
  quantity asked;
  /// The total and the free GPUs; free includes the gaps of shared GPUs but nothing on closed nodes.
  quantity capacity;
  /// The free GPUs, with the gaps of shared GPUs, without anything on closed nodes.
  quantity free;
  /// The most that one pod of this kind could get now: GPUs of one node, or a part of one device.
  quantity largest_block;
  /// The number of its pods, and how many of them, excluding the smaller pod of a split total, fit now; with
  /// `no_domain_has_room`, in the domain with the most room; with `larger_than_any_domain`, in the domain
  /// that would have the most room if it were empty.
  std::uint64_t pods = 0;
  /// How many of them fit now.
  std::uint64_t pods_with_room = 0;
  /// With these two reasons, the required level and that domain; or that node, if the level is the node
  /// level.
  std::uint8_t level = any_level;
  /// The domain with the most room.
  domain_id best_domain{};
  /// The node with the most room, if the level is the node level.
  node_id best_node{};
  /// The set of a job whose pods differ that this concerns: the first that never has a place by itself, or
  /// else that has none now. The counts are of its pods.
  std::uint8_t set = every_set;

  /// Whether it says that the request can't be placed.
  [[nodiscard]] constexpr bool says_no() const noexcept { return reason != obstacle::none; }
  /// Whether it would not fit on the empty cluster either.
  [[nodiscard]] constexpr bool is_never() const noexcept {
    return reason != obstacle::none && reason < obstacle::full;
  }

  friend bool operator==(const unplaceable&, const unplaceable&) = default;
};

/// The same for people: "5 gpu are free, but not together: of its 2 pods 1 have room, and the largest block
/// is 4". Names no domain: see `topology::qualified_name`; sets by their numbers, from 1.
[[nodiscard]] inline std::string to_string(const unplaceable& why) {
  if (why.set != every_set) {
    unplaceable of_set = why;
    of_set.set = every_set;
    return "pod set " + std::to_string(why.set + 1) + ": " + to_string(of_set);
  }
  const std::string asked = allot::to_string(why.asked);
  const std::string pods = std::to_string(why.pods);
  const std::string with_room = std::to_string(why.pods_with_room);
  const std::string room =
      why.pods == 1 ? "it has one pod" : "of its " + pods + " pods " + with_room + " have room";
  switch (why.reason) {
    case obstacle::full:
      return asked + " gpu are asked for and " + allot::to_string(why.free) + " are free";
    case obstacle::fragmented:
      if (why.asked == quantity{}) return "none of the nodes that it may run on is open";
      return allot::to_string(why.free) + " gpu are free, but not together: " + room +
             ", and the largest block is " + allot::to_string(why.largest_block);
    case obstacle::too_large_for_any_node:
      return "no node could hold a pod of it, even if it were empty";
    case obstacle::pool_has_no_such_node:
      return "none of the nodes that it may run on could hold a pod of it";
    case obstacle::model_has_no_such_node:
      return "none of the nodes with a GPU model that it accepts could hold a pod of it";
    case obstacle::host_full:
      return "the GPUs are there, but not the CPU, memory or pod slots beside them: " + room;
    case obstacle::larger_than_cluster:
      if (why.asked <= why.capacity) {
        return (why.pods == 1 ? "it" : "its " + pods + " pods") +
               " would not fit, were the nodes that it may run on empty (" + asked +
               " gpu are asked for, and these have " + allot::to_string(why.capacity) + ')';
      }
      return asked + " gpu are asked for, and the nodes that it may run on have " +
             allot::to_string(why.capacity);
    case obstacle::larger_than_any_domain:
      return "its pods must be placed in one domain, and the largest has room for " + with_room + " of " +
             pods;
    case obstacle::no_domain_has_room:
      return "its pods must be placed in one domain, and the one with most room has room for " + with_room +
             " of " + pods;
    case obstacle::sets_never_together:
      return "its pods could not all be placed as its pod sets ask, were the cluster empty";
    case obstacle::sets_not_together:
      return "its pods can't all be placed as its pod sets ask";
    case obstacle::no_room_beside:
      return "there is room for another pod, but not in the domain of the others";
    case obstacle::outage:
      return "there is room for it, but on nodes that go down before it would have ended";
    case obstacle::none:
    case obstacle::invalid_request:
      break;
  }
  return "there is no place for it";
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
