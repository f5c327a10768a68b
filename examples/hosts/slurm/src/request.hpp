// SPDX-License-Identifier: BSL-1.0
//
// What a job asks of the cluster, from Slurm's texts: "gres:gpu:a100:2" on each of 4 nodes.
#pragma once

#include "cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// GPUs of one type; without a type, of any.
struct gpu_count {
  std::string type{};
  std::uint64_t count = 0;

  friend bool operator==(const gpu_count&, const gpu_count&) = default;
};

/// Whether a list with commas, like that of a job's partitions, has this part.
[[nodiscard]] bool has_word(std::string_view list, std::string_view word);

/// The GPUs in a list of resources: "gres:gpu:2", "gres/gpu:a100:4,gres:shard:1", "gpu:h100:8(S:0-1)". None
/// if a count is not a number. GPUs of one type are added up.
[[nodiscard]] std::optional<std::vector<gpu_count>> parse_gpus(std::string_view tres);

/// The numbers of a list of tasks, "0-9:3,12%2", in order; none if it is not one, or has more than `most`.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_tasks(std::string_view tasks,
                                                                    std::size_t most = 4'000'000);
/// Such a list of these numbers, which are in order: "0-3,7".
[[nodiscard]] std::string tasks_text(const std::vector<std::uint32_t>& tasks);

/// What a job needs, in numbers.
struct need {
  /// The type of its GPUs; empty: any.
  std::string gpu_type{};
  /// Of the whole job.
  std::uint64_t gpus = 0;
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;
  /// On how many nodes; each has the same part of everything, unless `is_total`.
  std::uint64_t nodes = 1;
  /// Only the sum of the GPUs is given: they may be on any number of nodes.
  bool is_total = false;

  friend bool operator==(const need&, const need&) = default;
};

/// Of each the most that any node has.
struct largest_node {
  std::uint64_t gpus = 0;
  std::uint64_t cpus = 0;
  /// 0: not known.
  std::uint64_t memory_mib = 0;
  std::uint64_t tmp_disk_mib = 0;

  void look_at(const node& n) {
    gpus = std::max<std::uint64_t>(gpus, n.gpus);
    cpus = std::max<std::uint64_t>(cpus, n.cpus);
    memory_mib = std::max(memory_mib, n.real_memory_mib);
    tmp_disk_mib = std::max(tmp_disk_mib, n.tmp_disk_mib);
  }
};

/// What a job needs, or why that can't be counted.
struct need_reading {
  std::optional<need> value{};
  /// A sentence for its user.
  std::string problem{};
};
[[nodiscard]] need_reading read_need(const raw_request& r, const largest_node& largest);

/// Whether a node with these features satisfies a constraint. None if the constraint is more than names with
/// & and | (or commas).
[[nodiscard]] std::optional<bool> satisfies(const std::vector<std::string>& features,
                                            std::string_view constraint);

}  // namespace allot_slurm
