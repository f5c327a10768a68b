// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/pai.hpp>

#include "tests/presets/host.hpp"

#include <doctest/doctest.h>

#include <string>

using allot::gpus;
using host = allot_test::preset_host<allot::pai>;

namespace {

/// quota1 = 128 with 48 for B and 80 for C in it.
host three_teams() {
  return host{{{.name = "quota1", .nominal = gpus(128)},
               {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
               {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}}};
}

void fill(host& h) {
  for (int i = 0; i < 12; ++i) h.submit("b" + std::to_string(i), "quota1.1", 4);
  for (int i = 0; i < 20; ++i) h.submit("c" + std::to_string(i), "quota1.2", 4);
  h.settle();
  REQUIRE(h.used("quota1.1") == 48);
  REQUIRE(h.used("quota1.2") == 80);
}

}  // namespace

TEST_CASE("pai: a parent takes from its children in proportion, and exactly what it needs") {
  host h = three_teams();
  REQUIRE(h.scheduler().configure(h.quota("quota1"), {.preempt = {.children = true}}).empty());
  fill(h);
  for (int i = 0; i < 8; ++i) h.submit("a" + std::to_string(i), "quota1", 4);
  h.settle();
  CHECK(h.used("quota1") == 32);
  CHECK(h.used("quota1.1") == 36);
  CHECK(h.used("quota1.2") == 60);
  // No quota reclaims from above: the evicted jobs wait although they are within their own.
  CHECK(h.settle().empty());
  for (int i = 0; i < 8; ++i) h.finish("a" + std::to_string(i));
  h.settle();
  CHECK(h.used("quota1.1") == 48);
  CHECK(h.used("quota1.2") == 80);
}

TEST_CASE("pai: without the switch a parent's job waits for idle capacity") {
  host h = three_teams();
  fill(h);
  h.submit("a0", "quota1", 4, {.priority = 9});
  CHECK(h.settle().empty());
  h.finish("c0");
  CHECK(h.settle() == "+a0");
}

TEST_CASE("pai: siblings lend, and reclaim their own") {
  host h = three_teams();
  for (int i = 0; i < 26; ++i) h.submit("c" + std::to_string(i), "quota1.2", 4);
  h.settle();
  CHECK(h.used("quota1.2") == 104);
  for (int i = 0; i < 12; ++i) h.submit("b" + std::to_string(i), "quota1.1", 4);
  h.settle();
  CHECK(h.used("quota1.1") == 48);
  CHECK(h.used("quota1.2") == 80);
}

TEST_CASE("pai: a parent may go into its children's part up to the whole") {
  host h = three_teams();
  h.submit("a0", "quota1", 128);
  h.submit("a1", "quota1", 1);
  CHECK(h.settle() == "+a0");
}
