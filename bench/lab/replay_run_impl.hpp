// SPDX-License-Identifier: BSL-1.0
#pragma once

// What `run_replay` does. Included only where it is instantiated, once for each N: these are the files that
// take long to compile, for the cycle in them is made of every preset.

#include "lab/replay_run.hpp"

#include <allot/presets/any_preset.hpp>
#include <allot/sim/metrics.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {
namespace detail {

[[nodiscard]] inline std::string_view word_of(refusal why) noexcept {
  switch (why) {
    case refusal::none:
      return "";
    case refusal::unknown_quota:
      return "unknown_quota";
    case refusal::invalid_request:
      return "invalid_request";
    case refusal::larger_than_cluster:
      return "larger_than_cluster";
  }
  return "";
}

/// Which resources are GPUs: "gpu" and "h100/gpu"; if there are none, the first.
template <std::size_t N>
[[nodiscard]] per_dimension<bool, N> gpu_dimensions(const std::vector<std::string>& resources) {
  per_dimension<bool, N> are{false};
  bool any = false;
  for (std::size_t d = 0; d < std::min(N, resources.size()); ++d) {
    const std::string_view name = resources[d];
    are[d] = name == "gpu" || (name.size() > 4 && name.substr(name.size() - 4) == "/gpu");
    any = any || are[d];
  }
  are[0] = are[0] || !any;
  return are;
}

/// Keeps track of what the quotas are given, while it changes.
template <std::size_t N>
class nominal_log {
 public:
  nominal_log(replay_result& result, const per_dimension<bool, N>& gpus, bool watch)
      : result_(&result), gpus_(&gpus), watch_(watch) {}

