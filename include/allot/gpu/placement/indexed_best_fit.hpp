// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The rule of `best_fit` as a score: the smaller the gap that a fraction would fill, the better; entirely
/// free devices are worse; of those, the fewer on the node, the better.
struct least_left {
  /// The type of the scores.
  using score_type = std::int16_t;

  [[nodiscard]] std::int16_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    const device_use& use = from.devices();
    std::uint32_t smallest = milli_per_gpu;
    if (here.is_fraction()) {
      for (std::uint32_t d = 0; d < use.count(n); ++d) {
        if (const std::uint32_t gap = use.gap(n, d); gap >= here.milli) smallest = std::min(smallest, gap);
      }
    }
    if (smallest < milli_per_gpu) return static_cast<std::int16_t>(milli_per_gpu - smallest);
    return static_cast<std::int16_t>(-static_cast<std::int32_t>(use.free_count(n)));
  }
};

/// Best fit, with the results of `best_fit`, also for clusters whose hosts are full. `best_fit` visits every
/// node with free GPUs that lacks only CPU, memory or slots; when there are more than a few of these, this
/// one keeps a score of every node for the shape of the pod (see `scored_placement`).
class indexed_best_fit {
 public:
  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    std::size_t looks = most_looks;
    auto where = best_fit::choose_within(looks, from, pod);
    if (!where && looks == 0) where = kept_(from, pod);
    return where;
  }

  /// Always.
  [[nodiscard]] constexpr bool finds_all_room() const noexcept { return true; }

 private:
  /// About as expensive as updating the kept scores.
  static constexpr std::size_t most_looks = 32;

  scored_placement<least_left> kept_;
};

static_assert(placement_policy<indexed_best_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
