// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/flavors.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/scheduler/unit_host.hpp"
#include "tests/support/seeds.hpp"

using allot::flavor_menu;
using allot::flavor_pick;
using allot::resources;
using allot_test::h100_then_a100;
using allot_test::models;
using allot_test::one_team;
using allot_test::unit_host;

TEST_CASE("flavors: a job without groups has no choice and requests nothing more") {
  const flavor_menu<2> none;
  CHECK(none.empty());
  CHECK(none.groups() == 0);
  CHECK(none.request({}) == models(0));
  CHECK(none.request({9, 9, 9, 9}) == models(0));
  CHECK(is_choice(none, {1, 2, 3, 4}));
}

TEST_CASE("flavors: the request is the sum of the options chosen in each group") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    flavor_menu<2> menu;
    std::vector<std::vector<resources<2>>> groups(random.below(allot::most_flavor_groups + 1));
    for (auto& options : groups) {
      options.resize(1 + random.below(5));
      for (auto& o : options) o = models(random.between(0, 9), random.between(0, 9));
      menu.add_group(options);
    }
    CHECK(menu.groups() == groups.size());
    CHECK(menu.empty() == groups.empty());
    const std::int64_t pods = random.between(1, 5);
    for (int draw = 0; draw < 5; ++draw) {
      flavor_pick pick{};
      resources<2> sum;
      bool in_range = true;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        pick[g] = static_cast<std::uint8_t>(random.below(groups[g].size()));
        sum += groups[g][pick[g]];
        CHECK(menu.options(g)[pick[g]] == groups[g][pick[g]]);
        CHECK(menu.options(g).size() == groups[g].size());
      }
      CHECK(menu.request(pick) == sum);
      CHECK((menu * pods).request(pick) == sum * pods);
      CHECK(is_choice(menu, pick));
      if (!groups.empty()) {
        const std::size_t g = random.below(groups.size());
        pick[g] = static_cast<std::uint8_t>(groups[g].size() + random.below(3));
        in_range = false;
      }
      CHECK(is_choice(menu, pick) == in_range);
    }
  });
}

TEST_CASE("flavors: menus differ when a group or its options do") {
  flavor_menu<2> two;
  two.add_group(std::vector<resources<2>>{models(1), models(2)});
  flavor_menu<2> one_each;
  one_each.add_group(std::vector<resources<2>>{models(1)});
  one_each.add_group(std::vector<resources<2>>{models(2)});
  CHECK(two == two);
  CHECK(two != one_each);
  CHECK(two != two * 2);
  CHECK((two < one_each) != (one_each < two));
}

TEST_CASE("flavors: there are at most eight groups, of 1 to 255 flavors") {
  flavor_menu<2> menu;
  const std::vector<resources<2>> none;
  CHECK_THROWS_AS(menu.add_group(none), allot_test::assertion_failed);
  CHECK_THROWS_AS(menu.add_group(std::vector<resources<2>>(256)), allot_test::assertion_failed);
  for (std::size_t g = 0; g < allot::most_flavor_groups; ++g) {
    CHECK_NOTHROW(menu.add_group(std::vector<resources<2>>(255)));
  }
  CHECK_THROWS_AS(menu.add_group(std::vector<resources<2>>(1)), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(menu.options(allot::most_flavor_groups)), allot_test::assertion_failed);
}

// --- in a scheduler: the ledger is charged for the flavor that was chosen

TEST_CASE("flavors: the first that fits is taken, and its quota is charged") {
  unit_host<> h{one_team(4, 4)};
  for (const char* name : {"j1", "j2", "j3"}) h.submit(name, "q", 0, {.menu = h100_then_a100(3)});
  CHECK(h.step() == "+j1 +j2");
  CHECK(h.scheduler().pick(h.id("j1"))[0] == 0);
  CHECK(h.scheduler().pick(h.id("j2"))[0] == 1);
  CHECK(h.used("q", 0) == 3);
  CHECK(h.used("q", 1) == 3);
  // A pending job is held for its first choice.
  REQUIRE(h.pending().size() == 1);
  REQUIRE(h.pending().front().binding.has_value());
  CHECK(h.pending().front().binding->dimension == 0);
  h.finished("j2");
  CHECK(h.step() == "+j3");
  CHECK(h.used("q", 1) == 3);
}

