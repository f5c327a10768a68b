// SPDX-License-Identifier: BSL-1.0
// QSSF, quasi-shortest-service-first: Hu et al., "Characterization and Prediction of Deep Learning
// Workloads in Large-Scale GPU Datacenters" (SC '21).
//
// The same: one queue by the GPU time that a job is predicted to use, its GPUs times its predicted
// duration; nothing is preempted, and the first job blocks the others.
//
// Left out: the prediction. It is the estimate of the trace; jobs without one come last, by submission. (In
// the paper each virtual cluster has a queue of its own: give each a static quota.)
#pragma once

#include <allot/presets/single_queue.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

struct by_predicted_service {
  template <class View>
  std::int64_t operator()(const View& view, typename View::job j, const allot::queue_settings&) const {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const allot::wide service =
        static_cast<allot::wide>(view.estimate(j)) *
        static_cast<allot::wide>(std::max<std::int64_t>(1, view.request(j)[0].in_milli()));
    return service == 0 || service > static_cast<allot::wide>(most) ? most
                                                                    : static_cast<std::int64_t>(service);
  }
};

struct qssf : allot::fifo {
  static constexpr std::string_view name = "qssf",
                                    summary = "least predicted GPU time first, blocked by its head";
  using policies_type = allot::policies<allot::best_job_first, by_predicted_service>;
};
