// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/load_level.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using allot::gpus;
using allot::instant;
using allot::lab::offered_load;
using allot::lab::scale_arrivals;
using allot::lab::second;
using allot::lab::set_load;
using allot::lab::trace;

namespace {

void add(trace& t, instant submit_s, instant duration_s, std::int64_t size) {
  allot::lab::trace_job j;
  j.id = t.ids.intern(std::to_string(t.jobs.size())).name;
  j.submit = submit_s * second;
  j.duration = duration_s * second;
  j.gpus = gpus(size);
  t.jobs.push_back(j);
}

/// 100 s in which 8 x 30 + 2 x 80 GPU-seconds arrive.
trace small() {
  trace t;
  add(t, 50, 30, 8);
  add(t, 100, 80, 2);
  add(t, 150, 0, 1);
  return t;
}

}  // namespace

TEST_CASE("load level: submitted work over capacity") {
  CHECK(offered_load(small(), gpus(8)) == 500);
  CHECK(offered_load(small(), gpus(16)) == 250);
  // A job that never runs is no load.
  CHECK(offered_load(small(), gpus(4)) == 400);
  CHECK_FALSE(offered_load(small(), gpus(0)));
  CHECK_FALSE(offered_load({}, gpus(8)));
  trace at_once;
  add(at_once, 5, 10, 1);
  add(at_once, 5, 10, 1);
  CHECK_FALSE(offered_load(at_once, gpus(8)));
  CHECK_FALSE(set_load(at_once, gpus(8), 900));
}

TEST_CASE("load level: arrivals closer together and further apart") {
  trace t = small();
  t.jobs[1].deadline = 300 * second;
  scale_arrivals(t, 1000, 2000);
  CHECK(t.jobs[0].submit == 50 * second);
  CHECK(t.jobs[1].submit == 75 * second);
  CHECK(t.jobs[2].submit == 100 * second);
  CHECK(t.jobs[1].duration == 80 * second);
  CHECK(*t.jobs[1].deadline == 275 * second);
  scale_arrivals(t, 3, 1);
  CHECK(t.jobs[1].submit == 125 * second);
  // Halves are rounded up.
  t.jobs[1].submit = t.jobs[0].submit + 1;
  scale_arrivals(t, 1, 2);
  CHECK(t.jobs[1].submit == t.jobs[0].submit + 1);
}

TEST_CASE("load level: a trace is scaled to a given load") {
  for (const std::int64_t load : {1, 250, 500, 900, 1100, 40'000}) {
    CAPTURE(load);
    trace t = small();
    REQUIRE(set_load(t, gpus(8), load));
    // To the millisecond of the span, which is a second at the highest load.
    CHECK(*offered_load(t, gpus(8)) >= load - load / 1000 - 1);
    CHECK(*offered_load(t, gpus(8)) <= load + load / 1000 + 1);
    CHECK(t.jobs[0].submit == 50 * second);
    CHECK(t.jobs[0].submit <= t.jobs[1].submit);
    CHECK(t.jobs[1].submit <= t.jobs[2].submit);
  }
  trace t = small();
  CHECK_FALSE(set_load(t, gpus(8), 0));
  CHECK_FALSE(set_load(t, gpus(0), 500));
}
