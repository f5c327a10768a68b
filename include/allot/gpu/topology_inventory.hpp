// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/topology_placer.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/topology/gang_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// An inventory that knows how near its nodes are to one another: it places requests with levels, and gangs,
/// within a domain. Without a topology it is a `basic_inventory`.
template <placement_policy Policy = indexed_best_fit>
class basic_topology_inventory : public basic_inventory<Policy> {
  using base = basic_inventory<Policy>;

 public:
  using typename base::allocation;

  explicit basic_topology_inventory(cluster layout, Policy policy = {})
      : base(std::move(layout), std::move(policy)) {}
  /// Precondition: the topology was built for this cluster.
  basic_topology_inventory(cluster layout, topology nearness, Policy policy = {})
      : base(std::move(layout), std::move(policy)),
        near_(std::in_place, this->layout(), std::move(nearness)) {}

  /// As `basic_inventory::place`; a request with levels where `gang_planner` says.
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) {
    return r.has_level() ? place_near(r) : base::place(r);
  }
  /// Whether `place` would find a place. Changes nothing.
  [[nodiscard]] bool could_place(const pod_request& r) {
    if (!r.has_level()) return base::could_place(r);
    return this->would_succeed([&] { return place_near(r).has_value(); });
  }
  /// As `place`, with another policy; requests with levels are still placed by `gang_planner`.
  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_by(const P& policy, const pod_request& r) {
    return r.has_level() ? place_near(r) : base::place_by(policy, r);
  }

  /// What `place_gang` did.
  struct placed_gang {
    /// None if it can't be placed.
    std::optional<allocation> at;
    /// The plan, or the reason for the failure; valid until the next call.
    gang_place where;
  };
  /// Places a gang of pods like this one (its `pods`, `total` and levels are ignored) according to its groups
  /// and levels, the pods of the first group first; as many pods of an elastic gang as fit. Without a
  /// topology there are no levels, and no gang can be placed.
  [[nodiscard]] placed_gang place_gang(pod_request pod, const gang_request& gang) {
    pod.pods = 1;
    pod.total = false;
    const auto shape = split(pod, 0);
    if (!shape || !near_) {
      gang_place nowhere;
      nowhere.why.reason = gang_obstacle::invalid_request;
      return {std::nullopt, nowhere};
    }
    const gang_place where = near_->plan(this->index(), shape->each, gang);
    return {where.found ? place_as_planned(where, {shape->each, where.pods}) : std::nullopt, where};
  }

  /// Whether the request would fit on the empty cluster with all nodes open. O(node types), with levels
  /// O(domains x types).
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    if (near_ && r.has_level()) return near_->could_ever_fit(this->layout(), r);
    return base::could_ever_fit(r);
  }
  /// Why the request can't be placed now. See `gpu::why_not`.
  [[nodiscard]] unplaceable why_not(const pod_request& r) const {
    if (near_ && r.has_level()) return near_->why_not(this->index(), r, gpu::why_not(this->index(), r));
    return base::why_not(r);
  }
  /// Its reason alone, which costs less without levels.
  [[nodiscard]] obstacle obstacle_to(const pod_request& r) const {
    return r.has_level() ? why_not(r).reason : base::obstacle_to(r);
  }

  /// The topology of the nodes; null if none was given.
  [[nodiscard]] const topology* nearness() const noexcept { return near_ ? &near_->layout() : nullptr; }

 private:
  [[nodiscard]] std::optional<allocation> place_near(const pod_request& r) {
    const auto pods = this->pods_of(r);
    if (!pods || !near_) return std::nullopt;
    const gang_place where = near_->plan(this->index(), r, *pods);
    return where.found ? place_as_planned(where, *pods) : std::nullopt;
  }
  /// The last pod is the smaller one, if there is one.
  [[nodiscard]] std::optional<allocation> place_as_planned(const gang_place& where, const pod_split& pods) {
    const allot::savepoint before = this->save();
    const allocation a = this->open();
    std::uint64_t left = where.pods;
    bool placed = true;
    for (const gang_share& s : where.shares) {
      for (std::uint64_t i = 0; i < s.pods && placed; ++i) {
        const bool is_rest = --left == 0 && pods.has_rest();
        placed = this->add_at({s.node, 0}, is_rest ? pods.rest : pods.each, a);
      }
    }
    return this->conclude(before, placed, a);
  }

  std::optional<topology_placer> near_;
};

/// The inventory with best fit and a topology.
using topology_inventory = basic_topology_inventory<>;

}  // namespace gpu
}  // namespace v0
}  // namespace allot
