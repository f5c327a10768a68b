// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/limit.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/support/print.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::limit;
using allot::quantity;

namespace {

__extension__ using wide = __int128;

static_assert(limit{} == limit::all());
static_assert(limit::all().of(gpus(4)).is_unlimited());
static_assert(limit::none().of(gpus(4)) == quantity{});
static_assert(limit::at_most(gpus(3)).of(gpus(4)) == gpus(3));
static_assert(limit::percent(40).of(gpus(5)) == gpus(2));
static_assert(limit::percent(500).of(gpus(5)) == gpus(25));

}  // namespace

TEST_CASE("limit: at_most(unlimited) is all()") {
  CHECK(limit::at_most(quantity::unlimited()) == limit::all());
}

TEST_CASE("limit: a percentage is exact, rounded down to the thousandth, and saturates") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const std::int64_t nominal = static_cast<std::int64_t>(random() >> 1U) >> random.below(63);
    const std::int64_t percent = static_cast<std::int64_t>(random() >> 1U) >> random.below(63);
    CAPTURE(nominal);
    CAPTURE(percent);
    const quantity found = limit::percent(percent).of(quantity::milli(nominal));
    const wide exact = wide{nominal} * percent / 100;
    if (quantity::milli(nominal).is_unlimited()) {
      CHECK(found == (percent == 0 ? quantity{} : quantity::unlimited()));
    } else if (exact >= std::numeric_limits<std::int64_t>::max()) {
      CHECK(found.is_unlimited());
    } else if (percent <= std::numeric_limits<std::int64_t>::max() / 99) {
      CHECK(found == quantity::milli(static_cast<std::int64_t>(exact)));
    }
  });
}

TEST_CASE("limit: a percentage of an unlimited nominal is unlimited, but for 0 %") {
  CHECK(limit::percent(1).of(quantity::unlimited()).is_unlimited());
  CHECK(limit::percent(0).of(quantity::unlimited()) == quantity{});
}

TEST_CASE("limit: only amounts and percentages can be negative") {
  CHECK(limit::at_most(gpus(-1)).is_negative());
  CHECK(limit::percent(-1).is_negative());
  CHECK_FALSE(limit::all().is_negative());
  CHECK_FALSE(limit::none().is_negative());
  CHECK_FALSE(limit::percent(0).is_negative());
}
