// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <cstdint>

namespace allot {
inline namespace v0 {

/// An unsigned integer of 128 bits, for exact products of amounts.
__extension__ using wide = unsigned __int128;

/// Compares a/b with c/d exactly, whatever the size of the terms. A denominator of zero makes the fraction
/// infinite, unless its numerator is zero too: 0/0 is 0 (nothing used of nothing).
/// O(1) when the cross products fit 128 bits; otherwise Euclid's algorithm on both fractions, at most a few
/// hundred steps.
[[nodiscard]] constexpr std::strong_ordering compare_fractions(wide a, wide b, wide c, wide d) noexcept {
  constexpr wide one_word = wide{1} << 64;
  const auto order = [](wide x, wide y) {
    return x < y ? std::strong_ordering::less
                 : (x == y ? std::strong_ordering::equal : std::strong_ordering::greater);
  };
  if (a == 0 || c == 0) return order(a != 0 ? 1 : 0, c != 0 ? 1 : 0);
  if (b == 0 || d == 0) return order(b == 0 ? 1 : 0, d == 0 ? 1 : 0);
  if (a < one_word && b < one_word && c < one_word && d < one_word) return order(a * d, c * b);
  for (bool flipped = false;; flipped = !flipped) {
    const wide p = a / b;
    const wide q = c / d;
    if (p != q) return flipped ? order(q, p) : order(p, q);
    const wide r = a % b;
    const wide s = c % d;
    if (r == 0 || s == 0) {
      // The fraction with no remainder is the smaller; inverted, it is the larger.
      const auto plain = order(r != 0 ? 1 : 0, s != 0 ? 1 : 0);
      return flipped ? order(s != 0 ? 1 : 0, r != 0 ? 1 : 0) : plain;
    }
    a = b, b = r, c = d, d = s;
  }
}

/// A fraction that is compared exactly and never rounded. Not reduced: equal fractions compare equal
/// whatever their terms.
class ratio {
 public:
  /// Zero.
  constexpr ratio() noexcept = default;
  constexpr ratio(wide numerator, wide denominator) noexcept : num_(numerator), den_(denominator) {}
  /// Larger than any fraction with a denominator other than 0.
  [[nodiscard]] static constexpr ratio infinite() noexcept { return {1, 0}; }

  /// Whether the denominator is 0 and the numerator is not.
  [[nodiscard]] constexpr bool is_infinite() const noexcept { return den_ == 0 && num_ != 0; }
  /// Whether the numerator is 0.
  [[nodiscard]] constexpr bool is_zero() const noexcept { return num_ == 0; }
  /// For display only, never for a decision.
  [[nodiscard]] constexpr double approximate() const noexcept {
    return num_ == 0 ? 0.0 : static_cast<double>(num_) / static_cast<double>(den_);
  }

  friend constexpr std::strong_ordering operator<=>(const ratio& x, const ratio& y) noexcept {
    return compare_fractions(x.num_, x.den_, y.num_, y.den_);
  }
  friend constexpr bool operator==(const ratio& x, const ratio& y) noexcept { return (x <=> y) == 0; }

 private:
  wide num_ = 0;
  wide den_ = 1;
};

}  // namespace v0
}  // namespace allot
