// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/settle.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// What `explain_change` returns: what is otherwise, and the two schedulers that were compared, to be asked
/// for the rest: where a job starts, when at the latest, and why one waits.
template <class Scheduler>
struct explained_change {
  /// What is otherwise with a change than without it, job by job, as of one instant. A job that the change
  /// itself takes out is in no list; one that it adds is there by its new id. An elastic job is one job. Each
  /// list is in the order of the ids, those of added jobs last. Jobs start, go and wait as decided at that
  /// instant: none ends by itself meanwhile.
  struct effects_type {
    /// A job that waits, and without the change waits for another reason, or not at all (`not_waiting`).
    struct other_reason {
      /// @{
      /// The job; why it waits without the change, and with it.
      job_id job{};
      pending_reason was = pending_reason::not_waiting;
      pending_reason is = pending_reason::not_waiting;
      /// @}

      friend bool operator==(const other_reason&, const other_reason&) = default;
    };

    /// They start, and without the change do not. A job that is evicted and starts again, elsewhere, is under
    /// `evicted` and here.
    vector<job_id> started;
    /// They do not start, and without the change do.
    vector<job_id> not_started;
    /// They run and have to go, by the change itself or by what is decided after it; without it they do not.
    vector<job_id> evicted;
    /// They run on, and without the change have to go.
    vector<job_id> not_evicted;
    /// @{
    /// Elastic jobs that run either way: with more pods than without the change, or with fewer.
    vector<job_id> grown;
    vector<job_id> shrunk;
    /// @}
    /// @{
    /// They wait either way, and start earlier at the latest than without the change, or later. One without a
    /// reservation, or whose reservation says no time, starts later than all others; a nominated one earlier.
    vector<job_id> sooner;
    vector<job_id> later;
    /// @}
    /// They wait, and without the change for another reason, or not at all.
    vector<other_reason> reasons;

    /// Whether nothing is otherwise.
    [[nodiscard]] bool empty() const noexcept {
      return started.empty() && not_started.empty() && evicted.empty() && not_evicted.empty() &&
             grown.empty() && shrunk.empty() && sooner.empty() && later.empty() && reasons.empty();
    }

    friend bool operator==(const effects_type&, const effects_type&) = default;
  };

  /// What is otherwise.
  effects_type effects{};
  /// @{
  /// A copy that was not changed, and the one that was. All that is decided at that time has been carried
  /// out.
  Scheduler without;
  Scheduler with;
  /// @}
  /// Whether nothing more is to be decided in either. If not, the policies were stopped in a livelock (see
  /// `settle`), and the effects are those until then.
  bool at_rest = true;
};

namespace detail {

/// What becomes of the jobs of a copy until nothing more is decided. Who is evicted goes at once.
template <class Scheduler>
class carried_out {
 public:
  carried_out(Scheduler& s, typename Scheduler::time_point now) : s_(s) {
    at_rest_ = static_cast<bool>(settle(s_, now, [this](const auto& plan) {
      for (const auto& e : plan.evictions) s_.evicted(e.id);
      for (const auto& a : plan.admissions) note_admission(a.id);
    }));
  }

  [[nodiscard]] bool at_rest() const noexcept { return at_rest_; }
  [[nodiscard]] bool runs(job_id id) const { return s_.state(id) == job_state::running; }
  [[nodiscard]] bool has_started(job_id id) const {
    return runs(id) && id.index() < admitted_.size() && admitted_[id.index()];
  }
  /// Whether the job, which was in that state, had to go. It may run again.
  [[nodiscard]] bool has_left(job_id id, job_state was) const {
    const bool held = was == job_state::running || was == job_state::evicting;
    return held && (!runs(id) || has_started(id));
  }
  [[nodiscard]] bool waits(job_id id) const {
    return s_.state(id) == job_state::pending || s_.state(id) == job_state::nominated;
  }
  /// How many elastic pods run beyond the core.
  [[nodiscard]] std::size_t pods(job_id id) const {
    std::size_t count = 0;
    for (const job_id pod : s_.elastic_pods_of(id)) count += runs(pod) ? 1U : 0U;
    return count;
  }
  [[nodiscard]] instant starts_by(job_id id) const {
    if (s_.state(id) == job_state::nominated) return std::numeric_limits<instant>::min();
    const auto held = s_.reservation_of(id);
    return held && !held->gathers_since ? held->start : without_end;
  }
  [[nodiscard]] pending_reason reason(job_id id) { return s_.why(id).reason; }

 private:
  void note_admission(job_id id) {
    if (admitted_.size() <= id.index()) admitted_.resize(id.index() + 1);
    admitted_[id.index()] = true;
  }

