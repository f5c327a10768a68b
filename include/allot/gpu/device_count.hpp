// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The devices that a request takes: how many exclusively, wherever it is placed, and how many it may
/// share with others, or take less of on nodes of another type.
struct device_count {
  /// Devices that it has to itself.
  std::uint64_t own = 0;
  /// Devices of which it takes a part, or perhaps less than all.
  std::uint64_t shared = 0;

  friend constexpr bool operator==(const device_count&, const device_count&) noexcept = default;
};
/// Precondition: the request is valid. O(1).
[[nodiscard]] constexpr device_count devices_of(const pod_request& d) noexcept {
  const std::uint64_t pods = d.total ? 1 : d.pods;
  const auto milli = static_cast<std::uint64_t>(d.gpus.in_milli());
  if (d.gpu_memory_mib > 0 || !d.mig.is_none() || (milli > 0 && milli < milli_per_gpu)) {
    return {0, pods * d.devices};
  }
  return {pods * (milli / milli_per_gpu), 0};
}

/// The number of unused devices on open nodes. O(types x sizes).
[[nodiscard]] inline std::uint64_t free_devices(const free_index& index) {
  std::uint64_t all = 0;
  for (std::size_t t = 0; t < index.layout().types().size(); ++t) {
    for (std::uint32_t free = 1; free <= index.layout().types()[t].gpus; ++free) {
      all += index.nodes_with_free(t, free) * free;
    }
  }
  return all;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
