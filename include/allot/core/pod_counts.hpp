// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// The most sets of unlike pods that a job has.
inline constexpr std::size_t most_pod_sets = 16;

/// Numbers of pods, by set.
using pods_by_set = std::array<std::uint32_t, most_pod_sets>;

/// Which of the sets of a job has the next pod beyond the minimums.
enum class set_growth : std::uint8_t {
  /// The one that has the least part of what it may have beyond its own: sets grow evenly.
  evenly,
  /// The one that has the fewest times its own, as in KAI-Scheduler: sets keep their proportions.
  by_minimum,
};

/// That set, of several the first. `least(set)` and `most(set)` are numbers of pods. As many as there are
/// sets if none may grow. O(sets).
template <class Least, class Most>
[[nodiscard]] constexpr std::size_t next_to_grow(std::size_t sets, Least least, Most most,
                                                 const pods_by_set& has, set_growth by = set_growth::evenly) {
  std::size_t next = sets;
  for (std::size_t s = 0; s < sets; ++s) {
    if (has[s] >= most(s)) continue;
    const auto part = [&](std::size_t of) {
      return by == set_growth::by_minimum ? std::uint64_t{has[of]} : std::uint64_t{has[of]} - least(of);
    };
    const auto whole = [&](std::size_t of) {
      return by == set_growth::by_minimum ? std::uint64_t{least(of)} : std::uint64_t{most(of)} - least(of);
    };
    if (next == sets || part(s) * whole(next) < part(next) * whole(s)) next = s;
  }
  return next;
}
/// Which of them, grown by their minimums, has to give up a pod first: the one that has the most times its
/// own, of several the last. As many as there are sets if none has more than its minimum. O(sets).
template <class Least>
[[nodiscard]] constexpr std::size_t first_to_shrink(std::size_t sets, Least least, const pods_by_set& has) {
  std::size_t first = sets;
  for (std::size_t s = 0; s < sets; ++s) {
    if (has[s] <= least(s)) continue;
    if (first == sets || std::uint64_t{has[s]} * least(first) >= std::uint64_t{has[first]} * least(s))
      first = s;
  }
  return first;
}

/// How a number of pods is divided among the sets: the minimums, and then one pod after the other; fewer if
/// the sets may not have as many. Of fewer pods than the minimums, the first: set by set. Precondition: no
/// more sets than `most_pod_sets`, and no least is above its most. O(sets^2 log pods).
template <class Least, class Most>
[[nodiscard]] constexpr pods_by_set pods_of_sets(std::size_t sets, Least least, Most most,
                                                 std::uint64_t all) {
  pods_by_set has{};
  std::uint64_t sum = 0;
  for (std::size_t s = 0; s < sets; ++s) {
    has[s] = static_cast<std::uint32_t>(std::min<std::uint64_t>(least(s), all - sum));
    sum += has[s];
  }
  if (all == sum) return has;
  const auto room = [&](std::size_t of) { return std::uint64_t{most(of)} - least(of); };
  // Pod k beyond the minimum comes when its set has k of its room: how many of all sets come before it?
  const auto before = [&](std::size_t set, std::uint64_t k) {
    std::uint64_t pods = k;
    for (std::size_t s = 0; s < sets; ++s) {
      if (s == set || room(s) == 0) continue;
      const std::uint64_t part = k * room(s);
      pods += s < set ? part / room(set) + 1 : (part + room(set) - 1) / room(set);
    }
    return pods;
  };
  for (std::size_t s = 0; s < sets; ++s) {
    std::uint64_t comes = 0;
    for (std::uint64_t too_many = room(s); comes < too_many;) {
      const std::uint64_t k = comes + (too_many - comes) / 2;
      before(s, k) < all - sum ? comes = k + 1 : too_many = k;
    }
    has[s] += static_cast<std::uint32_t>(comes);
  }
  return has;
}

}  // namespace v0
}  // namespace allot
