// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/preemption/consolidation.hpp>
#include <allot/preemption/lost_work.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/resized.hpp>
#include <allot/preemption/search.hpp>
#include <allot/scheduler/backfill/loan_reservations.hpp>
#include <allot/scheduler/backfill/owned_reservations.hpp>
#include <allot/scheduler/detail/attempt.hpp>
#include <allot/scheduler/detail/chances.hpp>
#include <allot/scheduler/detail/detours.hpp>
#include <allot/scheduler/detail/flavor_walk.hpp>
#include <allot/scheduler/detail/parts_with_jobs.hpp>
#include <allot/scheduler/detail/quota_allows.hpp>
#include <allot/scheduler/detail/soon_ready.hpp>
#include <allot/scheduler/reservation.hpp>
#include <allot/scheduler/session.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// Protects jobs that have not had the minimum runtime of their quota's settings, and those that are spared.
template <class Session>
struct protection_of_settings_and_detours {
  static constexpr std::size_t n = Session::n;
  const Session* session = nullptr;
  const detours<Session>* spared = nullptr;

  [[nodiscard]] bool operator()(const ledger<n>& l, const beneficiary<n>& b, const victim_candidate<n>& v,
                                const search_progress<n>& progress) const {
    if (spared->spares(*session, b.id, v.next.id)) return true;
    if (!session->queues().guarantees_runtime()) return false;
    const auto guarantee = [this](quota_id x) -> const runtime_guarantee& {
      return session->queues().settings(x).min_runtime;
    };
    return minimum_runtime<decltype(guarantee)>{guarantee}(l, b, v, progress);
  }
};

}  // namespace detail

/// The library's own cycle: takes the job whose turn it is, until nothing more can be decided.
///
/// What a job is given, and what is evicted for it, is assumed at once, so the next decision counts on it:
/// nothing overlaps and nothing is decided twice. Only quotas that lost something or whose queue changed are
/// reordered, so an unchanged world costs nothing.
///
/// Where a quota's head reserves, a blocked job gets a reservation at the earliest start that the
/// availability profile allows, and no later decision may delay it without a prior claim; see
/// `queue_head::reserve`. Jobs with a reservation come before all others of their quota: those that stand on
/// what it owns when its turn comes, in their order; those on the whole tree before all quotas, those that
/// gather first, the others by their starts.
///
/// The ways of a pending job into the plan, in this order, and what is asked on each:
///
/// - `room_for`, a free place: the quota, jobs that are ready soon, reservations on what its quota owns, all
///   others, the placement, and whether that place is one that reservations count on.
/// - `make_room`, others are evicted: how often it has preempted, how long it has waited, reservations on
/// what
///   its quota owns, the search for victims, jobs that are ready soon, other reservations of its quota, what
///   its victims would lose. What else is reserved it claims, and that is renewed.
/// - `move_others`, others restart elsewhere: the quota, jobs that are ready soon, that search.
///
/// A nominated job may be preempted like one that runs: who does so takes over what is evicted for it. And no
/// job is evicted that could start again at once, if the one it is evicted for finds other victims, or would
/// only change places with it: then all that the step evicts is decided on once more. That ends, as each time
/// a job must do without one more victim, or may have all again that it did without in vain.
///
/// A job that is not ready (`ready_view`) is not tried. Where its quota's head reserves, it may get a
/// reservation for when it is, in its turn and after all jobs that are ready have been tried: as many of each
/// quota as of those. What it is to take back soon is kept for it (`queue_settings::ready_horizon`).
///
/// Its type leaves out the order of jobs, which it does not use: policies that differ in that alone share it.
/// `Options` are those of `policies`.
template <class Session, class QuotaOrder, class VictimOrder, class Guard, class Protection, class... Options>
class exhaustive_cycle {
 public:
  /// The number of dimensions.
  static constexpr std::size_t n = Session::n;

  template <class Policies>
  explicit exhaustive_cycle(const Policies& policies)
      : turn_(policies.quotas),
        search_(policies.victims, policies.guard, policies.search_budget,
                protection_of_all{{}, policies.protection}),
        move_(most_moves),
        shrink_(policies.victims),
        protection_(policies.protection) {}

  /// Starts over on the session's tree.
  void reset(Session& session) {
    turn_.reset(session.tree());
    is_new_tree_ = nothing_shown_ = true;
  }

