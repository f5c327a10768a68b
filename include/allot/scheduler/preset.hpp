// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/spec.hpp>
#include <allot/scheduler/settings.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// A preset: the policies of one system, assembled from the parts.
///
/// - `name` and a `summary` of one line;
/// - `policies_type`, the parts (see `policies`), default constructible;
/// - `defaults()`, the settings of quotas that do not say otherwise;
/// - `ignores_quotas`: there is one queue for the whole cluster, whatever quotas are given;
/// - `adapt(specs)`: what the preset makes of the user's quotas before a tree is built of them.
template <class P>
concept preset = std::default_initializable<typename P::policies_type> &&
    requires(std::vector<quota_spec<1>>& specs) {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::summary } -> std::convertible_to<std::string_view>;
  { P::defaults() } -> std::same_as<queue_settings>;
  { P::ignores_quotas } -> std::convertible_to<bool>;
  P::adapt(specs);
};

}  // namespace v0
}  // namespace allot
