// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/detail/borrow_backoffs.hpp>
#include <allot/scheduler/detail/detours.hpp>
#include <allot/scheduler/detail/in_the_way.hpp>
#include <allot/scheduler/detail/lifecycle.hpp>
#include <allot/scheduler/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

template <class View, class Placement, class Policies>
class scheduler;

/// What a cycle works on: the jobs, the queues, the books, and the plan that it writes. The host's calls keep
/// it up to date. A cycle decides by `admit`, `nominate` or `announce`, `evict` and `mark_inadmissible`, each
/// of which updates the books and the queues and enters the decision in the plan.
///
/// | part             | what a cycle asks it first                                                       |
/// |------------------|----------------------------------------------------------------------------------|
/// | `jobs()`         | `at(id)`, `contains(id)`, `for_each_waiting(x, visit)`, `nominated()`, `evicting()` |
/// | `queues()`       | `settings(x)`, `waiting(x)`, `asked(x)`, `must_requeue()`, `take_touched(visit)` |
/// | `books()`        | the ledgers `allocated()` and `assumed()`, the placement `places`, `running()`   |
/// | `reservations()` | `all()`, `owned_by(x)`, `by_start()`                                             |
///
/// Between decisions a cycle may try things in the ledgers and the placement, each under a savepoint that it
/// rolls back. For good the books change by the session's own functions alone.
template <job_view View, placement Placement>
class session {
 public:
  /// The number of dimensions.
  static constexpr std::size_t n = dimensions<View>;
  /// What shows the host's jobs.
  using view_type = View;
  /// The host's handle of a job.
  using job = typename View::job;
  /// Where jobs run.
  using placement_type = Placement;
  /// The placement's handle of a place.
  using place = typename Placement::allocation;
  /// What is asked of the placement.
  using pod_request = typename Placement::pod_request;
  /// What is kept of a job.
  using record = detail::job_record<View, Placement>;
  /// What a step decides.
  using plan_type = allot::plan<View, Placement>;
  /// The jobs and their states.
  using jobs_type = detail::lifecycle<View, Placement>;
  /// What is kept by quota.
  using queues_type = detail::queues<View, Placement>;
  /// What is used, and assumed.
  using books_type = detail::books<View, Placement>;
  /// Whether the view says when jobs are expected to end, without which nothing can be reserved for a time.
  static constexpr bool has_expected_ends = jobs_type::has_expected_ends;
  /// Whether the view says when jobs are ready.
  static constexpr bool has_ready_times = jobs_type::has_ready_times;
  /// Whether the view shows flavors.
  static constexpr bool has_flavors = flavored_view<View>;
  /// A pending job with a reservation that has a time.
  using reservation_entry = detail::reservations::entry;
  /// What will have gone by a reserved start.
  using horizon_type = detail::horizon<View, Placement>;

  session(View view, quota_tree<n> tree, Placement where)
      : jobs_(std::move(view), std::move(tree), std::move(where)) {}

  /// The quotas as the preset sees them, if there is one.
  [[nodiscard]] const quota_tree<n>& tree() const noexcept { return books().tree(); }
  /// The host's view.
  [[nodiscard]] const View& view() const noexcept { return jobs_.view(); }
  /// The jobs: the records of all, their states, and who is nominated, leaves or backs off.
  [[nodiscard]] const jobs_type& jobs() const noexcept { return jobs_; }
  /// @{
  /// What is kept by quota: who waits, what they request, how they are treated, and what is new for a cycle.
  [[nodiscard]] queues_type& queues() noexcept { return jobs_.queues(); }
  [[nodiscard]] const queues_type& queues() const noexcept { return jobs_.queues(); }
  /// @}
  /// @{
  /// What is used: the ledgers, the placement, and who runs. A cycle may try things in `allocated()`,
  /// `assumed()` and `places`, each under a savepoint that it rolls back.
  [[nodiscard]] books_type& books() noexcept { return jobs_.books(); }
  [[nodiscard]] const books_type& books() const noexcept { return jobs_.books(); }
  /// @}
  /// The pending jobs that hold a reservation with a time. They are in no queue.
  [[nodiscard]] const detail::reservations& reservations() const noexcept { return jobs_.reservations(); }
  /// What the step has decided so far.
  [[nodiscard]] plan_type& plan() noexcept { return plan_; }

