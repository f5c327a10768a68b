// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/sim/run_log.hpp>

#include <algorithm>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace lab {

/// The GPU time that jobs had of each node in a part of the simulated time, in milli-GPUs times milliseconds,
/// by node id. Precondition: all runs have ended. O(pods of all runs).
[[nodiscard]] inline vector<wide> gpu_time_by_node(const sim::run_log& log, std::size_t nodes,
                                                   const time_window& window) {
  vector<wide> times(nodes);
  for (const sim::job_run& run : log.runs()) {
    const instant span = std::min(run.end, window.end) - std::max(run.begin, window.begin);
    if (span <= 0) continue;
    for (const sim::run_pod& pod : log.pods(run)) {
      times[pod.where.node.index()] += static_cast<wide>(pod.gpus().in_milli()) * static_cast<wide>(span);
    }
  }
  return times;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
