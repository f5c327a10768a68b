// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/statistics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::instant;
using allot::ratio;

TEST_CASE("percentile_index: floor(percent/100 x n), and not beyond the last") {
  static_assert(percentile_index(0, 50) == 0);
  static_assert(percentile_index(1, 99) == 0);
  static_assert(percentile_index(2, 50) == 1);
  static_assert(percentile_index(100, 99) == 99);
  static_assert(percentile_index(10, 100) == 9);
  // As in the Helios simulator: sorted[n / 2] and sorted[int(0.99 n)].
  for (std::size_t n = 1; n < 3'000; ++n) {
    CHECK(percentile_index(n, 50) == n / 2);
    CHECK(percentile_index(n, 99) == n * 99 / 100);
    CHECK(percentile_index(n, 99) < n);
  }
  CHECK(percentile_index(std::numeric_limits<std::size_t>::max(), 99) >
        std::numeric_limits<std::size_t>::max() / 2);
}

TEST_CASE("summarize: an example") {
  std::vector<instant> sample = {40, 10, 20, 30};
  const sample_summary s = summarize(sample);
  CHECK(s.count == 4);
  CHECK(s.sum == 100);
  CHECK(s.mean() == 25);
  CHECK(s.p50 == 30);
  CHECK(s.p90 == 40);
  CHECK(s.p99 == 40);
  CHECK(s.max == 40);
  const sample_summary nothing = summarize({});
  CHECK(nothing.count == 0);
  CHECK(nothing.mean() == 0);
  CHECK(nothing.max == 0);
  std::vector<instant> halves = {1, 2};
  CHECK(summarize(halves).mean() == 2);
  std::vector<instant> negative = {-1};
  CHECK_THROWS_AS((void)summarize(negative), allot_test::assertion_failed);
}

TEST_CASE("summarize: agrees with a sorted sample") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    std::vector<instant> sample(1 + random.below(300));
    const std::int64_t most = std::int64_t{1} << random.below(40);
    for (instant& value : sample) value = random.between(0, most);
    std::vector<instant> sorted = sample;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const sample_summary s = summarize(sample);
    const std::int64_t sum = std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0});
    CHECK(s.sum == static_cast<allot::wide>(sum));
    CHECK(s.p50 == sorted[n / 2]);
    CHECK(s.p90 == sorted[n * 90 / 100]);
    CHECK(s.p99 == sorted[n * 99 / 100]);
    CHECK(s.max == sorted.back());
    const auto count = static_cast<std::int64_t>(n);
    CHECK(2 * s.mean() * count >= 2 * sum - count);
    CHECK(2 * s.mean() * count <= 2 * sum + count);
  });
}

TEST_CASE("summarize: sums do not overflow") {
  std::vector<instant> sample(4, std::numeric_limits<instant>::max());
  CHECK(summarize(sample).mean() == std::numeric_limits<instant>::max());
}

TEST_CASE("jain_index: 1 if all are equal, 1/n if one has everything") {
  constexpr std::array<std::int64_t, 3> equal = {7, 7, 7};
  CHECK(jain_index(equal) == ratio{1, 1});
  constexpr std::array<std::int64_t, 4> one = {0, 9, 0, 0};
  CHECK(jain_index(one) == ratio{1, 4});
  constexpr std::array<std::int64_t, 2> two_to_one = {2, 1};
  CHECK(jain_index(two_to_one) == ratio{9, 10});
  CHECK(jain_index({}) == ratio{1, 1});
  constexpr std::array<std::int64_t, 2> nothing = {0, 0};
  CHECK(jain_index(nothing) == ratio{1, 1});
}

TEST_CASE("jain_index: between 1/n and 1, whatever the unit and the order") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    std::vector<std::int64_t> shares(1 + random.below(20));
    for (std::int64_t& share : shares) share = random.between(0, 1'000'000);
    shares[0] = 1 + random.between(0, 5);
    const ratio index = jain_index(shares);
    CHECK(index <= ratio{1, 1});
    CHECK(index >= ratio{1, shares.size()});
    std::vector<std::int64_t> scaled = shares;
    for (std::int64_t& share : scaled) share *= 1'000;
    random.shuffle(scaled);
    CHECK(jain_index(scaled) == index);
  });
}

TEST_CASE("millionths: rounded down, saturating, and 0 of 0 is a million") {
  CHECK(millionths(1, 3) == 333'333);
  CHECK(millionths(5, 2) == 2'500'000);
  CHECK(millionths(0, 7) == 0);
  CHECK(millionths(0, 0) == 1'000'000);
  CHECK(millionths(1, 0) == std::int64_t{1} << 38U);
  CHECK(millionths(std::numeric_limits<std::int64_t>::max(), 1) == std::int64_t{1} << 38U);
  CHECK_THROWS_AS((void)millionths(-1, 1), allot_test::assertion_failed);
}

TEST_CASE("bounded_slowdown: at least 1, and short jobs count as the bound") {
  CHECK(bounded_slowdown(300, 100, 10) == ratio{3, 1});
  CHECK(bounded_slowdown(100, 100, 10) == ratio{1, 1});
  CHECK(bounded_slowdown(5, 1, 10) == ratio{1, 1});
  CHECK(bounded_slowdown(25, 1, 10) == ratio{5, 2});
  CHECK(bounded_slowdown(25, 0, 10) == ratio{5, 2});
  CHECK(allot::lab::bounded_slowdown_in_thousandths(25, 1, 10) == 2'500);
  CHECK(allot::lab::bounded_slowdown_in_thousandths(5, 1, 10) == 1'000);
  CHECK(allot::lab::bounded_slowdown_in_thousandths(200, 300, 10) == 1'000);
  // 1.6666..., to the nearest.
  CHECK(allot::lab::bounded_slowdown_in_thousandths(50, 30, 10) == 1'667);
}
