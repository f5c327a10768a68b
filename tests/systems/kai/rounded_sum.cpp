// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/rounded_sum.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/support/seeds.hpp"

using allot::quantity;
using allot::detail::adds_up_within;

// The oracle: the processor's own doubles.
static_assert(std::numeric_limits<double>::is_iec559);

TEST_CASE("rounded_sum: three pods of 0.8 are more than 2.4, ten of 0.1 no more than 1") {
  CHECK_FALSE(adds_up_within({}, quantity::milli(800), quantity::milli(2400), quantity::milli(2400)));
  CHECK(adds_up_within({}, quantity::milli(100), quantity::milli(1000), quantity::milli(1000)));
  CHECK(adds_up_within(quantity::milli(3000), quantity::milli(2000), quantity::milli(6000),
                       quantity::milli(9000)));
}

TEST_CASE("rounded_sum: as doubles are added, one by one") {
  allot_test::for_each_seed(20'000, [](allot_test::random_source& random) {
    const std::int64_t pod = random.between(1, 1500);
    const std::int64_t pods = random.between(1, 12);
    const std::int64_t used = random.between(0, 40) * random.between(0, 1000) << random.below(16);
    volatile double sum = 0;
    for (std::int64_t i = 0; i < pods; ++i) sum = sum + static_cast<double>(pod) / 1000;
    sum = sum + static_cast<double>(used) / 1000;
    const std::int64_t all = used + pod * pods;
    CAPTURE(pod);
    CAPTURE(pods);
    CAPTURE(used);
    CHECK(adds_up_within(quantity::milli(used), quantity::milli(pod), quantity::milli(pod * pods),
                         quantity::milli(all)) == (sum <= static_cast<double>(all) / 1000));
  });
}
