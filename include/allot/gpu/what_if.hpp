// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/detail/room_bound.hpp>
#include <allot/gpu/detail/trial_room.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Answers what would fit in an inventory if some running jobs were evicted. The inventory is not changed:
/// counts are kept separately, and evicting a job takes a few steps per device, a tenth of the cost of
/// vacating it. Models `placement_what_if`, which a scheduler's search for victims uses. All calls must be
/// about one inventory.
class what_if {
 public:
  /// How a placed job is named.
  using allocation = allocation_id;

  /// The running job may be preempted from now on, as a member of that group; or no longer may.
  void may_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) bound_.add(in.layout(), group, p);
  }
  /// The job may no longer be preempted as a member of that group.
  void may_not_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) bound_.remove(group, p);
  }
  /// False if the request would not fit even with all of these groups evicted; true is no guarantee. O(types
  /// + nodes x groups).
  [[nodiscard]] bool might_fit(const occupancy& in, const pod_request& r,
                               std::span<const std::uint32_t> groups) {
    return bound_.may_have_room(in.index(), r, groups);
  }

  /// Begins a trial, with nothing evicted; it ends when the inventory changes. False if room can't be
  /// counted: for topology levels, GPU memory, MIG, fractions of several devices, or pods without GPUs.
  [[nodiscard]] bool begin(const occupancy& in, const pod_request& r) { return room_.start(in.index(), r); }
  /// The job counts as evicted.
  void gone(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) room_.goes(p);
  }
  /// The job counts as running again.
  void back(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) room_.stays(p);
  }
  /// Whether evicting the job may matter. If not, it does not with other jobs back either.
  [[nodiscard]] bool helps(const occupancy& in, allocation a) {
    const auto pods = in.pods(a);
    return allot::detail::any_of(pods.begin(), pods.end(),
                                 [this](const placed_pod& p) { return room_.helps(p); });
  }
  /// Whether the request fits without the evicted jobs: what `place` would find.
  [[nodiscard]] bool fits(const occupancy&) const noexcept { return room_.has_room(); }

 private:
  trial_room room_;
  room_bound bound_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