  /// @{
  /// The order of quotas and the guard, to change the data that they use: before a step, or in `look`.
  [[nodiscard]] QuotaOrder& quota_order() noexcept { return turn_.order(); }
  [[nodiscard]] auto& guard() noexcept { return search_.guard(); }
  /// @}

  /// Whether quotas may have `queue_head::reserve`.
  [[nodiscard]] static constexpr bool reserves() noexcept { return true; }
  /// Whether quotas may have a `borrow_backoff`.
  [[nodiscard]] static constexpr bool backs_off() noexcept { return true; }
  /// Whether quotas may have a `preempt_after`.
  [[nodiscard]] static constexpr bool delays_preemption() noexcept { return true; }

  /// All its times move by that span: see `timekeeping_cycle`.
  void rebase([[maybe_unused]] instant by) {
    if constexpr (makes_reservations) {
      if (backfill_.claimed_at) backfill_.claimed_at = detail::moved(*backfill_.claimed_at, by);
    }
  }

  /// What it remembers: see `resumable_cycle`.
  [[nodiscard]] cycle_memory memory(const Session&) const {
    cycle_memory m;
    m.has_new_quotas = evicts_after_resize && is_new_tree_;
    if constexpr (makes_reservations) {
      m.claimed = backfill_.claimed_at;
      m.ended_early = backfill_.ended_early;
      m.may_miss = backfill_.some_may_miss();
    }
    return m;
  }
  /// Continues from that; see `resumable_cycle`.
  [[nodiscard]] bool resume(Session& session, const cycle_memory& m, std::span<const quota_id>) {
    resume(session, m, [](quota_id) { return false; });
    return m.past_usage.empty();
  }
  /// The same, where quotas are ordered by what `look` sees: see `run`.
  template <class Look>
  void resume(Session& session, const cycle_memory& m, Look look) {
    show_changes(session, look);
    shown_.clear();
    is_new_tree_ = m.has_new_quotas;
    if constexpr (makes_reservations) {
      backfill_.claimed_at = m.claimed;
      backfill_.ended_early = m.ended_early;
      backfill_.has_lost_start = m.may_miss;
    }
  }

  /// What it explains beside the law is no bound.
  [[nodiscard]] bool binds_by_law() const noexcept { return true; }
  /// Also whether it waits for a job that is ready soon, or for a resize: see `explaining_cycle`.
  void explain(Session& session,
               typename Session::plan_type::pending_job& p) requires(Session::has_ready_times ||
                                                                     Session::has_expected_ends) {
    session.explain(p);
    const record& r = session.jobs().at(p.id);
    if (!is_allowed(session, r)) return;
    if constexpr (makes_reservations) p.resized_at = backfill_.profile.cut_off(session, r);
    if constexpr (looks_ahead) {
      p.kept_for = soon_.keeps_out(session, r);
      if (p.kept_for || !could_place(session.books().places, r.pod_request)) return;
      if (!soon_.beside(session, [&] { return could_place(session.books().places, r.pod_request); })) {
        p.kept_for = soon_.last_beside(session);
      }
    }
  }

  /// Decides everything that can be decided now: until no plan has a detour left that can be avoided,
  /// `decide` makes passes, each of which considers the jobs whose turn it is until none is left that was not
  /// tried.
  void run(Session& session) {
    run(session, [](quota_id) { return false; });
  }
  /// The same; `look(quota)` is called before a changed quota is reordered, and returns whether the order may
  /// see other quotas differently now, too.
  template <class Look>
  void run(Session& session, Look look) {
    detail::show_jobs<VictimOrder>(search_.order(), session);
    detail::show_jobs<Guard>(search_.guard(), session);
    detail::show_jobs<Protection>(protection_, session);
    search_.protection() = protection_of_all{{&session, &detours_}, protection_};
    if constexpr (evicts_after_resize) {
      detail::show_jobs<VictimOrder>(shrink_.order(), session);
      // What a freeze keeps goes when it ends.
      if (is_new_tree_) is_new_tree_ = !bring_down(session) && any_is_frozen(session);
    }
    has_changed_ = session.queues().has_changed();
    detours_.begin(session);
    do {
      decide(session, look);
    } while (detours_.avoid(
        session, [&](const record& r, job_id beneficiary) { return way_back_of(session, r, beneficiary); }));
    sort_shown();
    for (const quota_id x : shown_) {
      if (const auto first = session.first_of(x)) session.list_pending(*first, pending_reason::quota);
    }
    shown_.clear();
  }

