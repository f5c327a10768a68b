// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/lost_work.hpp>
#include <allot/scheduler/backfill/reservations.hpp>
#include <allot/scheduler/detail/books.hpp>
#include <allot/scheduler/detail/borrow_backoffs.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/detail/nominated_jobs.hpp>
#include <allot/scheduler/detail/queues.hpp>
#include <allot/scheduler/detail/time_limits.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

template <job_view View, placement Placement>
class state_keeper;

/// Whether a job may go from one state to the other. One that is evicted or is no longer nominated is of no
/// state for a moment before it is pending again.
[[nodiscard]] constexpr bool may_follow(job_state from, job_state to) noexcept {
  switch (to) {
    case job_state::unknown:
      return from != job_state::unknown;
    case job_state::pending:
      return from == job_state::unknown;
    case job_state::nominated:
      return from == job_state::unknown || from == job_state::pending;
    case job_state::running:
      return from != job_state::running;
    case job_state::evicting:
      return from == job_state::running;
    case job_state::starting:
      break;  // Told apart by the scheduler alone: `job_record::is_starting`.
  }
  return false;
}

/// The life cycle of a scheduler's jobs: submitted, pending, nominated, running, evicting, gone. Keeps the
/// table, the queues, the books and who is nominated consistent with one another, and knows nothing of how
/// the next job is decided on. A cycle reads it (`session::jobs`), and changes it by what a session can do.
///
/// The state of a job in the table is changed by `enter` only, which also keeps what is counted by state.
/// What a pending job requests counts as asked for by its quota, and it is in the quota's queue (`queues`) or
/// holds a reservation; what a running or evicting job requests is in the allocated books, what a nominated
/// or running one does in the assumed books.
///
/// A pending job that is not ready yet is *early*. To a cycle it is not there: it is in no queue, and its
/// request does not count as asked for. Its time has come in the first step by then. Where ends are expected
/// it may get a reservation before: those that have none are in a queue of their own.
///
/// An elastic job is several units: its core, the pods without which it can't run, and one unit for each
/// further pod. A unit is a record like that of any job; elastic pods wait only while the core runs or is
/// nominated, one at a time is pending, none starts before the core, and all go with it.
template <job_view View, placement Placement>
class lifecycle {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using job = typename View::job;
  using place = typename Placement::allocation;
  using record = job_record<View, Placement>;
  using books_type = detail::books<View, Placement>;
  using queues_type = detail::queues<View, Placement>;
  using departure = typename detail::nominated_jobs<View, Placement>::departure;
  /// @{
  /// What the view does not show is not compiled.
  static constexpr bool has_elastic_pods = elastic_view<View>;
  static constexpr bool has_expected_ends = books_type::has_expected_ends;
  static constexpr bool has_ready_times = ready_view<View>;
  /// @}

  lifecycle(View shown, quota_tree<n> tree, Placement where)
      : view_(std::move(shown)), books_(std::move(tree), std::move(where)) {
    on_new_tree();
  }
  /// Applies these settings to all quotas that are not configured, existing ones included.
  void set_default_settings(const queue_settings& settings) { queues_.set_defaults(settings); }
  /// Applies these settings to one quota.
  void set_settings(quota_id x, const queue_settings& settings) {
    const queue_settings& before = queues_.settings(x);
    const bool waits_otherwise =
        before.preempt_after != settings.preempt_after || before.strict_after != settings.strict_after;
    queues_.set_settings(x, settings);
    if (waits_otherwise) {
      jobs_.for_each([&](record& r) {
        if (r.facts.quota == x && r.state == job_state::pending) renew_patience(r);
      });
    }
    if (settings.borrow_backoff.first == 0) {
      backoffs_.forget(x);
    } else {
      backoffs_.shorten(x, settings.borrow_backoff);
    }
    note(delay_cause::quotas);
    world_changed();
  }

  [[nodiscard]] const View& view() const noexcept { return view_; }
  [[nodiscard]] const books_type& books() const noexcept { return books_; }
  [[nodiscard]] books_type& books() noexcept { return books_; }
  [[nodiscard]] const queues_type& queues() const noexcept { return queues_; }
  [[nodiscard]] queues_type& queues() noexcept { return queues_; }

  /// Whether there is such a job.
  [[nodiscard]] bool contains(job_id id) const { return jobs_.contains(id); }
  /// The record of a job. Precondition: there is such a job.
  [[nodiscard]] record& at(job_id id) {
    ALLOT_ASSERT(jobs_.contains(id), "no such job");
    return jobs_[id];
  }
  [[nodiscard]] const record& at(job_id id) const {
    ALLOT_ASSERT(jobs_.contains(id), "no such job");
    return jobs_[id];
  }
  /// Its state; `unknown` if there is none.
  [[nodiscard]] job_state state(job_id id) const {
    return contains(id) ? jobs_[id].state : job_state::unknown;
  }
  /// The evicting jobs, in the order of their evictions.
  [[nodiscard]] std::span<const job_id> evicting() const noexcept { return evicting_; }
  /// The nominated jobs, and who leaves for whom.
  [[nodiscard]] const detail::nominated_jobs<View, Placement>& nominated() const noexcept {
    return nominated_;
  }
  /// The pending jobs that hold a reservation with a time.
  [[nodiscard]] const detail::reservations& reservations() const noexcept { return reservations_; }
  [[nodiscard]] detail::reservations& reservations() noexcept { return reservations_; }
  /// The reservation of a pending job; null if it holds none.
  [[nodiscard]] const detail::reservations::entry* reservation_of(job_id id) const {
    if (!contains(id) || !jobs_[id].has_reservation) return nullptr;
    return reservations_.find(id, jobs_[id].facts.quota);
  }

  /// Calls `visit(record)` for each running job and elastic pod. O(jobs).
  template <class Visit>
  void for_each_running(Visit visit) {
    jobs_.for_each([&](const record& r) {
      if (r.state == job_state::running) visit(r);
    });
  }

  // Backoffs.

  [[nodiscard]] const borrow_backoffs<n>& backoffs() const noexcept { return backoffs_; }
  /// What keeps the job from starting at that time, now or later: its quota would then borrow, as of what is
  /// assumed, what owners have reclaimed from it. False: nothing.
  [[nodiscard]] backoff backs_off(const record& r, instant when) const {
    return backoffs_.against(books_.assumed(), r.facts.quota, r.facts.request, when);
  }
  /// The next time after that, now or later, at which the job may have better chances by itself: then its
  /// quota may borrow more of what it requests, or it is ready.
  [[nodiscard]] instant next_chance(const record& r, instant when) const {
    const instant may_borrow = backoffs_.next_end(r.facts.quota, r.facts.request, when);
    return r.ready.at > when ? std::min(may_borrow, r.ready.at) : may_borrow;
  }
  /// The running job is being evicted by an owner.
  void record_reclaim(const record& r, instant now) {
    const backoff_times& times = queues_.settings(r.facts.quota).borrow_backoff;
    if (times.first <= 0) return;
    backoffs_.reclaimed(books_.allocated(), r.facts.quota, r.facts.request, r.facts.started, now, times);
  }
  /// The running job ends by itself.
  void record_end_in_peace(const record& r) {
    backoffs_.ended_in_peace(books_.allocated(), r.facts.quota, r.facts.request, r.facts.started);
  }
  /// Jobs of quotas that may borrow again since the last call have better chances.
  void end_backoffs(instant now) {
    if (backoffs_.take_ended(now)) queues_.let_requeue();
  }
  /// As it was then.
  void restore(const borrow_backoffs<n>& then) { backoffs_ = then; }
  /// Returns false if the quota does not back off.
  bool restore(const backoff& known) {
    const backoff_times& times = queues_.settings(known.quota).borrow_backoff;
    if (times.first <= 0) return false;
    backoffs_.restore(known, times);
    return true;
  }

  // Who waits.

