// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/state.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace sim {

/// Drives a simulation from outside, in place of `simulator::run`: with what a real host saw, when it saw it.
/// So the log of a host can be simulated once more, and must lead to the same plans.
///
/// - Runs begin with the step that admits them, and end when they are said to; durations mean nothing.
/// - Victims leave when they are said to have left: evictions take as long as they took there.
/// - Each step is one plan. What it admits runs from then on, until the host says otherwise.
/// - What an elastic job has beyond the pods that it began with is not counted.
///
/// Each event but a change of places answers as that of the scheduler. The simulator's figures and observers
/// follow; what the host evicts by itself counts as `told_before`.
template <std::size_t N, class Places = places>
class driver {
 public:
  /// What is driven.
  using simulator_type = simulator<N, Places>;
  /// What a step decides.
  using plan_type = typename simulator_type::scheduler_type::plan_type;

  /// References both. Precondition: the simulator has not run, and its setup has only jobs.
  driver(simulator_type& it, observer<N, Places>& watch) : it_(&it), watch_(&watch), hows_(it.jobs().size()) {
    ALLOT_ASSERT(!it.has_begun_, "the simulation runs by itself");
    it.has_begun_ = true;
  }

  /// What is said from now on was seen at that time; not before what was said earlier.
  void pass_time(instant now) noexcept { it_->now_ = now; }

  /// @{
  /// The operations of the scheduler of the same names. Precondition: the job has not been submitted or
  /// adopted before.
  submission submit(job_index j) { return come(j, scheduler().submit(j)); }
  submission adopt(job_index j, instant since, gpu::allocation_id at, const flavor_pick& pick = {}) {
    const submission answer = come(j, scheduler().adopt(j, since, at, pick));
    if (answer) begin_run(j, since, {}, pick);
    return answer;
  }
  /// `take(unit)` as there; the jobs of the state are those of the workload.
  template <class Place, class Take>
  resumption<job_index> resume(const scheduler_state<job_index, Place>& s, Take take) {
    const resumption<job_index> answer = scheduler().resume(s, take);
    for (const auto& u : s.units) {
      if (u.core) continue;
      const auto left_out = detail::find_if(answer.refused.begin(), answer.refused.end(),
                                            [&](const auto& refused) { return refused.id == u.id; });
      const bool is_known = left_out == answer.refused.end();
      static_cast<void>(come(u.what, is_known ? submission{u.id} : submission{{}, left_out->why}));
      const bool holds = u.state == job_state::running || u.state == job_state::evicting;
      if (is_known && holds) begin_run(u.what, u.since, {}, u.pick);
    }
    return answer;
  }
  /// @}

  /// @{
  /// The operations of the scheduler of the same names. One on a job that it does not know is refused.
  refusal started(job_index j, instant when) { return count(scheduler().started(id(j), when)); }
  refusal evicting(job_index j) { return count(scheduler().evicting(id(j))); }
  refusal evicted(job_index j) { return go_back(j, scheduler().evicted(id(j))); }
  refusal start_failed(job_index j, instant not_before) {
    return go_back(j, scheduler().start_failed(id(j), not_before));
  }
  refusal not_evicted(job_index j, instant until) {
    const refusal why_not = count(scheduler().not_evicted(id(j), until));
    if (why_not == refusal::none) hows_[j] = {interruption::cause::told_before};
    return why_not;
  }
  refusal finished(job_index j) { return leave(j, scheduler().finished(id(j)), job_outcome::completed); }
  refusal cancel(job_index j) { return leave(j, scheduler().cancel(id(j)), job_outcome::cancelled); }
  /// @}

  /// @{
  /// The operations of the scheduler of the same names.
  refusal freeze(quota_id x) { return count(scheduler().freeze(x)); }
  refusal thaw(quota_id x) { return count(scheduler().thaw(x)); }
  /// @}

