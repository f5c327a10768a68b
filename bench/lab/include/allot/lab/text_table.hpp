// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/printable.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// In UTF-8 characters.
[[nodiscard]] inline std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// A table for a terminal: the first column is left-aligned, the others, which are figures, right-aligned.
class text_table {
 public:
  /// With the heads of the columns: at least one.
  explicit text_table(vector<std::string> head) { add(std::move(head)); }

  /// Adds a row with as many cells as the head.
  void add(vector<std::string> row) {
    for (std::string& cell : row) cell = printable(cell);
    rows_.push_back(std::move(row));
  }

  /// At most so wide, as far as that can be: the columns that have no room come below, with the first one
  /// again. A column without a head stays with the one before it.
  [[nodiscard]] std::string text(std::size_t most = 80) const {
    const vector<std::string>& head = rows_.front();
    vector<std::size_t> widths(head.size());
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], characters_in(row[c]));
    }
    std::string all;
    std::size_t begin = 1;
    do {
      std::size_t end = begin;
      for (std::size_t width = 2 + widths.front(); end < head.size();) {
        std::size_t next = end;
        do {
          width += 2 + widths[next++];
        } while (next < head.size() && head[next].empty());
        if (width > most && end != begin) break;
        end = next;
      }
      if (begin != 1) all += '\n';
      for (const auto& row : rows_) append_line(all, row, widths, begin, end);
      begin = end;
    } while (begin < head.size());
    return all;
  }

 private:
  /// The first column, and those from `begin` to `end`.
  static void append_line(std::string& all, const vector<std::string>& row, const vector<std::size_t>& widths,
                          std::size_t begin, std::size_t end) {
    std::string line = "  " + row.front();
    line.append(widths.front() - characters_in(row.front()), ' ');
    for (std::size_t c = begin; c < std::min(end, row.size()); ++c) {
      line.append(2 + widths[c] - characters_in(row[c]), ' ').append(row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all.append(line).append("\n");
  }

  vector<vector<std::string>> rows_;
};

/// A text as Markdown shows it: nothing in it is markup.
[[nodiscard]] inline std::string markdown_text(std::string_view text) {
  constexpr std::string_view markup = "\\|`*<[]";
  std::string escaped;
  for (const char c : printable(text)) {
    if (markup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// A table of Markdown, with its head as the first row. Empty rows are left out.
[[nodiscard]] inline std::string markdown_table(const vector<vector<std::string>>& rows) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool is_empty =
        std::all_of(rows[r].begin(), rows[r].end(), [](const auto& c) { return c.empty(); });
    if (is_empty && r != 0) continue;
    for (const std::string& cell : rows[r]) text.append("| ").append(markdown_text(cell)).append(" ");
    text += "|\n";
    if (r != 0) continue;
    for (std::size_t c = 0; c < rows[r].size(); ++c) text += c == 0 ? "|---" : "|---:";
    text += "|\n";
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
