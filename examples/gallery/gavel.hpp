// SPDX-License-Identifier: BSL-1.0
// Gavel, round-based policies by allocations of time: Narayanan et al., "Heterogeneity-Aware Cluster
// Scheduling Policies for Deep Learning Workloads" (OSDI '20).
//
// The same: a policy gives each job a part X of the time, at most 1, for which the GPUs suffice: LAS makes
// the least weighted share of GPU time as large as it can be, makespan lets all jobs end together. On GPUs of
// one kind both are water filling, here in exact fractions. Rounds of 360 s bring that about: in each, the
// jobs run that have had the least time over X; nothing is preempted within a round.
//
// Left out: X by GPU model, a linear program, which its heterogeneity-aware policies solve; several jobs on
// a GPU.
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/presets/single_queue.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ranked_cycle.hpp"
#include "water_filling.hpp"

/// `Weight{}(session, record)` is the weight of a job's GPU time.
template <class Weight>
struct by_rounds {
  allot::instant round = 360'000;
  std::map<allot::job_id, filled> parts{};

  template <class Session>
  void begin(const Session& s, const std::vector<allot::job_id>& jobs) {
    std::vector<filled> all;
    for (const allot::job_id j : jobs) {
      const auto& r = s.jobs().at(j);
      all.push_back({static_cast<allot::wide>(s.view().request(r.what)[0].in_milli()), Weight{}(s, r)});
    }
    fill(static_cast<allot::wide>(s.view().capacity()[0].in_milli()), all);
    parts.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i) parts.emplace(jobs[i], all[i]);
  }
  template <class Session>
  auto operator()(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const bool is_in_round = r.state == allot::job_state::running && s.now() % round != 0;
    const auto time = static_cast<allot::wide>(view.attained(r.what, s.now()) / view.pods(r.what));
    const filled& f = parts.at(r.facts.id);
    // The least time for its part first; of jobs that have had none, the largest part.
    return std::tuple{!is_in_round, allot::ratio{time * f.of, f.part},
                      largest_first{time == 0 ? f.part : 0, f.of}, view.submitted(r.what)};
  }
  template <class Session>
  std::optional<allot::instant> wakes_at(const Session& s, const typename Session::record&) const {
    return (s.now() / round + 1) * round;
  }
};
/// Equal shares of GPU time, whatever the size.
struct same_weight {
  template <class Session>
  allot::wide operator()(const Session&, const typename Session::record&) const {
    return 1;
  }
};
/// GPU time as it is left.
struct weight_of_what_is_left {
  template <class Session>
  allot::wide operator()(const Session& s, const typename Session::record& r) const {
    const allot::instant left = s.view().duration(r.what) - s.view().done(r.what, s.now());
    return static_cast<allot::wide>(std::max<allot::instant>(1, left)) *
           static_cast<allot::wide>(s.view().request(r.what)[0].in_milli());
  }
};

struct gavel_las : allot::fifo {
  static constexpr std::string_view name = "gavel_las", summary = "equal shares of GPU time by rounds";
  using policies_type = ranked_policies<by_rounds<same_weight>>;
};
struct gavel_makespan : allot::fifo {
  static constexpr std::string_view name = "gavel_makespan",
                                    summary = "GPU time such that all end together, by rounds";
  using policies_type = ranked_policies<by_rounds<weight_of_what_is_left>>;
};
