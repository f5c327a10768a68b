// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/quantity.hpp>
#include <allot/gpu/bitset_index.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/demand.hpp>

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What is free of a cluster, device by device, and where: what a placement policy chooses from.
///
/// Of every device it keeps how much is *used*, and how much is still *held* by pods that have been told to
/// go. Used decides what is free; a device that is free or has room may still be held, and whoever is placed
/// there must wait. A device is *shared* while it is used in part; its *gap* is the rest of it.
///
/// A node can be *closed*: nothing on it is to be had, though what stands there stays until it leaves.
///
/// Two indexes for each node type: its nodes by free GPUs, and its shared devices by gap (by node, as the
/// devices of one node are quickly looked through). A query is O(log64 nodes); no query or change looks at
/// all nodes or allocates.
class free_index {
 public:
  explicit free_index(cluster layout)
      : layout_(std::move(layout)), nodes_(layout_.size()), devices_(layout_.devices()) {
    types_.reserve(layout_.types().size());
    for (const node_type& t : layout_.types()) types_.emplace_back(t);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      nodes_[n].free = ~std::uint64_t{0} >> (max_gpus_per_node - layout_.gpus(node_id{n}));
    }
  }

  [[nodiscard]] const cluster& layout() const noexcept { return layout_; }

  // One node.

  /// The devices of which nothing is used.
  [[nodiscard]] std::uint64_t free_devices(node_id n) const { return node(n).free; }
  /// The devices that someone who has been told to go still holds.
  [[nodiscard]] std::uint64_t held_devices(node_id n) const { return node(n).held; }
  [[nodiscard]] bool is_closed(node_id n) const { return node(n).closed; }
  /// How much of a device is used. Precondition: the node has that device.
  [[nodiscard]] quantity used(node_id n, std::uint32_t device) const {
    ALLOT_ASSERT(device < layout_.gpus(n), "the node has no such device");
    return quantity::milli(this->device(n, device).used);
  }
  /// O(devices of the node).
  [[nodiscard]] quantity used(node_id n) const {
    quantity sum;
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) sum += used(n, d);
    return sum;
  }

  /// Whether a pod of this shape could stand there, whatever pool that is, be it closed or not.
  [[nodiscard]] bool fits(const pod_location& at, const pod_shape& pod) const {
    if (!layout_.contains(at.node) || std::popcount(at.devices) != static_cast<int>(pod.devices))
      return false;
    if (at.devices >> (layout_.gpus(at.node) - 1) > 1) return false;
    if (!pod.is_fraction()) return (at.devices & ~free_devices(at.node)) == 0;
    return device(at.node, lowest(at.devices)).used + pod.milli <= milli_per_gpu;
  }

  /// The devices of this node on which a pod of this shape would stand; nothing if it does not fit there.
  /// Whole GPUs: first those that nobody holds any more, then the lowest. A fraction: the shared device with
  /// the smallest gap that suffices, else a free one; of several, one on which it can start at once, then
  /// the lowest. O(devices of the node).
  [[nodiscard]] std::optional<std::uint64_t> choose_devices(node_id n, const pod_shape& pod) const {
    const node_state& s = node(n);
    if (pod.is_fraction()) {
      if (const auto shared = choose_shared(n, pod.milli)) return std::uint64_t{1} << *shared;
    }
    const auto free = static_cast<std::uint32_t>(std::popcount(s.free));
    if (free < pod.devices) return std::nullopt;
    const std::uint64_t at_once = s.free & ~s.held;
    const auto ready = static_cast<std::uint32_t>(std::popcount(at_once));
    if (ready >= pod.devices) return lowest_bits(at_once, pod.devices);
    return at_once | lowest_bits(s.free & s.held, pod.devices - ready);
  }

  /// Whether the devices under this pod have room for all that is used and held of them. Then it can start.
  [[nodiscard]] bool is_ready(const placed_pod& pod) const {
    for (std::uint64_t left = pod.where.devices & node(pod.where.node).held; left != 0; left &= left - 1) {
      const device_state& d = device(pod.where.node, lowest(left));
      if (d.used + d.held > milli_per_gpu) return false;
    }
    return true;
  }

  // All nodes of one type that are not closed: `type` is an index into layout().types().

  /// A node, and what made it a candidate: its free GPUs, or the gap. Candidates are ordered by that, then
  /// by node.
  struct candidate {
    std::uint32_t level = 0;
    node_id node;

    friend constexpr auto operator<=>(const candidate&, const candidate&) noexcept = default;
  };

  /// The node with the fewest free GPUs that suffice, the lowest of several.
  [[nodiscard]] std::optional<candidate> fewest_free(std::size_t type, std::uint32_t at_least) const {
    return first(types_[type].by_free, type, at_least);
  }
  /// The next one after it in that order.
  [[nodiscard]] std::optional<candidate> next_free(std::size_t type, const candidate& after) const {
    const std::vector<node_id>& nodes = layout_.types()[type].nodes;
    const std::size_t key =
        types_[type].by_free.next(after.level * nodes.size() + layout_.position_of(after.node).rank + 1);
    if (key == bitset_index::none) return std::nullopt;
    return candidate{static_cast<std::uint32_t>(key / nodes.size()), nodes[key % nodes.size()]};
  }
  /// The node with the smallest gap that suffices, the lowest of several. `at_least` is in milli.
  [[nodiscard]] std::optional<candidate> smallest_gap(std::size_t type, std::uint32_t at_least) const {
    return first(types_[type].by_gap, type, at_least);
  }
  /// How many nodes have exactly so many free GPUs.
  [[nodiscard]] std::uint64_t nodes_with_free(std::size_t type, std::uint32_t gpus) const {
    const auto& counts = types_[type].nodes_with_free;
    return gpus < counts.size() ? counts[gpus] : 0;
  }
  /// How many shared devices have exactly this gap, in milli.
  [[nodiscard]] std::uint64_t devices_with_gap(std::size_t type, std::uint32_t gap) const {
    return gap < milli_per_gpu ? types_[type].devices_with_gap[gap] : 0;
  }

  // All nodes of some pools: O(types).

  [[nodiscard]] quantity used_in(std::uint64_t pools) const {
    return sum(pools, [](const type_state& t) { return t.used; });
  }
  [[nodiscard]] quantity held_in(std::uint64_t pools) const {
    return sum(pools, [](const type_state& t) { return t.held; });
  }
  /// What is free on nodes that are closed, so not to be had.
  [[nodiscard]] quantity closed_in(std::uint64_t pools) const {
    return sum(pools, [](const type_state& t) { return t.closed; });
  }
  [[nodiscard]] quantity free_in(std::uint64_t pools) const {
    return layout_.gpus_in(pools) - used_in(pools) - closed_in(pools);
  }

  // Changes. Each has an exact inverse: close and open, occupy and leave, hold and let_go. O(devices).

  /// Precondition: it is not closed.
  void close(node_id n) {
    ALLOT_ASSERT(!is_closed(n), "the node is closed already");
    take_out_of_indexes(n);
    nodes_[n.index()].closed = true;
    types_[layout_.position_of(n).type].closed += unused(n);
  }
  /// Precondition: it is closed.
  void open(node_id n) {
    ALLOT_ASSERT(is_closed(n), "the node is open already");
    types_[layout_.position_of(n).type].closed -= unused(n);
    nodes_[n.index()].closed = false;
    put_into_indexes(n);
  }

  /// Precondition: it fits there.
  void occupy(const placed_pod& pod) {
    ALLOT_ASSERT(fits(pod.where, shape_of(pod)), "the pod does not fit there");
    const node_id n = pod.where.node;
    node_state& s = nodes_[n.index()];
    type_state& t = types_[layout_.position_of(n).type];
    t.used += pod.gpus().in_milli();
    set_free(n, s.free & ~pod.where.devices);
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      const std::uint32_t d = lowest(left);
      set_used(n, d, device(n, d).used + pod.milli);
    }
  }
  /// Precondition: it occupies its devices.
  void leave(const placed_pod& pod) {
    const node_id n = pod.where.node;
    type_state& t = types_[layout_.position_of(n).type];
    t.used -= pod.gpus().in_milli();
    std::uint64_t freed = 0;
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      const std::uint32_t d = lowest(left);
      const std::uint32_t used = device(n, d).used;
      ALLOT_ASSERT(used >= pod.milli, "the pod does not stand there");
      set_used(n, d, used - pod.milli);
      if (used == pod.milli) freed |= std::uint64_t{1} << d;
    }
    set_free(n, node(n).free | freed);
  }
  /// The pod does not count any more, but its devices are not empty yet.
  void hold(const placed_pod& pod) { change_held(pod, 1); }
  /// Precondition: it holds its devices.
  void let_go(const placed_pod& pod) { change_held(pod, -1); }

  friend bool operator==(const free_index&, const free_index&) = default;

 private:
  struct node_state {
    std::uint64_t free = 0;
    std::uint64_t held = 0;
    /// Then it and its devices stand in no index.
    bool closed = false;

    friend bool operator==(const node_state&, const node_state&) = default;
  };
  /// In milli. At most one GPU is used; but it may be held several times over, by pods that were told to go
  /// before they could start.
  struct device_state {
    std::uint32_t used = 0;
    std::uint32_t held = 0;

    friend bool operator==(const device_state&, const device_state&) = default;
  };
  struct type_state {
    explicit type_state(const node_type& t)
        : by_free((t.gpus + std::size_t{1}) * t.nodes.size()),
          by_gap(std::size_t{milli_per_gpu} * t.nodes.size()),
          nodes_with_free(t.gpus + std::size_t{1}),
          devices_with_gap(milli_per_gpu) {
      for (std::size_t rank = 0; rank < t.nodes.size(); ++rank) {
        by_free.insert(t.gpus * t.nodes.size() + rank);
      }
      nodes_with_free[t.gpus] = static_cast<std::uint32_t>(t.nodes.size());
    }

    /// Keys: free GPUs, or the gap in milli, times the nodes of the type; plus the rank of the node.
    bitset_index by_free;
    bitset_index by_gap;
    std::vector<std::uint32_t> nodes_with_free;
    std::vector<std::uint32_t> devices_with_gap;
    /// In milli.
    std::int64_t used = 0;
    std::int64_t held = 0;
    /// Not used, on closed nodes.
    std::int64_t closed = 0;

    friend bool operator==(const type_state&, const type_state&) = default;
  };

  [[nodiscard]] static std::uint32_t lowest(std::uint64_t devices) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(devices));
  }
  [[nodiscard]] static std::uint64_t lowest_bits(std::uint64_t from, std::uint32_t count) noexcept {
    std::uint64_t rest = from;
    for (; count > 0; --count) rest &= rest - 1;
    return from ^ rest;
  }
  [[nodiscard]] static pod_shape shape_of(const placed_pod& pod) noexcept {
    return {static_cast<std::uint32_t>(std::popcount(pod.where.devices)), pod.milli};
  }

  [[nodiscard]] const node_state& node(node_id n) const {
    ALLOT_ASSERT(layout_.contains(n), "no node of this cluster");
    return nodes_[n.index()];
  }
  [[nodiscard]] const device_state& device(node_id n, std::uint32_t d) const {
    return devices_[layout_.position_of(n).first_device + d];
  }
  [[nodiscard]] device_state& device(node_id n, std::uint32_t d) {
    return devices_[layout_.position_of(n).first_device + d];
  }

  [[nodiscard]] std::optional<candidate> first(const bitset_index& keys, std::size_t type,
                                               std::uint32_t at_least) const {
    const std::vector<node_id>& nodes = layout_.types()[type].nodes;
    const std::size_t key = keys.next(at_least * nodes.size());
    if (key == bitset_index::none) return std::nullopt;
    return candidate{static_cast<std::uint32_t>(key / nodes.size()), nodes[key % nodes.size()]};
  }

  [[nodiscard]] std::optional<std::uint32_t> choose_shared(node_id n, std::uint32_t milli) const {
    std::optional<std::uint32_t> best;
    std::pair<std::uint32_t, bool> best_score;
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) {
      const device_state& s = device(n, d);
      if (s.used == 0 || s.used + milli > milli_per_gpu) continue;
      const std::pair score{milli_per_gpu - s.used, s.used + s.held + milli > milli_per_gpu};
      if (!best || score < best_score) best = d, best_score = score;
    }
    return best;
  }

  template <class Amount>
  [[nodiscard]] quantity sum(std::uint64_t pools, Amount amount) const {
    std::int64_t milli = 0;
    for (std::size_t t = 0; t < types_.size(); ++t) {
      if (layout_.types()[t].is_in(pools)) milli += amount(types_[t]);
    }
    return quantity::milli(milli);
  }

  void set_free(node_id n, std::uint64_t free) {
    node_state& s = nodes_[n.index()];
    if (s.free == free) return;
    if (!s.closed) remove_free(n);
    s.free = free;
    if (!s.closed) add_free(n);
  }
  void add_free(node_id n) {
    const cluster::position& at = layout_.position_of(n);
    type_state& t = types_[at.type];
    const auto free = static_cast<std::uint32_t>(std::popcount(node(n).free));
    t.by_free.insert(free * layout_.types()[at.type].nodes.size() + at.rank);
    ++t.nodes_with_free[free];
  }
  void remove_free(node_id n) {
    const cluster::position& at = layout_.position_of(n);
    type_state& t = types_[at.type];
    const auto free = static_cast<std::uint32_t>(std::popcount(node(n).free));
    t.by_free.erase(free * layout_.types()[at.type].nodes.size() + at.rank);
    --t.nodes_with_free[free];
  }

  void set_used(node_id n, std::uint32_t d, std::uint32_t used) {
    device_state& s = device(n, d);
    const std::uint32_t before = std::exchange(s.used, used);
    if (node(n).closed) {
      types_[layout_.position_of(n).type].closed += std::int64_t{before} - std::int64_t{used};
      return;
    }
    if (before % milli_per_gpu != 0) remove_gap(n, milli_per_gpu - before);
    if (used % milli_per_gpu != 0) add_gap(n, milli_per_gpu - used);
  }
  void add_gap(node_id n, std::uint32_t gap) {
    const cluster::position& at = layout_.position_of(n);
    type_state& t = types_[at.type];
    t.by_gap.insert(gap * layout_.types()[at.type].nodes.size() + at.rank);
    ++t.devices_with_gap[gap];
  }
  /// A gap that was the node's is not any more.
  void remove_gap(node_id n, std::uint32_t gap) {
    const cluster::position& at = layout_.position_of(n);
    type_state& t = types_[at.type];
    --t.devices_with_gap[gap];
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) {
      if (device(n, d).used + gap == milli_per_gpu) return;
    }
    t.by_gap.erase(gap * layout_.types()[at.type].nodes.size() + at.rank);
  }

  void put_into_indexes(node_id n) {
    add_free(n);
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) {
      const std::uint32_t used = device(n, d).used;
      if (used % milli_per_gpu != 0) add_gap(n, milli_per_gpu - used);
    }
  }
  void take_out_of_indexes(node_id n) {
    remove_free(n);
    const cluster::position& at = layout_.position_of(n);
    type_state& t = types_[at.type];
    for (std::uint32_t d = 0; d < layout_.gpus(n); ++d) {
      const std::uint32_t used = device(n, d).used;
      if (used % milli_per_gpu == 0) continue;
      const std::uint32_t gap = milli_per_gpu - used;
      --t.devices_with_gap[gap];
      t.by_gap.erase(gap * layout_.types()[at.type].nodes.size() + at.rank);
    }
  }
  /// In milli.
  [[nodiscard]] std::int64_t unused(node_id n) const {
    return (quantity::whole(layout_.gpus(n)) - used(n)).in_milli();
  }

  void change_held(const placed_pod& pod, std::int32_t sign) {
    const node_id n = pod.where.node;
    node_state& s = nodes_[n.index()];
    types_[layout_.position_of(n).type].held += sign * pod.gpus().in_milli();
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      const std::uint32_t d = lowest(left);
      const std::uint64_t bit = std::uint64_t{1} << d;
      std::uint32_t& held = device(n, d).held;
      ALLOT_ASSERT(sign > 0 || held >= pod.milli, "the pod does not hold its devices");
      held = sign > 0 ? held + pod.milli : held - pod.milli;
      s.held = held != 0 ? s.held | bit : s.held & ~bit;
    }
  }

  cluster layout_;
  std::vector<node_state> nodes_;
  std::vector<device_state> devices_;
  std::vector<type_state> types_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
