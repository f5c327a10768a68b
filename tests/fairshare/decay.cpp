// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/decay.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/support/seeds.hpp"

using allot::decay_factor;
using allot::half_life_decay;
using allot::instant;
using allot::wide;

namespace {

constexpr long double one = 9223372036854775808.0L;

long double value(decay_factor f) {
  return static_cast<long double>(f.parts()) / one;
}

}  // namespace

static_assert(half_life_decay(10, 10).parts() == decay_factor::one_in_parts / 2);
static_assert(half_life_decay(30, 10).parts() == decay_factor::one_in_parts / 8);

TEST_CASE("decay: within 2^-56 of 0.5 ^ (span / half_life)") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const instant half_life = random.between(1, std::int64_t{1} << random.below(50));
    const instant span = random.between(0, random.one_in(2) ? half_life : 20 * half_life);
    const long double exact =
        std::exp2(-static_cast<long double>(span) / static_cast<long double>(half_life));
    // long double itself is off by about 2^-60 here.
    CHECK(std::fabs(value(half_life_decay(span, half_life)) - exact) < 0x1p-56L);
  });
}

TEST_CASE("decay: in two steps as in one, never growing") {
  allot_test::for_each_seed(5000, [](allot_test::random_source& random) {
    const instant half_life = random.between(1, 1'000'000);
    const instant a = random.between(0, 3'000'000);
    const instant b = random.between(0, 3'000'000);
    const long double twice = value(half_life_decay(a, half_life) * half_life_decay(b, half_life));
    CHECK(std::fabs(twice - value(half_life_decay(a + b, half_life))) < 0x1p-55L);
    CHECK(half_life_decay(a + b, half_life) <= half_life_decay(a, half_life));
  });
}

TEST_CASE("decay: off without a half-life (KAI's trap 14), and all forgotten in the end") {
  for (const instant half_life : {0, -1, -600}) {
    CHECK(half_life_decay(1'000'000, half_life) == decay_factor{});
  }
  CHECK(half_life_decay(0, 60) == decay_factor{});
  CHECK(half_life_decay(-5, 60) == decay_factor{});
  CHECK(half_life_decay(1000, 1).parts() == 0);
  CHECK(half_life_decay(INT64_MAX, 1).parts() == 0);
  CHECK(half_life_decay(INT64_MAX, INT64_MAX).parts() == decay_factor::one_in_parts / 2);
}

TEST_CASE("decay: amounts are rounded to the nearest, large ones too") {
  const decay_factor half = half_life_decay(1, 1);
  CHECK((half.of(5) == 3));
  CHECK((half.of(4) == 2));
  CHECK((half.of(UINT64_MAX) == wide{1} << 63U));
  CHECK((decay_factor{}.of(UINT64_MAX) == UINT64_MAX));
  CHECK((half.of(wide{1} << 125U) == wide{1} << 124U));
  CHECK((half_life_decay(3, 1).of((wide{1} << 100U) + 4) == (wide{1} << 97U) + 1));
  CHECK(half.complement() == half);
}
