// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The maximum CPU, memory, GPU memory or pod slots of a node: free amounts are stored in 32 bits.
inline constexpr std::int64_t max_host_amount = 1'000'000'000;

/// A label of a node, such as its rack.
struct label {
  /// The key: "rack".
  std::string key;
  /// The value: "r12".
  std::string value;

  friend bool operator==(const label&, const label&) = default;
};

/// The user's specification of a machine, or of `count` identical ones.
struct node_spec {
  // Not `{}`: g++ 12 fails internally when a specification is written with designated initializers.
  /// The name of the node or, with a count, what the names begin with.
  std::string name = "";
  /// If set, the nodes are `name`-0, `name`-1, ...; otherwise there is one node with exactly this name.
  std::optional<std::int64_t> count{};
  /// From 0 (a node for pods without GPUs) to max_gpus_per_node.
  std::int64_t gpus = 0;
  /// The empty name is a valid model.
  std::string gpu_model = "";
  /// Of each GPU. 0: unknown, so no pod that requests GPU memory is placed there.
  std::int64_t gpu_memory_mib = 0;
  /// At most max_host_amount. 0: not counted, so there is enough for every pod.
  std::int64_t cpu_milli = 0;
  /// Host memory. At most max_host_amount. 0: not counted.
  std::int64_t memory_mib = 0;
  /// The maximum number of pods. 0: not counted.
  std::int64_t pod_slots = 0;
  /// Its GPUs are in MIG mode: they take MIG instances only. Their model must be known to `find_mig_model`.
  bool mig = false;
  /// The empty name is a valid pool.
  std::string pool = "";
  /// From which `topology_from_labels` reads the domains.
  vector<label> labels{};

  friend bool operator==(const node_spec&, const node_spec&) = default;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