  /// The time of the current step.
  [[nodiscard]] instant now() const noexcept { return now_; }
  /// Whether the step before was at an earlier time, or there was none.
  [[nodiscard]] bool has_time_passed() const noexcept { return has_time_passed_; }
  /// Whether there has been a step.
  [[nodiscard]] bool has_stepped() const noexcept { return has_stepped_; }
  /// The first pending job of x that is not inadmissible.
  [[nodiscard]] std::optional<job_id> first_of(quota_id x) { return queues().first_of(x, now_); }

  // For cycles that make reservations.

  /// Calls `visit(quota)` for each quota whose own jobs have changed since the last call; in a step first
  /// also for those one of whose reserved starts has come.
  template <class Visit>
  void take_renewing(Visit visit) {
    jobs_.reservations().take_changed(visit);
  }
  /// What has happened that concerns reserved starts since the last call.
  [[nodiscard]] detail::reservation_news take_reservation_news() {
    jobs_.record_freed();
    return jobs_.take_news();
  }
  /// Whether quotas or nodes will change of which that is known. Then what is free depends on the time, and
  /// is not counted ahead but found by walks.
  [[nodiscard]] bool foresees_changes() const requires has_expected_ends {
    return books().next_change(now()) != without_end;
  }
  /// Brings the horizons of the earliest reserved starts up to date. Not within a trial.
  void look_ahead() {
    auto& kept = books().horizons();
    kept.outdate();
    if (foresees_changes()) return;
    const auto starts = reservations().by_start();
    for (std::size_t i = 0; i < starts.size() && i < kept.most; ++i) {
      const reservation_entry& p = reservations().all()[starts[i]];
      kept.keep(books().places, p, jobs_.at(p.job).pod_request, books().ends(),
                [this](job_id id) -> const record& { return jobs_.at(id); });
    }
  }

  // What a pending job asks for.

  /// Sets the pending job's choice of flavors.
  void choose([[maybe_unused]] const record& r, [[maybe_unused]] const flavor_pick& pick) {
    if constexpr (has_flavors) {
      if (r.menu.empty() || r.pick == pick) return;
      jobs_.change_request(r.facts.id, [&](record& changed) {
        changed.pick = pick;
        changed.facts.request = changed.request_under(pick);
        changed.pod_request = jobs_.pod_request_of(changed, pick);
      });
    }
  }

  /// The pending elastic job will start with `pods` and never have more (Kueue's partial admission).
  void settle_for(const record& r, std::uint32_t pods) {
    if (r.facts.pods == pods && r.pods_to_come == 0) return;
    jobs_.change_request(r.facts.id, [&](record& changed) {
      changed.pick = {};
      detail::read_request(changed, view(), pods);
      changed.pods_to_come = 0;
    });
  }
  /// Removes a pending elastic pod: its job does with the pods that it has, and asks for none of those to
  /// come.
  void stop_growing(job_id pod) { jobs_.stop_growing(pod); }

  // Decisions.

