// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Free CPU, memory and pod slots of every node. As with devices, what a pod being evicted still *holds*
/// counts as free; a pod placed there must wait.
///
/// What a node does not specify is not counted there: any number of pods fits, and none waits for it.
class host_room {
 public:
  explicit host_room(const cluster& layout) : nodes_(layout.size()) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const node_type& t = layout.type_of(node_id{n});
      nodes_[n].free = {narrow(t.cpu_milli), narrow(t.memory_mib), narrow(t.pod_slots)};
    }
  }

  /// Whether a pod with this host request fits there.
  [[nodiscard]] bool fits(node_id n, const node_type& type, std::int64_t cpu_milli,
                          std::int64_t memory_mib) const {
    const amounts<std::int32_t>& free = node(n).free;
    return free.slots > 0 && (cpu_milli <= free.cpu_milli || !type.counts_cpu()) &&
           (memory_mib <= free.memory_mib || !type.counts_memory());
  }
  /// How many such pods fit, at most `most`.
  [[nodiscard]] std::uint64_t pods(node_id n, const node_type& type, std::int64_t cpu_milli,
                                   std::int64_t memory_mib, std::uint64_t most) const {
    const amounts<std::int32_t>& free = node(n).free;
    const auto at_most = [&most](std::int64_t left, std::int64_t each) {
      if (each > 0) most = std::min(most, static_cast<std::uint64_t>(left / each));
    };
    if (type.counts_slots()) at_most(free.slots, 1);
    if (type.counts_cpu()) at_most(free.cpu_milli, cpu_milli);
    if (type.counts_memory()) at_most(free.memory_mib, memory_mib);
    return most;
  }
  /// Only for a node that counts it; so are the others.
  [[nodiscard]] std::int64_t free_cpu_milli(node_id n) const { return node(n).free.cpu_milli; }
  [[nodiscard]] std::int64_t free_memory_mib(node_id n) const { return node(n).free.memory_mib; }
  [[nodiscard]] std::int64_t free_slots(node_id n) const { return node(n).free.slots; }

  /// Whether what this pod requests of its host is available, in addition to all that is used and held of it.
  [[nodiscard]] bool is_ready(const placed_pod& pod) const {
    const state& s = node(pod.where.node);
    return s.held.slots <= s.free.slots && (pod.cpu_milli == 0 || s.held.cpu_milli <= s.free.cpu_milli) &&
           (pod.memory_mib == 0 || s.held.memory_mib <= s.free.memory_mib);
  }
  /// Whether a pod with this request that fits there could start at once.
  [[nodiscard]] bool would_be_ready(node_id n, const node_type& type, const pod_shape& pod) const {
    const state& s = node(n);
    return s.held.slots < s.free.slots &&
           (pod.cpu_milli == 0 || !type.counts_cpu() ||
            s.held.cpu_milli + pod.cpu_milli <= s.free.cpu_milli) &&
           (pod.memory_mib == 0 || !type.counts_memory() ||
            s.held.memory_mib + pod.memory_mib <= s.free.memory_mib);
  }

  // Changes. The inverse of each is the one with the opposite sign.

  /// `sign` 1: the pod is placed; -1: it leaves.
  void use(const placed_pod& pod, const node_type& type, std::int32_t sign) {
    const node_id n = pod.where.node;
    ALLOT_ASSERT(sign < 0 || fits(n, type, pod.cpu_milli, pod.memory_mib),
                 "the host has no room for the pod");
    add(nodes_[n.index()].free, pod, type, -sign);
  }
  /// `sign` 1: the pod is being evicted but still holds its part of the host; -1: it lets go.
  void hold(const placed_pod& pod, const node_type& type, std::int32_t sign) {
    amounts<std::int64_t>& held = nodes_[pod.where.node.index()].held;
    add(held, pod, type, sign);
    ALLOT_ASSERT(held.slots >= 0 && held.cpu_milli >= 0 && held.memory_mib >= 0,
                 "the pod does not hold any host resources");
  }

  friend bool operator==(const host_room&, const host_room&) = default;

 private:
  template <class Number>
  struct amounts {
    Number cpu_milli = 0;
    Number memory_mib = 0;
    Number slots = 0;

    friend bool operator==(const amounts&, const amounts&) = default;
  };
  struct state {
    /// Unbounded, as pods may be evicted before they could start.
    amounts<std::int64_t> held;
    amounts<std::int32_t> free;

    friend bool operator==(const state&, const state&) = default;
  };

  [[nodiscard]] static std::int32_t narrow(std::int64_t amount) noexcept {
    return static_cast<std::int32_t>(amount);
  }
  template <class Number>
  static void add(amounts<Number>& to, const placed_pod& pod, const node_type& type, std::int32_t sign) {
    if (type.counts_cpu()) to.cpu_milli += static_cast<Number>(sign * pod.cpu_milli);
    if (type.counts_memory()) to.memory_mib += static_cast<Number>(sign * pod.memory_mib);
    if (type.counts_slots()) to.slots += sign;
  }
  [[nodiscard]] const state& node(node_id n) const {
    ALLOT_ASSERT(n.index() < nodes_.size(), "not a node of this cluster");
    return nodes_[n.index()];
  }

  vector<state> nodes_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
