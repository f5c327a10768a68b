// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/result.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/spec.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/preset.hpp>

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace allot {
inline namespace v0 {
namespace sim {

/// The quotas that a preset decides by, made of the user's; of a preset that ignores those, one without a
/// bound. Fails when what the preset makes of them is not a valid tree.
template <std::size_t N, preset Preset>
[[nodiscard]] result<quota_tree<N>> quotas_under(const Preset& by, const quota_tree<N>& given) {
  std::vector<quota_spec<N>> specs;
  if (by.ignores_quotas) {
    specs.push_back({.name = "cluster", .nominal = resources<N>{quantity::unlimited()}});
  } else {
    specs.assign(given.specs().begin(), given.specs().end());
    by.adapt(specs);
  }
  return build_quota_tree(std::move(specs));
}

/// A change of the user's quotas as one of those that the preset decides by, which it does not ignore.
template <std::size_t N, preset Preset>
[[nodiscard]] quota_change<N> change_under(const Preset& by, quota_change<N> change) {
  if (auto* addition = std::get_if<add_quota<N>>(&change)) {
    std::vector<quota_spec<N>> one{std::move(addition->spec)};
    by.adapt(one);
    addition->spec = std::move(one.front());
  }
  return change;
}

}  // namespace sim
}  // namespace v0
}  // namespace allot
