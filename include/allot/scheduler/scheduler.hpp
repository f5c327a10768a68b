// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/detail/preset_quotas.hpp>
#include <allot/scheduler/detail/state_keeper.hpp>
#include <allot/scheduler/detail/time_limits.hpp>
#include <allot/scheduler/detail/view_check.hpp>
#include <allot/scheduler/exhaustive_cycle.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/state.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace detail {
template <class Scheduler>
class find_holders;
}  // namespace detail

/// The whole scheduling loop, for hosts that want it: pending jobs in, plans out.
///
/// The host reports what happens (`submit`, `finished`, `evicted`, …), calls `step` when it likes, acts on
/// the plan and reports back. The library owns no thread, clock or job, and calls nothing but the view, the
/// placement and the policies. What one step decides, and in which order, is up to the policies' cycle.
///
/// A copy is a different object: it decides as the original would, and shares nothing with it but what the
/// view, the placement and the policies, which it copies, point to. O(jobs + quotas + nodes).
///
/// It throws nothing itself, unless memory runs out; what these throw passes through it. `submit`, `adopt`
/// and `started` first read all that they need: if they end by an exception, nothing has changed (`adopt` and
/// `adopt_elastic_pod`: while no job is nominated). So it is with `refuses`, `why` and `waiting_by_reason`.
/// After any other call half a decision may be left, and savepoints may be open: the scheduler can then only
/// be destroyed, or assigned another one (a new one that `resume`s an earlier `state`, or a copy). See
/// `placement` for what must not throw.
template <class View, class Placement = no_placement, class Policies = policies<>>
class scheduler {
  // A `job_view` and a `placement`; on a mismatch the first line of the error says what is wrong.
  static_assert(detail::is_view<View, Placement>() && detail::is_placement<Placement>());

 public:
  /// The number of dimensions.
  static constexpr std::size_t n = dimensions<View>;
  /// The host's handle of a job.
  using job = typename View::job;
  /// The placement's handle of a place.
  using place = typename Placement::allocation;
  /// What a step decides.
  using plan_type = plan<View, Placement>;
  /// All that a scheduler knows.
  using state_type = scheduler_state<job, place>;
  /// A point on the host's clock: an `instant`, or what the view says (`clocked_view`).
  using time_point = typename detail::time_point_of<View>::type;

  static_assert(detail::are_policies_of<Policies, View>());

  /// Assembles the parts by hand. A preset is more than its policies: see `make_scheduler`.
  scheduler(View view, quota_tree<n> tree, Placement places = {}, Policies policies = {})
      : session_(std::move(view), std::move(tree), std::move(places)),
        policies_(std::move(policies)),
        cycle_(policies_) {
    jobs().grow_by(detail::policies_or_default::growth(policies_));
    jobs().set_default_settings(resolved({}));
    cycle_.reset(session_);
  }

  /// Builds a scheduler from a whole preset: its policies, what it makes of quotas, including those added
  /// later, and how it treats those that are not configured. Returns every problem with the quotas. They keep
  /// the ids they would have in a tree of their own, unless the preset ignores them. See `make_scheduler`.
  template <preset Preset>
  [[nodiscard]] static result<scheduler> make(const Preset& by, View view, std::vector<quota_spec<n>> quotas,
                                              Placement places, Policies policies) {
    if constexpr (refusable_policies<Policies>) {
      if (const std::string& why = policies.why_none(); !why.empty()) {
        return detail::one_problem(problem_code::missing, by.name, "view", why);
      }
    }
    detail::preset_quotas<n> under{rules_of<n>(by)};
    auto tree = under.begin(std::move(quotas), !std::same_as<Placement, no_placement>);
    if (!tree) return std::move(tree).problems();
    scheduler made{std::move(view), std::move(tree).value(), std::move(places), std::move(policies)};
    vector<problem> wrong = made.problems_of(by.name, under.rules().defaults);
    if (!wrong.empty()) return wrong;
    made.jobs().set_default_settings(made.resolved(under.rules().defaults));
    made.quotas_ = std::move(under);
    made.jobs().world_changed();
    return made;
  }

