// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/text_table.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The text in lines of at most `width` characters, broken at spaces, and where a word is longer than a line
/// after its commas. Those after the first have `hanging` characters less.
[[nodiscard]] inline vector<std::string> wrapped(std::string_view text, std::size_t width,
                                                 std::size_t hanging = 0) {
  vector<std::string> lines;
  std::string line;
  const auto room = [&] { return lines.empty() ? width : width - std::min(width, hanging); };
  const auto flush = [&] {
    lines.push_back(line);
    line.clear();
  };
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && characters_in(line) + 1 + characters_in(word) > room()) flush();
    if (!line.empty()) line += ' ';
    while (characters_in(word) > room() && word.find(',') + 1 < word.size()) {
      std::size_t end = word.find(',') + 1;
      for (std::size_t next = end;
           next != 0 && next < word.size() && characters_in(word.substr(0, next)) <= room();
           next = word.find(',', next) + 1) {
        end = next;
      }
      line += word.substr(0, end);
      word.remove_prefix(end);
      flush();
    }
    line += word;
  }
  if (!line.empty()) flush();
  return lines;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