 private:
  using record = typename Session::record;
  using place_type = typename Session::place;
  using attempt = detail::attempt;
  /// Otherwise nothing of reservations is compiled.
  static constexpr bool makes_reservations = Session::has_expected_ends;
  static constexpr bool foresees =
      makes_reservations &&
      !std::same_as<detail::kept_counter_of<typename Session::placement_type>, no_room_counter>;
  static constexpr bool looks_ahead = Session::has_ready_times;
  static constexpr std::size_t most_moves = std::same_as<typename Session::placement_type, no_placement>
                                                ? 0
                                                : (0 + ... + detail::moves_of<Options>);
  static constexpr bool evicts_after_resize = (std::same_as<Options, eviction_after_resize> || ...);
  /// Who has others restarted elsewhere may find room at any time.
  static constexpr bool requeues_all = (std::same_as<Options, requeue_all> || ...) || most_moves > 0;
  using fallback =
      std::conditional_t<(std::same_as<Options, no_second_pass> || ...), no_second_pass, second_pass>;

  /// In the place of a part that is not compiled.
  template <int>
  struct none {
    template <class... Args>
    explicit none(const Args&...) {}
  };

  using order_of_victims = detail::order_in<VictimOrder, Session>;
  using protection_of_host = detail::protection_in<Protection, Session>;
  using protection_of_all =
      any_protection<detail::protection_of_settings_and_detours<Session>, protection_of_host>;

  /// Considers jobs until none can be decided on.
  template <class Look>
  void decide(Session& session, Look look) {
    // Each job that is considered becomes inadmissible, blocks its queue or is decided on, and
    // `preemption_turns` bounds how often; so a pass ends, and another one follows only if it has decided
    // something.
    do {
      decided_ = false;
      if (session.queues().must_requeue()) {
        static_cast<void>(requeue(session));
        if constexpr (makes_reservations) loans(session).let_owners_claim_later();
        admitted_ = false;
      }
      if constexpr (makes_reservations) keep_reservations(session);
      for (show_changes(session, look);; show_changes(session, look)) {
        if (const quota_id x = turn_.best(session.tree())) {
          consider(session, x);
        } else if (!reserve_early(session)) {
          break;
        }
        if constexpr (makes_reservations) {
          // One whose admission was taken back comes before others of its quota.
          owned(session).renew_changed();
          loans(session).renew_claimed(admit_reserved_in(session));
        }
      }
      some_untried_ = false;
      has_changed_ = has_changed_ || decided_;
    } while (decided_ &&
             (session.queues().must_requeue() || others_may_claim(session) || must_look_again(session)));
  }
  /// How a job that is evicting for another could start again if it were pending.
  [[nodiscard]] detail::way_back way_back_of(Session& session, const record& r, job_id beneficiary) {
    using detail::way_back;
    attempt a;
    if (const auto at = room_for(session, r, a)) {
      session.books().places.release(*at);
      return way_back::elsewhere;
    }
    // Evicted it waits before it preempts.
    const bool is_patient = session.queues().settings(r.facts.quota).preempt_after > 0;
    if (is_patient || !r.preempts || !session.jobs().may_preempt_again(r) || !may_find_victims(session, r))
      return way_back::none;
    if constexpr (makes_reservations) {
      if (owned(session).are_delayed_by(r, a)) return way_back::none;
    }
    const job_id core = session.jobs().at(beneficiary).facts.core;
    way_back found = way_back::none;
    static_cast<void>(session.make_room(search_, r, [&](std::span<const victim<n>> victims) {
      const bool takes_it_back = detail::any_of(victims.begin(), victims.end(), [&](const victim<n>& v) {
        return v.job.id == beneficiary || (core && v.job.id == core);
      });
      found = takes_it_back ? way_back::from_the_beneficiary : way_back::elsewhere;
      return false;
    }));
    return found;
  }

