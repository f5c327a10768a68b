// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/thinned_series.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::instant;
using allot::lab::thinned_series;
using values = std::vector<std::int64_t>;

TEST_CASE("thinned_series: while there is room, a span is a tick") {
  thinned_series s{10, 4};
  s.set(10, 5);
  s.set(12, 7);
  CHECK(s.means(13) == values{5, 5, 7});
  CHECK(s.width() == 1);
}

TEST_CASE("thinned_series: every two spans become one when the time outgrows them") {
  thinned_series s{0, 4};
  s.set(0, 8);
  s.set(3, 0);
  CHECK(s.means(8) == values{8, 4, 0, 0});
  CHECK(s.width() == 2);
  s.set(8, 4);
  // The last one has only begun.
  CHECK(s.means(9) == values{6, 0, 4});
  CHECK(s.width() == 4);
}

TEST_CASE("thinned_series: an empty series, and two values at one instant") {
  thinned_series s{5, 2};
  CHECK(s.means(5).empty());
  s.set(5, 1);
  s.set(5, 3);
  CHECK(s.means(6) == values{3});
}

TEST_CASE("thinned_series: every mean is that of its span") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const std::size_t most = 2 * (1 + random.below(8));
    const instant origin = random.between(-50, 50);
    thinned_series s{origin, most};
    std::vector<std::pair<instant, std::int64_t>> steps = {{origin, 0}};
    instant now = origin;
    for (std::size_t i = random.below(30); i > 0; --i) {
      now += random.one_in(5) ? random.between(0, 400) : random.between(0, 3);
      const std::int64_t value = random.between(0, 1000);
      s.set(now, value);
      steps.emplace_back(now, value);
    }
    now += random.between(0, 5);
    const values means = s.means(now);
    REQUIRE(means.size() <= most);
    REQUIRE(static_cast<instant>(means.size()) == (now - origin + s.width() - 1) / s.width());
    REQUIRE((s.width() == 1 || (now - origin) * 2 > s.width() * static_cast<instant>(most)));
    for (std::size_t i = 0; i < means.size(); ++i) {
      const instant begin = origin + static_cast<instant>(i) * s.width();
      const instant end = std::min(now, begin + s.width());
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < steps.size(); ++k) {
        const instant from = std::max(begin, steps[k].first);
        const instant to = std::min(end, k + 1 < steps.size() ? steps[k + 1].first : now);
        if (from < to) sum += steps[k].second * (to - from);
      }
      REQUIRE(means[i] == (sum + (end - begin) / 2) / (end - begin));
    }
  });
}
