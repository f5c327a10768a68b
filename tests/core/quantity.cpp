// SPDX-License-Identifier: BSL-1.0
#include <allot/core/quantity.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;

namespace {

__extension__ using wide = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// The expected result of saturating arithmetic, computed in 128 bits.
quantity clamped(wide exact) {
  if (exact >= largest) return quantity::unlimited();
  if (exact <= -wide{largest}) return quantity::lowest();
  return quantity::milli(static_cast<std::int64_t>(exact));
}

/// Of every magnitude, so that half of all sums and most products overflow.
std::int64_t any_magnitude(allot_test::random_source& random) {
  return static_cast<std::int64_t>(random()) >> random.below(64);
}

static_assert(std::is_trivially_copyable_v<quantity> && sizeof(quantity) == 8);
static_assert(!std::is_convertible_v<std::int64_t, quantity>);
static_assert(gpus(4) == quantity::milli(4000) && quantity::whole(4) == gpus(4));
static_assert(quantity{} == quantity::milli(0));

}  // namespace

TEST_CASE("quantity: sums, differences and products are exact or saturate") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const std::int64_t a = any_magnitude(random);
    const std::int64_t b = any_magnitude(random);
    const quantity x = quantity::milli(a);
    const quantity y = quantity::milli(b);
    CAPTURE(a);
    CAPTURE(b);
    CHECK(x + y == (x.is_unlimited() || y.is_unlimited() ? quantity::unlimited() : clamped(wide{a} + b)));
    CHECK(x - y == (x.is_unlimited() ? x : y.is_unlimited() ? quantity::lowest() : clamped(wide{a} - b)));
    CHECK(x * b == clamped(wide{a} * b));
    CHECK(quantity::whole(a) == clamped(wide{a} * 1000));
    CHECK((x <=> y) == (a <=> b));
    CHECK(-x == clamped(-wide{a}));
    CHECK(-(-x) == x);
  });
}

TEST_CASE("quantity: unlimited survives what is added to it and taken from it") {
  const quantity unlimited = quantity::unlimited();
  for (const quantity q : {quantity{}, gpus(1), gpus(-1), quantity::milli(largest - 1), quantity::lowest(),
                           quantity::unlimited()}) {
    CHECK(unlimited + q == unlimited);
    CHECK(q + unlimited == unlimited);
    CHECK(unlimited - q == unlimited);
  }
  CHECK(unlimited * 3 == unlimited);
  CHECK(unlimited * -1 == quantity::lowest());
  CHECK(unlimited * 0 == quantity{});
}

TEST_CASE("quantity: something unlimited taken from something bounded leaves the lowest amount") {
  for (const quantity q : {quantity{}, gpus(1), gpus(-1), quantity::milli(largest - 1)}) {
    CHECK(q - quantity::unlimited() == quantity::lowest());
  }
}

TEST_CASE("quantity: the limits of the type are not bounded amounts") {
  CHECK_FALSE(quantity::milli(largest).is_bounded());
  CHECK_FALSE(quantity::milli(std::numeric_limits<std::int64_t>::min()).is_bounded());
  CHECK(quantity::milli(std::numeric_limits<std::int64_t>::min()) == quantity::lowest());
  CHECK(quantity::milli(largest - 1).is_bounded());
  CHECK(quantity::lowest() < quantity::milli(-largest + 1));
  CHECK(quantity::milli(largest - 1) < quantity::unlimited());
}

TEST_CASE("quantity: compound assignment is the operator") {
  quantity q = gpus(3);
  q += quantity::milli(500);
  CHECK(q.in_milli() == 3500);
  q -= gpus(4);
  CHECK(q.in_milli() == -500);
}
