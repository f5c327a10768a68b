// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/name_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using namespace allot::lab;

TEST_CASE("name_table: texts are numbered in the order of first occurrence") {
  name_table names;
  CHECK(names.empty());
  CHECK(names.find("b").is_none());
  CHECK(names.intern("b").name == name_id{0});
  CHECK(names.intern("").name == name_id{1});
  CHECK(names.intern("a").added);
  CHECK_FALSE(names.intern("b").added);
  CHECK(names.intern("a").name == name_id{2});
  CHECK(names.size() == 3);
  CHECK(names[name_id{0}] == "b");
  CHECK(names[name_id{1}].empty());
  CHECK(names[name_id::none()].empty());
  CHECK(names.find("a") == name_id{2});
  CHECK(names.find("c").is_none());
}

TEST_CASE("name_table: agrees with a map on random texts, also after a copy") {
  allot_test::for_each_seed(30, [](allot_test::random_source& random) {
    name_table names;
    std::map<std::string, std::size_t> expected;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 600; ++i) {
      std::string text(random.below(4), 'x');
      for (char& c : text) c = static_cast<char>('a' + static_cast<char>(random.below(6)));
      const bool is_new = expected.emplace(text, expected.size()).second;
      if (is_new) texts.push_back(text);
      const name_table::interned got = names.intern(text);
      CHECK(got.added == is_new);
      CHECK(got.name == name_id{expected[text]});
    }
    const name_table copy = names;
    CHECK(copy.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CHECK(copy[name_id{i}] == texts[i]);
      CHECK(copy.find(texts[i]) == name_id{i});
    }
  });
}

TEST_CASE("name_table: known texts allocate nothing") {
  name_table names;
  for (int i = 0; i < 100; ++i) names.intern(std::to_string(i));
  const std::size_t allocated = allot_test::allocations_in([&] {
    for (const std::string_view text : {"7", "42", "99"}) names.intern(text);
  });
  CHECK(allocated == 0);
}
