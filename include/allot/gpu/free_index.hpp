// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/bitset_index.hpp>
#include <allot/gpu/detail/change_log.hpp>
#include <allot/gpu/detail/device_use.hpp>
#include <allot/gpu/detail/fingerprint.hpp>
#include <allot/gpu/detail/gap_index.hpp>
#include <allot/gpu/detail/host_room.hpp>
#include <allot/gpu/detail/mig_use.hpp>
#include <allot/gpu/detail/node_ends.hpp>
#include <allot/gpu/detail/pod_kinds.hpp>
#include <allot/gpu/detail/type_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The free capacity of a cluster: what a placement policy chooses from. Tracks for every device and every
/// host what is *used* and what is still *held* by pods being evicted (see `device_use` and `host_room`).
///
/// A node can be *closed*: nothing more is placed on it, but what runs there stays until it leaves.
///
/// Two indexes for each node type: its nodes by free GPUs, and its shared devices by gap. A query takes
/// O(log64 nodes) for each node that it skips because the host is full; no query or change visits all nodes
/// or allocates.
///
/// For policies and inventories: nodes, devices and types must be those of its layout, unchecked unless noted
/// (`ALLOT_ASSERT`).
class free_index {
 public:
  /// A number beyond any count: no bound.
  static constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

  explicit free_index(cluster layout)
      : layout_(std::move(layout)),
        use_(layout_),
        instances_(layout_),
        hosts_(layout_),
        closed_(layout_.size()),
        state_(layout_),
        changes_(layout_.size(), state_.value()) {
    types_.reserve(layout_.types().size());
    for (const node_type& t : layout_.types()) types_.emplace_back(t);
  }

  /// The machines.
  [[nodiscard]] const cluster& layout() const noexcept { return layout_; }
  /// What is used of each device.
  [[nodiscard]] const device_use& devices() const noexcept { return use_; }
  /// What is free of CPU, memory and pod slots.
  [[nodiscard]] const host_room& hosts() const noexcept { return hosts_; }
  /// The nodes that were closed or opened or whose usage changed, for policies that keep scores of nodes.
  /// What is held is not part of it.
  [[nodiscard]] const change_log& changes() const noexcept { return changes_; }
  /// When the pods of each node are expected to end, if that is recorded.
  [[nodiscard]] const node_ends& ends() const noexcept { return ends_; }
  /// Identifies this state: the same number recurs only when all that is used and closed is the same again.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return state_.value(); }

  // One node.

