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
  for (int i = 0; i < 12; ++i) h.submit("b" + std::to_string(i), "quota1.1", 4, {.priority = 1});
  h.settle();
  CHECK(h.used("quota1.1") == 48);
  CHECK(h.used("quota1.2") == 80);
}

TEST_CASE("pai: no job preempts one of equal or higher priority, of a sibling or of a child") {
  host h = three_teams();
  auto settings = h.scheduler().settings(h.quota("quota1"));
  settings.preempt.children = true;
  REQUIRE(h.scheduler().configure(h.quota("quota1"), settings).empty());
  h.submit("c", "quota1.2", 128, {.priority = 5});
  h.settle();
  h.submit("b4", "quota1.1", 48, {.priority = 4});
  h.submit("b5", "quota1.1", 48, {.priority = 5});
  h.submit("a5", "quota1", 128, {.priority = 5});
  CHECK(h.settle().empty());
  SUBCASE("a sibling") {
    h.submit("b6", "quota1.1", 48, {.priority = 6});
    CHECK(h.settle() == "-c>b6 +b6 +b5");
  }
  SUBCASE("a parent") {
    h.submit("a6", "quota1", 128, {.priority = 6});
    CHECK(h.settle() == "-c>a6 +a6");
  }
}

TEST_CASE("pai: ranges say which priorities preempt which") {
  host h = three_teams();
  auto settings = h.scheduler().settings(h.quota("quota1.1"));
  settings.preempt.reclaim_priorities = {.preempting = {7, 9}, .preempted = {2, 4}};
  REQUIRE(h.scheduler().configure(h.quota("quota1.1"), settings).empty());
  settings = h.scheduler().settings(h.quota("quota1"));
  settings.preempt.children = true;
  settings.preempt.children_priorities = {.preempting = {8, 9}, .preempted = {5, 6}};
  REQUIRE(h.scheduler().configure(h.quota("quota1"), settings).empty());
  REQUIRE(h.scheduler()
              .configure(h.quota("quota1.2"), {.preempt = {.within = allot::preempt_within::never,
                                                           .reclaim = allot::preempt_reclaim::never}})
              .empty());
  for (int priority = 1; priority <= 6; ++priority) {
    h.submit("c" + std::to_string(priority), "quota1.2", priority == 6 ? 88 : 8, {.priority = priority});
  }
  h.settle();
  REQUIRE(h.used("quota1.2") == 128);
  h.submit("b6", "quota1.1", 8, {.priority = 6});
  h.submit("a7", "quota1", 8, {.priority = 7});
  CHECK(h.settle().empty());
  h.submit("b7", "quota1.1", 24, {.priority = 7});
  CHECK(h.settle() == "-c2>b7 -c3>b7 -c4>b7 +b7");
  h.submit("b8", "quota1.1", 8, {.priority = 7});
  CHECK(h.settle().empty());
  h.submit("a8", "quota1", 8, {.priority = 8});
  CHECK(h.settle() == "-c5>a8 +a8");
}

TEST_CASE("pai: a parent may go into its children's part up to the whole") {
  host h = three_teams();
  h.submit("a0", "quota1", 128);
  h.submit("a1", "quota1", 1);
  CHECK(h.settle() == "+a0");
}
