// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace allot_test {

/// Ends the program, as a fuzzer requires, when the expectation does not hold.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The text in pieces of a few bytes, so that everything is at a boundary once.
class piecewise_source {
 public:
  explicit piecewise_source(std::string_view text) : rest_(text) {}

  std::ptrdiff_t operator()(char* to, std::size_t size) {
    const std::size_t n = std::min({size, rest_.size(), 1 + calls_++ % 7});
    rest_.copy(to, n);
    rest_.remove_prefix(n);
    return static_cast<std::ptrdiff_t>(n);
  }

 private:
  std::string_view rest_;
  std::size_t calls_ = 0;
};

}  // namespace allot_test
