// SPDX-License-Identifier: BSL-1.0
#include <allot/core/time.hpp>

#include <doctest/doctest.h>

#include <type_traits>

// Spans can be negative, and a host that counts nanoseconds since 1970 must fit.
static_assert(std::is_signed_v<allot::instant> && std::is_integral_v<allot::instant>);
static_assert(sizeof(allot::instant) == 8);

TEST_CASE("time: a span between two instants has a sign") {
  const allot::instant now = 5;
  const allot::instant start = 1'700'000'000'000'000'000;
  CHECK(now - start == -1'699'999'999'999'999'995);
}
