// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/quantity.hpp>
#include <allot/gpu/allocation_table.hpp>
#include <allot/gpu/available_first.hpp>
#include <allot/gpu/best_fit.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/demand.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/indexed_best_fit.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/gpu/topology_placer.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The reference placement: which pods stand on which GPUs. It models the scheduler's placement concept; a
/// host with an inventory of its own does not need it.
///
/// An allocation is *placed*, then either released at once, or first *vacating*: its job has been told to
/// go, so its GPUs count as free, but they are held until the release, and whoever is placed on them is not
/// `ready` before.
///
/// Nothing here allocates memory, except when there are more pods at once, or longer undo logs, than ever
/// before. A copy is independent. Which place is chosen is the policy's; everything is deterministic.
template <placement_policy Policy = indexed_best_fit>
class basic_inventory {
 public:
  using demand = gpu::demand;
  using allocation = allocation_id;

  explicit basic_inventory(cluster layout, Policy policy = {})
      : index_(std::move(layout)), policy_(std::move(policy)) {}
  /// With a topology of the cluster, so that demands can have levels.
  basic_inventory(cluster layout, topology nearness, Policy policy = {})
      : index_(std::move(layout)),
        near_(std::in_place, index_.layout(), std::move(nearness)),
        policy_(std::move(policy)) {}

  /// Places all pods of the demand, or none. No place is taken from anyone; see `why_not` for what is in
  /// the way. O(pods x what the policy takes); what has no room at all is found without trying pods.
  [[nodiscard]] std::optional<allocation> place(const demand& d) { return place_by(policy_, d); }
  /// As `place`, preferring nodes on which pods can start at once (see `available_first`).
  [[nodiscard]] std::optional<allocation> place_available_first(const demand& d) {
    return place_by(available_first{}, d);
  }
  /// As `place`, where another policy says; but where a demand with levels goes, `gang_planner` says.
  template <placement_policy P>
  [[nodiscard]] std::optional<allocation> place_by(const P& policy, const demand& d) {
    const auto pods = split(d, d.total ? layout().largest_node(d.pools, d.models) : 0);
    if (!pods) return std::nullopt;
    if (d.has_level()) {
      if (!near_) return std::nullopt;
      const gang_place where = near_->plan(index_, d, *pods);
      return where.found ? place_as_planned(where, *pods) : std::nullopt;
    }
    if (pods->all_pods() == 1) {
      const auto where = policy(index_, pods->each);
      if (!where) return std::nullopt;
      const allocation a = open();
      add(index_.placed(*where, pods->each), a);
      return a;
    }
    if (!detail::has_room(index_, *pods)) return std::nullopt;
    const allot::savepoint before = save();
    const allocation a = open();
    bool placed = true;
    for (std::uint64_t i = 0; i < pods->pods && placed; ++i) placed = add_where(policy, pods->each, a);
    if (placed && pods->has_rest()) placed = add_where(policy, pods->rest, a);
    return conclude(before, placed, a);
  }

  /// Places a gang of pods like this one (its `pods`, `total` and levels are not looked at) as its groups and
  /// levels ask, the pods of the first group first; of an elastic gang as many as have room.
  /// Precondition: the inventory has a topology.
  struct placed_gang {
    /// None if it has no place.
    std::optional<allocation> at;
    /// What was chosen, or why not; valid until the next call.
    gang_place where;
  };
  [[nodiscard]] placed_gang place_gang(demand pod, const gang_request& gang) {
    ALLOT_ASSERT(near_.has_value(), "an inventory without topology has no levels");
    pod.pods = 1;
    pod.total = false;
    const auto shape = split(pod, 0);
    if (!shape) return {std::nullopt, {}};
    const gang_place where = near_->plan(index_, shape->each, gang);
    return {where.found ? place_as_planned(where, {shape->each, where.pods}) : std::nullopt, where};
  }

