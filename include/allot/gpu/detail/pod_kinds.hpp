// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The kinds of pods on each node, for policies that place like with like. Pods of equally many whole GPUs
/// are of one kind, and so are all pods that share devices. One byte per device.
class pod_kinds {
 public:
  /// A set of kinds: bit 0 for pods that share devices, bit g for pods of g whole GPUs. 63 and 64 GPUs are
  /// the same kind.
  using set = std::uint64_t;

  explicit pod_kinds(const cluster& layout) : whole_(layout.devices()) {}

  /// The kind of a pod; empty if it has no devices.
  [[nodiscard]] static constexpr set of(std::uint32_t devices, std::uint32_t milli) noexcept {
    if (devices == 0) return 0;
    if (milli < milli_per_gpu) return 1;
    return set{1} << std::min<std::uint32_t>(devices, 63);
  }
  /// The kinds of the pods on a node. `free`: its unused devices. O(devices of the node).
  [[nodiscard]] set on(const cluster& layout, node_id n, std::uint64_t free) const {
    const std::size_t first = layout.position_of(n).first_device;
    set kinds = 0;
    for (std::uint32_t d = 0; d < layout.gpus(n); ++d) {
      if ((free >> d & 1U) == 0) kinds |= set{1} << whole_[first + d];
    }
    return kinds;
  }

  /// The pod is placed on a node of this position, on so many devices; 0: it leaves.
  void change(const cluster::position& at, const placed_pod& pod, std::uint32_t devices) {
    if (pod.milli < milli_per_gpu) return;
    const auto kind = static_cast<std::uint8_t>(std::min(devices, 63U));
    for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
      whole_[at.first_device + static_cast<std::size_t>(std::countr_zero(left))] = kind;
    }
  }

  friend bool operator==(const pod_kinds&, const pod_kinds&) = default;

 private:
  /// By device: the number of whole GPUs of the pod that owns it; 0 if there is none.
  vector<std::uint8_t> whole_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
