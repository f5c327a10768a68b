// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/change_feed.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/settings.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/detail/pending_queue.hpp>
#include <allot/scheduler/detail/requeue_watch.hpp>
#include <allot/scheduler/plan.hpp>
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

template <job_view View, placement Placement>
class session;

namespace detail {

template <job_view View, placement Placement>
class lifecycle;
template <job_view View, placement Placement>
class state_keeper;

/// What is kept by quota: who waits and in which order, what they request together, how they are treated, and
/// whether there is anything new for a cycle. Who comes and goes is told by `lifecycle` alone.
///
/// A pending job is in its queue, or holds a reservation. An early one, which is not ready yet, is in a queue
/// of those that may get one.
template <job_view View, placement Placement>
class queues {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using record = job_record<View, Placement>;
  /// Where the view does not say when jobs are ready, nothing is planned for those that are not.
  static constexpr bool has_ready_times = ready_view<View>;

  /// A job that is ready soon.
  struct soon_job {
    job_id job;
    quota_id quota;
    job_rank rank;
    instant ready_at = 0;

    /// By the order of `soon_ready`.
    friend bool operator<(const soon_job& a, const soon_job& b) noexcept {
      if (a.ready_at != b.ready_at) return a.ready_at < b.ready_at;
      return a.quota != b.quota ? a.quota.index() < b.quota.index() : a.rank < b.rank;
    }
    friend bool operator==(const soon_job& a, const soon_job& b) noexcept { return a.job == b.job; }
  };

  // How jobs are treated.

  /// With `by_guard` and `by_preset` resolved.
  [[nodiscard]] const queue_settings& settings(quota_id x) const { return of(x).settings; }
  /// Those of quotas that are not configured.
  [[nodiscard]] const queue_settings& defaults() const noexcept { return defaults_; }
  /// Whether some quota's settings guarantee a runtime, now or before.
  [[nodiscard]] bool guarantees_runtime() const noexcept { return guarantees_runtime_; }
  /// Whether evictions of its jobs are frozen.
  [[nodiscard]] bool is_frozen(quota_id x) const { return of(x).is_frozen; }
  /// Whether some quota's settings let jobs preempt, now or before.
  [[nodiscard]] bool any_may_preempt() const noexcept { return any_may_preempt_; }

  // How many there are.

  /// The jobs of x, whatever their state.
  [[nodiscard]] std::size_t jobs(quota_id x) const { return of(x).jobs; }
  /// Those that wait, including nominated ones and early ones with a reservation, but not the other early
  /// ones.
  [[nodiscard]] std::size_t waiting(quota_id x) const { return of(x).waiting - early_waiting(x); }
  /// The early ones without a reservation.
  [[nodiscard]] std::size_t early_waiting(quota_id x) const { return of(x).early_waiting; }
  /// Those of them that the host holds.
  [[nodiscard]] std::size_t held_waiting(quota_id x) const { return of(x).held_waiting; }
  /// The early ones with a reservation.
  [[nodiscard]] std::size_t early_reservations(quota_id x) const { return of(x).early_reservations; }
  /// Those that are ready and hold a reservation with a time.
  [[nodiscard]] std::size_t reservations_held(quota_id x) const { return of(x).reservations; }
  /// What these request together.
  [[nodiscard]] resources<n> reserved_amount(quota_id x) const { return of(x).reserved_amount.amount(); }
  /// What the pending jobs of x that are ready request together.
  [[nodiscard]] resources<n> asked(quota_id x) const { return of(x).asked.amount(); }

  // What is new.

