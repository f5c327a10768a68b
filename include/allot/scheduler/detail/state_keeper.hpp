// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/detail/lifecycle.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/state.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The quotas of a tree by the ids that those of the same names had in another.
template <std::size_t N>
[[nodiscard]] vector<quota_id> quotas_by_name(const quota_tree<N>& tree, const vector<std::string>& names) {
  vector<quota_id> all;
  for (const std::string& name : names) all.push_back(name.empty() ? quota_id{} : tree.find(name));
  return all;
}
/// Reads the state of a session, but for what its cycle remembers; or makes a new session the same.
template <job_view View, placement Placement>
class state_keeper {
 public:
  using session_type = session<View, Placement>;
  using record = job_record<View, Placement>;
  using place = typename Placement::allocation;
  using state_type = scheduler_state<typename View::job, place>;

  /// O(jobs + quotas).
  [[nodiscard]] static state_type save(const session_type& of) {
    const lifecycle_type& jobs = of.jobs_;
    state_type s;
    scheduler_memory& m = s.memory;
    if (of.has_stepped_) m.now = of.now_;
    for (std::size_t i = 0; i < of.tree().slots(); ++i) {
      const bool is_there = of.tree().contains(quota_id{i});
      m.quotas.emplace_back(is_there ? std::string{of.tree().name(quota_id{i})} : std::string{});
    }
    jobs.jobs_.for_each([&](const record& r) { s.units.push_back(unit_of(jobs, r)); });
    m.free_ids = jobs.jobs_.free_ids();
    m.most_jobs = static_cast<std::uint32_t>(jobs.jobs_.size());
    m.submissions = jobs.submissions_;
    for (const auto& d : jobs.nominated_.leaving())
      m.leaving.push_back({d.job, known(jobs, d.beneficiary), d.is_unneeded});
    m.nominated.append(jobs.nominated_.waiting().begin(), jobs.nominated_.waiting().end());
    for (const auto& e : jobs.reservations_.all()) m.reservations.push_back(held(jobs, e));
    for (const quota_id x : of.tree().top_down()) {
      for (const auto& e : jobs.reservations_.owned_by(x)) {
        m.reservations.push_back(held(jobs, e));
        m.reservations.back().is_untried = !jobs.queues_.was_tried(jobs.at(e.job));
      }
    }
    for (const auto& e : of.kept_) {
      if (jobs.contains(e.job)) m.former_reservations.push_back(held(jobs, e));
    }
    m.next_reservation = jobs.reservations_.next_number();
    m.backoffs = jobs.backoffs_.all();
    for (const quota_id x : of.tree().top_down()) save_queue(jobs, x, m);
    detail::sort(m.inadmissible.begin(), m.inadmissible.end(),
                 [](const auto& a, const auto& b) { return a.job < b.job; });
    m.touched = jobs.queues_.touched_;
    m.renewing.append(jobs.reservations_.changed().begin(), jobs.reservations_.changed().end());
    m.must_requeue = jobs.queues_.must_requeue_;
    m.freed_until = jobs.books_.freed_until();
    m.cause = jobs.news_.cause;
    m.starts_may_move = jobs.news_.starts_may_move;
    m.ended_from = jobs.news_.ends_from;
    m.ended_to = jobs.news_.ends_to;
    return s;
  }

  /// Makes the session the same; `ids` are the quotas by the ids that they had. `take(unit)` takes a place
  /// again and returns it, or none; `check(unit)` says why a job can't be known;
  /// `refuse(unit, why)` is told who is left out. Returns the quotas that have been touched since the last
  /// step: by now, all have been. Precondition: the session has known no job.
  template <class State, class Policies, class QuotaOf, class Check, class Take, class Refuse>
  [[nodiscard]] static vector<quota_id> resume(session_type& to, const State& s, const Policies& policies,
                                               std::span<const quota_id> ids, QuotaOf quota_of, Check check,
                                               Take take, Refuse refuse) {
    state_keeper k{to, s.memory, ids};
    return k.resume_all(s, policies, quota_of, check, take, refuse);
  }

