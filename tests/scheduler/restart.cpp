// SPDX-License-Identifier: BSL-1.0
// A scheduler that takes over from another one: what is adopted, and with nodes (see also
// systems/restart.cpp).
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "examples/restart.hpp"
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
    std::vector<job_id> all;
    for (const auto& [j, id] : ids) all.push_back(id);
    const auto saved =
        restart::save<locations>(scheduler, all, [this](auto at) { return where(scheduler, at); });
    scheduler = start();
    ids.clear();
    const auto take = [this](const host_job* j, const locations& at) {
      const auto taken = scheduler.places().place_at(scheduler.view().pod_request(j), at);
      REQUIRE(taken.has_value());
      return *taken;
    };
    REQUIRE(restart::restore(scheduler, saved, take, [this](const host_job* j, job_id id) { ids[j] = id; }));
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
  std::size_t reserved = 0;
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
                        static_cast<std::int32_t>(random.below(3)), !random.one_in(5), jobs.size()});
        both([&](process& p) { p.ids[&jobs.back()] = p.scheduler.submit(&jobs.back()); });
      }
      kept.scheduler.retry();
      killed.restart();
      const std::string one = kept.step(i), other = killed.step(i);
      diary += '\n' + one;
      INFO(diary);
      REQUIRE(one == other);
      for (const host_job& k : jobs) {
        REQUIRE(kept.state(&k) == killed.state(&k));
        reserved += kept.state(&k) == job_state::nominated ? 1U : 0U;
      }
      REQUIRE(kept.scheduler.ledger() == killed.scheduler.ledger());
      REQUIRE(kept.scheduler.assumed() == killed.scheduler.assumed());
      REQUIRE(kept.scheduler.places().used() == killed.scheduler.places().used());
    }
  });
  CHECK((reserved > 500 || !allot_test::all_cases_run()));
}

TEST_CASE("scheduler: an adopted nominated job starts when its victims have gone, and not before") {
  host h{two_teams()};
  auto& s = h.scheduler();
  const job_id leaves = h.adopt("b1", "b", 6);
  const host_job* const waits = h.job("a1", "a", 4, {.priority = 1});
  CHECK(s.adopt_nominated(waits, std::vector{leaves}).why_not == refusal::wrong_state);
  h.evicting("b1");
  CHECK(s.beneficiary_of(leaves).is_none());
  const job_id next = s.adopt_nominated(waits, std::vector{leaves});
  CHECK(s.state(next) == job_state::nominated);
  CHECK(s.beneficiary_of(leaves) == next);
  CHECK(std::vector<job_id>(s.nominated().begin(), s.nominated().end()) == std::vector{next});
  CHECK(std::vector<job_id>(s.evicting().begin(), s.evicting().end()) == std::vector{leaves});
  CHECK(s.waiting(h.quota("a")) == 1);
  // Its share is held for it.
  h.submit("b2", "b", 5, {.priority = 9});
  CHECK(h.step().empty());
  h.evicted("b1");
  CHECK(h.step() == "+a1");
}

TEST_CASE("scheduler: a nominated job that can't be adopted changes nothing") {
  host h{two_teams()};
  auto& s = h.scheduler();
  const job_id leaves = h.adopt("b1", "b", 6);
  h.evicting("b1");
  const host_job nowhere{"x", allot::quota_id{7}, gpus(1)};
  CHECK(s.adopt_nominated(&nowhere, {}).why_not == refusal::unknown_quota);
  const host_job negative{"x", h.quota("a"), gpus(-1)};
  CHECK(s.adopt_nominated(&negative, {}).why_not == refusal::invalid_request);
  const host_job* const good = h.job("a1", "a", 4, {});
  CHECK(s.adopt_nominated(good, std::vector{job_id{99}}).why_not == refusal::unknown_job);
  const job_id first = s.adopt_nominated(good, std::vector{leaves});
  // It is already being evicted for another job.
  CHECK(s.adopt_nominated(h.job("a2", "a", 2, {}), std::vector{leaves}).why_not == refusal::wrong_state);
  CHECK(s.nominated().size() == 1);
  CHECK(s.beneficiary_of(leaves) == first);
  CHECK(h.step().empty());

  host on{two_teams(), nodes(2, 4)};
  const auto stranger = nodes(2, 4).place({.gpus = gpus(1)}).value();
  CHECK(on.scheduler().adopt_nominated(on.job("a1", "a", 1, {}), {}, stranger).why_not ==
        refusal::unknown_place);
}

TEST_CASE("scheduler: an adopted nominated job for which there is no room is pending") {
  host h{two_teams()};
  h.adopt("b1", "b", 6);
  const job_id id = h.scheduler().adopt_nominated(h.job("a1", "a", 4, {}), {});
  CHECK(h.scheduler().state(id) == job_state::nominated);
  CHECK(h.step() == "-b1>a1 ~a1");
}

TEST_CASE("scheduler: where nothing is announced, an announced job is submitted") {
  host h{two_teams()};
  const job_id id = h.scheduler().adopt_announced(h.job("a1", "a", 4, {}));
  CHECK(h.scheduler().state(id) == job_state::pending);
  CHECK_FALSE(h.scheduler().announced(id));
  CHECK_FALSE(h.scheduler().announced(job_id{99}));
  CHECK(h.scheduler().adopt_announced(h.job("x", "nobody", 1, {})).why_not == refusal::unknown_quota);
}

TEST_CASE("scheduler: at rest no job nominated earlier could start") {
  // An admission may be taken back in the same step, in favour of another job that needs less. (A job
  // reserved in this step is considered again once the next eviction is complete.)
  std::size_t reserved = 0;
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
                 random.between(1, 6), {.priority = static_cast<std::int32_t>(random.below(3))});
      }
      for (std::string told = h.step_at(i); !told.empty(); told = h.step_at(i)) fresh += told + ' ';
      auto again = h.scheduler();
      again.retry();
      again.step(i);
      for (const std::string& name : names) {
        if (h.state(name) != job_state::nominated || fresh.find('~' + name + ' ') != std::string::npos)
          continue;
        ++reserved;
        REQUIRE(again.state(h.id(name)) == job_state::nominated);
      }
    }
  });
  CHECK((reserved > 500 || !allot_test::all_cases_run()));
}
