// SPDX-License-Identifier: BSL-1.0
#include <allot/core/time.hpp>

#include <limits>
#include <type_traits>

// Spans can be negative, and a host that counts nanoseconds since 1970 must fit.
static_assert(std::is_signed_v<allot::instant> && std::is_integral_v<allot::instant>);
static_assert(sizeof(allot::instant) == 8);

namespace {

constexpr allot::instant first = std::numeric_limits<allot::instant>::min();

}  // namespace

// What has no end has none by any clock, before 1970 too.
static_assert(allot::later(5, 3) == 8 && allot::later(-5, 3) == -2);
static_assert(allot::later(5, allot::without_end) == allot::without_end);
static_assert(allot::later(-5, allot::without_end) == allot::without_end);
static_assert(allot::later(first, allot::without_end) == allot::without_end);
static_assert(allot::later(5, allot::without_end - 2) == allot::without_end);

// Times that are moved do not become never or always, and these are not moved.
static_assert(allot::detail::moved(5, -8) == -3 && allot::detail::moved(-5, 8) == 3);
static_assert(allot::detail::moved(first, 8) == first);
static_assert(allot::detail::moved(allot::without_end, -8) == allot::without_end);
static_assert(allot::detail::moved(-8, first) == first + 1);
static_assert(allot::detail::moved(first + 2, -8) == first + 1);
static_assert(allot::detail::moved(8, allot::without_end) == allot::without_end - 1);

static_assert(allot::detail::span_between(5, 3) == -2 && allot::detail::span_between(-5, 3) == 8);
static_assert(allot::detail::span_between(first, allot::without_end) == allot::without_end);
static_assert(allot::detail::span_between(allot::without_end, first) == first + 1);
static_assert(allot::detail::span_between(first, first) == 0);
