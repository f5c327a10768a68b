// SPDX-License-Identifier: BSL-1.0
// Included before everything else: what libc++ 13, which comes with Emscripten 3.1.6, lacks of C++20's
// comparison. Newer ones have all of it. Names in std are the standard library's own to add; here they are,
// in its place, those that the standard requires.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000

_LIBCPP_BEGIN_NAMESPACE_STD

template <class T, class Category = partial_ordering>
concept three_way_comparable = requires(const remove_reference_t<T>& a, const remove_reference_t<T>& b) {
  { a == b } -> convertible_to<bool>;
  { a != b } -> convertible_to<bool>;
  { a < b } -> convertible_to<bool>;
  { a > b } -> convertible_to<bool>;
  { a <= b } -> convertible_to<bool>;
  { a >= b } -> convertible_to<bool>;
  { a <=> b } -> convertible_to<Category>;
};

template <class T, class U = T>
using compare_three_way_result_t =
    decltype(declval<const remove_reference_t<T>&>() <=> declval<const remove_reference_t<U>&>());

template <class T, class U>
constexpr auto operator<=>(const pair<T, U>& a, const pair<T, U>& b)
    -> common_comparison_category_t<compare_three_way_result_t<T>, compare_three_way_result_t<U>> {
  if (const auto order = a.first <=> b.first; order != 0) return order;
  return a.second <=> b.second;
}

template <class T, size_t N>
constexpr auto operator<=>(const array<T, N>& a, const array<T, N>& b) -> compare_three_way_result_t<T> {
  for (size_t i = 0; i < N; ++i) {
    if (const auto order = a[i] <=> b[i]; order != 0) return order;
  }
  return compare_three_way_result_t<T>::equivalent;
}

_LIBCPP_END_NAMESPACE_STD

#endif
