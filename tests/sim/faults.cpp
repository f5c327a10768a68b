// SPDX-License-Identifier: BSL-1.0
// Starts and evictions that take their time, or fail. See also simulator_world.cpp, where half of the worlds
// have some.
#include <allot/lab/metrics/metrics.hpp>
#include <allot/presets/standard.hpp>
#include <allot/sim/faults.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::standard;
using allot::sim::host_faults;
using allot::sim::job;

namespace {

constexpr host_faults::span exactly(instant seconds) {
  return {seconds * second, seconds * second};
}

}  // namespace

TEST_CASE("faults: without any, nothing takes time or fails") {
  constexpr host_faults none;
  static_assert(!none.delays_evictions());
  for (job_index j = 0; j < 100; ++j) {
    CHECK(none.of_start(j, j).takes == 0);
    CHECK_FALSE(none.of_start(j, j).fails);
    CHECK(none.of_eviction(j, j).takes == 0);
    CHECK_FALSE(none.of_eviction(j, j).fails);
  }
}

TEST_CASE(
    "faults: what is drawn depends on the seed, the job and the number of its start, and has their shares") {
  const host_faults f{
      .start = {2, 5}, .eviction = {7, 7}, .failed_starts = 25'000, .failed_evictions = 100'000};
  std::vector<int> of(6);
  int failed = 0;
  for (job_index j = 0; j < 10'000; ++j) {
    const auto s = f.of_start(j, j % 3);
    CHECK(f.of_start(j, j % 3).takes == s.takes);
    ++of.at(static_cast<std::size_t>(s.takes));
    failed += s.fails ? 1 : 0;
    CHECK(f.of_eviction(j, 0).takes == 7);
    CHECK(f.of_eviction(j, 0).fails);
  }
  for (std::size_t t = 2; t <= 5; ++t) CHECK((of[t] > 2300 && of[t] < 2700));
  CHECK((failed > 2300 && failed < 2700));
  auto other = f;
  other.seed = 2;
  bool differs = false;
  for (job_index j = 0; j < 100; ++j)
    differs = differs || f.of_start(j, 0).takes != other.of_start(j, 0).takes;
  CHECK(differs);
}

TEST_CASE("faults: a job does no work while it is starting, and its time limit runs from then on") {
  auto s = world<standard>(siblings({8}), {job_of(a, 8, 0, 100), job_of(a, 8, 1, 100)});
  s.jobs[1].time_limit = 50 * second;
  s.faults.start = exactly(10);
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::observers<1> both{&seen, &measured};
  const auto sim = run<standard>(std::move(s), both);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "110 finish 0", "110 start 1",
                                "170 evict 1 (time limit), lost 0"});
  CHECK(sim.history(0).lost() == 10 * second);
  CHECK(measured.figures(sim).of.lost == gpu_seconds(2 * 8 * 10));
}

TEST_CASE("faults: a job whose start fails is tried again later, others meanwhile") {
  auto s = world<standard>(siblings({8}), {job_of(a, 8, 0, 100), job_of(a, 4, 1, 20)});
  s.jobs[0].restart = 5 * second;
  s.faults = {.start = exactly(10), .failed_starts = 60'000, .start_again_after = 15 * second};
  // Which of them fail.
  while (!s.faults.of_start(0, 0).fails || s.faults.of_start(0, 1).fails || s.faults.of_start(1, 0).fails)
    ++s.faults.seed;
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::observers<1> both{&seen, &measured};
  const auto sim = run<standard>(std::move(s), both);
  // It has never run, so it does not pay for a restart.
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "10 evict 0 (start failed), lost 0",
                                "10 start 1", "40 finish 1", "40 start 0", "150 finish 0"});
  CHECK(sim.history(0).failed_starts == 1);
  CHECK(sim.history(0).runs == 1);
  CHECK(sim.history(0).preemptions == 0);
  CHECK(sim.history(0).lost() == 20 * second);
  const auto f = measured.figures(sim);
  CHECK(f.of.failed_starts == 1);
  CHECK(f.of.preemptions == 0);
}

TEST_CASE("faults: a job that is evicted works on until it has gone, and its beneficiary waits for that") {
  auto s = world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 10, 20)});
  s.jobs[0].checkpoint = 0;
  s.faults.eviction = exactly(30);
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0, borrows 4", "10 submit 1",
                                "40 evict 0 for 1 (borrower), lost 0", "40 start 1", "60 finish 1",
                                "60 start 0, borrows 4", "120 finish 0"});
  CHECK(sim.history(0).preemptions == 1);
}

