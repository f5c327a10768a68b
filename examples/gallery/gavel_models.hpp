// SPDX-License-Identifier: BSL-1.0
// Gavel on GPUs of several models: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for
// Deep Learning Workloads" (OSDI '20).
//
// The same: a job has a part X of the time on each model; its throughput is the sum of X times its speed
// there. LAS maximizes the least throughput, each times the job's GPUs and divided by what an equal share of
// all models would give it; makespan maximizes the least throughput, each divided by the work that is left.
// That is a linear program, here solved exactly; jobs that are alike share its variables. Rounds of 360 s
// (round_cycle.hpp) bring X about.
//
// Beyond the paper, which leaves it open: of all such X, the one with the most work done. X is rounded down
// to millionths.
//
// Left out: several jobs on a GPU, weights. A job's speed on a model is the view's tag in that model's
// column, where the program puts the `speeds` of a scenario. Without tags all models are equally fast.
#pragma once

#include <allot/presets/single_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "exact_lp.hpp"
#include "round_cycle.hpp"

/// Jobs that are alike: the GPUs of each in thousandths, its speed on each model (0: it can't run there), and
/// `worth`/`of`, by which its throughput counts.
struct gavel_class {
  std::int64_t size = 0;
  by_model speed;
  std::int64_t worth = 1, of = 1;
  friend auto operator<=>(const gavel_class&, const gavel_class&) = default;
};

/// The parts of the time that each job of a class gets; `counts`: its jobs. Precondition: each can run
/// somewhere.
inline std::map<gavel_class, by_model> divide_time(const by_model& capacity,
                                                   const std::map<gavel_class, std::int64_t>& counts) {
  if (counts.empty()) return {};
  // The variables: the least throughput, then the time of all jobs of a class by model.
  const std::size_t models = capacity.size(), variables = 1 + counts.size() * models;
  linear_program p{{}, {}, by_model(variables), by_model(variables)};
  p.first[0] = 1;
  std::vector<by_model> used(models, by_model(variables));
  std::size_t v = 1;
  for (const auto& [c, n] : counts) {
    by_model least(variables), time(variables);
    const std::int64_t divisor = std::gcd(c.of * n, c.worth);
    least[0] = c.of * n / divisor;
    for (std::size_t m = 0; m < models; ++m, ++v) {
      least[v] = -(c.worth / divisor) * c.speed[m];
      time[v] = 1;
      used[m][v] = c.size;
      p.second[v] = c.size * c.speed[m];
    }
    p.rows.insert(p.rows.end(), {std::move(least), std::move(time)});
    p.bounds.insert(p.bounds.end(), {0, n});
  }
  p.rows.insert(p.rows.end(), used.begin(), used.end());
  p.bounds.insert(p.bounds.end(), capacity.begin(), capacity.end());
  const exact_point best = exact_simplex{p}.solve();
  std::map<gavel_class, by_model> parts;
  v = 1;
  for (const auto& [c, n] : counts) {
    for (std::size_t m = 0; m < models; ++m, ++v)
      parts[c].push_back(static_cast<std::int64_t>(best.x[v] * whole_part / (best.of * n)));
  }
  return parts;
}

/// `Objective{}(session, record, capacity, class)` sets `worth` and `of`.
template <class Objective>
struct gavel_parts {
  template <class Session>
  std::map<allot::job_id, by_model> operator()(const Session& s, const std::vector<allot::job_id>& jobs,
                                               const by_model& capacity) const {
    std::map<allot::job_id, gavel_class> class_of;
    std::map<gavel_class, std::int64_t> counts;
    for (const allot::job_id j : jobs) {
      const auto& r = s.jobs().at(j);
      gavel_class c{s.view().request(r.what)[0].in_milli(), {}};
      for (std::size_t m = 0; m < capacity.size(); ++m) {
        const bool can_run = (r.pod_request.models >> m & 1U) != 0 && c.size <= capacity[m];
        const std::int64_t said = s.view().tags.empty() ? 1000 : s.view().tag(r.what, m);
        c.speed.push_back(can_run ? said : 0);
      }
      if (std::count(c.speed.begin(), c.speed.end(), 0) == std::ssize(c.speed)) continue;
      Objective{}(s, r, capacity, c);
      ++counts[c];
      class_of.emplace(j, std::move(c));
    }
    const std::map<gavel_class, by_model> parts = divide_time(capacity, counts);
    std::map<allot::job_id, by_model> by_job;
    for (const auto& [j, c] : class_of) by_job.emplace(j, parts.at(c));
    return by_job;
  }
};
struct over_equal_share {
  template <class Session>
  void operator()(const Session&, const typename Session::record&, const by_model& capacity,
                  gavel_class& c) const {
    c.worth = c.size;
    c.of = std::inner_product(capacity.begin(), capacity.end(), c.speed.begin(), std::int64_t{0});
  }
};
struct over_what_is_left {
  template <class Session>
  void operator()(const Session& s, const typename Session::record& r, const by_model&,
                  gavel_class& c) const {
    c.of = std::max<std::int64_t>(1, s.view().duration(r.what) - s.view().done(r.what, s.now()));
  }
};

struct gavel_las_models : allot::fifo {
  static constexpr std::string_view name = "gavel_las_models",
                                    summary = "equal work over an equal share's, by GPU model and rounds";
  using policies_type = round_policies<gavel_parts<over_equal_share>>;
};
struct gavel_makespan_models : allot::fifo {
  static constexpr std::string_view name = "gavel_makespan_models",
                                    summary = "work such that all end together, by GPU model and rounds";
  using policies_type = round_policies<gavel_parts<over_what_is_left>>;
};
