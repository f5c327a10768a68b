// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/detail/float_share.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "tests/support/seeds.hpp"

using allot::float_share;
using allot::quantity;
using allot::ratio;
using allot::rounded_number;

// The oracle: the processor's own doubles.
static_assert(std::numeric_limits<double>::is_iec559);

namespace {

ratio as_key(double value) {
  return {std::bit_cast<std::uint64_t>(value), 1};
}

}  // namespace

TEST_CASE("float_share: the bits are those of a double, step by step") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const auto number = [&] {
      return random.between(1, std::numeric_limits<std::int64_t>::max()) >> random.below(62);
    };
    const std::int64_t a = number() | 1;
    const std::int64_t b = number() | 1;
    CAPTURE(a);
    CAPTURE(b);
    const volatile double x = static_cast<double>(a);
    const volatile double y = static_cast<double>(b);
    const volatile double product = x * y;
    const volatile double quotient = x / y;
    CHECK(rounded_number::of(a).key() == std::bit_cast<std::uint64_t>(static_cast<double>(x)));
    CHECK((rounded_number::of(a) * rounded_number::of(b)).key() ==
          std::bit_cast<std::uint64_t>(static_cast<double>(product)));
    CHECK((rounded_number::of(a) / rounded_number::of(b)).key() ==
          std::bit_cast<std::uint64_t>(static_cast<double>(quotient)));
  });
}

TEST_CASE("float_share: ties round to even, and a remainder breaks them") {
  const std::int64_t one_more = (std::int64_t{1} << 53) + 1;
  const std::int64_t three_more = (std::int64_t{1} << 53) + 3;
  CHECK(rounded_number::of(one_more).key() == rounded_number::of(one_more - 1).key());
  CHECK(rounded_number::of(three_more).key() == rounded_number::of(three_more + 1).key());
  CHECK(rounded_number::of(std::numeric_limits<std::int64_t>::max()).key() ==
        std::bit_cast<std::uint64_t>(9223372036854775808.0));
}

TEST_CASE("float_share: equal shares that round differently, and weight zero") {
  const float_share one = float_share::of(quantity::whole(1), quantity::whole(15), 1000);
  const float_share five = float_share::of(quantity::whole(5), quantity::whole(15), 5000);
  CHECK(one.weighted == as_key(66.66666666666667));
  CHECK(five.weighted == as_key(66.66666666666666));
  CHECK(five.unweighted == as_key(333.3333333333333));
  CHECK(float_share::of(quantity::whole(1), quantity::whole(15), 500).weighted == as_key(133.33333333333334));
  CHECK(float_share::of(quantity::whole(1), quantity::whole(15), 0).weighted.is_infinite());
  // Amounts in thousandths give the same result as whole ones.
  CHECK(float_share::of(quantity::milli(1), quantity::milli(15), 1000).weighted == one.weighted);
}