  /// What jobs use now, evicting ones included.
  [[nodiscard]] const allot::ledger<n>& ledger() const noexcept { return session_.books().allocated(); }
  /// What decisions count on: evicting jobs are gone, nominated ones are there.
  [[nodiscard]] const allot::ledger<n>& assumed() const noexcept { return session_.books().assumed(); }
  /// Whether jobs are announced when others are evicted for them, rather than nominated: nothing is held for
  /// them then (Kueue, KAI).
  [[nodiscard]] bool announces() const noexcept { return of_cycle::announces(cycle_); }
  /// What counts against a pending job: what is assumed or, if jobs are announced, what is used now.
  [[nodiscard]] const allot::ledger<n>& counted() const noexcept {
    return announces() ? ledger() : assumed();
  }
  /// Whether what binds a pending job at a quota is the law of `counted()`, not a limit of the policy's own
  /// (KAI).
  [[nodiscard]] bool binds_by_law() const noexcept { return of_cycle::binds_by_law(cycle_); }
  /// The quotas as the preset sees them, if there is one.
  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return session_.tree(); }
  /// The host's view. It is read during calls of the scheduler only.
  [[nodiscard]] const View& view() const noexcept { return session_.view(); }
  /// The placement, for reading. See `nodes` and `take_place` for what the host changes in it.
  [[nodiscard]] const Placement& places() const noexcept { return session_.books().places; }
  /// What the host may change in the placement: with `gpu::inventory`, it closes and opens nodes. After a
  /// change it calls `retry`.
  [[nodiscard]] auto nodes() noexcept requires guarded_placement<Placement> {
    // Asked for by clang 14, which looks at this where there is none, too.
    if constexpr (guarded_placement<Placement>) {
      return typename Placement::host_nodes{session_.books().places};
    }
  }
  /// The placement itself, where it does not say what a host may change in it. Nothing is checked: the host
  /// changes nodes, and takes places for jobs that it adopts, but must not release those of others. After a
  /// change it calls `retry`.
  [[nodiscard]] Placement& unchecked_places() noexcept requires(!guarded_placement<Placement>) {
    return session_.books().places;
  }
  /// Takes a place for the host: for a job that it adopts there, or for what runs there without the
  /// scheduler. With more than the request, it is where the placement's `place_at` says: for
  /// `gpu::inventory`, the locations of the pods. Nothing if there is none.
  template <class... Where>
  [[nodiscard]] std::optional<place> take_place(const typename Placement::pod_request& r,
                                                Where&&... where) requires revocable_placement<Placement> {
    if constexpr (sizeof...(Where) == 0) {
      return session_.books().places.place(r);
    } else {
      return session_.books().places.place_at(r, std::forward<Where>(where)...);
    }
  }
  /// Gives back a place that the host has taken. The host calls `retry` for others to get it. Refused if the
  /// placement has not given it (`unknown_place`), or a job has it (`place_in_use`).
  refusal release_place(const place& at) requires revocable_placement<Placement> {
    const refusal why_not = refuses_place(at);
    if (why_not == refusal::none) session_.books().places.release(at);
    return why_not;
  }

  /// How the jobs of a quota are treated from now on; those already waiting keep their order. A newly
  /// guaranteed runtime counts from the start of running jobs. Returns the problems, and then changes
  /// nothing: the quota does not exist, or a setting lacks what it needs to have an effect: another setting,
  /// or something that the view or the cycle does not provide. O(1); with a newly guaranteed runtime,
  /// O(jobs depth), and O(log jobs) for each job running in the subtree; with another `preempt_after` or
  /// `strict_after`, O(jobs), and O(log jobs) for each that waits.
  [[nodiscard]] vector<problem> configure(quota_id x, const queue_settings& settings) {
    if (!tree().contains(x)) {
      return detail::one_problem(problem_code::unknown_quota, {}, {}, "there is no such quota to configure");
    }
    vector<problem> wrong = problems_of(tree().name(x), settings);
    if (!wrong.empty()) return wrong;
    const bool guarantees =
        settings.min_runtime != runtime_guarantee{} && settings.min_runtime != this->settings(x).min_runtime;
    jobs().set_settings(x, resolved(settings));
    if (guarantees) watch_guarantee_below(x, settings.min_runtime);
    return wrong;
  }
  /// With `by_guard` and `by_preset` resolved. For an unknown quota: those of a quota that is not configured.
  [[nodiscard]] const queue_settings& settings(quota_id x) const {
    return tree().contains(x) ? session_.queues().settings(x) : session_.queues().defaults();
  }

  /// Whether the job would be refused, and why.
  [[nodiscard]] refusal refuses(const job& j) const {
    if (!tree().contains(quota_of(j))) return refusal::unknown_quota;
    typename session_type::record r;
    r.what = j;
    const auto [least, most] = shown::pods(view(), j);
    if (least == 0 || least > most) return refusal::invalid_request;
    if (!shown::sets_add_up(view(), j)) return refusal::invalid_request;
    // It may start with any number in between (Kueue), and further pods come one by one.
    if (least < most && !(further_pods_are_valid(r) && asks_validly(r, most)))
      return refusal::invalid_request;
    if (!asks_validly(r, least)) return refusal::invalid_request;
    flavor_pick pick{};
    do {
      if (places().could_ever_fit(jobs().pod_request_of(r, pick))) return refusal::none;
    } while (advance(pick, r.menu));
    return detail::policies_or_default::keeps_what_is_too_large(policies_) ? refusal::none
                                                                           : refusal::larger_than_cluster;
  }

  // Events. An invalid call changes nothing and says so, in release builds too.

  /// The job is pending from now on. Returns its id, or why it is refused. O(log pending).
  submission submit(const job& j) {
    if (const refusal why_not = refuses(j); why_not != refusal::none) return {{}, why_not};
    const job_id id = jobs().enrol(read(j));
    jobs().join_queue(id);
    return {id};
  }

  /// All that it knows, as plain data: see `scheduler_state`. `resume` continues from it. O(jobs + quotas).
  [[nodiscard]] state_type state() const {
    state_type s = detail::state_keeper<View, Placement>::save(session_);
    s.memory.of_cycle = of_cycle::memory(cycle_, session_);
    return s;
  }
  /// Continues from a state of another scheduler, of this process or of one before a restart: from then on it
  /// decides as that one would have. Jobs keep their ids. To be called before any other event, with the same
  /// preset, settings and quotas (by name: they may have other ids; what is new starts afresh) and a view
  /// that shows the same of the jobs.
  ///
  /// `take(unit)` takes the place of a job that runs, is evicted or nominated (`take_place`), and returns it;
  /// none if it is no longer there. It is called for those that hold a share before those that are nominated,
  /// whose places may count on the victims' leaving. A job is left out for the reasons of `adopt`, if its
  /// place can't be taken (`unknown_place`), or if the state contradicts itself (`unknown_job`,
  /// `wrong_state`); a nominated one without a place waits. What has changed meanwhile the host reports
  /// afterwards: `finished`, `evicted`, `cancel`, `submit`. All units are refused (`wrong_state`) if the
  /// scheduler has known a job before. O(jobs log jobs).
  template <class Place, class Take>
  resumption<job> resume(const scheduler_state<job, Place>& s, Take take) {
    resumption<job> answer;
    const auto refuse = [&answer](const auto& u, refusal why) {
      answer.refused.push_back({u.id, u.what, why});
    };
    if (jobs().has_known_jobs()) {
      for (const auto& u : s.units) refuse(u, refusal::wrong_state);
      return answer;
    }
    const vector<quota_id> ids = detail::quotas_by_name(tree(), s.memory.quotas);
    const vector<quota_id> touched = detail::state_keeper<View, Placement>::resume(
        session_, s, policies_, ids, [this](const job& j) { return quota_of(j); },
        [this](const auto& u) { return refuses_to_resume(u, u.what); },
        [&](const auto& u) {
          std::optional<place> at = take(u);
          if (at && refuses_place(*at) == refusal::unknown_place) at.reset();
          return at;
        },
        refuse);
    cycle_.reset(session_);
    // What these have done since the last step is news for the next one.
    for (const quota_id x : touched) session_.queues().untouch(x);
    answer.keeps_past_usage = of_cycle::resume(cycle_, session_, s.memory.of_cycle, ids);
    for (const quota_id x : touched) session_.queues().touch(x);
    for (const auto& u : s.units) {
      if (jobs().state(u.id) == job_state::running || jobs().state(u.id) == job_state::evicting)
        watch_time(u.id, shown::time_limit(view(), what(u.id)), s.memory.now);
      if (!u.is_starting) latest_start_ = std::max(latest_start_, u.since);
      if (u.leaves_by && *u.leaves_by > s.memory.now && state(u.id) == job_state::evicting)
        departures_.watch(*u.leaves_by, {u.id, jobs().at(u.id).facts.started}, leaves());
    }
    return answer;
  }
  /// The same where jobs have no places.
  resumption<job> resume(const state_type& s) requires std::same_as<Placement, no_placement> {
    return resume(s, [](const auto& u) { return std::optional{u.where}; });
  }

  /// Adopts a running job that this scheduler did not start, e.g. after a restart of the host. `at` is the
  /// place that the host has taken for it (`take_place`). Of an elastic job the core runs; see
  /// `adopt_elastic_pod`. Whether the cluster has room does not matter. Refused for the reasons of `submit`
  /// except its size, and if the job does not accept these flavors, the placement has not given that place or
  /// another job has it (if that can be told, see `revocable_placement`), or usage would overflow. What is
  /// refused leaves the place to the host (`release_place`).
  submission adopt(const job& j, time_point since, place at = {}, const flavor_pick& pick = {}) {
    if (const refusal why_not = refuses_to_adopt(j, at, pick); why_not != refusal::none) return {{}, why_not};
    record r = read(j);
    const auto placed = jobs().read_placed(r, at, pick);
    const instant limit = shown::time_limit(view(), j);
    const job_id id = jobs().enrol(std::move(r));
    jobs().start_adopted(id, told_start(since), placed);
    jobs().note(delay_cause::cluster);
    jobs().review_nominations();
    watch_time(id, limit);
    return {id};
  }
  /// Adopts one more pod of a running elastic job, not started by this scheduler. Returns the id of that pod.
  /// If its pods differ: of that set, or of the one that would grow next. Refused if the job does not run
  /// (`wrong_state`) or has all its pods, or those of that set, and as in `adopt`.
  submission adopt_elastic_pod(job_id core, time_point since, place at = {},
                               std::optional<pod_set_id> set = {}) {
    if (!jobs().contains(core)) return {{}, refusal::unknown_job};
    record& r = jobs().at(core);
    if (r.state != job_state::running || r.facts.elastic) return {{}, refusal::wrong_state};
    if (!jobs().can_grow(r)) return {{}, refusal::has_all_pods};
    const pods_by_set held = jobs().held_pods(r);
    const std::size_t which = set ? set->index() : jobs().next_set_after(r, held);
    if (which >= shown::sets(view(), r.what) || held[which] >= shown::pods(view(), r.what, which).most)
      return {{}, refusal::has_all_pods};
    if (const refusal why_not = refuses_place(at); why_not != refusal::none) return {{}, why_not};
    if (!session_.books().can_count(r.facts.quota, jobs().request_of_pod(r, which)))
      return {{}, refusal::invalid_request};
    const job_id id = jobs().adopt_elastic_pod(r, told_start(since), at, which);
    jobs().note(delay_cause::cluster);
    jobs().review_nominations();
    return {id};
  }
  /// Which quotas do not borrow which resources for now, or were reclaimed lately, by quota and dimension:
  /// see `queue_settings::borrow_backoff`. O(quotas) if any quota backs off.
  [[nodiscard]] vector<backoff> backoffs() const { return jobs().backoffs().all(); }
  /// The next step tries every pending job again, and decides again on jobs nominated on a lost place.
  void retry() noexcept {
    jobs().note(delay_cause::cluster);
    jobs().world_changed();
  }

  // Times. The scheduler's clock is the time of the last step: a step before that is made as of that
  // (`plan::clamped_by`). A job may have started at any time before; one that is said to have started later
  // than the next step, by a host whose clocks differ, has started then.

  /// The clock was wrong: it is `now`, whatever time the last step was told. All times that are kept move by
  /// the difference, back or forward: when jobs have started, are expected to end, reach their limits, may be
  /// preempted; reserved starts, backoffs, past usage. So all is as long ago, and as far away, as it was, and
  /// what is decided from now on is what would have been, had the clock gone on as it did. Otherwise, after a
  /// jump to 2099 and back, all steps until then are made as of 2099.
  ///
  /// Times of submission stay, as the view's: a job that it said to be submitted in 2099 waits behind those
  /// that came before, until it is cancelled and submitted with another time; `backfill_order::aged` and
  /// `queue_settings::strict_after` and `preempt_after`, which compare them with the clock, decide otherwise.
  /// What policies and histories of the host keep is the host's to move (`usage_history::rebase`). If it
  /// knows better when a job started, it says so (`started`). A placement with `set_now(now)` may have
  /// `rebase(by)`. The plan of the last step is empty from now on. Without a step before, nothing happens.
  /// O(jobs log jobs + quotas).
  void rebase(time_point now) {
    const instant at = detail::point_of<View>(now);
    if (!session_.has_stepped()) return;
    const instant by = detail::span_between(session_.now(), at);
    session_.rebase(by);
    of_cycle::rebase(cycle_, by);
    time_limits_.rebase(by);
    guarantees_.rebase(by);
    departures_.rebase(by);
    latest_start_ = detail::moved(latest_start_, by);
    if constexpr (requires { session_.books().places.rebase(by); }) session_.books().places.rebase(by);
  }

  /// The job of an admission has been running since `when`, if not since the step that admitted it.
  refusal started(job_id id, time_point when) {
    return if_in(id, {job_state::running}, [&](record& r) {
      r.had = {};
      r.is_starting = false;
      const instant limit = shown::time_limit(view(), r.what);
      jobs().restart(r, told_start(when));
      watch_time(id, limit);
    });
  }
  /// The host is not done with starting the job of an admission, or the pod of an elastic one, and expects it
  /// to run from that time on: an image is pulled, a machine boots. Until `started` it is *starting*: it has
  /// its share and its place as if it ran, and all that counts from its start counts from then: its expected
  /// end, its time limit, the runtime that it is guaranteed. If it is preempted it loses no work. To be
  /// called again if it takes longer; what that delays has `delay_cause::overrun` on record.
  /// O(depth + log jobs).
  refusal starting(job_id id, time_point until) {
    return if_in(id, {job_state::running}, [&](record& r) {
      const instant limit = shown::time_limit(view(), r.what);
      r.is_starting = true;
      jobs().restart(r, detail::point_of<View>(until));
      watch_time(id, limit);
    });
  }
  /// The running or evicting job has ended by itself, with all its elastic pods. Or one elastic pod has: then
  /// the job does with one less.
  refusal finished(job_id id) {
    return if_in(id, {job_state::running, job_state::evicting}, [&](record& r) {
      if (r.state == job_state::running) jobs().record_end_in_peace(r);
      jobs().remove(id);
    });
  }
  /// The running or evicting job has left, because of a plan or for a reason of the host's own, and with it
  /// all its elastic pods, evicting or not. It is pending again, with its old rank. Or a pod beyond the core
  /// of an elastic job has left: the job may get one again, under another id. A job that a plan evicted for
  /// its time limit is over: for it this is `finished`.
  refusal evicted(job_id id) {
    return if_in(id, {job_state::running, job_state::evicting}, [&](record& r) {
      if constexpr (time_limited_view<View>) {
        if (r.is_over) return jobs().remove(id);
      }
      if (r.state == job_state::running) jobs().world_changed();
      jobs().release(r);
      jobs().come_back(r);
    });
  }
  /// The job of an admission could not be started, or the pod of an elastic one. It is pending again with its
  /// old rank and, if it held a reservation with a time, in its old turn; it is not ready, and so not tried,
  /// before that time. Without that it would be admitted again at once, and fail again. O(log pending); as
  /// the reservation is made again, the next step looks at the others of its quota.
  refusal start_failed(job_id id, time_point not_before) {
    return if_in(id, {job_state::running},
                 [&](record& r) { session_.start_failed(r, detail::point_of<View>(not_before)); });
  }
  /// Nodes of the running job have failed, and are closed: the pods that were there are placed elsewhere at
  /// once, near the others where its request says so, and the others stay (a hot swap). Its share is what it
  /// was, and nobody is evicted; it has another place from then on (`place_of`). It may be tried again while
  /// the job waits for its pods. Refused without room for all of them, or if none of its pods is left
  /// (`no_room`): then the host waits, or reports `evicted`. Further pods of an elastic job are units of
  /// their own: of those that are lost the host reports `evicted`, and the job may get others.
  refusal replace_pods(job_id id) requires replacing_placement<Placement> {
    refusal why_not = refusal::none;
    const refusal wrong = if_in(id, {job_state::running}, [&](record& r) {
      if (!jobs().replace_pods(r)) why_not = refusal::no_room;
    });
    return wrong == refusal::none ? why_not : wrong;
  }
  /// The evicting job, or an evicting pod, will have left by then, as the host expects: it writes a
  /// checkpoint, or has a grace period. At that time `wakes_at` wakes the host if it has not, and the plan
  /// lists it as `overdue`. `holders_of_own` tells those who wait for it. O(log jobs).
  refusal leaves_by(job_id id, time_point when) {
    return if_in(id, {job_state::evicting}, [&](record& r) {
      r.leaves_by = detail::point_of<View>(when);
      departures_.watch(r.leaves_by, {id, r.facts.started}, leaves());
    });
  }
  /// The evicting job, or a pod that was to go alone, can't be evicted, at least not now: it runs on, with
  /// all its pods. The job that it was evicted for waits again, as do those that were given its place, and
  /// the next step chooses other victims, or none: the job is not preempted until then (`without_end` as an
  /// `instant`: as long as it runs). Refused for one that has reached its time limit (`wrong_state`), or
  /// whose place the host itself has taken meanwhile (`place_in_use`). O(nominated jobs x what placing
  /// costs).
  refusal not_evicted(job_id id, time_point until) {
    if (jobs().contains(id)) {
      const record& r = jobs().at(id);
      const bool goes_along = r.facts.elastic && state(r.facts.core) == job_state::evicting;
      if (r.is_over || goes_along) return refusal::wrong_state;
    }
    refusal why_not = refusal::none;
    const refusal wrong = if_in(id, {job_state::evicting}, [&](record& r) {
      if (session_.not_evicted(r, detail::point_of<View>(until))) {
        watch_time_again(r);
      } else {
        why_not = refusal::place_in_use;
      }
    });
    return wrong == refusal::none ? why_not : wrong;
  }
  /// Whether plans withdraw evictions of earlier ones that are not needed any more (`plan::withdrawn`): the
  /// job that they were for was cancelled or is held, has found room, or waits again for another reason. One
  /// that has reached its time limit meanwhile leaves all the same. Off unless told otherwise: a host that
  /// does not read `withdrawn` would end jobs that count as running.
  /// Cycles that announce jobs (Kueue, KAI) withdraw nothing.
  void withdraw_evictions(bool do_withdraw) noexcept { session_.withdraws_ = do_withdraw; }
  /// The host's view shows something else of the job than it did when it was read, or the same. It is read
  /// again, but for when it was submitted and its number: it keeps its id and its age. The next step decides
  /// as if it had always been like that, and with the same view nothing has changed.
  ///
  /// *Pending*: quota, priority, request, pods, flavors, estimate, whether it is preemptible, whether it
  /// preempts and when it is ready; a time that `start_failed` has named stays. It keeps a reservation with a
  /// time, in its turn, if it asks for no more: of the same quota, no resource and no time more than before,
  /// on nodes with an equal pod request, by a priority that is not lower. What it asks for less is for
  /// others. Otherwise it waits in its queue. A higher priority counts from now on; it changes no turn of a
  /// reservation that it has.
  ///
  /// *Running*: quota, priority, estimate and time limit (both as of its start), whether it is preemptible,
  /// and of an elastic job how many pods it may have: those that it lacks are asked for. It moves to another
  /// quota with all that it has, whether or not that has room, as in `adopt`. What it requests, and the pods
  /// that its core needs, can't change to other than it has (`request_in_use`): fewer pods than run or leave
  /// only when the host has said which have gone (`finished`); fewer that it needs at least only for its next
  /// run. Pods that are nominated wait again, if more than the estimate changes for them.
  ///
  /// Refused for one that is nominated or is evicted, and for a pod of an elastic job (`wrong_state`), and
  /// for the reasons of `submit`, of a running job except its size. O(depth + log jobs) for each pod.
  refusal update(job_id id) {
    if (!jobs().contains(id)) return refusal::unknown_job;
    record& r = jobs().at(id);
    const bool runs = r.state == job_state::running;
    if (r.facts.elastic || (!runs && r.state != job_state::pending)) return refusal::wrong_state;
    const refusal why_not = refuses(r.what);
    if (why_not != refusal::none && !(runs && why_not == refusal::larger_than_cluster)) return why_not;
    record again = jobs().read_again(r, quota_of(r.what), policies_.jobs, policies_.not_preemptible);
    const instant limit = shown::time_limit(view(), r.what);
    if (runs && !jobs().has_its_request(r, again)) return refusal::request_in_use;
    const quota_id to = again.facts.quota;
    if (runs && to != r.facts.quota && !jobs().can_move(r, to)) return refusal::invalid_request;
    const bool is_protected_anew = to != r.facts.quota || again.preemptible != r.preemptible;
    if (!jobs().is_as_before(r, again)) session_.update(r, std::move(again));
    if (!runs) return refusal::none;
    watch_limit(r, limit);
    if (is_protected_anew && r.preemptible) watch_guarantees(r, session_.now());
    return refusal::none;
  }
  /// Evictions of jobs of x and of the quotas below it are frozen, until `thaw`: none of these jobs is
  /// preempted, moved elsewhere, or evicted because its quota is over its limits. One that has reached its
  /// time limit goes all the same, and one that is being evicted leaves. Like settings it is the host's to
  /// keep: after a restart, and for quotas that are added below, it says so again. Refused if there is no
  /// such quota (`unknown_quota`). O(jobs x quotas).
  refusal freeze(quota_id x) { return set_frozen(x, true); }
  /// They may be evicted again. The same otherwise.
  refusal thaw(quota_id x) { return set_frozen(x, false); }
  /// Whether evictions of its jobs are frozen.
  [[nodiscard]] bool is_frozen(quota_id x) const {
    return tree().contains(x) && session_.queues().is_frozen(x);
  }
  /// The host holds the job until `unhold`. While it waits it claims nothing, and loses its reservation; a
  /// nominated job or pod waits again. While it runs neither it nor a pod of it is preempted, though it still
  /// ends by a time limit; evicted by the host itself it waits, held. Its age counts meanwhile (but see
  /// `unhold`). A pod of an elastic job is held with its job alone (`wrong_state`). O(log pending + pods).
  refusal hold(job_id id) {
    return if_whole(id, [&](record& r) {
      if (!r.is_held) session_.hold(r);
    });
  }
  /// The host no longer holds it. It takes its turn as before. O(log pending + pods).
  refusal unhold(job_id id) {
    return if_whole(id, [&](record& r) {
      if (r.is_held) jobs().unhold(r);
    });
  }
  /// The same as if it had been submitted at that time: where what is held must not age, by as much later as
  /// it was held.
  refusal unhold(job_id id, time_point submitted) requires timed_view<View> {
    return if_whole(id, [&](record& r) {
      if (r.is_held) jobs().unhold(r, detail::point_of<View>(submitted));
    });
  }
  /// Whether the host holds the job.
  [[nodiscard]] bool is_held(job_id id) const { return of_job(id, &record::is_held); }
  /// Whether the job waits and is ready: neither held nor put off, by the view or by the host.
  [[nodiscard]] bool is_ready(job_id id) const {
    return state(id) == job_state::pending && !jobs().at(id).is_early();
  }
  /// The job is no longer wanted, whatever its state.
  refusal cancel(job_id id) {
    if (!jobs().contains(id)) return refusal::unknown_job;
    jobs().remove(id);
    return refusal::none;
  }
  /// The host itself evicts a running job: it holds its share until `evicted` or `finished`, and decisions no
  /// longer count on it.
  refusal evicting(job_id id) {
    return if_in(id, {job_state::running}, [&](record& r) {
      jobs().evict(r, {});
      jobs().world_changed();
    });
  }

  /// Changes the quota tree; see `apply` in quota/change.hpp. A quota with jobs, pending ones included, can't
  /// be removed. Under a preset the changes apply to the quotas as given, and added quotas are treated like
  /// the others; a preset that ignores quotas ignores the changes, too. Nominated jobs for which there is no
  /// longer room are pending again.
  result<vector<quota_id>> apply(std::span<const quota_change<n>> changes) {
    if (quotas_.rules().ignores_quotas) return vector<quota_id>{};
    vector<problem> wrong;
    detail::check_usage(ledger(), wrong);
    if (wrong.empty()) detail::check_usage(assumed(), wrong);
    detail::for_each_removed<n>(tree(), changes, [&](quota_id x) {
      if (session_.queues().jobs(x) == 0) return;
      const std::string name{tree().name(x)};
      wrong.push_back({problem_code::in_use, name, {}, name + " still has jobs"});
    });
    auto& books = session_.books();
    bool is_moved = false;
    if (auto specs = quotas_.respecified(tree(), changes)) {
      books.exchange(*specs);
      detail::check_amounts(ledger(), wrong);
      if (!wrong.empty()) {
        books.exchange(*specs);
        quotas_.undo();
        return wrong;
      }
    } else {
      auto next = quotas_.changed(tree(), changes, std::move(wrong));
      if (!next) return std::move(next).problems();
      books.replace_tree(std::move(next).value());
      is_moved = true;
    }
    if constexpr (session_type::has_expected_ends) books.foreseen().forget();
    vector<quota_id> over = jobs().follow_tree();
    // Under another parent another guarantee may protect a job.
    for (const quota_id x : is_moved ? tree().roots() : std::span<const quota_id>{})
      watch_guarantees_of_paths(x);
    cycle_.reset(session_);
    return over;
  }

  /// Resizes of the quotas that are known to come, in place of those known before: each is `apply`ed when its
  /// time comes. Until then no job starts that its estimate, or its time limit, says would be evicted for
  /// one, and reservations count on them; by cycles that make reservations. Returns what is wrong with them,
  /// and then nothing is known; so it is after `apply`, as they are then changes of another tree. Without
  /// effect if no end of a job is ever expected. O(quotas x times).
  vector<problem> expect_changes(std::span<const expected_change<n, time_point>> changes) {
    vector<problem> wrong;
    if (quotas_.rules().ignores_quotas) return wrong;
    if constexpr (session_type::has_expected_ends) {
      vector<std::pair<instant, const quota_change<n>*>> in_order;
      for (const auto& c : changes) in_order.emplace_back(detail::point_of<View>(c.at), &c.change);
      std::stable_sort(in_order.begin(), in_order.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      auto& foreseen = session_.books().foreseen();
      auto& l = session_.books().assumed();
      foreseen.forget();
      detail::check_usage(l, wrong);
      auto quotas = quotas_;
      for (std::size_t i = 0; i < in_order.size() && wrong.empty();) {
        vector<quota_change<n>> together;
        const instant at = in_order[i].first;
        for (; i < in_order.size() && in_order[i].first == at; ++i) together.push_back(*in_order[i].second);
        if (auto specs = quotas.respecified(l.tree(), together)) {
          foreseen.add(l, at, std::move(*specs));
          detail::check_amounts(l, wrong);
        } else {
          wrong.push_back(
              {problem_code::unknown_quota, {}, {}, "only resizes of quotas that exist can be expected"});
        }
      }
      foreseen.take_back(l);
      if (!wrong.empty()) foreseen.forget();
      jobs().follow_tree();
    }
    return wrong;
  }

  /// Whether plans explain the pending jobs that they list, which costs one `why` for each; they do unless
  /// told otherwise. Otherwise only the reason is given, and only if the cycle has found it.
  void explain_plans(bool do_explain) noexcept { explains_plans_ = do_explain; }

  /// Runs the cycle once. The plan is valid until the next call. With nothing new since the last call it is
  /// empty, in O(1).
  const plan_type& step(time_point at) {
    const instant told = detail::point_of<View>(at);
    const instant now = session_.not_before_last(told);
    // For placements that care when jobs end.
    if constexpr (requires { session_.books().places.set_now(now); }) session_.books().places.set_now(now);
    if (std::exchange(latest_start_, std::numeric_limits<instant>::min()) > now) {
      jobs().start_by(now, [this](job_id id) { watch_time(id, shown::time_limit(view(), what(id))); });
    }
    session_.begin(now);
    session_.plan().clamped_by = detail::span_between(told, now);
    evict_overdue(now);
    guarantees_.take_expired(now, [&](const detail::time_limits::run& r, instant until) {
      if (is_protected_until(r, until)) jobs().world_changed();
    });
    do {
      cycle_.run(session_);
      // Who had been given what leaving jobs have may have started.
    } while (session_.start_with_what_was_taken_back() || session_.withdraw_unneeded());
    session_.end();
    list_overdue(now);
    // One whose eviction was withdrawn, and that another job has claimed since, goes after all.
    erase_if(session_.plan().withdrawn,
             [&](const auto& w) { return jobs().state(w.id) != job_state::running; });
    for (const auto& w : session_.plan().withdrawn) {
      jobs().stays(jobs().at(w.id));
      watch_time_again(jobs().at(w.id));
    }
    // Explained last: jobs admitted after a job became inadmissible may block it, too.
    // A reservation may have been renewed before its job was admitted in the same step.
    erase_if(session_.plan().pending, [&](const auto& h) { return state(h.id) != job_state::pending; });
    if (explains_plans_) {
      for (auto& h : session_.plan().pending) explain(h);
    }
    for (const auto& a : session_.plan().admissions) watch_time(a.id, shown::time_limit(view(), a.what));
    return session_.plan();
  }

  /// The next time at which a step may decide something without a prior event: a job reaches its time limit,
  /// or should have left (`leaves_by`), or may be preempted from then on (`min_runtime`, `not_evicted`); a
  /// job is ready, or may preempt from then on (`preempt_after`); a quota may borrow again; a reserved start
  /// has come; or the cycle decides by time alone (`waking_cycle`). None: never.
  [[nodiscard]] std::optional<time_point> wakes_at() {
    std::optional<instant> next = time_limits_.next(lasts());
    for (const auto& at :
         {guarantees_.next(protects()), departures_.next(leaves()), session_.next_reserved_start(),
          of_cycle::wakes_at(cycle_, session_), jobs().next_ready(), jobs().next_end_of_sparing(),
          jobs().next_end_of_patience()}) {
      if (at) next = std::min(next.value_or(*at), *at);
    }
    const instant may_borrow = jobs().backoffs().next();
    if (may_borrow != without_end) next = std::min(next.value_or(may_borrow), may_borrow);
    return next ? std::optional{time_of(*next)} : std::nullopt;
  }

  /// Why a job waits, as of now; `not_waiting` if it does not. Of a job in the plan of a step it says the
  /// same until something changes.
  [[nodiscard]] typename plan_type::pending_job why(job_id id) {
    typename plan_type::pending_job h{id, what(id), {}, pending_reason::not_waiting};
    const job_state is = state(id);
    if (is != job_state::pending && is != job_state::nominated) return h;
    h.quota = jobs().at(id).facts.quota;
    h.reason = pending_reason::evictions;
    if (is == job_state::pending) explain(h);
    return h;
  }
  /// Whether the job may start without a change of quotas, whatever others do. To be asked after `submit`,
  /// which refuses no job for that: its quota may grow, and only the cycle knows. True also for one that is
  /// not ready or held, which is not asked. False for an unknown job.
  /// Costs what `why` does.
  [[nodiscard]] bool can_ever_start(job_id id) { return jobs().contains(id) && !why(id).out_of_reach; }
  /// How many pending jobs that are ready have their turn before that one in its quota: those with a
  /// reservation with a time first, then by the order of the queue. 0 for one that is not pending. O(waiting
  /// jobs of the quota, and reservations for each that has one).
  [[nodiscard]] std::size_t jobs_before(job_id id) const {
    if (state(id) != job_state::pending) return 0;
    const record& r = jobs().at(id);
    const auto* const its = jobs().reservation_of(id);
    std::size_t before = 0;
    jobs().for_each_waiting(r.facts.quota, [&](job_id other) {
      const record& o = jobs().at(other);
      if (other == id || o.is_early()) return;
      const auto* const theirs = jobs().reservation_of(other);
      const bool is_before = its && theirs   ? theirs->number < its->number
                             : its || theirs ? theirs != nullptr
                                             : o.rank < r.rank;
      before += is_before ? 1U : 0U;
    });
    return before;
  }

  /// The jobs that hold a reservation with a time, in the order of their turn.
  [[nodiscard]] vector<job_id> reservations() const {
    vector<job_id> all;
    for_each_reservation([&all](job_id id) { all.push_back(id); });
    return all;
  }
  /// Calls `visit(job_id)` for each of them.
  template <class Visit>
  void for_each_reservation(Visit visit) const {
    vector<std::pair<std::uint64_t, job_id>> all;
    for (const auto& p : session_.reservations().all()) all.emplace_back(p.number, p.job);
    for (const quota_id x : session_.reservations().owners()) {
      for (const auto& p : session_.reservations().owned_by(x)) all.emplace_back(p.number, p.job);
    }
    detail::sort(all.begin(), all.end());
    for (const auto& [number, id] : all) visit(id);
  }
  /// The reservation with a time that a pending job holds: when it starts at the latest, and what that rests
  /// on. None if it holds none; see `queue_head::reserve`. O(reservations).
  [[nodiscard]] std::optional<reservation> reservation_of(job_id id) const {
    const auto* const p = jobs().reservation_of(id);
    return p == nullptr ? std::nullopt : std::optional{p->what};
  }

  /// Where the jobs with a reservation would start, as things stand: calls `visit(id, place)` for each whose
  /// start is known, the earliest first, with the place that it would be given then if all goes as expected.
  /// It may get another: reservations are not tied to places. A place is as if taken, in `places()`, during
  /// the call alone, in which nothing may be changed. O(ends and starts to come x what placing costs).
  template <class Visit>
  void for_each_planned_place([[maybe_unused]] Visit visit) {
    if constexpr (session_type::has_expected_ends) {
      detail::owned_profile<session_type>{}.for_each_planned_place(session_, visit);
    }
  }

  /// What the jobs that gather request together: the most that they may keep idle. O(reservations).
  [[nodiscard]] resources<n> gathered() const {
    resources<n> all;
    if (!session_.reservations().any_gathers()) return all;
    for (const auto& p : session_.reservations().all()) {
      if (p.what.gathers_since) all += jobs().at(p.job).facts.request;
    }
    return all;
  }

  /// The host's point in time for an `instant` of a plan or of a reservation.
  [[nodiscard]] static constexpr time_point time_of(instant at) {
    if constexpr (clocked_view<View>) {
      return time_point{typename time_point::duration{at}};
    } else {
      return at;
    }
  }

  // For an unknown job these return a default value.

  /// The state of the job.
  [[nodiscard]] job_state state(job_id id) const {
    const job_state is = jobs().state(id);
    return is == job_state::running && jobs().at(id).is_starting ? job_state::starting : is;
  }
  /// The host's handle of the job.
  [[nodiscard]] job what(job_id id) const { return of_job(id, &record::what); }
  /// The place of a running, evicting or nominated job.
  [[nodiscard]] place place_of(job_id id) const { return of_job(id, &record::where); }
  /// The quota that it counts against: the root under a preset that ignores quotas.
  [[nodiscard]] quota_id quota(job_id id) const {
    return jobs().contains(id) ? jobs().at(id).facts.quota : quota_id{};
  }
  /// What the job requests, or has, under the flavors chosen for it.
  [[nodiscard]] resources<n> request(job_id id) const {
    return jobs().contains(id) ? jobs().at(id).facts.request : resources<n>{};
  }
  /// The flavors chosen for the job.
  [[nodiscard]] flavor_pick pick(job_id id) const { return of_job(id, &record::pick); }
  /// The set of such a pod, of a job whose pods differ (`pod_set_view`); the first otherwise.
  [[nodiscard]] pod_set_id set_of(job_id pod) const {
    return jobs().contains(pod) ? pod_set_id{jobs().at(pod).set} : pod_set_id{0};
  }
  /// How many of its pods start together: its minimum, or, where it is admitted once for all (Kueue), as many
  /// as it was given. 1 of an elastic pod.
  [[nodiscard]] std::uint32_t pods(job_id id) const {
    return jobs().contains(id) ? jobs().at(id).facts.pods : 0;
  }
  /// The pods of an elastic job beyond its core, waiting ones included. Valid until the next call.
  [[nodiscard]] std::span<const job_id> elastic_pods_of(job_id id) const {
    return jobs().contains(id) ? std::span<const job_id>{jobs().at(id).elastic_pods}
                               : std::span<const job_id>{};
  }
  /// When the running or evicting job started; of one that is starting, when it is expected to.
  [[nodiscard]] time_point since(job_id id) const {
    return time_of(jobs().contains(id) ? jobs().at(id).facts.started : 0);
  }
  /// The nominated job for which the job is being evicted; none if its share is for any job.
  [[nodiscard]] job_id beneficiary_of(job_id id) const {
    const job_id b = jobs().nominated().beneficiary_of(id);
    return state(b) == job_state::nominated ? b : job_id{};
  }
  /// The nominated jobs, in the order of the decisions. Valid until the next call.
  [[nodiscard]] std::span<const job_id> nominated() const noexcept { return jobs().nominated().waiting(); }
  /// Whether the pending job waits for evictions that were decided for it, although its share is not held for
  /// it: Kueue and KAI decide on it again when they are done.
  [[nodiscard]] bool announced(job_id id) const {
    return state(id) == job_state::pending && of_cycle::has_announced(cycle_, session_, id);
  }
  /// The evicting jobs, in the order of their evictions. Valid until the next call.
  [[nodiscard]] std::span<const job_id> evicting() const noexcept { return jobs().evicting(); }
  /// How many jobs of the quota wait, including nominated ones and the next pods of elastic ones.
  [[nodiscard]] std::size_t waiting(quota_id x) const {
    const auto& queues = session_.queues();
    return tree().contains(x) ? queues.waiting(x) + queues.early_waiting(x) : 0;
  }
  /// The same by `pending_reason`, as `why` gives it for each of them now. O(waiting jobs), and what one
  /// `why` costs for each equivalence class among them.
  [[nodiscard]] std::array<std::size_t, pending_reason_count> waiting_by_reason(quota_id x) {
    std::array<std::size_t, pending_reason_count> counts{};
    if (!tree().contains(x)) return counts;
    const auto count_of = [&](pending_reason r) -> std::size_t& {
      return counts[static_cast<std::size_t>(r)];
    };
    count_of(pending_reason::held) = session_.queues().held_waiting(x);
    count_of(pending_reason::not_ready) = session_.queues().early_waiting(x) - count_of(pending_reason::held);
    std::size_t nominated = session_.queues().waiting(x);
    const record* last = nullptr;
    pending_reason reason{};
    jobs().for_each_waiting(x, [&](job_id id) {
      const record& r = jobs().at(id);
      const bool is_alike = last != nullptr && r.facts.request == last->facts.request &&
                            r.facts.in == last->facts.in && !r.is_early() && !last->is_early() &&
                            detail::placement_or_default::room_key(r.pod_request) ==
                                detail::placement_or_default::room_key(last->pod_request) &&
                            session_.queues().found(r) == session_.queues().found(*last);
      if (!is_alike) reason = why(id).reason;
      last = &r;
      ++count_of(reason);
      --nominated;
    });
    count_of(pending_reason::evictions) += nominated;
    return counts;
  }
  /// What the pending jobs of the quota request together, without those that are nominated or not ready.
  [[nodiscard]] resources<n> requested(quota_id x) const {
    return tree().contains(x) ? session_.queues().asked(x) : resources<n>{};
  }
  /// What the quota with all below it is entitled to by the policies' own division, as of the last step. None
  /// if they divide nothing; then a `division` may.
  [[nodiscard]] std::optional<resources<n>> entitled(quota_id x) const {
    return tree().contains(x) ? of_cycle::entitled(cycle_, x) : std::nullopt;
  }

 private:
  friend class detail::find_holders<scheduler>;
  using session_type = session<View, Placement>;
  using record = typename session_type::record;
  using of_cycle = detail::cycle_or_default<session_type>;
  using shown = detail::view_or_default<View>;

  [[nodiscard]] detail::lifecycle<View, Placement>& jobs() noexcept { return session_.jobs_; }
  [[nodiscard]] const detail::lifecycle<View, Placement>& jobs() const noexcept { return session_.jobs_; }
  [[nodiscard]] record read(const job& j) const {
    return jobs().read(j, quota_of(j), policies_.jobs, policies_.not_preemptible);
  }
  [[nodiscard]] quota_id quota_of(const job& j) const {
    return quotas_.rules().ignores_quotas ? tree().roots().front() : view().quota(j);
  }
  /// Whether the request is valid whichever flavors are chosen: tests the least and the most of each group.
  [[nodiscard]] bool asks_validly(record& r, std::uint32_t pods) const {
    detail::read_request(r, view(), pods);
    return is_valid_to_count(r);
  }
  /// The same for one pod more, of each set.
  [[nodiscard]] bool further_pods_are_valid(record& r) const {
    const std::size_t sets = shown::sets(view(), r.what);
    for (std::size_t s = 0; s < sets; ++s) {
      detail::read_further_pod(r, view(), s);
      if (!is_valid_to_count(r)) return false;
    }
    return true;
  }
  [[nodiscard]] static bool is_valid_to_count(const record& r) {
    if (r.menu.empty()) return is_valid_request(r.base);
    resources<n> least = r.base;
    resources<n> most = r.base;
    for (std::size_t g = 0; g < r.menu.groups(); ++g) {
      resources<n> low{quantity::unlimited()};
      resources<n> high{quantity::lowest()};
      for (const resources<n>& option : r.menu.options(g)) {
        for (std::size_t d = 0; d < n; ++d) {
          low[d] = std::min(low[d], option[d]);
          high[d] = std::max(high[d], option[d]);
        }
      }
      least += low;
      most += high;
    }
    return is_valid_request(least) && is_valid_request(most);
  }
  template <class T>
  [[nodiscard]] T of_job(job_id id, T record::*member) const {
    return jobs().contains(id) ? jobs().at(id).*member : T{};
  }
  /// Carries out an event of a job, if it is in one of these states.
  template <class Happen>
  refusal if_in(job_id id, std::initializer_list<job_state> states, Happen happen) {
    if (!jobs().contains(id)) return refusal::unknown_job;
    record& r = jobs().at(id);
    if (detail::find(states.begin(), states.end(), r.state) == states.end()) return refusal::wrong_state;
    happen(r);
    return refusal::none;
  }
  /// Evicts jobs that have run for as long as they may.
  void evict_overdue([[maybe_unused]] instant now) {
    if constexpr (time_limited_view<View>) {
      time_limits_.take_expired(now, [&](const detail::time_limits::run& r, instant until) {
        if (!is_over(r, until)) return;
        session_.evict(r.job, {}, relation::time_limit);
        jobs().at(r.job).is_over = true;
        jobs().world_changed();
      });
    }
  }
  void list_overdue(instant now) {
    departures_.take_expired(now, [&](const detail::time_limits::run& seen, instant until) {
      auto& overdue = session_.plan().overdue;
      // The host may have named that time twice.
      const bool is_listed = detail::any_of(overdue.begin(), overdue.end(),
                                            [&](const auto& known) { return known.id == seen.job; });
      if (is_listed || !is_to_leave(seen, until)) return;
      const record& r = jobs().at(seen.job);
      overdue.push_back({seen.job, r.what, r.facts.quota, r.facts.core});
    });
  }
  refusal set_frozen(quota_id x, bool is_frozen) {
    if (!tree().contains(x)) return refusal::unknown_quota;
    if (session_.queues().is_frozen(x) != is_frozen) jobs().freeze(x, is_frozen);
    for (const quota_id c : tree().children(x)) static_cast<void>(set_frozen(c, is_frozen));
    return refusal::none;
  }
  /// Carries out an event of a job that is no pod of another one.
  template <class Happen>
  refusal if_whole(job_id id, Happen happen) {
    if (jobs().contains(id) && jobs().at(id).facts.elastic) return refusal::wrong_state;
    using enum job_state;
    return if_in(id, {pending, nominated, running, evicting}, happen);
  }
  [[nodiscard]] refusal refuses_to_adopt(const job& j, const place& at, const flavor_pick& pick) const {
    const refusal why_not = refuses(j);
    if (why_not != refusal::none && why_not != refusal::larger_than_cluster) return why_not;
    if (!shown::accepts(view(), j, pick)) return refusal::unknown_flavors;
    if (const refusal why = refuses_place(at); why != refusal::none) return why;
    typename session_type::record r;
    r.what = j;
    detail::read_request(r, view(), shown::pods(view(), j).least);
    return session_.books().can_count(quota_of(j), r.request_under(pick)) ? refusal::none
                                                                          : refusal::invalid_request;
  }
  [[nodiscard]] refusal refuses_to_resume(const unit_state& u, const job& what) const {
    using enum job_state;
    if (u.state != pending && u.state != nominated && u.state != running && u.state != evicting)
      return refusal::wrong_state;
    if (const refusal why = refuses(what); why != refusal::none && why != refusal::larger_than_cluster)
      return why;
    if (!shown::accepts(view(), what, u.pick)) return refusal::unknown_flavors;
    if (u.core && u.set >= shown::sets(view(), what)) return refusal::invalid_request;
    if (u.core || u.pods == shown::pods(view(), what).least) return refusal::none;
    // An elastic one was admitted for good with other pods than its core.
    const bool has_any = u.pods > 0 && u.pods <= shown::pods(view(), what).most;
    return has_any ? refusal::none : refusal::invalid_request;
  }
  /// Whether that is no place of the host's, if that can be told.
  [[nodiscard]] refusal refuses_place([[maybe_unused]] const place& at) const {
    if constexpr (revocable_placement<Placement>) {
      if (!places().contains(at)) return refusal::unknown_place;
      if (session_.books().is_held(at)) return refusal::place_in_use;
    }
    return refusal::none;
  }

  [[nodiscard]] vector<problem> problems_of(std::string_view subject, const queue_settings& settings) const {
    vector<problem> wrong = contradictions(subject, settings, judges_rivals());
    if (wrong.empty()) {
      wrong = unsupported(subject, settings,
                          {.reserves = of_cycle::reserves(cycle_),
                           .knows_ends = session_type::has_expected_ends,
                           .backs_off = of_cycle::backs_off(cycle_),
                           .delays_preemption = of_cycle::delays_preemption(cycle_),
                           .knows_submissions = timed_view<View>,
                           .knows_flavors = flavored_view<View>,
                           .knows_ready_times = ready_view<View>});
    }
    return wrong;
  }
  [[nodiscard]] std::optional<bool> judges_rivals() const {
    return detail::policies_or_default::judges_rivals(policies_);
  }
  [[nodiscard]] queue_settings resolved(queue_settings settings) const {
    settings.preempt = with_guard(settings.preempt, judges_rivals().value_or(false));
    if constexpr (ready_view<View> && clocked_view<View>) {
      const bool has_none = of_cycle::reserves(cycle_) && !settings.ready_horizon;
      if (has_none) settings.ready_horizon = detail::ticks_of_seconds<View>(60);
    }
    return with_head(settings, session_.queues().defaults());
  }
  /// Why the pending job waits: what the cycle found when it tried the job, beside what is so now.
  void explain(typename plan_type::pending_job& p) {
    const record& r = jobs().at(p.id);
    p.reason = session_.queues().found(r);
    // To its cycle one that is not ready may not be there.
    const bool is_early = r.is_early();
    is_early ? session_.explain(p) : of_cycle::explain(cycle_, session_, p);
    detail::in_the_way<session_type> seen{session_};
    if constexpr (announcing_cycle<decltype(cycle_), session_type>) {
      const auto is_announced = [this](job_id id) { return of_cycle::has_announced(cycle_, session_, id); };
      announces() && !is_early ? seen.find_at_place_now(p, is_announced) : seen.find_at_place(p);
    } else {
      seen.find_at_place(p);
    }
    if (is_early) p.out_of_reach.reset();
    if (!is_early && !r.may_preempt() && r.preempts) p.preempts_at = r.preempts_from;
    if constexpr (session_type::has_expected_ends) p.reservation = reservation_of(p.id);
  }
  /// When a job has started, as the host says.
  [[nodiscard]] instant told_start(time_point since) {
    const instant at = detail::point_of<View>(since);
    latest_start_ = std::max(latest_start_, at);
    return at;
  }
  /// Whether the run still lasts.
  [[nodiscard]] bool is_run(const detail::time_limits::run& seen) {
    if (!jobs().contains(seen.job)) return false;
    const record& r = jobs().at(seen.job);
    return r.state == job_state::running && r.facts.started == seen.since;
  }
  /// Whether the run still lasts, and reaches its time limit then.
  [[nodiscard]] bool is_over(const detail::time_limits::run& seen, instant until) {
    return is_run(seen) && jobs().at(seen.job).over_at == until;
  }
  [[nodiscard]] auto lasts() {
    return [this](const detail::time_limits::run& r, instant until) { return is_over(r, until); };
  }
  /// Whether the run still lasts, and a guarantee ends then: settings may have changed.
  [[nodiscard]] bool is_protected_until(const detail::time_limits::run& seen, instant until) {
    if (!is_run(seen) || !jobs().at(seen.job).preemptible) return false;
    for (quota_id x = jobs().at(seen.job).facts.quota; x; x = tree().parent(x)) {
      const runtime_guarantee& g = settings(x).min_runtime;
      for (const instant span : {g.preempt, g.reclaim}) {
        if (span > 0 && later(seen.since, span) == until) return true;
      }
    }
    return false;
  }
  [[nodiscard]] auto protects() {
    return [this](const detail::time_limits::run& r, instant until) { return is_protected_until(r, until); };
  }
  /// Whether the job is still evicted, and should have left then.
  [[nodiscard]] bool is_to_leave(const detail::time_limits::run& seen, instant until) const {
    return jobs().state(seen.job) == job_state::evicting && jobs().at(seen.job).leaves_by == until;
  }
  [[nodiscard]] auto leaves() {
    return [this](const detail::time_limits::run& r, instant until) { return is_to_leave(r, until); };
  }
  /// Ends of protection up to `seen` are no news, as a step has seen them. Others that have passed are, at
  /// once.
  void watch_time(job_id id, instant limit, instant seen = std::numeric_limits<instant>::min()) {
    record& r = jobs().at(id);
    if (r.facts.elastic) return;
    r.over_at = record::no_limit;
    watch_limit(r, limit);
    if (r.preemptible) watch_guarantees(r, seen);
  }
  /// The run of the job may last so long.
  void watch_limit([[maybe_unused]] record& r, [[maybe_unused]] instant limit) {
    if constexpr (time_limited_view<View>) {
      const instant since = r.facts.started;
      const instant until = limit > 0 ? later(since, limit) : record::no_limit;
      const bool is_new = std::exchange(r.over_at, until) != until;
      if (limit > 0 && is_new) time_limits_.watch(until, {r.facts.id, since}, lasts());
    }
  }
  /// The same for one that was to be evicted, and runs on: meanwhile its time may have come.
  void watch_time_again(const record& r) {
    watch_time(r.facts.id, shown::time_limit(view(), r.what), session_.now());
  }
  void watch_guarantees(const record& r, instant seen = std::numeric_limits<instant>::min()) {
    if (!session_.queues().guarantees_runtime()) return;
    for (quota_id x = r.facts.quota; x; x = tree().parent(x))
      watch_guarantee(r, settings(x).min_runtime, seen);
  }
  void watch_guarantee(const record& r, const runtime_guarantee& g,
                       instant seen = std::numeric_limits<instant>::min()) {
    const instant since = r.facts.started;
    for (const instant span : {g.preempt, g.reclaim}) {
      const instant end = later(since, span);
      if (span <= 0 || end <= seen) continue;
      if (session_.has_stepped() && end <= session_.now()) {
        jobs().world_changed();
      } else {
        guarantees_.watch(end, {r.facts.id, since}, protects());
      }
    }
  }
  /// Calls `visit(record)` for each running job of x and the quotas below it that may be preempted, if not
  /// now. O(jobs depth).
  template <class Visit>
  void for_each_guaranteed(quota_id x, Visit visit) {
    jobs().for_each_running([&](const record& r) {
      if (r.facts.elastic || !r.preemptible) return;
      quota_id in = r.facts.quota;
      while (in && in != x) in = tree().parent(in);
      if (in) visit(r);
    });
  }
  void watch_guarantees_of_paths(quota_id x) {
    if (!session_.queues().guarantees_runtime()) return;
    for_each_guaranteed(x, [this](const record& r) { watch_guarantees(r, session_.now()); });
  }
  void watch_guarantee_below(quota_id x, const runtime_guarantee& g) {
    for_each_guaranteed(x, [&](const record& r) { watch_guarantee(r, g); });
  }

  static_assert(detail::is_whole_cycle<typename Policies::template cycle<session_type>, session_type>());

  session_type session_;
  detail::preset_quotas<n> quotas_{};
  Policies policies_;
  typename Policies::template cycle<session_type> cycle_;
  detail::time_limits time_limits_;
  detail::time_limits guarantees_;
  detail::time_limits departures_;
  /// Of those told since the last step.
  instant latest_start_ = std::numeric_limits<instant>::min();
  bool explains_plans_ = true;
};

