// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace allot {
inline namespace v0 {

/// A point on the host's clock, or a span of it, in a unit of the host's choice. The library has no clock.
using instant = std::int64_t;

}  // namespace v0
}  // namespace allot
