// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/search.hpp>

#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {

/// A world that can also place removed jobs elsewhere, if there is room. A job stays there until it is
/// removed again.
template <class World, std::size_t N>
concept replacing_world = search_world<World, N> && requires(World world, const running_job<N>& job) {
  { world.place_elsewhere(job) } -> std::same_as<bool>;
};

/// Makes a place for a request that its quota allows by restarting other jobs elsewhere. Jobs of any quota
/// and priority are restarted elsewhere, and lose their unsaved work. An option of `policies`, after
/// KAI's consolidation; KAI's own is part of its cycle, in systems/kai. Buffers are reused across searches.
template <std::size_t N>
class consolidation_search {
 public:
  /// The most jobs moved for one request (KAI: 16).
  explicit consolidation_search(std::size_t most_moves = 16) : most_moves_(most_moves) {}

  /// Takes jobs off their places in the order of `may_move` until the beneficiary could be placed and those
  /// in its way could be placed elsewhere alongside it. On success the moved jobs are at their new places and
  /// the beneficiary can be placed; otherwise the caller rolls the world back. Elastic pods count as jobs
  /// here. At most O(most_moves^2) trial placements of each job; the world must find the same places each
  /// time.
  ///
  /// Returns `impossible` only if there is no place even without all of `may_move`. New places, and more than
  /// `most_moves` moves, are not tried exhaustively: the result is then `not_proven`.
  template <replacing_world<N> World>
  search_outcome run(std::span<const running_job<N>> may_move, World& world) {
    moves_.clear();
    bool some_place = false;
    for (const running_job<N>& job : may_move) {
      if (moves_.size() == most_moves_) return search_outcome::not_proven;
      world.take_off(job);
      moves_.push_back({job, relation::consolidation});
      if (!world.could_place()) continue;
      some_place = true;
      if (place_who_must_go(world)) return search_outcome::found;
    }
    return some_place ? search_outcome::not_proven : search_outcome::impossible;
  }

  /// The moved jobs, in the order in which they were chosen.
  [[nodiscard]] std::span<const victim<N>> moves() const noexcept { return moves_; }

 private:
  /// Puts back jobs not in the way and places the others elsewhere; otherwise all are off their places again.
  template <class World>
  bool place_who_must_go(World& world) {
    all_ = moves_;
    for (std::size_t i = moves_.size(); i-- > 0;) {
      const victim<N> v = moves_[i];
      world.put_back(v.job);
      if (world.could_place()) {
        moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        world.take_off(v.job);
      }
    }
    if (place_all(world)) {
      put_back_who_can_stay(world);
      return true;
    }
    for (const victim<N>& v : all_) {
      const auto same = [&](const victim<N>& other) { return other.job.id == v.job.id; };
      if (detail::none_of(moves_.begin(), moves_.end(), same)) world.take_off(v.job);
    }
    moves_ = all_;
    return false;
  }
  /// Places all moved jobs elsewhere so that the beneficiary can still be placed; otherwise none.
  template <class World>
  bool place_all(World& world) {
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const bool placed = world.place_elsewhere(moves_[i].job);
      if (placed && world.could_place()) continue;
      take_off(world, placed ? i + 1 : i);
      return false;
    }
    return true;
  }
  template <class World>
  void take_off(World& world, std::size_t count) {
    for (std::size_t i = count; i-- > 0;) world.take_off(moves_[i].job);
  }
  /// With one job back the others find other places, so all of them are placed again.
  template <class World>
  void put_back_who_can_stay(World& world) {
    take_off(world, moves_.size());
    for (std::size_t i = moves_.size(); i-- > 0;) {
      const victim<N> v = moves_[i];
      world.put_back(v.job);
      moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(i));
      if (world.could_place() && place_all(world)) {
        take_off(world, moves_.size());
        continue;
      }
      world.take_off(v.job);
      moves_.insert(moves_.begin() + static_cast<std::ptrdiff_t>(i), v);
    }
    [[maybe_unused]] const bool again = place_all(world);
    ALLOT_ASSERT(again, "a world must find the same places each time");
  }

  vector<victim<N>> moves_;
  vector<victim<N>> all_;
  std::size_t most_moves_;
};

}  // namespace v0
}  // namespace allot
