// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/hyperpod.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/law_host.hpp"
#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/words.hpp"

using allot::gpus;
using allot::hyperpod;
using allot::hyperpod_idle;
using allot::hyperpod_sharing;
using allot::hyperpod_tasks;

namespace {

using host = allot_test::preset_host<hyperpod>;

constexpr std::pair<hyperpod_idle, hyperpod_tasks> modes[] = {
    {hyperpod_idle::fcfs, hyperpod_tasks::fcfs},
    {hyperpod_idle::fcfs, hyperpod_tasks::ranking},
    {hyperpod_idle::fair_share, hyperpod_tasks::fcfs},
    {hyperpod_idle::fair_share, hyperpod_tasks::ranking}};

struct sharing {
  hyperpod_sharing how = hyperpod_sharing::lend_and_borrow;
  int percent = 50;
};
allot::quota_spec<> team(std::string name, int allocated, sharing s = {}, int weight = 1) {
  allot::quota_spec<> spec;
  spec.name = std::move(name);
  spec.parent = "cluster";
  spec.nominal = gpus(allocated);
  spec.weight = allot::fair_weight::whole(weight);
  hyperpod::share(spec, s.how, s.percent);
  return spec;
}
/// A cluster of `all` GPUs; 0: exactly what its teams are allocated.
std::vector<allot::quota_spec<>> cluster(int all, std::vector<allot::quota_spec<>> teams) {
  allot::quota_spec<> root;
  root.name = "cluster";
  root.nominal = gpus(all);
  teams.insert(teams.begin(), root);
  return teams;
}
constexpr auto freely = sharing{hyperpod_sharing::lend_and_borrow, 500};

}  // namespace

TEST_CASE("hyperpod: a team borrows what another leaves idle (the example of the documentation)") {
  // A uses 2 of 6 and B 4 of 5; a task of B asks for 4, of which 3 are borrowed.
  const auto outcome = [](sharing of_a, sharing of_b) {
    host h{cluster(0, {team("a", 6, of_a), team("b", 5, of_b)})};
    h.submit("a1", "a", 2);
    h.submit("b1", "b", 4);
    h.settle();
    h.submit("b2", "b", 4);
    return h.settle();
  };
  CHECK(outcome({}, freely) == "+b2");
  CHECK(outcome({hyperpod_sharing::lend}, freely) == "+b2");
  CHECK(outcome({hyperpod_sharing::dont_lend}, freely).empty());
  CHECK(outcome({}, {hyperpod_sharing::lend}).empty());
  CHECK(outcome({}, {hyperpod_sharing::dont_lend}).empty());
  CHECK(outcome({}, {hyperpod_sharing::lend_and_borrow, 40}).empty());
  CHECK(outcome({}, {hyperpod_sharing::lend_and_borrow, 60}) == "+b2");
  // By default up to half of its own: 2.5.
  CHECK(outcome({}, {}).empty());
}

TEST_CASE("hyperpod: a team that does not lend keeps its own and borrows nothing") {
  host h{cluster(0, {team("a", 4, {hyperpod_sharing::dont_lend}), team("b", 4, freely)})};
  h.submit("b1", "b", 5);
  h.submit("a1", "a", 5);
  h.submit("a2", "a", 4);
  CHECK(h.settle() == "+a2");
}

TEST_CASE("hyperpod: a borrow limit of several hundred percent") {
  host h{cluster(0, {team("a", 40), team("b", 5, {hyperpod_sharing::lend_and_borrow, 300})})};
  h.submit("b1", "b", 20);
  h.submit("b2", "b", 1);
  CHECK(h.settle() == "+b1");
}

TEST_CASE("hyperpod: what is allocated to no team is idle, too") {
  for (const auto& [idle, tasks] : modes) {
    host h{cluster(16, {team("a", 6, freely), team("b", 5, freely)}), hyperpod{.idle = idle, .tasks = tasks}};
    h.submit("a1", "a", 6);
    h.submit("b1", "b", 5);
    h.submit("b2", "b", 5);
    CHECK(h.settle() == "+a1 +b1 +b2");
    h.submit("a2", "a", 1);
    CHECK(h.settle().empty());
  }
  // It belongs to no team, so no team takes it back.
  host none{cluster(0, {team("a", 6, freely), team("b", 5, freely)})};
  none.submit("b1", "b", 12);
  CHECK(none.settle().empty());
}