  /// The kinds of the pods on the node. O(devices of the node).
  [[nodiscard]] pod_kinds::set kinds(node_id n) const { return use_.kinds(n); }
  /// The devices that are entirely unused.
  [[nodiscard]] std::uint64_t free_devices(node_id n) const { return use_.free(n); }
  /// Whether nothing more is placed on the node. Precondition: it exists (`ALLOT_ASSERT`).
  [[nodiscard]] bool is_closed(node_id n) const {
    ALLOT_ASSERT(layout_.contains(n), "not a node of this cluster");
    return closed_[n.index()];
  }
  /// How much of a device is used. Precondition: the node has that device.
  [[nodiscard]] quantity used(node_id n, std::uint32_t device) const {
    return quantity::milli(use_.used(n, device));
  }
  /// O(devices of the node).
  [[nodiscard]] quantity used(node_id n) const {
    quantity sum;
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) sum += used(n, d);
    return sum;
  }

  /// Whether a pod of this shape fits there, whatever the pool and model, even if the node is closed.
  [[nodiscard]] bool fits(const pod_location& at, const pod_shape& pod) const {
    if (!layout_.contains(at.node)) return false;
    const auto here = anywhere(pod, at.node);
    if (!here || !host_has_room(at.node, *here) || !use_.fits(at.node, at.devices, *here)) return false;
    return here->mig.is_none() ||
           instances_.start_on(at.node, device_use::lowest(at.devices), here->mig).has_value();
  }
  /// Whether a pod of this shape, as `node_type::shape_on` gave it for the type of this node, fits there.
  [[nodiscard]] bool has_room(node_id n, const pod_shape& here) const {
    return host_has_room(n, here) &&
           (here.mig.is_none() ? use_.has_room(n, here) : instances_.has_room(n, use_, here.mig));
  }
  /// The same for the host alone.
  [[nodiscard]] bool host_has_room(node_id n, const pod_shape& here) const {
    return hosts_.fits(n, type_of(n), here.cpu_milli, here.memory_mib);
  }
  /// Whether the exact resources of this pod (devices, instance and part of the host) are free on its node,
  /// closed or not.
  [[nodiscard]] bool is_free_for(const placed_pod& pod) const {
    const node_id n = pod.where.node;
    return hosts_.fits(n, type_of(n), pod.cpu_milli, pod.memory_mib) &&
           use_.fits(n, pod.where.devices, devices_of(pod)) &&
           (pod.mig.is_none() || instances_.is_free_for(pod));
  }
  /// How many such pods fit there now, at most `most`; 0 if the node is closed. O(devices).
  [[nodiscard]] std::uint64_t pods_with_room(node_id n, const pod_shape& here,
                                             std::uint64_t most = any_number) const {
    if (is_closed(n)) return 0;
    return hosts_.pods(n, type_of(n), here.cpu_milli, here.memory_mib,
                       std::min(most, pods_on_devices(n, here)));
  }
  /// The same for the devices alone, even if the node is closed; `any_number` for a pod that needs none.
  [[nodiscard]] std::uint64_t pods_on_devices(node_id n, const pod_shape& here) const {
    return here.mig.is_none() ? use_.pods(n, here, any_number) : instances_.pods(n, use_, here.mig);
  }

  /// The devices of this node that a pod of this shape would get, whatever the pool and model (see
  /// `device_use::choose`); nothing if it does not fit there. O(devices of the node).
  [[nodiscard]] std::optional<std::uint64_t> choose_devices(node_id n, const pod_shape& pod) const {
    const auto here = anywhere(pod, n);
    if (!here || !has_room(n, *here)) return std::nullopt;
    return devices_for(n, *here);
  }
  /// The same for a pod that fits there; `here` is as `node_type::shape_on` gave it for the type of the node.
  [[nodiscard]] std::uint64_t devices_for(node_id n, const pod_shape& here) const {
    ALLOT_ASSERT(has_room(n, here), "the pod does not fit there");
    if (!here.mig.is_none()) return std::uint64_t{1} << instances_.choose(n, use_, here.mig).value_or(0);
    return here.is_fraction() ? use_.choose(n, here).value_or(0) : use_.take_free(n, here.devices);
  }
  /// The pod as it would be placed there: with its portion of the devices of this node, and the position of
  /// its instance. Precondition: it fits there.
  [[nodiscard]] placed_pod placed(const pod_location& at, const pod_shape& pod) const {
    ALLOT_ASSERT(anywhere(pod, at.node).has_value(), "the pod does not fit there");
    const std::uint32_t milli = pod.depends_on_type() ? anywhere(pod, at.node)->milli : pod.milli;
    placed_pod p{at, milli, pod.cpu_milli, pod.memory_mib, pod.mig};
    if (ends_.recording()) p.end = ends_.end_of(pod.estimate);
    if (!pod.mig.is_none()) {
      p.mig_start = instances_.start_on(at.node, device_use::lowest(at.devices), pod.mig).value_or(0);
    }
    return p;
  }

  /// Whether its devices and its host have room for all that is used and held of them, so that it can start.
  [[nodiscard]] bool is_ready(const placed_pod& pod) const {
    return hosts_.is_ready(pod) && (pod.mig.is_none() ? use_.is_ready(pod) : instances_.is_ready(pod));
  }
  /// Whether some of what a pod of this shape would get on this node is still held, so that it could not
  /// start at once. `here` is as `node_type::shape_on` gave it. Precondition: it fits there.
  [[nodiscard]] bool must_wait(node_id n, const pod_shape& here) const {
    if (!hosts_.would_be_ready(n, type_of(n), here)) return true;
    if (!here.is_fraction() && here.mig.is_none()) return use_.must_wait(n, here.devices);
    const std::uint64_t devices = devices_for(n, here);
    if (!here.mig.is_none()) return instances_.must_wait(n, device_use::lowest(devices), here.mig);
    return use_.must_wait(n, devices, here.milli);
  }

  // All open nodes of one type: `type` is an index into layout().types().

  /// A node, and the value that made it a candidate: its free GPUs, or the gap. Candidates are ordered by
  /// that value, then by node.
  struct candidate {
    /// Free GPUs, or the gap in milli.
    std::uint32_t level = 0;
    /// The node.
    node_id node;

    friend constexpr auto operator<=>(const candidate&, const candidate&) noexcept = default;
  };
  /// Accepts every node.
  struct any_node {
    [[nodiscard]] constexpr bool operator()(node_id) const noexcept { return true; }
  };

  /// The lowest of the nodes with the fewest free GPUs >= `at_least` for which `is_good(node)` holds.
  template <class IsGood = any_node>
  [[nodiscard]] std::optional<candidate> fewest_free(std::size_t type, std::uint32_t at_least,
                                                     IsGood is_good = {}) const {
    const auto found = types_[type].fewest_free(layout_.types()[type], at_least, is_good);
    if (!found) return std::nullopt;
    return candidate{found->first, found->second};
  }
  /// The lowest of the nodes with the smallest gap >= `at_least`, in milli, for which `is_good(node)` holds.
  template <class IsGood = any_node>
  [[nodiscard]] std::optional<candidate> smallest_gap(std::size_t type, std::uint32_t at_least,
                                                      IsGood is_good = {}) const {
    const auto found = types_[type].by_gap.smallest(
        layout_.types()[type], use_, at_least, [&](node_id n) { return !closed_[n.index()] && is_good(n); });
    if (!found) return std::nullopt;
    return candidate{found->gap, found->node};
  }
  /// The number of nodes with exactly this many free GPUs.
  [[nodiscard]] std::uint64_t nodes_with_free(std::size_t type, std::uint32_t gpus) const {
    const auto& counts = types_[type].nodes_with_free;
    return gpus < counts.size() ? counts[gpus] : 0;
  }
  /// The number of shared devices with exactly this gap, in milli.
  [[nodiscard]] std::uint64_t devices_with_gap(std::size_t type, std::uint32_t gap) const {
    return types_[type].by_gap.devices_with(gap);
  }

  // All nodes of some pools and models: O(types).

  /// What pods use, except those being evicted.
  [[nodiscard]] quantity used_in(std::uint64_t pools, std::uint64_t models = all_models) const {
    return sum(pools, models, [](const type_index& t) { return t.used; });
  }
  /// What pods being evicted still hold.
  [[nodiscard]] quantity held_in(std::uint64_t pools, std::uint64_t models = all_models) const {
    return sum(pools, models, [](const type_index& t) { return t.held; });
  }
  /// What is free on closed nodes, and therefore not available.
  [[nodiscard]] quantity closed_in(std::uint64_t pools, std::uint64_t models = all_models) const {
    return sum(pools, models, [](const type_index& t) { return t.closed; });
  }
  /// What is unused on open nodes.
  [[nodiscard]] quantity free_in(std::uint64_t pools, std::uint64_t models = all_models) const {
    return layout_.gpus_in(pools, models) - used_in(pools, models) - closed_in(pools, models);
  }
  /// In milli, of the nodes of one type.
  [[nodiscard]] std::int64_t used_of(std::size_t type) const { return types_[type].used; }
  /// Unused GPUs of closed nodes of one type, in milli.
  [[nodiscard]] std::int64_t closed_of(std::size_t type) const { return types_[type].closed; }

  /// Ends are recorded from now on; without an inverse. Precondition: there are no pods.
  void record_ends() { ends_.record(layout_.size()); }
  /// The time by the host's clock, from which pods that are placed run.
  void set_now(instant now) noexcept { ends_.set_now(now); }

  // Changes. Each has an exact inverse: close and open, occupy and leave, hold and let_go. O(devices).

  /// Precondition: it is not closed.
  void close(node_id n) {
    ALLOT_ASSERT(!is_closed(n), "the node is closed already");
    closed_[n.index()] = true;
    remove_free(n);
    for_each_gap(n, [&](std::uint32_t gap) { remove_gap(n, gap); });
    state_of(n).closed += unused(n);
    state_.close(n);
    note_change(n);
  }
  /// Precondition: it is closed.
  void open(node_id n) {
    ALLOT_ASSERT(is_closed(n), "the node is open already");
    state_of(n).closed -= unused(n);
    closed_[n.index()] = false;
    add_free(n);
    for_each_gap(n, [&](std::uint32_t gap) { add_gap(n, gap); });
    state_.open(n);
    note_change(n);
  }

  /// Precondition: it fits there.
  void occupy(const placed_pod& pod) {
    const spot at = spot_of(pod);
    ALLOT_ASSERT(layout_.contains(at.node) && use_.fits(at.node, pod.where.devices, devices_of(pod)),
                 "the pod does not fit there");
    if (pod.milli == milli_per_gpu) {
      const std::uint32_t before = use_.take(at.node, pod.where.devices, at.devices);
      has_free(at, before, before - at.devices);
    } else {
      set_free(at, use_.free(at.node) & ~pod.where.devices);
      for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
        const std::uint32_t d = device_use::lowest(left);
        set_used(at.node, d, use_.used(at.node, d) + pod.milli);
      }
    }
    note_arrival(pod, at);
  }
  /// Precondition: it occupies its devices.
  void leave(const placed_pod& pod) {
    const spot at = spot_of(pod);
    if (pod.milli == milli_per_gpu) {
      const std::uint32_t before = use_.give_back(at.node, pod.where.devices, at.devices);
      has_free(at, before, before + at.devices);
    } else {
      std::uint64_t freed = 0;
      for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
        const std::uint32_t d = device_use::lowest(left);
        const std::uint32_t used = use_.used(at.node, d);
        ALLOT_ASSERT(used >= pod.milli, "the pod is not placed there");
        set_used(at.node, d, used - pod.milli);
        if (used == pod.milli) freed |= std::uint64_t{1} << d;
      }
      set_free(at, use_.free(at.node) | freed);
    }
    note_departure(pod, at);
  }
  /// The pod is now expected to end then. Its own inverse. Precondition: it occupies its devices.
  void move_end(placed_pod pod, instant end) {
    state_.leave(pod);
    ends_.remove(pod);
    pod.end = end;
    state_.occupy(pod);
    ends_.add(pod);
    note_change(pod.where.node);
  }
  /// The pod no longer counts as used, but its devices and its host are not empty yet.
  void hold(const placed_pod& pod) {
    use_.hold(pod, 1);
    change_held(pod, spot_of(pod), 1);
  }
  /// Precondition: it holds its devices.
  void let_go(const placed_pod& pod) {
    use_.hold(pod, -1);
    change_held(pod, spot_of(pod), -1);
  }

  /// `leave`, then `hold`.
  void give_up(const placed_pod& pod) {
    if (pod.milli == milli_per_gpu) {
      const spot at = spot_of(pod);
      const std::uint32_t before = use_.give_up(at.node, pod.where.devices, at.devices);
      has_free(at, before, before + at.devices);
      note_departure(pod, at);
      return change_held(pod, at, 1);
    }
    use_.empties(pod);
    leave(pod);
    hold(pod);
  }
  /// The inverse of `give_up`.
  void take_back(const placed_pod& pod) {
    if (pod.milli == milli_per_gpu) {
      const spot at = spot_of(pod);
      change_held(pod, at, -1);
      const std::uint32_t before = use_.take_back(at.node, pod.where.devices, at.devices);
      has_free(at, before, before - at.devices);
      return note_arrival(pod, at);
    }
    let_go(pod);
    occupy(pod);
    use_.fills_again(pod);
  }

  friend bool operator==(const free_index&, const free_index&) = default;

 private:
  [[nodiscard]] const node_type& type_of(node_id n) const { return layout_.type_of(n); }
  [[nodiscard]] type_index& state_of(node_id n) { return types_[layout_.position_of(n).type]; }
  [[nodiscard]] static pod_shape devices_of(const placed_pod& pod) noexcept {
    pod_shape shape;
    shape.devices = count_devices(pod.where.devices);
    shape.milli = pod.milli;
    return shape;
  }
  /// The shape of the pod on this node if its pool and model were acceptable.
  [[nodiscard]] std::optional<pod_shape> anywhere(const pod_shape& pod, node_id n) const {
    return type_of(n).shape_in_any_pool(pod);
  }

  template <class Amount>
  [[nodiscard]] quantity sum(std::uint64_t pools, std::uint64_t models, Amount amount) const {
    std::int64_t milli = 0;
    for (std::size_t t = 0; t < types_.size(); ++t) {
      const node_type& type = layout_.types()[t];
      if (type.is_in(pools) && type.is_of(models)) milli += amount(types_[t]);
    }
    return quantity::milli(milli);
  }

  /// Where a pod is, looked up once, and how many devices it has.
  struct spot {
    node_id node;
    const cluster::position& position;
    const node_type& type;
    type_index& index;
    std::uint32_t devices;
  };
  [[nodiscard]] spot spot_of(const placed_pod& pod) {
    const cluster::position& at = layout_.position_of(pod.where.node);
    return {pod.where.node, at, layout_.types()[at.type], types_[at.type], count_devices(pod.where.devices)};
  }
  /// What changes when a pod comes, but for its devices.
  void note_arrival(const placed_pod& pod, const spot& at) {
    if (!pod.mig.is_none()) instances_.add(pod);
    hosts_.use(pod, at.type, 1);
    at.index.used += std::int64_t{pod.milli} * at.devices;
    state_.occupy(pod);
    ends_.add(pod);
    note_change(at.node);
  }
  /// Its inverse.
  void note_departure(const placed_pod& pod, const spot& at) {
    if (!pod.mig.is_none()) instances_.remove(pod);
    hosts_.use(pod, at.type, -1);
    at.index.used -= std::int64_t{pod.milli} * at.devices;
    state_.leave(pod);
    ends_.remove(pod);
    note_change(at.node);
  }
  /// What changes when a pod begins or ceases to hold something, but for its devices.
  void change_held(const placed_pod& pod, const spot& at, std::int32_t sign) {
    if (!pod.mig.is_none()) instances_.hold(pod, sign);
    hosts_.hold(pod, at.type, sign);
    at.index.held += sign * std::int64_t{pod.milli} * at.devices;
  }
  /// Whole devices were taken or became free.
  void has_free(const spot& at, std::uint32_t before, std::uint32_t after) {
    if (before == after) return;
    if (closed_[at.node.index()]) {
      at.index.closed += (std::int64_t{after} - before) * milli_per_gpu;
    } else {
      at.index.move(at.position.rank, before, after);
    }
  }
  void set_free(const spot& at, std::uint64_t free) {
    if (use_.free(at.node) == free) return;
    const std::uint32_t before = use_.free_count(at.node);
    use_.set_free(at.node, free);
    if (!closed_[at.node.index()]) at.index.move(at.position.rank, before, use_.free_count(at.node));
  }
  void add_free(node_id n) { state_of(n).insert(layout_.position_of(n).rank, use_.free_count(n)); }
  void remove_free(node_id n) { state_of(n).erase(layout_.position_of(n).rank, use_.free_count(n)); }

  void set_used(node_id n, std::uint32_t d, std::uint32_t used) {
    const std::uint32_t before = use_.set_used(n, d, used);
    if (closed_[n.index()]) {
      state_of(n).closed += std::int64_t{before} - std::int64_t{used};
      return;
    }
    if (before % milli_per_gpu != 0) remove_gap(n, milli_per_gpu - before);
    if (used % milli_per_gpu != 0) add_gap(n, milli_per_gpu - used);
  }
  void add_gap(node_id n, std::uint32_t gap) {
    const cluster::position& at = layout_.position_of(n);
    types_[at.type].by_gap.insert(at.rank, gap);
  }
  void remove_gap(node_id n, std::uint32_t gap) {
    const cluster::position& at = layout_.position_of(n);
    types_[at.type].by_gap.erase(layout_.types()[at.type], use_, at.rank, gap,
                                 [this](node_id other) { return !closed_[other.index()]; });
  }
  template <class Visit>
  void for_each_gap(node_id n, Visit visit) {
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) {
      if (const std::uint32_t gap = use_.gap(n, d); gap % milli_per_gpu != 0) visit(gap);
    }
  }
  /// In milli.
  [[nodiscard]] std::int64_t unused(node_id n) const {
    return (quantity::whole(layout_.gpus(n)) - used(n)).in_milli();
  }

  void note_change(node_id n) { changes_.note(n, state_.value()); }

  cluster layout_;
  device_use use_;
  mig_use instances_;
  host_room hosts_;
  vector<bool> closed_;
  gpu::fingerprint state_;
  vector<type_index> types_;
  change_log changes_;
  node_ends ends_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
