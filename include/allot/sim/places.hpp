// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/journal.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/outage.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/room_counter.hpp>
#include <allot/gpu/topology/topology.hpp>
#include <allot/gpu/topology_inventory.hpp>
#include <allot/scheduler/placement.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// The cluster of a simulation: an inventory with any named placement policy; or none, and then only quotas
/// count.
class places {
 public:
  /// The inventory, with a placement policy chosen at run time.
  using inventory_type = gpu::basic_topology_inventory<gpu::any_placement>;
  /// What a job needs of the nodes.
  using pod_request = gpu::pod_request;
  /// How a placed job is named.
  using allocation = gpu::allocation_id;

  /// That of the inventory. Without nodes everything fits.
  class room_counter {
   public:
    /// @{
    /// What `kept_placement_room` and `grouped_placement_room` ask for. Without nodes a search needs no
    /// counts.
    [[nodiscard]] bool begin(const places& in, const pod_request& r) {
      has_nodes_ = in.has_nodes();
      return has_nodes_ && of_inventory_.begin(in.inventory(), r);
    }
    void gone(const places& in, allocation a) {
      if (has_nodes_) of_inventory_.gone(in.inventory(), a);
    }
    void back(const places& in, allocation a) {
      if (has_nodes_) of_inventory_.back(in.inventory(), a);
    }
    [[nodiscard]] std::optional<bool> fits(std::uint64_t taken) const {
      return has_nodes_ ? of_inventory_.fits(taken) : true;
    }
    [[nodiscard]] bool helps(const places& in, allocation a) {
      return !has_nodes_ || of_inventory_.helps(in.inventory(), a);
    }
    [[nodiscard]] bool keep(const places& in, const pod_request& r) {
      has_nodes_ = in.has_nodes();
      return !has_nodes_ || of_inventory_.keep(in.inventory(), r);
    }
    void look(const places& in) {
      if (has_nodes_) of_inventory_.look(in.inventory());
    }
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken_by(const places& in,
                                                                   const pod_request& other) const {
      if (!has_nodes_) return {};
      return of_inventory_.taken_by(in.inventory(), other);
    }
    void may_go(const places& in, std::uint32_t group, allocation a) {
      if (in.has_nodes()) of_inventory_.may_go(in.inventory(), group, a);
    }
    void may_not_go(const places& in, std::uint32_t group, allocation a) {
      if (in.has_nodes()) of_inventory_.may_not_go(in.inventory(), group, a);
    }
    [[nodiscard]] bool might_fit(const places& in, const pod_request& r,
                                 std::span<const std::uint32_t> groups) {
      return !in.has_nodes() || of_inventory_.might_fit(in.inventory(), r, groups);
    }
    /// @}

   private:
    gpu::room_counter of_inventory_;
    bool has_nodes_ = false;
  };

  /// What a host may change while a scheduler counts on the places: that of the inventory, and how refusals
  /// are explained. Without nodes there is none to change.
  class host_nodes {
   public:
    explicit host_nodes(places& of) noexcept : of_(&of) {}

    /// @{
    /// Those of the inventory; false without nodes.
    bool close(gpu::node_id n) { return of_->inventory_ && of_->inventory_->close(n); }
    bool reopen(gpu::node_id n) { return of_->inventory_ && of_->inventory_->reopen(n); }
    bool expect_end(allocation a, instant end) {
      return of_->inventory_ && of_->inventory_->expect_end(a, end);
    }
    void expect_outages(vector<gpu::outage> all) {
      if (of_->inventory_) of_->inventory_->expect_outages(std::move(all));
    }
    /// @}
    /// That of the places.
    void explain_in_brief(bool do_so) noexcept { of_->explain_in_brief(do_so); }

   private:
    places* of_;
  };

  places() = default;
  explicit places(gpu::cluster layout, gpu::any_placement policy = {})
      : inventory_(std::in_place, std::move(layout), std::move(policy)) {}
  /// With a topology of the cluster, so that pod requests can have levels.
  places(gpu::cluster layout, gpu::topology nearness, gpu::any_placement policy = {})
      : inventory_(std::in_place, std::move(layout), std::move(nearness), std::move(policy)) {}

  /// Whether there are nodes. Without any, every job has a place.
  [[nodiscard]] bool has_nodes() const noexcept { return inventory_.has_value(); }
  /// Precondition: has_nodes().
  [[nodiscard]] const inventory_type& inventory() const { return *inventory_; }
  /// The nodes. Precondition: there are some.
  [[nodiscard]] inventory_type& inventory() { return *inventory_; }

