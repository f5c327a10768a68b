// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/bitset_index.hpp>
#include <allot/gpu/detail/device_use.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The shared devices of the nodes of one type, by gap.
///
/// A bit for each gap and each block of 8 nodes says whether a device of the block has that gap; which one is
/// found by scanning the block. A bit for each node would be faster by a few nanoseconds, but take 125 bytes
/// per node.
class gap_index {
 public:
  struct entry {
    /// In milli.
    std::uint32_t gap = 0;
    node_id node;
  };

  explicit gap_index(const node_type& type)
      : blocks_(type.nodes.size() / block + 1),
        keys_(std::size_t{milli_per_gpu} * blocks_),
        devices_(milli_per_gpu) {}

  /// The number of devices with exactly this gap.
  [[nodiscard]] std::uint64_t devices_with(std::uint32_t gap) const {
    return gap < milli_per_gpu ? devices_[gap] : 0;
  }

  /// The lowest of the nodes with a device of the smallest gap >= `at_least` for which `is_good(node)` holds.
  /// O(log64 nodes) for each block in which it holds for none.
  template <class IsGood>
  [[nodiscard]] std::optional<entry> smallest(const node_type& type, const device_use& use,
                                              std::uint32_t at_least, IsGood is_good) const {
    for (std::size_t key = keys_.next(at_least * blocks_); key != bitset_index::none;
         key = keys_.next(key + 1)) {
      const auto gap = static_cast<std::uint32_t>(key / blocks_);
      const std::size_t first = key % blocks_ * block;
      for (std::size_t rank = first; rank < type.nodes.size() && rank < first + block; ++rank) {
        const node_id n = type.nodes[rank];
        if (has(use, n, gap) && is_good(n)) return entry{gap, n};
      }
    }
    return std::nullopt;
  }

  /// A device of the node of this rank now has this gap.
  void insert(std::size_t rank, std::uint32_t gap) {
    keys_.insert(gap * blocks_ + rank / block);
    ++devices_[gap];
  }
  /// A device no longer has it. `counts(node)`: whether the devices of a node of the block are in the index.
  template <class Counts>
  void erase(const node_type& type, const device_use& use, std::size_t rank, std::uint32_t gap,
             Counts counts) {
    if (--devices_[gap] > 0) {
      const std::size_t first = rank / block * block;
      for (std::size_t r = first; r < type.nodes.size() && r < first + block; ++r) {
        if (counts(type.nodes[r]) && has(use, type.nodes[r], gap)) return;
      }
    }
    keys_.erase(gap * blocks_ + rank / block);
  }

  friend bool operator==(const gap_index&, const gap_index&) = default;

 private:
  static constexpr std::size_t block = 8;

  [[nodiscard]] static bool has(const device_use& use, node_id n, std::uint32_t gap) {
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      if (use.gap(n, d) == gap) return true;
    }
    return false;
  }

  std::size_t blocks_;
  bitset_index keys_;
  vector<std::uint32_t> devices_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
