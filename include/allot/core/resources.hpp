// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot {
inline namespace v0 {

/// One value of `T` for each of `N` dimensions. A single value applies to all of them; for amounts this
/// conversion is explicit unless there is only one dimension, lest four GPUs become four of everything.
template <class T, std::size_t N>
class per_dimension {
 public:
  static_assert(N > 0, "allot: at least one dimension is required");

  constexpr per_dimension() noexcept = default;
  /// The same value in every dimension.
  explicit(N > 1 && std::same_as<T, quantity>) constexpr per_dimension(T every) noexcept {
    values_.fill(every);
  }
  template <std::same_as<T>... Ts>
  requires(sizeof...(Ts) == N && N > 1) constexpr per_dimension(Ts... values) noexcept : values_{values...} {}
  /// @{
  /// The same, where one may be `{}`.
  constexpr per_dimension(T first, T second) noexcept requires(N == 2) : values_{first, second} {}
  constexpr per_dimension(T first, T second, T third) noexcept requires(N == 3)
      : values_{first, second, third} {}
  /// @}
  /// Values for another number of dimensions: an error that says so.
  template <std::same_as<T>... Ts>
  requires(sizeof...(Ts) != N && sizeof...(Ts) > 1) constexpr per_dimension(Ts...) noexcept {
    static_assert(sizeof...(Ts) == N,
                  "allot: there must be one value for each dimension, as in resources<2>{gpus(4), gpus(16)}");
  }
  /// Numbers, of which nobody can tell whether they are thousandths: an error that says so.
  template <class... Numbers>
  requires(std::same_as<T, quantity> && sizeof...(Numbers) > 0 &&
           (std::is_arithmetic_v<Numbers> && ...)) constexpr per_dimension(Numbers...) noexcept {
    static_assert(sizeof...(Numbers) == 0,
                  "allot: a number is no amount: write gpus(4) or quantity::milli(500)");
  }
  /// Numbers, if they convert to `T`: one, or one for each dimension. `fair_weight` has such a conversion
  /// only for its error message, which no one would read if the number did not get there.
  template <class... Numbers>
  requires(std::is_class_v<T> && (sizeof...(Numbers) == 1 || sizeof...(Numbers) == N) &&
           (std::is_arithmetic_v<Numbers> && ...) &&
           (std::convertible_to<Numbers, T> && ...)) constexpr per_dimension(Numbers... numbers) noexcept
      : per_dimension(T(numbers)...) {}

  [[nodiscard]] constexpr T& operator[](std::size_t dimension) noexcept { return values_[dimension]; }
  [[nodiscard]] constexpr const T& operator[](std::size_t dimension) const noexcept {
    return values_[dimension];
  }
  /// The number of dimensions.
  [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
  /// @{
  /// The values in the order of the dimensions, for reading.
  [[nodiscard]] constexpr auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const noexcept { return values_.end(); }
  /// @}

  friend constexpr auto operator<=>(const per_dimension&, const per_dimension&) noexcept = default;
  friend constexpr bool operator==(const per_dimension&, const per_dimension&) noexcept = default;

 private:
  std::array<T, N> values_{};
};

/// Amounts of the `N` resources that a quota tree counts. The names of the dimensions ("gpu", "h100/gpu") are
/// kept outside the tree, in `dimension_names` (core/dimension_names.hpp).
template <std::size_t N = 1>
using resources = per_dimension<quantity, N>;

template <std::size_t N>
constexpr resources<N>& operator+=(resources<N>& a, const resources<N>& b) noexcept {
  for (std::size_t d = 0; d < N; ++d) a[d] += b[d];
  return a;
}
template <std::size_t N>
constexpr resources<N>& operator-=(resources<N>& a, const resources<N>& b) noexcept {
  for (std::size_t d = 0; d < N; ++d) a[d] -= b[d];
  return a;
}
template <std::size_t N>
[[nodiscard]] constexpr resources<N> operator+(resources<N> a, const resources<N>& b) noexcept {
  return a += b;
}
template <std::size_t N>
[[nodiscard]] constexpr resources<N> operator-(resources<N> a, const resources<N>& b) noexcept {
  return a -= b;
}
template <std::size_t N>
[[nodiscard]] constexpr resources<N> operator*(resources<N> a, std::int64_t n) noexcept {
  for (std::size_t d = 0; d < N; ++d) a[d] = a[d] * n;
  return a;
}

/// Whether every dimension of `a` is at most that of `b`.
template <std::size_t N>
[[nodiscard]] constexpr bool all_at_most(const resources<N>& a, const resources<N>& b) noexcept {
  for (std::size_t d = 0; d < N; ++d) {
    if (a[d] > b[d]) return false;
  }
  return true;
}

/// A sum of amounts that may exceed the range of a `quantity`. It is exact, so amounts that were added can be
/// subtracted again; it reads as `unlimited` while it is out of range.
template <std::size_t N = 1>
class exact_sum {
 public:
  constexpr exact_sum& operator+=(const resources<N>& r) noexcept {
    for (std::size_t d = 0; d < N; ++d) sums_[d] += r[d].in_milli();
    return *this;
  }
  constexpr exact_sum& operator-=(const resources<N>& r) noexcept {
    for (std::size_t d = 0; d < N; ++d) sums_[d] -= r[d].in_milli();
    return *this;
  }
  /// Adds to one dimension.
  constexpr void add(std::size_t dimension, quantity q) noexcept { sums_[dimension] += q.in_milli(); }
  /// The sum, `unlimited` if it can't be represented.
  [[nodiscard]] constexpr resources<N> amount() const noexcept {
    resources<N> r;
    for (std::size_t d = 0; d < N; ++d) r[d] = amount(d);
    return r;
  }
  /// That of one dimension.
  [[nodiscard]] constexpr quantity amount(std::size_t dimension) const noexcept {
    constexpr total most = quantity::unlimited().in_milli();
    return quantity::milli(static_cast<std::int64_t>(std::clamp(sums_[dimension], -most, most)));
  }

 private:
  __extension__ using total = __int128;
  std::array<total, N> sums_{};
};

/// Whether `r` is a valid request: no amount is negative or unlimited. A negative request would mint quota,
/// and an unlimited one indicates an overflow (Kueue #13391, #11137).
template <std::size_t N>
[[nodiscard]] constexpr bool is_valid_request(const resources<N>& r) noexcept {
  for (const quantity q : r) {
    if (q < quantity{} || q.is_unlimited()) return false;
  }
  return true;
}

}  // namespace v0
}  // namespace allot