  /// Calls `visit(job_id)` for every job in the queue of x, inadmissible ones and those with a reservation
  /// too, in no particular order.
  template <class Visit>
  void for_each_waiting(quota_id x, Visit visit) const {
    for (const auto& p : reservations_.all()) {
      if (p.quota == x) visit(p.job);
    }
    for (const auto& p : reservations_.owned_by(x)) visit(p.job);
    queues_.for_each_queued(x, visit);
  }
  /// Calls `visit(record)` for each unit that there is, by index.
  template <class Visit>
  void for_each(Visit visit) const {
    jobs_.for_each(visit);
  }
  /// Lets inadmissible jobs be tried again, see `queues::requeue`. Returns whether there are any.
  template <class... Chances>
  bool requeue_inadmissible(const Chances&... chances) {
    const bool any = queues_.requeue(chances...) || !reservations_.owners().empty();
    for (const quota_id x : reservations_.owners()) queues_.touch(x);
    return any;
  }
  /// The reserved starts that stand on what a quota owns may have moved that have come by now.
  void note_due_starts(instant now) {
    reservations_.note_due(now, [this](job_id id) { return jobs_[id].facts.quota; });
  }

  // Early jobs.

  /// Jobs that are ready by then are no longer early. Then those that are ready soon: see
  /// `queues::soon_ready`.
  void become_ready(instant now) {
    ready_by_ = now;
    early_.take_expired(now, [this](const time_limits::run& e, instant at) {
      if (is_early(e.job, at)) be_ready(jobs_[e.job]);
    });
    if constexpr (has_ready_times) find_soon_ready(now);
  }
  /// Jobs that have waited long enough by now may have others evicted for them, or are not passed any more.
  void end_patience(instant now) {
    patience_.take_expired(now, [this](const time_limits::run& e, instant at) {
      if (is_patient(e.job, at)) renew_patience(jobs_[e.job]);
    });
    ages_.take_expired(now, [this](const time_limits::run& e, instant at) {
      if (is_young(e.job, at)) renew_patience(jobs_[e.job]);
    });
  }
  /// From when others may be evicted for the pending job; `always`: by now; `without_end`: never.
  [[nodiscard]] instant end_of_patience(const record& r) const {
    if (!r.preempts) return without_end;
    const instant wait = queues_.settings(r.facts.quota).preempt_after;
    if (wait == 0) return ready_time::always;
    const bool is_to_come = r.ready.at != without_end && r.ready.at > r.ready.not_before;
    const instant from = later(is_to_come ? std::max(r.waits_since, r.ready.at) : r.waits_since, wait);
    return from <= ready_by_ ? ready_time::always : from;
  }
  /// When others may be evicted for the next one that waits.
  [[nodiscard]] std::optional<instant> next_end_of_patience() { return patience_.next(still_patient()); }
  /// When the next early job is ready; none if there is none, or it is not known when.
  [[nodiscard]] std::optional<instant> next_ready() { return early_.next(still_early()); }

  // What a job requests.

  /// What it requests of the placement under a choice of flavors.
  [[nodiscard]] typename Placement::pod_request pod_request_of(const record& r,
                                                               const flavor_pick& pick) const {
    if (r.menu.empty()) return r.pod_request;
    return detail::pod_request_of<Placement>(view_, r.what, r.facts.pods, pick);
  }
  /// Whether it runs, or leaves.
  [[nodiscard]] static bool holds(const record& r) noexcept {
    return r.state == job_state::running || r.state == job_state::evicting;
  }
  /// How many pods of each set the job has: those of its core, and the others for which `counts(record)`.
  template <class Counts>
  [[nodiscard]] pods_by_set pods_of(const record& core, Counts counts) const {
    pods_by_set has = view_or_default<View>::by_set(view_, core.what, core.facts.pods);
    for (const job_id id : core.elastic_pods) has[jobs_[id].set] += counts(jobs_[id]) ? 1U : 0U;
    return has;
  }
  /// The same with those that wait.
  [[nodiscard]] pods_by_set pods_of(const record& core) const {
    return pods_of(core, [](const record&) { return true; });
  }
  /// The same of those that run or leave.
  [[nodiscard]] pods_by_set held_pods(const record& core) const { return pods_of(core, holds); }
  /// How sets grow.
  void grow_by(set_growth by) { growth_ = by; }
  /// Of which set the next pod of an elastic job is if it has so many of each.
  [[nodiscard]] std::size_t next_set_after(const record& core, const pods_by_set& has) const {
    return view_or_default<View>::next_set(view_, core.what, has, growth_);
  }
  /// The same if it has what it has; `more` are those that are no units.
  [[nodiscard]] std::size_t next_set(const record& core, const pods_by_set& more = {}) const {
    if (view_or_default<View>::sets(view_, core.what) == 1) return 0;
    pods_by_set has = pods_of(core);
    for (std::size_t s = 0; s < has.size(); ++s) has[s] += more[s];
    return next_set_after(core, has);
  }
  /// The record of an elastic job as if `pods` were all that it needs. Precondition: an elastic view.
  [[nodiscard]] record part_of(const record& r, std::uint32_t pods) const {
    record part = r;
    part.pick = {};
    read_request(part, view_, pods);
    return part;
  }
  /// How many pods of the job run, including its elastic pods.
  [[nodiscard]] std::uint32_t running_pods(const record& r) const {
    std::uint32_t pods = r.facts.pods;
    for (const job_id s : r.elastic_pods) pods += jobs_[s].state == job_state::running ? 1U : 0U;
    return pods;
  }

  // What makes decisions worth another look.

  /// Something has changed that no plan brought about.
  void world_changed() noexcept {
    queues_.let_requeue();
    ++epoch_;
  }
  /// Counts the changes of the world that no plan brought about.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Whether the job may preempt once more before the world changes. Where several rules meet, jobs could
  /// otherwise evict one another forever.
  [[nodiscard]] bool may_preempt_again(const record& r) const noexcept { return r.turns.left_in(epoch_); }
  /// Something has changed by which reserved starts may become later.
  void note(delay_cause cause) noexcept { news_.note(cause); }
  /// What has happened since the last call that concerns reserved starts.
  [[nodiscard]] reservation_news take_news() noexcept { return std::exchange(news_, {}); }

  // What the view and the order of jobs say of a job that comes is read before anything changes, for they may
  // throw.