  template <class Simulator>
  void submitted(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void refused(const Simulator&, sim::job_index, refusal) {}
  template <class Simulator>
  void started(const Simulator&, sim::job_index, const resources<N>&) {}
  template <class Simulator>
  void grew(const Simulator&, sim::job_index, job_id, const resources<N>&) {}
  template <class Simulator>
  void shrank(const Simulator&, sim::job_index, job_id, const sim::interruption&) {}
  template <class Simulator>
  void evicted(const Simulator&, sim::job_index, const sim::interruption&) {}
  template <class Simulator>
  void finished(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void cancelled(const Simulator&, sim::job_index) {}
  template <class Simulator>
  void settled(const Simulator& sim) {
    if (watch_) look(sim.now(), sim.accounts().tree());
  }

  void look(instant now, const quota_tree<N>& tree) {
    for (std::size_t i = 0; i < tree.slots(); ++i) {
      auto& history = result_->quotas[i].nominal;
      const auto nominal = tree.contains(quota_id{i}) ? nominal_of(tree.spec(quota_id{i})) : std::int64_t{0};
      if (history.empty() || history.back().second != nominal) history.emplace_back(now, nominal);
    }
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> nominal_of(const quota_spec<N>& spec) const {
    quantity sum;
    for (std::size_t d = 0; d < N; ++d) {
      if ((*gpus_)[d]) sum += spec.nominal[d];
    }
    return sum.is_bounded() ? std::optional{sum.in_milli()} : std::nullopt;
  }

  replay_result* result_;
  const per_dimension<bool, N>* gpus_;
  bool watch_;
};

template <class Simulator, std::size_t N>
void take_jobs(const Simulator& sim, const workload<N>& w, const sim::metrics<N>& metrics,
               replay_result& result) {
  result.jobs.reserve(w.ids.size() + w.refused.size());
  for (sim::job_index j = 0; j < sim.jobs().size(); ++j) {
    const sim::job<N>& job = sim.jobs()[j];
    const sim::job_history& h = sim.history(j);
    replayed_job& r = result.jobs.emplace_back();
    r.id = w.ids[j];
    r.quota = job.quota;
    r.index = j;
    r.submit = job.submit;
    r.duration = job.duration;
    r.gpus = metrics.gpus(sim, j);
    r.priority = job.priority;
    r.outcome = h.outcome;
    r.wait = metrics.waits().total(j, sim.now());
    r.lost = h.lost();
    r.preemptions = h.preemptions;
    r.reason = word_of(h.why_refused);
    if (metrics.waits().before_start(j)) r.start = h.first_start;
    if (r.is_over()) r.end = h.end;
  }
}

/// Adds those that never reached the scheduler.
template <std::size_t N>
void take_refused(const workload<N>& w, replay_result& result) {
  if (w.refused.empty()) return;
  for (const refused_job& from : w.refused) {
    replayed_job& r = result.jobs.emplace_back();
    r.id = from.id;
    r.quota = from.quota;
    r.submit = from.submit;
    r.duration = from.duration;
    r.outcome = sim::job_outcome::refused;
    r.reason = "access";
    r.explanation = from.text;
    for (sim::job_counts* counts :
         {&result.figures.of.jobs, &result.figures.quotas[from.quota.index()].of.jobs}) {
      ++counts->total;
      ++counts->refused;
    }
  }
  const auto before = [](const replayed_job& a, const replayed_job& b) {
    return a.submit != b.submit ? a.submit < b.submit : sim::job_id_less(a.id, b.id);
  };
  std::sort(result.jobs.begin(), result.jobs.end(), before);
}

template <std::size_t N>
[[nodiscard]] replay_stop run_workload(const scenario& s, workload<N> w, any_preset preset,
                                       const replay_streams& streams, replay_result& result) {
  std::vector<std::string> names;
  for (const replayed_quota& q : result.quotas) names.push_back(q.name);
  const per_dimension<bool, N> gpus = gpu_dimensions<N>(s.resources);
  nominal_log<N> nominals{result, gpus, !w.setup.quota_events.empty()};
  nominals.look(0, w.setup.quotas);

  const bool single_queue = preset.ignores_quotas;
  // Those of the quotas that events add as well.
  w.setup.settings = w.settings;
  auto made = sim::simulator<N, any_preset>::make(std::move(w.setup), std::move(preset));
  if (!made) return {0, made.problems(), {}};
  auto& sim = made.value();

  sim::metrics<N> metrics{{gpus, result.has_own_quotas}};
  time_recorder time{streams.tenants, names};
  std::optional<event_writer> events;
  if (streams.events != nullptr) events.emplace(*streams.events, w.ids, names, result.cluster);
  {
    progress shown{w.ids.size()};
    const auto why = [&sim, single_queue](sim::job_index j) {
      return reason_of(sim.why(j), sim.policy().settings(sim.policy().view().quota(j)), single_queue);
    };
    recorder<N, decltype(why)> rest{metrics, result.log, time, result.moments, events ? &*events : nullptr,
                                    shown,   why};
    sim::observers watch{metrics, result.log, nominals, rest};
    std::vector<problem> problems = sim.run(watch);
    if (!problems.empty()) return {sim.now(), std::move(problems), {}};
  }
  result.figures = metrics.figures(sim);
  result.figures.quotas.resize(result.quotas.size());
  for (std::size_t x = 0; x < result.quotas.size(); ++x) result.figures.quotas[x].quota = quota_id{x};
  take_jobs(sim, w, metrics, result);
  take_refused(w, result);
  result.time = time.conclude(sim.now());
  result.decision_hash = sim.decision_hash().hex();
  result.decisions = sim.decisions();
  result.events = sim.events();
  result.livelocks = sim.livelocks();
  return {};
}

}  // namespace detail

template <std::size_t N>
replay_stop run_replay(const scenario& s, const replay_streams& streams, replay_result& result) {
  workload<N> w = make_workload<N>(s);
  replay_stop stop;
  place_running(s, w, stop.found);
  if (!stop.found.empty()) return stop;
  return detail::run_workload<N>(s, std::move(w), *any_preset::find(s.policy.preset, s.policy.options),
                                 streams, result);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
