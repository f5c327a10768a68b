// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/waiting_times.hpp>

#include <doctest/doctest.h>

#include <optional>

using allot::instant;
using allot::lab::waiting_times;

TEST_CASE("waiting_times: a job that waits twice") {
  waiting_times w;
  CHECK_FALSE(w.has_come(1));
  w.begin(3, 1, 10);
  CHECK(w.has_come(1));
  CHECK(w.waits(1));
  CHECK(w.total(1, 14) == 4);
  CHECK_FALSE(w.before_start(1));
  w.end(1, 15);
  CHECK_FALSE(w.waits(1));
  CHECK(w.has_come(1));
  CHECK(w.before_start(1) == std::optional<instant>{5});
  // Evicted.
  w.begin(3, 1, 20);
  CHECK(w.waits(1));
  w.end(1, 27);
  CHECK(w.total(1, 100) == 12);
  CHECK(w.before_start(1) == std::optional<instant>{5});
}

TEST_CASE("waiting_times: jobs that start at once, are withdrawn, or never come") {
  waiting_times w;
  w.begin(4, 0, 0);
  w.end(0, 0);
  CHECK(w.before_start(0) == std::optional<instant>{0});
  CHECK(w.total(0, 9) == 0);
  w.begin(4, 1, 5);
  w.give_up(1, 8);
  CHECK_FALSE(w.waits(1));
  CHECK(w.has_come(1));
  CHECK_FALSE(w.before_start(1));
  CHECK(w.total(1, 9) == 3);
  CHECK_FALSE(w.has_come(2));
  CHECK(w.total(2, 9) == 0);
  CHECK_FALSE(w.has_come(77));
}
