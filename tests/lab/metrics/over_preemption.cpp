// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/over_preemption.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::lab::over_preemption;
using allot::sim::job;

TEST_CASE("over_preemption: evicted GPUs beyond the request, instant by instant") {
  over_preemption c;
  CHECK(c.total() == 0);
  c.note(7, 4'000, 5'000);
  c.note(8, 2'000, 1'000);
  c.note(7, 4'000, 5'000);
  c.settle();
  CHECK(c.total() == 3'000 + 1'000);
  // Less than was requested: the rest was free.
  c.note(7, 1'000, 5'000);
  c.settle();
  CHECK(c.total() == 4'000);
  c.settle();
  CHECK(c.total() == 4'000);
}

TEST_CASE("over_preemption: a gang of 8 is evicted for a job of 1") {
  // b's gang borrows everything; a takes 1 of its 4 back, and the gang is evicted as a whole.
  std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 1, 10, 20)};
  allot::lab::metrics<1> m;
  const auto sim = run<allot::standard>(world<allot::standard>(siblings({4, 4}), std::move(jobs)), m);
  CHECK(m.figures(sim).over_preempted == 7'000);
  CHECK(m.figures(sim).of.preempted_jobs == 1);
  CHECK(m.figures(sim).of.most_preemptions == 1);
}

TEST_CASE("over_preemption: an elastic job yields what is requested and no more") {
  job<1> elastic = job_of(b, 8, 0, 100);
  elastic.pod_request = {};
  elastic.pod_request.gpus = gpus(1);
  elastic.pod_request.pods = 8;
  elastic.min_pods = 1;
  std::vector<job<1>> jobs = {elastic, job_of(a, 3, 10, 20)};
  allot::lab::metrics<1> m;
  const auto sim = run<allot::standard>(world<allot::standard>(siblings({4, 4}), std::move(jobs)), m);
  const auto f = m.figures(sim);
  CHECK(f.pods_given_up == 3);
  CHECK(f.over_preempted == 0);
  CHECK(f.of.preempted_jobs == 0);
}