  /// Jobs that became inadmissible before others were admitted may have a claim on what these borrow, or on
  /// what these have left others to borrow. Lets them be tried again; returns whether there are any.
  [[nodiscard]] bool others_may_claim(Session& session) {
    if (!std::exchange(admitted_, false)) return false;
    bool any = false;
    if constexpr (makes_reservations) any = loans(session).let_owners_claim_later();
    return ((session.queues().any_may_preempt() || most_moves > 0) && requeue(session)) || any;
  }
  bool requeue(Session& session) {
    if constexpr (requeues_all) return session.requeue_inadmissible();
    some_untried_ = true;
    return session.requeue_inadmissible(detail::chances<Session>{session, may_find_victims});
  }
  /// Before the job is admitted, and perhaps others are evicted for it: if that may matter to jobs that were
  /// not requeued because they had no chance, these are requeued after all, for they might have had their
  /// turn by now, or have a chance after it. Returns whether there are any.
  bool requeue_before(Session& session, const record& r, bool evicts) {
    if (!some_untried_ || !(evicts || leaves_too_little(session, r))) return false;
    some_untried_ = false;
    return session.queues().requeue_without_chance(!decided_);
  }
  /// Whether a root then leaves less than one of these asks for.
  [[nodiscard]] static bool leaves_too_little(Session& session, const record& r) {
    const ledger<n>& l = session.books().assumed();
    for (std::size_t d = 0; d < n; ++d) {
      quantity arriving = r.facts.request[d];
      quota_id x = r.facts.quota;
      for (; l.tree().parent(x); x = l.tree().parent(x)) arriving = l.passed_up(x, d, arriving);
      if (session.queues().any_waits_below(x, d, l.room(x, d) - arriving)) return true;
    }
    return false;
  }

  void sort_shown() {
    detail::sort(shown_.begin(), shown_.end());
    shown_.erase(std::unique(shown_.begin(), shown_.end()), shown_.end());
  }

  [[nodiscard]] static bool any_is_frozen(const Session& session) {
    const auto all = session.tree().top_down();
    return detail::any_of(all.begin(), all.end(), [&](quota_id x) { return session.queues().is_frozen(x); });
  }
  /// Evicts excess jobs after quotas have shrunk. Whether none is over its limits when they have gone.
  bool bring_down(Session& session) {
    vector<quota_id> over;
    for (const quota_id x : session.tree().top_down()) {
      if (!session.books().assumed().is_sound(x)) over.push_back(x);
    }
    if (over.empty()) return true;
    const savepoint before = session.books().assumed().save();
    const resize_outcome left =
        shrink_.run(session.books().assumed(), session.books().running(), over, session.now());
    session.books().assumed().rollback(before);
    for (const victim<n>& v : shrink_.victims()) {
      if (!v.with_its_job) session.evict(v.job.id, {}, relation::resized);
    }
    return left == resize_outcome::sound;
  }

  /// Updates the tournament with the best jobs and the usage of changed quotas.
  template <class Look>
  void show_changes(Session& session, Look look) {
    // Every quota has just been touched: one round of all matches costs less than one for each path.
    const bool is_first = std::exchange(nothing_shown_, false);
    bool others_too = is_first;
    session.queues().take_touched([&](quota_id x) {
      shown_.push_back(x);
      others_too = look(x) || others_too;
      if (const auto first = next_of(session, x)) {
        const record& r = session.jobs().at(*first);
        // Reserved capacity counts as used.
        resources<n> request = session.queues().reserved_amount(x);
        if (!r.has_reservation) request += r.facts.request;
        if (is_first) {
          turn_.enrol(x, request, r.rank, minimum_of(session, x, r));
        } else {
          turn_.enter(session.books().assumed(), x, request, r.rank, minimum_of(session, x, r));
        }
      } else if (!is_first) {
        turn_.leave(session.books().assumed(), x);
      }
    });
    if (others_too) turn_.refresh_all(session.books().assumed());
  }

