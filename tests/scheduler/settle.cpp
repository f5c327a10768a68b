// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/scheduler/settle.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/scheduler/unit_host.hpp"
#include "tests/support/count_allocations.hpp"

using allot::job_id;
using allot::livelock_detector;
using allot_test::host;
using allot_test::one_team;
using allot_test::two_teams;
using allot_test::unit_host;

namespace {

/// A scheduler that returns what a test specifies.
struct scripted {
  struct shown {
    using job = int;
    allot::quota_id quota(job) const { return allot::quota_id{0}; }
    allot::resources<> request(job) const { return allot::gpus(1); }
    int priority(job) const { return 0; }
    /// Job 4 is elastic.
    std::uint32_t pods(job j) const { return j == 4 ? 2 : 1; }
    std::uint32_t min_pods(job) const { return 1; }
    allot::resources<> request(job j, std::uint32_t) const { return request(j); }
  };
  using plan_type = allot::plan<shown, allot::no_placement>;
  using time_point = allot::instant;

  [[nodiscard]] const shown& view() const { return view_; }
  [[nodiscard]] static allot::job_state state(job_id) { return allot::job_state::running; }
  [[nodiscard]] static bool is_ready(job_id) { return false; }
  const plan_type& step(allot::instant) {
    plan_.clear();
    if (left > 0) {
      --left;
      for (const int j : evicts) plan_.evictions.push_back({job_id{static_cast<std::size_t>(j)}, j});
      for (const int j : admits) plan_.admissions.push_back({job_id{static_cast<std::size_t>(j)}, j});
      if (evicts.empty() && admits.empty()) plan_.nominations.push_back({job_id{9}, 9});
    }
    return plan_;
  }

  std::size_t left = 0;
  std::vector<int> evicts{};
  std::vector<int> admits{};
  shown view_{};
  plan_type plan_{};
};

constexpr auto do_nothing = [](const auto&) {};

}  // namespace

TEST_CASE("settle: plans are carried out until nothing more is decided") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  std::string told;
  const auto act = [&](const auto& plan) {
    for (const auto& e : plan.evictions) {
      told += " -" + e.what->name;
      CHECK(h.scheduler().evicted(e.id) == allot::refusal::none);
    }
    for (const auto& a : plan.admissions) told += " +" + a.what->name;
  };
  CHECK(allot::settle(h.scheduler(), 1, act));
  h.submit("a1", "a", 4);
  const allot::settled end = allot::settle(h.scheduler(), 2, act);
  CHECK(end.at_rest);
  CHECK(end.plans == 2);
  CHECK(told == " +b1 -b1 +a1");
  CHECK(allot::settle(h.scheduler(), 2, act).plans == 0);
}

TEST_CASE("settle: a victim that leaves late causes no busy loop") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  CHECK(allot::settle(h.scheduler(), 1, do_nothing));
  h.submit("a1", "a", 4);
  CHECK(allot::settle(h.scheduler(), 2, do_nothing).plans == 1);
  CHECK(allot::settle(h.scheduler(), 3, do_nothing).plans == 0);
  h.evicted("b1");
  CHECK(allot::settle(h.scheduler(), 4, do_nothing).plans == 1);
  CHECK(h.state("a1") == allot::job_state::running);
}

TEST_CASE("settle: jobs that evict one another in turns are stopped") {
  scripted s{.left = 1'000'000, .evicts = {3, 4}};
  const allot::settled end = allot::settle(s, 0, do_nothing);
  CHECK_FALSE(end);
  // Job 4 consists of two units.
  CHECK(end.restless == job_id{3});
  CHECK(end.plans == livelock_detector::most_turns + 1);
}

TEST_CASE("settle: plans that only announce are stopped") {
  scripted s{.left = 1'000'000};
  const allot::settled end = allot::settle(s, 0, do_nothing);
  CHECK_FALSE(end);
  CHECK(end.restless.is_none());
  CHECK(end.plans == livelock_detector::most_idle_steps + 1);
}

TEST_CASE("settle: any number of jobs may start, and each may be evicted several times") {
  scripted s{.left = 10'000, .admits = {1}};
  CHECK(allot::settle(s, 0, do_nothing).plans == 10'000);
  s.left = livelock_detector::most_turns;
  s.evicts = {3};
  CHECK(allot::settle(s, 0, do_nothing));
}

TEST_CASE("settle: a job that the host can't start is started once in a call") {
  host<> h{two_teams()};
  h.submit("b1", "b", 6);
  CHECK(h.step() == "+b1");
  h.submit("a1", "a", 4);
  h.submit("bad", "b", 2);
  std::string told;
  const auto act = [&](const auto& plan) {
    for (const auto& e : plan.evictions) {
      told += " -" + e.what->name;
      CHECK(h.scheduler().evicted(e.id) == allot::refusal::none);
    }
    for (const auto& a : plan.admissions) {
      told += " +" + a.what->name;
      REQUIRE(told.size() < 100);
      if (a.what->name == "bad") CHECK(h.scheduler().evicted(a.id) == allot::refusal::none);
    }
  };
  const auto stops = [&] {
    told.clear();
    const allot::settled end = allot::settle(h.scheduler(), 2, act);
    CHECK_FALSE(end);
    CHECK(end.plans == 1);
    CHECK(end.not_started == h.id("bad"));
    CHECK(end.restless.is_none());
    CHECK(h.state("bad") == allot::job_state::pending);
  };
  stops();
  CHECK(told == " -b1 +bad");
  // The others wait for no more than the next call.
  stops();
  CHECK(told == " +a1 +bad");
  stops();
  CHECK(told == " +bad");
  h.cancel("bad");
  CHECK(allot::settle(h.scheduler(), 2, act));
  CHECK(allot::settle(h.scheduler(), 2, act).not_started.is_none());
}

TEST_CASE("settle: a pod that the host can't start is started once in a call") {
  unit_host<> h{one_team(4)};
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 2});
  int starts = 0;
  const allot::settled end = allot::settle(h.scheduler(), 0, [&](const auto& plan) {
    for (const auto& a : plan.admissions) {
      REQUIRE(++starts < 10);
      if (a.core) CHECK(h.scheduler().evicted(a.id) == allot::refusal::none);
    }
  });
  CHECK_FALSE(end);
  CHECK(end.not_started);
  CHECK(end.plans == 1);
  CHECK(starts == 3);
  CHECK(h.pods("e") == 2);
}

TEST_CASE(
    "settle: a job that is over, or no longer wanted, when it starts is no job that could not be started") {
  host<> h{two_teams()};
  for (const char* name : {"a1", "a2", "a3"}) h.submit(name, "a", 8);
  std::size_t starts = 0;
  const allot::settled end = allot::settle(h.scheduler(), 0, [&](const auto& plan) {
    for (const auto& a : plan.admissions) {
      ++starts % 2 == 0 ? h.scheduler().cancel(a.id) : h.scheduler().finished(a.id);
    }
  });
  CHECK(end);
  CHECK(end.not_started.is_none());
  CHECK(starts == 3);
}

TEST_CASE("livelock_detector: counts from zero each time, and allocates nothing the second time") {
  scripted s{.left = 2 * livelock_detector::most_turns, .evicts = {3}};
  livelock_detector watch;
  const auto turns = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) watch.note(s, s.step(0));
  };
  watch.begin();
  turns(livelock_detector::most_turns);
  CHECK_FALSE(watch.found());
  watch.begin();
  CHECK(allot_test::allocations_in([&] { turns(livelock_detector::most_turns); }) == 0);
  CHECK_FALSE(watch.found());
  CHECK(watch.job().is_none());
}
