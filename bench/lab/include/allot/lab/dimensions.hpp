// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace lab {

/// The maximum number of resources in a scenario. Everything is compiled for one and for this many.
inline constexpr std::size_t max_resources = 8;

/// Calls `run(std::integral_constant<std::size_t, N>{})` with the smallest N that is compiled and holds so
/// many resources.
template <class Run>
decltype(auto) with_dimensions(std::size_t resources, Run run) {
  return resources <= 1 ? run(std::integral_constant<std::size_t, 1>{})
                        : run(std::integral_constant<std::size_t, max_resources>{});
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