  /// The least that the jobs of x that may be tried request, and whether one may preempt: what can't be ruled
  /// out cheaply counts as possible.
  [[nodiscard]] pending_minimum<n> minimum_of(Session& session, quota_id x, const record& first) const {
    auto p = pending_minimum<n>::of_none();
    const queue_settings& settings = session.queues().settings(x);
    // A job that does not fit may still get a reservation.
    if (may_reserve(session, x) && session.first_of(x)) return {resources<n>{}, ~std::uint64_t{0}};
    const bool first_only = settings.head == queue_head::strict;
    std::int64_t priority = first.facts.priority;
    for (const auto& reserved : session.reservations().owned_by(x)) {
      if (session.queues().was_tried(session.jobs().at(reserved.job))) continue;
      const record& r = session.jobs().at(reserved.job);
      priority = std::max(priority, r.facts.priority);
      const resources<n> least = r.menu.empty() ? r.facts.request : resources<n>{};
      for (std::size_t d = 0; d < n; ++d) p.least[d] = std::min(p.least[d], least[d]);
    }
    if (first_only) {
      p.least = first.menu.empty() ? first.facts.request : resources<n>{};
    } else {
      session.queues().for_each_open_class(x, [&](const auto& request_class) {
        priority = std::max(priority, request_class.priority);
        for (std::size_t d = 0; d < n; ++d) {
          p.least[d] =
              std::min(p.least[d], request_class.menu.empty() ? request_class.request[d] : quantity{});
        }
      });
    }
    p.reclaims = reclaimable(session, x, priority, p.least);
    return p;
  }
  /// The dimensions, as bits, in which preemption may make room for a job of x: what can't be ruled out
  /// cheaply counts.
  [[nodiscard]] static std::uint64_t reclaimable(Session& session, quota_id x, std::int64_t priority,
                                                 const resources<n>& request) {
    constexpr auto all = ~std::uint64_t{0};
    const preempt_settings& may = session.queues().settings(x).preempt;
    const auto running = session.books().running().jobs_of(x);
    const bool within = may.within != preempt_within::never && !running.empty() &&
                        (may.within == preempt_within::lower_priority ? running.back().priority < priority
                                                                      : running.back().priority <= priority);
    const bool others = asks_rivals(may) || may.borrow != preempt_borrow::never;
    if (within || others || (may.children && !session.tree().children(x).empty())) return all;
    if (may.reclaim == preempt_reclaim::never) return 0;
    std::uint64_t reclaims = 0;
    const ledger<n>& l = session.books().assumed();
    for (std::size_t d = 0; d < n; ++d) {
      if (request[d] <= l.supply_of(x, d).own_pool - l.own_usage(x, d)) reclaims |= std::uint64_t{1} << d;
    }
    return reclaims;
  }
  /// Whether a search for victims may find any for the job: on behalf of quotas above its own, too. An event
  /// of ten saturated quotas costs 10 to 20 % less than with a search each time (`bench/micro/reservations`).
  [[nodiscard]] static bool may_find_victims(Session& session, const record& r) {
    const quota_id own = r.facts.quota;
    resources<n> arriving = r.facts.request;
    if (reclaimable(session, own, r.facts.priority, arriving) != 0) return true;
    if (session.queues().settings(own).preempt.reclaim == preempt_reclaim::never) return false;
    const ledger<n>& l = session.books().assumed();
    for (quota_id x = own; l.tree().parent(x); x = l.tree().parent(x)) {
      for (std::size_t d = 0; d < n; ++d) {
        if (arriving[d] <= l.balance(x, d)) return true;
        arriving[d] = l.passed_up(x, d, arriving[d]);
      }
    }
    return false;
  }

  /// The job of x whose turn it is: one that holds a reservation on what x owns, or the first in its queue.
  [[nodiscard]] static std::optional<job_id> next_of(Session& session, quota_id x) {
    if constexpr (makes_reservations) {
      if (const job_id reserved = detail::owned_reservations<Session>::first_untried(session, x))
        return reserved;
    }
    return session.first_of(x);
  }
  void consider(Session& session, quota_id x) {
    if constexpr (makes_reservations) {
      // What comes after them competes with other quotas' jobs by what it requests itself.
      if (owned(session).try_each(x, admit_reserved_in(session))) return;
    }
    const std::optional<job_id> next = session.first_of(x);
    // By now one that is ready soon blocks the queue.
    if (!next) return session.queues().touch(x);
    const job_id id = *next;
    const attempt a = admit(session, id);
    if (a.is_admitted || a.is_put_off) return;
    if constexpr (makes_reservations) {
      if (reserve(session, id, a)) return session.record_found(id, a.why());
    }
    // Those with a reservation come before it.
    const bool is_behind =
        session.queues().settings(x).head == queue_head::reserve && !may_reserve(session, x);
    const bool blocks =
        !is_behind && detail::owned_reservations<Session>::must_not_be_passed(session, session.jobs().at(id));
    session.mark_inadmissible(x, a.why(), a.ends_by, blocks);
  }
  /// Admits the pending job, if there is room or can be made; it is put off if others have to be tried
  /// before.
  attempt admit(Session& session, job_id id) {
    const record& r = session.jobs().at(id);
    attempt a;
    if (r.is_early()) return a;
    const auto find_room = [&]() -> std::optional<place_type> {
      if (a.is_put_off) return std::nullopt;
      const auto at = room_for(session, r, a);
      if (!at || !requeue_before(session, r, false)) return at;
      session.books().places.release(*at);
      a.is_put_off = true;
      return std::nullopt;
    };
    const auto evict_others = [&]() -> std::optional<place_type> {
      if (a.is_put_off) return std::nullopt;
      return make_room(session, r, a);
    };
    const auto at = walk_flavors(session, r, find_room, evict_others);
    if (!at) return a;
    const quota_id x = r.facts.quota;
    const std::int64_t priority = r.facts.priority;
    a.is_admitted = admitted_ = decided_ = true;
    if constexpr (makes_reservations) {
      if (a.claims) backfill_.claimant = id;
    }
    session.nominate(id, *at);
    if constexpr (makes_reservations) owned(session).renew_passed(x, priority);
    return a;
  }