  /// Puts a job where it already runs, whatever pools it asks for; nothing if it does not fit there, or if
  /// these are not as many locations as it has pods. Without devices, a pod gets those that `free_index`
  /// chooses on its node. The pods of a total have as many GPUs as devices are given, else all of their
  /// node; the last has what is left. O(pods x devices of a node).
  [[nodiscard]] std::optional<allocation> place_at(const demand& d, std::span<const pod_location> pods) {
    const auto whole = split(d, 0);
    const bool is_split = d.total && d.gpus >= quantity::milli(milli_per_gpu);
    if (!whole || pods.empty() || (!is_split && pods.size() != whole->pods)) return std::nullopt;
    const allot::savepoint before = save();
    const allocation a = open();
    pod_shape pod = whole->each;
    const std::int64_t gpus = is_split ? d.gpus.in_milli() / milli_per_gpu : 0;
    std::int64_t left = gpus;
    bool placed = true;
    for (std::size_t i = 0; i < pods.size() && placed; ++i) {
      if (is_split) {
        pod.devices = part_of_total(pods[i], left);
        pod.cpu_milli = detail::part_of(d.cpu_milli, pod.devices, static_cast<std::uint64_t>(gpus));
        pod.memory_mib = detail::part_of(d.memory_mib, pod.devices, static_cast<std::uint64_t>(gpus));
        left -= pod.devices;
      }
      placed = (!is_split || pod.devices > 0) && add_at(pods[i], pod, a);
    }
    return conclude(before, placed && left == 0, a);
  }

  /// It is physically gone: its devices are free, its id stands for nothing and may be given again.
  /// Precondition: placed or vacating. O(its pods).
  void release(allocation a) {
    const auto was = table_.status_of(a);
    while (table_.has_pods(a)) remove_last(a);
    table_.close(a);
    note({change::released, was == status::vacating, a, {}});
  }

  /// Its job has been told to go: what it has counts as free from now on, but is held until `release`.
  /// Precondition: placed and not yet vacating. O(its pods).
  void vacate(allocation a) {
    ALLOT_ASSERT(table_.status_of(a) == status::placed, "it is vacating already");
    give_up(a);
    note({change::vacated, false, a, {}});
  }

  /// Its job goes on after all: takes `vacate` back. O(its pods).
  /// Precondition: vacating, and nobody has been given what it had.
  void reoccupy(allocation a) {
    ALLOT_ASSERT(table_.status_of(a) == status::vacating, "it has not been told to go");
    take_back(a);
    note({change::reoccupied, false, a, {}});
  }

  /// Whether its job can start: none of its devices is held by a vacating allocation. (A device that it
  /// shares may be, as long as there is room for all that use and hold it.) Never of a vacating one.
  /// O(its pods).
  [[nodiscard]] bool ready(allocation a) const {
    if (table_.status_of(a) != status::placed) return false;
    const auto pods = table_.pods(a);
    return std::all_of(pods.begin(), pods.end(), [this](const placed_pod& p) { return index_.is_ready(p); });
  }

  /// Nothing new is placed on the node from now on, because it has failed or is to be drained; what stands
  /// there, stays until it is released. Nothing happens if it is closed. O(devices of the node).
  void close(node_id n) {
    if (index_.is_closed(n)) return;
    index_.close(n);
    note({change::closed, false, {}, {{n, 0}}});
  }
  /// Takes `close` back. Nothing happens if it is not closed.
  void reopen(node_id n) {
    if (!index_.is_closed(n)) return;
    index_.open(n);
    note({change::reopened, false, {}, {{n, 0}}});
  }
  [[nodiscard]] bool is_closed(node_id n) const { return index_.is_closed(n); }
  /// Calls `visit(allocation)` for each that has pods on the node, vacating ones included, by id. O(all
  /// pods).
  template <class Visit>
  void for_each_on(node_id n, Visit visit) const {
    table_.for_each_on(n, visit);
  }

