// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// A number that identifies what is used of a cluster and which of its nodes are closed: equal states of
/// equal clusters have equal numbers, and different states collide once in 2^64 times. It depends on which
/// pods make up the usage, not on the order in which they came, so every change has an exact inverse and a
/// rollback restores the number. It depends on ids and amounts only, so it is the same on every machine.
class fingerprint {
 public:
  /// Of the empty cluster, all nodes open. O(nodes).
  explicit fingerprint(const cluster& layout) noexcept {
    for (std::size_t t = 0; t < layout.types().size(); ++t) {
      const node_type& type = layout.types()[t];
      std::uint64_t here = scatter(t + 1);
      for (const std::uint64_t word :
           {std::uint64_t{type.pool}, std::uint64_t{type.gpus}, std::uint64_t{type.model},
            std::uint64_t(type.gpu_memory_mib), std::uint64_t(type.cpu_milli), std::uint64_t(type.memory_mib),
            std::uint64_t(type.pod_slots), std::uint64_t{type.mig.has_value()}}) {
        here = scatter(here ^ word);
      }
      for (const node_id n : type.nodes) value_ += scatter(here ^ (n.index() + 1));
    }
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

  /// The pod is placed (`leave`: it leaves).
  void occupy(const placed_pod& pod) noexcept { value_ += of(pod); }
  void leave(const placed_pod& pod) noexcept { value_ -= of(pod); }
  void close(node_id n) noexcept { value_ += of_closed(n); }
  void open(node_id n) noexcept { value_ -= of_closed(n); }

  /// A bijection of 64-bit numbers that scatters them (the output function of SplitMix64, after its step).
  [[nodiscard]] static constexpr std::uint64_t scatter(std::uint64_t z) noexcept {
    z += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  friend bool operator==(const fingerprint&, const fingerprint&) = default;

 private:
  [[nodiscard]] static constexpr std::uint64_t of(const placed_pod& pod) noexcept {
    // Words times odd random constants (those of SplitMix64, xxHash and PCG): of two pods that differ in
    // anything the sums are equal as rarely as random numbers are.
    std::uint64_t key = pod.where.devices * 0xBF58476D1CE4E5B9U +
                        ((std::uint64_t{pod.where.node.index()} << 10U) + pod.milli) * 0x9E3779B185EBCA87U;
    if ((pod.cpu_milli | pod.memory_mib) != 0) {
      key += static_cast<std::uint64_t>(pod.cpu_milli) * 0x165667B19E3779F9U +
             static_cast<std::uint64_t>(pod.memory_mib) * 0x85EBCA77C2B2AE63U;
    }
    if (!pod.mig.is_none()) {
      key += ((std::uint64_t{pod.mig.index()} << 8U) + pod.mig_start + 1) * 0x27D4EB2F165667C5U;
    }
    // Where ends do not matter the number does not depend on them.
    if (pod.end != without_end) key += static_cast<std::uint64_t>(pod.end) * 0x5851F42D4C957F2DU + 1;
    return scatter(key);
  }
  [[nodiscard]] static constexpr std::uint64_t of_closed(node_id n) noexcept {
    return scatter(~std::uint64_t{n.index()});
  }

  std::uint64_t value_ = 0;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