TEST_CASE("faults: an eviction that is not needed any more is withdrawn") {
  auto s = world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 10, 20)});
  s.faults.eviction = exactly(30);
  s.cancels = {{20 * second, 1}};
  diary seen;
  const auto sim = run<standard>(std::move(s), seen);
  CHECK(seen.lines ==
        log_lines{"0 submit 0", "0 start 0, borrows 4", "10 submit 1", "20 cancel 1", "100 finish 0"});
}

TEST_CASE("faults: where an eviction fails another job goes") {
  auto s =
      world<standard>(siblings({4, 4}), {job_of(b, 4, 0, 100), job_of(b, 4, 1, 100), job_of(a, 4, 10, 20)});
  s.faults = {.eviction = exactly(5), .failed_evictions = 50'000, .evict_again_after = 200 * second};
  while (!s.faults.of_eviction(1, 0).fails || s.faults.of_eviction(0, 0).fails) ++s.faults.seed;
  diary seen;
  allot::lab::metrics<1> measured;
  allot::sim::observers<1> both{&seen, &measured};
  const auto sim = run<standard>(std::move(s), both);
  CHECK(seen.lines == log_lines{"0 submit 0", "0 start 0", "1 submit 1", "1 start 1, borrows 4",
                                "10 submit 2", "20 evict 0 for 2 (borrower), lost 20", "20 start 2",
                                "40 finish 2", "40 start 0, borrows 4", "101 finish 1", "140 finish 0"});
  CHECK(sim.history(1).failed_evictions == 1);
  CHECK(measured.figures(sim).of.failed_evictions == 1);
}

TEST_CASE("faults: pods that are evicted leave one by one, unless their job goes before") {
  job<1> elastic = job_of(b, 8, 0, 100);
  elastic.pod_request = {gpus(1), 8};
  elastic.min_pods = 2;
  auto s = world<standard>(siblings({4, 4}), {elastic, job_of(a, 2, 10, 30)});
  s.faults.eviction = exactly(10);
  SUBCASE("they leave") {
    diary seen;
    static_cast<void>(run<standard>(std::move(s), seen));
    CHECK(std::count(seen.lines.begin(), seen.lines.end(), "20 shrink 0 to 7 for 1 (borrower)") == 1);
    CHECK(std::count(seen.lines.begin(), seen.lines.end(), "20 shrink 0 to 6 for 1 (borrower)") == 1);
    CHECK(std::count(seen.lines.begin(), seen.lines.end(), "20 start 1") == 1);
  }
  SUBCASE("their job ends") {
    s.cancels = {{15 * second, 0}};
    diary seen;
    static_cast<void>(run<standard>(std::move(s), seen));
    CHECK(seen.lines.back() == "45 finish 1");
    CHECK(std::count(seen.lines.begin(), seen.lines.end(), "15 start 1") == 1);
  }
}

TEST_CASE(
    "faults: a job that is evicted while it is starting goes by its eviction, or with its failed start") {
  for (const bool fails : {false, true}) {
    auto s = world<standard>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 10, 20)});
    s.faults = {.start = exactly(30), .eviction = exactly(25), .failed_starts = 50'000};
    while (s.faults.of_start(0, 0).fails != fails || s.faults.of_start(1, 0).fails ||
           s.faults.of_start(0, 1).fails)
      ++s.faults.seed;
    diary seen;
    const auto sim = run<standard>(std::move(s), seen);
    CHECK(seen.lines[3] ==
          (fails ? "30 evict 0 (start failed), lost 0" : "35 evict 0 for 1 (borrower), lost 5"));
    CHECK(seen.lines[4] == (fails ? "30 start 1" : "35 start 1"));
    CHECK(sim.history(0).end == sim.history(1).end + 130 * second);
  }
}

TEST_CASE("faults: under Kueue's rules a job that was announced waits for slow evictions, too") {
  auto s = world<allot::kueue>(siblings({4, 4}), {job_of(b, 8, 0, 100), job_of(a, 4, 10, 20)});
  for (auto& settings : s.settings) settings.preempt.reclaim = allot::preempt_reclaim::any;
  s.jobs[0].checkpoint = 0;
  s.faults.eviction = exactly(30);
  diary seen;
  static_cast<void>(run<allot::kueue>(std::move(s), seen));
  CHECK(std::count(seen.lines.begin(), seen.lines.end(), "40 start 1") == 1);
}
