// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/timeline.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::instant;

TEST_CASE("step_integral: an example in GPU-hours") {
  constexpr instant hour = 3'600'000;
  step_integral in_use;
  in_use.add(0, 8'000);
  in_use.add(2 * hour, 500);
  in_use.add(3 * hour, -8'000);
  CHECK(in_use.value() == 500);
  CHECK(gpu_hours(in_use.until(3 * hour)) == 8 * 2 + 8.5);
  CHECK(gpu_hours(in_use.until(5 * hour)) == 8 * 2 + 8.5 + 1);
  CHECK(gpu_hours(step_integral{}.until(hour)) == 0.0);
}

TEST_CASE("step_integral: zero-length changes have no effect") {
  step_integral s{5};
  s.set(5, 1'000);
  s.set(10, 7'777);
  s.set(10, 2'000);
  CHECK(s.until(10) == 5'000);
  CHECK(s.until(11) == 7'000);
}

TEST_CASE("step_integral: preconditions") {
  step_integral s{5};
  s.set(7, 3);
  CHECK_THROWS_AS(s.set(6, 1), allot_test::assertion_failed);
  CHECK_THROWS_AS(s.set(8, -1), allot_test::assertion_failed);
  CHECK_THROWS_AS(s.add(8, -4), allot_test::assertion_failed);
  CHECK_THROWS_AS((void)s.until(6), allot_test::assertion_failed);
  CHECK(s.until(8) == 3);
}

TEST_CASE("step_integral: does not overflow 64 bits") {
  step_integral s;
  s.set(0, std::numeric_limits<std::int64_t>::max());
  const allot::wide total = s.until(std::numeric_limits<instant>::max());
  const auto most = static_cast<allot::wide>(std::numeric_limits<std::int64_t>::max());
  CHECK(total == most * most);
}

TEST_CASE("step_integral: agrees with a sum over every tick, in any window") {
  allot_test::for_each_seed(1'000, [](allot_test::random_source& random) {
    std::vector<std::int64_t> each_tick;
    time_window window;
    if (random.one_in(2)) window.begin = random.between(-5, 60);
    if (random.one_in(2)) window.end = random.between(-5, 60);
    step_integral s{0, window};
    std::int64_t value = 0;
    for (std::size_t change = 0, n = random.below(10); change < n; ++change) {
      const auto ticks = random.below(8);
      each_tick.insert(each_tick.end(), ticks, value);
      value = random.between(0, 9);
      s.set(static_cast<instant>(each_tick.size()), value);
    }
    each_tick.insert(each_tick.end(), random.below(8), value);
    std::int64_t expected = 0;
    for (std::size_t tick = 0; tick < each_tick.size(); ++tick) {
      const auto at = static_cast<instant>(tick);
      if (window.begin <= at && at < window.end) expected += each_tick[tick];
    }
    CHECK(s.until(static_cast<instant>(each_tick.size())) == static_cast<allot::wide>(expected));
  });
}
