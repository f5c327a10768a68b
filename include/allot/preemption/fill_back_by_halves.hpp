// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Gives back the elements of [first, last) that `good()` does not need, last first. The result is that of
/// giving back one by one, provided that what is good stays good when more is taken. On entry all are taken;
/// `give_back(i)` and `take(i)` change that for one. Halves are tried whole before they are split: with k of
/// n needed, O(k log n) calls of `good` and O(n + k log n) steps on average, O(n log n) at most.
template <class GiveBack, class Take, class Good>
void fill_back_by_halves(std::size_t first, std::size_t last, GiveBack give_back, Take take, Good good) {
  if (first == last) return;
  for (std::size_t i = last; i-- > first;) give_back(i);
  if (good()) return;
  for (std::size_t i = first; i < last; ++i) take(i);
  if (last - first == 1) return;
  const std::size_t middle = first + (last - first) / 2;
  fill_back_by_halves(middle, last, give_back, take, good);
  fill_back_by_halves(first, middle, give_back, take, good);
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
