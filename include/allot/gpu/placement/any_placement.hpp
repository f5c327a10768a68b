// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/dot_product.hpp>
#include <allot/gpu/placement/first_fit.hpp>
#include <allot/gpu/placement/fragmentation_gradient.hpp>
#include <allot/gpu/placement/gpu_clustering.hpp>
#include <allot/gpu/placement/gpu_packing.hpp>
#include <allot/gpu/placement/indexed_best_fit.hpp>
#include <allot/gpu/placement/random_fit.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/placement/vector_best_fit.hpp>
#include <allot/gpu/placement/worst_fit.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

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
};

/// In the order of the enumeration.
inline constexpr std::array<std::string_view, 9> placement_names = {
    "best_fit",       "worst_fit",   "first_fit",       "random", "gpu_packing",
    "gpu_clustering", "dot_product", "vector_best_fit", "fgd",
};

/// The name that configurations use: "best_fit", "fgd".
[[nodiscard]] constexpr std::string_view to_string(placement_name name) noexcept {
  return placement_names[static_cast<std::size_t>(name)];
}
/// The policy of that name, if there is one.
[[nodiscard]] constexpr std::optional<placement_name> find_placement(std::string_view name) noexcept {
  const auto* const at = std::find(placement_names.begin(), placement_names.end(), name);
  if (at == placement_names.end()) return std::nullopt;
  return static_cast<placement_name>(at - placement_names.begin());
}

/// A placement policy chosen at run time, for hosts that read it from a configuration. Best fit by default.
class any_placement {
 public:
  any_placement() = default;
  /// `typical` is used by `fgd`, `seed` by `random`.
  any_placement(placement_name name, const cluster& layout, const typical_pods& typical = {},
                std::uint64_t seed = 1)
      : policy_(make(name, layout, typical, seed)) {}

  /// Which policy it is.
  [[nodiscard]] placement_name name() const noexcept { return static_cast<placement_name>(policy_.index()); }

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    // The usual policy, without a jump.
    if (const auto* best = std::get_if<indexed_best_fit>(&policy_)) return (*best)(from, pod);
    return std::visit([&](const auto& policy) { return policy(from, pod); }, policy_);
  }

 private:
  /// In the order of `placement_name`.
  using choice = std::variant<indexed_best_fit, worst_fit, first_fit, random_fit, gpu_packing, gpu_clustering,
                              dot_product, vector_best_fit, fragmentation_gradient>;
  static_assert(std::variant_size_v<choice> == placement_names.size());

  [[nodiscard]] static choice make(placement_name name, const cluster& layout, const typical_pods& typical,
                                   std::uint64_t seed) {
    switch (name) {
      case placement_name::best:
        break;
      case placement_name::worst:
        return worst_fit{};
      case placement_name::first:
        return first_fit{};
      case placement_name::random:
        return random_fit{seed};
      case placement_name::packing:
        return gpu_packing{};
      case placement_name::clustering:
        return gpu_clustering{};
      case placement_name::dot:
        return dot_product{};
      case placement_name::vector_best:
        return vector_best_fit{};
      case placement_name::fgd:
        return fragmentation_gradient{gradient_score{layout, typical}};
    }
    return indexed_best_fit{};
  }

  choice policy_;
};

static_assert(placement_policy<any_placement>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
