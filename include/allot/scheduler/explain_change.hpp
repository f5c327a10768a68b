// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/settle.hpp>
#include <allot/scheduler/view.hpp>

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
  /// Jobs that the change has taken out and submitted again: their ids in `without`, and in `with`.
  vector<std::pair<job_id, job_id>> renumbered{};
  /// Whether nothing more is to be decided in either. If not, the policies were stopped in a livelock (see
  /// `settle`), and the effects are those until then.
  bool at_rest = true;

  /// The id in `with` of a job of the effects. O(renumbered).
  [[nodiscard]] job_id id_with(job_id id) const {
    const auto at = detail::find_if(renumbered.begin(), renumbered.end(),
                                    [id](const auto& both) { return both.first == id; });
    return at == renumbered.end() ? id : at->second;
  }
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

/// A job by its ids in both copies, none where it is not.
struct compared_job {
  job_id without{};
  job_id with{};
  /// Before.
  job_state was = job_state::unknown;
};

/// Whether both handles are of one job.
template <class View>
[[nodiscard]] bool is_one_job(const View& a, const typename View::job& of_a, const View& b,
                              const typename View::job& of_b) {
  if constexpr (identified_view<View>) {
    return a.id(of_a) == b.id(of_b);
  } else {
    return of_a == of_b;
  }
}

/// The jobs before anything is decided, but those that the change takes out. One that it takes out and
/// submits again, to show something else of it, is one job: this is the only place that knows of it.
template <class Scheduler>
[[nodiscard]] vector<compared_job> compared_jobs(const Scheduler& without, const Scheduler& with) {
  vector<compared_job> all;
  for (const auto& u : without.state().units) {
    const bool is_gone = with.state(u.id) == job_state::unknown;
    if (!u.core) all.push_back({u.id, is_gone ? job_id{} : u.id, u.state});
  }
  vector<std::size_t> gone;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].with) gone.push_back(i);
  }
  for (const auto& u : with.state().units) {
    if (u.core || without.state(u.id) != job_state::unknown) continue;
    const auto same = detail::find_if(gone.begin(), gone.end(), [&](std::size_t i) {
      return !all[i].with && is_one_job(without.view(), without.what(all[i].without), with.view(), u.what);
    });
    if (same != gone.end()) {
      all[*same].with = u.id;
    } else {
      all.push_back({{}, u.id});
    }
  }
  erase_if(all, [](const compared_job& j) { return !j.with; });
  return all;
}

/// What is otherwise for one job.
template <class Scheduler>
void compare(const compared_job& j, carried_out<Scheduler>& without, carried_out<Scheduler>& with,
             typename explained_change<Scheduler>::effects_type& to) {
  const job_id id = j.without ? j.without : j.with;
  const auto differ = [id](bool was, bool is, vector<job_id>& only_with, vector<job_id>& only_without) {
    if (was != is) (is ? only_with : only_without).push_back(id);
  };
  differ(without.has_started(j.without), with.has_started(j.with), to.started, to.not_started);
  differ(without.has_left(j.without, j.was), with.has_left(j.with, j.was), to.evicted, to.not_evicted);
  if (without.runs(j.without) && with.runs(j.with)) {
    const std::size_t was = without.pods(j.without);
    const std::size_t is = with.pods(j.with);
    if (was != is) (is > was ? to.grown : to.shrunk).push_back(id);
  }
  if (!with.waits(j.with)) return;
  if (without.waits(j.without)) {
    const instant was = without.starts_by(j.without);
    const instant is = with.starts_by(j.with);
    if (was != is) (is < was ? to.sooner : to.later).push_back(id);
  }
  const pending_reason was = without.reason(j.without);
  const pending_reason is = with.reason(j.with);
  if (was != is) to.reasons.push_back({id, was, is});
}

}  // namespace detail

/// What would be otherwise if this changed: which jobs would start, have to go, or wait for less or longer.
///
/// `change(copy)` makes, on a copy of the scheduler, the calls that the host would make: `apply`,
/// `configure`, `submit`, `cancel`, `finished`, `hold`, `lose_node`. It returns nothing: whether a call is
/// refused, it looks at itself. It may assign the copy another scheduler, which knows the same jobs by the
/// same ids. Then all that there is to decide at `now` is carried out in that copy, and in one that is not
/// changed, as by `settle`: who is evicted goes at once, and may start again; who was leaving before has not
/// gone. The difference is what is returned. It is exact: if the host makes the change and carries out the
/// plans in the same way, this is what comes of it.
///
/// For another priority, or any other fact that the view shows of a job, the change takes the job out and
/// submits it again (`cancel`, then `submit`, or for one that runs `adopt`), by a handle of which the view
/// shows that. It is taken for the same job if the handle is the same or, with an `identified_view`, the id
/// that the view shows of it, and the effects name it by the id that it has in `s`; see `id_with`.
///
/// `s` stays as it is. The copies share with it what its view, its placement and its policies point to, which
/// the change must leave as it is or put back. O(jobs + quotas + nodes) for the copies, what the steps cost,
/// and two `why` for each waiting job; and the square of the number of jobs that are submitted again.
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
  for (const detail::compared_job& j : jobs) {
    if (j.without && j.with != j.without) told.renumbered.emplace_back(j.without, j.with);
    detail::compare(j, without, with, told.effects);
  }
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
