// SPDX-License-Identifier: BSL-1.0
// Clocks that step back, and `scheduler::rebase`. Under all presets: tests/systems/clock.cpp and the soak.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/scheduler/unit_host.hpp"
#include "tests/support/timed_host.hpp"

using allot::gpus;
using allot::instant;
using allot::job_state;
using allot::pending_reason;
using allot::quota_id;
using allot_test::host;
using allot_test::one_team;
using allot_test::timed_job;
using allot_test::timed_view;
using allot_test::two_teams;
using allot_test::unit_host;

namespace {

/// By a clock in seconds.
constexpr instant year = 365 * 86'400;
constexpr instant in_2024 = 54 * year;
constexpr instant in_2099 = 129 * year;

/// A department of 4 GPUs under `standard`, which makes reservations.
struct reserving_host {
  std::vector<timed_job> jobs;
  allot::scheduler_for<allot::standard, timed_view> scheduler{
      allot::make_scheduler(allot::standard{}, timed_view{&jobs},
                            std::vector<allot::quota_spec<>>{{.name = "q", .nominal = gpus(4)}})
          .value()};
};

}  // namespace

TEST_CASE("clock: a step before the last one is made as of that, and the plan says by how much") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(100) == "+j");
  CHECK(h.scheduler().step(100).clamped_by == 0);
  CHECK(h.scheduler().step(50).clamped_by == 50);
  CHECK(h.scheduler().since(h.id("j")) == 100);
  CHECK(h.scheduler().step(99).clamped_by == 1);
  CHECK(h.scheduler().step(105).clamped_by == 0);
  CHECK(h.scheduler().step(101).clamped_by == 4);
  CHECK(h.step_at(110) == "-j");
}

TEST_CASE("clock: any time may be the first") {
  for (const instant first : {instant{-1000}, instant{0}, std::numeric_limits<instant>::min() / 4}) {
    unit_host<> h{one_team(2)};
    h.submit("j", "q", 2, {.time_limit = 10});
    CHECK(h.step_at(first) == "+j");
    CHECK(h.scheduler().step(first).clamped_by == 0);
    CHECK(h.scheduler().step(first - 5).clamped_by == 5);
    CHECK(h.step_at(first + 10) == "-j");
  }
}

TEST_CASE("clock: the time of a job's start is no time of a step, but is not after the next one") {
  unit_host<> h{one_team(4)};
  h.submit("i", "q", 1, {.time_limit = 10});
  h.submit("j", "q", 1, {.time_limit = 10});
  h.submit("k", "q", 1, {.time_limit = 10});
  CHECK(h.step_at(100) == "+i +j +k");
  // By the clocks of their nodes.
  h.scheduler().started(h.id("i"), 103);
  h.scheduler().started(h.id("j"), in_2099);
  h.scheduler().started(h.id("k"), in_2099);
  h.scheduler().evicting(h.id("k"));
  const auto* adopted = h.job("l", "q", allot_test::models(1), {.time_limit = 10});
  h.know("l", h.scheduler().adopt(adopted, in_2099));
  CHECK(h.scheduler().step(105).clamped_by == 0);
  CHECK(h.scheduler().since(h.id("i")) == 103);
  CHECK(h.scheduler().since(h.id("j")) == 105);
  CHECK(h.scheduler().since(h.id("k")) == 105);
  CHECK(h.scheduler().since(h.id("l")) == 105);
  CHECK(h.scheduler().wakes_at() == 113);
  CHECK(h.step_at(113) == "-i");
  CHECK(h.step_at(114).empty());
  CHECK(h.step_at(115) == "-j -l");
}

TEST_CASE("clock: after a rebase limits fire when they would have") {
  unit_host<> h{one_team(4)};
  h.submit("i", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(in_2024) == "+i");
  h.finished("i");
  h.submit("j", "q", 2, {.time_limit = year});
  CHECK(h.step_at(in_2099) == "+j");
  CHECK(h.step_at(in_2099 + 100).empty());
  // Until then all steps are made as of 2099.
  CHECK(h.scheduler().step(in_2024 + 50).clamped_by == in_2099 + 100 - (in_2024 + 50));
  h.scheduler().rebase(in_2024 + 60);
  CHECK(h.scheduler().since(h.id("j")) == in_2024 - 40);
  CHECK(h.scheduler().wakes_at() == in_2024 - 40 + year);
  CHECK(h.scheduler().step(in_2024 + 60).clamped_by == 0);
  h.submit("k", "q", 2, {.time_limit = 30});
  CHECK(h.step_at(in_2024 + 70) == "+k");
  CHECK(h.step_at(in_2024 + 99).empty());
  CHECK(h.step_at(in_2024 + 100) == "-k");
  CHECK(h.step_at(in_2024 - 41 + year).empty());
  CHECK(h.step_at(in_2024 - 40 + year) == "-j");
}