 private:
  using lifecycle_type = lifecycle<View, Placement>;
  using queues_type = queues<View, Placement>;
  static constexpr bool has_expected_ends = lifecycle_type::has_expected_ends;
  static constexpr bool has_ready_times = lifecycle_type::has_ready_times;
  /// Where a job of the state is.
  struct seat {
    /// None if no job of the state has this index, or that has been left out.
    const unit_state* is = nullptr;
    /// Where that is in the state.
    std::size_t at = 0;
    /// For which job it leaves.
    job_id beneficiary{};
    bool is_unneeded = false;
    bool is_taken = false;
    bool has_reservation = false;
  };

  state_keeper(session_type& to, const scheduler_memory& m, std::span<const quota_id> ids)
      : session_(to), jobs_(to.jobs_), memory_(m), ids_(ids), seats_(m.most_jobs) {}

  // Reading.

  [[nodiscard]] static typename state_type::unit unit_of(const lifecycle_type& jobs, const record& r) {
    typename state_type::unit u;
    u.id = r.facts.id;
    u.state = r.state;
    if (r.facts.elastic) u.core = r.facts.core;
    u.elastic_pods = r.elastic_pods;
    u.pods_to_come = r.pods_to_come;
    u.pods = r.facts.pods;
    u.set = r.set;
    u.pick = r.pick;
    u.rank = r.rank;
    u.submitted = r.facts.submitted;
    u.estimate = r.estimate;
    if (r.is_early()) u.ready_at = r.ready.at;
    if (r.is_early() && r.ready.not_before != ready_time::always) u.not_before = r.ready.not_before;
    if (r.waits_since != r.facts.submitted) u.waits_since = r.waits_since;
    const bool holds = r.state == job_state::running || r.state == job_state::evicting;
    if (holds || r.state == job_state::nominated) u.since = r.facts.started;
    if (r.state == job_state::pending) u.found = jobs.queues_.found(r);
    u.preemptions = r.turns.taken_in(jobs.epoch_);
    u.follows_priority = r.follows_priority;
    u.is_over = r.is_over;
    u.is_starting = holds && r.is_starting;
    if (r.state == job_state::evicting && r.leaves_by != record::no_limit) u.leaves_by = r.leaves_by;
    u.is_held = r.is_held;
    if (r.spared_until != ready_time::always) u.spared_until = r.spared_until;
    if constexpr (has_expected_ends) {
      if (holds && r.had.is_some) {
        u.had_turn = r.had.number;
        u.had_start = r.had.first_start;
        u.had_own = r.had.owned;
      }
    }
    if (r.gathers_from != std::numeric_limits<instant>::min()) u.gathers_from = r.gathers_from;
    u.gathers_until = r.gathers_until;
    u.what = r.what;
    if (holds || r.state == job_state::nominated) u.where = r.where;
    return u;
  }
  /// The job, unless it has gone.
  [[nodiscard]] static job_id known(const lifecycle_type& jobs, job_id id) {
    return jobs.contains(id) ? id : job_id{};
  }
  [[nodiscard]] static scheduler_memory::held_reservation held(const lifecycle_type& jobs,
                                                               const reservations::entry& e) {
    scheduler_memory::held_reservation to{e.job, e.what, e.freed_until, e.number};
    to.what.after = known(jobs, e.what.after);
    to.is_back = e.is_back;
    const record& r = jobs.at(e.job);
    if (r.state != job_state::pending || (r.has_reservation && !e.is_back)) return to;
    for (const job_id id : jobs.nominated_.waiting()) {
      if (jobs.at(id).decided_at <= r.decided_at) ++to.behind;
    }
    return to;
  }
  static void save_queue(const lifecycle_type& jobs, quota_id x, scheduler_memory& m) {
    const pending_queue& queue = jobs.queues_.of(x).queue;
    save_inadmissible(jobs, queue, m);
    if constexpr (has_ready_times) save_inadmissible(jobs, jobs.queues_.of(x).early, m);
    const pending_entry* const first = queue.blocking();
    if (first != nullptr && jobs.queues_.waits(*first)) m.blocking.push_back(first->id);
  }
  static void save_inadmissible(const lifecycle_type& jobs, const pending_queue& queue, scheduler_memory& m) {
    class_number last{};
    queue.for_each_inadmissible([&](const pending_entry& e, const job_rank& rank, const auto& ends_by) {
      if (!jobs.queues_.waits(e)) return;
      const bool is_new = std::exchange(last, jobs.at(e.id).request_class) != jobs.at(e.id).request_class;
      if (is_new) m.inadmissible.push_back({e.id, rank, ends_by});
      m.inadmissible.back().job = std::min(m.inadmissible.back().job, e.id);
    });
  }

