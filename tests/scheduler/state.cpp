// SPDX-License-Identifier: BSL-1.0
// A scheduler that continues from the state of another one (under every preset: systems/restart.cpp), and
// places that jobs have.
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot::refusal;
using allot_test::host;
using allot_test::host_job;
using allot_test::nodes;
using allot_test::random_source;
using allot_test::two_teams;

namespace {

using on_nodes = host<allot::gpu::inventory>::scheduler_type;
using locations = std::vector<allot::gpu::pod_location>;

on_nodes start() {
  return {allot_test::host_view{}, allot::build_quota_tree<1>(two_teams()).value(), nodes(3, 3)};
}
locations where(const on_nodes& s, allot::gpu::allocation_id at) {
  locations all;
  for (const auto& pod : s.places().pods(at)) all.push_back(pod.where);
  return all;
}

/// The process that restarts, or does not.
struct process {
  on_nodes scheduler = start();
  std::map<const host_job*, job_id> ids{};

  void restart() {
    const auto state = scheduler.state().transformed(
        [](const auto& u) { return u.what; }, [this](const auto& u) { return where(scheduler, u.where); });
    scheduler = start();
    REQUIRE(scheduler.resume(state, [this](const auto& u) {
      return scheduler.take_place(scheduler.view().pod_request(u.what), u.where);
    }));
  }
  std::string step(allot::instant now) {
    const auto& plan = scheduler.step(now);
    std::string told;
    for (const auto& e : plan.evictions) told += " -" + e.what->name;
    for (const auto& r : plan.nominations) told += " ~" + r.what->name;
    for (const auto& a : plan.admissions) {
      told += " +" + a.what->name;
      for (const auto& at : where(scheduler, a.where))
        told += "@" + std::to_string(at.node.index()) + "/" + std::to_string(at.devices);
    }
    return told;
  }
  [[nodiscard]] job_state state(const host_job* j) const {
    const auto at = ids.find(j);
    return at == ids.end() ? job_state::unknown : scheduler.state(at->second);
  }
};

}  // namespace

TEST_CASE("restart: with nodes the same jobs start on the same devices") {
  std::size_t nominated = 0;
  allot_test::for_each_seed(150, [&](random_source& random) {
    process kept, killed;
    std::deque<host_job> jobs;
    std::string diary;
    for (int i = 0; i < 50; ++i) {
      const auto both = [&](auto call) { call(kept), call(killed); };
      const host_job* const j = jobs.empty() ? nullptr : &random.pick(jobs);
      const job_state is = j == nullptr ? job_state::unknown : kept.state(j);
      if (is == job_state::running && random.one_in(4)) {
        both([&](process& p) { p.scheduler.finished(p.ids.at(j)), p.ids.erase(j); });
      } else if (is == job_state::evicting && random.one_in(2)) {
        both([&](process& p) { p.scheduler.evicted(p.ids.at(j)); });
      } else if (random.one_in(2)) {
        const allot::quota_id to = kept.scheduler.tree().find(random.one_in(2) ? "a" : "b");
        jobs.push_back({"j" + std::to_string(i), to, gpus(random.between(1, 5)),
                        static_cast<std::int64_t>(random.below(3)), !random.one_in(5), jobs.size()});
        both([&](process& p) { p.ids[&jobs.back()] = p.scheduler.submit(&jobs.back()); });
      }
      killed.restart();
      const std::string one = kept.step(i), other = killed.step(i);
      diary += '\n' + one;
      INFO(diary);
      REQUIRE(one == other);
      for (const host_job& k : jobs) {
        REQUIRE(kept.state(&k) == killed.state(&k));
        nominated += kept.state(&k) == job_state::nominated ? 1U : 0U;
      }
      REQUIRE(kept.scheduler.ledger() == killed.scheduler.ledger());
      REQUIRE(kept.scheduler.assumed() == killed.scheduler.assumed());
      REQUIRE(kept.scheduler.places().used() == killed.scheduler.places().used());
    }
  });
  CHECK((nominated > 500 || !allot_test::all_cases_run()));
}

namespace {

/// b1 is evicted for a1, which is nominated.
void evict_for_a1(host<>& h) {
  h.submit("b1", "b", 6);
  REQUIRE(h.step() == "+b1");
  h.submit("a1", "a", 4);
  REQUIRE(h.step() == "-b1>a1 ~a1");
}
auto fresh() {
  return std::move(host{two_teams()}.scheduler());
}

}  // namespace

TEST_CASE("restart: a nominated job starts when its victims have gone, and not before") {
  host h{two_teams()};
  evict_for_a1(h);
  auto s = fresh();
  REQUIRE(s.resume(h.scheduler().state()));
  const job_id leaves = h.id("b1"), next = h.id("a1");
  CHECK(s.state(next) == job_state::nominated);
  CHECK(s.beneficiary_of(leaves) == next);
  CHECK(s.waiting(h.quota("a")) == 1);
  // Its share is held for it.
  const job_id other = s.submit(h.job("b2", "b", 5, {.priority = 9}));
  CHECK(s.step(1).empty());
  CHECK(s.evicted(leaves) == refusal::none);
  const auto& plan = s.step(2);
  REQUIRE(plan.admissions.size() == 1);
  CHECK(plan.admissions[0].id == next);
  CHECK(s.state(other) == job_state::pending);
}

