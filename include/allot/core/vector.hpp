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
[[nodiscard]] inline void* allocate(std::size_t count, std::size_t size, std::size_t alignment = 1) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  const std::size_t bytes = count > most / size ? most : count * size;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return ::operator new(bytes);
  return ::operator new (bytes, std::align_val_t{alignment});
}
inline void copy_bytes(void* to, const void* from, std::size_t size) noexcept {
  if (size > 0) std::memcpy(to, from, size);
}

/// What of a vector does not depend on its elements, so that it is compiled once: the block, up to where it
/// is used and where it ends.
class vector_block {
 public:
  constexpr vector_block() noexcept = default;
  [[gnu::noinline]] vector_block(vector_block&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  vector_block& operator=(vector_block&&) = delete;

 protected:
  ~vector_block() = default;

  void swap(vector_block& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(end_, other.end_);
  }
  [[nodiscard]] bool is_full() const noexcept { return last_ == end_; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return bytes_from(first_, last_); }
  [[nodiscard]] std::size_t all_bytes() const noexcept { return bytes_from(first_, end_); }
  /// Takes a block of that many elements of a size instead, which holds as many bytes of the old one as are
  /// used. Returns the old one.
  void* take(void* block, std::size_t count, std::size_t size) noexcept {
    last_ = static_cast<char*>(block) + used_bytes();
    end_ = static_cast<char*>(block) + count * size;
    return std::exchange(first_, block);
  }
  [[gnu::noinline]] void free() noexcept { ::operator delete(first_); }
  /// Moves plain elements of that size to a block of `count`.
  [[gnu::noinline]] void move_plain(std::size_t count, std::size_t size) {
    void* const block = detail::allocate(count, size);
    copy_bytes(block, first_, used_bytes());
    ::operator delete(take(block, count, size));
  }
  /// Makes room for `count` more plain elements of that size.
  [[gnu::noinline]] void make_plain_room(std::size_t count, std::size_t size) {
    if (std::size_t bytes = 0;
        !__builtin_mul_overflow(count, size, &bytes) && bytes <= bytes_from(last_, end_))
      return;
    // After one element mostly come others: the first block is at least a cache line.
    const std::size_t least = all_bytes() == 0 && count == 1 ? least_bytes : 2 * all_bytes();
    const std::size_t needed = used_bytes() / size + count;
    move_plain(needed < least / size ? least / size : needed, size);
  }
  /// Appends the bytes of `count` plain elements of that size, which are not in this block.
  [[gnu::noinline]] void append_plain(const void* from, std::size_t count, std::size_t size) {
    make_plain_room(count, size);
    copy_bytes(last_, from, count * size);
    last_ = static_cast<char*>(last_) + count * size;
  }

  static constexpr std::size_t least_bytes = 64;

  void* first_ = nullptr;
  void* last_ = nullptr;
  void* end_ = nullptr;

 private:
  [[nodiscard]] static std::size_t bytes_from(const void* a, const void* b) noexcept {
    return static_cast<std::size_t>(static_cast<const char*>(b) - static_cast<const char*>(a));
  }
};

}  // namespace detail