TEST_CASE("hyperpod: teams can't be allocated more than the cluster has") {
  auto fits = cluster(11, {team("a", 6), team("b", 5)});
  hyperpod::adapt(fits);
  CHECK(allot::build_quota_tree(fits));
  auto too_much = cluster(10, {team("a", 6), team("b", 5)});
  too_much.front().overcommit = true;
  hyperpod::adapt(too_much);
  CHECK_FALSE(allot::build_quota_tree(too_much));
}

TEST_CASE("hyperpod: a team reclaims its own at once in every mode, whatever the priority") {
  for (const auto& [idle, tasks] : modes) {
    host h{cluster(0, {team("a", 4), team("b", 4, freely)}), hyperpod{.idle = idle, .tasks = tasks}};
    h.submit("b1", "b", 4, {.priority = 100});
    h.submit("b2", "b", 4, {.priority = 100});
    CHECK(h.settle() == "+b1 +b2");
    h.submit("a1", "a", 4);
    CHECK(h.settle() == "-b2>a1 +a1");
    CHECK(h.settle().empty());
  }
}

TEST_CASE("hyperpod: the four modes order a backlog for idle compute") {
  const auto order_of = [](hyperpod_idle idle, hyperpod_tasks tasks) {
    auto specs = cluster(4, {team("one", 0, {}, 1), team("three", 0, {}, 3)});
    for (auto& spec : specs) spec.borrow = allot::limit::all();
    host h{specs, hyperpod{.idle = idle, .tasks = tasks}};
    h.submit("o1", "one", 1);
    h.submit("o2", "one", 1, {.priority = 50});
    h.submit("o3", "one", 1);
    h.submit("t1", "three", 1);
    h.submit("t2", "three", 1, {.priority = 100});
    h.submit("t3", "three", 1);
    return h.settle();
  };
  CHECK(order_of(hyperpod_idle::fcfs, hyperpod_tasks::fcfs) == "+o1 +o2 +o3 +t1");
  CHECK(order_of(hyperpod_idle::fcfs, hyperpod_tasks::ranking) == "+o2 +o1 +o3 +t2");
  CHECK(order_of(hyperpod_idle::fair_share, hyperpod_tasks::fcfs) == "+t1 +t2 +o1 +t3");
  CHECK(order_of(hyperpod_idle::fair_share, hyperpod_tasks::ranking) == "+t2 +t1 +o2 +t3");
}

TEST_CASE("hyperpod: a weight of 0 comes last, and zeros among themselves are equal") {
  const auto limits = allot::limit::all();
  auto with = [&](int first, int second) {
    auto specs = cluster(3, {team("a", 0, {}, first), team("b", 0, {}, second)});
    for (auto& s : specs) s.borrow = limits;
    host h{specs, hyperpod{.idle = hyperpod_idle::fair_share, .tasks = hyperpod_tasks::ranking}};
    for (const char* name : {"a1", "a2", "a3"}) h.submit(name, "a", 1);
    for (const char* name : {"b1", "b2", "b3"}) h.submit(name, "b", 1);
    return h.settle();
  };
  CHECK(with(0, 1) == "+b1 +b2 +b3");
  CHECK(with(0, 100) == "+b1 +b2 +b3");
  CHECK(with(0, 0) == "+a1 +b1 +a2");
  CHECK(with(50, 100) == "+b1 +a1 +b2");
}

TEST_CASE("hyperpod: a task preempts lower ones of its team where tasks are ranked") {
  for (const auto& [idle, tasks] : modes) {
    host h{cluster(0, {team("a", 4), team("b", 4)}), hyperpod{.idle = idle, .tasks = tasks}};
    h.submit("a1", "a", 4, {.priority = 10});
    h.submit("b1", "b", 4, {.priority = 10});
    CHECK(h.settle() == "+a1 +b1");
    h.submit("a2", "a", 4, {.priority = 10});
    CHECK(h.settle().empty());
    h.submit("a3", "a", 4, {.priority = 90});
    CHECK(h.settle() == (tasks == hyperpod_tasks::ranking ? "-a1>a3 +a3" : ""));
  }
}

