// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/job_table.hpp>
#include <allot/scheduler/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

/// Notices when policies never come to rest: in some of the systems that presets are named after, jobs can
/// evict one another for ever, as long as those told to go are gone before anything else happens.
///
/// A livelock is assumed when a job was told to go 64 times for each unit that it consists of (of an elastic
/// job the pods that it needs are one, and each further pod is one), or when 64 plans in a row announced
/// something and let nobody start or go. Allocates only when more jobs are told to go than ever before.
class livelock_detector {
 public:
  static constexpr std::uint32_t most_turns = 64;
  static constexpr std::uint32_t most_idle_steps = 64;

  /// Something has happened, or time has passed: counts from zero.
  void begin() noexcept {
    ++round_;
    idle_ = 0;
    found_ = false;
    job_ = {};
  }
  /// Takes note of a plan of the scheduler's that is not empty. O(evictions).
  template <class Scheduler>
  void note(const Scheduler& s, const typename Scheduler::plan_type& plan) {
    idle_ = plan.admissions.empty() && plan.evictions.empty() ? idle_ + 1 : 0;
    found_ = found_ || idle_ > most_idle_steps;
    for (const auto& e : plan.evictions) note_eviction(e.core ? e.core : e.id, units_of(s.view(), e.what));
  }
  [[nodiscard]] bool found() const noexcept { return found_; }
  /// A job that was told to go again and again, if that was how it was found.
  [[nodiscard]] job_id job() const noexcept { return job_; }

 private:
  struct turns {
    job_id job{};
    std::uint64_t round = 0;
    std::uint64_t count = 0;
  };

  template <class View>
  [[nodiscard]] static std::uint64_t units_of(const View& view, const typename View::job& j) {
    if constexpr (elastic_view<View>) {
      return std::uint64_t{1} + detail::all_pods(view, j) - detail::core_pods(view, j);
    } else {
      return 1;
    }
  }
  void note_eviction(job_id id, std::uint64_t units) {
    if (turns_.size() <= id.index()) turns_.resize(id.index() + 1);
    turns& t = turns_[id.index()];
    if (t.job != id || t.round != round_) t = {id, round_, 0};
    if (++t.count <= most_turns * units || found_) return;
    found_ = true;
    job_ = id;
  }

  /// By the index of the job.
  std::vector<turns> turns_;
  std::uint64_t round_ = 1;
  std::uint32_t idle_ = 0;
  bool found_ = false;
  job_id job_{};
};

/// How `settle` ended.
struct settled {
  /// How many plans were carried out.
  std::size_t plans = 0;
  /// Whether nothing more is to be decided at that time. If not, the policies were stopped in a livelock.
  bool at_rest = true;
  /// A job that went again and again, if it was stopped for that.
  job_id restless{};

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return at_rest; }
};

/// A host's loop: calls `act(plan)` with one plan after the other until nothing more is decided at `now`, or
/// a livelock is found. `act` carries the plan out and tells the scheduler what happens by that; a victim
/// that takes its time may be reported later.
template <class Scheduler, class Act>
settled settle(Scheduler& s, instant now, Act&& act, livelock_detector& watch) {
  watch.begin();
  for (settled end;;) {
    const auto& plan = s.step(now);
    if (plan.empty()) return end;
    ++end.plans;
    watch.note(s, plan);
    act(plan);
    if (watch.found()) return {end.plans, false, watch.job()};
  }
}
template <class Scheduler, class Act>
settled settle(Scheduler& s, instant now, Act&& act) {
  livelock_detector watch;
  return settle(s, now, std::forward<Act>(act), watch);
}

}  // namespace v0
}  // namespace allot