TEST_CASE("flavors: an admission names the flavor") {
  unit_host<> h{one_team(0, 4)};
  h.submit("j", "q", 0, {.menu = h100_then_a100(2)});
  const auto& plan = h.scheduler().step(1);
  REQUIRE(plan.admissions.size() == 1);
  CHECK(plan.admissions.front().pick == flavor_pick{1});
}

TEST_CASE("flavors: a job that was evicted chooses again") {
  unit_host<> h{{{.name = "root"},
                 {.name = "a", .parent = "root", .nominal = models(4, 0)},
                 {.name = "b", .parent = "root", .nominal = models(0, 4)}}};
  h.submit("b1", "b", 4);  // on an h100 that a owns
  h.submit("b2", "b", 0, {.menu = h100_then_a100(3)});
  CHECK(h.step() == "+b1 +b2");
  CHECK(h.scheduler().pick(h.id("b2"))[0] == 1);
  h.finished("b1");
  h.evicted("b2");
  CHECK(h.scheduler().pick(h.id("b2"))[0] == 0);
  CHECK(h.step() == "+b2");
  CHECK(h.scheduler().pick(h.id("b2"))[0] == 0);
  h.submit("a1", "a", 4);
  CHECK(h.settle() == "-b2>a1 ~a1 +a1 +b2");
  CHECK(h.scheduler().pick(h.id("b2"))[0] == 1);
  CHECK(h.used("b", 1) == 3);
}

TEST_CASE("flavors: the unflavored request is added") {
  // GPUs of either model, and one of the second in any case.
  unit_host<> h{one_team(2, 4)};
  const auto* job = h.job("j", "q", models(0, 1), {.menu = h100_then_a100(3)});
  h.know("j", h.scheduler().submit(job));
  CHECK(h.step() == "+j");
  CHECK(h.scheduler().request(h.id("j")) == models(0, 4));
}

TEST_CASE("flavors: more pods of an elastic job are of the flavor of its core") {
  unit_host<> h{one_team(2, 8)};
  h.submit("e", "q", 0, {.pods = 4, .min_pods = 3, .menu = h100_then_a100(1)});
  CHECK(h.step() == "+e +e^");
  CHECK(h.used("q", 0) == 0);
  CHECK(h.used("q", 1) == 4);
  h.submit("f", "q", 0, {.pods = 3, .min_pods = 1, .menu = h100_then_a100(1)});
  CHECK(h.step() == "+f +f^");
  CHECK(h.used("q", 0) == 2);
  REQUIRE(h.waiting_elastic_pod("f"));
  CHECK(h.scheduler().request(h.waiting_elastic_pod("f")) == models(1, 0));
}

TEST_CASE("flavors: a job is adopted with the choice that it has, if it has that choice") {
  unit_host<> h{one_team(4, 4)};
  const auto* j = h.job("j", "q", models(0), {.menu = h100_then_a100(2)});
  CHECK(h.scheduler().adopt(j, 0, {}, {2}).why_not == allot::refusal::unknown_flavors);
  h.know("j", h.scheduler().adopt(j, 0, {}, {1}));
  h.check();
  CHECK(h.used("q", 1) == 2);
  h.finished("j");
  CHECK(h.used("q", 1) == 0);
}

TEST_CASE("flavors: a job is refused if a choice is invalid or none could ever fit") {
  unit_host<allot::gpu::inventory> h{one_team(99, 99), allot_test::two_models(1, 1, 4)};
  const auto* small = h.job("small", "q", models(0), {.menu = h100_then_a100(4)});
  CHECK(h.scheduler().refuses(small) == allot::refusal::none);
  const auto* large = h.job("large", "q", models(0), {.menu = h100_then_a100(5)});
  CHECK(h.scheduler().refuses(large) == allot::refusal::larger_than_cluster);
  flavor_menu<2> menu;
  menu.add_group(std::vector<resources<2>>{models(9), models(0, 1)});
  const auto* second = h.job("second", "q", models(0), {.menu = menu});
  CHECK(h.scheduler().refuses(second) == allot::refusal::none);
  flavor_menu<2> broken;
  broken.add_group(std::vector<resources<2>>{models(1), models(-1)});
  const auto* bad = h.job("bad", "q", models(0), {.menu = broken});
  CHECK(h.scheduler().refuses(bad) == allot::refusal::invalid_request);
}
