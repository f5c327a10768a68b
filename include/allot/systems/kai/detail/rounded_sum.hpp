// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {
namespace detail {

/// A sum of amounts as KAI-Scheduler v0.13 adds them: in double precision, every amount and every sum rounded
/// as IEEE 754 rounds it (to nearest, ties to even). It is computed in integers: so no compiler, flag or
/// processor rounds differently.
class rounded_sum {
 public:
  /// Precondition: `amount` is not negative.
  constexpr void add(quantity amount) noexcept {
    const wide scaled = static_cast<wide>(amount.in_milli()) << scale;
    sum_ = rounded(sum_ + rounded(scaled / 1000, scaled % 1000 != 0), false);
  }
  /// Whether it is at most this amount, rounded once.
  [[nodiscard]] constexpr bool is_within(quantity amount) const noexcept {
    rounded_sum other;
    other.add(amount);
    return sum_ <= other.sum_;
  }

 private:
  static constexpr int bits = 53;
  /// Thousandths keep all their bits and more, so that what is left of a division only decides ties.
  static constexpr int scale = 64;

  /// m, and a little more if `has_rest`, to 53 bits.
  [[nodiscard]] static constexpr wide rounded(wide m, bool has_rest) noexcept {
    int below = 0;
    while (m >> (bits + below) != 0) ++below;
    if (below == 0) return m;
    const wide half = wide{1} << (below - 1);
    const wide rest = m & ((half << 1) - 1);
    m -= rest;
    const bool is_odd = (m >> below & 1) != 0;
    return rest > half || (rest == half && (has_rest || is_odd)) ? m + (half << 1) : m;
  }

  /// In units of 2^-64.
  wide sum_ = 0;
};

/// Whether `used` and the pods of a request are within `bound` if the pods are added one by one, as KAI does,
/// and all else is rounded only once. Precondition: exactly, they are equal to it. Whole numbers are exact.
/// O(pods), if there are fractions.
[[nodiscard]] constexpr bool adds_up_within(quantity used, quantity pod, quantity request,
                                            quantity bound) noexcept {
  if (used.in_milli() % 1000 == 0 && pod.in_milli() % 1000 == 0) return true;
  if (used < quantity{} || pod <= quantity{} || !bound.is_bounded()) return true;
  rounded_sum sum;
  for (; request > pod; request -= pod) sum.add(pod);
  sum.add(request);
  sum.add(used);
  return sum.is_within(bound);
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
