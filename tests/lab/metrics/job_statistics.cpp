// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/job_statistics.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/sim/random_world.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::lab::job_figures;
using allot::lab::metrics;
using allot::lab::run_figures;
using allot::sim::job;

namespace {

/// One GPU for all, one job after the other. Class 1 are short jobs, class 2 one that asks for 4.
allot::sim::setup<1> story() {
  std::vector<job<1>> jobs = {job_of(a, 1, 0, 30),  job_of(a, 1, 0, 5),    job_of(a, 1, 0, 5),
                              job_of(a, 4, 10, 20), job_of(b, 1, 20, 300), job_of(b, 1, 330, 10)};
  jobs[1].job_class = jobs[2].job_class = 1;
  jobs[3].job_class = 2;
  jobs[0].deadline = 30 * second;
  jobs[1].deadline = 34 * second;
  jobs[3].deadline = 500 * second;
  auto s = world<allot::fifo>(siblings({4, 4}), std::move(jobs));
  s.where = nodes(1, 4);
  return s;
}

run_figures measured(allot::sim::setup<1> s, allot::lab::time_window window = {}) {
  metrics<1> m{{.window = window}};
  const auto sim = run<allot::fifo>(std::move(s), m);
  return m.figures(sim);
}

}  // namespace

TEST_CASE("job_statistics: classes, sizes, slowdown and deadlines, worked by hand") {
  // All but job 3 fit on the node together: 0, 1 and 2 run from 0; 3 waits for 0 until 30 and runs until 50,
  // 4 waits behind it from 20 to 50, and runs until 350; 5 starts at once.
  const run_figures f = measured(story());
  REQUIRE(f.classes.size() == 3);
  CHECK(f.classes[0].jobs.completed == 3);
  CHECK(f.classes[1].jobs.completed == 2);
  CHECK(f.classes[2].jobs.completed == 1);
  CHECK(f.classes[1].jct.max == 5 * second);
  CHECK(f.classes[2].queue.p50 == 20 * second);
  CHECK(f.classes[2].jct.p50 == 40 * second);
  CHECK(f.classes[2].slowdown.p50 == 2'000);
  // Job 4: 330 s for 300.
  CHECK(f.classes[0].slowdown.max == 1'100);
  // 5 s are less than 10: shorter durations count as 10.
  CHECK(f.classes[1].slowdown.max == 1'000);
  CHECK(f.sizes[allot::lab::size_bucket(1'000)].jobs.total == 5);
  CHECK(f.sizes[allot::lab::size_bucket(4'000)].jobs.total == 1);
  CHECK(f.sizes[allot::lab::size_bucket(4'000)].queue.max == 20 * second);
  CHECK(f.of.slowdown.count == 6);
  CHECK(f.of.deadlines == allot::lab::deadline_counts{3, 3});
  CHECK(f.of.came == 6);
  CHECK(f.of.unstarted == 0);
  CHECK(f.of.submitted == 6);
  CHECK(f.quotas[b.index()].of.queue.max == 30 * second);
}

TEST_CASE("job_statistics: times cover the jobs submitted in the window, counts cover all") {
  const run_figures f = measured(story(), {10 * second, 330 * second});
  CHECK(f.of.submitted == 2);
  CHECK(f.of.jobs.completed == 6);
  CHECK(f.of.jct.count == 2);
  CHECK(f.of.jct.max == 330 * second);
  CHECK(f.of.waited.total() == 50'000);
  CHECK(f.classes[1].jct.count == 0);
  CHECK(f.of.deadlines == allot::lab::deadline_counts{1, 1});
}

TEST_CASE("job_statistics: starved jobs, and jobs that never start") {
  // Class 1 mostly starts at once; the median counts as 10 s, so more than 100 s are too long.
  std::vector<job<1>> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(job_of(a, 1, 0, 101));
  jobs.push_back(job_of(b, 4, 0, 5));
  jobs.push_back(job_of(b, 4, 1, 5));
  jobs.push_back(job_of(b, 3, 2, 5));
  jobs.push_back(job_of(a, 1, 200, 1));
  for (auto& j : jobs) j.job_class = 1;
  jobs[5].deadline = 3 * second;
  auto s = world<allot::static_quotas>(siblings({3, 4}), std::move(jobs));
  s.where = nodes(1, 4);
  // b's first job waits for 101 s, its second for 105, its third for 109; no other job waits.
  metrics<1> m;
  const auto sim = run<allot::static_quotas>(std::move(s), m);
  run_figures f = m.figures(sim);
  CHECK(f.of.starved == 3);
  CHECK(f.quotas[b.index()].of.starved == 3);
  CHECK(f.quotas[a.index()].of.starved == 0);
  CHECK(f.sizes[allot::lab::size_bucket(4'000)].starved == 3);
  CHECK(f.of.deadlines == allot::lab::deadline_counts{1, 0});
  CHECK(f.of.max_wait == 109 * second);

  // A job that its quota never allows.
  std::vector<job<1>> two = {job_of(a, 4, 0, 10), job_of(a, 5, 1, 10)};
  two[1].deadline = 100 * second;
  metrics<1> other;
  const auto stuck =
      run<allot::static_quotas>(world<allot::static_quotas>(siblings({4}), std::move(two)), other);
  f = other.figures(stuck);
  CHECK(f.of.unstarted == 1);
  CHECK(f.of.jobs.unfinished == 1);
  CHECK(f.of.deadlines == allot::lab::deadline_counts{1, 0});
}

TEST_CASE("job_statistics: the figures by quota, class and size add up to those of all") {
  for_each_seed(60, [](random_source& random) {
    const random_world given = make_random_world(random);
    auto s = given.setup_for<allot::standard>();
    for (auto& j : s.jobs) {
      j.job_class = static_cast<std::uint32_t>(random.below(3));
      if (random.one_in(2)) j.deadline = random.between(0, 80) * second;
    }
    const allot::lab::time_window window =
        random.one_in(2) ? allot::lab::time_window{} : allot::lab::time_window{5 * second, 30 * second};
    metrics<1> m{{.window = window}};
    const auto sim = run<allot::standard>(std::move(s), m);
    const run_figures f = m.figures(sim);
    std::vector<instant> waits;
    for (job_index j = 0; j < sim.jobs().size(); ++j) {
      const auto w = m.waits().before_start(j);
      const instant submit = sim.jobs()[j].submit;
      if (w && submit >= window.begin && submit < window.end) waits.push_back(*w);
    }
    std::sort(waits.begin(), waits.end());
    REQUIRE(f.of.queue.count == waits.size());
    if (!waits.empty()) {
      REQUIRE(f.of.queue.max == waits.back());
      REQUIRE(f.of.queue.p50 == waits[waits.size() / 2]);
    }
    const auto adds_up = [&](const std::vector<job_figures>& parts) {
      job_figures sum;
      std::size_t queued = 0;
      allot::wide queue = 0;
      for (const job_figures& p : parts) {
        sum.jobs.total += p.jobs.total;
        sum.jobs.completed += p.jobs.completed;
        sum.jobs.unfinished += p.jobs.unfinished;
        sum.preemptions += p.preemptions;
        sum.lost += p.lost;
        sum.came += p.came;
        sum.starved += p.starved;
        sum.unstarted += p.unstarted;
        sum.deadlines.met += p.deadlines.met;
        sum.max_wait = std::max(sum.max_wait, p.max_wait);
        for (std::size_t c = 0; c < sum.waited.by.size(); ++c) sum.waited.by[c] += p.waited.by[c];
        queued += p.queue.count;
        queue += p.queue.sum;
      }
      REQUIRE(sum.jobs.total == f.of.jobs.total);
      REQUIRE(sum.jobs.completed == f.of.jobs.completed);
      REQUIRE(sum.jobs.unfinished == f.of.jobs.unfinished);
      REQUIRE(sum.preemptions == f.of.preemptions);
      REQUIRE(sum.lost == f.of.lost);
      REQUIRE(sum.came == f.of.came);
      REQUIRE(sum.starved == f.of.starved);
      REQUIRE(sum.unstarted == f.of.unstarted);
      REQUIRE(sum.deadlines.met == f.of.deadlines.met);
      REQUIRE(sum.max_wait == f.of.max_wait);
      REQUIRE(sum.waited.by == f.of.waited.by);
      REQUIRE(queued == f.of.queue.count);
      REQUIRE(queue == f.of.queue.sum);
    };
    adds_up(f.classes);
    adds_up({f.sizes.begin(), f.sizes.end()});
    std::vector<job_figures> of_quotas;
    for (const auto& q : f.quotas) of_quotas.push_back(q.of);
    adds_up(of_quotas);
  });
}