  /// The time of the simulation, for placements that care when jobs end.
  void set_now(instant now) noexcept {
    if (inventory_) inventory_->set_now(now);
  }
  /// The clock was wrong: all times move by that span.
  void rebase(instant by) {
    if (inventory_) inventory_->rebase(by);
  }
  /// @{
  /// See `foreseeing_placement`.
  [[nodiscard]] instant next_change(instant after) const {
    return inventory_ ? inventory_->next_change(after) : without_end;
  }
  void look_ahead(instant at) {
    if (inventory_) inventory_->look_ahead(at);
  }
  /// @}
  /// Places a job, if there is room.
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) {
    return inventory_ ? inventory_->place(r) : allocation{};
  }
  /// Places a job where it runs: see `basic_inventory::place_at`. Without nodes it runs anywhere.
  [[nodiscard]] std::optional<allocation> place_at(const pod_request& d,
                                                   std::span<const gpu::pod_location> pods) {
    return inventory_ ? inventory_->place_at(d, pods) : allocation{};
  }
  /// See `replacing_placement`.
  [[nodiscard]] std::optional<allocation> replace(allocation a, const pod_request& r) {
    return inventory_ ? inventory_->replace(a, r) : std::optional{a};
  }
  /// Whether there is room for it.
  [[nodiscard]] bool could_place(const pod_request& r) { return !inventory_ || inventory_->could_place(r); }
  /// Calls `visit(node number)` for each of its pods; never without nodes.
  template <class Visit>
  void for_each_node(allocation a, Visit visit) const {
    if (inventory_) inventory_->for_each_node(a, visit);
  }
  /// The operations of an inventory: false if refused. Without nodes only the id none denotes a place.
  bool release(allocation a) noexcept { return inventory_ ? inventory_->release(a) : contains(a); }
  /// @{
  /// The job is being evicted, or its eviction is cancelled; see `placement`. False if refused.
  bool vacate(allocation a) noexcept { return inventory_ ? inventory_->vacate(a) : contains(a); }
  bool reoccupy(allocation a) noexcept { return inventory_ ? inventory_->reoccupy(a) : contains(a); }
  /// @}

  /// See `revocable_placement`.
  [[nodiscard]] bool contains(allocation a) const noexcept {
    return inventory_ ? inventory_->contains(a) : a.is_none();
  }
  /// @{
  /// Whether the job could start in its place now; see `revocable_placement`. With its request, also whether
  /// no outage cuts it off.
  [[nodiscard]] bool usable(allocation a) const { return inventory_ ? inventory_->usable(a) : contains(a); }
  [[nodiscard]] bool usable(allocation a, const pod_request& r) const {
    return inventory_ ? inventory_->usable(a, r) : contains(a);
  }
  /// @}
  /// Whether its place is clear of earlier jobs.
  [[nodiscard]] bool ready(allocation a) const { return !inventory_ || inventory_->ready(a); }
  /// Whether it would fit on the empty cluster.
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    return !inventory_ || inventory_->could_ever_fit(r);
  }
  /// Without nodes everything fits.
  [[nodiscard]] gpu::unplaceable why_not(const pod_request& r) const {
    gpu::unplaceable why;
    if (!inventory_) return why;
    if (!explains_in_brief_) return inventory_->why_not(r);
    why.reason = inventory_->obstacle_to(r);
    return why;
  }
  /// Whether `why_not` gives the reason alone, without the figures beside it, for a caller that asks often.
  void explain_in_brief(bool do_so) noexcept { explains_in_brief_ = do_so; }
  /// @{
  /// Savepoints of the inventory; see `placement`.
  [[nodiscard]] savepoint save() noexcept { return inventory_ ? inventory_->save() : savepoint{}; }
  void rollback(savepoint s) noexcept {
    if (inventory_) inventory_->rollback(s);
  }
  void commit(savepoint s) noexcept {
    if (inventory_) inventory_->commit(s);
  }
  /// @}

 private:
  std::optional<inventory_type> inventory_;
  bool explains_in_brief_ = false;
};
static_assert(replacing_placement<places> && foreseeing_placement<places> &&
              kept_placement_room<places::room_counter, places> &&
              grouped_placement_room<places::room_counter, places> && guarded_placement<places>);

}  // namespace sim
}  // namespace v0
}  // namespace allot
