// SPDX-License-Identifier: BSL-1.0
#pragma once

// The implementation of `run_replay`. Included only where it is instantiated, once for each N.

#include "lab/io/atomic_files.hpp"
#include "lab/replay/cluster_state_impl.hpp"
#include "lab/replay/isolated_impl.hpp"
#include "lab/replay/progress.hpp"
#include "lab/replay/recorder_impl.hpp"
#include "lab/replay/refusal_log.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {
namespace detail {

/// Which resources are GPUs: "gpu" and "h100/gpu"; if there are none, the first.
template <std::size_t N>
[[nodiscard]] per_dimension<bool, N> gpu_dimensions(const vector<std::string>& resources) {
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

/// Records the nominal quotas as they change.
template <std::size_t N>
class nominal_log final : public sim::observer<N> {
 public:
  nominal_log(replay_result& result, const per_dimension<bool, N>& gpus, bool watch)
      : result_(&result), gpus_(&gpus), watch_(watch) {}

  void settled(const sim::simulator<N>& sim) override {
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

/// Forwards events to an observer, and measures the time it takes if requested.
template <std::size_t N>
class timed_observer final : public sim::observer<N> {
 public:
  /// `spent` may be null.
  timed_observer(sim::observer<N>& to, std::chrono::nanoseconds* spent) : to_(&to), spent_(spent) {}

  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    tell([&] { to_->on(sim, e); });
  }
  void waiting(sim::simulator<N>& sim) override {
    tell([&] { to_->waiting(sim); });
  }
  void settled(const sim::simulator<N>& sim) override {
    tell([&] { to_->settled(sim); });
  }

 private:
  template <class Call>
  void tell(Call call) {
    if (spent_ == nullptr) return call();
    const auto begin = std::chrono::steady_clock::now();
    call();
    *spent_ += std::chrono::steady_clock::now() - begin;
  }

  sim::observer<N>* to_;
  std::chrono::nanoseconds* spent_;
};

/// Counts the jobs that have ended.
template <std::size_t N>
class ended_jobs final : public sim::observer<N> {
 public:
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  void on(const sim::simulator<N>& sim, const sim::job_event<N>& e) override {
    using kind = sim::job_event_kind;
    const bool is_at_limit =
        e.what == kind::evicted && sim.history(e.job).outcome == sim::job_outcome::time_limit;
    const bool is_over =
        e.what == kind::refused || e.what == kind::finished || e.what == kind::cancelled || is_at_limit;
    count_ += is_over ? 1U : 0U;
  }

 private:
  std::size_t count_ = 0;
};

/// Decides before each instant whether a replay continues.
class replay_guard {
 public:
  explicit replay_guard(const replay_control& control) : control_(&control), status_(control.show_progress) {}

  /// Why it ends before anything happens at `next`. `so_far()` gives the progress; it is called only if it is
  /// shown.
  template <class SoFar>
  [[nodiscard]] std::optional<stop_reason> ends_before(instant next, std::uint64_t waiting, SoFar so_far) {
    if (control_->until && next > *control_->until) return stop_reason::until;
    if (control_->max_queue && waiting > *control_->max_queue) return stop_reason::max_queue;
    if (interruptible::asked() != 0) return stop_reason::interrupt;
    if (++instants_ % 1024 != 0) return std::nullopt;
    if (control_->max_time && std::chrono::steady_clock::now() - begin_ > *control_->max_time) {
      return stop_reason::max_time;
    }
    if (status_.is_due()) status_.show(progress_text(so_far(), status_.elapsed()));
    return std::nullopt;
  }
  void hide() noexcept { status_.clear(); }

 private:
  const replay_control* control_;
  status_line status_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t instants_ = 0;
};

template <std::size_t N>
void take_jobs(const sim::simulator<N>& sim, const workload<N>& w, const lab::metrics<N>& metrics,
               replay_result& result) {
  result.has_speeds = w.speeds.has_value();
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
    r.job_class = job.job_class;
    r.wait = metrics.waits().total(j, sim.now());
    r.wait_for = metrics.reasons().split(j, r.wait, sim.now());
    r.lost = h.lost();
    if (result.has_speeds) r.work = h.work.in_time_of_all(h.work.done(sim.now()));
    r.preemptions = h.preemptions;
    r.estimate = job.estimate / sim::second;
    r.fairness = metrics.fairness(j);
    if (h.why_refused != refusal::none) r.reason = to_string(h.why_refused);
    if (metrics.waits().before_start(j)) r.start = h.first_start;
    if (r.is_over()) r.end = h.end;
    if (job.unlike != 0) {
      result.pod_sets.emplace(j, text_of_sets(sim.scheduler().view().sets_of(j), w.sets_of(job)));
    }
  }
}

/// Adds the jobs that never reached the scheduler.
template <std::size_t N>
void take_refused(const workload<N>& w, replay_result& result) {
  if (w.refused.empty()) return;
  for (const refused_job& from : w.refused) {
    replayed_job& r = result.jobs.emplace_back();
    r.id = from.id;
    r.quota = from.quota;
    r.submit = from.submit;
    r.duration = from.duration;
    r.estimate = from.estimate;
    r.outcome = sim::job_outcome::refused;
    r.reason = "access";
    r.explanation = from.text;
    for (job_counts* counts : {&result.figures.of.jobs, &result.figures.quotas[from.quota.index()].of.jobs}) {
      ++counts->total;
      ++counts->refused;
    }
  }
  const auto before = [](const replayed_job& a, const replayed_job& b) {
    return a.submit != b.submit ? a.submit < b.submit : job_id_less(a.id, b.id);
  };
  std::sort(result.jobs.begin(), result.jobs.end(), before);
}

/// When the jobs are submitted up to `until`, in order.
template <std::size_t N>
[[nodiscard]] vector<instant> submissions(const vector<sim::job<N>>& jobs,
                                          const std::optional<instant>& until) {
  vector<instant> times;
  times.reserve(jobs.size());
  for (const sim::job<N>& j : jobs) {
    if (until && j.submit > *until) break;
    times.push_back(j.submit);
  }
  return times;
}

template <std::size_t N>
[[nodiscard]] replay_stop run_workload(const scenario& s, workload<N> w, const named_policy& preset,
                                       const replay_streams& streams, replay_result& result,
                                       const replay_control& control) {
  vector<std::string> names;
  for (const replayed_quota& q : result.quotas) names.push_back(q.name);
  const per_dimension<bool, N> gpus = gpu_dimensions<N>(s.resources);
  nominal_log<N> nominals{result, gpus, !w.setup.quota_events.empty()};
  nominals.look(0, w.setup.quotas);

  const bool single_queue = preset.ignores_quotas;
  // With running jobs it begins later, and what is due before happens then.
  if (w.setup.running.empty()) result.moments.expect(submissions(w.setup.jobs, control.until));
  // Including the quotas added by events.
  w.setup.settings = w.settings;
  const auto begin = std::chrono::steady_clock::now();
  auto made = sim::simulator<N>::make(std::move(w.setup), preset);
  if (!made) return {0, made.problems(), {}};
  auto& sim = made.value();

  time_window window;
  if (const auto jobs = sim.jobs(); !jobs.empty()) {
    window = result.measured.window(jobs.front().submit, jobs.back().submit);
  }
  result.window = window;
  lab::metrics<N> metrics{{.gpus = gpus, .window = window, .grace = result.measured.grace}};
  time_recorder time{streams.tenants, names, control.tenants_step.value_or(0)};
  std::optional<event_writer> events;
  if (streams.events != nullptr) events.emplace(*streams.events, w.ids, names, result.cluster);
  auto why = [&sim, &result, single_queue, planned = planned_nodes{},
              planned_at = std::optional<instant>{}](sim::job_index j) mutable {
    wait_reason reason =
        reason_of(sim.why(j), sim.scheduler().settings(sim.scheduler().view().quota(j)), single_queue);
    if (reason.by == without_end || reason.gathers || result.cluster == nullptr) return reason;
    if (std::exchange(planned_at, sim.now()) != sim.now()) {
      planned = planned_nodes{sim.places(), [&](auto visit) { sim.for_each_planned_place(visit); }};
    }
    reason.nodes = result.moments.number_of_nodes(text_of_nodes(*result.cluster, planned.of(j)));
    return reason;
  };
  recorder<N, decltype(why)> series{
      metrics, result.log, time, result.moments, events ? &*events : nullptr, control.tenants_step == 0, why};
  ended_jobs<N> ended;
  refusal_log<N> refusals{w};
  sim::run_logger<N> runs{result.log};
  const auto clock_of = [&](std::chrono::nanoseconds& spent) { return control.timed ? &spent : nullptr; };
  timed_observer<N> timed_metrics{metrics, clock_of(result.timing.metrics)};
  timed_observer<N> timed_runs{runs, clock_of(result.timing.runs)};
  timed_observer<N> timed_series{series, clock_of(result.timing.series)};
  sim::observers<N> watch = control.only_look ? sim::observers<N>{&timed_metrics, &ended}
                                              : sim::observers<N>{&timed_metrics, &timed_runs, &nominals,
                                                                  &timed_series,  &ended,      &refusals};

  replay_guard guard{control};
  std::optional<instant> look_at = control.look_at;
  std::optional<stop_reason> stop;
  const auto so_far = [&] {
    return simulated_so_far{sim.now(), sim.jobs().size(), ended.count(), sim.events(), control.until};
  };
  const auto goes_on = [&](instant next) {
    if (look_at && next > *look_at) return false;
    stop = guard.ends_before(next, metrics.pending(), so_far);
    return !stop;
  };
  std::optional<sim::pacing<N, sim::speed_tables>> speeds;
  if (w.speeds) speeds.emplace(*w.speeds);
  const auto run = [&] { return speeds ? sim.run(watch, goes_on, *speeds) : sim.run(watch, goes_on); };
  vector<problem> problems = run();
  if (look_at && !stop && problems.empty()) {
    guard.hide();
    control.show(state_of<N>(s, sim, w, metrics, gpus, *look_at, control.most_reasons));
    look_at.reset();
    if (control.only_look) return {};
    problems = run();
  }
  guard.hide();
  if (!problems.empty()) return {sim.now(), std::move(problems), {}};
  if (stop) {
    metrics.pause();
    sim.pass_time(stop == stop_reason::until ? std::max(sim.now(), *control.until) : sim.now(), watch);
    result.stopped = {*stop, sim.now()};
  }
  result.log.pause(sim.now());
  result.moments.conclude();
  result.timing.simulation = std::chrono::steady_clock::now() - begin;
  result.figures = metrics.figures(sim);
  result.figures.quotas.resize(result.quotas.size());
  for (std::size_t x = 0; x < result.quotas.size(); ++x) result.figures.quotas[x].quota = quota_id{x};
  result.classes.assign(w.classes.begin(), w.classes.end());
  take_jobs(sim, w, metrics, result);
  refusals.tell(result.jobs);
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
replay_stop run_replay(scenario& s, const replay_streams& streams, replay_result& result,
                       const replay_control& control) {
  workload<N> w = make_workload<N>(s);
  replay_stop stop;
  place_running(s, w, stop.found);
  if (!stop.found.empty()) return stop;
  const auto forget_traced_jobs = [&s] {
    if (s.trace) s.trace->jobs = vector<trace_job>{};
  };
  const named_policy preset = *policy_of(s);
  if (!result.measured.isolated) forget_traced_jobs();
  stop = detail::run_workload<N>(s, std::move(w), preset, streams, result, control);
  // What ended at a simulated time is compared up to that; what a guard or the user ended is not.
  const bool is_complete = !result.stopped || result.stopped->why == stop_reason::until;
  if (result.measured.isolated && stop.problems.empty() && is_complete && !control.only_look) {
    result.alone = detail::replay_tenants_alone<N>(s, preset, detail::gpu_dimensions<N>(s.resources), result);
  }
  forget_traced_jobs();
  return stop;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