  /// Reads a job, which is to be enrolled next.
  template <class JobOrder>
  [[nodiscard]] record read(const job& j, quota_id in, const JobOrder& order,
                            capacity_kind not_preemptible) const {
    record r;
    read_job(r, view_, j, submissions_ + 1);
    r.facts.quota = in;
    r.facts.in = r.preemptible ? capacity_kind::any : not_preemptible;
    const queue_settings& settings = queues_.settings(in);
    r.rank = {static_cast<std::int64_t>(order(view_, j, settings)), r.facts.submitted, r.facts.order};
    r.follows_priority = policies_or_default::follows_priority(order, settings);
    return r;
  }
  /// Reads a job that it knows again. When it was submitted is known.
  template <class JobOrder>
  [[nodiscard]] record read_again(const record& known, quota_id in, const JobOrder& order,
                                  capacity_kind not_preemptible) const {
    record r = read(known.what, in, order, not_preemptible);
    r.facts.submitted = known.facts.submitted;
    r.facts.order = r.rank.id = known.facts.order;
    r.rank.submitted = turn_of(r, queues_.settings(in));
    r.ready.not_before = known.ready.not_before;
    r.ready.at = known.is_held ? without_end : std::max(r.ready.at, r.ready.not_before);
    if (r.ready.at <= ready_by_ || known.state != job_state::pending) r.ready = {};
    return r;
  }
  /// Whether the view shows the same of the job, read again, as before.
  [[nodiscard]] bool is_as_before(const record& known, const record& again) const {
    const auto& was = known.facts;
    const auto& is = again.facts;
    const std::size_t pods = was.pods + known.elastic_pods.size() + known.pods_to_come;
    return was.quota == is.quota && was.in == is.in && was.priority == is.priority &&
           was.checkpoint == is.checkpoint && was.restart == is.restart && was.pods == is.pods &&
           known.preemptible == again.preemptible && known.preempts == again.preempts &&
           known.rank.key == again.rank.key && known.follows_priority == again.follows_priority &&
           known.estimate == again.estimate && known.ready.at == again.ready.at &&
           pods == std::size_t{is.pods} + again.pods_to_come && asks_the_same(known, again) &&
           are_preemptible_as_before(known, again);
  }
  /// Whether the running job has what was read of its request again, and no more pods, of any set, than it
  /// may have by now.
  [[nodiscard]] bool has_its_request(const record& known, const record& again) const {
    const std::size_t most = std::size_t{again.facts.pods} + again.pods_to_come;
    if (known.facts.pods < again.facts.pods || known.facts.pods > most) return false;
    if constexpr (has_elastic_pods) {
      for (const job_id id : known.elastic_pods) {
        const record& pod = jobs_[id];
        if (!holds(pod)) continue;
        // There may be fewer sets by now.
        if (pod.set >= view_or_default<View>::sets(view_, known.what)) return false;
        if (!runs_as(pod, read_pod_of(known, again, pod.set))) return false;
      }
      const pods_by_set has = held_pods(known);
      for (std::size_t s = 0; s < view_or_default<View>::sets(view_, known.what); ++s) {
        if (has[s] > view_or_default<View>::pods(view_, known.what, s).most) return false;
      }
    }
    return runs_as(known, with_pods(again, known.facts.pods));
  }
  /// Whether its quota can count a running job that moves there, with all its pods.
  [[nodiscard]] bool can_move(const record& known, quota_id to) {
    const auto counts = [&](ledger<n>& l, job_state other) {
      const savepoint before = l.save();
      l.release(known.facts.quota, known.facts.request, known.facts.in);
      resources<n> all = known.facts.request;
      for (const job_id pod : known.elastic_pods) {
        const record& r = jobs_[pod];
        if (r.state != job_state::running && r.state != other) continue;
        l.release(r.facts.quota, r.facts.request, r.facts.in);
        all += r.facts.request;
      }
      const bool can = l.can_count(to, all);
      l.rollback(before);
      return can;
    };
    return counts(books_.assumed(), job_state::nominated) && counts(books_.allocated(), job_state::evicting);
  }
  /// What a job that was read requests at a place, with these flavors.
  struct placed_request {
    place where{};
    flavor_pick pick{};
    resources<n> request{};
    typename Placement::pod_request pod_request{};
    /// Of a job that has more pods than its core: one of these.
    std::optional<record> pod{};
  };
  [[nodiscard]] placed_request read_placed(record r, const place& at, const flavor_pick& pick) const {
    r.where = at;
    set_pick(r, pick);
    placed_request p{at, r.pick, {}, r.pod_request};
    if constexpr (has_elastic_pods) {
      if (r.pods_to_come > 0) read_pod(p.pod.emplace(r));
    }
    charge_by_place(r, view_, books_.places);
    p.request = r.facts.request;
    return p;
  }

  // Units come and go.

