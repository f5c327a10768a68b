// SPDX-License-Identifier: BSL-1.0
#include <allot/core/ratio.hpp>

#include <doctest/doctest.h>

#include <array>
#include <compare>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::compare_fractions;
using allot::ratio;
using allot::wide;

namespace {

constexpr wide largest = ~wide{0};

/// A product of two 128-bit numbers, most significant word first, multiplied as on paper.
std::array<std::uint64_t, 4> product(wide x, wide y) {
  constexpr wide word = wide{1} << 64;
  const wide low = (x % word) * (y % word);
  const wide middle1 = (x / word) * (y % word);
  const wide middle2 = (x % word) * (y / word);
  const wide high = (x / word) * (y / word);
  const wide second = low / word + middle1 % word + middle2 % word;
  const wide third = second / word + middle1 / word + middle2 / word + high % word;
  const wide fourth = third / word + high / word;
  return {static_cast<std::uint64_t>(fourth), static_cast<std::uint64_t>(third),
          static_cast<std::uint64_t>(second), static_cast<std::uint64_t>(low)};
}

/// The definition, with 256-bit products: a/0 is infinite, 0/anything is zero.
std::strong_ordering by_definition(wide a, wide b, wide c, wide d) {
  if (a == 0) b = 1;
  if (c == 0) d = 1;
  if (b == 0 || d == 0) return (b == 0) <=> (d == 0);
  return product(a, d) <=> product(c, b);
}

/// Of every size up to 128 bits, including the extremes and powers of two.
wide any_size(allot_test::random_source& random) {
  const wide bits = (wide{random()} << 64U) | random();
  switch (random.below(8)) {
    case 0:
      return random.below(3);
    case 1:
      return largest - random.below(3);
    case 2:
      return (wide{1} << random.below(128)) - random.below(2);
    default:
      return bits >> random.below(128);
  }
}

}  // namespace

TEST_CASE("ratio: the comparison is that of the 256-bit cross products") {
  allot_test::for_each_seed(50'000, [](allot_test::random_source& random) {
    const wide a = any_size(random);
    const wide b = any_size(random);
    const wide c = any_size(random);
    const wide d = any_size(random);
    const auto expected = by_definition(a, b, c, d);
    CHECK((compare_fractions(a, b, c, d) == expected));
    CHECK((compare_fractions(c, d, a, b) == 0 <=> expected));
  });
}

TEST_CASE("ratio: neighbours that differ only in the last step of Euclid's algorithm") {
  // Consecutive quotients of Fibonacci numbers agree in all but their last partial quotient, and are on
  // alternating sides of the golden ratio.
  std::vector<wide> fibonacci{1, 1};
  while (fibonacci.back() <= largest - fibonacci[fibonacci.size() - 2]) {
    fibonacci.push_back(fibonacci.back() + fibonacci[fibonacci.size() - 2]);
  }
  CHECK(fibonacci.size() > 180);
  for (std::size_t i = 2; i + 1 < fibonacci.size(); ++i) {
    const auto order = compare_fractions(fibonacci[i], fibonacci[i - 1], fibonacci[i + 1], fibonacci[i]);
    CHECK((order == (i % 2 == 0 ? std::strong_ordering::greater : std::strong_ordering::less)));
  }
}

TEST_CASE("ratio: equal fractions compare equal whatever their terms") {
  allot_test::for_each_seed(5'000, [](allot_test::random_source& random) {
    const wide a = random() >> random.below(63);
    const wide b = (random() >> random.below(63)) | 1U;
    const wide k = random() | 1U;
    CHECK((ratio{a, b} == ratio{a * k, b * k}));
    CHECK((ratio{a * k, b * k} < ratio{a * k + 1, b * k}));
  });
}

TEST_CASE("ratio: zero denominators") {
  CHECK(ratio{}.is_zero());
  CHECK((ratio{} == ratio{0, 0}));
  CHECK((ratio{0, 7} == ratio{}));
  CHECK(ratio::infinite().is_infinite());
  CHECK((ratio{5, 0} == ratio::infinite()));
  CHECK_FALSE(ratio{0, 0}.is_infinite());
  CHECK((ratio{largest, 1} < ratio::infinite()));
  CHECK((ratio{0, 0} < ratio{1, largest}));
}

TEST_CASE("ratio: an approximation for the reader") {
  CHECK(ratio{1, 4}.approximate() == doctest::Approx(0.25));
  CHECK(ratio{}.approximate() == doctest::Approx(0.0));
  CHECK(ratio{0, 0}.approximate() == doctest::Approx(0.0));
}
