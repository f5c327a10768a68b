// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Where KAI-Scheduler v0.13 places a pod while others are being evicted: of the nodes with room, those with
/// a shared device for a fraction; then those where it can start at once, because nothing that it needs is
/// still held; then the one with the fewest free GPUs; then the lowest. On its node: a fraction on the shared
/// device that is taken most, by pods that stay or leave. Of unused devices it gets first those that are not
/// held or, if it `waits` for others to leave anyway, first those that are: KAI counts devices, and a pod
/// that waits takes nothing from those that can start at once.
///
/// While nothing is being evicted this is best fit for whole GPUs, in O(types x log64 nodes); else, for whole
/// GPUs, O(log64 nodes) for each node with room on which a pod would have to wait; for a fraction O(devices).
struct available_first {
  /// The pod waits for others to leave, wherever it is placed.
  bool waits = false;
  /// The pod's former place: on that node it keeps its devices if they are still free.
  std::optional<pod_location> stood{};

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    if (pod.is_fraction() || pod.depends_on_type()) return choose_fraction(from, pod);
    if (!from.is_anyone_leaving()) return best_fit{}(from, pod);
    std::optional<choice> best;
    const auto& types = from.layout().types();
    for (std::size_t t = 0; t < types.size(); ++t) {
      const auto here = types[t].shape_on(pod);
      if (!here) continue;
      const auto has_room = [&](node_id n) { return from.has_room(n, *here); };
      const auto can_start = [&](node_id n) { return has_room(n) && !from.must_wait(n, *here); };
      choice c{false, from.fewest_free(t, here->devices, can_start)};
      if (!c.at) c = {true, from.fewest_free(t, here->devices, has_room)};
      if (c.at && (!best || c < *best)) best = c;
    }
    if (!best) return std::nullopt;
    const node_id n = best->at->node;
    if (stood && stood->node == n && from.fits(*stood, pod)) return stood;
    const auto devices = from.choose_most_taken(n, pod, waits);
    if (!devices) return std::nullopt;
    return pod_location{n, *devices};
  }

 private:
  struct choice {
    bool must_wait = false;
    std::optional<free_index::candidate> at{};

    // Written out: the std::optional of libc++ 16 has no <=>.
    friend constexpr bool operator<(const choice& a, const choice& b) noexcept {
      return a.must_wait != b.must_wait ? b.must_wait : a.at < b.at;
    }
  };

  [[nodiscard]] std::optional<pod_location> choose_fraction(const free_index& from,
                                                            const pod_shape& pod) const {
    std::optional<pod_location> best;
    std::tuple<bool, bool, int> best_score;
    const cluster& layout = from.layout();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const node_id n{i};
      const auto here = layout.type_of(n).shape_on(pod);
      if (!here || from.is_closed(n) || !from.has_room(n, *here)) continue;
      const std::uint64_t devices = from.choose_most_taken(n, pod, waits).value_or(0);
      const std::uint64_t free = from.free_devices(n);
      const std::tuple score{(devices & free) != 0, !from.might_start(n, *here), std::popcount(free)};
      if (best && !(score < best_score)) continue;
      best = pod_location{n, devices};
      best_score = score;
    }
    return best;
  }
};

static_assert(placement_policy<available_first>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
