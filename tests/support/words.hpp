// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <set>
#include <string_view>

namespace allot_test {

/// Whether each of the `count` values from `first` on has its own word, and no further value has one.
template <class Enum>
[[nodiscard]] bool has_words(std::size_t count, std::size_t first = 0) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < count; ++i) words.insert(to_string(static_cast<Enum>(first + i)));
  return words.size() == count && !words.contains("") && to_string(static_cast<Enum>(first + count)).empty();
}

}  // namespace allot_test
