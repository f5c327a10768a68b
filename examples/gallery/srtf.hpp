// SPDX-License-Identifier: BSL-1.0
// SRTF, shortest remaining time first: the classic preemptive policy that knows how long jobs run, as
// simulated beside QSSF by Hu et al., "Characterization and Prediction of Deep Learning Workloads in
// Large-Scale GPU Datacenters" (SC '21).
//
// The same: all jobs, running ones included, by the time that is left; any may be evicted.
//
// Different: a restart counts, as it delays all that follow: a job that waits for one has that much more
// left, and a running job is evicted only for one that is shorter by more than that. With restarts of 0 it
// is SRTF as in the paper. At other speeds (`sim/progress.hpp`) time is nominal.
//
// Left out: work since the last checkpoint is not counted as a cost.
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/presets/single_queue.hpp>

#include <algorithm>

#include "ranked_cycle.hpp"

struct remaining_time {
  template <class Session>
  allot::instant operator()(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const allot::instant left = view.duration(r.what) - view.done(r.what, s.now());
    if (r.state == allot::job_state::running) return left - view.restart(r.what);
    return view.runs(r.what) > 0 ? left + view.restart(r.what) : left;
  }
};
/// By GPU time that is left: SRSF, the first baseline of Tiresias.
struct remaining_service : remaining_time {
  template <class Session>
  allot::wide operator()(const Session& s, const typename Session::record& r) const {
    return static_cast<allot::wide>(std::max<allot::instant>(0, remaining_time::operator()(s, r))) *
           static_cast<allot::wide>(s.view().request(r.what)[0].in_milli());
  }
};

struct srtf : allot::fifo {
  static constexpr std::string_view name = "srtf", summary = "shortest remaining time first, preemptive";
  using policies_type = ranked_policies<remaining_time>;
};
struct srsf : allot::fifo {
  static constexpr std::string_view name = "srsf", summary = "shortest remaining GPU time first, preemptive";
  using policies_type = ranked_policies<remaining_service>;
};