TEST_CASE("clock: a rebase forward lets no time pass") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(0) == "+j");
  CHECK(h.step_at(4).empty());
  h.scheduler().rebase(in_2024);
  CHECK(h.scheduler().since(h.id("j")) == in_2024 - 4);
  CHECK(h.step_at(in_2024 + 5).empty());
  CHECK(h.step_at(in_2024 + 6) == "-j");
  // A host that knows better says so.
  h.finished("j");
  h.submit("k", "q", 2, {.time_limit = 10});
  CHECK(h.step_at(in_2024 + 10) == "+k");
  h.scheduler().rebase(in_2024);
  h.scheduler().started(h.id("k"), in_2024 - 8);
  CHECK(h.step_at(in_2024 + 1).empty());
  CHECK(h.step_at(in_2024 + 2) == "-k");
}

TEST_CASE("clock: before the first step there is nothing to rebase") {
  unit_host<> h{one_team(2)};
  const auto* j = h.job("j", "q", allot_test::models(2), {.time_limit = 10});
  h.know("j", h.scheduler().adopt(j, in_2024 - 5));
  h.scheduler().rebase(0);
  CHECK(h.scheduler().since(h.id("j")) == in_2024 - 5);
  CHECK(h.step_at(in_2024).empty());
  CHECK(h.step_at(in_2024 + 5) == "-j");
}

TEST_CASE("clock: after a rebase a reserved start is as far away as it was") {
  reserving_host h;
  h.jobs = {{.gpus = 3, .submit = 1, .estimate = 50}, {.gpus = 4, .submit = 2, .estimate = 10}};
  const allot::job_id first = h.scheduler.submit(0);
  h.scheduler.step(in_2099);
  const allot::job_id second = h.scheduler.submit(1);
  h.scheduler.step(in_2099);
  REQUIRE(h.scheduler.reservation_of(second));
  CHECK(h.scheduler.reservation_of(second)->start == in_2099 + 50);
  h.scheduler.rebase(in_2024);
  CHECK(h.scheduler.reservation_of(second)->start == in_2024 + 50);
  CHECK(h.scheduler.reservation_of(second)->first_start == in_2024 + 50);
  CHECK(h.scheduler.wakes_at() == in_2024 + 50);
  // Nor does the rebase let a job pass it that would delay it, or keep one back that would not.
  h.jobs.push_back({.gpus = 1, .submit = 3, .estimate = 50});
  h.jobs.push_back({.gpus = 1, .submit = 4, .estimate = 20});
  const allot::job_id too_long = h.scheduler.submit(2);
  const allot::job_id short_enough = h.scheduler.submit(3);
  h.scheduler.step(in_2024 + 10);
  CHECK(h.scheduler.state(too_long) == job_state::pending);
  CHECK(h.scheduler.state(short_enough) == job_state::running);
  CHECK(h.scheduler.reservation_of(too_long).has_value());
  h.scheduler.finished(short_enough);
  h.scheduler.finished(first);
  h.scheduler.step(in_2024 + 50);
  CHECK(h.scheduler.state(second) == job_state::running);
  CHECK(h.scheduler.since(second) == in_2024 + 50);
}

TEST_CASE("clock: after a rebase a job gathers and makes way as long as it would have") {
  std::vector<timed_job> jobs;
  auto s = allot::make_scheduler(allot::standard{.gather = 30}, timed_view{&jobs},
                                 std::vector<allot::quota_spec<>>{{.name = "q", .nominal = gpus(8)}})
               .value();
  // Jobs without an estimate are in its way.
  jobs = {{.gpus = 6, .submit = 1}, {.gpus = 4, .submit = 2, .estimate = 10}};
  static_cast<void>(s.submit(0));
  s.step(in_2099);
  const allot::job_id large = s.submit(1);
  s.step(in_2099 + 1);
  REQUIRE(s.reservation_of(large));
  CHECK(s.reservation_of(large)->gathers_since == in_2099 + 1);
  CHECK(s.reservation_of(large)->start == in_2099 + 31);
  s.rebase(in_2024);
  CHECK(s.reservation_of(large)->gathers_since == in_2024);
  CHECK(s.wakes_at() == in_2024 + 30);
  s.step(in_2024 + 29);
  CHECK(s.reservation_of(large)->gathers_since == in_2024);
  s.step(in_2024 + 30);
  CHECK_FALSE(s.reservation_of(large).has_value());
}

