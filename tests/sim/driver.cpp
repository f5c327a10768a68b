// SPDX-License-Identifier: BSL-1.0
// A simulation that is told what happens.
#include <allot/lab/metrics/metrics.hpp>
#include <allot/presets/standard.hpp>
#include <allot/sim/driver.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::job_id;
using allot::refusal;
using allot::standard;
using allot::sim::driver;
using allot::sim::job_outcome;

namespace {

allot::sim::simulator<1> made(allot::sim::setup<1> s) {
  auto sim = simulator_of(standard::name, std::move(s));
  REQUIRE(sim);
  return std::move(*sim);
}

/// What a plan says: "admit 1 evict 0".
struct plans {
  template <class Plan>
  void operator()(const Plan& plan) {
    std::string line;
    for (const auto& e : plan.evictions) line += " evict " + std::to_string(e.what);
    for (const auto& a : plan.admissions) line += " admit " + std::to_string(a.what);
    lines->push_back(line.empty() ? line : line.substr(1));
  }
  std::vector<std::string>* lines;
};

}  // namespace

TEST_CASE("driver: runs begin and end when they are said to, and victims leave when they have left") {
  auto sim =
      made(world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 1), job_of(a, 4, 10, 1), job_of(a, 1, 11, 1)}));
  diary seen;
  driver<1> told{sim, seen};
  std::vector<std::string> decided;
  const auto step = [&](instant s) { told.step(s * second, plans{&decided}); };
  CHECK(told.submit(0));
  step(0);
  CHECK(told.started(0, 1 * second) == refusal::none);
  // It lasts far longer than its duration.
  step(5);
  told.pass_time(10 * second);
  CHECK(told.submit(1));
  step(10);
  CHECK(sim.history(0).outcome == job_outcome::running);
  CHECK(sim.history(1).outcome == job_outcome::waiting);
  step(12);
  told.pass_time(14 * second);
  CHECK(told.evicted(0) == refusal::none);
  CHECK(told.evicted(0) != refusal::none);
  step(14);
  CHECK(sim.history(1).outcome == job_outcome::running);
  told.pass_time(20 * second);
  CHECK(told.finished(1) == refusal::none);
  CHECK(told.cancel(0) == refusal::none);
  step(20);
  CHECK(decided == std::vector<std::string>{"admit 0", "", "evict 0", "", "admit 1", ""});
  CHECK(seen.lines == std::vector<std::string>{"0 submit 0", "0 start 0, borrows 4", "10 submit 1",
                                               "14 evict 0 for 1 (borrower), lost 1", "14 start 1",
                                               "20 finish 1", "20 cancel 0"});
  CHECK(sim.history(0).preemptions == 1);
  CHECK(sim.history(2).outcome == job_outcome::future);
  CHECK(sim.decisions() == 3);
  CHECK(sim.accounts().own_usage(a, 0) == gpus(0));
}

TEST_CASE("driver: what a host has decided before is taken over") {
  auto sim =
      made(world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 9), job_of(a, 4, 0, 9), job_of(a, -1, 0, 9)}));
  allot::lab::metrics<1> measure;
  driver<1> told{sim, measure};
  std::vector<std::string> decided;
  told.pass_time(3 * second);
  // Job 0 leaves for job 1.
  allot::scheduler_state<allot::sim::job_index, allot::gpu::allocation_id> before;
  before.units.resize(2);
  for (std::uint32_t j : {0U, 1U}) {
    before.units[j].id = allot::job_id{j};
    before.units[j].what = j;
    before.units[j].rank = {0, 0, j};
  }
  before.units[0].state = allot::job_state::evicting;
  before.units[0].since = 1 * second;
  before.units[1].state = allot::job_state::nominated;
  before.memory.most_jobs = 2;
  before.memory.leaving = {{allot::job_id{0}, allot::job_id{1}}};
  before.memory.nominated = {allot::job_id{1}};
  CHECK(told.resume(before, [](const auto& u) { return std::optional{u.where}; }));
  // Less than nothing.
  CHECK_FALSE(told.submit(2));
  CHECK(sim.history(2).outcome == job_outcome::refused);
  told.step(3 * second, plans{&decided});
  told.pass_time(4 * second);
  CHECK(told.evicted(0) == refusal::none);
  told.step(4 * second, plans{&decided});
  CHECK(decided == std::vector<std::string>{"", "admit 1"});
  CHECK(sim.history(0).first_start == 1 * second);
  CHECK(sim.history(0).preemptions == 0);
  CHECK(sim.history(1).outcome == job_outcome::running);
  CHECK(measure.figures(sim).of.jobs.total == 3);
}
