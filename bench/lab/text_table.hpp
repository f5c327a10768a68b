// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A table for a terminal: the first column is left-aligned, the others, which are figures, right-aligned.
class text_table {
 public:
  explicit text_table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }

  /// Adds a row with as many cells as the head.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
    }
    std::string all;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (c != 0) line.append(2 + widths[c] - width_of(row[c]), ' ');
        line += row[c];
        if (c == 0) line.append(widths[c] - width_of(row[c]), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      all.append(line).append("\n");
    }
    return all;
  }

 private:
  /// In UTF-8 characters.
  [[nodiscard]] static std::size_t width_of(const std::string& cell) {
    return static_cast<std::size_t>(std::count_if(
        cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  }

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
