// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>

#include <compare>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>  // what is needed of iterators, too; <iterator> itself costs a streambuf

namespace allot {
inline namespace v0 {

namespace detail {

/// One place for the check of every index, so that each type does not bring a message of its own.
constexpr void check_index(std::size_t index, std::size_t size) {
  ALLOT_ASSERT(index < size, "a vector has no such element");
  static_cast<void>(index);
  static_cast<void>(size);
}
/// A block for as many elements of a size. One that can't be counted is one that can't be had.
[[nodiscard]] inline void* allocate(std::size_t count, std::size_t size) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  return ::operator new(count > most / size ? most : count * size);
}
inline void copy_bytes(void* to, const void* from, std::size_t size) noexcept {
  if (size > 0) std::memcpy(to, from, size);
}

}  // namespace detail

/// A dynamic array: of `std::vector` what the library uses, with the same names and complexity, at an eighth
/// of its cost for the compiler (a scheduler has some forty types of elements). Iterators are pointers.
///
/// It converts from and to `std::vector`, by copying. An index out of range is refused by `ALLOT_ASSERT`, and
/// `vector<bool>` holds elements like any other. Allocation fails as `operator new` does. If the move
/// constructor of an element throws while the vector grows, the vector is unchanged and the new block is
/// lost.
template <class T>
class vector {
 public:
  /// @{
  /// As of `std::vector`; iterators are pointers.
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;
  /// @}

