// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace gpu {

/// The most CPU, memory, GPU memory or pod slots that a node can have: what is left of them is kept in 32
/// bits.
inline constexpr std::int64_t max_host_amount = 1'000'000'000;

struct label {
  std::string key;
  std::string value;

  friend bool operator==(const label&, const label&) = default;
};

/// What the user says of a machine, or of `count` equal ones.
struct node_spec {
  // Not `{}`, on which g++ 12 fails internally when a specification is written with designators.
  std::string name = "";
  /// With it there are nodes `name`-0, `name`-1, ...; without it one node with that very name.
  std::optional<std::int64_t> count{};
  /// From 0 (a node for pods without GPUs) to max_gpus_per_node.
  std::int64_t gpus = 0;
  /// The empty name is a model too.
  std::string gpu_model = "";
  /// Of each GPU. 0: not known, so nothing that asks for GPU memory stands there.
  std::int64_t gpu_memory_mib = 0;
  /// At most max_host_amount. 0: not counted, so there is enough for every pod.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  /// How many pods may stand there. 0: not counted.
  std::int64_t pod_slots = 0;
  /// Its GPUs are in MIG mode: they take instances only. Their model must be one that `find_mig_model` knows.
  bool mig = false;
  /// The empty name is a pool too.
  std::string pool = "";
  std::vector<label> labels{};

  friend bool operator==(const node_spec&, const node_spec&) = default;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
