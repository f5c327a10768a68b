// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/device_count.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/room_bound.hpp>
#include <allot/gpu/room_if_gone.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/scheduler/placement.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// The cluster of a simulation: an inventory with a placement policy of any name, or none, and then only
/// quotas count.
class places {
 public:
  using inventory_type = gpu::basic_inventory<gpu::any_placement>;
  using demand = gpu::demand;
  using allocation = gpu::allocation_id;

  places() = default;
  explicit places(gpu::cluster layout, gpu::any_placement policy = {})
      : inventory_(std::in_place, std::move(layout), std::move(policy)) {}
  /// With a topology of the cluster, so that demands can have levels.
  places(gpu::cluster layout, gpu::topology nearness, gpu::any_placement policy = {})
      : inventory_(std::in_place, std::move(layout), std::move(nearness), std::move(policy)) {}

  [[nodiscard]] bool has_nodes() const noexcept { return inventory_.has_value(); }
  /// Precondition: has_nodes().
  [[nodiscard]] const inventory_type& inventory() const { return *inventory_; }
  [[nodiscard]] inventory_type& inventory() { return *inventory_; }

  [[nodiscard]] std::optional<allocation> place(const demand& d) {
    return inventory_ ? inventory_->place(d) : allocation{};
  }
  [[nodiscard]] std::optional<allocation> place_available_first(const demand& d) {
    return inventory_ ? inventory_->place_available_first(d) : allocation{};
  }
  /// Calls `visit(node number)` for each of its pods; never without nodes.
  template <class Visit>
  void for_each_node(allocation a, Visit visit) const {
    if (inventory_) inventory_->for_each_node(a, visit);
  }
  [[nodiscard]] bool stand_alike(allocation a, allocation b) const {
    return !inventory_ || inventory_->stand_alike(a, b);
  }
  /// The commands of an inventory: false if that is refused. Without nodes only the id of nothing stands for
  /// a place.
  bool release(allocation a) { return inventory_ ? inventory_->release(a) : contains(a); }
  bool vacate(allocation a) { return inventory_ ? inventory_->vacate(a) : contains(a); }
  bool reoccupy(allocation a) { return inventory_ ? inventory_->reoccupy(a) : contains(a); }
  /// See `revocable_placement`.
  [[nodiscard]] bool contains(allocation a) const noexcept {
    return inventory_ ? inventory_->contains(a) : a.is_none();
  }
  [[nodiscard]] bool usable(allocation a) const { return inventory_ ? inventory_->usable(a) : contains(a); }
  [[nodiscard]] bool ready(allocation a) const { return !inventory_ || inventory_->ready(a); }
  [[nodiscard]] bool could_ever_fit(const demand& d) const {
    return !inventory_ || inventory_->could_ever_fit(d);
  }
  /// Without nodes there is always a place.
  [[nodiscard]] gpu::unplaceable why_not(const demand& d) const {
    return inventory_ ? inventory_->why_not(d) : gpu::unplaceable{};
  }
  /// See `supposing_placement`. Without nodes there is always a place.
  [[nodiscard]] bool suppose(const demand& d) {
    return inventory_ && supposed_.start(inventory_->index(), d);
  }
  void suppose_gone(allocation a) {
    for (const gpu::placed_pod& p : inventory_->pods(a)) supposed_.goes(p);
  }
  void suppose_back(allocation a) {
    for (const gpu::placed_pod& p : inventory_->pods(a)) supposed_.stays(p);
  }
  [[nodiscard]] bool would_help(allocation a) {
    const auto pods = inventory_->pods(a);
    return std::any_of(pods.begin(), pods.end(),
                       [this](const gpu::placed_pod& p) { return supposed_.helps(p); });
  }
  [[nodiscard]] bool would_fit() const noexcept { return supposed_.has_room(); }
  /// See `bounding_placement`.
  void note_may_go(std::uint32_t group, allocation a) {
    if (!inventory_) return;
    for (const gpu::placed_pod& p : inventory_->pods(a)) bound_.add(inventory_->layout(), group, p);
  }
  void note_stays(std::uint32_t group, allocation a) {
    if (!inventory_) return;
    for (const gpu::placed_pod& p : inventory_->pods(a)) bound_.remove(group, p);
  }
  [[nodiscard]] bool might_fit(const demand& d, std::span<const std::uint32_t> groups) {
    return !inventory_ || bound_.may_have_room(inventory_->index(), d, groups);
  }
  /// See `device_counting_placement`. Without nodes there are no devices.
  [[nodiscard]] gpu::device_count devices_of(const demand& d) const noexcept {
    return inventory_ ? gpu::devices_of(d) : gpu::device_count{};
  }
  [[nodiscard]] std::uint64_t free_devices() const {
    return inventory_ ? gpu::free_devices(inventory_->index()) : 0;
  }
  [[nodiscard]] savepoint save() noexcept { return inventory_ ? inventory_->save() : savepoint{}; }
  void rollback(savepoint s) {
    if (inventory_) inventory_->rollback(s);
  }
  void commit(savepoint s) {
    if (inventory_) inventory_->commit(s);
  }

 private:
  std::optional<inventory_type> inventory_;
  gpu::room_if_gone supposed_;
  gpu::room_bound bound_;
};
static_assert(supposing_placement<places> && bounding_placement<places> &&
              device_counting_placement<places> && revocable_placement<places>);

}  // namespace sim
}  // namespace v0
}  // namespace allot