  /// Whether it knows a job, or has known one.
  [[nodiscard]] bool has_known_jobs() const noexcept { return jobs_.size() != 0; }
  /// Adds the record of a job, in no queue yet.
  [[nodiscard]] job_id enrol(record read) {
    const job_id id = jobs_.add();
    record& r = jobs_[id];
    read.ticket = r.ticket;
    r = std::move(read);
    r.facts.id = id;
    ++submissions_;
    queues_.number_class(r);
    watch_ready(r);
    ++queues_.state_of(r.facts.quota).jobs;
    return id;
  }
  /// A job that is in no queue is pending, whatever it had before.
  void wait(job_id id) {
    set_pick(jobs_[id], {});
    charge_by_request(jobs_[id], view_);
    join_queue(id);
  }
  /// A job that is in no queue, and has no place, is pending.
  void join_queue(job_id id) {
    record& r = jobs_[id];
    enter(r, job_state::pending);
    r.where = {};
    r.has_reservation = false;
    r.found = pending_reason::quota;
    r.rank.submitted = turn_of(r, queues_.settings(r.facts.quota));
    watch_patience(r);
    queues_.join(r);
  }
  /// The pending job is asked for otherwise from now on: `change(record)` says how.
  template <class Change>
  void change_request(job_id id, Change change) {
    record& r = at(id);
    auto& q = queues_.state_of(r.facts.quota);
    q.asked -= r.facts.request;
    if (r.has_reservation) {
      q.reserved_amount -= r.facts.request;
      reservations_.record_freed(without_end);
    }
    change(r);
    q.asked += r.facts.request;
    if (r.has_reservation) q.reserved_amount += r.facts.request;
    queues_.touch(r.facts.quota);
  }
  /// The pending job is as it was read again. It keeps its turn, and a reservation if it asks for no more.
  void update_waiting(record& r, record again) {
    const bool keeps = holds_reservation(r) && keeps_reservation(r, again);
    const flavor_pick pick = keeps ? r.pick : flavor_pick{};
    world_changed();
    if (r.has_reservation) {
      news_.starts_may_move = true;
      will_not_run_as_reserved(r);
    }
    if constexpr (has_ready_times) queues_.drop_soon(r.facts.id);
    if (keeps) {
      if (!r.is_early()) queues_.state_of(r.facts.quota).asked -= r.facts.request;
      queues_.count_out_reservation(r);
      reservations_.record_freed(without_end);
      reservations_.note_change(r.facts.quota);
    } else {
      leave_queue(r);
      enter(r, job_state::unknown);
    }
    if (r.facts.quota != again.facts.quota) {
      --queues_.state_of(r.facts.quota).jobs;
      ++queues_.state_of(again.facts.quota).jobs;
      r.gathers_from = std::numeric_limits<instant>::min();
      r.gathers_until.reset();
    }
    take_over(r, again);
    r.facts.pods = again.facts.pods;
    r.facts.request = again.facts.request;
    r.base = again.base;
    r.menu = std::move(again.menu);
    r.pod_request = again.pod_request;
    r.pick = {};
    set_pick(r, pick);
    r.pods_to_come = again.pods_to_come;
    r.ready = again.ready;
    renumber(r);
    watch_ready(r);
    if (!keeps) return join_queue(r.facts.id);
    watch_patience(r);
    queues_.count_reservation(r);
    if (!r.is_early()) queues_.state_of(r.facts.quota).asked += r.facts.request;
    queues_.touch(r.facts.quota);
  }
  /// The running job is as it was read again, with all its pods. Precondition: it has its request, and can
  /// move.
  void update_running(record& r, record again) {
    const quota_id from = r.facts.quota;
    const quota_id to = again.facts.quota;
    const bool moves = from != to || r.facts.in != again.facts.in;
    const instant end = r.expected_end;
    world_changed();
    const std::size_t most = std::size_t{again.facts.pods} + again.pods_to_come;
    const instant pods_not_before = drop_for_update(r, again);
    const auto change = [&](record& unit, const record& as_read) {
      books_.change(unit, [&](record& is) {
        take_over(is, as_read);
        is.is_frozen = queues_.is_frozen(to);
      });
    };
    if constexpr (has_elastic_pods) {
      for (const job_id id : r.elastic_pods) {
        record& pod = jobs_[id];
        const record as_read = read_pod_of(r, again, pod.set);
        pod.state == job_state::nominated ? void(pod.estimate = again.estimate) : change(pod, as_read);
        pod.pod_request = as_read.pod_request;
      }
    }
    change(r, again);
    r.pod_request = pod_request_of(with_pods(again, r.facts.pods), r.pick);
    r.pods_to_come = static_cast<std::uint32_t>(most - r.facts.pods - r.elastic_pods.size());
    // Of what it requests while it waits: it may be charged otherwise where it runs.
    queues_.classes_.remove(r.request_class);
    queues_.number_class(again);
    r.request_class = again.request_class;
    if (from != to) {
      --queues_.state_of(from).jobs;
      ++queues_.state_of(to).jobs;
      r.had = {};
    }
    for (const quota_id x : {from, to}) {
      queues_.touch(x);
      reservations_.note_change(x);
    }
    news_.starts_may_move = true;
    if (moves || r.expected_end > end) note(delay_cause::cluster);
    if constexpr (has_elastic_pods) {
      grow(r);
      put_off_pods(r, pods_not_before);
    }
    if (moves) review_nominations();
  }
  /// The pending job leaves its queue, whatever is ahead of it, for a place that was taken for it; it is
  /// assumed, and `start`ed or `nominate`d next. Returns what it borrows.
  resources<n> charge(record& r, const place& where) {
    if constexpr (has_ready_times) {
      if (r.is_early()) queues_.drop_soon(r.facts.id);
    }
    leave_queue(r);
    r.decided_at = nominated_.take_number();
    r.where = where;
    charge_by_place(r, view_, books_.places);
    const resources<n> borrows = books_.borrowed_by(books_.assumed(), r);
    books_.charge(r);
    return borrows;
  }
  /// A pending job leaves its queue for a reservation with a time. It is still asked for.
  /// `number`: its turn, if it has had one before.
  void reserve(record& r, const reservation& p, const std::optional<std::uint64_t>& number = {}) {
    queues_.take_out(r);
    ++r.ticket;
    r.has_reservation = true;
    queues_.count_reservation(r);
    reservations_.add({r.facts.id, r.facts.quota, p}, number);
    queues_.touch(r.facts.quota);
  }
  void renew_reservation(job_id id, const reservation& p) {
    const record& r = jobs_[id];
    const bool is_other = p.owned || reservations_.find(id, r.facts.quota)->what.start != p.start;
    if (is_other) will_not_run_as_reserved(r);
    reservations_.renew(id, r.facts.quota, p);
  }
  /// The job, which is to borrow, comes after those with a reservation on what its quota owns.
  void yield_turn(const record& r) { reservations_.yield_turn(r.facts.id, r.facts.quota); }
  /// The job with a reservation will run earlier, later or not at all.
  void will_not_run_as_reserved(const record& r) {
    const auto* const p = reservations_.find(r.facts.id, r.facts.quota);
    if (p == nullptr || p->what.owned) return;
    const instant start = p->what.start;
    if (start != without_end) reservations_.record_freed(later(start, r.estimate));
  }
  /// Tells the reservations what has become free since the last call.
  void record_freed() { reservations_.record_freed(books_.take_freed_until()); }
  /// The job loses its reservation and is in its queue again.
  void withdraw_reservation(record& r) {
    will_not_run_as_reserved(r);
    leave_queue(r);
    enter(r, job_state::unknown);
    wait(r.facts.id);
  }
  /// The job, which gathers, does so no longer, and not again before that time; if it was displaced, then at
  /// most `until`.
  void give_up_gathering(record& r, instant gathers_from, const std::optional<instant>& until) {
    withdraw_reservation(r);
    r.gathers_from = gathers_from;
    r.gathers_until = until;
  }
  /// The running job's pods on failed nodes are placed elsewhere, and its further pods stand beside it there;
  /// false if there is no room.
  [[nodiscard]] bool replace_pods(record& r) {
    if (!books_.replace_pods(r)) return false;
    if constexpr (has_elastic_pods && near_request<Placement>) {
      for (const job_id id : r.elastic_pods) {
        record& pod = jobs_[id];
        const bool waits = pod.state == job_state::pending;
        if (waits) leave_queue(pod), enter(pod, job_state::unknown);
        pod.pod_request = pod.pod_request.beside(r.where);
        if (!waits) continue;
        renumber(pod);
        join_queue(id);
      }
    }
    note(delay_cause::cluster);
    world_changed();
    return true;
  }
  /// Starts a job that is booked.
  void start(record& r, instant now) {
    run(r, now);
    if constexpr (has_elastic_pods) grow(core_of(r));
  }
  /// The running job started at another time than assumed.
  void restart(record& r, instant at) {
    if (r.facts.started != at) note(delay_cause::overrun);
    reservations_.note_change(r.facts.quota);
    books_.restart(r, at);
  }
  /// A job that is booked waits for evictions, after those that do.
  void nominate(record& r, instant now) {
    r.is_frozen = queues_.is_frozen(r.facts.quota);
    books_.nominate(r, now);
    enter(r, job_state::nominated);
    nominated_.add(r.facts.id);
    if constexpr (has_elastic_pods) grow(core_of(r));
  }
  /// Whether a job that is booked may start at once, without waiting behind the nominated ones.
  [[nodiscard]] bool may_start(const record& r) {
    return !waits_for_core(r.facts.id) && nominated_.may_start(books_, jobs_, r);
  }
  /// What leaves for it, if it has taken that over, leaves for none in particular.
  void waits_for_none(const record& r) { nominated_.remove(r.facts.id); }
  /// Calls `start(record)` for each nominated job with `is_asked(id)` that may start now.
  template <class IsAsked, class Start>
  void start_ready(IsAsked is_asked, Start start) {
    nominated_.start_ready(
        books_, jobs_, [&](job_id id) { return is_asked(id) && !waits_for_core(id); },
        [&](job_id id) { start(jobs_[id]); });
  }
  /// Starts a job that already runs and is in no queue.
  void start_adopted(job_id id, instant since, const placed_request& p) {
    record& r = jobs_[id];
    charge_adopted(r, p);
    run(r, since);
    if constexpr (has_elastic_pods) {
      if (core_of(r).pods_to_come > 0) join_queue(add_pod(core_of(r), *p.pod));
    }
  }
  /// Whether the job could have more pods than it runs with.
  [[nodiscard]] bool can_grow(const record& core) const {
    return core.pods_to_come > 0 || has_pod(core, job_state::pending) || has_pod(core, job_state::nominated);
  }
  /// The request of one more pod of a running job.
  [[nodiscard]] resources<n> request_of_pod(const record& core, [[maybe_unused]] std::size_t set) const {
    if constexpr (has_elastic_pods) {
      return view_or_default<View>::request_of_pod(view_, core.what, set, core.pick);
    } else {
      return core.facts.request;
    }
  }
  /// Adopts a running pod of a running job that can grow.
  [[nodiscard]] job_id adopt_elastic_pod(record& core, instant since, const place& at, std::size_t set) {
    record pod = core;
    read_pod(pod, set);
    pod.pods_to_come = 0;
    placed_request p = read_placed(pod, at, core.pick);
    pods_by_set has = held_pods(core);
    ++has[set];
    read_pod(p.pod.emplace(core), next_set_after(core, has));
    drop_waiting_elastic_pods(core);
    const job_id id = add_pod(core, std::move(pod));
    start_adopted(id, since, p);
    return id;
  }
  /// Evicts a running job with all its elastic pods.
  void evict(record& r, job_id beneficiary) {
    if constexpr (has_elastic_pods) {
      drop_waiting_elastic_pods(r);
      for (const job_id s : r.elastic_pods) {
        if (jobs_[s].state == job_state::running) evict(jobs_[s], beneficiary);
      }
    }
    books_.evict(r);
    r.spared_until = ready_time::always;
    enter(r, job_state::evicting);
    nominated_.expect(r.facts.id, beneficiary);
  }
  /// The job runs on, with its pods, after all: the time by which it was to have left says nothing any more.
  void stays(record& r) {
    r.leaves_by = record::no_limit;
    for (const job_id pod : r.elastic_pods) jobs_[pod].leaves_by = record::no_limit;
  }
  /// An evicting job runs on.
  void take_back_eviction(record& r) {
    r.is_frozen = queues_.is_frozen(r.facts.quota);
    books_.take_back_eviction(r);
    enter(r, job_state::running);
    nominated_.left(r.facts.id);
    if constexpr (has_elastic_pods) {
      if (core_of(r).state == job_state::running) grow(core_of(r));
    }
  }
  /// Searches for victims for a pending job; those found are evicting. See `books::make_room`.
  template <class Search, class Accept>
  [[nodiscard]] search_outcome make_room(Search& search, const record& r, instant now, Accept accept) {
    const preempt_settings& may = queues_.settings(r.facts.quota).preempt;
    // Only with jobs of its own quota gone it would borrow less.
    if (backs_off(r, now) &&
        (may.within == preempt_within::never || books_.running().jobs_of(r.facts.quota).empty())) {
      return search_outcome::impossible;
    }
    const search_outcome outcome = books_.make_room(jobs_, search, r, may, now, accept, backoffs_);
    if (outcome == search_outcome::found) {
      for (const victim<n>& v : search.victims()) {
        record& found = jobs_[v.job.id];
        if (found.state == job_state::running) enter(found, job_state::evicting);
      }
    }
    return outcome;
  }
  /// A nominated job that `make_room` has found waits again. What leaves for it leaves for `heir`.
  void yield_nomination(record& r, job_id heir) {
    if constexpr (has_elastic_pods) drop_elastic_pods(r);
    nominated_.hand_over(r.facts.id, heir);
    books_.release_found(r);
    enter(r, job_state::unknown);
    queues_.let_requeue();
  }
  /// Searches for jobs to restart elsewhere, for a pending one; those found are evicting. See
  /// `books::move_others`.
  template <class Search>
  [[nodiscard]] std::optional<place> move_others(Search& search, const record& r,
                                                 std::span<const running_job<n>> may_move) {
    const std::optional<place> at = books_.move_others(jobs_, search, r, may_move);
    if (at) {
      for (const victim<n>& v : search.moves()) enter(jobs_[v.job.id], job_state::evicting);
    }
    return at;
  }
  /// Notes for which job one found by a search is evicting.
  void leave_for(record& r, job_id beneficiary) {
    if constexpr (has_elastic_pods) drop_waiting_elastic_pods(r);
    nominated_.expect(r.facts.id, beneficiary);
  }
  /// Removes a running or evicting job that has gone. It is in no queue.
  void release(record& r) {
    if constexpr (has_elastic_pods) drop_elastic_pods(r);
    if (r.state == job_state::evicting) nominated_.left(r.facts.id);
    news_.record_end(r.expected_end);
    books_.release(r);
    enter(r, job_state::unknown);
    queues_.let_requeue();
  }
  /// A job that has gone is pending again, with its old rank; so is one pod of an elastic job that shrinks.
  void come_back(record& r) {
    r.ready.at = ready_time_of(r);
    may_have_all_pods(r);
    record& core = core_of(r);
    core.waits_since = std::max(core.waits_since, ready_by_);
    requeue(r);
  }
  /// Calls `visit(record)` for the evicting job and each of its pods that leave with it.
  template <class Visit>
  void for_each_leaving_with(record& r, Visit visit) {
    visit(r);
    for (const job_id pod : r.elastic_pods) {
      if (jobs_[pod].state == job_state::evicting) visit(jobs_[pod]);
    }
  }
  /// The evicting job runs on with all its pods, if nobody has been given what they have. Returns whether it
  /// does.
  [[nodiscard]] bool run_on(record& r) {
    if (!books_.assumed().can_count(r.facts.quota, request_with_leaving(r)) || !has_its_place(r))
      return false;
    for_each_leaving_with(r, [&](record& unit) { take_back_eviction(unit); });
    return true;
  }
  /// Whether what the evicting job and its pods have is within the bounds of their quota.
  [[nodiscard]] bool may_run_on(record& r) {
    return books_.assumed().fits(r.facts.quota, request_with_leaving(r), r.facts.in);
  }
  /// The running job and its pods are not preempted until then; nor is the job of a pod, which would take it
  /// along.
  void spare(record& r, instant until) {
    spare_one(r, until);
    for (const job_id pod : r.elastic_pods) {
      if (jobs_[pod].state == job_state::running) spare_one(jobs_[pod], until);
    }
    if (r.facts.elastic && until > core_of(r).spared_until) spare_one(core_of(r), until);
  }
  /// From now on jobs of x are not preempted, or are again.
  void freeze(quota_id x, bool is_frozen) {
    queues_.state_of(x).is_frozen = is_frozen;
    jobs_.for_each([&](record& r) {
      const bool counts = r.state == job_state::running || r.state == job_state::nominated;
      if (!counts || r.facts.quota != x) return;
      protect(r, [is_frozen](record& changed) { changed.is_frozen = is_frozen; });
    });
    world_changed();
  }
  /// Jobs that are spared no longer by now may be preempted again.
  void end_sparing(instant now) {
    spared_.take_expired(now, [this](const time_limits::run& e, instant at) {
      if (!is_spared(e.job, at)) return;
      spare(jobs_[e.job], ready_time::always);
      world_changed();
    });
  }
  /// When the next job may be preempted again.
  [[nodiscard]] std::optional<instant> next_end_of_sparing() { return spared_.next(still_spared()); }
  /// The start of the job has failed: it is pending again, and not ready before that time. A pod of an
  /// elastic job is another one then.
  void start_failed(record& r, instant not_before) {
    world_changed();
    release(r);
    if (r.facts.elastic) {
      record& core = core_of(r);
      requeue(r);
      put_off_pods(core, not_before);
      return;
    }
    r.ready.not_before = not_before;
    r.ready.at = ready_time_of(r);
    may_have_all_pods(r);
    requeue(r);
  }
  /// The pending job is not ready before that time, if it is later than any it is known for, and holds no
  /// reservation any more.
  void put_off(record& r, instant not_before) {
    if (not_before <= std::max(r.ready.not_before, ready_by_)) return;
    r.ready.not_before = not_before;
    if (!r.is_held) wait_until(r, not_before, false);
  }
  /// The host holds the job: while it waits it claims nothing, and while it runs neither it nor one of its
  /// pods is preempted. Precondition: it is not nominated.
  void hold(record& r) {
    world_changed();
    set_held(r, true);
    for (const job_id pod : r.elastic_pods) set_held(jobs_[pod], true);
  }
  /// The host no longer does.
  void unhold(record& r) {
    world_changed();
    set_held(r, false);
    for (const job_id pod : r.elastic_pods) set_held(jobs_[pod], false);
  }
  /// The same as of one that was submitted then, with its pods.
  void unhold(record& r, instant submitted) {
    const auto change = [submitted](record& unit) {
      unit.facts.submitted = submitted;
      unit.waits_since = std::max(unit.waits_since, submitted);
    };
    change(r);
    for (const job_id pod : r.elastic_pods) change(jobs_[pod]);
    unhold(r);
  }
  /// The same for one that has not run after all: it does without the pods that the host has removed.
  void requeue(record& r) {
    r.estimate = view_or_default<View>::estimate(view_, r.what);
    r.had = {};
    r.spared_until = ready_time::always;
    // With the new estimate, and no other.
    if (!r.facts.elastic) {
      const auto renewed = detail::pod_request_of<Placement>(view_, r.what, r.facts.pods, r.pick);
      if (placement_or_default::runs_as(renewed, r.pod_request)) {
        const bool is_numbered = same_room(renewed, r.pod_request);
        r.pod_request = renewed;
        if (!is_numbered) renumber(r);
      }
    }
    if constexpr (has_elastic_pods) {
      if (r.facts.elastic) {
        record& core = jobs_[r.facts.core];
        // Otherwise each of its pods could preempt again.
        core.turns = std::max(core.turns, r.turns);
        ++core.pods_to_come;
        forget(r.facts.id);
        drop_next_of_sets(core);
        if (may_grow(core)) grow(core);
        return;
      }
    }
    if (r.is_held) r.ready.at = without_end;
    watch_ready(r);
    wait(r.facts.id);
  }
  void withdraw_nomination(record& r) {
    if constexpr (has_elastic_pods) drop_elastic_pods(r);
    nominated_.remove(r.facts.id);
    books_.release_nominated(r);
    enter(r, job_state::unknown);
    queues_.let_requeue();
  }
  /// Removes a job that the host no longer wants, whatever its state. An elastic job of which one pod is
  /// removed does with fewer.
  void remove(job_id id) {
    record& r = at(id);
    if (r.state != job_state::pending) world_changed();
    [[maybe_unused]] const job_id core = r.facts.core;
    take_out(r);
    forget(id);
    if constexpr (has_elastic_pods) {
      if (core) drop_next_of_sets(jobs_[core]);
      if (core && may_grow(jobs_[core])) grow(jobs_[core]);
    }
  }

