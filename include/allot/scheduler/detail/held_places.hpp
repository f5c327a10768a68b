// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>

#include <concepts>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

template <class T>
inline constexpr bool is_dense_id = false;
template <class Tag>
inline constexpr bool is_dense_id<id<Tag>> = true;
template <class Tag>
inline constexpr bool is_dense_id<recycled_id<Tag>> = true;

/// The places that jobs have, so that no other job, and not the host either, is given one of them. A place
/// may be in it more than once.
///
/// Places with ids of this library take O(1), others with an order O(log n) comparisons and a move of those
/// behind, others O(n).
template <class Place>
class held_places {
 public:
  void insert(const Place& p) {
    if constexpr (is_dense) {
      if (p.is_none()) return;
      if (all_.size() <= p.index()) all_.resize(p.index() + 1);
      all_[p.index()] = p;
    } else {
      all_.insert(position(all_, p), p);
    }
  }
  /// No effect if it is not in it.
  void erase(const Place& p) {
    if constexpr (is_dense) {
      if (contains(p)) all_[p.index()] = Place::none();
    } else if (const auto at = position(all_, p); at != all_.end() && *at == p) {
      all_.erase(at);
    }
  }
  [[nodiscard]] bool contains(const Place& p) const {
    if constexpr (is_dense) {
      return p.index() < all_.size() && all_[p.index()] == p;
    } else {
      const auto at = position(all_, p);
      return at != all_.end() && *at == p;
    }
  }

 private:
  static constexpr bool is_dense = is_dense_id<Place>;

  /// The first that is not before it or, without an order, that equals it.
  template <class All>
  [[nodiscard]] static auto position(All& all, const Place& p) {
    if constexpr (std::totally_ordered<Place>) {
      return detail::partition_point(all.begin(), all.end(), [&](const Place& q) { return q < p; });
    } else {
      return detail::find(all.begin(), all.end(), p);
    }
  }

  /// By index, with none where there is no such place; or all of them, in their order if they have one.
  vector<Place> all_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
