// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/device_count.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/room_if_gone.hpp>
#include <allot/scheduler/placement.hpp>

#include <algorithm>
#include <cstdint>

namespace allot_test {

/// An inventory that also counts what room there would be, and devices, as `sim::places` does.
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
  [[nodiscard]] bool would_help(allocation a) {
    const auto standing = pods(a);
    return std::any_of(standing.begin(), standing.end(),
                       [this](const allot::gpu::placed_pod& p) { return supposed_.helps(p); });
  }
  [[nodiscard]] bool would_fit() const noexcept { return supposed_.has_room(); }
  [[nodiscard]] allot::gpu::device_count devices_of(const demand& d) const {
    return allot::gpu::devices_of(d);
  }
  [[nodiscard]] std::uint64_t free_devices() const { return allot::gpu::free_devices(index()); }

 private:
  allot::gpu::room_if_gone supposed_;
};
static_assert(allot::supposing_placement<supposing_inventory> &&
              allot::device_counting_placement<supposing_inventory>);

}  // namespace allot_test
