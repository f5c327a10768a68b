// SPDX-License-Identifier: BSL-1.0
//
// Slurm's nodes in allot's inventory. A job of several nodes has as many different ones in Slurm, while pods
// may share a node: those that would are spread here.
#pragma once

#include <allot/gpu/pod_request.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/sim/places.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace allot_slurm {

class slurm_places : public allot::sim::places {
 public:
  /// As that of the inventory. It can't tell whether pods that must spread have room, so that is tried.
  class what_if {
   public:
    /// @{
    /// What the concept `placement_what_if` asks for.
    void may_go(const slurm_places& in, std::uint32_t group, allocation a) { it_.may_go(in, group, a); }
    void may_not_go(const slurm_places& in, std::uint32_t group, allocation a) {
      it_.may_not_go(in, group, a);
    }
    [[nodiscard]] bool might_fit(const slurm_places& in, const pod_request& d,
                                 std::span<const std::uint32_t> groups) {
      return it_.might_fit(in, d, groups);
    }
    [[nodiscard]] bool begin(const slurm_places& in, const pod_request& d) {
      return !in.must_spread(d) && it_.begin(in, d);
    }
    void gone(const slurm_places& in, allocation a) { it_.gone(in, a); }
    void back(const slurm_places& in, allocation a) { it_.back(in, a); }
    [[nodiscard]] bool helps(const slurm_places& in, allocation a) { return it_.helps(in, a); }
    [[nodiscard]] bool fits(const slurm_places& in) const { return it_.fits(in); }
    /// @}

   private:
    allot::sim::places::what_if it_;
  };

  /// It can't tell whether pods that must spread will have room.
  using forecast = allot::no_forecast;

  using allot::sim::places::places;

  /// Whether two pods of the request could share a node.
  [[nodiscard]] bool must_spread(const pod_request& d) const;

  /// @{
  /// As those of the inventory, with pods on different nodes.
  [[nodiscard]] std::optional<allocation> place(const pod_request& d);
  [[nodiscard]] bool could_place(const pod_request& d);
  [[nodiscard]] bool could_ever_fit(const pod_request& d) const;
  [[nodiscard]] allot::gpu::unplaceable why_not(const pod_request& d) const;
  /// @}

 private:
  /// Places each pod on another one of these nodes, the fullest that will do first.
  [[nodiscard]] std::optional<allocation> spread_over(const pod_request& d,
                                                      std::span<const allot::gpu::node_id> nodes);
  [[nodiscard]] bool has_room(allot::gpu::node_id n, const allot::gpu::pod_shape& pod) const;
};
static_assert(allot::placement_what_if<slurm_places::what_if, slurm_places> &&
              allot::revocable_placement<slurm_places>);

}  // namespace allot_slurm
