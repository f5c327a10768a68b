// SPDX-License-Identifier: BSL-1.0
// A simulation that stands still before its end, and goes on.
#include <allot/lab/metrics/metrics.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::standard;
using allot::lab::metrics;
using allot::sim::job;
using allot::sim::job_outcome;
using allot::sim::run_log;

namespace {

allot::sim::simulator<1> made(allot::sim::setup<1> s) {
  auto sim = simulator_of(standard::name, std::move(s));
  REQUIRE(sim);
  return std::move(*sim);
}

}  // namespace

TEST_CASE("simulator: it stops before the first excluded instant") {
  // b runs with 8 GPUs until a reclaims its 4 at 45.
  auto sim = made(
      world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20), job_of(a, 4, 200, 10)}));
  metrics<1> measure;
  run_log log;
  allot::sim::run_logger<1> runs{log};
  diary seen;
  allot::sim::observers<1> watch{&measure, &runs, &seen};
  std::vector<instant> asked;
  const auto until = [&](instant end) {
    return [&asked, end](instant next) {
      asked.push_back(next / second);
      return next <= end * second;
    };
  };
  CHECK(sim.run(watch, until(45)).empty());
  CHECK(asked == std::vector<instant>{0, 45, 65});
  CHECK(sim.now() == 45 * second);
  CHECK(sim.history(0).outcome == job_outcome::waiting);
  CHECK(sim.history(2).outcome == job_outcome::future);
  CHECK(sim.why(0).binding);
  CHECK(sim.why_in_brief(0).binding == sim.why(0).binding);

  // Ten seconds later: a's job has run that long, b's is pending, and the third has not been submitted.
  measure.pause();
  sim.pass_time(55 * second, watch);
  log.pause(sim.now());
  CHECK(sim.now() == 55 * second);
  CHECK(log.last_run(1)->end == 55 * second);
  CHECK_FALSE(log.last_run(1)->evicted);
  const auto f = measure.figures(sim);
  CHECK(f.of.jobs ==
        allot::lab::job_counts{.total = 3, .unfinished = 3, .waiting = 1, .running = 1, .future = 1});
  CHECK(f.end == 55 * second);
  CHECK(f.of.allocated == gpu_seconds(8 * 45 + 4 * 10));
  CHECK(f.capacity == gpu_seconds(8 * 55));
  CHECK(f.idle == gpu_seconds(4 * 10));

  // The stop changes nothing.
  CHECK(sim.run(watch).empty());
  diary whole;
  const auto at_once = run<standard>(
      world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20), job_of(a, 4, 200, 10)}),
      whole);
  CHECK(seen.lines == whole.lines);
  CHECK(sim.decision_hash().value() == at_once.decision_hash().value());
}

TEST_CASE("simulator: stopping any number of times changes no decision and no figure") {
  for_each_seed(60, [](random_source& random) {
    const random_world given = make_random_world(random);
    metrics<1> whole;
    const auto at_once = run<standard>(given.setup_for<standard>(), whole);
    auto sim = made(given.setup_for<standard>());
    metrics<1> pieces;
    bool has_stopped = true;
    while (has_stopped) {
      has_stopped = false;
      instant next_at = 0;
      const auto goes_on = [&](instant next) {
        has_stopped = random.below(4) == 0;
        next_at = next;
        return !has_stopped;
      };
      REQUIRE(sim.run(pieces, goes_on).empty());
      if (has_stopped && next_at > sim.now()) sim.pass_time(sim.now() + (next_at - sim.now()) / 2, pieces);
    }
    CHECK(sim.decision_hash().value() == at_once.decision_hash().value());
    const auto a_figures = whole.figures(at_once);
    const auto b_figures = pieces.figures(sim);
    CHECK(a_figures.of.allocated == b_figures.of.allocated);
    CHECK(a_figures.of.fair_share_error == b_figures.of.fair_share_error);
    CHECK(a_figures.of.borrowed == b_figures.of.borrowed);
    CHECK(a_figures.capacity == b_figures.capacity);
    CHECK(a_figures.jain == b_figures.jain);
    CHECK(a_figures.end == b_figures.end);
  });
}
