// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v0 {

/// An amount of one resource, exact to a thousandth of a unit: one GPU is 1,000 milli.
///
/// Arithmetic saturates instead of wrapping, so a sum that does not fit is `unlimited` (and as a request is
/// never admissible) rather than a small or negative number. `unlimited` survives: adding to it or
/// subtracting from it leaves it unlimited. Subtraction can't undo saturation, so code that must restore a
/// value records it (see `journal`).
class quantity {
 public:
  constexpr quantity() noexcept = default;

  /// `n` thousandths of a unit. Values at or beyond the limits of the type saturate.
  [[nodiscard]] static constexpr quantity milli(std::int64_t n) noexcept {
    return quantity{n < lowest_value ? lowest_value : n};
  }
  /// `n` whole units.
  [[nodiscard]] static constexpr quantity whole(std::int64_t n) noexcept { return milli(1000) * n; }
  /// More than any bounded amount.
  [[nodiscard]] static constexpr quantity unlimited() noexcept { return quantity{unlimited_value}; }
  /// Less than any other amount: the result of subtracting an unlimited amount from a bounded one.
  [[nodiscard]] static constexpr quantity lowest() noexcept { return quantity{lowest_value}; }

  /// In thousandths of a unit; meaningless (the largest integer) when unlimited.
  [[nodiscard]] constexpr std::int64_t in_milli() const noexcept { return value_; }
  /// Whether it is the amount that exceeds every bounded one.
  [[nodiscard]] constexpr bool is_unlimited() const noexcept { return value_ == unlimited_value; }
  /// Whether it is neither `unlimited` nor `lowest`.
  [[nodiscard]] constexpr bool is_bounded() const noexcept {
    return value_ != unlimited_value && value_ != lowest_value;
  }

  [[nodiscard]] constexpr quantity operator-() const noexcept { return quantity{-value_}; }

  friend constexpr quantity operator+(quantity a, quantity b) noexcept {
    if (a.is_unlimited() || b.is_unlimited()) return unlimited();
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) {
      return a.value_ < 0 ? lowest() : unlimited();
    }
    return milli(sum);
  }
  friend constexpr quantity operator-(quantity a, quantity b) noexcept {
    if (a.is_unlimited()) return a;
    return b.is_unlimited() ? lowest() : a + -b;
  }
  friend constexpr quantity operator*(quantity a, std::int64_t n) noexcept {
    std::int64_t product = 0;
    if (a.is_unlimited() && n != 0) return n < 0 ? lowest() : unlimited();
    if (__builtin_mul_overflow(a.value_, n, &product)) {
      return (a.value_ < 0) != (n < 0) ? lowest() : unlimited();
    }
    return milli(product);
  }
  constexpr quantity& operator+=(quantity b) noexcept { return *this = *this + b; }
  constexpr quantity& operator-=(quantity b) noexcept { return *this = *this - b; }

  friend constexpr auto operator<=>(quantity, quantity) noexcept = default;
  friend constexpr bool operator==(quantity, quantity) noexcept = default;

 private:
  static constexpr std::int64_t unlimited_value = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t lowest_value = -unlimited_value;

  explicit constexpr quantity(std::int64_t value) noexcept : value_(value) {}

  std::int64_t value_ = 0;
};

/// `n` whole GPUs: `gpus(4)` reads better than `quantity::whole(4)` where the unit is a GPU.
[[nodiscard]] constexpr quantity gpus(std::int64_t n) noexcept {
  return quantity::whole(n);
}

}  // namespace v0
}  // namespace allot
