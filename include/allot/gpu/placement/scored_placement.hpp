// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/detail/score_index.hpp>
#include <allot/gpu/placement/detail/shape_cache.hpp>
#include <allot/gpu/pod_request.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// How good a node is for a pod: the higher, the better. And which of its devices the pod has there; nothing,
/// if it has no room after all.
///
/// A score is above the smallest value of its type. It depends on nothing but what is used of this one node,
/// so it stays as it is until `free_index::changes` names the node; in particular not on what is held of it.
/// The devices may. `here` is what `node_type::shape_on` says for the node, which is open and has room for
/// it.
template <class S>
concept node_score = std::copyable<S> &&
    requires(const S score, const free_index& from, node_id n, const pod_shape& here) {
  requires std::signed_integral<typename S::score_type>;
  { score(from, n, here) } -> std::same_as<typename S::score_type>;
  { score.devices(from, n, here) } -> std::same_as<std::uint64_t>;
};

/// So many shapes of pods can take turns before a placement looks at all nodes again.
inline constexpr std::size_t shapes_remembered = 128;

/// The node with the highest score, the lowest of several: a placement policy made of a score.
///
/// The scores of all nodes are kept for each of the last shapes of pods that were asked for, and only nodes
/// that have changed since are scored again. So a placement costs O(log nodes) and a score for each change
/// since a pod of the same shape was placed; for a shape that was not among the last `most_shapes`, a score
/// for each node. What is kept takes about one score a node and shape.
///
/// What it keeps is nothing that could be seen: the answer is always that of a scan over all nodes. It may be
/// asked about several clusters in turn, but then looks at all nodes each time.
template <node_score Score>
class scored_placement {
 public:
  using score_type = typename Score::score_type;

  scored_placement() : scored_placement(Score{}) {}
  explicit scored_placement(Score score, std::size_t most_shapes = shapes_remembered)
      : score_(std::move(score)), cache_(most_shapes) {}

  /// Nothing if and only if no node has room.
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    const auto& scores = cache_.look(from, pod, [&](node_id n) { return score_or_none(from, n, pod); });
    const auto best = scores.best();
    if (!best) return std::nullopt;
    const node_id n{*best};
    const auto here = from.layout().type_of(n).shape_on(pod);
    return pod_location{n, score_.devices(from, n, *here)};
  }

  [[nodiscard]] const Score& score() const noexcept { return score_; }
  /// From now on, this is the score. What was kept is forgotten.
  void set_score(Score score) {
    score_ = std::move(score);
    cache_.forget();
  }

 private:
  [[nodiscard]] score_type score_or_none(const free_index& from, node_id n, const pod_shape& pod) const {
    if (from.is_closed(n)) return score_index<score_type>::none;
    const auto here = from.layout().type_of(n).shape_on(pod);
    if (!here || !from.has_room(n, *here)) return score_index<score_type>::none;
    return score_(from, n, *here);
  }

  [[no_unique_address]] Score score_;
  mutable shape_cache<score_index<score_type>> cache_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
