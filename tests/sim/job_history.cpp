// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/job_history.hpp>

#include <doctest/doctest.h>

#include "tests/support/words.hpp"

using allot::sim::job_history;
using allot::sim::job_outcome;

// There is one for each job of a workload, and some workloads have millions.
static_assert(sizeof(job_history) <= 192);

TEST_CASE("job_history: lost work is given as time of all pods") {
  job_history h;
  h.work = allot::sim::job_progress{100, 4};
  h.work.begin(0, 2);
  // 2 pods for 50 ms are a quarter of the job.
  CHECK(h.work.cut_short(50, {}) == 100);
  CHECK(h.lost() == 25);
}

TEST_CASE("job_history: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::sim::job_outcome>(7));
  CHECK(allot_test::has_words<allot::sim::interruption::cause>(4));
}