/// The scheduler that follows a preset.
template <preset Preset, class View, class Placement = no_placement>
using scheduler_for =
    scheduler<View, Placement, decltype(policies_for<View, Placement>(std::declval<const Preset&>()))>;

/// The preset as it is for schedulers of that view and placement: see `estimating_preset`.
template <class View, class Placement, preset P>
[[nodiscard]] P as_seen_by(P by) {
  if constexpr (estimating_preset<P> && estimated_view<View>) {
    if constexpr (preset_chosen_at_run_time<P>) {
      by.use_estimates();
    } else if constexpr (reserving_cycle<
                             typename P::policies_type::template cycle<session<View, Placement>>>) {
      by.use_estimates();
    }
  }
  return by;
}

namespace detail {

/// What `make_scheduler` returns: for what is no preset, something to return beside the error.
template <class Preset, class View, class Placement>
struct made_by {
  using type = scheduler<View, Placement>;
};
template <class Preset, class View, class Placement>
requires(!placement<Placement>) struct made_by<Preset, View, Placement> {
  using type = scheduler<View>;
};
template <preset Preset, class View, placement Placement>
struct made_by<Preset, View, Placement> {
  using type = scheduler_for<Preset, View, Placement>;
};
/// True, or an error that says what is wrong with what `make_scheduler` is given.
template <class Preset, class View, std::size_t N, class Placement>
[[nodiscard]] consteval bool can_be_made() {
  static_assert(N == checked_dimensions<View>(),
                "allot: the quotas have amounts of another number of resources than the view's request(job)");
  return is_preset<Preset>() && is_placement<Placement>();
}

}  // namespace detail

