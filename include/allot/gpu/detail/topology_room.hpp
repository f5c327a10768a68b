// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace allot {
inline namespace v0 {
namespace gpu {

/// How many pods of one shape fit now: on each node, in each domain of a topology, and in total. The room of
/// a domain is the sum over its nodes.
template <class Rooms>
concept topology_rooms = requires(const Rooms& r, domain_id d, std::size_t position) {
  { r.layout() } -> std::same_as<const topology&>;
  { r.room(d) } -> std::same_as<std::uint64_t>;
  /// For the node at this position of `layout().nodes()`.
  { r.room_at(position) } -> std::same_as<std::uint64_t>;
  { r.total() } -> std::same_as<std::uint64_t>;
  /// An upper bound of the room of any node; the tighter, the fewer nodes are visited.
  { r.most_on_a_node() } -> std::same_as<std::uint64_t>;
};

/// The room for one shape, stored per node: for a host with few shapes, or with nodes that can't be grouped
/// into classes. The topology must outlive it.
class node_rooms {
 public:
  explicit node_rooms(const topology& t) : topology_(&t), of_node_(t.nodes().size()), of_domain_(t.size()) {}
  /// `room(node)` is the number of pods that fit there, below 2^32. O(nodes * levels).
  template <class Room>
  node_rooms(const topology& t, Room room) : node_rooms(t) {
    read(room);
  }

  [[nodiscard]] const topology& layout() const noexcept { return *topology_; }
  [[nodiscard]] std::uint64_t room(domain_id d) const {
    ALLOT_ASSERT(d.index() < of_domain_.size(), "not a domain of this topology");
    return of_domain_[d.index()];
  }
  [[nodiscard]] std::uint64_t room_at(std::size_t position) const { return of_node_[position]; }
  [[nodiscard]] std::uint64_t room(node_id n) const { return of_node_[topology_->position(n)]; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// O(1). If some node has room for 64 or more, the largest number that fits 32 bits.
  [[nodiscard]] std::uint64_t most_on_a_node() const noexcept {
    if (nodes_with_[many] > 0) return std::numeric_limits<std::uint32_t>::max();
    std::size_t pods = many;
    while (pods > 0 && nodes_with_[pods] == 0) --pods;
    return pods;
  }

  /// O(levels).
  void set(node_id n, std::uint32_t pods) {
    const std::size_t p = topology_->position(n);
    const std::uint64_t change = std::uint64_t{pods} - of_node_[p];
    --nodes_with_[std::min<std::size_t>(of_node_[p], many)];
    ++nodes_with_[std::min<std::size_t>(pods, many)];
    of_node_[p] = pods;
    total_ += change;
    for (domain_id d = topology_->domain_of(n); d; d = topology_->parent(d)) of_domain_[d.index()] += change;
  }
  /// Recomputes all nodes. O(nodes * levels), no allocation.
  template <class Room>
  void read(Room room) {
    for (const node_id n : topology_->nodes()) set(n, static_cast<std::uint32_t>(room(n)));
  }

 private:
  const topology* topology_;
  vector<std::uint32_t> of_node_;
  vector<std::uint64_t> of_domain_;
  /// The number of nodes with room for exactly this many pods, or for `many` or more.
  static constexpr std::size_t many = max_gpus_per_node;
  std::array<std::uint32_t, many + 1> nodes_with_{};
  std::uint64_t total_ = 0;
};

/// The number of nodes of each class in every domain. Nodes of one class have room for equally many pods of
/// any shape; the usual class is the number of free GPUs. So one index serves all shapes: see `class_rooms`.
/// The topology must outlive it.
class node_classes {
 public:
  /// All nodes start in class 0. Precondition: there is at least one class. O(domains * classes).
  node_classes(const topology& t, std::size_t classes)
      : topology_(&t), classes_(classes), of_node_(t.nodes().size()), counts_((t.size() + 1) * classes) {
    ALLOT_ASSERT(classes > 0, "there must be at least one class");
    for (const domain_id d : t.domains()) {
      counts_[d.index() * classes_] = static_cast<std::uint32_t>(t.nodes(d).size());
    }
    counts_[t.size() * classes_] = static_cast<std::uint32_t>(t.nodes().size());
  }

  [[nodiscard]] const topology& layout() const noexcept { return *topology_; }
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::uint32_t class_at(std::size_t position) const { return of_node_[position]; }
  /// The number of nodes of each class in a domain.
  [[nodiscard]] std::span<const std::uint32_t> counts(domain_id d) const {
    ALLOT_ASSERT(topology_->contains(d), "not a domain of this topology");
    return std::span{counts_}.subspan(d.index() * classes_, classes_);
  }
  /// And in the whole cluster.
  [[nodiscard]] std::span<const std::uint32_t> counts() const {
    return std::span{counts_}.subspan(topology_->size() * classes_, classes_);
  }

  /// O(levels).
  void set(node_id n, std::uint32_t its_class) {
    ALLOT_ASSERT(its_class < classes_, "no such class");
    std::uint32_t& is = of_node_[topology_->position(n)];
    const auto move = [&](std::size_t row) {
      --counts_[row * classes_ + is];
      ++counts_[row * classes_ + its_class];
    };
    move(topology_->size());
    for (domain_id d = topology_->domain_of(n); d; d = topology_->parent(d)) move(d.index());
    is = its_class;
  }

 private:
  const topology* topology_;
  std::size_t classes_;
  vector<std::uint32_t> of_node_;
  /// A row of counts for each domain, and one for the cluster.
  vector<std::uint32_t> counts_;
};

/// The room for one shape, derived from the classes of the nodes: `pods[c]` fit on a node of class c. Both
/// must outlive it. Queries about a domain take O(classes).
class class_rooms {
 public:
  class_rooms(const node_classes& nodes, std::span<const std::uint32_t> pods) : nodes_(&nodes), pods_(pods) {
    ALLOT_ASSERT(pods.size() == nodes.classes(), "exactly one room for each class");
  }

  [[nodiscard]] const topology& layout() const noexcept { return nodes_->layout(); }
  [[nodiscard]] std::uint64_t room(domain_id d) const { return sum(nodes_->counts(d)); }
  [[nodiscard]] std::uint64_t room_at(std::size_t position) const {
    return pods_[nodes_->class_at(position)];
  }
  [[nodiscard]] std::uint64_t total() const { return sum(nodes_->counts()); }
  [[nodiscard]] std::uint64_t most_on_a_node() const {
    std::uint32_t most = 0;
    for (std::size_t c = 0; c < pods_.size(); ++c) {
      if (nodes_->counts()[c] > 0) most = std::max(most, pods_[c]);
    }
    return most;
  }

 private:
  [[nodiscard]] std::uint64_t sum(std::span<const std::uint32_t> counts) const {
    std::uint64_t pods = 0;
    for (std::size_t c = 0; c < counts.size(); ++c) pods += std::uint64_t{counts[c]} * pods_[c];
    return pods;
  }

  const node_classes* nodes_;
  std::span<const std::uint32_t> pods_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