  constexpr vector() noexcept = default;
  explicit vector(std::size_t count) { resize(count); }
  vector(std::size_t count, const T& value) { resize(count, value); }
  vector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  template <std::input_iterator Iterator>
  vector(Iterator first, Iterator last) {
    append(first, last);
  }
  template <class Allocator>
  vector(const std::vector<T, Allocator>& other) {
    append(other.begin(), other.end());
  }
  vector(const vector& other) { append(other.first_, other.last_); }
  vector(vector&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  vector& operator=(const vector& other) {
    if (this != &other) assign(other.first_, other.last_);
    return *this;
  }
  vector& operator=(vector&& other) noexcept {
    vector old(std::move(*this));
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(end_, other.end_);
    return *this;
  }
  ~vector() {
    clear();
    deallocate(first_);
  }
  template <class Allocator>
  [[nodiscard]] operator std::vector<T, Allocator>() const {
    return std::vector<T, Allocator>(begin(), end());
  }

  /// @{
  /// As of `std::vector`. Precondition where an element is asked for: it is there (`ALLOT_ASSERT`).
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(last_ - first_); }
  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - first_); }
  [[nodiscard]] bool empty() const noexcept { return first_ == last_; }
  [[nodiscard]] T* data() noexcept { return first_; }
  [[nodiscard]] const T* data() const noexcept { return first_; }
  [[nodiscard]] T* begin() noexcept { return first_; }
  [[nodiscard]] T* end() noexcept { return last_; }
  [[nodiscard]] const T* begin() const noexcept { return first_; }
  [[nodiscard]] const T* end() const noexcept { return last_; }
  [[nodiscard]] auto rbegin() noexcept { return std::reverse_iterator<T*>(last_); }
  [[nodiscard]] auto rend() noexcept { return std::reverse_iterator<T*>(first_); }
  [[nodiscard]] auto rbegin() const noexcept { return std::reverse_iterator<const T*>(last_); }
  [[nodiscard]] auto rend() const noexcept { return std::reverse_iterator<const T*>(first_); }
  [[nodiscard]] T& operator[](std::size_t i) {
    detail::check_index(i, size());
    return first_[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    detail::check_index(i, size());
    return first_[i];
  }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[size() - 1]; }
  [[nodiscard]] const T& back() const { return (*this)[size() - 1]; }

  /// @}

  /// @{
  /// As of `std::vector`.
  void reserve(std::size_t count) {
    if (count > capacity()) move_to_block(count);
  }
  void clear() noexcept { shrink_to(first_); }
  void resize(std::size_t count) {
    if (count <= size()) return shrink_to(first_ + count);
    grow_to(count);
    for (T* const to = first_ + count; last_ != to; ++last_) ::new (static_cast<void*>(last_)) T();
  }
  /// @}
  /// New elements are copies of `value`, which is no element of this vector.
  void resize(std::size_t count, const T& value) {
    if (count <= size()) return shrink_to(first_ + count);
    grow_to(count);
    for (T* const to = first_ + count; last_ != to; ++last_) ::new (static_cast<void*>(last_)) T(value);
  }
  /// Replaces the content by copies of `value`, which is no element of this vector.
  void assign(std::size_t count, const T& value) {
    clear();
    resize(count, value);
  }
  /// Replaces the content by that of the range, which is no part of this vector.
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  /// @{
  /// As of `std::vector`: what is added may be, or be made of, an element of this vector.
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (last_ == end_) {
      // What it is made of may be an element of this vector.
      T made(std::forward<Args>(args)...);
      grow_to(size() + 1);
      ::new (static_cast<void*>(last_)) T(std::move(made));
    } else {
      ::new (static_cast<void*>(last_)) T(std::forward<Args>(args)...);
    }
    return *last_++;
  }
  void pop_back() {
    detail::check_index(0, size());
    shrink_to(last_ - 1);
  }
  T* insert(const T* before, T value) {
    const std::ptrdiff_t i = before - first_;
    emplace_back(std::move(value));
    T* const to = first_ + i;
    if (to == last_ - 1) return to;
    T moved = std::move(last_[-1]);
    for (T* x = last_ - 1; x != to; --x) *x = std::move(x[-1]);
    *to = std::move(moved);
    return to;
  }
  /// @}
  /// Appends the range, which is no part of this vector.
  template <std::input_iterator Iterator>
  void append(Iterator first, Iterator last) {
    if constexpr (std::forward_iterator<Iterator>) {
      if (first != last) grow_to(size() + static_cast<std::size_t>(std::distance(first, last)));
    }
    for (; first != last; ++first) emplace_back(*first);
  }
  /// The same with a list.
  void append(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  /// @{
  /// As of `std::vector`.
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* first, const T* last) {
    T* const at = first_ + (first - first_);
    if (first == last) return at;
    T* out = at;
    for (T* x = first_ + (last - first_); x != last_; ++x, ++out) *out = std::move(*x);
    shrink_to(out);
    return at;
  }
  /// @}

  [[nodiscard]] friend bool operator==(const vector& a, const vector& b) {
    if (a.size() != b.size()) return false;
    for (const T *x = a.first_, *y = b.first_; x != a.last_; ++x, ++y) {
      if (!(*x == *y)) return false;
    }
    return true;
  }
  [[nodiscard]] friend auto operator<=>(const vector& a,
                                        const vector& b) requires std::three_way_comparable<T> {
    const T* x = a.first_;
    const T* y = b.first_;
    for (; x != a.last_ && y != b.last_; ++x, ++y) {
      if (const auto order = *x <=> *y; order != 0) return order;
    }
    return std::compare_three_way_result_t<T>{a.size() <=> b.size()};
  }
  /// Removes the elements that equal the value, which is none of them. Returns how many went.
  template <class U>
  friend std::size_t erase(vector& v, const U& value) {
    return erase_if(v, [&](const T& x) { return x == value; });
  }
  /// Removes the elements that satisfy the predicate; the others keep their order. Returns how many went.
  template <class Predicate>
  friend std::size_t erase_if(vector& v, Predicate gone) {
    T* x = v.first_;
    while (x != v.last_ && !gone(*x)) ++x;
    T* out = x;
    for (; x != v.last_; ++x) {
      if (!gone(*x)) *out++ = std::move(*x);
    }
    const auto count = static_cast<std::size_t>(v.last_ - out);
    v.shrink_to(out);
    return count;
  }

 private:
  static constexpr bool is_plain = std::is_trivially_copyable_v<T>;
  static constexpr bool is_aligned = alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  void shrink_to(T* last) noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      last_ = last;
    } else {
      while (last_ != last) (--last_)->~T();
    }
  }
  void grow_to(std::size_t count) {
    if (count > capacity()) move_to_block(count < 2 * capacity() ? 2 * capacity() : count);
  }
  /// Out of line: where something is added there is little code, which a compiler need not copy.
  [[gnu::noinline]] void move_to_block(std::size_t capacity) {
    const std::size_t count = size();
    T* block;
    if constexpr (is_aligned) {
      block = static_cast<T*>(detail::allocate(capacity, sizeof(T)));
    } else {
      block = static_cast<T*>(::operator new (capacity * sizeof(T), std::align_val_t{alignof(T)}));
    }
    if constexpr (is_plain) {
      detail::copy_bytes(block, first_, count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(block + i)) T(std::move(first_[i]));
      clear();
    }
    deallocate(first_);
    first_ = block;
    last_ = block + count;
    end_ = block + capacity;
  }
  static void deallocate(T* block) noexcept {
    if constexpr (is_aligned) {
      ::operator delete(block);
    } else {
      ::operator delete (block, std::align_val_t{alignof(T)});
    }
  }

  T* first_ = nullptr;
  T* last_ = nullptr;
  T* end_ = nullptr;
};

}  // namespace v0
}  // namespace allot
