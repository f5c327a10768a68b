// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/ratio.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {

/// A positive floating-point number of 53 bits, as IEEE 754 rounds it (to nearest, ties to even). It is
/// computed in integers: so no compiler, flag or processor rounds differently, contracts two operations into
/// one or keeps more precision, and no decision depends on a floating-point type. The exponents of amounts
/// and weights are far from the limits of a double.
class rounded_number {
 public:
  /// The nearest number. Precondition: n > 0.
  [[nodiscard]] static constexpr rounded_number of(std::int64_t n) noexcept {
    return rounded(static_cast<wide>(n), false, 0);
  }
  friend constexpr rounded_number operator*(rounded_number a, rounded_number b) noexcept {
    return rounded(wide{a.mantissa_} * b.mantissa_, false, a.exponent_ + b.exponent_);
  }
  friend constexpr rounded_number operator/(rounded_number a, rounded_number b) noexcept {
    // At least 63 bits, and what is left only decides ties.
    constexpr int more = 64;
    const wide dividend = wide{a.mantissa_} << more;
    return rounded(dividend / b.mantissa_, dividend % b.mantissa_ != 0, a.exponent_ - b.exponent_ - more);
  }
  /// A number that is greater if and only if this one is: the bits of the double.
  [[nodiscard]] constexpr std::uint64_t key() const noexcept {
    constexpr int bias = 1075;
    return (static_cast<std::uint64_t>(exponent_ + bias) << (bits - 1)) + (mantissa_ - top);
  }

 private:
  static constexpr int bits = 53;
  static constexpr std::uint64_t top = std::uint64_t{1} << (bits - 1);

  constexpr rounded_number(std::uint64_t mantissa, int exponent) noexcept
      : mantissa_(mantissa), exponent_(exponent) {}
  /// m, and a little more if `has_rest`, times two to the power of e.
  [[nodiscard]] static constexpr rounded_number rounded(wide m, bool has_rest, int e) noexcept {
    for (; m < top; m <<= 1) --e;
    int below = 0;
    while (m >> (bits + below) != 0) ++below;
    if (below > 0) {
      const wide half = wide{1} << (below - 1);
      const wide rest = m & ((half << 1) - 1);
      m >>= below;
      e += below;
      if (rest > half || (rest == half && (has_rest || (m & 1) != 0))) ++m;
      if (m == wide{top} << 1) m >>= 1, ++e;
    }
    return {static_cast<std::uint64_t>(m), e};
  }

  /// In [top, 2 top); the number is mantissa * 2^exponent.
  std::uint64_t mantissa_;
  int exponent_;
};

/// A share as Kueue computes it: b * 1000 / lendable, each step rounded, in Kueue's units. `weighted` divides
/// it by the weight, rounded again. For comparisons with each other only.
struct float_share {
  ratio unweighted{};
  ratio weighted{};

  /// `weight` in thousandths. Precondition: both amounts are positive.
  [[nodiscard]] static constexpr float_share of(quantity borrowed, quantity lendable,
                                                std::int64_t weight) noexcept {
    std::int64_t part = borrowed.in_milli();
    std::int64_t whole = lendable.in_milli();
    // Kueue counts whole units, except of CPUs, where the quotient is the same.
    if (part % 1000 == 0 && whole % 1000 == 0) part /= 1000, whole /= 1000;
    const rounded_number thousand = rounded_number::of(1000);
    const rounded_number share = rounded_number::of(part) * thousand / rounded_number::of(whole);
    float_share result;
    result.unweighted = {share.key(), 1};
    result.weighted =
        weight == 0 ? ratio::infinite() : ratio{(share / (rounded_number::of(weight) / thousand)).key(), 1};
    return result;
  }
};

}  // namespace v0
}  // namespace allot
