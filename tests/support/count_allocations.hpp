// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <utility>

namespace allot_test {

/// How often this thread has called the global operator new (in any form) since it started.
[[nodiscard]] std::size_t allocations() noexcept;

/// Bytes that this thread allocated in this way and has not freed, as the allocator rounds them.
[[nodiscard]] std::ptrdiff_t bytes_in_use() noexcept;

/// How often `f()` calls operator new. Keep the checks outside `f`: doctest allocates.
template <class F>
[[nodiscard]] std::size_t allocations_in(F&& f) {
  const std::size_t before = allocations();
  std::forward<F>(f)();
  return allocations() - before;
}

}  // namespace allot_test
