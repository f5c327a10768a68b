// SPDX-License-Identifier: BSL-1.0
//
// A host's machines in allot's inventory. Where a job of several nodes has as many different ones, as in
// Slurm, all components of a heterogeneous job together, pods that would share a node are spread here.
#pragma once

#include <allot/gpu/pod_request.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/sim/places.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace allot_governor {

/// Why a job has no place: what the inventory says. Where all pods are apart, a pod set is a component, and
/// the first one is 0, as in Slurm.
struct no_place : allot::gpu::unplaceable {
  bool is_apart = false;
};
[[nodiscard]] std::string to_string(const no_place& why);

class host_places : public allot::sim::places {
 public:
  /// As that of the inventory. It can't count places for pods that must spread, so that is tried.
  class room_counter : public allot::sim::places::room_counter {
   public:
    /// For `allot::placement_room`.
    [[nodiscard]] bool begin(const host_places& in, const pod_request& d) {
      return !in.must_spread(d) && allot::sim::places::room_counter::begin(in, d);
    }
    /// It is not kept: what jobs with a reservation take depends on how they spread.
    void keep() = delete;
  };

  using allot::sim::places::places;

  /// From now on no two pods of a job share a node; or they may.
  void keep_apart(bool is_apart) noexcept { is_apart_ = is_apart; }
  /// Whether two pods of the request could share a node.
  [[nodiscard]] bool must_spread(const pod_request& d) const;

  /// @{
  /// As those of the inventory, with pods on different nodes.
  [[nodiscard]] std::optional<allocation> place(const pod_request& d);
  [[nodiscard]] bool could_place(const pod_request& d);
  [[nodiscard]] bool could_ever_fit(const pod_request& d) const;
  [[nodiscard]] no_place why_not(const pod_request& d) const;
  /// @}

 private:
  /// Places each pod on another one of these nodes, in one domain of the levels if there are any.
  [[nodiscard]] std::optional<allocation> spread(const pod_request& d,
                                                 std::span<const allot::gpu::node_id> nodes);
  /// Places each pod on another one of these nodes, the fullest that will do first.
  [[nodiscard]] std::optional<allocation> spread_over(const pod_request& d,
                                                      std::span<const allot::gpu::node_id> nodes);
  [[nodiscard]] std::optional<allocation> spread_sets_over(const pod_request& d,
                                                           std::span<const allot::gpu::node_id> nodes);
  /// Finds places for pods in sets if there are any, whatever their levels.
  [[nodiscard]] std::optional<allocation> match_sets(const pod_request& d);
  [[nodiscard]] bool has_room(allot::gpu::node_id n, const allot::gpu::pod_shape& pod) const;

  bool is_apart_ = false;
};
static_assert(allot::grouped_placement_room<host_places::room_counter, host_places> &&
              allot::revocable_placement<host_places>);

}  // namespace allot_governor