  // Resuming.

  template <class State, class Policies, class QuotaOf, class Check, class Take, class Refuse>
  vector<quota_id> resume_all(const State& s, const Policies& policies, QuotaOf quota_of, Check check,
                              Take take, Refuse refuse) {
    bool is_whole = true;
    const auto leave_out = [&](const auto& u, refusal why) {
      is_whole = false;
      refuse(u, why);
    };
    session_.has_stepped_ = memory_.now != scheduler_memory{}.now;
    if (session_.has_stepped_) session_.now_ = session_.last_look_ = memory_.now;
    if (session_.has_stepped_) jobs_.ready_by_ = memory_.now;
    jobs_.submissions_ = memory_.submissions;
    restore_ids();
    for (const bool is_pod : {false, true}) {
      for (std::size_t i = 0; i < s.units.size(); ++i) {
        const auto& u = s.units[i];
        if (static_cast<bool>(u.core) != is_pod) continue;
        refusal why = has_valid_id(u) ? check(u) : refusal::unknown_job;
        if (why == refusal::none && is_pod && !may_have_pod(u)) why = refusal::wrong_state;
        if (why != refusal::none) {
          leave_out(u, why);
          continue;
        }
        seats_[u.id.index()] = {&u, i, {}, false, true};
        is_pod ? read_pod(u) : read_core(u, quota_of(u.what), policies.not_preemptible);
      }
    }
    for (const auto& u : s.units) restore_order_of_pods(u);
    // First the places of what holds a share, whether it leaves or not: they are its own. Jobs come before
    // their pods, which are nothing without them.
    for (const bool is_pod : {false, true}) {
      for (const auto& u : s.units) {
        if (!is_known(u.id) || static_cast<bool>(u.core) != is_pod) continue;
        if (is_pod && !is_known(u.core)) {
          forget(u.id);
          leave_out(u, refusal::unknown_job);
        } else if (holds(u)) {
          const std::optional<place> at = take(u);
          if (at) jobs_.jobs_[u.id].where = *at;
          if (at) continue;
          forget(u.id);
          leave_out(u, refusal::unknown_place);
        }
      }
    }
    // Then what leaves: its place counts as free from now on, so that it can be taken for a nominated job.
    vector<job_id> order;
    for (const auto& d : memory_.leaving) {
      order.push_back(d.job);
      if (!is_known(d.job)) continue;
      seats_[d.job.index()].is_unneeded = d.is_unneeded;
      if (is_known(d.beneficiary)) seats_[d.job.index()].beneficiary = d.beneficiary;
    }
    for (const job_state in : {job_state::evicting, job_state::running}) {
      for (const auto& u : s.units) {
        if (u.state == in) order.push_back(u.id);
      }
    }
    for (const job_id id : order) {
      if (!is_known(id) || jobs_.jobs_[id].state != job_state::unknown || !holds(unit_at(id))) continue;
      const auto& u = s.units[seats_[id.index()].at];
      const bool has_job = !u.core || is_known(u.core);
      const bool has_place = !jobs_.books_.is_held(jobs_.jobs_[id].where);
      if (has_job && has_place && start(u)) continue;
      if (has_place) jobs_.books_.places.release(jobs_.jobs_[id].where);
      forget(id);
      leave_out(u, !has_job     ? refusal::unknown_job
                   : !has_place ? refusal::place_in_use
                                : refusal::invalid_request);
    }
    // What has left meanwhile nobody will report: who waited for it may start.
    for (const auto& d : memory_.leaving) {
      is_whole = is_whole && is_known(d.job) && jobs_.jobs_[d.job].state == job_state::evicting;
    }
    for (const job_id id : memory_.nominated) {
      if (!is_known(id) || unit_at(id).state != job_state::nominated) continue;
      const auto& u = s.units[seats_[id.index()].at];
      const std::optional<place> at = take(u);
      is_whole = at && nominate(u, *at) && is_whole;
    }
    for (const auto& r : memory_.reservations) {
      if (is_known(r.job)) seats_[r.job.index()].has_reservation = true;
    }
    // A nominated job that has lost its place waits, without its pods.
    for (const auto& u : s.units) {
      if (!is_known(u.id) || jobs_.jobs_[u.id].state != job_state::unknown) continue;
      if (may_wait(u)) {
        wait(u);
      } else {
        ++jobs_.jobs_[u.core].pods_to_come;
        forget(u.id);
      }
    }
    // In the next step it holds its reservation again.
    for (const auto& e : memory_.former_reservations) {
      if (!is_known(e.job)) continue;
      session_.kept_.push_back(entry(e));
      restore_turn(e);
    }
    restore_reservations();
    restore_queues();
    if constexpr (has_ready_times) jobs_.find_soon_ready(memory_.now);
    jobs_.queues_.must_requeue_ = memory_.must_requeue;
    jobs_.books_.restore_freed_until(memory_.freed_until);
    jobs_.news_ = {memory_.cause, memory_.starts_may_move, memory_.ended_from, memory_.ended_to};
    if (!is_whole) {
      jobs_.note(delay_cause::cluster);
      jobs_.world_changed();
    }
    jobs_.reservations_.take_changed([](quota_id) {});
    for (const quota_id x : memory_.renewing) {
      if (const quota_id now = quota_now(ids_, x)) jobs_.reservations_.note_change(now);
    }
    vector<quota_id> touched;
    for (const quota_id x : memory_.touched) {
      if (const quota_id now = quota_now(ids_, x)) touched.push_back(now);
    }
    return touched;
  }

