// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_if_gone.hpp>
#include <allot/scheduler/placement.hpp>

namespace allot_test {

/// An inventory that also counts what room there would be, as `sim::places` does.
class supposing_inventory : public allot::gpu::inventory {
 public:
  using allot::gpu::inventory::inventory;

  [[nodiscard]] bool suppose(const demand& d) { return supposed_.start(index(), d); }
  void suppose_gone(allocation a) {
    for (const allot::gpu::placed_pod& p : pods(a)) supposed_.goes(p);
  }
  void suppose_back(allocation a) {
    for (const allot::gpu::placed_pod& p : pods(a)) supposed_.stays(p);
  }
  [[nodiscard]] bool would_fit() const noexcept { return supposed_.has_room(); }

 private:
  allot::gpu::room_if_gone supposed_;
};
static_assert(allot::supposing_placement<supposing_inventory>);

}  // namespace allot_test
