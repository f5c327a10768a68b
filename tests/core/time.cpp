// SPDX-License-Identifier: BSL-1.0
#include <allot/core/time.hpp>

#include <type_traits>

// Spans can be negative, and a host that counts nanoseconds since 1970 must fit.
static_assert(std::is_signed_v<allot::instant> && std::is_integral_v<allot::instant>);
static_assert(sizeof(allot::instant) == 8);
