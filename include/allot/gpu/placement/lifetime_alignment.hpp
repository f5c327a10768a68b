// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/detail/node_ends.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/detail/ends_by_group.hpp>
#include <allot/gpu/placement/indexed_best_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Places jobs that end together on the same nodes, so that nodes come free as wholes: best on a node that is
/// not kept any longer by the pod, because another there is expected to end no earlier; else on the one whose
/// latest expected end is delayed least; last on an empty node. Of equal nodes, the one with the fewest free
/// GPUs, then the lowest. A pod of which no one knows when it ends never does, so that beside it nothing is
/// delayed; and a node whose pods should have ended could be free at any moment: it counts as ending now.
///
/// The idea is that of lifetime-aware allocation of virtual machines (Ling et al., "LAVA", MLSys 2025), where
/// predictions are updated all the time; here the host tells the inventory when one changes (`expect_end`).
///
/// Estimates are those of the requests (`pod_request::estimate`), and count from the time that the inventory
/// was told last (`set_now`). A pod without one is placed by best fit; so without estimates this is
/// `indexed_best_fit`, decision for decision. So is a fraction that best fit would let share a device in use,
/// and a pod without GPUs, which keeps no GPUs from any job. Nothing if and only if there is no room. Only an
/// inventory records ends, and only if this is the policy it was made with; elsewhere it is best fit too.
///
/// It is no default: what it gives is measured in bench/lab/README.md, "Reservations". Ties by the nearest or
/// the latest end instead of by node, delays in coarse steps, and best fit with the ends as its tie are no
/// better.
///
/// The nodes with pods and free GPUs are kept by free GPUs, in trees that are updated with the nodes that
/// have changed since the last use. A placement costs O(types x sizes x log nodes), and log nodes for each of
/// these; where the host of the best node lacks room, all nodes with as many free GPUs are visited.
/// Among 1,250 nodes of eight GPUs one pod leaves and one comes in 0.6 microseconds; with best fit in 0.3.
///
/// What it keeps is not observable: the answer is always that of a scan over all nodes.
class lifetime_alignment {
 public:
  lifetime_alignment() = default;
  /// A copy keeps nothing: it belongs to another inventory.
  lifetime_alignment(const lifetime_alignment& o) : otherwise_(o.otherwise_) {}
  lifetime_alignment& operator=(const lifetime_alignment& o) {
    if (this != &o) *this = lifetime_alignment{o};
    return *this;
  }
  lifetime_alignment(lifetime_alignment&&) noexcept = default;
  lifetime_alignment& operator=(lifetime_alignment&&) noexcept = default;
  ~lifetime_alignment() = default;

  /// Its inventory records when pods are expected to end.
  [[nodiscard]] static constexpr bool uses_ends() noexcept { return true; }

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    const std::optional<pod_location> otherwise = otherwise_(from, pod);
    if (!otherwise || otherwise->devices == 0 || !from.ends().recording()) return otherwise;
    const instant end = from.ends().end_of(pod.estimate);
    const bool shares = (from.free_devices(otherwise->node) & otherwise->devices) != otherwise->devices;
    if (end == without_end || shares) return otherwise;
    catch_up(from);
    const std::optional<rank> best = find(from, pod, end);
    if (!best || best->node == otherwise->node) return otherwise;
    const auto devices = from.choose_devices(best->node, pod);
    return devices ? pod_location{best->node, *devices} : *otherwise;
  }

 private:
  /// How good a node with pods is: the lower, the better.
  struct rank {
    /// By how much its end would be delayed.
    std::uint64_t delay = 0;
    std::uint32_t free = 0;
    node_id node;

    friend constexpr auto operator<=>(const rank&, const rank&) noexcept = default;
  };
  static constexpr instant any_time = std::numeric_limits<instant>::min();

  /// The nodes of that type with so many free devices.
  [[nodiscard]] static constexpr std::size_t group_of(std::size_t type, std::uint32_t free) noexcept {
    return type * max_gpus_per_node + free;
  }

  /// The best of the nodes with pods and with enough free devices.
  [[nodiscard]] std::optional<rank> find(const free_index& from, const pod_shape& pod, instant end) const {
    const instant now = from.ends().now();
    std::optional<rank> best;
    const auto& types = from.layout().types();
    for (std::size_t t = 0; t < types.size(); ++t) {
      const auto here = types[t].shape_on(pod);
      if (!here) continue;
      for (std::uint32_t free = here->devices; free < types[t].gpus; ++free) {
        const auto at = best_of_group(from, group_of(t, free), *here, now, end);
        if (!at) continue;
        const rank its{at->first, free, at->second};
        if (!best || its < *best) best = its;
        // Emptier nodes of this type are no better.
        if (at->first == 0) break;
      }
    }
    return best;
  }
  /// The lowest of the nodes of a group that are delayed least, and by how much.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, node_id>> best_of_group(
      const free_index& from, std::size_t group, const pod_shape& here, instant now, instant end) const {
    const std::optional<instant> latest = ends_.latest(group);
    if (!latest) return std::nullopt;
    const auto delay = [&](instant then) -> std::uint64_t {
      if (then >= end) return 0;
      return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(std::max(now, then));
    };
    // Ends no earlier than this one are as good as any.
    const instant enough = *latest >= end ? end : *latest > now ? *latest : any_time;
    const std::optional<node_id> first = ends_.first(group, 0, enough);
    if (first && from.has_room(*first, here)) return std::pair{delay(*latest), *first};
    std::optional<std::pair<std::uint64_t, node_id>> best;
    for (auto n = ends_.first(group, 0, any_time); n; n = ends_.first(group, n->index() + 1, any_time)) {
      const std::uint64_t its = delay(ends_.end(*n));
      if ((!best || its < best->first) && from.has_room(*n, here)) best = std::pair{its, *n};
    }
    return best;
  }

  void catch_up(const free_index& from) const {
    const change_log& log = from.changes();
    const change_log::moment now = log.now();
    if (seen_ == now) return;
    const std::size_t nodes = from.layout().size();
    const std::size_t groups = group_of(from.layout().types().size(), 0);
    const bool is_known = ends_.nodes() == nodes && ends_.groups() == groups && log.remembers(seen_);
    if (is_known && log.since(seen_).size() < nodes) {
      for (const std::uint32_t n : log.since(seen_)) look(from, node_id{n});
    } else {
      ends_.reset(groups, nodes);
      for (std::size_t n = 0; n < nodes; ++n) look(from, node_id{n});
    }
    seen_ = now;
  }
  void look(const free_index& from, node_id n) const {
    const std::uint32_t free = from.devices().free_count(n);
    const instant latest = from.ends().latest(n);
    if (free == 0 || latest == node_ends::nothing || from.is_closed(n)) return ends_.erase(n);
    ends_.insert(n, group_of(from.layout().position_of(n).type, free), latest);
  }

  indexed_best_fit otherwise_;
  /// The open nodes with pods on some of their devices, by type and free devices.
  mutable ends_by_group ends_;
  /// No log starts with number 0.
  mutable change_log::moment seen_{};
};

static_assert(placement_policy<lifetime_alignment>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
