// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/detail/occupancy.hpp>
#include <allot/gpu/detail/room_bound.hpp>
#include <allot/gpu/detail/trial_room.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What would have a place in an inventory if some of those who stand there went, counted beside it: the
/// inventory is not changed, and a job that goes costs a few steps for each of its devices, a tenth of what
/// vacating it does. It models what a scheduler's search asks of a placement (`placement_what_if`). All calls
/// are about one inventory.
class what_if {
 public:
  using allocation = allocation_id;

  /// The job there, which runs, may be preempted from now on, as one of that group; or it may not any more.
  void may_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) bound_.add(in.layout(), group, p);
  }
  void may_not_go(const occupancy& in, std::uint32_t group, allocation a) {
    for (const placed_pod& p : in.pods(a)) bound_.remove(group, p);
  }
  /// False if the request would have no place with all of these groups gone; true is no promise.
  /// O(types + nodes x groups).
  [[nodiscard]] bool might_fit(const occupancy& in, const pod_request& d,
                               std::span<const std::uint32_t> groups) {
    return bound_.may_have_room(in.index(), d, groups);
  }

  /// Begins a trial, with nobody gone; it ends when the inventory changes. False where room can't be counted:
  /// for levels of a topology, GPU memory, instances, fractions of several devices, or pods without GPUs.
  [[nodiscard]] bool begin(const occupancy& in, const pod_request& d) { return room_.start(in.index(), d); }
  /// The job there is gone, or is not after all.
  void gone(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) room_.goes(p);
  }
  void back(const occupancy& in, allocation a) {
    for (const placed_pod& p : in.pods(a)) room_.stays(p);
  }
  /// Whether it may matter that the job there is gone. If not, nor does it when others are back.
  [[nodiscard]] bool helps(const occupancy& in, allocation a) {
    const auto pods = in.pods(a);
    return std::any_of(pods.begin(), pods.end(), [this](const placed_pod& p) { return room_.helps(p); });
  }
  /// Whether the request has a place without those who are gone: what `place` would find.
  [[nodiscard]] bool fits(const occupancy&) const noexcept { return room_.has_room(); }

 private:
  trial_room room_;
  room_bound bound_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