  /// Whether the demand would have a place on the empty cluster with all nodes open. O(types of nodes), with
  /// levels O(domains x types).
  [[nodiscard]] bool could_ever_fit(const demand& d) const {
    if (!d.has_level()) return gpu::could_ever_fit(layout(), d);
    return near_ && near_->could_ever_fit(layout(), d);
  }
  /// Why the demand has no place now. See `gpu::why_not`.
  [[nodiscard]] unplaceable why_not(const demand& d) const {
    unplaceable why = gpu::why_not(index_, d);
    if (!d.has_level()) return why;
    if (near_) return near_->why_not(index_, d, why);
    why.reason = obstacle::invalid_demand;
    return why;
  }

  /// Remembers this state. The innermost savepoint is closed first, by going back to it bit for bit, ids
  /// that will be given out included, or by keeping what was done since. O(changes since).
  [[nodiscard]] allot::savepoint save() noexcept { return journal_.open(); }
  void rollback(allot::savepoint s) {
    journal_.rollback(s, [this](const entry& e) { undo(e); });
  }
  void commit(allot::savepoint s) { journal_.commit(s); }

  /// The nodes, and which of their devices are free, used or held.
  [[nodiscard]] const cluster& layout() const noexcept { return index_.layout(); }
  [[nodiscard]] const free_index& index() const noexcept { return index_; }
  /// How near they are to each other; nothing if that was not said.
  [[nodiscard]] const topology* nearness() const noexcept { return near_ ? &near_->layout() : nullptr; }

  /// GPUs of these pools. `free` counts what is held by vacating allocations, and the gaps of shared devices,
  /// but nothing on closed nodes: that is `closed`.
  [[nodiscard]] quantity total(std::uint64_t pools = all_pools) const { return layout().gpus_in(pools); }
  [[nodiscard]] quantity used(std::uint64_t pools = all_pools) const { return index_.used_in(pools); }
  [[nodiscard]] quantity free(std::uint64_t pools = all_pools) const { return index_.free_in(pools); }
  [[nodiscard]] quantity closed(std::uint64_t pools = all_pools) const { return index_.closed_in(pools); }
  /// What vacating allocations have yet to give back.
  [[nodiscard]] quantity held(std::uint64_t pools = all_pools) const { return index_.held_in(pools); }

  /// How many allocations there are, vacating ones included.
  [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }
  /// Whether this id stands for an allocation.
  [[nodiscard]] bool contains(allocation a) const noexcept { return table_.contains(a); }
  [[nodiscard]] bool is_vacating(allocation a) const { return table_.status_of(a) == status::vacating; }
  /// Its pods, in the order in which they were placed: node, devices, and how much of each device.
  [[nodiscard]] allocation_table::pod_range pods(allocation a) const { return table_.pods(a); }
  /// Calls `visit(node number)` for each of its pods, in the order in which they were placed.
  template <class Visit>
  void for_each_node(allocation a, Visit visit) const {
    for (const placed_pod& p : table_.pods(a)) visit(p.where.node.index());
  }
  /// Whether their pods stand pod by pod on the same nodes, and fractions on the same devices.
  [[nodiscard]] bool stand_alike(allocation a, allocation b) const { return table_.stand_alike(a, b); }

  /// Whether both have the same standing in the same places under the same ids, and would give the same ids.
  /// Savepoints and policy are not compared.
  friend bool operator==(const basic_inventory& a, const basic_inventory& b) {
    return a.table_ == b.table_ && a.index_ == b.index_;
  }

 private:
  using status = allocation_table::status;

  enum class change : std::uint8_t {
    opened,
    pod_added,
    pod_removed,
    released,
    vacated,
    reoccupied,
    closed,
    reopened,
  };
  struct entry {
    change what{};
    /// released: it was vacating.
    bool was_vacating = false;
    allocation which;
    /// pod_removed: the pod; closed and reopened: on that node.
    placed_pod pod;
  };

  void note(const entry& e) {
    if (journal_.recording()) journal_.record(e);
  }

  [[nodiscard]] allocation open() {
    const allocation a = table_.open();
    note({change::opened, false, a, {}});
    return a;
  }

