// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/detail/time_limits.hpp>
#include <allot/scheduler/settle.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tests/scheduler/unit_host.hpp"
#include "tests/support/seeds.hpp"

using allot::instant;
using allot::job_id;
using allot::job_state;
using allot_test::models;
using allot_test::one_team;
using allot_test::unit_host;

TEST_CASE("time_limits: each run comes up once, when its time has come, the earliest first") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    using entry = std::tuple<instant, job_id, instant>;
    allot::detail::time_limits limits;
    const auto lasts = [](const allot::detail::time_limits::run& r, instant) {
      return r.job.generation() != 1;
    };
    std::vector<entry> expected;
    instant now = 0;
    for (int i = 0; i < 60; ++i) {
      if (!random.one_in(3)) {
        const entry e{random.between(0, 40),
                      job_id{random.below(5), static_cast<std::uint32_t>(random.below(3))},
                      random.between(0, 9)};
        limits.watch(std::get<0>(e), {std::get<1>(e), std::get<2>(e)}, lasts);
        expected.push_back(e);
        continue;
      }
      now += random.between(0, 6);
      std::vector<entry> due;
      for (const entry& e : expected) {
        if (std::get<0>(e) <= now) due.push_back(e);
      }
      std::erase_if(expected, [&](const entry& e) { return std::get<0>(e) <= now; });
      std::sort(due.begin(), due.end());
      std::size_t next = 0;
      limits.take_expired(now, [&](const allot::detail::time_limits::run& r, instant) {
        REQUIRE(next < due.size());
        CHECK(std::get<1>(due[next]) == r.job);
        CHECK(std::get<2>(due[next]) == r.since);
        ++next;
      });
      CHECK(next == due.size());
      // The earliest remaining limit is next.
      std::sort(expected.begin(), expected.end());
      const auto first = std::find_if(expected.begin(), expected.end(),
                                      [](const entry& e) { return std::get<1>(e).generation() != 1; });
      expected.erase(expected.begin(), first);
      const auto next_one = limits.next(lasts);
      CHECK(next_one.has_value() == !expected.empty());
      if (next_one) CHECK(*next_one == std::get<0>(expected.front()));
    }
  });
}

TEST_CASE("time_limits: runs that ended long before their time do not pile up") {
  using run = allot::detail::time_limits::run;
  allot::detail::time_limits limits;
  constexpr std::uint32_t runs = 100'000;
  const auto lasts = [&](const run& r, instant) { return r.job.index() % 1000 == 0; };
  for (std::uint32_t i = 0; i < runs; ++i) limits.watch(1'000'000 + i, {job_id{i, 0}, 0}, lasts);
  std::size_t held = 0;
  std::size_t lasting = 0;
  limits.take_expired(2'000'000, [&](const run& r, instant until) {
    ++held;
    lasting += lasts(r, until) ? 1U : 0U;
  });
  CHECK(lasting == runs / 1000);
  CHECK(held < 2'000);
}

TEST_CASE("time_limits: a job is evicted when it has run that long, without a beneficiary") {
  unit_host<> h{one_team(2)};
  h.submit("session", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(5) == "+session");
  h.submit("next", "q", 2);
  CHECK(h.step_at(14).empty());
  const auto& plan = h.scheduler().step(15);
  REQUIRE(plan.evictions.size() == 1);
  CHECK(plan.evictions.front().id == h.id("session"));
  CHECK(plan.evictions.front().how == allot::relation::time_limit);
  CHECK(plan.evictions.front().beneficiary.is_none());
  // The released capacity is given away in the same cycle.
  REQUIRE(plan.nominations.size() == 1);
  CHECK(plan.nominations.front().id == h.id("next"));
  CHECK(plan.nominations.front().count == 0);
  h.check();
  CHECK(h.step_at(16).empty());
  h.finished("session");
  CHECK(h.step_at(17) == "+next");
  // It has no limit.
  CHECK(h.step_at(1'000'000).empty());
}

TEST_CASE("time_limits: time limits count from the start that the host reports") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j");
  h.scheduler().started(h.id("j"), 7);
  CHECK(h.step_at(10).empty());
  CHECK(h.step_at(16).empty());
  CHECK(h.step_at(17) == "-j");
}

TEST_CASE("time_limits: each run has the full time limit") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j");
  h.evicted("j");
  CHECK(h.step_at(8) == "+j");
  CHECK(h.step_at(10).empty());
  CHECK(h.step_at(17).empty());
  CHECK(h.step_at(18) == "-j");
  // A job that does not stop is reported once.
  CHECK(h.step_at(30).empty());
}

