// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/weight.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/support/print.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::quantity;

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

static_assert(std::is_trivially_copyable_v<fair_weight> && sizeof(fair_weight) == 8);
static_assert(!std::is_convertible_v<fair_weight, std::int64_t>);
static_assert(!std::is_convertible_v<quantity, fair_weight>);
static_assert(fair_weight{} == fair_weight::whole(1));
static_assert(fair_weight::whole(2) == fair_weight::milli(2000));
static_assert(fair_weight::milli(500) < fair_weight::whole(1));
static_assert(fair_weight::milli(500).in_milli() == 500);

}  // namespace

TEST_CASE("weight: exact, ordered as its thousandths, and saturating as amounts do") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const std::int64_t a = static_cast<std::int64_t>(random()) >> random.below(64);
    const std::int64_t b = static_cast<std::int64_t>(random()) >> random.below(64);
    CAPTURE(a);
    CAPTURE(b);
    CHECK(fair_weight::milli(a).in_milli() == quantity::milli(a).in_milli());
    CHECK(fair_weight::whole(a).in_milli() == quantity::whole(a).in_milli());
    CHECK((fair_weight::milli(a) <=> fair_weight::milli(b)) == (a <=> b));
    CHECK((fair_weight::milli(a) == fair_weight::milli(b)) == (a == b));
  });
}

TEST_CASE("weight: the limits") {
  CHECK(fair_weight::milli(largest).in_milli() == largest);
  CHECK(fair_weight::milli(std::numeric_limits<std::int64_t>::min()).in_milli() == -largest);
  CHECK(fair_weight::whole(largest / 1000).in_milli() == largest / 1000 * 1000);
  CHECK(fair_weight::whole(largest / 1000 + 1).in_milli() == largest);
  CHECK(fair_weight::whole(-largest).in_milli() == -largest);
}
