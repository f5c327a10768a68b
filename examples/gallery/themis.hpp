// SPDX-License-Identifier: BSL-1.0
// Themis, finish-time fairness with leases: Mahajan et al., "Themis: Fair and Efficient GPU Cluster
// Scheduling" (NSDI '20).
//
// The same: a job's finish-time fairness is rho = T_shared / T_independent, the time from its submission to
// its end if it ran on from now, over what it would take on a 1/N part of the cluster among N jobs: N times
// its duration. GPUs are leased; when a lease has ended they are offered to those whose rho is worst, of
// which the former holder is one.
//
// Left out: the auction, in which a fraction of the jobs, the worst off, bid for parts of what they want.
// Here a job gets all of its GPUs or none, the worst first. N is that of the moment, so it is the same for
// all that are compared. A lease counts from the start of a run, and a job that keeps its GPUs has another
// one.
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/presets/single_queue.hpp>

#include <algorithm>
#include <optional>
#include <tuple>

#include "ranked_cycle.hpp"

struct finish_time_fairness {
  allot::instant lease = 1'200'000;

  /// Whether its GPUs are leased to it: at the very end of a lease they are not.
  template <class Session>
  bool is_leased(const Session& s, const typename Session::record& r) const {
    return r.state == allot::job_state::running &&
           (s.now() == r.facts.started || (s.now() - r.facts.started) % lease != 0);
  }
  template <class Session>
  auto operator()(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const allot::instant duration = std::max<allot::instant>(1, view.duration(r.what));
    const allot::instant shared = s.now() - view.submitted(r.what) + duration - view.done(r.what, s.now());
    const largest_first rho{static_cast<allot::wide>(shared), static_cast<allot::wide>(duration)};
    return std::tuple{!is_leased(s, r), rho, r.state != allot::job_state::running, view.submitted(r.what)};
  }
  template <class Session>
  std::optional<allot::instant> wakes_at(const Session& s, const typename Session::record& r) const {
    return r.facts.started + ((s.now() - r.facts.started) / lease + 1) * lease;
  }
};

struct themis : allot::fifo {
  static constexpr std::string_view name = "themis",
                                    summary = "worst finish-time fairness first, GPUs on lease";
  using policies_type = ranked_policies<finish_time_fairness>;
};