TEST_CASE("restart: what is refused is said, and the rest goes on") {
  host h{two_teams()};
  evict_for_a1(h);
  const auto whole = h.scheduler().state();
  const auto refused = [&](auto edit) {
    auto state = whole;
    edit(state);
    auto s = fresh();
    const auto answer = s.resume(state);
    std::string told;
    for (const auto& u : answer.refused)
      told += u.what->name + ' ' + std::string{allot::to_string(u.why)} + ' ';
    for (const auto& u : state.units) told += std::string{allot::to_string(s.state(u.id))} + ' ';
    static_cast<void>(s.step(5));
    return told;
  };
  CHECK(refused([](auto&) {}) == "evicting nominated ");
  CHECK(refused([](auto& s) { s.units[1].id = s.units[0].id; }) == "a1 unknown_job evicting evicting ");
  CHECK(refused([](auto& s) { s.units[0].id = job_id{7}; }) == "b1 unknown_job unknown nominated ");
  CHECK(refused([](auto& s) { s.units[0].state = job_state::unknown; }) ==
        "b1 wrong_state unknown nominated ");
  CHECK(refused([](auto& s) { s.units[1].core = s.units[0].id; }) == "a1 wrong_state evicting unknown ");
  CHECK(refused([](auto& s) { s.units[0].pods = 2; }) == "b1 invalid_request unknown nominated ");
  CHECK(refused([](auto& s) { s.memory.leaving.clear(); }) == "evicting nominated ");
  CHECK(refused([](auto& s) { s.memory.nominated.clear(); }) == "evicting pending ");
  host_job nowhere{"x", allot::quota_id{7}, gpus(1)};
  CHECK(refused([&](auto& s) { s.units[0].what = &nowhere; }) == "x unknown_quota unknown nominated ");

  // Only a new scheduler continues from a state.
  auto s = fresh();
  REQUIRE(s.resume(whole));
  const auto again = s.resume(whole);
  CHECK(again.refused.size() == 2);
  CHECK(again.refused[0].why == refusal::wrong_state);
  CHECK(s.state() == whole);
}

TEST_CASE("restart: a place that is no longer there") {
  host on{two_teams(), nodes(2, 4)};
  on.submit("b1", "b", 4);
  REQUIRE(on.step() == "+b1");
  auto s = std::move(host{two_teams(), nodes(2, 4)}.scheduler());
  const auto nothing = s.resume(on.scheduler().state(),
                                [](const auto&) { return std::optional<allot::gpu::allocation_id>{}; });
  REQUIRE(nothing.refused.size() == 1);
  CHECK(nothing.refused[0].why == refusal::unknown_place);
  CHECK(s.state(on.id("b1")) == job_state::unknown);
  CHECK(s.ledger().own_usage(on.quota("b")) == allot::resources<>{});
  // Ids that were left out are not given again as they were.
  CHECK(s.submit(on.job("b2", "b", 1, {})).id != on.id("b1"));
}

TEST_CASE("restart: quotas are known by their names") {
  host h{two_teams()};
  evict_for_a1(h);
  auto quotas = two_teams();
  quotas.insert(quotas.begin() + 1, {.name = "new", .parent = quotas[0].name});
  auto s = std::move(host{quotas}.scheduler());
  // The view says in which quota a job is; here the ids that it gives are those of the other tree.
  auto state = h.scheduler().state();
  state.memory.touched = {h.quota("b")};
  static_cast<void>(s.resume(state));
  CHECK(s.state().memory.quotas[1] == "new");
  CHECK(s.state().memory.touched.back() == s.tree().find("b"));
}