  /// Whether its quota allows the job as it is.
  [[nodiscard]] static bool is_allowed(Session& session, const record& r) {
    return detail::quota_allows(session, r, session.now());
  }
  /// A place for the job as it is, if its quota allows it and it delays no reservation.
  [[nodiscard]] std::optional<place_type> room_for(Session& session, const record& r, attempt& a) {
    a.gave_up = false;
    if (!is_allowed(session, r) || is_kept_out(session, r, a)) return std::nullopt;
    if constexpr (makes_reservations) {
      if (is_cut_off(session, r, a)) return std::nullopt;
      if (owned(session).are_delayed_by(r, a)) return std::nullopt;
    }
    if constexpr (foresees) {
      // Most that delay a reservation do so on any place: that is known before they are placed.
      if (!session.reservations().by_start().empty() &&
          (!could_place(session.books().places, r.pod_request) || loans(session).are_delayed_by(r, a))) {
        return std::nullopt;
      }
    }
    const auto at = place(session, r, a);
    if constexpr (makes_reservations) {
      if (at && (owned(session).are_displaced_by(r, *at, a) || loans(session).are_displaced_by(r, *at, a))) {
        session.books().places.release(*at);
        return std::nullopt;
      }
    }
    return at;
  }
  /// Whether the job, started now, would be more than its quota allows after a change that is known to come.
  [[nodiscard]] bool is_cut_off(Session& session, const record& r, attempt& a,
                                std::span<const victim<n>> gone = {}) requires makes_reservations {
    const std::optional<instant> at = backfill_.profile.cut_off(session, r, gone);
    if (at) a.is_delaying(*at, later(session.now(), r.estimate));
    return at.has_value();
  }
  /// Whether the job, which its quota allows, leaves what it asks for to one that is ready soon.
  [[nodiscard]] bool is_kept_out(Session& session, const record& r, attempt& a) {
    if constexpr (looks_ahead) {
      if (const job_id soon = soon_.keeps_out(session, r)) {
        note_kept(session, r, soon, a);
        return true;
      }
    }
    return false;
  }
  static void note_kept(const Session& session, const record& r, job_id soon, attempt& a) {
    const bool is_own = session.jobs().at(soon).facts.quota == r.facts.quota;
    a.kept_by = is_own ? delay_cause::higher_priority : delay_cause::owner;
    a.is_delaying(session.jobs().at(soon).ready.at, later(session.now(), r.estimate));
  }
  /// A place for the job beside those that are ready soon, after `is_kept_out`.
  [[nodiscard]] std::optional<place_type> place(Session& session, const record& r, attempt& a) {
    if constexpr (looks_ahead) {
      const auto at = soon_.beside(session, [&] { return session.books().places.place(r.pod_request); });
      const job_id last = soon_.last_beside(session);
      if (!at && last && could_place(session.books().places, r.pod_request)) note_kept(session, r, last, a);
      return at;
    } else {
      return session.books().places.place(r.pod_request);
    }
  }

  // Reservations.