namespace {

/// With the settings of `standard`, changed for `b`.
template <class Change>
[[nodiscard]] host<> two_teams_with(Change change_b) {
  host h{two_teams()};
  allot::queue_settings settings = allot::standard{}.defaults();
  h.configure("a", settings);
  change_b(settings);
  h.configure("b", settings);
  return h;
}

}  // namespace

TEST_CASE("clock: after a rebase a quota borrows again when it would have") {
  host h = two_teams_with([](allot::queue_settings& b) { b.borrow_backoff = {10, 10}; });
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  CHECK(h.step_at(in_2099) == "+b1 +b2 +b3 +b4");
  h.submit("a1", "a", 2);
  CHECK(h.step_at(in_2099 + 1) == "-b4>a1 ~a1");
  h.evicted("b4");
  CHECK(h.step_at(in_2099 + 2) == "+a1");
  h.finished("a1");
  CHECK(h.step_at(in_2099 + 3).empty());
  h.scheduler().rebase(in_2024);
  REQUIRE(h.scheduler().backoffs().size() == 1);
  CHECK(h.scheduler().backoffs().front().until == in_2024 + 8);
  CHECK(h.scheduler().wakes_at() == in_2024 + 8);
  CHECK(h.step_at(in_2024 + 7).empty());
  CHECK(h.why("b4").reason == pending_reason::backoff);
  CHECK(h.step_at(in_2024 + 8) == "+b4");
}

TEST_CASE("clock: after a rebase a guaranteed runtime lasts as long as it would have") {
  host h = two_teams_with([](allot::queue_settings& b) { b.min_runtime = {20, 20}; });
  h.submit("b1", "b", 8);
  CHECK(h.step_at(in_2099) == "+b1");
  h.submit("a1", "a", 2);
  CHECK(h.step_at(in_2099 + 5).empty());
  h.scheduler().rebase(in_2024);
  CHECK(h.scheduler().wakes_at() == in_2024 + 15);
  CHECK(h.step_at(in_2024 + 14).empty());
  CHECK(h.step_at(in_2024 + 15) == "-b1>a1 ~a1");
}

TEST_CASE("clock: that a guaranteed runtime is over, by what `started` says, is not forgotten in a restart") {
  const auto guarding_host = [] {
    return two_teams_with([](allot::queue_settings& b) { b.min_runtime = {20, 20}; });
  };
  auto h = guarding_host();
  h.submit("b1", "b", 8);
  CHECK(h.step_at(100) == "+b1");
  h.submit("a1", "a", 2);
  CHECK(h.step_at(105).empty());
  h.scheduler().started(h.id("b1"), 50);
  auto resumed = guarding_host();
  REQUIRE(resumed.scheduler().resume(h.scheduler().state()));
  CHECK(resumed.step_at(106) == "-b1>a1 ~a1");
  CHECK(h.step_at(106) == "-b1>a1 ~a1");
}

TEST_CASE("clock: a rebase keeps victims in order, and what has run longest") {
  host h{{{.name = "q", .nominal = gpus(4)}}};
  h.configure("q", allot::standard{}.defaults());
  for (const char* name : {"j1", "j2", "j3", "j4"}) {
    h.submit(name, "q", 1);
    h.step();
  }
  h.scheduler().rebase(-in_2024);
  h.submit("urgent", "q", 2, {.priority = 1});
  CHECK(h.step_at(-in_2024 + 1) == "-j4>urgent -j3>urgent ~urgent");
}

TEST_CASE("clock: a state remembers the clock") {
  unit_host<> h{one_team(2)};
  h.submit("j", "q", 2, {.time_limit = 10});
  h.step_at(in_2099);
  unit_host<> later{one_team(2)};
  REQUIRE(later.scheduler().resume(h.scheduler().state()));
  CHECK(later.scheduler().step(in_2024).clamped_by == in_2099 - in_2024);
  later.scheduler().rebase(in_2024);
  CHECK(later.scheduler().step(in_2024 + 9).evictions.empty());
  CHECK(later.scheduler().step(in_2024 + 10).evictions.size() == 1);
  // One that has not been stepped knows no time.
  unit_host<> fresh{one_team(2)};
  REQUIRE(fresh.scheduler().resume(unit_host<>{one_team(2)}.scheduler().state()));
  CHECK(fresh.scheduler().step(-5).clamped_by == 0);
  // A start that lies ahead is not forgotten.
  unit_host<> ahead{one_team(2)};
  ahead.submit("j", "q", 2, {.time_limit = 10});
  ahead.step_at(0);
  ahead.scheduler().started(ahead.id("j"), 100);
  unit_host<> resumed{one_team(2)};
  REQUIRE(resumed.scheduler().resume(ahead.scheduler().state()));
  resumed.scheduler().step(1);
  CHECK(resumed.scheduler().since(ahead.id("j")) == 1);
}