TEST_CASE("hyperpod: PreemptTeamTasks can be off for one team") {
  host h{cluster(0, {team("a", 4), team("b", 4)})};
  allot::queue_settings never = hyperpod{}.defaults();
  never.preempt.within = allot::preempt_within::never;
  REQUIRE(h.scheduler().configure(h.quota("a"), never).empty());
  h.submit("a1", "a", 4);
  h.submit("b1", "b", 4);
  h.settle();
  h.submit("a2", "a", 4, {.priority = 90});
  h.submit("b2", "b", 4, {.priority = 90});
  CHECK(h.settle() == "-b1>b2 +b2");
}

TEST_CASE("hyperpod: under fair share the largest weighted borrowers yield first") {
  const auto yields = [](hyperpod_idle idle) {
    host h{cluster(6, {team("owner", 4, {hyperpod_sharing::lend}), team("light", 1, freely, 1),
                       team("heavy", 1, freely, 50)}),
           hyperpod{.idle = idle, .tasks = hyperpod_tasks::ranking}};
    // Each borrows 2; heavy started last.
    h.submit("l1", "light", 1);
    h.submit("l2", "light", 2);
    h.settle();
    h.submit("h1", "heavy", 1);
    h.submit("h2", "heavy", 2);
    h.settle();
    h.submit("own", "owner", 2);
    return h.settle();
  };
  CHECK(yields(hyperpod_idle::fair_share) == "-l2>own +own");
  CHECK(yields(hyperpod_idle::fcfs) == "-h2>own +own");
}

TEST_CASE("hyperpod: the default is fair share and task ranking") {
  CHECK(hyperpod{}.policies().quotas.idle == hyperpod_idle::fair_share);
  CHECK(hyperpod{}.policies().victims.idle == hyperpod_idle::fair_share);
  CHECK(hyperpod::policies_type{}.quotas.idle == hyperpod_idle::fair_share);
  CHECK(hyperpod{}.defaults().order == allot::queue_order::priority);
}

TEST_CASE("hyperpod: a borrower keeps its loan against other borrowers, however unfair") {
  // The counterexample to fairness in hindsight: with all idle compute at one team, a team of far higher
  // weight and priority gets none of it until something ends.
  for (const auto& [idle, tasks] : modes) {
    auto specs = cluster(4, {team("first", 0, {}, 1), team("second", 0, {}, 100)});
    for (auto& s : specs) s.borrow = allot::limit::all();
    host h{specs, hyperpod{.idle = idle, .tasks = tasks}};
    for (const char* name : {"f1", "f2", "f3", "f4"}) h.submit(name, "first", 1);
    h.settle();
    h.submit("s1", "second", 1, {.priority = 100});
    h.submit("f5", "first", 1);
    CHECK(h.settle().empty());
    CHECK(h.used("first") == 4);
    h.finish("f1");
    CHECK(h.settle() == "+s1");
  }
}

namespace {

/// A mode as a preset of its own.
template <hyperpod_idle Idle, hyperpod_tasks Tasks>
struct in_mode : hyperpod {
  in_mode() : hyperpod{.idle = Idle, .tasks = Tasks} {}
};

template <class Mode>
void keeps_the_laws() {
  allot_test::scenario_shape shape;
  shape.random_settings = false;
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property(
      "hyperpod",
      [worlds] {
        const allot_test::scenario s = *worlds;
        allot_test::check_laws<Mode>(s, allot_test::all_laws - allot_test::law::final);
      },
      500);
}

}  // namespace

TEST_CASE("hyperpod: the laws under first-come first-serve") {
  keeps_the_laws<in_mode<hyperpod_idle::fcfs, hyperpod_tasks::fcfs>>();
}
TEST_CASE("hyperpod: the laws under first-come first-serve with ranked tasks") {
  keeps_the_laws<in_mode<hyperpod_idle::fcfs, hyperpod_tasks::ranking>>();
}
TEST_CASE("hyperpod: the laws under fair share") {
  keeps_the_laws<in_mode<hyperpod_idle::fair_share, hyperpod_tasks::fcfs>>();
}
TEST_CASE("hyperpod: the laws under fair share with ranked tasks") {
  keeps_the_laws<in_mode<hyperpod_idle::fair_share, hyperpod_tasks::ranking>>();
}

TEST_CASE("hyperpod: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::hyperpod_sharing>(3));
  CHECK(allot_test::has_words<hyperpod_idle>(2));
  CHECK(allot_test::has_words<hyperpod_tasks>(2));
}