  [[nodiscard]] auto owned(Session& session) {
    return detail::owned_reservations<Session>{session, backfill_};
  }
  [[nodiscard]] auto loans(Session& session) {
    return detail::loan_reservations<Session>{session, backfill_};
  }
  /// Admits the job with a reservation, if it can start now. Time alone gives no job a better chance, even
  /// where it moves reserved starts: then it is not tried.
  attempt admit_reserved(Session& session, job_id id) {
    if (!has_changed_) {
      session.record_found(id, session.queues().found(session.jobs().at(id)));
      return {};
    }
    // It comes before all that wait for their turn.
    if (std::exchange(some_untried_, false)) session.queues().requeue_without_chance(false);
    const attempt a = admit(session, id);
    if (!a.is_admitted) session.record_found(id, a.why());
    return a;
  }
  [[nodiscard]] auto admit_reserved_in(Session& session) {
    return [this, &session](job_id id) { return admit_reserved(session, id); };
  }
  /// Whether one more job of x may hold a reservation.
  [[nodiscard]] static bool may_reserve(const Session& session, quota_id x) {
    if constexpr (!makes_reservations) return false;
    return may_hold_one_more(session.queues().settings(x), session.queues().reservations_held(x));
  }
  [[nodiscard]] static bool may_hold_one_more(const queue_settings& settings, std::size_t held) noexcept {
    return settings.head == queue_head::reserve && held < settings.reservations;
  }
  /// Gives the pending job a reservation, if its quota has one left and its start can be determined. `a` is
  /// what became of trying it.
  bool reserve(Session& session, job_id id, const attempt& a) {
    const record& r = session.jobs().at(id);
    if (r.facts.elastic || (!r.is_early() && !may_reserve(session, r.facts.quota))) return false;
    if (owned(session).passes_one_too_many(r)) return false;
    if (owned(session).reserve(id)) return true;
    // Who waits for one that is ready soon would not start any later by the profile.
    return a.kept_by == delay_cause::none && loans(session).reserve(id);
  }
  /// Gives jobs that are not ready reservations. Returns whether there are any.
  bool reserve_early([[maybe_unused]] Session& session) {
    bool any = false;
    if constexpr (makes_reservations && looks_ahead) {
      sort_shown();
      for (const quota_id x : shown_) {
        while (may_hold_one_more(session.queues().settings(x), session.queues().early_reservations(x))) {
          const std::optional<job_id> id = session.queues().first_early(x);
          if (!id) break;
          if (!reserve(session, *id, {})) {
            session.queues().mark_early(x);
            continue;
          }
          loans(session).renew_claimed(admit_reserved_in(session));
          any = true;
        }
      }
    }
    return any;
  }
  /// Starts the jobs with a reservation that can start now, and renews those of the others that may have
  /// moved.
  void keep_reservations(Session& session) {
    const detail::reservation_news news = session.take_reservation_news();
    has_changed_ = has_changed_ || news.says_anything();
    if (news.are_made_again()) owned(session).renew_all(news.cause);
    owned(session).renew_changed();
    loans(session).keep_all(news, has_changed_, admit_reserved_in(session));
  }
  [[nodiscard]] bool must_look_again(Session& session) {
    if constexpr (makes_reservations) return loans(session).must_look_again();
    return false;
  }

  /// A place made by evicting others.
  [[nodiscard]] std::optional<place_type> make_room(Session& session, const record& r, attempt& a) {
    if (!session.jobs().may_preempt_again(r)) return std::nullopt;
    if (!r.may_preempt()) {
      a.is_patient = may_find_victims(session, r);
      return std::nullopt;
    }
    bool fits = false;
    std::optional<wide> bearable;
    if constexpr (makes_reservations) {
      if (owned(session).are_delayed_by(r, a)) return std::nullopt;
      bearable = bearable_loss(session, r);
      // Then what is free is kept for others.
      fits = a.ends_by && is_allowed(session, r) && could_place(session.books().places, r.pod_request);
    }
    enum class way { finds_none, evicts, takes_what_is_free, rather_waits } chosen = way::finds_none;
    const auto accept = [&](std::span<const victim<n>> found) {
      if (is_kept_out(session, r, a)) return false;
      if constexpr (makes_reservations) {
        if (is_cut_off(session, r, a, found)) return false;
        if (loans(session).are_delayed_within(r, found, fits, a)) return false;
      }
      if (fits) {
        // Those must yield to it as these would that it could evict.
        chosen = way::takes_what_is_free;
      } else if (bearable && lost_by(found, session.now()) >= *bearable) {
        chosen = way::rather_waits;
      } else {
        chosen = way::evicts;
      }
      a.is_put_off = chosen == way::evicts && requeue_before(session, r, true);
      return chosen == way::evicts && !a.is_put_off;
    };
    if (may_find_victims(session, r)) {
      a.gave_up |= session.make_room(search_, r, accept) == search_outcome::not_proven;
    }
    if (a.is_put_off) return std::nullopt;
    if (chosen == way::rather_waits) {
      a.declined = true;
      return std::nullopt;
    }
    if (chosen == way::finds_none) {
      // Who restarts elsewhere makes room on nodes alone.
      if constexpr (most_moves > 0) return move_others(session, r, a);
      return std::nullopt;
    }
    if (chosen == way::takes_what_is_free && requeue_before(session, r, false)) {
      a.is_put_off = true;
      return std::nullopt;
    }
    // Also of what is free: or two could take it from each other for ever.
    session.count_preemption(r);
    if (chosen == way::evicts) session.evict_found(search_.victims(), r.facts.id);
    const auto at = session.books().places.place(r.pod_request);
    ALLOT_ASSERT(at.has_value(), "the search found a place, or there was one");
    if constexpr (makes_reservations) loans(session).note_preemption(r, *at, a);
    return at;
  }
  /// What these would lose together if they were evicted now.
  [[nodiscard]] static wide lost_by(std::span<const victim<n>> victims, instant now) {
    wide lost = 0;
    for (const victim<n>& v : victims) lost += lost_work(v.job, now, 0, n);
    return lost;
  }