  /// The first job of x, as returned by `first_of`, can't be admitted now. It is inadmissible with its whole
  /// equivalence class until `requeue_inadmissible` or, at the head of a strict queue, blocks it.
  /// With `ends_by` that is true only of those that would not end by then; if it `blocks`, all that come
  /// after it wait.
  void mark_inadmissible(quota_id x, pending_reason why, const std::optional<instant>& ends_by = std::nullopt,
                         bool blocks = false) {
    list_pending(*first_of(x), why);
    queues().mark_inadmissible(x, ends_by, blocks);
  }
  /// The same of all jobs of x, until `take_up`: for a cycle that knows itself when they may be tried again,
  /// x is not requeued with the others. Lists none as pending. O(equivalence classes with jobs).
  void set_aside(quota_id x) { queues().set_aside(x); }
  /// They may be tried `again` at once, or when the others are requeued.
  void take_up(quota_id x, bool again) { queues().take_up(x, again); }
  /// The pending job was tried, and can't be admitted: why, if the cycle knows more than the books say.
  void record_found(job_id id, pending_reason why) { queues().record_found(jobs_.at(id), why); }
  /// The pending job leaves its queue and holds a reservation with a time, after those that do.
  void reserve(job_id id, const reservation& p) {
    list(jobs_.at(id));
    jobs_.reserve(jobs_.at(id), p);
  }
  /// Whether the nominated or running job was decided on at an earlier time.
  [[nodiscard]] bool was_decided_on(const record& r) const noexcept { return r.decided_at < first_decision_; }
  /// The reservation that a job held until it was nominated or, in this step, started; null if it held none.
  [[nodiscard]] const reservation_entry* reservation_before(job_id id) const requires has_expected_ends {
    const auto at =
        detail::find_if(kept_.begin(), kept_.end(), [id](const reservation_entry& p) { return p.job == id; });
    return at == kept_.end() ? nullptr : &*at;
  }
  /// Replaces the reservation of a job.
  void renew_reservation(job_id id, const reservation& p) {
    list(jobs_.at(id));
    jobs_.renew_reservation(id, p);
  }
  /// The job, which is to borrow, comes after those with a reservation on what its quota owns.
  void yield_turn(job_id id) { jobs_.yield_turn(jobs_.at(id)); }
  /// The job loses its reservation and is in its queue again.
  void withdraw_reservation(job_id id) { jobs_.withdraw_reservation(jobs_.at(id)); }
  /// The same for one that gathers; it does not do so again before that time, and at most `until`, if given.
  void give_up_gathering(job_id id, instant gathers_from, const std::optional<instant>& until) {
    jobs_.give_up_gathering(jobs_.at(id), gathers_from, until);
  }
  /// Lists the job as pending in the plan, for what was found; see `record_found`.
  void list_pending(job_id id, pending_reason why) {
    record_found(id, why);
    list(jobs_.at(id));
  }
  /// The pending job runs from now on, at a place that was taken for it.
  void admit(job_id id, const place& where) {
    record& r = jobs_.at(id);
    start(r, charge(r, where));
  }
  /// The pending job will run, at a place that was taken for it, once others have gone; until then no other
  /// job gets its share, unless it may preempt it. Its victims are the last evictions of the plan, as far as
  /// they are for it. Without any it starts at once if that delays none nominated earlier.
  void nominate(job_id id, const place& where) {
    record& r = jobs_.at(id);
    const resources<n> borrows = charge(r, where);
    std::size_t first = plan_.evictions.size();
    while (first > 0 && plan_.evictions[first - 1].beneficiary == id) --first;
    const std::size_t victims = plan_.evictions.size() - first;
    if (victims == 0 && jobs_.may_start(r)) {
      jobs_.waits_for_none(r);
      return start(r, borrows);
    }
    jobs_.nominate(r, now_);
    plan_.nominations.push_back({id, r.what, r.facts.quota, first, victims});
  }
  /// The job stays pending until its victims, the evictions of the plan from `first` on, have gone. Nothing
  /// is assumed for it: the cycle decides on it again then (Kueue, KAI). Announced again in the same step, it
  /// has these beside the others: they are put behind them.
  void announce(job_id id, std::size_t first) {
    record& r = jobs_.at(id);
    const std::size_t more = plan_.evictions.size() - first;
    auto known = plan_.nominations.end();
    if (std::exchange(r.announced_in, steps_) == steps_) {
      known = detail::find_if(plan_.nominations.begin(), known, [&](const auto& t) { return t.id == id; });
    }
    if (known == plan_.nominations.end()) {
      plan_.nominations.push_back({id, r.what, r.facts.quota, first, more});
    } else if (known->count == 0) {
      known->first = first;
      known->count = more;
    } else {
      const std::size_t behind = known->first + known->count;
      const auto evictions = plan_.evictions.begin();
      std::rotate(evictions + static_cast<std::ptrdiff_t>(behind),
                  evictions + static_cast<std::ptrdiff_t>(first), plan_.evictions.end());
      for (auto& other : plan_.nominations) {
        if (other.first >= behind) other.first += more;
      }
      known->count += more;
    }
  }
  /// Evicts a running job, with all its elastic pods if it is elastic. A nominated one waits again.
  void evict(job_id victim, job_id beneficiary, relation how) {
    record& r = jobs_.at(victim);
    if (r.state == job_state::nominated) return let_wait_again(r);
    const bool is_elastic = has_elastic_pods && !r.elastic_pods.empty();
    if constexpr (has_elastic_pods) take_back_elastic_pods(r);
    plan_.evictions.push_back(
        {victim, r.what, r.facts.quota, beneficiary, how, jobs_.running_pods(r), r.facts.core});
    record_reclaim(r, how);
    jobs_.evict(r, beneficiary);
    if (is_elastic) inherit_evictions(beneficiary);
  }