  Scheduler& s_;
  /// By index: of those that are asked for, none comes meanwhile that takes that of another.
  vector<bool> admitted_;
  bool at_rest_ = true;
};

/// A job that the change has left there, or added.
struct compared_job {
  job_id id;
  /// Before; `unknown` if the change has added it.
  job_state was = job_state::unknown;
};

/// The jobs before anything is decided, those that were added last.
template <class Scheduler>
[[nodiscard]] vector<compared_job> compared_jobs(const Scheduler& without, const Scheduler& with) {
  vector<compared_job> all;
  for (const auto& u : without.state().units) {
    if (!u.core && with.state(u.id) != job_state::unknown) all.push_back({u.id, u.state});
  }
  for (const auto& u : with.state().units) {
    if (!u.core && without.state(u.id) == job_state::unknown) all.push_back({u.id});
  }
  return all;
}

/// What is otherwise for one job.
template <class Scheduler>
void compare(const compared_job& j, carried_out<Scheduler>& without, carried_out<Scheduler>& with,
             typename explained_change<Scheduler>::effects_type& to) {
  const job_id id = j.id;
  // A pod that comes in the other copy may have the id of an added job.
  const job_id before = j.was == job_state::unknown ? job_id{} : id;
  const auto differ = [id](bool was, bool is, vector<job_id>& only_with, vector<job_id>& only_without) {
    if (was != is) (is ? only_with : only_without).push_back(id);
  };
  differ(without.has_started(before), with.has_started(id), to.started, to.not_started);
  differ(without.has_left(before, j.was), with.has_left(id, j.was), to.evicted, to.not_evicted);
  if (without.runs(before) && with.runs(id)) {
    const std::size_t was = without.pods(before);
    const std::size_t is = with.pods(id);
    if (was != is) (is > was ? to.grown : to.shrunk).push_back(id);
  }
  if (!with.waits(id)) return;
  if (without.waits(before)) {
    const instant was = without.starts_by(before);
    const instant is = with.starts_by(id);
    if (was != is) (is < was ? to.sooner : to.later).push_back(id);
  }
  const pending_reason was = without.reason(before);
  const pending_reason is = with.reason(id);
  if (was != is) to.reasons.push_back({id, was, is});
}

}  // namespace detail

/// What would be otherwise if this changed: which jobs would start, have to go, or wait for less or longer.
///
/// `change(copy)` makes, on a copy of the scheduler, the calls that the host would make: `apply`,
/// `configure`, `submit`, `update`, `cancel`, `finished`, `hold`, `lose_node`. It returns nothing: whether a
/// call is refused, it looks at itself. It may assign the copy another scheduler, which knows the same jobs
/// by the same ids. Then all that there is to decide at `now` is carried out in that copy, and in one that is
/// not changed, as by `settle`: who is evicted goes at once, and may start again; who was leaving before has
/// not gone. The difference is what is returned. It is exact: if the host makes the change and carries out
/// the plans in the same way, this is what comes of it.
///
/// For another priority, or any other fact that the view shows of a job, the change has the host's tables
/// show it, says so (`update`), and puts the tables back.
///
/// `s` stays as it is. The copies share with it what its view, its placement and its policies point to, which
/// the change must leave as it is or put back. O(jobs + quotas + nodes) for the copies, what the steps cost,
/// and two `why` for each waiting job.
template <class Scheduler, class Change>
[[nodiscard]] explained_change<Scheduler> explain_change(const Scheduler& s,
                                                         typename Scheduler::time_point now,
                                                         Change&& change) {
  static_assert(
      std::is_void_v<std::invoke_result_t<Change, Scheduler&>>,
      "allot: the change of explain_change returns nothing: what its calls return, it keeps itself");
  explained_change<Scheduler> told{.without = s, .with = s};
  std::forward<Change>(change)(told.with);
  const auto jobs = detail::compared_jobs(told.without, told.with);
  detail::carried_out without{told.without, now};
  detail::carried_out with{told.with, now};
  told.at_rest = without.at_rest() && with.at_rest();
  for (const detail::compared_job& j : jobs) detail::compare(j, without, with, told.effects);
  return told;
}

/// A node is gone, with all that runs there, for real or in a what-if: closes it, reports as `evicted` the
/// jobs that have a pod on it, and the single pods of elastic jobs, and has the next step try every pending
/// job again. Returns what was evicted. For a placement with `for_each_node` and nodes that can be closed, as
/// the inventory. O(jobs).
template <class Scheduler, class Node>
vector<job_id> lose_node(Scheduler& s, Node node) requires requires {
  s.nodes().close(node);
  node.index();
}
{
  s.nodes().close(node);
  vector<job_id> there;
  const auto all = s.state();
  // Jobs come before their pods, which go with them.
  for (const bool is_pod : {false, true}) {
    for (const auto& u : all.units) {
      const job_state is = s.state(u.id);
      if (static_cast<bool>(u.core) != is_pod || (is != job_state::running && is != job_state::evicting))
        continue;
      bool is_there = false;
      s.places().for_each_node(u.where, [&](std::size_t n) { is_there = is_there || n == node.index(); });
      if (!is_there) continue;
      s.evicted(u.id);
      there.push_back(u.id);
    }
  }
  s.retry();
  return there;
}

}  // namespace v0
}  // namespace allot
