// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

/// The maximum number of resources in a scenario. Everything is compiled for one and for this many.
inline constexpr std::size_t max_resources = 8;

}  // namespace lab
}  // namespace v0
}  // namespace allot