  /// The job has preempted, or moved others: see `may_preempt_again`.
  void count_preemption(const record& r) { jobs_.at(r.facts.id).turns.take_in(jobs_.epoch()); }
  /// From when others may be evicted for a pending job, or for one more pod of a running one; `always`: by
  /// now.
  [[nodiscard]] instant preempts_from(const record& r) const { return jobs_.end_of_patience(r); }
  /// Searches for victims for a pending job; those found are evicting in the books, if `accept(victims)`. See
  /// `books::make_room`.
  template <class Search, class Accept>
  [[nodiscard]] search_outcome make_room(Search& search, const record& r, Accept accept) {
    return jobs_.make_room(search, r, now_, accept);
  }
  /// Searches for jobs to restart elsewhere; see `books::move_others`. Enters them in the plan.
  template <class Search>
  [[nodiscard]] std::optional<place> move_others(Search& search, const record& r,
                                                 std::span<const running_job<n>> may_move) {
    const std::optional<place> at = jobs_.move_others(search, r, may_move);
    if (at) evict_found(search.moves(), r.facts.id);
    return at;
  }
  /// Enters the victims found by `make_room` in the plan. One that this very plan admitted has not started:
  /// its admission is taken back, and no job has to wait for it. One that is nominated waits again, and what
  /// leaves for it leaves for the beneficiary, as far as that needs it. An evicted elastic job has one entry,
  /// for all its pods.
  void evict_found(std::span<const victim<n>> found, job_id beneficiary) {
    const std::size_t first = take_over_nominated(found, beneficiary);
    bool some_had_not_started = false;
    bool are_elastic = false;
    for (const victim<n>& v : found) {
      const job_state is = jobs_.state(v.job.id);
      if (is != job_state::running && is != job_state::evicting) {
        some_had_not_started = true;
        continue;
      }
      record& gone = jobs_.at(v.job.id);
      are_elastic = are_elastic || (has_elastic_pods && !gone.elastic_pods.empty());
      if (gone.admitted_in == steps_) {
        take_back_admission(gone);
        inherit_evictions(beneficiary, v.job.id);
        some_had_not_started = true;
      } else {
        if (!goes_with_its_job(gone)) {
          plan_.evictions.push_back({v.job.id, gone.what, v.job.quota, beneficiary, v.how,
                                     gone.facts.pods + elastic_pods(found, v.job), gone.facts.core, v.why});
        }
        record_reclaim(gone, v.how);
        jobs_.leave_for(gone, beneficiary);
      }
    }
    if (are_elastic) inherit_evictions(beneficiary);
    if (some_had_not_started) spare_unneeded(beneficiary, first);
    // Gangs are evicted whole: what is left over may be enough for a job that was skipped.
    queues().let_requeue();
  }

  /// The admission of a job was taken back, and it holds its reservation again. Takes back those of jobs of
  /// its quota that were decided on after it and that this plan has admitted, and for which
  /// `comes_later(record)`. Returns whether there are any.
  template <class ComesLater>
  bool take_back_after(const reservation_entry& held, ComesLater comes_later) {
    const quota_id x = jobs_.at(held.job).facts.quota;
    const std::uint64_t number = held.number;
    const std::uint64_t decided_at = jobs_.at(held.job).decided_at;
    const auto is_later = [&](const auto& a) {
      if (a.quota != x || a.core || jobs_.state(a.id) != job_state::running) return false;
      return jobs_.at(a.id).decided_at > decided_at && comes_later(jobs_.at(a.id)) &&
             detail::none_of(kept_.begin(), kept_.end(),
                             [&](const reservation_entry& p) { return p.job == a.id && p.number < number; });
    };
    for (bool any = false;; any = true) {
      const auto later = detail::find_if(plan_.admissions.begin(), plan_.admissions.end(), is_later);
      if (later == plan_.admissions.end()) {
        if (any) spare_for_missing();
        return any;
      }
      take_back_admission(jobs_.at(later->id));
    }
  }
  /// Explains what blocks the pending job, as of what is assumed: the ledger's law, else that its quota does
  /// not borrow for now, else its place. What a cycle found is kept as the reason.
  void explain(typename plan_type::pending_job& p) {
    const record& r = jobs_.at(p.id);
    books().explain(p, r, books().assumed());
    if (p.binding) detail::in_the_way<session>{*this}.find_held(p);
    if (r.is_early()) {
      p.reason = r.is_held ? pending_reason::held : pending_reason::not_ready;
      if (!r.is_held) p.ready_at = r.ready.at;
    }
    p.backs_off = jobs_.backs_off(r, now_);
    if (p.binding || !p.backs_off) return;
    const bool is_known = detail::is_found_by_cycle(p.reason) || r.is_early();
    if (!is_known) p.reason = pending_reason::backoff;
    p.placement.reset();
  }
  /// The same as of what is allocated, for a cycle that announces jobs rather than nominate them:
  /// `is_announced(id)` says which.
  template <class IsAnnounced>
  void explain_as_allocated(typename plan_type::pending_job& p, IsAnnounced is_announced) {
    books().explain(p, jobs_.at(p.id), books().allocated());
    if (p.binding) return detail::in_the_way<session>{*this}.find_leaving(p);
    detail::in_the_way<session>{*this}.find_earlier_turn(p, is_announced);
  }
  /// Lets all inadmissible jobs be tried again, or all but those of quotas without any of the
  /// `detail::chances` that are given. Returns whether there are any.
  template <class... Chances>
  bool requeue_inadmissible(const Chances&... chances) {
    const bool any = jobs_.requeue_inadmissible(chances...);
    erase_if(plan_.pending, [&](const auto& p) {
      if (!jobs_.contains(p.id)) return true;
      record& r = jobs_.at(p.id);
      if (queues().has_no_chance(r.facts.quota)) return false;
      r.listed_in = 0;
      return true;
    });
    return any;
  }

