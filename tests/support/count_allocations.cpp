// SPDX-License-Identifier: BSL-1.0
#include "count_allocations.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t count = 0;
thread_local std::ptrdiff_t in_use = 0;

void* counted(void* memory) noexcept {
  ++count;
  in_use += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  return memory;
}
void release(void* memory) noexcept {
  in_use -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  std::free(memory);
}

void* allocate_or_null(std::size_t size) noexcept {
  return counted(std::malloc(size == 0 ? 1 : size));
}

void* allocate_or_null(std::size_t size, std::align_val_t alignment) noexcept {
  const auto align = static_cast<std::size_t>(alignment);
  // aligned_alloc requires a multiple of the alignment.
  return counted(std::aligned_alloc(align, (size / align + 1) * align));
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}

}  // namespace

std::size_t allot_test::allocations() noexcept {
  return count;
}
std::ptrdiff_t allot_test::bytes_in_use() noexcept {
  return in_use;
}

// Every form is replaced. Under AddressSanitizer an omitted one would be the sanitizer's and would not match
// our operator delete.
void* operator new(std::size_t size) {
  return checked(allocate_or_null(size));
}
void* operator new[](std::size_t size) {
  return checked(allocate_or_null(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return checked(allocate_or_null(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return checked(allocate_or_null(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, alignment);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
