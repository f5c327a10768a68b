// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A set of nodes with access to its k-th member. One bit per node. Changes are O(1); the k-th is found in
/// O(nodes / 64).
class node_set {
 public:
  node_set() = default;

  /// The number of nodes in it.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Resets it to the nodes below `nodes` for which `is_in(node)` holds. Allocates only for more nodes than
  /// ever before.
  template <class IsIn>
  void assign(std::size_t nodes, IsIn is_in) {
    words_.assign((nodes + word_bits - 1) / word_bits, 0);
    size_ = 0;
    for (std::size_t n = 0; n < nodes; ++n) set(n, is_in(n));
  }
  void set(std::size_t node, bool is_in) {
    ALLOT_ASSERT(node / word_bits < words_.size(), "the set has no place for such a node");
    std::uint64_t& word = words_[node / word_bits];
    const std::uint64_t bit = std::uint64_t{1} << (node % word_bits);
    if (((word & bit) != 0) == is_in) return;
    word ^= bit;
    is_in ? ++size_ : --size_;
  }
  /// The member with exactly `k` members below it. Precondition: k < size().
  [[nodiscard]] std::size_t nth(std::size_t k) const {
    ALLOT_ASSERT(k < size_, "the set has fewer members");
    std::size_t at = 0;
    for (;; ++at) {
      const auto here = static_cast<std::size_t>(std::popcount(words_[at]));
      if (k < here) break;
      k -= here;
    }
    std::uint64_t word = words_[at];
    for (; k > 0; --k) word &= word - 1;
    return at * word_bits + static_cast<std::size_t>(std::countr_zero(word));
  }

 private:
  static constexpr std::size_t word_bits = 64;

  vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