/// A scheduler that follows a whole preset: its policies, what it makes of the quotas, and how it treats
/// those that are not configured, now and when quotas are added later. Returns every problem with the quotas.
/// Under a preset that ignores quotas jobs may name any quota; they share the nodes of the placement or,
/// without one, what the quotas own together.
/// `policies` are the preset's own, under its options, unless others of the same type are given.
template <class Preset, class View, class Placement = no_placement,
          std::size_t N = detail::checked_dimensions<View>(),
          class Policies = typename detail::policies_type_of<Preset>::type>
[[nodiscard]] result<typename detail::made_by<Preset, View, Placement>::type> make_scheduler(
    const Preset& by, View view, std::vector<quota_spec<N>> quotas, Placement places, Policies policies) {
  constexpr bool is_right = detail::can_be_made<Preset, View, N, Placement>();
  constexpr bool are_its_own = std::same_as<Policies, typename detail::policies_type_of<Preset>::type>;
  static_assert(are_its_own,
                "allot: these are not the policies of this preset: they are of its `policies_type`, as its "
                "`policies()` returns them");
  using made = typename detail::made_by<Preset, View, Placement>::type;
  if constexpr (is_right && are_its_own && preset<Preset> && N == dimensions<View>) {
    return made::make(as_seen_by<View, Placement>(by), std::move(view), std::move(quotas), std::move(places),
                      std::move(policies));
  } else {
    return vector<problem>{};
  }
}
/// The same with the preset's own policies.
template <class Preset, class View, class Placement = no_placement,
          std::size_t N = detail::checked_dimensions<View>()>
[[nodiscard]] result<typename detail::made_by<Preset, View, Placement>::type> make_scheduler(
    const Preset& by, View view, std::vector<quota_spec<N>> quotas, Placement places = {}) {
  constexpr bool is_right = detail::can_be_made<Preset, View, N, Placement>();
  using made = typename detail::made_by<Preset, View, Placement>::type;
  if constexpr (is_right && preset<Preset> && N == dimensions<View>) {
    const Preset seen = as_seen_by<View, Placement>(by);
    return made::make(seen, std::move(view), std::move(quotas), std::move(places),
                      policies_for<View, Placement>(seen));
  } else {
    return vector<problem>{};
  }
}

}  // namespace v0
}  // namespace allot
