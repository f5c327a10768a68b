// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {

/// Detects livelocks: in some of the systems that presets are named after, jobs can
/// evict one another forever if victims are gone before anything else happens.
///
/// A livelock is assumed when a job was evicted more than 64 times per unit (the core pods of an elastic job
/// are one unit, and so is each further pod), or when more than 64 plans in a row announced something but
/// started and evicted nothing. Allocates only when more jobs are evicted than ever before.
class livelock_detector {
 public:
  /// @{
  /// The bounds: evictions of one job per unit, and plans in a row that start and evict nothing.
  static constexpr std::uint32_t most_turns = 64;
  static constexpr std::uint32_t most_idle_steps = 64;
  /// @}

  /// Something has happened, or time has passed: counts restart from zero.
  void begin() noexcept {
    ++round_;
    idle_ = 0;
    found_ = false;
    job_ = {};
  }
  /// Records a non-empty plan of the scheduler. O(evictions).
  template <class Scheduler>
  void note(const Scheduler& s, const typename Scheduler::plan_type& plan) {
    idle_ = plan.admissions.empty() && plan.evictions.empty() ? idle_ + 1 : 0;
    found_ = found_ || idle_ > most_idle_steps;
    for (const auto& e : plan.evictions) record_eviction(e.core ? e.core : e.id, units_of(s.view(), e.what));
  }
  /// Whether a livelock has been found since `begin`.
  [[nodiscard]] bool found() const noexcept { return found_; }
  /// The job that was evicted again and again, if that is how the livelock was found.
  [[nodiscard]] job_id job() const noexcept { return job_; }

 private:
  struct turns {
    job_id job{};
    std::uint64_t round = 0;
    std::uint64_t count = 0;
  };

  template <class View>
  [[nodiscard]] static std::uint64_t units_of(const View& view, const typename View::job& j) {
    const auto [least, most] = detail::view_or_default<View>::pods(view, j);
    return std::uint64_t{1} + most - least;
  }
  void record_eviction(job_id id, std::uint64_t units) {
    if (turns_.size() <= id.index()) turns_.resize(id.index() + 1);
    turns& t = turns_[id.index()];
    if (t.job != id || t.round != round_) t = {id, round_, 0};
    if (++t.count <= most_turns * units || found_) return;
    found_ = true;
    job_ = id;
  }

  /// By job index.
  vector<turns> turns_;
  std::uint64_t round_ = 1;
  std::uint32_t idle_ = 0;
  bool found_ = false;
  job_id job_{};
};

/// How `settle` ended.
struct settled {
  /// How many plans were carried out.
  std::size_t plans = 0;
  /// Whether nothing more is to be decided at that time. If not, a job was not started, or the policies were
  /// stopped in a livelock.
  bool at_rest = true;
  /// A job that was evicted again and again, if that is why it was stopped.
  job_id restless{};
  /// The first job or elastic pod that the host was to start and could not, if that is why it was stopped.
  job_id not_started{};
  /// By how much `now` lies before an earlier step: see `plan::clamped_by`, which a host does not see of a
  /// plan that is empty.
  instant clamped_by = 0;

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return at_rest; }
};

namespace detail {

/// The first job of the plan that has left again and waits; of an elastic job that runs also a pod that has
/// left, which waits under another id.
template <class Scheduler>
[[nodiscard]] job_id not_started(const Scheduler& s, const typename Scheduler::plan_type& plan) {
  for (const auto& a : plan.admissions) {
    const job_state is = s.state(a.id);
    const bool has_left = is == job_state::unknown && a.core && s.state(a.core) == job_state::running;
    if (has_left || (is == job_state::pending && s.is_ready(a.id))) return a.id;
  }
  return {};
}

}  // namespace detail

/// A host's loop: calls `act(plan)` with one plan after another until nothing more is decided at `now`, a job
/// could not be started, or a livelock is found. `act` carries out the plan and reports to the scheduler what
/// happens; a victim that takes its time may be reported later.
///
/// If the host can't start a job, `act` reports `start_failed`, with the time before which it is not to be
/// tried again, and goes on with the rest of the plan. As one that is only reported `evicted`, or whose time
/// has come, would be started again by the next step, `settle` then returns. What remains to be decided, that
/// job included, is decided in the next call, for which the host chooses the time: nothing else need happen
/// before, and `wakes_at` does not know of it. A job that can never start is one to `cancel`.
template <class Scheduler, class Act>
settled settle(Scheduler& s, typename Scheduler::time_point now, Act&& act, livelock_detector& watch) {
  watch.begin();
  for (settled end;;) {
    const auto& plan = s.step(now);
    end.clamped_by = plan.clamped_by;
    if (plan.empty()) return end;
    ++end.plans;
    watch.note(s, plan);
    act(plan);
    end.restless = watch.job();
    if (!watch.found()) end.not_started = detail::not_started(s, plan);
    end.at_rest = !watch.found() && end.not_started.is_none();
    if (!end.at_rest) return end;
  }
}
/// The same with a livelock detector of its own, which allocates.
template <class Scheduler, class Act>
settled settle(Scheduler& s, typename Scheduler::time_point now, Act&& act) {
  livelock_detector watch;
  return settle(s, now, std::forward<Act>(act), watch);
}

}  // namespace v0
}  // namespace allot
