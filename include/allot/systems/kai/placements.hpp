// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/placement.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace allot {
inline namespace v0 {

// What `runai` uses of a placement beyond `placement`, if it is there. Without any of these it decides by
// quotas and by what `place` finds.

/// A placement that knows nodes and which jobs are being evicted. It can prefer places where a job can start
/// at once, place pods that wait in any case (also on given nodes), place those of an evicted job where they
/// have stood, and list the nodes an allocation is placed on. Default: jobs that wait for others to leave are
/// placed by `place`, and no job is moved.
template <class P>
concept node_aware_placement = placement<P> &&
    requires(P p, const P& seen, const typename P::pod_request& pod_request, typename P::allocation where,
             std::span<const std::size_t> nodes) {
  { p.place_available_first(pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
  { p.place_waiting(pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
  { p.place_waiting_on(pod_request, nodes) } -> std::same_as<std::optional<typename P::allocation>>;
  { p.place_back(pod_request, where)->at } -> std::convertible_to<typename P::allocation>;
  { p.place_back(pod_request, where)->moved } -> std::convertible_to<std::uint32_t>;
  seen.for_each_node(where, [](std::size_t) {});
};

/// A placement of devices, some of which a pod request has to itself while others may be shared:
/// `devices_of`. Moving a job frees none of the former, so a pod request for more of them than the unused
/// `free_devices` can't be served by moving such jobs. Default: every move is tried.
template <class P>
concept device_counting_placement = placement<P> &&
    requires(const P& seen, const typename P::pod_request& pod_request) {
  { seen.devices_of(pod_request).own } -> std::convertible_to<std::uint64_t>;
  { seen.devices_of(pod_request).shared } -> std::convertible_to<std::uint64_t>;
  { seen.free_devices() } -> std::same_as<std::uint64_t>;
};

/// A placement that may be without nodes, like `no_placement`: then quotas alone count. Default: it has some.
template <class P>
concept optional_nodes_placement = placement<P> && requires(const P& seen) {
  { seen.has_nodes() } -> std::same_as<bool>;
};

/// A pod request with a number of pods, of which some can be placed alone. Default: it is for as many pods as
/// the view says, and a part of it is placed like the whole.
template <class PodRequest>
concept podded_request = requires(PodRequest r, std::uint32_t pods) {
  { r.pods } -> std::convertible_to<std::uint32_t>;
  r.pods = pods;
};
/// A pod request with the set of pools that would do. Jobs of different pools have different chances.
/// Default: all have the same.
template <class PodRequest>
concept pooled_request = requires(const PodRequest& r) {
  { r.pools } -> std::convertible_to<std::uint64_t>;
};

}  // namespace v0
}  // namespace allot