  /// The nodes, for reading.
  [[nodiscard]] const Places& places() const noexcept { return it_->places(); }
  /// @{
  /// Those of the scheduler: places for jobs that are adopted and for what runs there without the scheduler,
  /// and the nodes. Call `retry` after a change.
  template <class... Where>
  [[nodiscard]] std::optional<gpu::allocation_id> take_place(const gpu::pod_request& d, Where&&... where) {
    return scheduler().take_place(d, std::forward<Where>(where)...);
  }
  refusal release_place(gpu::allocation_id at) { return scheduler().release_place(at); }
  [[nodiscard]] auto nodes() noexcept { return scheduler().nodes(); }
  /// @}
  /// Places have changed: what waits is tried again.
  void retry() noexcept {
    ++it_->happened_;
    scheduler().retry();
  }

  /// Decides once, and calls `act(plan)` with the plan.
  template <class Act>
  void step(instant now, Act act) {
    pass_time(now);
    const plan_type& plan = scheduler().step(now);
    for (const auto& e : plan.evictions) {
      if (e.core) continue;
      interruption& how = hows_[e.what] = {interruption::cause::decided, e.how};
      if (e.beneficiary && scheduler().state(e.beneficiary) != job_state::unknown) {
        how.beneficiary = scheduler().what(e.beneficiary);
      }
      it_->log_.note(now, decision_kind::evicted, e.what);
    }
    for (const auto& a : plan.admissions) {
      if (a.core) continue;
      it_->log_.note(now, decision_kind::admitted, a.what);
      begin_run(a.what, now, a.borrows, a.pick);
    }
    act(plan);
    watch_->waiting(*it_);
    watch_->settled(*it_);
  }

 private:
  using scheduler_type = typename simulator_type::scheduler_type;

  [[nodiscard]] scheduler_type& scheduler() noexcept { return it_->scheduler_; }
  [[nodiscard]] job_id id(job_index j) const { return it_->runs_[j].id; }
  void tell(const job_event<N>& e) { watch_->on(*it_, e); }

  refusal count(refusal why_not) noexcept {
    ++it_->happened_;
    return why_not;
  }
  submission come(job_index j, submission answer) {
    ++it_->happened_;
    job_history& h = it_->runs_[j];
    h.why_refused = answer.why_not;
    if (answer) {
      h.id = answer.id;
      it_->runs_.come(j);
      tell({.what = job_event_kind::submitted, .job = j});
    } else {
      h.outcome = job_outcome::refused;
      tell({.what = job_event_kind::refused, .job = j, .why_refused = answer.why_not});
    }
    return answer;
  }
  void begin_run(job_index j, instant since, const resources<N>& borrows, const flavor_pick& pick = {}) {
    hows_[j] = {interruption::cause::told_before};
    it_->runs_.start(j, since, pick, it_->jobs()[j].fewest_pods());
    tell({.what = job_event_kind::started, .job = j, .borrows = borrows});
  }
  /// Its run is over, and it waits again.
  refusal go_back(job_index j, refusal why_not) {
    static_cast<void>(count(why_not));
    if (why_not != refusal::none || it_->runs_[j].outcome != job_outcome::running) return why_not;
    interruption how = std::exchange(hows_[j], interruption{interruption::cause::told_before});
    if (how.why == interruption::cause::decided) ++it_->runs_[j].preemptions;
    how.lost = it_->runs_.cut_short(j, it_->now_);
    tell({.what = job_event_kind::evicted, .job = j, .how = how});
    return why_not;
  }
  refusal leave(job_index j, refusal why_not, job_outcome how) {
    ++it_->happened_;
    if (why_not != refusal::none) return why_not;
    it_->runs_.leave(j, it_->now_, how);
    const bool is_done = how == job_outcome::completed;
    tell({.what = is_done ? job_event_kind::finished : job_event_kind::cancelled, .job = j});
    return why_not;
  }

  simulator_type* it_;
  observer<N, Places>* watch_;
  /// By job: why it is being evicted, if the policy decided so.
  vector<interruption> hows_;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
