// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Scores of the nodes with room, and the lowest node with the highest score: a tournament in groups of 16. A
/// new score costs O(16 log16 nodes), mostly one group, because it propagates only as far as the best of a
/// group changes; `best` costs the same. Takes little more memory than one score per node.
template <std::signed_integral Score>
class score_index {
 public:
  /// For a node without room. Below every score.
  static constexpr Score none = std::numeric_limits<Score>::min();

  score_index() = default;

  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }

  /// Resets it to `score_of(node)` for all nodes. Allocates only for more nodes than ever before.
  template <class ScoreOf>
  void assign(std::size_t nodes, ScoreOf score_of) {
    nodes_ = nodes;
    std::size_t size = 0;
    levels_ = 0;
    for (std::size_t here = nodes;; here = groups_of(here)) {
      first_[levels_++] = size;
      size += groups_of(here) * group;
      if (groups_of(here) <= 1) break;
    }
    scores_.assign(size, none);
    for (std::size_t n = 0; n < nodes; ++n) scores_[n] = score_of(n);
    for (std::size_t l = 0; l + 1 < levels_; ++l) {
      const std::size_t groups = (first_[l + 1] - first_[l]) / group;
      for (std::size_t g = 0; g < groups; ++g) scores_[first_[l + 1] + g] = best_of(l, g);
    }
  }

  /// Precondition: the index has such a node.
  void set(std::size_t node, Score score) {
    ALLOT_ASSERT(node < nodes_, "the index has no such node");
    scores_[node] = score;
    for (std::size_t l = 0; l + 1 < levels_; ++l) {
      node /= group;
      Score& best = scores_[first_[l + 1] + node];
      const Score now = best_of(l, node);
      if (best == now) return;
      best = now;
    }
  }

  [[nodiscard]] Score score(std::size_t node) const {
    ALLOT_ASSERT(node < nodes_, "the index has no such node");
    return scores_[node];
  }

  /// Nothing if no node has room.
  [[nodiscard]] std::optional<std::size_t> best() const {
    if (nodes_ == 0) return std::nullopt;
    std::size_t at = 0;
    const Score highest = best_of(levels_ - 1, 0);
    if (highest == none) return std::nullopt;
    for (std::size_t l = levels_; l-- > 0;) {
      at *= group;
      while (scores_[first_[l] + at] != highest) ++at;
    }
    return at;
  }

 private:
  static constexpr std::size_t group = 16;
  // 16^16 exceeds the largest number of nodes.
  static constexpr std::size_t most_levels = 16;

  [[nodiscard]] static constexpr std::size_t groups_of(std::size_t scores) noexcept {
    return (scores + group - 1) / group;
  }
  [[nodiscard]] Score best_of(std::size_t level, std::size_t g) const {
    const Score* scores = scores_.data() + first_[level] + g * group;
    Score best = scores[0];
    for (std::size_t i = 1; i < group; ++i) best = best < scores[i] ? scores[i] : best;
    return best;
  }

  std::size_t nodes_ = 0;
  std::size_t levels_ = 0;
  std::array<std::size_t, most_levels> first_{};
  /// Level by level, each padded to whole groups.
  vector<Score> scores_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
