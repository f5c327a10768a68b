// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// An ordered set of integers below a fixed bound: one bit each, and for every 64 words one word above them
/// that says which are not empty. Insert, erase and next take O(log64 bound) steps (four reach 16 million)
/// and never allocate; memory is 65/64 of a bit per number.
///
/// Several ordered sets in one: with the key `bucket * members + member`, the next key is the lowest member
/// of the first nonempty bucket.
class bitset_index {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  bitset_index() = default;
  explicit bitset_index(std::size_t bound) : bound_(bound) {
    std::size_t words = 0;
    for (std::size_t bits = bound;; bits = words_for(bits)) {
      level_[levels_++] = words;
      words += words_for(bits);
      if (bits <= word_bits) break;
    }
    words_.resize(words);
  }

  /// Every member is below it.
  [[nodiscard]] std::size_t bound() const noexcept { return bound_; }

  [[nodiscard]] bool contains(std::size_t i) const {
    ALLOT_ASSERT(i < bound_, "beyond the bound of the set");
    return (words_[i / word_bits] & bit(i)) != 0;
  }

  void insert(std::size_t i) {
    ALLOT_ASSERT(i < bound_, "beyond the bound of the set");
    for (std::size_t l = 0; l < levels_; ++l, i /= word_bits) {
      std::uint64_t& word = words_[level_[l] + i / word_bits];
      const bool was_empty = word == 0;
      word |= bit(i);
      if (!was_empty) return;
    }
  }

  void erase(std::size_t i) {
    ALLOT_ASSERT(i < bound_, "beyond the bound of the set");
    for (std::size_t l = 0; l < levels_; ++l, i /= word_bits) {
      std::uint64_t& word = words_[level_[l] + i / word_bits];
      word &= ~bit(i);
      if (word != 0) return;
    }
  }

  /// The smallest member that is at least `from`, or `none`.
  [[nodiscard]] std::size_t next(std::size_t from) const noexcept {
    std::size_t bits = bound_;
    for (std::size_t l = 0; l < levels_ && from < bits; ++l) {
      const std::size_t at = from / word_bits;
      const std::uint64_t here = words_[level_[l] + at] & (~std::uint64_t{0} << (from % word_bits));
      if (here != 0) return lowest_below(l, at * word_bits + lowest(here));
      from = at + 1;
      bits = words_for(bits);
    }
    return none;
  }

  friend bool operator==(const bitset_index&, const bitset_index&) = default;

 private:
  static constexpr std::size_t word_bits = 64;
  // 64^11 exceeds the largest bound.
  static constexpr std::size_t max_levels = 11;

  [[nodiscard]] static constexpr std::size_t words_for(std::size_t bits) noexcept {
    return bits / word_bits + (bits % word_bits != 0 ? 1 : 0);
  }
  [[nodiscard]] static constexpr std::uint64_t bit(std::size_t i) noexcept {
    return std::uint64_t{1} << (i % word_bits);
  }
  [[nodiscard]] static constexpr std::size_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(std::countr_zero(word));
  }
  /// The smallest member under bit `i` of level `l`, which is set.
  [[nodiscard]] std::size_t lowest_below(std::size_t l, std::size_t i) const noexcept {
    while (l > 0) i = i * word_bits + lowest(words_[level_[--l] + i]);
    return i;
  }

  vector<std::uint64_t> words_;
  std::array<std::size_t, max_levels> level_{};
  std::size_t levels_ = 0;
  std::size_t bound_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