  /// The queue or the usage of x has changed: a cycle that orders quotas must reorder it.
  void touch(quota_id x) {
    quota_state& q = state_of(x);
    if (!std::exchange(q.touched, true)) touched_.push_back(x);
    if (q.has_no_chance) look_again(x);
  }
  /// As if it had not.
  void untouch(quota_id x) {
    if (std::exchange(state_of(x).touched, false)) erase(touched_, x);
  }
  /// Calls `visit(quota)` for each quota touched since the last call.
  template <class Visit>
  void take_touched(Visit visit) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      state_of(touched_[i]).touched = false;
      visit(touched_[i]);
    }
    touched_.clear();
  }
  /// Inadmissible jobs may have better chances now.
  void let_requeue() noexcept { must_requeue_ = true; }
  /// Whether they may: something was given back, or the host changed the world. Until they are requeued.
  [[nodiscard]] bool must_requeue() const noexcept { return must_requeue_; }
  /// Whether anything has happened since jobs were last considered by which pending ones may start.
  [[nodiscard]] bool has_changed() const noexcept { return must_requeue_ || !touched_.empty(); }
  /// From now on the beginnings and ends of queue stays are recorded, for a cycle that reads them each step.
  void follow_stays() { stays_.follow(); }
  /// Calls `visit(queue_change)` for each stay that began or ended since the last call, in order: the job's
  /// id, the stay's ticket, and whether it `begins`. The job may be gone, or back under another ticket.
  template <class Visit>
  void take_stays(Visit visit) {
    stays_.take(visit);
  }

  // Who may be tried.

  /// The first job of x that may be tried now.
  [[nodiscard]] std::optional<job_id> first_of(quota_id x, instant now) {
    quota_state& q = state_of(x);
    const bool by_estimate =
        q.settings.backfill == backfill_order::shortest_estimate && q.reservations >= q.settings.reservations;
    const auto& first = q.queue.first(is_current(), now, by_estimate);
    if (!first) return std::nullopt;
    if constexpr (has_ready_times) {
      if (q.settings.head == queue_head::strict && is_behind_soon(x, first->rank)) return std::nullopt;
    }
    return first->id;
  }
  /// Calls `visit(request_class)` for each equivalence class of x with a job that may be tried, see
  /// `request_classes`; perhaps also for one whose jobs have all stopped waiting.
  template <class Visit>
  void for_each_open_class(quota_id x, Visit visit) const {
    of(x).queue.for_each_open_class([&](class_number number) {
      if (const auto* request_class = classes_.find(number)) visit(*request_class);
    });
  }
  /// The equivalence class with that number; null if no job has it.
  [[nodiscard]] const auto* request_class(class_number number) const { return classes_.find(number); }
  /// Whether every equivalence class in the queue of x is inadmissible and has `is_so(class_number, job_id)`
  /// for its first job. Of a strict queue only the job that blocks it counts.
  template <class IsSo>
  [[nodiscard]] bool all_tried(quota_id x, IsSo is_so) {
    return state_of(x).queue.all_tried(
        is_current(), settings(x).head == queue_head::strict,
        [&](class_number number, const pending_entry& e) { return is_so(number, e.id); });
  }
  /// Calls `visit(job_id)` for each job in the queue of x, inadmissible ones too, in no particular order.
  template <class Visit>
  void for_each_queued(quota_id x, Visit visit) const {
    of(x).queue.for_each([&](const pending_entry& e) {
      if (waits(e)) visit(e.id);
    });
  }
  /// Whether the job was tried since jobs were requeued last.
  [[nodiscard]] bool was_tried(const record& r) const noexcept {
    const std::uint32_t from = of(r.facts.quota).no_chance_from;
    return r.tried_at == requeues_ || (from != never && r.tried_at >= from && r.tried_at < requeues_);
  }
  /// Why a pending job waits, as noted when it was tried last; `quota`, which says no more than the books, if
  /// it was not since it could be.
  [[nodiscard]] pending_reason found(const record& r) const noexcept {
    return r.has_reservation || was_tried(r) ? r.found : pending_reason::quota;
  }

  /// Whether the jobs of x were not requeued with the others, as they have no chance.
  [[nodiscard]] bool has_no_chance(quota_id x) const { return of(x).has_no_chance; }
  /// The jobs that were not requeued for that reason are, after all; and, if they have been tried
  /// `too_early`, those that were tried since. Returns whether there were any of the former.
  bool requeue_without_chance(bool too_early) {
    bool any = false;
    for (const quota_id x : without_chance_) {
      state_of(x).is_listed = false;
      if (!state_of(x).has_no_chance) continue;
      requeue_jobs_of(x);
      any = true;
    }
    without_chance_.clear();
    if (!any || !too_early) return any;
    for (const quota_id x : with_inadmissible_) {
      state_of(x).has_inadmissible = false;
      requeue_jobs_of(x);
    }
    with_inadmissible_.clear();
    return true;
  }
  /// Whether one of them asks for more than `room` of that root.
  [[nodiscard]] bool any_waits_below(quota_id root, std::size_t d, quantity room) {
    return watch_.any_waits_below(root, d, room);
  }

  // Early jobs.

  /// Those that are ready within the horizons of their quotas (`queue_settings::ready_horizon`) as of this
  /// step, without those that have gone, the first to be ready first.
  [[nodiscard]] std::span<const soon_job> soon_ready() const noexcept requires has_ready_times {
    return soon_;
  }
  /// The first of x that may get a reservation, of those that `mark_early` has not ruled out; none while a
  /// job that is ready waits before it.
  [[nodiscard]] std::optional<job_id> first_early(quota_id x) requires has_ready_times {
    const auto& first = state_of(x).early.first(is_current());
    if (!first || state_of(x).queue.has_before(first->rank, is_current())) return std::nullopt;
    return first->id;
  }
  /// It can't get one, with those of its equivalence class, until all are requeued.
  void mark_early(quota_id x) requires has_ready_times {
    state_of(x).early.mark_inadmissible();
    has_inadmissible(x);
  }

 private:
  friend session<View, Placement>;
  friend lifecycle<View, Placement>;
  friend state_keeper<View, Placement>;
  using classes = request_classes<n, typename Placement::pod_request, menu_of<View>>;

  struct nothing {};
  struct quota_state {
    pending_queue queue;
    queue_settings settings;
    /// What the jobs in the queue request together.
    exact_sum<n> asked;
    /// What those of its jobs request that hold a reservation with a time, and how many there are; without
    /// the early ones.
    exact_sum<n> reserved_amount;
    std::size_t reservations = 0;
    /// Pending or nominated.
    std::size_t waiting = 0;
    std::size_t jobs = 0;
    bool has_inadmissible = false;
    /// Its inadmissible jobs were not requeued with the others: they have no chance before the quota is
    /// touched, or something else changes that is watched.
    bool has_no_chance = false;
    /// Whether it is in `without_chance_`.
    bool is_listed = false;
    /// The number of the requeue after which they were tried, if they were not requeued since.
    std::uint32_t no_chance_from = never;
    bool touched = false;
    bool is_frozen = false;
    /// How many early ones have no reservation, how many of these the host holds, and how many have one.
    std::size_t early_waiting = 0;
    std::size_t held_waiting = 0;
    std::size_t early_reservations = 0;
    /// The early ones that may get one.
    [[no_unique_address]] std::conditional_t<has_ready_times, pending_queue, nothing> early{};
  };
  [[nodiscard]] const quota_state& of(quota_id x) const { return quotas_[x.index()]; }
  [[nodiscard]] quota_state& state_of(quota_id x) { return quotas_[x.index()]; }

  void set_defaults(const queue_settings& settings) {
    defaults_ = settings;
    guarantees_runtime_ = settings.min_runtime != runtime_guarantee{};
    any_may_preempt_ = may_preempt(settings.preempt);
    most_ready_horizon_ = settings.ready_horizon.value_or(0);
    for (quota_state& q : quotas_) q.settings = settings;
  }
  void set_settings(quota_id x, const queue_settings& settings) {
    state_of(x).settings = settings;
    guarantees_runtime_ = guarantees_runtime_ || settings.min_runtime != runtime_guarantee{};
    any_may_preempt_ = any_may_preempt_ || may_preempt(settings.preempt);
    most_ready_horizon_ = std::max(most_ready_horizon_, settings.ready_horizon.value_or(0));
    touch(x);
  }
  /// All quotas of the tree are touched. Precondition: those no longer in it have no jobs.
  void follow(const quota_tree<n>& tree) {
    quota_state nothing_said;
    nothing_said.settings = defaults_;
    quotas_.resize(tree.slots(), nothing_said);
    watch_.reset(tree.slots());
    const auto is_gone = [&](quota_id x) { return !tree.contains(x); };
    erase_if(with_inadmissible_, is_gone);
    erase_if(without_chance_, is_gone);
    erase_if(touched_, is_gone);
    for (const quota_id x : tree.top_down()) touch(x);
  }

  [[nodiscard]] bool waits(const pending_entry& e) const { return tickets_[e.id.index()] == e.ticket; }
  [[nodiscard]] auto is_current() const {
    return [this](const pending_entry& e) { return waits(e); };
  }
  /// The pending job waits in the queue that is its own. If it is ready it is asked for.
  void join(record& r) {
    const std::size_t i = r.facts.id.index();
    if (tickets_.size() <= i) tickets_.resize(i + 1);
    tickets_[i] = ++r.ticket;
    quota_state& q = state_of(r.facts.quota);
    if (r.is_early()) {
      ++q.early_waiting;
      if (r.is_held) ++q.held_waiting;
      if constexpr (has_ready_times) {
        if (may_reserve_early(r)) q.early.push(r.request_class, entry_of(r));
      }
      return;
    }
    q.queue.push(r.request_class, entry_of(r));
    stays_.note({r.facts.id, r.ticket, true});
    q.asked += r.facts.request;
  }
  /// It no longer does. It is asked for as before.
  void take_out(const record& r) {
    quota_state& q = state_of(r.facts.quota);
    tickets_[r.facts.id.index()] = no_ticket;
    if (r.is_early()) {
      --q.early_waiting;
      if (r.is_held) --q.held_waiting;
      if constexpr (has_ready_times) {
        if (may_reserve_early(r)) q.early.take_out(r.request_class, r.facts.id);
      }
      return;
    }
    q.queue.take_out(r.request_class, r.facts.id);
    stays_.note({r.facts.id, r.ticket, false});
  }
  [[nodiscard]] static pending_entry entry_of(const record& r) {
    return {r.rank, r.facts.id, r.ticket, r.estimate};
  }
  /// Without an end of its own it would keep its place from all others, from then on.
  [[nodiscard]] static bool may_reserve_early(const record& r) noexcept {
    return (estimated_view<View> || time_limited_view<View>)&&r.estimate != without_end &&
           r.ready.at != without_end;
  }
  /// The pending job holds a reservation from now on.
  void count_reservation(const record& r) {
    quota_state& q = state_of(r.facts.quota);
    if (r.is_early()) return void(++q.early_reservations);
    q.reserved_amount += r.facts.request;
    ++q.reservations;
  }
  /// It holds none any more.
  void count_out_reservation(const record& r) {
    quota_state& q = state_of(r.facts.quota);
    if (r.is_early()) return void(--q.early_reservations);
    q.reserved_amount -= r.facts.request;
    --q.reservations;
  }

  /// The first job of x is inadmissible with those of its equivalence class that would not end by `ends_by`,
  /// or blocks its queue, as those of a strict one do.
  void mark_inadmissible(quota_id x, const std::optional<instant>& ends_by, bool blocks) {
    quota_state& q = state_of(x);
    if (blocks || q.settings.head == queue_head::strict) {
      q.queue.block_at_first();
    } else {
      q.queue.mark_inadmissible(ends_by);
    }
    has_inadmissible(x);
    touch(x);
  }
  /// All jobs of x are inadmissible until `take_up`: it is not requeued with the others.
  void set_aside(quota_id x) { state_of(x).queue.mark_all_inadmissible(is_current()); }
  /// They may be tried `again`, or when the others are requeued.
  void take_up(quota_id x, bool again) {
    if (again) return state_of(x).queue.requeue();
    has_inadmissible(x);
  }
  void has_inadmissible(quota_id x) {
    if (!std::exchange(state_of(x).has_inadmissible, true)) with_inadmissible_.push_back(x);
  }
  /// Lets inadmissible jobs be tried again, but not those of quotas without any `chances`, see there. Returns
  /// whether there are any.
  template <class... Chances>
  bool requeue(const Chances&... chances) {
    must_requeue_ = false;
    ++requeues_;
    (chances.look(watch_, [this](quota_id x) { look_again(x); }), ...);
    requeuing_.clear();
    std::swap(requeuing_, with_inadmissible_);
    bool any = false;
    for (const quota_id x : requeuing_) {
      quota_state& q = state_of(x);
      q.has_inadmissible = false;
      if ((chances.are_none(x, watch_) || ...)) {
        q.has_no_chance = true;
        q.no_chance_from = std::min(q.no_chance_from, requeues_ - 1);
        if (!std::exchange(q.is_listed, true)) without_chance_.push_back(x);
      } else {
        requeue_jobs_of(x);
        any = true;
      }
    }
    return any;
  }
  /// Lets all jobs of x be tried again.
  void requeue_jobs_of(quota_id x) {
    quota_state& q = state_of(x);
    watch_.forget(x);
    q.has_no_chance = false;
    q.no_chance_from = never;
    q.queue.requeue();
    if constexpr (has_ready_times) q.early.requeue();
    touch(x);
  }
  /// Whether the jobs of x still have no chance is to be found out when others are requeued.
  void look_again(quota_id x) {
    if (!std::exchange(state_of(x).has_no_chance, false)) return;
    watch_.forget(x);
    has_inadmissible(x);
  }
  /// What a cycle found when it tried the pending job.
  void record_found(record& r, pending_reason why) const noexcept {
    r.found = why;
    r.tried_at = requeues_;
  }
  void number_class(record& r) {
    r.request_class = classes_.add({r.facts.request, r.menu, placement_or_default::room_key(r.pod_request),
                                    r.facts.in, r.follows_priority ? classes::any_priority : r.facts.priority,
                                    r.may_preempt(), r.is_too_old, r.facts.elastic});
  }
  /// Whether that is the class that the job has by now: time has changed none of its chances.
  [[nodiscard]] bool is_numbered(const record& r) const {
    const auto& its = *classes_.find(r.request_class);
    return its.may_preempt == r.may_preempt() && its.is_too_old == r.is_too_old;
  }

  /// Whether a job of x that is ready soon comes before that rank.
  [[nodiscard]] bool is_behind_soon(quota_id x, const job_rank& rank) const requires has_ready_times {
    return detail::any_of(soon_.begin(), soon_.end(),
                          [&](const soon_job& soon) { return soon.quota == x && soon.rank < rank; });
  }
  void drop_soon(job_id id) requires has_ready_times {
    erase_if(soon_, [&](const soon_job& soon) { return soon.job == id; });
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (quota_state& q : quotas_) {
      q.queue.rebase(by);
      if constexpr (has_ready_times) q.early.rebase(by);
    }
  }

  static constexpr std::uint32_t no_ticket = 0;
  static constexpr std::uint32_t never = ~std::uint32_t{0};

  vector<quota_state> quotas_;
  /// By index of a job: the ticket under which it waits in a queue now.
  vector<std::uint32_t> tickets_;
  [[no_unique_address]] std::conditional_t<has_ready_times, vector<soon_job>, nothing> soon_{};
  change_feed<queue_change> stays_;
  classes classes_;
  queue_settings defaults_{};
  vector<quota_id> with_inadmissible_;
  /// Those of them that are being requeued.
  vector<quota_id> requeuing_;
  /// All whose jobs have no chance, and some whose jobs had none.
  vector<quota_id> without_chance_;
  requeue_watch<n, class_number> watch_;
  vector<quota_id> touched_;
  /// How often inadmissible jobs were let to be tried again.
  std::uint32_t requeues_ = 0;
  bool must_requeue_ = false;
  bool guarantees_runtime_ = false;
  bool any_may_preempt_ = false;
  /// The longest horizon in the settings of a quota, now or before.
  instant most_ready_horizon_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