  /// What victims of the job may lose, at most: from then on it waits for its reservation instead. None if it
  /// does not.
  [[nodiscard]] std::optional<wide> bearable_loss(Session& session, const record& r) {
    const std::int32_t percent = session.queues().settings(r.facts.quota).wait_if_loss_percent;
    if (percent == 0 || r.facts.elastic) return std::nullopt;
    if (!r.has_reservation && !may_reserve(session, r.facts.quota)) return std::nullopt;
    const std::optional<instant> start = expected_start(session, r);
    if (!start || *start <= session.now()) return std::nullopt;
    wide amount = 0;
    for (std::size_t d = 0; d < n; ++d) {
      amount += static_cast<wide>(std::max(quantity{}, r.facts.request[d]).in_milli());
    }
    return (amount * static_cast<wide>(*start - session.now()) * static_cast<wide>(percent) + 99) / 100;
  }
  /// When a job starts at the latest if it waits, with a reservation or to get one.
  [[nodiscard]] std::optional<instant> expected_start(Session& session, const record& r) {
    if (const auto at = owned(session).earliest(r)) return at;
    return loans(session).earliest(r);
  }
  /// A place for a job that its quota allows, made by restarting others elsewhere.
  [[nodiscard]] std::optional<place_type> move_others(Session& session, const record& r, attempt& a) {
    if (!is_allowed(session, r) || is_kept_out(session, r, a)) return std::nullopt;
    movable_.clear();
    for (const quota_id x : session.tree().top_down()) {
      for (const running_job<n>& job : session.books().running().jobs_of(x)) {
        if (session.jobs().at(job.id).state == job_state::running) movable_.push_back(job);
      }
    }
    // The first to yield moves first; jobs that have just started lose least.
    detail::sort(movable_.begin(), movable_.end(),
                 [](const auto& x, const auto& y) { return compare_as_victims(x, y) < 0; });
    const auto at = session.move_others(move_, r, movable_);
    if (at) {
      a.claims = true;
      session.count_preemption(r);
    }
    return at;
  }

  // From step to step last the tournament, what reservations are made with, and whether quotas are new. All
  // else is of a step.
  tournament<n, QuotaOrder> turn_;
  [[no_unique_address]] std::conditional_t<makes_reservations, detail::backfill_state<Session>, none<0>>
      backfill_{};
  victim_search<n, order_of_victims, detail::guard_in<Guard, Session>, protection_of_all, fallback> search_;
  [[no_unique_address]] std::conditional_t<(most_moves > 0), consolidation_search<n>, none<1>> move_;
  [[no_unique_address]] std::conditional_t<evicts_after_resize, resize_search<n, order_of_victims>, none<2>>
      shrink_;
  [[no_unique_address]] protection_of_host protection_;
  [[no_unique_address]] std::conditional_t<looks_ahead, detail::soon_ready<Session>, none<4>> soon_{};
  detail::detours<Session> detours_;
  vector<running_job<n>> movable_;
  /// The quotas that have changed in this step. Their first jobs are in the plan, tried or not.
  vector<quota_id> shown_;
  /// Whether a job has been admitted since the last requeue.
  bool admitted_ = false;
  /// Whether this pass began with a requeue, without those that have no chance.
  bool some_untried_ = false;
  /// Whether this pass has decided something.
  bool decided_ = false;
  /// Whether anything has happened since the last step by which jobs may start.
  bool has_changed_ = false;
  bool is_new_tree_ = false;
  bool nothing_shown_ = false;
};

}  // namespace v0
}  // namespace allot
