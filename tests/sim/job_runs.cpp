// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/detail/job_runs.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"
#include "tests/support/throwing_assert.hpp"

using namespace allot_test;
using allot::sim::event_kind;
using allot::sim::job_outcome;
using allot::sim::job_runs;

namespace {

/// Job 0 is elastic, of 1 to 4 pods, and may run for 300 s; job 1 is not.
job_runs<1> two_jobs() {
  std::vector<allot::sim::job<1>> jobs = {job_of(a, 4, 0, 100), job_of(b, 2, 50, 10)};
  jobs[0].pod_request = {gpus(1), 4};
  jobs[0].min_pods = 1;
  jobs[0].time_limit = 300 * second;
  jobs[0].checkpoint = 10 * second;
  return {std::move(jobs), {}, allot::build_quota_tree(siblings({4, 4})).value()};
}

}  // namespace

TEST_CASE("job_runs: the end of a run is among the events, and moves with its pods") {
  job_runs<1> runs = two_jobs();
  runs.come(0);
  runs.start(0, 0, {}, 1);
  CHECK(runs.events().next_time() == 300 * second);
  runs.grow(0, 0, 0);
  CHECK(runs.events().next_time() == 200 * second);
  runs.shrink(0, 100 * second, 0);
  // Half of the work is done; with one pod the rest takes longer than the time limit.
  CHECK(runs.events().next_time() == 300 * second);
  // At the same instant the end precedes the time limit.
  CHECK(runs.events().next_kind() == event_kind::finish);
  CHECK(runs.events().size() == 2);
  // 208 of work, of which 200 are saved: 5 checkpoints of 10 s of all pods.
  CHECK(runs.cut_short(0, 108 * second) == 2 * second);
  CHECK(runs.events().empty());
  CHECK(runs[0].outcome == job_outcome::waiting);
  CHECK(runs.accounts().waiting()[a.index()] == 1);
}

TEST_CASE("job_runs: a removed job holds nothing and has no end event") {
  job_runs<1> runs = two_jobs();
  runs.come(0);
  runs.come(1);
  runs.start(0, 0, {}, 1);
  runs.leave(0, 20 * second, job_outcome::cancelled);
  runs.leave(1, 20 * second, job_outcome::cancelled);
  CHECK(runs.events().empty());
  CHECK(runs[0].end == 20 * second);
  CHECK(runs.accounts().demand()[a.index()] == allot::resources<1>{});
  CHECK(runs.accounts().waiting()[b.index()] == 0);
  CHECK_THROWS_AS(runs.start(0, 0, {}, 1), allot_test::assertion_failed);
}

TEST_CASE("job_runs: arrivals are queued one at a time, and not before the beginning") {
  job_runs<1> runs = two_jobs();
  runs[0].id = allot::job_id{7};
  runs.begin(60 * second);
  runs.push_next_arrival();
  runs.push_next_arrival();
  REQUIRE(runs.events().size() == 1);
  const auto e = runs.events().pop();
  CHECK(e.kind == event_kind::arrival);
  CHECK(e.payload == 1);
  CHECK(e.time == 60 * second);
}

TEST_CASE("job_runs: the view stays valid when it is moved") {
  job_runs<1> runs = two_jobs();
  const auto view = runs.view(false);
  const job_runs<1> moved = std::move(runs);
  CHECK(view.jobs.data() == moved.jobs().data());
  CHECK(view.pods(0) == 4);
  CHECK(view.quota(1) == b);
}