  /// Removes a pending pod of an elastic job, which asks for no further ones. Not one by one: there may be
  /// billions to come.
  void stop_growing(job_id pod) {
    jobs_[at(pod).facts.core].pods_to_come = 0;
    remove(pod);
  }

  /// Makes nominated jobs pending again, last first, if there is no longer room for them or their place is no
  /// longer usable.
  void review_nominations() {
    bool lost = false;
    for (std::size_t i = nominated_.waiting().size(); i-- > 0;) {
      record& r = jobs_[nominated_.waiting()[i]];
      if (books_.has_room(r) && placement_or_default::usable(books_.places, r.where, r.pod_request)) continue;
      lost = true;
      withdraw_nomination(r);
      r.facts.elastic ? requeue(r) : wait(r.facts.id);
    }
    if (lost) world_changed();
  }

  // The clock.

  /// What is said to have started later has started now, unless it is starting: calls `visit(job_id)` for
  /// each such job that runs or is being evicted. O(jobs).
  template <class Visit>
  void start_by(instant now, Visit visit) {
    jobs_.for_each([&](record& r) {
      if (r.facts.started <= now || r.is_starting) return;
      if (r.state == job_state::nominated) books_.renominate(r, now);
      if (r.state == job_state::evicting) r.facts.started = now;
      if (r.state == job_state::running) restart(r, now);
      if (r.state == job_state::running || r.state == job_state::evicting) visit(r.facts.id);
    });
  }
  /// All times move by that span; not those of submissions, which are the view's.
  void rebase(instant by) {
    jobs_.for_each([by](record& r) {
      for (instant* const at : {&r.facts.started, &r.expected_end, &r.gathers_from}) {
        *at = moved(*at, by);
      }
      if (r.gathers_until) r.gathers_until = moved(*r.gathers_until, by);
      r.ready.at = moved(r.ready.at, by);
      r.ready.not_before = moved(r.ready.not_before, by);
      r.over_at = moved(r.over_at, by);
      r.leaves_by = moved(r.leaves_by, by);
      if (r.waits_since != r.facts.submitted) r.waits_since = moved(r.waits_since, by);
      r.spared_until = moved(r.spared_until, by);
      if constexpr (has_expected_ends) r.had.first_start = moved(r.had.first_start, by);
    });
    early_.rebase(by);
    spared_.rebase(by);
    ready_by_ = moved(ready_by_, by);
    books_.rebase(by);
    reservations_.rebase(by);
    backoffs_.rebase(by);
    news_.rebase(by);
    queues_.rebase(by);
    // Times of submission stay.
    jobs_.for_each([this](record& r) {
      if (r.state == job_state::pending) renew_patience(r);
    });
  }

