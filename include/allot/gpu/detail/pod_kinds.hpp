// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The kinds of pods on a node, for policies that place like with like. Pods of equally many whole GPUs are
/// of one kind, and so are all pods that share devices. `device_use` knows which there are.
struct pod_kinds {
  /// Bit 0 for pods that share devices, bit g for pods of g whole GPUs. 63 and 64 GPUs are the same kind.
  using set = std::uint64_t;
  /// The number of whole GPUs as far as it makes a kind.
  [[nodiscard]] static constexpr std::uint8_t number(std::uint32_t devices) noexcept {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>(devices, 63));
  }
  /// The kind of a pod; empty if it has no devices.
  [[nodiscard]] static constexpr set of(std::uint32_t devices, std::uint32_t milli) noexcept {
    if (devices == 0) return 0;
    return set{1} << (milli < milli_per_gpu ? 0 : number(devices));
  }
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
