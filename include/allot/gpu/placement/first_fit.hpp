// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// All nodes score the same.
struct all_alike {
  /// The type of the scores.
  using score_type = std::int8_t;

  [[nodiscard]] std::int8_t operator()(const free_index&, node_id, const pod_shape&) const { return 0; }
};

/// The lowest node with room.
using first_fit = scored_placement<all_alike>;
static_assert(placement_policy<first_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