 private:
  template <class, class, class>
  friend class scheduler;
  friend detail::state_keeper<View, Placement>;
  friend detail::detours<session>;
  static constexpr bool has_elastic_pods = jobs_type::has_elastic_pods;

  void list(record& r) {
    if (r.listed_in == steps_) return;
    r.listed_in = steps_;
    plan_.pending.push_back({r.facts.id, r.what, r.facts.quota, {}});
  }
  /// The next reserved start that has not come yet.
  [[nodiscard]] std::optional<instant> next_reserved_start() const {
    return jobs_.reservations().next_after(last_look_);
  }
  /// The time of a step that the host says to be made then: no step is before the last one.
  [[nodiscard]] instant not_before_last(instant at) const noexcept {
    return has_stepped_ ? std::max(at, now_) : at;
  }
  void begin(instant now) {
    has_time_passed_ = !has_stepped_ || now > now_;
    now_ = now;
    has_stepped_ = true;
    ++steps_;
    if (has_time_passed_) first_decision_ = jobs_.nominated().next_number();
    plan_.clear();
    took_back_ = false;
    jobs_.end_backoffs(now);
    jobs_.become_ready(now);
    jobs_.end_patience(now);
    if constexpr (has_expected_ends) {
      if (const auto due = next_reserved_start(); due && *due <= now) queues().let_requeue();
      last_look_ = now;
      jobs_.note_due_starts(now);
    }
    if (queues().must_requeue()) jobs_.review_nominations();
    if constexpr (has_expected_ends) hold_again_what_was_kept();
    jobs_.end_sparing(now);
    if (queues().must_requeue()) start_ready();
    withdraw_unneeded();
  }
  /// All is decided. Who has started holds no reservation any more, whatever becomes of it.
  void end() {
    if constexpr (has_expected_ends) keep_nominated();
  }
  /// The job that runs could not be started: see `scheduler::start_failed`.
  void start_failed(record& r, instant not_before) {
    const auto had = r.had;
    jobs_.start_failed(r, not_before);
    if constexpr (has_expected_ends) {
      if (!had.is_some || r.state != job_state::pending || r.is_held) return;
      reservation again;
      again.first_start = had.first_start;
      again.cause = delay_cause::cluster;
      again.owned = had.owned;
      again.borrows = !had.owned;
      jobs_.reserve(r, again, had.number);
    }
  }
  /// The evicting job, of an elastic one with its pods, could not be evicted. Who was given what it has waits
  /// again. Returns false if it can't run on, as the host itself has taken its place.
  [[nodiscard]] bool not_evicted(record& r, instant until) {
    jobs_.world_changed();
    jobs_.note(delay_cause::protection);
    const job_id beneficiary = jobs_.nominated().beneficiary_of(r.facts.id);
    if (jobs_.state(beneficiary) == job_state::nominated) let_wait_again(jobs_.at(beneficiary));
    while (!jobs_.run_on(r)) {
      if (jobs_.nominated().waiting().empty()) return false;
      let_wait_again(jobs_.at(jobs_.nominated().waiting().back()));
    }
    jobs_.stays(r);
    jobs_.spare(r, until);
    return true;
  }
  /// The host holds the job: neither it nor a pod of it claims anything more.
  void hold(record& r) {
    if (r.state == job_state::nominated) let_wait_again(r);
    if constexpr (has_elastic_pods) {
      for (std::size_t i = r.elastic_pods.size(); i-- > 0;) {
        record& pod = jobs_.at(r.elastic_pods[i]);
        if (pod.state == job_state::nominated) let_wait_again(pod);
      }
    }
    hold_again_if_kept(r);
    jobs_.hold(r);
  }
  /// The pending or running job is as it was read again.
  void update(record& r, record again) {
    if (r.state == job_state::running) return jobs_.update_running(r, std::move(again));
    hold_again_if_kept(r);
    jobs_.update_waiting(r, std::move(again));
  }
  /// All times move by that span.
  void rebase(instant by) {
    jobs_.rebase(by);
    plan_.clear();
    now_ = detail::moved(now_, by);
    last_look_ = detail::moved(last_look_, by);
    for (reservation_entry& p : kept_) p.rebase(by);
  }
  /// Starts the nominated jobs that may start, but those for which this plan evicts. Returns whether there
  /// are any.
  bool start_ready() {
    bool any = false;
    const auto waits_for_plan = [&](job_id id) {
      return detail::any_of(plan_.nominations.begin(), plan_.nominations.end(),
                            [&](const auto& p) { return p.id == id && p.count > 0; });
    };
    jobs_.start_ready([&](job_id id) { return !waits_for_plan(id); },
                      [&](record& r) {
                        any = true;
                        erase_if(plan_.nominations, [&](const auto& p) { return p.id == r.facts.id; });
                        start(r, books().borrowed_by(books().allocated(), r));
                      });
    return any;
  }
  /// The capacity of an admission that this step took back may be enough for a nominated job. Returns
  /// whether one has started: the cycle then goes on, as others may take from it.
  bool start_with_what_was_taken_back() {
    if (!std::exchange(took_back_, false) || !start_ready()) return false;
    queues().let_requeue();
    return true;
  }
  /// A beneficiary of this plan may itself be preempted, alone or with its job. What was to be evicted
  /// for it is then evicted for `heir`, which relies on it.
  void inherit_evictions(job_id heir, job_id from = {}) {
    for (auto& e : plan_.evictions) {
      if (e.beneficiary && (e.beneficiary == from || !jobs_.contains(e.beneficiary))) e.beneficiary = heir;
    }
    erase_if(plan_.nominations, [&](const auto& r) { return !jobs_.contains(r.id); });
  }
  /// A job admitted by this very plan has not started: it is pending again, and its elastic pods with it.
  void take_back_admission(record& r) {
    const job_id id = r.facts.id;
    erase_if(plan_.admissions, [&](const auto& a) { return a.id == id || a.core == id; });
    jobs_.release(r);
    wait_again(r);
  }
  /// The same for the elastic pods of a job that is evicted.
  void take_back_elastic_pods(const record& core) {
    for (std::size_t i = core.elastic_pods.size(); i-- > 0;) {
      record& s = jobs_.at(core.elastic_pods[i]);
      if (s.state == job_state::running && s.admitted_in == steps_) take_back_admission(s);
    }
  }
  void let_wait_again(record& nominated) {
    jobs_.withdraw_nomination(nominated);
    wait_again(nominated);
  }
  /// Evictions of earlier plans for jobs that need them no more are withdrawn, but not those of jobs that
  /// have reached their time limit, and who waited behind them starts. Returns whether there are any: they
  /// may get further pods.
  bool withdraw_unneeded() {
    if (!withdraws_) return false;
    const std::size_t before = plan_.withdrawn.size();
    const auto& leaving = jobs_.nominated().leaving();
    for (std::size_t i = leaving.size(); i-- > 0;) {
      if (i >= leaving.size() || !leaving[i].is_unneeded) continue;
      record& r = jobs_.at(leaving[i].job);
      const record& whole = r.facts.elastic ? jobs_.at(r.facts.core) : r;
      if (whole.is_over_by(now_) || goes_with_its_job(r) || !jobs_.may_run_on(r) || !jobs_.run_on(r))
        continue;
      plan_.withdrawn.push_back({r.facts.id, r.what, r.facts.quota, r.facts.core});
    }
    if (plan_.withdrawn.size() == before) return false;
    start_ready();
    return true;
  }
  /// A job nominated by this plan is pending again.
  void take_back_nomination(record& r) {
    r.turns.give_back(jobs_.epoch());
    jobs_.withdraw_nomination(r);
    wait_again(r);
  }
  /// Its reservation, if it had one, it holds again.
  void wait_again(record& r) {
    const job_id id = r.facts.id;
    jobs_.requeue(r);
    took_back_ = true;
    if (jobs_.contains(id)) hold_again_if_kept(r);
  }
  /// The pending job does, if it had one until it was nominated no longer.
  void hold_again_if_kept([[maybe_unused]] record& r) {
    if constexpr (has_expected_ends) {
      if (r.state != job_state::pending) return;
      const auto had = detail::find_if(kept_.begin(), kept_.end(),
                                       [&](const reservation_entry& p) { return p.job == r.facts.id; });
      if (had != kept_.end()) hold_again(r, static_cast<std::size_t>(had - kept_.begin()));
    }
  }
  /// So does one that is nominated no longer since the last step. Others may be gone.
  void hold_again_what_was_kept() {
    for (std::size_t i = 0; i < kept_.size();) {
      const job_id id = kept_[i].job;
      jobs_.state(id) == job_state::pending ? hold_again(jobs_.at(id), i) : void(++i);
    }
    keep_nominated();
  }
  /// Of one that has started only its turn is kept, with the job.
  void keep_nominated() {
    erase_if(kept_, [&](const reservation_entry& p) {
      const job_state is = jobs_.state(p.job);
      if (is == job_state::running) jobs_.at(p.job).had = {p.number, p.what.first_start, p.what.owned, true};
      return is != job_state::nominated;
    });
  }
  /// The pending job holds the reservation that was kept at `i` again, without a start until the cycle looks
  /// at it.
  void hold_again(record& r, std::size_t i) {
    const reservation_entry had = kept_[i];
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    // Meanwhile its quota may have been told to reserve nothing.
    if (queues().settings(r.facts.quota).head != queue_head::reserve) return;
    reservation again = had.what;
    again.start = without_end;
    again.borrows = !again.owned;
    jobs_.reserve(r, again, had.number);
  }
  /// Of the nominated jobs among these. Returns from which on the evictions of the plan are for the heir.
  [[nodiscard]] std::size_t take_over_nominated(std::span<const victim<n>> found, job_id heir) {
    std::size_t inherited = 0;
    for (const victim<n>& v : found) {
      if (jobs_.state(v.job.id) != job_state::nominated) continue;
      record& r = jobs_.at(v.job.id);
      jobs_.yield_nomination(r, heir);
      const auto nominated = detail::find_if(plan_.nominations.begin(), plan_.nominations.end(),
                                             [&](const auto& p) { return p.id == v.job.id; });
      if (nominated != plan_.nominations.end()) {
        const auto [from, count] = std::pair{nominated->first, nominated->count};
        plan_.nominations.erase(nominated);
        for (auto& other : plan_.nominations) {
          if (other.first > from) other.first -= count;
        }
        const auto begin = plan_.evictions.begin() + static_cast<std::ptrdiff_t>(from);
        std::rotate(begin, begin + static_cast<std::ptrdiff_t>(count), plan_.evictions.end());
        inherit_evictions(heir, v.job.id);
        inherited += count;
      }
      wait_again(r);
    }
    return plan_.evictions.size() - inherited;
  }
  /// Of the evictions of the plan from `first` on, which are for a job that has not been placed yet, takes
  /// back those without which it fits as well, and those nominated on what they leave.
  void spare_unneeded(job_id beneficiary, std::size_t first) {
    const record& r = jobs_.at(beneficiary);
    const std::size_t before = plan_.evictions.size();
    for (std::size_t i = before; i-- > first;) {
      record& v = jobs_.at(plan_.evictions[i].id);
      // An elastic job runs on with all its pods or without them.
      if (goes_with_its_job(v) || !v.elastic_pods.empty() || !could_stay(v, r)) continue;
      jobs_.take_back_eviction(v);
      plan_.evictions.erase(plan_.evictions.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (plan_.evictions.size() < before) record_reclaims_again();
  }
  /// Further pods that were nominated are gone with the admission of their job: what this plan was to evict
  /// for them runs on or, where its room has been given away since, leaves for who was nominated last.
  void spare_for_missing() {
    const auto is_missing = [&](job_id id) { return id && !jobs_.contains(id); };
    erase_if(plan_.nominations, [&](const auto& r) { return is_missing(r.id); });
    const std::size_t before = plan_.evictions.size();
    for (std::size_t i = before; i-- > 0;) {
      if (!is_missing(plan_.evictions[i].beneficiary)) continue;
      record& v = jobs_.at(plan_.evictions[i].id);
      if (goes_with_its_job(v) || !jobs_.may_run_on(v) || !jobs_.run_on(v)) continue;
      plan_.evictions.erase(plan_.evictions.begin() + static_cast<std::ptrdiff_t>(i));
      // None of these were for it.
      for (auto& r : plan_.nominations) r.first -= r.first > i ? 1U : 0U;
    }
    inherit_evictions(plan_.nominations.empty() ? job_id{} : plan_.nominations.back().id);
    if (plan_.evictions.size() < before) record_reclaims_again();
  }
  /// Whether the evicting job could run on although the other one starts. Who was decided on last waits last.
  [[nodiscard]] bool could_stay(const record& evicting, const record& other) {
    const auto& waiting = jobs_.nominated().waiting();
    const bool any_since = !waiting.empty() && jobs_.at(waiting.back()).decided_at >
                                                   jobs_.nominated().number_of(evicting.facts.id);
    return books().could_stay(evicting, any_since, other);
  }
  /// A job is evicted: if its quota borrows what is taken, it backs off.
  void record_reclaim(const record& r, relation how) {
    if (how != relation::borrower) return;
    if (std::exchange(reclaimed_in_, steps_) != steps_) backoffs_before_ = jobs_.backoffs();
    jobs_.record_reclaim(r, now_);
  }
  /// Some evictions of the plan were taken back: only the others have made their quotas back off.
  void record_reclaims_again() {
    if (reclaimed_in_ != steps_) return;
    jobs_.restore(backoffs_before_);
    for (const auto& e : plan_.evictions) {
      if (e.how != relation::borrower) continue;
      const record& r = jobs_.at(e.id);
      jobs_.record_reclaim(r, now_);
      for (const job_id pod : r.elastic_pods) {
        if (jobs_.state(pod) == job_state::evicting) jobs_.record_reclaim(jobs_.at(pod), now_);
      }
    }
  }
  [[nodiscard]] bool goes_with_its_job(const record& r) const {
    return has_elastic_pods && r.facts.elastic && jobs_.at(r.facts.core).state == job_state::evicting;
  }
  /// The number of pods among the victims that go with this core.
  [[nodiscard]] std::uint32_t elastic_pods(std::span<const victim<n>> found,
                                           const running_job<n>& core) const {
    std::uint32_t pods = 0;
    if (!has_elastic_pods || jobs_.at(core.id).elastic_pods.empty()) return pods;
    for (const victim<n>& v : found) {
      if (v.job.core == core.id && jobs_.state(v.job.id) == job_state::evicting) pods += v.job.pods;
    }
    return pods;
  }
  /// Books the pending job. Returns what it borrows.
  resources<n> charge(record& r, const place& where) {
    if (has_expected_ends && r.has_reservation) {
      const reservation_entry& p = *jobs_.reservation_of(r.facts.id);
      kept_.push_back(p);
      if (p.what.start > now_) jobs_.will_not_run_as_reserved(r);
    }
    return jobs_.charge(r, where);
  }
  void start(record& r, const resources<n>& borrows) {
    r.admitted_in = steps_;
    plan_.admissions.push_back(
        {r.facts.id, r.what, r.facts.quota, r.where, borrows, r.pick, r.facts.pods, r.facts.core});
    jobs_.start(r, now_);
  }

  jobs_type jobs_;
  plan_type plan_;
  instant now_ = 0;
  bool has_stepped_ = false;
  bool has_time_passed_ = true;
  /// When reserved starts were compared with the clock last.
  instant last_look_ = std::numeric_limits<instant>::min();
  std::uint64_t steps_ = 0;
  /// The number of the first decision at this time.
  std::uint64_t first_decision_ = 0;
  /// The reservations of jobs that this step admitted, or that are nominated: they hold them again if their
  /// admission is taken back.
  vector<reservation_entry> kept_;
  /// The last step that reclaimed something, and what quotas did not borrow before it did.
  std::uint64_t reclaimed_in_ = 0;
  detail::borrow_backoffs<n> backoffs_before_;
  /// Whether this step has taken back an admission, since it last looked for nominated jobs that may start.
  bool took_back_ = false;
  /// Whether evictions that are needed no more are withdrawn.
  bool withdraws_ = false;
};

}  // namespace v0
}  // namespace allot
