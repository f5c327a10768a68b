// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstddef>
#include <span>  // the concepts of iterators; <iterator> itself costs a streambuf
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
/// The algorithms that the library uses with many types, at a fraction of what those of the standard library
/// cost the compiler: there a sort is some twenty functions for each comparison, here it is three.
namespace detail {

/// The first element that satisfies the predicate, or `last`.
template <class Iterator, class Predicate>
[[nodiscard]] constexpr Iterator find_if(Iterator first, Iterator last, Predicate is) {
  while (first != last && !is(*first)) ++first;
  return first;
}
/// The first element that equals the value, or `last`.
template <class Iterator, class T>
[[nodiscard]] constexpr Iterator find(Iterator first, Iterator last, const T& value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}
/// Whether an element satisfies the predicate.
template <class Iterator, class Predicate>
[[nodiscard]] constexpr bool any_of(Iterator first, Iterator last, Predicate is) {
  for (; first != last; ++first) {
    if (is(*first)) return true;
  }
  return false;
}
/// Whether all elements satisfy the predicate.
template <class Iterator, class Predicate>
[[nodiscard]] constexpr bool all_of(Iterator first, Iterator last, Predicate is) {
  for (; first != last; ++first) {
    if (!is(*first)) return false;
  }
  return true;
}
/// Whether no element satisfies the predicate.
template <class Iterator, class Predicate>
[[nodiscard]] constexpr bool none_of(Iterator first, Iterator last, Predicate is) {
  return !detail::any_of(first, last, is);
}
/// The first element that does not satisfy the predicate, or `last`. Those that do precede those that do not.
template <class T, class Predicate>
[[nodiscard]] constexpr T* partition_point(T* first, T* last, Predicate is) {
  while (first != last) {
    T* const middle = first + (last - first) / 2;
    if (is(*middle)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// A comparison that is called through a pointer, so that the sorts of a type share their code. It refers to
/// the one that it was made from.
template <class T>
class comparison {
 public:
  template <class Less>
  explicit comparison(Less& less) noexcept
      : less_(&less),
        call_([](void* f, const T& a, const T& b) -> bool { return (*static_cast<Less*>(f))(a, b); }) {}
  [[nodiscard]] bool operator()(const T& a, const T& b) const { return call_(less_, a, b); }

 private:
  void* less_;
  bool (*call_)(void*, const T&, const T&);
};

/// Moves the element at `i` of a heap of `size` elements down to where it belongs.
template <class T, class Less>
void sift_down(T* heap, std::size_t i, std::size_t size, const Less& less) {
  T moved = std::move(heap[i]);
  for (;;) {
    std::size_t child = 2 * i + 1;
    if (child >= size) break;
    if (child + 1 < size && less(heap[child], heap[child + 1])) ++child;
    if (!less(moved, heap[child])) break;
    heap[i] = std::move(heap[child]);
    i = child;
  }
  heap[i] = std::move(moved);
}

/// @{
/// Heaps of contiguous elements, as those of the standard library: the last by `less` is in front.
template <class T, class Less>
void make_heap(T* first, T* last, const Less& less) {
  const auto size = static_cast<std::size_t>(last - first);
  for (std::size_t i = size / 2; i-- > 0;) detail::sift_down(first, i, size, less);
}
template <class T, class Less>
void push_heap(T* first, T* last, const Less& less) {
  auto i = static_cast<std::size_t>(last - first) - 1;
  T moved = std::move(first[i]);
  for (; i > 0 && less(first[(i - 1) / 2], moved); i = (i - 1) / 2) first[i] = std::move(first[(i - 1) / 2]);
  first[i] = std::move(moved);
}
template <class T, class Less>
void pop_heap(T* first, T* last, const Less& less) {
  std::swap(*first, last[-1]);
  detail::sift_down(first, 0, static_cast<std::size_t>(last - first) - 1, less);
}
/// @}

/// Sorts by a strict weak order, which all of the library's are total: what is equal may change places.
/// Quicksort with the median of three, a heap where that degenerates, insertion for short ranges: O(n log n),
/// no allocation.
template <class T>
[[gnu::noinline]] void sort_block(T* first, T* last, comparison<T> less) {
  struct range {
    T* first;
    T* last;
    int splits;
  };
  // The larger part waits here, so it never holds more than the width of a size.
  range waiting[8 * sizeof(std::size_t)];
  std::size_t count = 0;
  // Of a range that has been split more often the median is a bad guess.
  auto splits = 2 * static_cast<int>(std::bit_width(static_cast<std::size_t>(last - first)));
  for (;;) {
    while (last - first > 16) {
      if (--splits < 0) {
        detail::make_heap(first, last, less);
        for (; last - first > 1; --last) detail::pop_heap(first, last, less);
        last = first;
        break;
      }
      T* const middle = first + (last - first) / 2;
      if (less(*middle, *first)) std::swap(*middle, *first);
      if (less(last[-1], *middle)) {
        std::swap(last[-1], *middle);
        if (less(*middle, *first)) std::swap(*middle, *first);
      }
      const T pivot = *middle;
      T* i = first;
      T* j = last - 1;
      while (i <= j) {
        while (less(*i, pivot)) ++i;
        while (less(pivot, *j)) --j;
        if (i <= j) std::swap(*i++, *j--);
      }
      // [first, j] are not after the pivot, [i, last) not before it, and what is between equals it.
      if (j + 1 - first < last - i) {
        waiting[count++] = {i, last, splits};
        last = j + 1;
      } else {
        waiting[count++] = {first, j + 1, splits};
        first = i;
      }
    }
    for (T* next = first; next != last; ++next) {
      T moved = std::move(*next);
      T* to = next;
      for (; to != first && less(moved, to[-1]); --to) *to = std::move(to[-1]);
      *to = std::move(moved);
    }
    if (count == 0) return;
    --count;
    first = waiting[count].first;
    last = waiting[count].last;
    splits = waiting[count].splits;
  }
}
/// Sorts contiguous elements.
template <std::contiguous_iterator Iterator, class Less>
void sort(Iterator first, Iterator last, Less less) {
  if (first == last) return;
  auto* const block = &*first;
  detail::sort_block(block, block + (last - first),
                     comparison<std::remove_reference_t<decltype(*first)>>{less});
}
/// The same by `<`.
template <std::contiguous_iterator Iterator>
void sort(Iterator first, Iterator last) {
  detail::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
