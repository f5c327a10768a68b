// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/placement.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

// What `runai` uses of a placement beyond `placement`, if it is there. Without any of these it decides by
// quotas and by what `place` finds.

namespace detail {
template <class P>
using location_of = std::remove_cvref_t<
    decltype(std::declval<const P&>().pods(std::declval<typename P::allocation>()).begin()->where)>;
/// A policy of such a placement that finds none.
template <class P>
struct nowhere {
  template <class Index, class Pod>
  [[nodiscard]] std::optional<location_of<P>> operator()(const Index&, const Pod&) const {
    return std::nullopt;
  }
};
}  // namespace detail

/// A placement that knows its nodes and lets its user choose among them, as `gpu::inventory` does: `index`
/// says what is free, used and held of each node and device, `pods_of` of which pods a request consists, and
/// `pods` where those of an allocation are; `place_by` places with a policy, `place_each` pod by pod. Then
/// jobs that wait for others to leave are placed by KAI's own rules, and jobs may be moved. Default: they are
/// placed by `place`, and no job is moved.
template <class P>
concept node_aware_placement = placement<P> &&
    requires(P p, const P& seen, const typename P::pod_request& pod_request, typename P::allocation where,
             detail::nowhere<P> choose) {
  { pod_request.total || !pod_request.is_plain() } -> std::same_as<bool>;
  { seen.index().layout().size() } -> std::convertible_to<std::size_t>;
  { seen.pods_of(pod_request)->all_pods() } -> std::convertible_to<std::uint64_t>;
  { seen.pods(where).begin()->where.node.index() } -> std::convertible_to<std::size_t>;
  { p.place_by(choose, pod_request) } -> std::same_as<std::optional<typename P::allocation>>;
  { p.place_each(pod_request, choose) } -> std::same_as<std::optional<typename P::allocation>>;
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