TEST_CASE("time_limits: a job that has run for as long as it may is over, however its end is reported") {
  for (const bool says_finished : {true, false}) {
    unit_host<> h{one_team(2)};
    h.submit("j", "q", 2, {.time_limit = 10});
    int starts = 0;
    for (instant now = 0; now < 100; now += 10) {
      CHECK(allot::settle(h.scheduler(), now, [&](const auto& plan) {
        starts += static_cast<int>(plan.admissions.size());
        for (const auto& e : plan.evictions) {
          CHECK((says_finished ? h.scheduler().finished(e.id) : h.scheduler().evicted(e.id)) ==
                allot::refusal::none);
        }
      }));
      h.check();
    }
    CHECK(starts == 1);
    CHECK(h.state("j") == job_state::unknown);
  }
}

TEST_CASE("time_limits: a job that is over is over after a restart, too") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j");
  CHECK(h.step_at(10) == "-j");
  unit_host<> next{one_team(2)};
  CHECK(next.scheduler().resume(h.scheduler().state()).refused.empty());
  CHECK(next.scheduler().state(h.id("j")) == job_state::evicting);
  CHECK(next.scheduler().evicted(h.id("j")) == allot::refusal::none);
  CHECK(next.scheduler().state(h.id("j")) == job_state::unknown);
}

TEST_CASE("time_limits: a job that another needs to leave waits again, although its time is up meanwhile") {
  unit_host<> h{{{.name = "root"},
                 {.name = "a", .parent = "root", .nominal = models(2)},
                 {.name = "b", .parent = "root"}}};
  h.submit("b1", "b", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+b1");
  h.submit("a1", "a", 2);
  CHECK(h.step_at(5) == "-b1>a1 ~a1");
  // It is not evicted again.
  CHECK(h.step_at(10).empty());
  h.evicted("b1");
  CHECK(h.step_at(21) == "+a1");
  CHECK(h.state("b1") == job_state::pending);
  h.finished("a1");
  CHECK(h.step_at(30) == "+b1");
}

TEST_CASE("time_limits: a time limit never hits another job of the same index") {
  unit_host<> h{one_team(2)};
  const job_id first = h.submit("j1", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j1");
  h.finished("j1");
  const job_id second = h.submit("j2", "q", 2);
  REQUIRE(first.index() == second.index());
  // Not even one that started at the same time.
  CHECK(h.step_at(0) == "+j2");
  CHECK(h.step_at(10).empty());
  CHECK(h.state("j2") == job_state::running);
}

TEST_CASE("time_limits: adopted jobs have run already") {
  unit_host<> h{one_team(4)};
  const auto* j = h.job("old", "q", models(2), {.time_limit = 10});
  h.know("old", h.scheduler().adopt(j, -8));
  CHECK(h.step_at(1).empty());
  CHECK(h.step_at(2) == "-old");
}

TEST_CASE("time_limits: the time limit of an elastic job ends all its pods, whenever they joined") {
  unit_host<> h{one_team(4)};
  h.submit("x", "q", 2);
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 2, .time_limit = 10});
  CHECK(h.step_at(0) == "+x +e");
  h.finished("x");
  CHECK(h.step_at(6) == "+e^ +e^");
  h.scheduler().started(h.elastic_pod("e"), 7);
  CHECK(h.step_at(9).empty());
  const auto& plan = h.scheduler().step(10);
  REQUIRE(plan.evictions.size() == 1);
  CHECK(plan.evictions.front().pods == 4);
  h.check();
  // A pod that goes first takes nothing with it, and gets no successor.
  h.evicted(h.scheduler().elastic_pods_of(h.id("e"))[0]);
  CHECK(h.state("e") == job_state::evicting);
  h.evicted("e");
  CHECK(h.state("e") == job_state::unknown);
  CHECK(h.used("q") == 0);
  CHECK(h.step_at(11).empty());
}

TEST_CASE("time_limits: runs that expire together are reported in the order of their ids") {
  unit_host<> h{one_team(4)};
  for (const char* name : {"j0", "j1", "j2", "j3"}) h.submit(name, "q", 1, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j0 +j1 +j2 +j3");
  h.finished("j1");
  CHECK(h.step_at(10) == "-j0 -j2 -j3");
}