  // The tree.

  /// The books have a new tree, or other specifications of the same quotas; quotas keep their ids. Returns
  /// those that are then not sound, parents first. Precondition: quotas no longer in the tree have no jobs.
  vector<quota_id> follow_tree() {
    on_new_tree();
    vector<quota_id> over;
    for (const quota_id x : books_.tree().top_down()) {
      if (!books_.allocated().is_sound(x)) over.push_back(x);
    }
    return over;
  }

 private:
  friend state_keeper<View, Placement>;

  [[nodiscard]] record& core_of(record& r) { return r.facts.elastic ? jobs_[r.facts.core] : r; }
  /// The job has gone: it needs as many pods as the view says now, and has the others to come.
  void may_have_all_pods(record& r) {
    if constexpr (has_elastic_pods) {
      if (r.facts.elastic) return;
      const auto [least, most] = view_or_default<View>::pods(view_, r.what);
      if (r.facts.pods != least) {
        // It ran with more, and needs no more than that.
        r.pick = {};
        read_request(r, view_, least);
        renumber(r);
      }
      r.pods_to_come = most - least;
    }
  }
  /// Whether the job may get more pods now.
  [[nodiscard]] static bool may_grow(const record& core) noexcept {
    return core.state == job_state::running || core.state == job_state::nominated;
  }
  /// Whether it is a pod of a job that does not run yet.
  [[nodiscard]] bool waits_for_core(job_id id) const {
    const auto& f = jobs_[id].facts;
    return has_elastic_pods && f.elastic && jobs_[f.core].state == job_state::nominated;
  }
  void run(record& r, instant now) {
    if (r.state != job_state::nominated) r.is_frozen = queues_.is_frozen(r.facts.quota);
    books_.start(r, now);
    enter(r, job_state::running);
    r.ready = {};
    r.preempts_from = ready_time::always;
    r.is_starting = false;
    r.leaves_by = record::no_limit;
  }
  void charge_adopted(record& r, const placed_request& p) {
    r.where = p.where;
    r.pick = p.pick;
    r.facts.request = p.request;
    r.pod_request = p.pod_request;
    books_.charge(r);
  }
  void set_pick(record& r, const flavor_pick& pick) const {
    if (r.menu.empty()) return;
    r.pick = pick;
    r.facts.request = r.request_under(pick);
    r.pod_request = pod_request_of(r, pick);
  }
  /// The job's state changes, and with it what is counted by state.
  void enter(record& r, job_state next) {
    ALLOT_ASSERT(may_follow(r.state, next), "a job can't go from its state to that one");
    auto& q = queues_.state_of(r.facts.quota);
    const auto waits = [](job_state s) { return s == job_state::pending || s == job_state::nominated; };
    if (waits(r.state)) --q.waiting;
    if (waits(next)) ++q.waiting;
    if (r.state == job_state::evicting) erase(evicting_, r.facts.id);
    if (next == job_state::evicting) evicting_.push_back(r.facts.id);
    r.state = next;
    queues_.touch(r.facts.quota);
    reservations_.note_change(r.facts.quota);
  }
  /// The pending job is in its queue no more, and holds no reservation.
  void leave_queue(record& r) {
    ALLOT_ASSERT(r.state == job_state::pending, "only a pending job can leave its queue");
    if (!r.is_early()) queues_.state_of(r.facts.quota).asked -= r.facts.request;
    holds_reservation(r) ? end_reservation(r) : queues_.take_out(r);
    queues_.touch(r.facts.quota);
  }
  /// Whether nobody was given the places of the evicting job and of the pods that leave with it.
  [[nodiscard]] bool has_its_place(record& r) {
    const tentative trial{books_.places};
    bool has = true;
    for_each_leaving_with(
        r, [&](record& unit) { has = has && books_.could_reoccupy(unit, !nominated_.waiting().empty()); });
    return has;
  }
  /// What the evicting job and the pods request that leave with it.
  [[nodiscard]] resources<n> request_with_leaving(record& r) {
    resources<n> all;
    for_each_leaving_with(r, [&](record& unit) { all += unit.facts.request; });
    return all;
  }
  /// The running or nominated job is changed by `change(record)` such that it may be preempted, or no longer.
  /// A cycle may have ruled out jobs of its quota for want of victims.
  template <class Change>
  void protect(record& r, Change change) {
    books_.protect(r, change);
    queues_.touch(r.facts.quota);
  }
  void spare_one(record& r, instant until) {
    protect(r, [until](record& changed) { changed.spared_until = until; });
    if (until != without_end && until != ready_time::always)
      spared_.watch(until, {r.facts.id, 0}, still_spared());
  }
  [[nodiscard]] bool is_spared(job_id id, instant until) const {
    return jobs_.contains(id) && jobs_[id].spared_until == until;
  }
  [[nodiscard]] auto still_spared() const {
    return [this](const time_limits::run& e, instant at) { return is_spared(e.job, at); };
  }
  void set_held(record& r, bool is_held) {
    switch (r.state) {
      case job_state::pending:
        return wait_until(r, is_held ? without_end : ready_time_of(r), is_held);
      case job_state::running:
      case job_state::nominated:
        return protect(r, [is_held](record& changed) { changed.is_held = is_held; });
      default:
        r.is_held = is_held;
    }
  }
  /// When the job is ready, as the view says, or the host. Of a pod the job runs.
  [[nodiscard]] instant ready_time_of(const record& r) const {
    if (r.facts.elastic) return r.ready.not_before;
    return std::max(view_or_default<View>::ready_at(view_, r.what), r.ready.not_before);
  }
  /// The pending job is ready then, and holds no reservation any more.
  void wait_until(record& r, instant ready, bool is_held) {
    if (r.has_reservation) will_not_run_as_reserved(r);
    leave_queue(r);
    enter(r, job_state::unknown);
    r.ready.at = ready;
    r.is_held = is_held;
    watch_ready(r);
    join_queue(r.facts.id);
    // What was kept for it others may have, if it can't start.
    news_.starts_may_move = true;
    queues_.let_requeue();
  }
  /// The record of a job as read for that many pods.
  [[nodiscard]] record with_pods(const record& read, [[maybe_unused]] std::uint32_t pods) const {
    if constexpr (has_elastic_pods) {
      if (read.facts.pods != pods) return part_of(read, pods);
    }
    return read;
  }
  /// Whether its further pods may be evicted as before.
  [[nodiscard]] bool are_preemptible_as_before([[maybe_unused]] const record& core,
                                               [[maybe_unused]] const record& again) const {
    if constexpr (semi_preemptible_view<View>) {
      return detail::all_of(core.elastic_pods.begin(), core.elastic_pods.end(), [&](job_id pod) {
        return jobs_[pod].preemptible == read_pod_of(core, again, jobs_[pod].set).preemptible;
      });
    }
    return true;
  }
  /// One pod of the job, as read, under the flavors and at the place that it has.
  [[nodiscard]] record read_pod_of(const record& core, record again, std::size_t set) const {
    again.pick = core.pick;
    again.where = core.where;
    read_pod(again, set);
    return again;
  }
  /// Whether both need the same room on nodes.
  [[nodiscard]] static bool same_room(const auto& pod_request, const auto& other) {
    return placement_or_default::room_key(pod_request) == placement_or_default::room_key(other);
  }
  /// Whether the one that runs has what the other requests.
  [[nodiscard]] bool runs_as(const record& r, const record& other) const {
    return r.base == other.base && r.menu == other.menu &&
           placement_or_default::runs_as(r.pod_request, pod_request_of(other, r.pick));
  }
  /// Whether the one requests what the other does.
  [[nodiscard]] bool asks_the_same(const record& r, const record& other) const {
    return r.base == other.base && r.menu == other.menu &&
           same_room(r.pod_request, pod_request_of(other, r.pick));
  }
  /// Whether the job with a reservation, as it was read again, asks for no more than before: of its quota, of
  /// nodes, or of time; and whether its turn comes no later. Pod requests are compared by equality alone.
  [[nodiscard]] bool keeps_reservation(const record& r, const record& again) const {
    bool is_no_more = r.menu == again.menu;
    for (std::size_t d = 0; d < n; ++d) is_no_more = is_no_more && again.base[d] <= r.base[d];
    return is_no_more && again.facts.quota == r.facts.quota && again.facts.in == r.facts.in &&
           again.rank.key <= r.rank.key && again.estimate <= r.estimate && again.ready.at <= r.ready.at &&
           (!placement_or_default::has_nodes(books_.places) ||
            placement_or_default::runs_as(r.pod_request, pod_request_of(again, r.pick)));
  }
  /// The job, or pod of one, is as it was read again, but for what it requests.
  static void take_over(record& r, const record& again) {
    r.facts.quota = again.facts.quota;
    r.facts.priority = again.facts.priority;
    r.facts.in = again.facts.in;
    r.facts.checkpoint = again.facts.checkpoint;
    r.facts.restart = again.facts.restart;
    r.rank.key = again.rank.key;
    r.rank.submitted = again.rank.submitted;
    r.preemptible = again.preemptible;
    r.preempts = again.preempts;
    r.follows_priority = again.follows_priority;
    r.estimate = again.estimate;
    r.has_unlike_pods = again.has_unlike_pods;
  }
  void renumber(record& r) {
    queues_.classes_.remove(r.request_class);
    queues_.number_class(r);
  }
  /// Drops the pods of a running job that wait, which come again as it was read: pending ones, and nominated
  /// ones if what was decided for them was decided for others, or their set has more than it may have.
  /// Returns the time before which the host does not want them to be tried.
  instant drop_for_update([[maybe_unused]] record& r, [[maybe_unused]] const record& again) {
    instant not_before = ready_time::always;
    if constexpr (has_elastic_pods) {
      const auto& was = r.facts;
      const auto& is = again.facts;
      const bool is_other = was.quota != is.quota || was.in != is.in || was.priority != is.priority ||
                            r.preemptible != again.preemptible || r.preempts != again.preempts ||
                            r.rank.key != again.rank.key;
      if (r.elastic_pods.empty()) return not_before;
      const auto stays = [&](const record& pod) {
        using shown = view_or_default<View>;
        if (is_other || pod.set >= shown::sets(view_, r.what)) return false;
        if (pods_of(r)[pod.set] > shown::pods(view_, r.what, pod.set).most) return false;
        const record as_read = read_pod_of(r, again, pod.set);
        return runs_as(pod, as_read) && pod.preemptible == as_read.preemptible;
      };
      drop_pods(r, [&](const record& pod) {
        if (pod.state == job_state::pending) not_before = pod.ready.not_before;
        return pod.state == job_state::pending || (pod.state == job_state::nominated && !stays(pod));
      });
    }
    return not_before;
  }
  void put_off_pods(const record& core, instant not_before) {
    for (const job_id pod : core.elastic_pods) {
      if (jobs_[pod].state == job_state::pending) put_off(jobs_[pod], not_before);
    }
  }
  /// A job was read: it is ready, or from now on it is known when it will be.
  void watch_ready(record& r) {
    if (r.ready.at <= ready_by_) {
      note_ready(r);
      r.ready = {};
    }
    if (r.ready.at == ready_time::always || r.ready.at == without_end) return;
    early_.watch(r.ready.at, {r.facts.id, 0}, still_early());
  }
  [[nodiscard]] bool is_early(job_id id, instant at) const {
    return jobs_.contains(id) && jobs_[id].is_early() && jobs_[id].ready.at == at;
  }
  /// From when the pending job is too old to be passed; none if it never is.
  [[nodiscard]] instant too_old_from(const record& r) const {
    const instant age = queues_.settings(r.facts.quota).strict_after;
    return age == 0 ? without_end : later(r.facts.submitted, age);
  }
  [[nodiscard]] bool is_too_old(const record& r) const { return too_old_from(r) <= ready_by_; }
  /// Others may be evicted for the pending job, and it is not passed any more, or from now on it is known
  /// from when.
  void watch_patience(record& r) {
    r.preempts_from = end_of_patience(r);
    r.is_too_old = is_too_old(r);
    if (!queues_.is_numbered(r)) renumber(r);
    if (const instant at = too_old_from(r); !r.is_too_old && at != without_end)
      ages_.watch(at, {r.facts.id, 0}, still_young());
    if (r.may_preempt() || r.is_early() || r.preempts_from == without_end) return;
    patience_.watch(r.preempts_from, {r.facts.id, 0}, still_patient());
  }
  /// The job is ready: it waits since then, if the view has said when.
  static void note_ready(record& r) {
    if (r.ready.at > r.ready.not_before) r.waits_since = std::max(r.waits_since, r.ready.at);
  }
  /// The pending job may have waited long enough. It has the chances of another equivalence class then.
  void renew_patience(record& r) {
    if (end_of_patience(r) == r.preempts_from && is_too_old(r) == r.is_too_old) return;
    if (r.has_reservation) {
      queues_.let_requeue();
      reservations_.note_change(r.facts.quota);
      return watch_patience(r);
    }
    leave_queue(r);
    enter(r, job_state::unknown);
    join_queue(r.facts.id);
  }
  [[nodiscard]] bool is_patient(job_id id, instant at) const {
    return jobs_.contains(id) && jobs_[id].state == job_state::pending && !jobs_[id].is_early() &&
           jobs_[id].preempts_from == at;
  }
  [[nodiscard]] auto still_patient() const {
    return [this](const time_limits::run& e, instant at) { return is_patient(e.job, at); };
  }
  [[nodiscard]] bool is_young(job_id id, instant at) const {
    return jobs_.contains(id) && jobs_[id].state == job_state::pending && !jobs_[id].is_too_old &&
           too_old_from(jobs_[id]) == at;
  }
  [[nodiscard]] auto still_young() const {
    return [this](const time_limits::run& e, instant at) { return is_young(e.job, at); };
  }
  [[nodiscard]] auto still_early() const {
    return [this](const time_limits::run& e, instant at) { return is_early(e.job, at); };
  }
  /// The early job is so no more.
  void be_ready(record& r) {
    note_ready(r);
    if (!r.has_reservation) return wait_until(r, ready_time::always, r.is_held);
    queues_.let_requeue();
    queues_.count_out_reservation(r);
    r.ready = {};
    watch_patience(r);
    queues_.count_reservation(r);
    queues_.state_of(r.facts.quota).asked += r.facts.request;
    queues_.touch(r.facts.quota);
  }
  void find_soon_ready(instant now) requires has_ready_times {
    auto& soon = queues_.soon_;
    soon.clear();
    early_.for_each_by(later(now, queues_.most_ready_horizon_), [&](const time_limits::run& e, instant at) {
      if (!is_early(e.job, at)) return;
      const record& r = jobs_[e.job];
      if (at > later(now, queues_.settings(r.facts.quota).ready_horizon.value_or(0))) return;
      soon.push_back({e.job, r.facts.quota, r.rank, at});
    });
    detail::sort(soon.begin(), soon.end());
    soon.erase(std::unique(soon.begin(), soon.end()), soon.end());
  }
  /// Releases all that is allocated or assumed for the job, and takes it out of its queue.
  void take_out(record& r) {
    switch (r.state) {
      case job_state::pending:
        if (r.is_early()) {
          // What was kept for it is for others.
          news_.starts_may_move = true;
          queues_.let_requeue();
          if constexpr (has_ready_times) queues_.drop_soon(r.facts.id);
        }
        if (holds_reservation(r)) {
          queues_.let_requeue();
          news_.starts_may_move = true;
          will_not_run_as_reserved(r);
        }
        leave_queue(r);
        enter(r, job_state::unknown);
        break;
      case job_state::nominated:
        withdraw_nomination(r);
        break;
      default:
        release(r);
    }
  }
  [[nodiscard]] static bool holds_reservation(const record& r) noexcept {
    return has_expected_ends && r.has_reservation;
  }
  void end_reservation(record& r) {
    if constexpr (has_expected_ends) {
      reservations_.remove(r.facts.id, r.facts.quota);
      books_.horizons().forget(r.facts.id);
      r.has_reservation = false;
      queues_.count_out_reservation(r);
    }
  }
  void forget(job_id id) {
    record& r = jobs_[id];
    const quota_id x = r.facts.quota;
    queues_.classes_.remove(r.request_class);
    if (r.facts.elastic) {
      erase(jobs_[r.facts.core].elastic_pods, id);
    } else {
      --queues_.state_of(x).jobs;
    }
    jobs_.remove(id);
    queues_.touch(x);
  }

