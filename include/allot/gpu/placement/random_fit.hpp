// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/gpu/detail/fingerprint.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/best_fit.hpp>
#include <allot/gpu/placement/detail/node_set.hpp>
#include <allot/gpu/placement/detail/shape_cache.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/pod_request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Any node with room, all equally likely; for a fraction, any of its devices with room; for whole GPUs and
/// MIG instances, as in `free_index::choose_devices`.
///
/// The draw depends only on the seed, the pod and the state of the cluster. So the same seed gives the same
/// placements on every machine, a placement that was rolled back and is tried again gives the same result,
/// and this is a placement policy like the others.
class random_fit {
 public:
  random_fit() : random_fit(1) {}
  explicit random_fit(std::uint64_t seed, std::size_t most_shapes = shapes_remembered)
      : seed_(seed), cache_(most_shapes) {}

  /// What the draws depend on besides pod and cluster.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  [[nodiscard]] std::optional<pod_location> operator()(const free_index& from, const pod_shape& pod) const {
    const node_set& nodes = cache_.look(from, pod, [&](node_id n) {
      if (from.is_closed(n)) return false;
      const auto here = from.layout().type_of(n).shape_on(pod);
      return here && from.has_room(n, *here);
    });
    if (nodes.size() == 0) return std::nullopt;
    lots draw{fingerprint::scatter(seed_ ^ fingerprint::scatter(from.fingerprint()))};
    const node_id n{nodes.nth(draw.below(nodes.size()))};
    const auto here = from.layout().type_of(n).shape_on(pod);
    return pod_location{n, devices(from, n, *here, draw)};
  }

 private:
  struct lots {
    std::uint64_t state;

    /// The bias of n / 2^64 is negligible.
    [[nodiscard]] std::size_t below(std::size_t n) noexcept {
      state = fingerprint::scatter(state);
      return static_cast<std::size_t>(static_cast<std::uint64_t>(wide{state} * n >> 64U));
    }
  };

  [[nodiscard]] static std::uint64_t devices(const free_index& from, node_id n, const pod_shape& here,
                                             lots& draw) {
    if (!here.is_fraction() || !here.mig.is_none()) return from.devices_for(n, here);
    const device_use& use = from.devices();
    std::array<std::uint8_t, max_gpus_per_node> fit{};
    std::size_t fits = 0;
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      if (use.gap(n, d) >= here.milli) fit[fits++] = static_cast<std::uint8_t>(d);
    }
    std::uint64_t chosen = 0;
    for (std::uint32_t k = 0; k < here.devices && fits > 0; ++k) {
      const std::size_t drawn = draw.below(fits);
      chosen |= std::uint64_t{1} << fit[drawn];
      fit[drawn] = fit[--fits];
    }
    return chosen;
  }

  std::uint64_t seed_;
  mutable shape_cache<node_set> cache_;
};

static_assert(placement_policy<random_fit>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
