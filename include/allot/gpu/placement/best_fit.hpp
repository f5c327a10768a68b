// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Chooses the location of one pod: a node of one of its pools that has room, and devices of it; or nothing.
/// It must not change what it chooses from, must give the same answer for the same index and pod, and must
/// not throw: an inventory would be left with some pods of a gang.
template <class P>
concept placement_policy = std::copyable<P> &&
    requires(const P choose, const free_index& from, const pod_shape& pod) {
  { choose(from, pod) } -> std::same_as<std::optional<pod_location>>;
};

/// Whether the policy cares when pods are expected to end (`free_index::ends`): it then says so by a member
/// `bool uses_ends() const`, and its inventory records the ends.
template <placement_policy P>
[[nodiscard]] constexpr bool uses_expected_ends([[maybe_unused]] const P& policy) noexcept {
  if constexpr (requires {
                  { policy.uses_ends() } -> std::same_as<bool>;
                }) {
    return policy.uses_ends();
  } else {
    return false;
  }
}

/// Whether the policy finds a place wherever there is room, so that counting the room may stand for asking
/// it: it then says so by a member `bool finds_all_room() const`. All of the library's do; it matters of
/// those with which gangs are placed often.
template <placement_policy P>
[[nodiscard]] constexpr bool finds_all_room([[maybe_unused]] const P& policy) noexcept {
  if constexpr (requires { policy.finds_all_room(); }) return policy.finds_all_room();
  return false;
}

/// Keeps large blocks intact: a pod is placed where it leaves the least room.
///
/// Whole GPUs: the node with the fewest free GPUs that suffice, then the lowest node (the rule of the Helios
/// simulator, on which the published figures rest). A fraction: the shared device with the smallest
/// sufficient gap, then the lowest node; if there is none, the node with the fewest free GPUs, then the
/// lowest. A pod without GPUs: the fullest node, then the lowest. On its node: `device_use::choose`. Nothing
/// if and only if there is no room. O(types x log64 nodes + devices of a node), and log64 nodes for each node
/// on which only the host lacks room.
struct best_fit {
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    std::size_t looks = static_cast<std::size_t>(-1);
    return choose_within(looks, from, pod);
  }

  /// The same, but gives up after visiting this many nodes without success: `looks` is then 0, and nothing is
  /// returned. Precondition: `looks` is not 0.
  [[nodiscard]] static std::optional<pod_location> choose_within(std::size_t& looks, const free_index& from,
                                                                 const pod_shape& pod) {
    std::uint64_t best = nowhere;
    if (pod.is_fraction() || pod.depends_on_type()) {
      best = least(looks, from, pod, [&](std::size_t type, const pod_shape& here, auto has_room) {
        return here.is_fraction() ? from.smallest_gap(type, here.milli, has_room) : std::nullopt;
      });
    }
    if (best == nowhere && looks > 0) {
      best = least(looks, from, pod, [&](std::size_t type, const pod_shape& here, auto has_room) {
        return from.fewest_free(type, here.devices, has_room);
      });
    }
    if (best == nowhere || looks == 0) return std::nullopt;
    const node_id n{static_cast<std::uint32_t>(best)};
    return pod_location{
        n, pod.depends_on_type() ? from.choose_devices(n, pod).value_or(0) : from.devices_for(n, pod)};
  }

 private:
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  /// The best candidate as one number, its level before its node, so that it stays in a register.
  template <class Candidate>
  [[nodiscard]] static std::uint64_t least(std::size_t& looks, const free_index& from, const pod_shape& pod,
                                           Candidate of_type) {
    std::uint64_t best = nowhere;
    detail::for_each_type(from.layout(), pod, [&](std::size_t t, const pod_shape& here) {
      if (looks == 0) return;
      const std::optional<free_index::candidate> c =
          of_type(t, here, [&](node_id n) { return from.has_room(n, here) || --looks == 0; });
      if (c) best = std::min(best, std::uint64_t{c->level} << 32U | c->node.index());
    });
    return best;
  }
};

static_assert(placement_policy<best_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
