// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The placement policies available by name (`placement_names`). The enumerators are shorter, because the
/// names are those of types.
enum class placement_name : std::uint8_t {
  best,
  worst,
  first,
  random,
  packing,
  clustering,
  dot,
  vector_best,
  fgd,
  lifetime,
};

/// In the order of the enumeration.
inline constexpr std::array<std::string_view, 10> placement_names = {
    "best_fit",       "worst_fit",   "first_fit",       "random", "gpu_packing",
    "gpu_clustering", "dot_product", "vector_best_fit", "fgd",    "lifetime_alignment",
};

/// The name that configurations use: "best_fit", "fgd".
[[nodiscard]] constexpr std::string_view to_string(placement_name name) noexcept {
  return placement_names[static_cast<std::size_t>(name)];
}
/// The policy of that name, if there is one.
[[nodiscard]] constexpr std::optional<placement_name> find_placement(std::string_view name) noexcept {
  const auto* const at = allot::detail::find(placement_names.begin(), placement_names.end(), name);
  if (at == placement_names.end()) return std::nullopt;
  return static_cast<placement_name>(at - placement_names.begin());
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
