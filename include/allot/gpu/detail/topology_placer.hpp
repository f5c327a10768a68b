// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/topology_room.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/room.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/gpu/topology/topology_gang.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Chooses nodes for gangs that must or should be placed close together in the topology of a cluster.
///
/// The room of each node is cached for the last few shapes and recomputed only for nodes that have changed. A
/// gang of a cached shape takes O(domains + changes), one of a new shape O(nodes). Allocates only for the
/// first gangs of the first few shapes.
///
/// A copy has a workspace of its own.
class topology_placer {
 public:
  /// Precondition: the topology was built for this cluster.
  topology_placer(const cluster& layout, topology t)
      : parts_(std::make_unique<parts>(layout, std::move(t))) {}
  topology_placer(const topology_placer& o) : parts_(std::make_unique<parts>(*o.parts_)) {}
  topology_placer& operator=(const topology_placer& o) {
    parts_ = std::make_unique<parts>(*o.parts_);
    return *this;
  }
  topology_placer(topology_placer&&) noexcept = default;
  topology_placer& operator=(topology_placer&&) noexcept = default;
  ~topology_placer() = default;

  [[nodiscard]] const topology& layout() const noexcept { return parts_->layout; }

  /// Where a gang of such pods would be placed now, or why it can't be. Valid until the next call. Uses the
  /// workspace, so concurrent calls are not safe even though this is const.
  [[nodiscard]] gang_place plan(const free_index& from, const pod_shape& pod,
                                const gang_request& gang) const {
    return parts_->planner.plan(rooms_for(from, pod), gang);
  }
  /// Where the pods of a request would be placed now. The smaller pod of a split total counts as one of the
  /// others, so a place for it may be missed. Precondition: `pods` is what `split` returned for the request.
  [[nodiscard]] gang_place plan(const free_index& from, const pod_request& r, const pod_split& pods) const {
    const gang_group group = group_of(pods);
    return plan(from, pods.each, request_of(r, group));
  }

  /// Whether the request would fit on the empty cluster with all nodes open. O(domains x types).
  [[nodiscard]] bool could_ever_fit(const cluster& empty, const pod_request& r) const {
    const auto pods = split(r, empty);
    return pods && detail::has_room(empty, *pods) && plan_empty(empty, r, *pods).found;
  }
  /// Why the request can't be placed now; `why` is the reason without the topology (see `gpu::why_not`).
  [[nodiscard]] unplaceable why_not(const free_index& from, const pod_request& r, unplaceable why) const {
    if (why.is_never()) return why;
    const auto pods = split(r, from.layout());
    if (const gang_place ever = plan_empty(from.layout(), r, *pods); !ever.found) {
      const bool is_invalid = ever.why.reason == gang_obstacle::invalid_request;
      why.reason = is_invalid ? obstacle::invalid_request : obstacle::larger_than_any_domain;
      if (!is_invalid) note_domain(r, ever.why, why);
    } else if (why.reason == obstacle::none) {
      const gang_place where = plan(from, r, *pods);
      if (where.found) return why;
      why.reason = obstacle::no_domain_has_room;
      note_domain(r, where.why, why);
    }
    return why;
  }

 private:
  static constexpr std::size_t most_shapes = 8;

  struct remembered {
    pod_shape pod;
    node_rooms rooms;
    /// The changes of the index up to this moment are included.
    change_log::moment seen{};
    std::uint64_t used = 0;
  };
  /// On the heap, because some members point to the topology.
  struct parts {
    parts(const cluster& cluster, topology t)
        : layout(std::move(t)),
          planner(layout),
          types(layout, std::max<std::size_t>(cluster.types().size(), 1)) {
      ALLOT_ASSERT(layout.nodes().size() == cluster.size(), "the topology is of another cluster");
      for (std::size_t n = 0; n < cluster.size(); ++n) {
        types.set(node_id{n}, cluster.position_of(node_id{n}).type);
      }
      shapes.reserve(most_shapes);
    }
    parts(const parts& o) : layout(o.layout), planner(layout), types(layout, o.types.classes()) {
      for (const node_id n : layout.nodes()) types.set(n, o.types.class_at(o.layout.position(n)));
      shapes.reserve(most_shapes);
    }
    parts& operator=(const parts&) = delete;
    ~parts() = default;

    topology layout;
    gang_planner planner;
    /// The nodes by type.
    node_classes types;
    vector<std::uint32_t> of_type;
    vector<remembered> shapes;
    std::uint64_t calls = 0;
  };

  [[nodiscard]] gang_place plan_empty(const cluster& empty, const pod_request& r,
                                      const pod_split& pods) const {
    vector<std::uint32_t>& of_type = parts_->of_type;
    of_type.resize(empty.types().size());
    for (std::size_t t = 0; t < of_type.size(); ++t) {
      const auto here = empty.types()[t].shape_on(pods.each);
      of_type[t] = here ? narrow(detail::pods_when_empty(empty.types()[t], *here)) : 0;
    }
    const gang_group group = group_of(pods);
    return parts_->planner.plan(class_rooms{parts_->types, of_type}, request_of(r, group));
  }
  static void note_domain(const pod_request& r, const gang_shortage& most, unplaceable& to) noexcept {
    to.pods_with_room = most.room;
    to.level = r.required_level;
    to.best_domain = most.best;
    to.best_node = most.best_node;
  }
  [[nodiscard]] static gang_group group_of(const pod_split& pods) noexcept {
    return {pods.all_pods(), pods.all_pods(), std::nullopt};
  }
  /// Precondition: the group outlives the request.
  [[nodiscard]] static gang_request request_of(const pod_request& r, const gang_group& group) noexcept {
    return {{&group, 1}, detail::level_of(r.required_level), detail::level_of(r.preferred_level)};
  }
  [[nodiscard]] static std::uint32_t narrow(std::uint64_t pods) noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(pods, std::numeric_limits<std::uint32_t>::max()));
  }

  [[nodiscard]] const node_rooms& rooms_for(const free_index& from, const pod_shape& pod) const {
    vector<remembered>& shapes = parts_->shapes;
    const pod_shape key = pod.room_key();
    auto at = allot::detail::find_if(shapes.begin(), shapes.end(),
                                     [&](const remembered& r) { return r.pod == key; });
    if (at == shapes.end()) {
      if (shapes.size() < most_shapes) {
        shapes.push_back({key, node_rooms{parts_->layout}});
        at = shapes.end() - 1;
      } else {
        at = std::min_element(shapes.begin(), shapes.end(),
                              [](const remembered& a, const remembered& b) { return a.used < b.used; });
        at->pod = key;
        at->seen = {};
      }
    }
    at->used = ++parts_->calls;
    const auto room = [&](node_id n) {
      const auto here = from.layout().type_of(n).shape_on(pod);
      return here ? narrow(from.pods_with_room(n, *here)) : 0;
    };
    const change_log& changes = from.changes();
    if (changes.remembers(at->seen)) {
      for (const std::uint32_t n : changes.since(at->seen)) at->rooms.set(node_id{n}, room(node_id{n}));
    } else {
      at->rooms.read(room);
    }
    at->seen = changes.now();
    return at->rooms;
  }

  std::unique_ptr<parts> parts_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