/// A dynamic array: of `std::vector` what the library uses, with the same names and complexity, at an eighth
/// of its cost for the compiler (a scheduler has some forty types of elements). Iterators are pointers.
///
/// It converts from and to `std::vector`, by copying. An index out of range is refused by `ALLOT_ASSERT`, and
/// `vector<bool>` holds elements like any other. Allocation fails as `operator new` does. If the move
/// constructor of an element throws while the vector grows, the vector is unchanged and the new block is
/// lost.
template <class T>
class vector : private detail::vector_block {
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
  template <class Allocator>
  vector(std::vector<T, Allocator>&& other) {
    append(std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
  }
  vector(const vector& other) : vector_block() { append(other.begin(), other.end()); }
  vector(vector&& other) noexcept = default;
  vector& operator=(const vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  vector& operator=(vector&& other) noexcept {
    vector old(std::move(*this));
    swap(other);
    return *this;
  }
  ~vector() {
    if constexpr (is_aligned && std::is_trivially_destructible_v<T>) {
      free();
    } else {
      clear();
      deallocate(first_);
    }
  }
  template <class Allocator>
  [[nodiscard]] operator std::vector<T, Allocator>() const {
    return std::vector<T, Allocator>(begin(), end());
  }

  /// @{
  /// As of `std::vector`. Precondition where an element is asked for: it is there (`ALLOT_ASSERT`).
  [[nodiscard]] std::size_t size() const noexcept { return used_bytes() / sizeof(T); }
  [[nodiscard]] std::size_t capacity() const noexcept { return all_bytes() / sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return first_ == last_; }
  [[nodiscard]] T* data() noexcept { return static_cast<T*>(first_); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<T*>(first_); }
  [[nodiscard]] T* begin() noexcept { return static_cast<T*>(first_); }
  [[nodiscard]] T* end() noexcept { return static_cast<T*>(last_); }
  [[nodiscard]] const T* begin() const noexcept { return static_cast<T*>(first_); }
  [[nodiscard]] const T* end() const noexcept { return static_cast<T*>(last_); }
  [[nodiscard]] auto rbegin() noexcept { return std::reverse_iterator<T*>(end()); }
  [[nodiscard]] auto rend() noexcept { return std::reverse_iterator<T*>(begin()); }
  [[nodiscard]] auto rbegin() const noexcept { return std::reverse_iterator<const T*>(end()); }
  [[nodiscard]] auto rend() const noexcept { return std::reverse_iterator<const T*>(begin()); }
  [[nodiscard]] T& operator[](std::size_t i) {
    detail::check_index(i, size());
    return static_cast<T*>(first_)[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    detail::check_index(i, size());
    return static_cast<T*>(first_)[i];
  }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[size() - 1]; }
  [[nodiscard]] const T& back() const { return (*this)[size() - 1]; }

  /// @}

  /// @{
  /// As of `std::vector`.
  void reserve(std::size_t count) {
    if (count <= capacity()) return;
    if constexpr (is_plain) {
      move_plain(count, sizeof(T));
    } else {
      move_each(count);
    }
  }
  void clear() noexcept { shrink_to(begin()); }
  void resize(std::size_t count) {
    if (count <= size()) return shrink_to(begin() + count);
    grow_to(count);
    for (T* const to = begin() + count; last_ != to;) add();
  }
  /// @}
  /// New elements are copies of `value`, which is no element of this vector.
  void resize(std::size_t count, const T& value) {
    if (count <= size()) return shrink_to(begin() + count);
    grow_to(count);
    for (T* const to = begin() + count; last_ != to;) add(value);
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
    if (!is_full()) return add(std::forward<Args>(args)...);
    // What it is made of may be an element of this vector.
    if constexpr (is_plain) {
      const T made(std::forward<Args>(args)...);
      make_plain_room(1, sizeof(T));
      return add(made);
    } else {
      return add_to_full(std::forward<Args>(args)...);
    }
  }
  void pop_back() {
    detail::check_index(0, size());
    shrink_to(end() - 1);
  }
  T* insert(const T* before, T value) {
    const std::ptrdiff_t i = before - begin();
    emplace_back(std::move(value));
    T* const to = begin() + i;
    T* const last = end() - 1;
    if (to == last) return to;
    T moved = std::move(*last);
    for (T* x = last; x != to; --x) *x = std::move(x[-1]);
    *to = std::move(moved);
    return to;
  }
  /// @}
  /// Appends the range, which is no part of this vector.
  template <std::input_iterator Iterator>
  void append(Iterator first, Iterator last) {
    if constexpr (is_plain && std::is_same_v<std::remove_const_t<std::remove_pointer_t<Iterator>>, T>) {
      append_plain(first, static_cast<std::size_t>(last - first), sizeof(T));
    } else if constexpr (std::forward_iterator<Iterator>) {
      if (first != last) grow_to(size() + static_cast<std::size_t>(std::distance(first, last)));
      for (; first != last; ++first) add(*first);
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  /// The same with a list.
  void append(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  /// @{
  /// As of `std::vector`.
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* first, const T* last) {
    T* const at = begin() + (first - begin());
    if (first == last) return at;
    T* out = at;
    for (T* x = at + (last - first); x != last_; ++x, ++out) *out = std::move(*x);
    shrink_to(out);
    return at;
  }
  /// @}

  [[nodiscard]] friend bool operator==(const vector& a, const vector& b) {
    if (a.size() != b.size()) return false;
    for (const T *x = a.begin(), *y = b.begin(); x != a.last_; ++x, ++y) {
      if (!(*x == *y)) return false;
    }
    return true;
  }
  [[nodiscard]] friend auto operator<=>(const vector& a,
                                        const vector& b) requires std::three_way_comparable<T> {
    const T* x = a.begin();
    const T* y = b.begin();
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
    T* x = v.begin();
    while (x != v.last_ && !gone(*x)) ++x;
    T* out = x;
    for (; x != v.last_; ++x) {
      if (!gone(*x)) *out++ = std::move(*x);
    }
    const auto count = static_cast<std::size_t>(v.end() - out);
    v.shrink_to(out);
    return count;
  }

 private:
  static constexpr bool is_aligned = alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static constexpr bool is_plain = std::is_trivially_copyable_v<T> && is_aligned;

  /// Precondition: there is room.
  template <class... Args>
  T& add(Args&&... args) {
    T* const at = ::new (last_) T(std::forward<Args>(args)...);
    last_ = at + 1;
    return *at;
  }
  /// Out of line, as growth is: where something is added there is little code, which a compiler need not
  /// copy.
  template <class... Args>
  [[gnu::noinline]] T& add_to_full(Args&&... args) {
    T made(std::forward<Args>(args)...);
    grow_to(size() + 1);
    return add(std::move(made));
  }
  void shrink_to(T* last) noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (last_ != last) destroy_from(last);
    }
    last_ = last;
  }
  [[gnu::noinline]] void destroy_from(T* last) noexcept {
    for (T* x = end(); x != last;) (--x)->~T();
  }
  /// Precondition: not less than there are.
  void grow_to(std::size_t count) {
    if constexpr (is_plain) {
      make_plain_room(count - size(), sizeof(T));
    } else if (count > capacity()) {
      move_each(count < 2 * capacity() ? 2 * capacity() : count);
    }
  }
  [[gnu::noinline]] void move_each(std::size_t capacity) {
    void* const block = detail::allocate(capacity, sizeof(T), alignof(T));
    T* to = static_cast<T*>(block);
    for (T& x : *this) ::new (static_cast<void*>(to++)) T(std::move(x));
    for (T& x : *this) x.~T();
    deallocate(take(block, capacity, sizeof(T)));
  }
  static void deallocate(void* block) noexcept {
    if constexpr (is_aligned) {
      ::operator delete(block);
    } else {
      ::operator delete (block, std::align_val_t{alignof(T)});
    }
  }
};

}  // namespace v0
}  // namespace allot
