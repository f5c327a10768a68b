// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/text_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using allot::lab::text_table;

TEST_CASE("text_table: the first column is left-aligned, the others right-aligned") {
  text_table t{{"", "a", "bb"}};
  t.add({"x", "12", "3"});
  t.add({"long", "", "4 ± 1"});
  CHECK(t.text() == "         a     bb\n  x     12      3\n  long      4 ± 1\n");
  CHECK(text_table{{"alone"}}.text() == "  alone\n");
}

TEST_CASE("text_table: columns without room come below") {
  text_table t{{"who", "one", "two", "", "three"}};
  t.add({"x", "1", "2", "+1 %", "3"});
  CHECK(t.text(100) == "  who  one  two        three\n  x      1    2  +1 %      3\n");
  // A column without a head is not parted from the one before it.
  CHECK(t.text(16) ==
        "  who  one\n  x      1\n\n"
        "  who  two\n  x      2  +1 %\n\n"
        "  who  three\n  x        3\n");
  CHECK(t.text(17) ==
        "  who  one\n  x      1\n\n  who  two\n  x      2  +1 %\n\n  who  three\n  x        3\n");
  // A single column may be wider than that.
  CHECK(t.text(1) == t.text(16));
}

TEST_CASE("text_table: no line is longer than 80 characters, whatever the number of columns") {
  std::vector<std::string> head = {"policy"};
  std::vector<std::string> row = {"static_quotas"};
  for (int i = 0; i < 30; ++i) {
    head.push_back("figure " + std::to_string(i));
    row.push_back(std::to_string(i) + ".5 h ± 3.0 min");
  }
  text_table t{head};
  t.add(row);
  const std::string text = t.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const auto is_one = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    CHECK(std::count_if(text.begin() + static_cast<std::ptrdiff_t>(at),
                        text.begin() + static_cast<std::ptrdiff_t>(end), is_one) <= 80);
    at = end + 1;
  }
  for (const std::string& cell : row) CHECK(text.find(cell) != std::string::npos);
}