TEST_CASE("restart: no state corrupts a book, whatever was changed in it") {
  std::size_t kept = 0;
  std::size_t refused = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    host h{two_teams()};
    for (int i = 0; i < 12; ++i) {
      h.submit("j" + std::to_string(i), random.one_in(2) ? "a" : "b", random.between(1, 5),
               {.priority = static_cast<std::int64_t>(random.below(3))});
      static_cast<void>(h.step());
    }
    auto state = h.scheduler().state();
    auto& m = state.memory;
    const auto any_id = [&] { return job_id{random.below(14), random.one_in(8) ? 1U : 0U}; };
    for (int edits = static_cast<int>(random.between(1, 4)); edits > 0; --edits) {
      auto& u = random.pick(state.units);
      switch (random.below(10)) {
        case 0:
          u.id = any_id();
          break;
        case 1:
          u.state = static_cast<job_state>(random.below(6));
          break;
        case 2:
          u.core = any_id();
          break;
        case 3:
          u.elastic_pods.push_back(any_id());
          break;
        case 4:
          m.free_ids.push_back(any_id());
          break;
        case 5:
          m.leaving.push_back({any_id(), any_id()});
          break;
        case 6:
          m.nominated.push_back(any_id());
          break;
        case 7:
          m.reservations.push_back({any_id(), {}, 5, random.below(9)});
          break;
        case 8:
          m.inadmissible.push_back({any_id(), {}, {}});
          m.blocking.push_back(any_id());
          break;
        default:
          m.touched.push_back(allot::quota_id{random.below(5)});
          m.most_jobs = static_cast<std::uint32_t>(random.below(20));
      }
    }
    auto s = fresh();
    refused += s.resume(state).refused.size();
    kept += s.state().units.size();
    for (int i = 0; i < 6; ++i) {
      for (const auto& e : s.step(i).evictions) static_cast<void>(s.evicted(e.id));
      allot::resources<> used;
      for (const auto& u : s.state().units) {
        if (u.state == job_state::running || u.state == job_state::evicting) used += s.request(u.id);
      }
      allot::resources<> counted;
      for (const allot::quota_id x : s.tree().top_down()) counted += s.ledger().own_usage(x);
      REQUIRE(counted == used);
      for (const auto& u : s.state().units) {
        if (random.one_in(3)) static_cast<void>(s.finished(u.id));
      }
    }
  });
  CHECK((refused > 300 || !allot_test::all_cases_run()));
  CHECK((kept > 300 || !allot_test::all_cases_run()));
}

TEST_CASE("scheduler: at rest no job nominated earlier could start") {
  // An admission may be taken back in the same step, in favour of another job that needs less. (A job
  // nominated in this step is considered again once the next eviction is complete.)
  std::size_t nominated = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    host h{{{.name = "all", .nominal = gpus(12), .inclusive = true},
            {.name = "dept", .parent = "all", .nominal = gpus(8), .inclusive = true},
            {.name = "a", .parent = "dept", .nominal = gpus(4)},
            {.name = "b", .parent = "dept", .nominal = gpus(3)},
            {.name = "c", .parent = "all", .nominal = gpus(3)}}};
    std::vector<std::string> names;
    std::string fresh;
    for (int i = 0; i < 60; ++i) {
      if (!names.empty() && random.one_in(3)) {
        const std::string& name = random.pick(names);
        if (h.state(name) == job_state::evicting) h.evicted(name), fresh.clear();
      } else {
        names.push_back("j" + std::to_string(i));
        h.submit(names.back(), random.pick(std::vector<std::string>{"dept", "a", "b", "c"}),
                 random.between(1, 6), {.priority = static_cast<std::int64_t>(random.below(3))});
      }
      for (std::string told = h.step_at(i); !told.empty(); told = h.step_at(i)) fresh += told + ' ';
      auto again = h.scheduler();
      again.retry();
      again.step(i);
      for (const std::string& name : names) {
        if (h.state(name) != job_state::nominated || fresh.find('~' + name + ' ') != std::string::npos)
          continue;
        ++nominated;
        REQUIRE(again.state(h.id(name)) == job_state::nominated);
      }
    }
  });
  CHECK((nominated > 500 || !allot_test::all_cases_run()));
}

TEST_CASE("scheduler: a place that a job holds is neither adopted again nor released by the host") {
  host on{two_teams(), nodes(2, 4)};
  auto& s = on.scheduler();
  const auto at = s.take_place({.gpus = gpus(4)}).value();
  const job_id first = s.adopt(on.job("b1", "b", 4, {}), 0, at);
  CHECK(s.state(first) == job_state::running);
  CHECK(s.adopt(on.job("b2", "b", 4, {}), 0, at).why_not == refusal::place_in_use);
  CHECK(s.ledger().own_usage(on.quota("b"), 0) == gpus(4));
  CHECK(s.release_place(at) == refusal::place_in_use);
  CHECK_FALSE(s.take_place({.gpus = gpus(4), .pods = 2}));
  CHECK(s.places().contains(at));
  // When it has gone nobody holds it, and another job may be there.
  CHECK(s.finished(first) == refusal::none);
  CHECK_FALSE(s.places().contains(at));
  CHECK(s.adopt(on.job("b3", "b", 4, {}), 0, s.take_place({.gpus = gpus(4)}).value()));

  // Nor do two jobs of a state get one place.
  on.submit("b4", "b", 4);
  REQUIRE(on.step() == "+b4");
  auto fresh_on = std::move(host{two_teams(), nodes(2, 4)}.scheduler());
  std::optional<allot::gpu::allocation_id> one;
  const auto answer = fresh_on.resume(s.state(), [&](const auto&) {
    if (!one) one = fresh_on.take_place({.gpus = gpus(4)});
    return one;
  });
  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused[0].why == refusal::place_in_use);
  CHECK(fresh_on.ledger().own_usage(on.quota("b"), 0) == gpus(4));
}