  /// Ids that no job has are free; those that the state does not name are not used again.
  void restore_ids() {
    jobs_.jobs_.restore_size(memory_.most_jobs);
    for (const job_id id : memory_.free_ids) {
      if (id.index() >= seats_.size() || std::exchange(seats_[id.index()].is_taken, true)) continue;
      jobs_.jobs_.restore_free(id);
    }
  }
  [[nodiscard]] bool has_valid_id(const unit_state& u) const {
    return u.id.index() < seats_.size() && !seats_[u.id.index()].is_taken;
  }
  [[nodiscard]] bool is_known(job_id id) const {
    return id.index() < seats_.size() && seats_[id.index()].is != nullptr && seats_[id.index()].is->id == id;
  }
  [[nodiscard]] const unit_state& unit_at(job_id id) const { return *seats_[id.index()].is; }
  /// A pod waits only while its job runs or is nominated, and leaves with it.
  [[nodiscard]] bool may_have_pod(const unit_state& pod) const {
    if (!elastic_view<View> || !is_known(pod.core) || unit_at(pod.core).core) return false;
    const job_state core = unit_at(pod.core).state;
    if (core == job_state::nominated) return !holds(pod);
    return core == job_state::running || (core == job_state::evicting && pod.state == job_state::evicting);
  }
  void read_core(const auto& u, quota_id x, capacity_kind not_preemptible) {
    record& r = jobs_.jobs_.restore(u.id);
    read_job(r, jobs_.view_, u.what, u.rank.id);
    r.facts.quota = x;
    r.facts.id = u.id;
    r.facts.in = r.preemptible ? capacity_kind::any : not_preemptible;
    r.facts.submitted = u.submitted;
    restore(r, u);
    if (u.pods != r.facts.pods) read_request(r, jobs_.view_, u.pods);
    r.pods_to_come = u.pods_to_come;
    jobs_.set_pick(r, u.pick);
    ++jobs_.queues_.state_of(x).jobs;
  }
  void read_pod([[maybe_unused]] const auto& u) {
    if constexpr (elastic_view<View>) {
      record& core = jobs_.jobs_[u.core];
      record& r = jobs_.jobs_.restore(u.id);
      const std::uint32_t ticket = r.ticket;
      r = core;
      r.ticket = ticket;
      r.elastic_pods.clear();
      r.pods_to_come = 0;
      r.had = {};
      jobs_.read_pod(r, u.set);
      r.facts.id = u.id;
      r.facts.elastic = true;
      r.facts.core = u.core;
      restore(r, u);
      core.elastic_pods.push_back(u.id);
    }
  }
  void restore_order_of_pods(const unit_state& u) {
    if (u.elastic_pods.empty() || !is_known(u.id)) return;
    vector<job_id>& pods = jobs_.jobs_[u.id].elastic_pods;
    vector<job_id> in_order;
    for (const job_id pod : u.elastic_pods) {
      if (erase(pods, pod) != 0) in_order.push_back(pod);
    }
    pods.append(in_order.begin(), in_order.end());
  }
  void restore(record& r, const unit_state& u) {
    r.rank = u.rank;
    r.rank.id = r.facts.order;
    are_numbered_anew_ = are_numbered_anew_ || r.rank.id != u.rank.id;
    r.estimate = u.estimate;
    r.follows_priority = u.follows_priority;
    r.is_over = u.is_over && u.state == job_state::evicting;
    r.is_starting = u.is_starting;
    r.leaves_by = u.leaves_by.value_or(record::no_limit);
    r.is_held = u.is_held;
    r.is_frozen = jobs_.queues_.is_frozen(r.facts.quota);
    r.spared_until = ready_time::always;
    if (u.spared_until && u.state == job_state::running) {
      r.spared_until = *u.spared_until;
      if (r.spared_until != without_end) jobs_.spared_.watch(r.spared_until, {u.id, 0}, jobs_.still_spared());
    }
    if constexpr (has_expected_ends) {
      if (u.had_turn) r.had = {*u.had_turn, u.had_start, u.had_own, true};
    }
    r.turns.restore(jobs_.epoch_, u.preemptions);
    r.found = u.found;
    if (u.gathers_from) r.gathers_from = *u.gathers_from;
    r.gathers_until = u.gathers_until;
    r.ready.at = u.ready_at.value_or(ready_time::always);
    r.ready.not_before = u.not_before.value_or(ready_time::always);
    r.waits_since = u.waits_since.value_or(r.facts.submitted);
    jobs_.queues_.number_class(r);
  }
  void forget(job_id id) {
    jobs_.forget(id);
    seats_[id.index()].is = nullptr;
  }
  [[nodiscard]] static bool holds(const unit_state& u) {
    return u.state == job_state::running || u.state == job_state::evicting;
  }
  /// Books a job that runs, and its eviction if it is on its way out. Returns false if usage would overflow.
  [[nodiscard]] bool start(const unit_state& u) {
    record& r = jobs_.jobs_[u.id];
    stand_beside(r);
    charge_by_place(r, jobs_.view_, jobs_.books_.places);
    const auto can_count = [&](const auto& l) { return l.can_count(r.facts.quota, r.facts.request); };
    if (!can_count(jobs_.books_.assumed()) || !can_count(jobs_.books_.allocated())) return false;
    jobs_.books_.charge(r);
    jobs_.books_.start(r, u.since);
    jobs_.enter(r, job_state::running);
    if (u.state == job_state::running) return true;
    jobs_.books_.evict(r);
    jobs_.enter(r, job_state::evicting);
    const job_id beneficiary = seats_[u.id.index()].beneficiary;
    jobs_.nominated_.expect(u.id, is_known(beneficiary) ? beneficiary : job_id{},
                            seats_[u.id.index()].is_unneeded);
    return true;
  }
  /// Of a pod: whether its job is such that it may wait.
  [[nodiscard]] bool may_wait(const unit_state& u) const {
    const job_state core = jobs_.state(u.core);
    return !u.core || core == job_state::running || core == job_state::nominated;
  }
  /// What one more pod requests is read before its job has its place.
  void stand_beside([[maybe_unused]] record& r) {
    if constexpr (near_request<Placement>) {
      if (!r.facts.elastic) return;
      r.pod_request = r.pod_request.beside(jobs_.jobs_[r.facts.core].where);
      jobs_.renumber(r);
    }
  }
  /// Returns false if it waits instead.
  [[nodiscard]] bool nominate(const unit_state& u, const place& at) {
    record& r = jobs_.jobs_[u.id];
    if (r.state != job_state::unknown || !may_wait(u)) return false;
    if (jobs_.books_.is_held(at)) return false;
    r.where = at;
    stand_beside(r);
    charge_by_place(r, jobs_.view_, jobs_.books_.places);
    if (!jobs_.books_.assumed().can_count(r.facts.quota, r.facts.request)) return false;
    jobs_.books_.charge(r);
    jobs_.books_.nominate(r, u.since);
    jobs_.enter(r, job_state::nominated);
    r.decided_at = jobs_.nominated_.take_number();
    jobs_.nominated_.add(u.id);
    return true;
  }
  void wait(const unit_state& u) {
    record& r = jobs_.jobs_[u.id];
    stand_beside(r);
    jobs_.enter(r, job_state::pending);
    jobs_.watch_ready(r);
    jobs_.watch_patience(r);
    // If its quota reserves nothing any more, the next step withdraws it.
    r.has_reservation = has_expected_ends && !r.facts.elastic && seats_[u.id.index()].has_reservation;
    if (!r.has_reservation) return jobs_.queues_.join(r);
    if (!r.is_early()) jobs_.queues_.state_of(r.facts.quota).asked += r.facts.request;
    jobs_.queues_.count_reservation(r);
  }
  [[nodiscard]] reservations::entry entry(const scheduler_memory::held_reservation& e) const {
    reservations::entry to{e.job, jobs_.at(e.job).facts.quota, e.what, e.freed_until, e.number};
    if (!is_known(to.what.after)) to.what.after = {};
    to.is_back = e.is_back;
    return to;
  }
  /// One that waits was decided on after the nominated jobs before it.
  void restore_turn(const scheduler_memory::held_reservation& e) {
    const auto& waiting = jobs_.nominated_.waiting();
    if (jobs_.state(e.job) != job_state::pending || e.behind == 0 || waiting.empty()) return;
    const std::size_t last = std::min<std::size_t>(e.behind, waiting.size()) - 1;
    jobs_.at(e.job).decided_at = jobs_.at(waiting[last]).decided_at;
  }
  void restore_reservations() {
    vector<reservations::entry> all;
    for (const auto& e : memory_.reservations) {
      if (jobs_.state(e.job) != job_state::pending || !jobs_.at(e.job).has_reservation) continue;
      all.push_back(entry(e));
      restore_turn(e);
      if (e.is_untried) jobs_.at(e.job).tried_at = jobs_.queues_.requeues_ - 1;
    }
    jobs_.reservations_.restore(all, memory_.next_reservation);
  }
  /// What that rank of a job is now: the view may number jobs otherwise than the one that wrote the state.
  /// O(1) if it does not, else O(jobs).
  [[nodiscard]] job_rank rank_now(const job_rank& then) const {
    if (!are_numbered_anew_) return then;
    for (const seat& s : seats_) {
      if (s.is != nullptr && s.is->rank == then) return jobs_.at(s.is->id).rank;
    }
    return then;
  }
  void restore_queues() {
    for (const backoff& b : memory_.backoffs) {
      backoff known = b;
      known.quota = quota_now(ids_, b.quota);
      if (known.quota && b.dimension < dimensions<View>) static_cast<void>(jobs_.restore(known));
    }
    static_cast<void>(jobs_.backoffs_.take_ended(memory_.now));
    const auto queue_of = [&](job_id id) -> pending_queue* {
      if (jobs_.state(id) != job_state::pending || jobs_.at(id).has_reservation) return nullptr;
      const quota_id x = jobs_.at(id).facts.quota;
      jobs_.queues_.has_inadmissible(x);
      if constexpr (has_ready_times) {
        // One that may get no reservation is in no queue.
        if (jobs_.at(id).is_early())
          return queues_type::may_reserve_early(jobs_.at(id)) ? &jobs_.queues_.state_of(x).early : nullptr;
      }
      return &jobs_.queues_.state_of(x).queue;
    };
    for (const auto& i : memory_.inadmissible) {
      if (pending_queue* const q = queue_of(i.job)) {
        q->restore_inadmissible(jobs_.at(i.job).request_class, rank_now(i.rank), i.ends_by);
      }
    }
    for (const job_id id : memory_.blocking) {
      if (pending_queue* const q = queue_of(id)) q->restore_blocking(jobs_.at(id).request_class);
    }
  }

  session_type& session_;
  lifecycle_type& jobs_;
  const scheduler_memory& memory_;
  std::span<const quota_id> ids_;
  /// By index of the id.
  vector<seat> seats_;
  bool are_numbered_anew_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
