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

/// How good a node is for a pod: the higher, the better. It may also say, by `devices(from, n, here)`, which
/// devices of the node the pod gets, none if it turns out not to fit; by default those of
/// `free_index::choose_devices`.
///
/// A score is above the smallest value of its type. It depends only on what is used of this one node, so it
/// stays valid until `free_index::changes` names the node; in particular, it does not depend on what is held.
/// The choice of devices may. `here` is what `node_type::shape_on` returns for the node, which is open and
/// has room for it.
template <class S>
concept node_score = std::copyable<S> &&
    requires(const S score, const free_index& from, node_id n, const pod_shape& here) {
  requires std::signed_integral<typename S::score_type>;
  { score(from, n, here) } -> std::same_as<typename S::score_type>;
};

namespace detail {

/// The devices that the pod gets there by this score.
template <node_score S>
[[nodiscard]] std::uint64_t devices_by(const S& score, const free_index& from, node_id n,
                                       const pod_shape& here) {
  if constexpr (requires { &S::devices; }) {
    return score.devices(from, n, here);
  } else {
    return from.devices_for(n, here);
  }
}

}  // namespace detail

/// The number of pod shapes that can alternate before a placement visits all nodes again.
inline constexpr std::size_t shapes_remembered = 128;

/// A placement policy made of a score: the lowest node with the highest score.
///
/// The scores of all nodes are kept for each of the last pod shapes requested, and only nodes that have
/// changed since are scored again. So a placement costs O(log nodes), and one score for each change since a
/// pod of the same shape was placed; for a shape that was not among the last `most_shapes`, one score for
/// each node. Takes about one score per node and shape.
///
/// What it keeps is not observable: the answer is always that of a scan over all nodes. It may be used for
/// several clusters in turn, but then visits all nodes each time.
template <node_score Score>
class scored_placement {
 public:
  /// The type of the scores.
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
    return pod_location{n, detail::devices_by(score_, from, n, *here)};
  }

  /// The score in use.
  [[nodiscard]] const Score& score() const noexcept { return score_; }
  /// Replaces the score and drops what was kept.
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
