// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

/// The mean of `draw()` over `n` draws.
template <class Draw>
double mean_of(std::size_t n, Draw draw) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(draw());
  return sum / static_cast<double>(n);
}

}  // namespace

static_assert(std::uniform_random_bit_generator<random_stream>);

TEST_CASE("random_stream: SplitMix64 fills the state, xoshiro256** draws from it") {
  // The first outputs of SplitMix64 for the seed 1234567, as published, are its output function of the
  // multiples of its constant.
  std::uint64_t weyl = 1234567;
  for (const std::uint64_t published : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                        4593380528125082431U, 16408922859458223821U}) {
    CHECK(detail::scatter(weyl += 0x9E3779B97F4A7C15U) == published);
  }
  // Golden values: a change here changes every generated workload.
  random_stream zero{0};
  CHECK(zero() == 11091344671253066420U);
  CHECK(zero() == 13793997310169335082U);
  random_stream other{42, 7};
  CHECK(other() != random_stream{42, 8}());
  CHECK(random_stream{42, 7}() == random_stream{42, 7}());
}

TEST_CASE("random: golden values of the distributions") {
  random_stream r{1};
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 3; ++i) drawn.push_back(draw_between(r, -10, 10));
  for (int i = 0; i < 3; ++i) drawn.push_back(draw_exponential(r, 1'000'000));
  for (int i = 0; i < 3; ++i) drawn.push_back(draw_log_uniform(r, 1'000, 1'000'000'000));
  constexpr std::array<quantile, 3> quantiles = {{{0, 10}, {500, 1'000}, {1000, 1'000'000}}};
  for (int i = 0; i < 3; ++i) drawn.push_back(draw_from_quantiles(r, quantiles));
  CHECK(drawn ==
        std::vector<std::int64_t>{4, 0, 2, 391328, 3080455, 45820, 1724131, 1084272, 78816, 11, 66497, 382});
}

TEST_CASE("draw_below: uniform, for any bound") {
  random_stream r{3};
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 10U}) {
    std::vector<std::size_t> counts(n);
    for (std::size_t i = 0; i < 20'000; ++i) ++counts[draw_below(r, n)];
    for (const std::size_t count : counts) {
      CHECK(static_cast<double>(count) == doctest::Approx(20'000.0 / static_cast<double>(n)).epsilon(0.1));
    }
  }
  // A bound for which nearly half of all draws must be rejected: multiplication alone would distribute the
  // numbers of the first and second half unevenly.
  const std::uint64_t two_thirds = std::numeric_limits<std::uint64_t>::max() / 3 * 2;
  CHECK(mean_of(20'000, [&] { return draw_below(r, two_thirds) < two_thirds / 2; }) ==
        doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("draw_between: stays in its range, reaches both ends, and takes the widest") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    random_stream r{random()};
    const std::int64_t low = random.between(-1'000'000, 1'000'000);
    const std::int64_t high = low + random.between(0, 5);
    bool met_low = false;
    bool met_high = false;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t drawn = draw_between(r, low, high);
      CHECK(low <= drawn);
      CHECK(drawn <= high);
      met_low |= drawn == low;
      met_high |= drawn == high;
    }
    CHECK(met_low);
    CHECK(met_high);
  });
  random_stream r{1};
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 64; ++i) {
    const std::int64_t drawn =
        draw_between(r, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    negative |= drawn < 0;
    positive |= drawn > 0;
  }
  CHECK(negative);
  CHECK(positive);
}

TEST_CASE("draw_chance: the given probability") {
  random_stream r{5};
  CHECK(mean_of(50'000, [&] { return draw_chance(r, 3, 10); }) == doctest::Approx(0.3).epsilon(0.03));
  CHECK(mean_of(1'000, [&] { return draw_chance(r, 0, 10); }) == 0.0);
  CHECK(mean_of(1'000, [&] { return draw_chance(r, 10, 10); }) == 1.0);
}

TEST_CASE("draw_exponential: mean, variance and tail of the exponential distribution") {
  random_stream r{7};
  constexpr std::int64_t mean = 3'600'000;
  std::vector<double> drawn;
  for (std::size_t i = 0; i < 100'000; ++i) {
    drawn.push_back(static_cast<double>(draw_exponential(r, mean)) / static_cast<double>(mean));
  }
  const auto share_above = [&](double x) {
    return static_cast<double>(std::count_if(drawn.begin(), drawn.end(), [&](double d) { return d > x; })) /
           static_cast<double>(drawn.size());
  };
  double sum = 0;
  double squares = 0;
  for (const double d : drawn) sum += d, squares += d * d;
  const auto n = static_cast<double>(drawn.size());
  CHECK(sum / n == doctest::Approx(1.0).epsilon(0.02));
  CHECK(squares / n == doctest::Approx(2.0).epsilon(0.05));
  for (const double x : {0.1, 0.5, 1.0, 1.5, 2.0, 3.0}) {
    CHECK(share_above(x) == doctest::Approx(std::exp(-x)).epsilon(0.05));
  }
  CHECK(draw_exponential(r, 0) == 0);
}

TEST_CASE("floor_sqrt: the root rounded down, up to 128 bits") {
  for (std::uint64_t n = 0; n < 2'000; ++n) {
    const std::uint64_t root = detail::floor_sqrt(n);
    CHECK(root * root <= n);
    CHECK((root + 1) * (root + 1) > n);
  }
  allot_test::for_each_seed(2'000, [](allot_test::random_source& random) {
    const auto high = allot::wide{random() >> random.below(64)};
    const allot::wide n = (random.one_in(2) ? high << 64U : 0) | (random() >> random.below(64));
    const allot::wide root = detail::floor_sqrt(n);
    CHECK(root * root <= n);
    // (2^64)^2 does not fit; no 128-bit number is that large.
    if (root != std::numeric_limits<std::uint64_t>::max()) CHECK((root + 1) * (root + 1) > n);
  });
  CHECK(detail::floor_sqrt(~allot::wide{0}) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("draw_log_uniform: equally often in each factor of ten") {
  random_stream r{11};
  std::array<std::size_t, 4> decades{};
  for (std::size_t i = 0; i < 40'000; ++i) {
    const std::int64_t drawn = draw_log_uniform(r, 10'000, 100'000'000);
    CHECK(drawn >= 10'000);
    CHECK(drawn <= 100'000'000);
    ++decades[std::min<std::size_t>(3, static_cast<std::size_t>(std::log10(static_cast<double>(drawn))) - 4)];
  }
  for (const std::size_t count : decades)
    CHECK(static_cast<double>(count) == doctest::Approx(10'000).epsilon(0.05));
  CHECK(draw_log_uniform(r, 1, 1) == 1);
  CHECK(draw_log_uniform(r, 77, 77) == 77);
}

TEST_CASE("draw_from_quantiles: its quantiles are those it was given") {
  constexpr std::array<quantile, 4> quantiles = {{{0, 60}, {300, 600}, {900, 36'000}, {1000, 360'000}}};
  random_stream r{13};
  std::vector<std::int64_t> drawn;
  for (std::size_t i = 0; i < 50'000; ++i) drawn.push_back(draw_from_quantiles(r, quantiles));
  std::sort(drawn.begin(), drawn.end());
  CHECK(drawn.front() >= 60);
  CHECK(drawn.back() <= 360'000);
  CHECK(static_cast<double>(drawn[15'000]) == doctest::Approx(600).epsilon(0.05));
  CHECK(static_cast<double>(drawn[45'000]) == doctest::Approx(36'000).epsilon(0.05));
}

TEST_CASE("weighted_choice: follows the weights, weight zero is never chosen") {
  constexpr std::array<std::uint64_t, 5> weights = {0, 1, 0, 3, 6};
  const weighted_choice choose{weights};
  random_stream r{17};
  std::array<std::size_t, 5> counts{};
  for (std::size_t i = 0; i < 50'000; ++i) ++counts[choose(r)];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CHECK(static_cast<double>(counts[i]) ==
          doctest::Approx(5'000.0 * static_cast<double>(weights[i])).epsilon(0.05));
  }
}