  void add(const placed_pod& pod, allocation a) {
    index_.occupy(pod);
    table_.add_pod(a, pod);
    note({change::pod_added, false, a, {}});
  }
  template <class P>
  [[nodiscard]] bool add_where(const P& policy, const pod_shape& pod, allocation a) {
    const auto where = policy(index_, pod);
    if (where) add(index_.placed(*where, pod), a);
    return where.has_value();
  }
  /// The last pod is the smaller one, if there is one.
  [[nodiscard]] std::optional<allocation> place_as_planned(const gang_place& where, const pod_split& pods) {
    const allot::savepoint before = save();
    const allocation a = open();
    std::uint64_t left = where.pods;
    bool placed = true;
    for (const gang_share& s : where.shares) {
      for (std::uint64_t i = 0; i < s.pods && placed; ++i) {
        const bool is_rest = --left == 0 && pods.has_rest();
        placed = add_at({s.node, 0}, is_rest ? pods.rest : pods.each, a);
      }
    }
    return conclude(before, placed, a);
  }

  /// How many of the `left` GPUs of a split total stand there.
  [[nodiscard]] std::uint32_t part_of_total(const pod_location& at, std::int64_t left) const {
    if (at.devices != 0) return static_cast<std::uint32_t>(std::popcount(at.devices));
    if (!layout().contains(at.node)) return 0;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 0, layout().gpus(at.node)));
  }
  [[nodiscard]] bool add_at(pod_location at, const pod_shape& pod, allocation a) {
    if (!layout().contains(at.node)) return false;
    if (at.devices == 0) {
      const auto devices = index_.choose_devices(at.node, pod);
      if (!devices) return false;
      at.devices = *devices;
    } else if (!index_.fits(at, pod)) {
      return false;
    }
    add(index_.placed(at, pod), a);
    return true;
  }

  void remove_last(allocation a) {
    const bool was_placed = table_.status_of(a) == status::placed;
    const placed_pod pod = table_.remove_last_pod(a);
    was_placed ? index_.leave(pod) : index_.let_go(pod);
    note({change::pod_removed, false, a, pod});
  }

  void give_up(allocation a) {
    for (const placed_pod& p : table_.pods(a)) {
      index_.leave(p);
      index_.hold(p);
    }
    table_.set_status(a, status::vacating);
  }
  void take_back(allocation a) {
    for (const placed_pod& p : table_.pods(a)) {
      index_.let_go(p);
      index_.occupy(p);
    }
    table_.set_status(a, status::placed);
  }

  [[nodiscard]] std::optional<allocation> conclude(allot::savepoint before, bool placed, allocation a) {
    if (!placed) {
      rollback(before);
      return std::nullopt;
    }
    commit(before);
    return a;
  }

  void undo(const entry& e) {
    switch (e.what) {
      case change::opened:
        table_.close(e.which);
        break;
      case change::pod_added:
        index_.leave(table_.remove_last_pod(e.which));
        break;
      case change::pod_removed:
        table_.status_of(e.which) == status::placed ? index_.occupy(e.pod) : index_.hold(e.pod);
        table_.add_pod(e.which, e.pod);
        break;
      case change::released: {
        [[maybe_unused]] const allocation a = table_.open(e.was_vacating ? status::vacating : status::placed);
        ALLOT_ASSERT(a == e.which, "ids are given back in the order in which they were taken");
        break;
      }
      case change::vacated:
        take_back(e.which);
        break;
      case change::reoccupied:
        give_up(e.which);
        break;
      case change::closed:
        index_.open(e.pod.where.node);
        break;
      case change::reopened:
        index_.close(e.pod.where.node);
        break;
    }
  }

  free_index index_;
  std::optional<topology_placer> near_;
  allocation_table table_;
  journal<entry> journal_;
  [[no_unique_address]] Policy policy_;
};

/// The inventory with best fit, as the published results of the Helios simulator have it.
using inventory = basic_inventory<>;

}  // namespace gpu
}  // namespace v0
}  // namespace allot
