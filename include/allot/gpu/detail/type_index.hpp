// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/bitset_index.hpp>
#include <allot/gpu/detail/gap_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// What `free_index` keeps of the nodes of one type: the open ones by free GPUs and by gap, and sums.
struct type_index {
  /// All nodes are empty and open.
  explicit type_index(const node_type& t)
      : by_free((t.gpus + std::size_t{1}) * t.nodes.size()),
        by_gap(t),
        nodes_with_free(t.gpus + std::size_t{1}),
        nodes(t.nodes.size()) {
    for (std::size_t rank = 0; rank < nodes; ++rank) insert(rank, t.gpus);
  }

  /// The node of this rank has this many free GPUs.
  void insert(std::size_t rank, std::uint32_t free) {
    by_free.insert(free * nodes + rank);
    ++nodes_with_free[free];
  }
  /// It no longer has.
  void erase(std::size_t rank, std::uint32_t free) {
    by_free.erase(free * nodes + rank);
    --nodes_with_free[free];
  }
  /// It has another number now.
  void move(std::size_t rank, std::uint32_t from, std::uint32_t to) {
    erase(rank, from);
    insert(rank, to);
  }
  /// The fewest free GPUs >= `at_least`, and the lowest node with them for which `is_good(node)` holds.
  template <class IsGood>
  [[nodiscard]] std::optional<std::pair<std::uint32_t, node_id>> fewest_free(const node_type& type,
                                                                             std::uint32_t at_least,
                                                                             IsGood& is_good) const {
    std::uint32_t free = at_least;
    std::size_t lowest = free * nodes;
    for (std::size_t key = by_free.next(lowest); key != bitset_index::none; key = by_free.next(key + 1)) {
      // A step for each GPU of a node, where a division costs twenty.
      for (; key - lowest >= nodes; lowest += nodes) ++free;
      const node_id n = type.nodes[key - lowest];
      if (is_good(n)) return std::pair{free, n};
    }
    return std::nullopt;
  }

  /// Keys: free GPUs times the number of nodes of the type, plus the rank of the node.
  bitset_index by_free;
  gap_index by_gap;
  vector<std::uint32_t> nodes_with_free;
  std::size_t nodes;
  /// In milli.
  std::int64_t used = 0;
  std::int64_t held = 0;
  /// Unused, on closed nodes.
  std::int64_t closed = 0;

  friend bool operator==(const type_index&, const type_index&) = default;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
