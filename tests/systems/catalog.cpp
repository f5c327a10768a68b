// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/catalog.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

TEST_CASE("catalog: names are unique, each has a summary and is found by its name") {
  std::set<std::string> names;
  allot::for_each_preset([&](auto p) {
    static_assert(allot::preset<decltype(p)>);
    CHECK(names.insert(std::string{p.name}).second);
    CHECK_FALSE(std::string_view{p.summary}.empty());
    std::string_view found;
    CHECK(allot::with_preset(p.name, [&](auto q) { found = q.name; }));
    CHECK(found == p.name);
  });
  CHECK(names.count("standard") == 1);
}

TEST_CASE("catalog: an unknown name finds no preset") {
  bool called = false;
  CHECK_FALSE(allot::with_preset("Standard", [&](auto) { called = true; }));
  CHECK_FALSE(called);
}
