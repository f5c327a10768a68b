// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

// Figures of a cluster at one moment, from the counts of its index: O(types x GPUs of a node) whatever the
// number of nodes.

/// Free GPUs on partly used nodes, where a pod that takes a whole node does not fit, in milli. Closed nodes
/// have nothing free.
[[nodiscard]] inline std::int64_t fragmented_gpus(const gpu::free_index& index) {
  std::int64_t free = index.free_in(gpu::all_pools).in_milli();
  const auto& types = index.layout().types();
  for (std::size_t t = 0; t < types.size(); ++t) {
    const std::uint64_t empty = index.nodes_with_free(t, types[t].gpus);
    free -= static_cast<std::int64_t>(empty * types[t].gpus * gpu::milli_per_gpu);
  }
  return free;
}

/// The largest number of whole GPUs that a job could get now if they are split over as few nodes as they need
/// (`gpu::split`): all of the empty nodes of the largest kind, and the most that another node has free.
[[nodiscard]] inline std::int64_t largest_gang(const gpu::free_index& index) {
  const auto& types = index.layout().types();
  std::uint32_t largest = 0;
  for (const auto& t : types) largest = std::max(largest, t.gpus);
  std::uint64_t whole = 0;
  std::uint32_t rest = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    std::uint32_t free = types[t].gpus;
    if (free == 0) continue;
    if (free == largest) whole += index.nodes_with_free(t, free--);
    while (free > rest && index.nodes_with_free(t, free) == 0) --free;
    rest = std::max(rest, free);
  }
  return static_cast<std::int64_t>(whole * largest + rest);
}

/// The typical pods of a workload, by which `gpu::fragmentation` measures the cluster: the most frequent
/// shapes that make up 95 percent of all. A job with a choice of flavors counts as one that may run anywhere.
/// O(jobs log shapes).
template <std::size_t N>
[[nodiscard]] gpu::typical_pods typical_pods_of(const gpu::cluster& layout,
                                                const sim::workload_view<N>& workload) {
  // The workload is known in advance, so no shape is forgotten.
  gpu::seen_pods seen{(2 + most_pod_sets) * workload.jobs.size()};
  const auto learn = [&](const gpu::pod_request& r) {
    const auto pods = gpu::split(r, layout);
    if (!pods) return;
    seen.learn(pods->each, static_cast<std::int64_t>(pods->pods));
    if (pods->has_rest()) seen.learn(pods->rest);
  };
  for (sim::job_index j = 0; j < workload.jobs.size(); ++j) {
    const gpu::pod_request& whole = workload.jobs[j].pod_request;
    if (workload.jobs[j].unlike == 0) {
      learn(whole);
    } else {
      for (const gpu::pod_set& s : workload.sets_of(j)) learn(s.of(s.pods, whole));
    }
  }
  return seen.typical();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