  /// Whether a pod of the elastic job is in that state.
  [[nodiscard]] bool has_pod(const record& core, job_state in) const {
    return detail::any_of(core.elastic_pods.begin(), core.elastic_pods.end(),
                          [&](job_id pod) { return jobs_[pod].state == in; });
  }
  /// Makes the next pod of an elastic job pending that runs or is nominated, unless one is.
  void grow(record& core) {
    if (core.pods_to_come == 0 || has_pod(core, job_state::pending)) return;
    record pod = core;
    read_pod(pod);
    join_queue(add_pod(core, std::move(pod)));
  }
  /// Turns the record of an elastic job into that of one more pod.
  void read_pod(record& r) const { read_pod(r, next_set(r)); }
  void read_pod(record& r, std::size_t set) const {
    read_further_pod(r, view_, set);
    // Its flavors are those of its job.
    r.base = r.facts.request;
    r.menu = {};
  }
  /// Adds one more pod of an elastic job, as `read_pod` has made it of its core, in no queue yet.
  [[nodiscard]] job_id add_pod(record& core, record pod) {
    const job_id id = jobs_.add();
    record& r = jobs_[id];
    pod.ticket = r.ticket;
    // Its job runs, perhaps one that was adopted before its time.
    pod.ready.at = pod.is_held ? without_end : ready_time::always;
    r = std::move(pod);
    r.state = job_state::unknown;
    r.elastic_pods.clear();
    r.pods_to_come = 0;
    r.had = {};
    r.spared_until = ready_time::always;
    r.expected_end = without_end;
    r.facts.started = core.facts.started;
    r.facts.id = id;
    r.facts.elastic = true;
    r.facts.core = core.facts.id;
    r.rank.elastic = true;
    queues_.number_class(r);
    core.elastic_pods.push_back(id);
    --core.pods_to_come;
    return id;
  }
  /// Removes an elastic pod, running or waiting, e.g. because its job goes.
  void drop(job_id pod) {
    record& r = jobs_[pod];
    take_out(r);
    record& core = jobs_[r.facts.core];
    ++core.pods_to_come;
    // The next one is made of the job: or each would have all turns to preempt again.
    core.turns.take_over(r.turns);
    forget(pod);
  }
  void drop_elastic_pods(record& core) {
    while (!core.elastic_pods.empty()) drop(core.elastic_pods.back());
  }
  /// Those for which `which(record)`, the last one first.
  template <class Which>
  void drop_pods(record& core, Which which) {
    for (std::size_t i = core.elastic_pods.size(); i-- > 0;) {
      if (which(jobs_[core.elastic_pods[i]])) drop(core.elastic_pods[i]);
    }
  }
  void drop_waiting_elastic_pods(record& core) {
    drop_pods(core, [](const record& pod) {
      return pod.state == job_state::pending || pod.state == job_state::nominated;
    });
  }
  /// One of unlike pods has gone: the one that waits may be of another set than the next is now.
  void drop_next_of_sets(record& core) {
    if (!core.has_unlike_pods) return;
    drop_pods(core, [](const record& pod) { return pod.state == job_state::pending; });
  }
  /// The time of submission by which the job takes its turn.
  [[nodiscard]] instant turn_of(const record& r, const queue_settings& settings) const {
    const bool ages = timed_view<View> && settings.backfill == backfill_order::aged;
    if (settings.head != queue_head::reserve || !ages) return r.facts.submitted;
    std::int64_t share = 0;
    for (std::size_t d = 0; d < n; ++d) {
      const quantity most = books_.assumed().potential(r.facts.quota, d);
      if (most <= quantity{} || most == quantity::unlimited() || r.facts.request[d] <= quantity{}) continue;
      const wide part = static_cast<wide>(r.facts.request[d].in_milli()) * static_cast<wide>(share_of_all) /
                        static_cast<wide>(most.in_milli());
      share = std::max(share, static_cast<std::int64_t>(std::min(part, static_cast<wide>(share_of_all))));
    }
    const instant delay = aged_delay(r.estimate, share);
    const instant most = settings.strict_after;
    return later(r.facts.submitted, most == 0 ? delay : std::min(delay, most));
  }
  void on_new_tree() {
    const quota_tree<n>& tree = books_.tree();
    queues_.follow(tree);
    for (std::size_t i = 0; i < backoffs_.all().size();) {
      const quota_id x = backoffs_.all()[i].quota;
      tree.contains(x) ? void(++i) : backoffs_.forget(x);
    }
    review_nominations();
    news_.note(delay_cause::quotas);
    world_changed();
  }

  View view_;
  books_type books_;
  queues_type queues_;
  job_table<record> jobs_;
  detail::nominated_jobs<View, Placement> nominated_;
  detail::reservations reservations_;
  borrow_backoffs<n> backoffs_;
  /// When early jobs are ready, without those of which that is not known.
  time_limits early_;
  /// Who is ready by then is not early: the time of the last step.
  instant ready_by_ = ready_time::always;
  set_growth growth_ = set_growth::evenly;
  /// From when others may be evicted for those that wait.
  time_limits patience_;
  /// From when those that wait are too old to be passed.
  time_limits ages_;
  /// Until when jobs are spared, without those for good.
  time_limits spared_;
  vector<job_id> evicting_;
  reservation_news news_;
  std::uint64_t submissions_ = 0;
  std::uint64_t epoch_ = 1;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
