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
#include <allot/scheduler/availability.hpp>
#include <allot/scheduler/detail/flavor_walk.hpp>
#include <allot/scheduler/detail/foresight.hpp>
#include <allot/scheduler/detail/owned_profile.hpp>
#include <allot/scheduler/detail/parts_with_jobs.hpp>
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

/// Protects jobs that have not had the minimum runtime of their quota's settings.
template <class Session>
struct protection_by_settings {
  static constexpr std::size_t n = Session::n;
  const Session* session = nullptr;

  [[nodiscard]] bool operator()(const ledger<n>& l, const beneficiary<n>& b, const victim_candidate<n>& v,
                                const search_progress<n>& progress) const {
    if (!session->guarantees_runtime()) return false;
    const auto guarantee = [this](quota_id x) -> const runtime_guarantee& {
      return session->settings(x).min_runtime;
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
/// `queue_head::reserve`. Promised jobs are tried first, in the order of their reservations, whatever the
/// order of quotas by now.
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

  /// All its times move by that span: see `timekeeping_cycle`.
  void rebase(instant by) {
    if (claimed_at_) claimed_at_ = detail::moved(*claimed_at_, by);
  }

  /// What it remembers: see `resumable_cycle`.
  [[nodiscard]] cycle_memory memory(const Session&) const {
    cycle_memory m;
    m.claimed = claimed_at_;
    m.has_new_quotas = evicts_after_resize && is_new_tree_;
    m.ended_early = ended_early_;
    if constexpr (makes_reservations) m.may_miss = some_may_miss();
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
    claimed_at_ = m.claimed;
    is_new_tree_ = m.has_new_quotas;
    ended_early_ = m.ended_early;
    has_lost_start_ = m.may_miss;
  }

  /// Also whether it waits for a job that is ready soon: see `explaining_cycle`.
  void explain(Session& session,
               typename Session::plan_type::pending_job& p) requires Session::has_ready_times {
    session.explain(p);
    const record& r = session.at(p.id);
    if (!is_allowed(session, r)) return;
    p.kept_for = soon_.keeps_out(session, r);
    if (p.kept_for || !could_place(session.places(), r.pod_request)) return;
    if (!soon_.beside(session, [&] { return could_place(session.places(), r.pod_request); })) {
      p.kept_for = soon_.last_beside(session);
    }
  }

  /// Decides everything that can be decided now.
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
    search_.protection() = protection_of_all{{&session}, protection_};
    if constexpr (evicts_after_resize) {
      detail::show_jobs<VictimOrder>(shrink_.order(), session);
      if (std::exchange(is_new_tree_, false)) bring_down(session);
    }
    has_changed_ = session.has_changed();
    kept_by_ = delay_cause::none;
    // Each job that is considered becomes inadmissible, blocks its queue or is decided on, and
    // `preemption_turns` bounds how often; so a pass ends, and another one follows only if it has decided
    // something.
    do {
      decided_ = false;
      if (session.must_requeue()) {
        session.requeue_inadmissible();
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
          keep_owned(session);
          renew_reservations(session);
        }
      }
      has_changed_ = has_changed_ || decided_;
    } while (decided_ && (session.must_requeue() || others_may_claim(session) || must_look_again(session)));
    sort_shown();
    for (const quota_id x : shown_) {
      if (const auto first = session.first_of(x)) session.list_pending(*first, pending_reason::quota);
    }
    shown_.clear();
  }

 private:
  using record = typename Session::record;
  /// Otherwise nothing of reservations is compiled.
  static constexpr bool makes_reservations = Session::has_expected_ends;
  static constexpr bool foresees =
      makes_reservations && !std::same_as<forecast_of<typename Session::placement_type>, no_forecast>;
  static constexpr bool looks_ahead = Session::has_ready_times;
  static constexpr std::size_t most_moves = std::same_as<typename Session::placement_type, no_placement>
                                                ? 0
                                                : (0 + ... + detail::moves_of<Options>);
  static constexpr bool evicts_after_resize = (std::same_as<Options, eviction_after_resize> || ...);
  using fallback =
      std::conditional_t<(std::same_as<Options, no_second_pass> || ...), no_second_pass, second_pass>;

  /// In the place of a part that is not compiled.
  template <int>
  struct none {
    template <class... Args>
    explicit none(const Args&...) {}
  };

  /// How many reservations in the tree may stand on what quotas borrow, where owners reclaim: each looks at
  /// the whole tree. See `queue_head::reserve`.
  static constexpr std::size_t most_on_loans = 8;
  using owned_profile = detail::owned_profile<Session>;
  using order_of_victims = detail::order_in<VictimOrder, Session>;
  using protection_of_host = detail::protection_in<Protection, Session>;
  using protection_of_all = any_protection<detail::protection_by_settings<Session>, protection_of_host>;

  /// Jobs that became inadmissible before others were admitted may have a claim on what these borrow, or on
  /// what these have left others to borrow. Lets them be tried again; returns whether there are any.
  [[nodiscard]] bool others_may_claim(Session& session) {
    if (!std::exchange(admitted_, false)) return false;
    return (session.any_may_preempt() || most_moves > 0) && session.requeue_inadmissible();
  }

  void sort_shown() {
    detail::sort(shown_.begin(), shown_.end());
    shown_.erase(std::unique(shown_.begin(), shown_.end()), shown_.end());
  }

  /// Evicts excess jobs after quotas have shrunk.
  void bring_down(Session& session) {
    vector<quota_id> over;
    for (const quota_id x : session.tree().top_down()) {
      if (!session.assumed().is_sound(x)) over.push_back(x);
    }
    if (over.empty()) return;
    const savepoint before = session.assumed().save();
    shrink_.run(session.assumed(), session.running(), over, session.now());
    session.assumed().rollback(before);
    for (const victim<n>& v : shrink_.victims()) {
      if (!v.with_its_job) session.evict(v.job.id, {}, relation::resized);
    }
  }

  /// Updates the tournament with the best jobs and the usage of changed quotas.
  template <class Look>
  void show_changes(Session& session, Look look) {
    // Every quota has just been touched: one round of all matches costs less than one for each path.
    const bool is_first = std::exchange(nothing_shown_, false);
    bool others_too = is_first;
    session.take_touched([&](quota_id x) {
      shown_.push_back(x);
      others_too = look(x) || others_too;
      if (const auto first = next_of(session, x)) {
        const record& r = session.at(*first);
        // Reserved capacity counts as used.
        resources<n> request = session.reserved_amount(x);
        if (!r.has_reservation) request += r.facts.request;
        if (is_first) {
          turn_.enrol(x, request, r.rank, minimum_of(session, x, r));
        } else {
          turn_.enter(session.assumed(), x, request, r.rank, minimum_of(session, x, r));
        }
      } else if (!is_first) {
        turn_.leave(session.assumed(), x);
      }
    });
    if (others_too) turn_.refresh_all(session.assumed());
  }

  /// The least that the jobs of x that may be tried request, and whether one may preempt: what can't be ruled
  /// out cheaply counts as possible.
  [[nodiscard]] pending_minimum<n> minimum_of(Session& session, quota_id x, const record& first) const {
    auto p = pending_minimum<n>::of_none();
    const queue_settings& settings = session.settings(x);
    // A job that does not fit may still get a reservation.
    if (may_reserve(session, x) && session.first_of(x)) return {resources<n>{}, ~std::uint64_t{0}};
    const bool first_only = settings.head == queue_head::strict;
    std::int64_t priority = first.facts.priority;
    for (const auto& reserved : session.owned_reservations(x)) {
      if (session.was_tried(reserved.job)) continue;
      const record& r = session.at(reserved.job);
      priority = std::max(priority, r.facts.priority);
      for (std::size_t d = 0; d < n; ++d) p.least[d] = std::min(p.least[d], r.facts.request[d]);
    }
    if (first_only) {
      p.least = first.menu.empty() ? first.facts.request : resources<n>{};
    } else {
      session.for_each_open_class(x, [&](const auto& request_class) {
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
    const preempt_settings& may = session.settings(x).preempt;
    const auto running = session.running().jobs_of(x);
    const bool within = may.within != preempt_within::never && !running.empty() &&
                        (may.within == preempt_within::lower_priority ? running.back().priority < priority
                                                                      : running.back().priority <= priority);
    const bool others = asks_rivals(may) || may.borrow != preempt_borrow::never;
    if (within || others || (may.children && !session.tree().children(x).empty())) return all;
    if (may.reclaim == preempt_reclaim::never) return 0;
    std::uint64_t reclaims = 0;
    const ledger<n>& l = session.assumed();
    for (std::size_t d = 0; d < n; ++d) {
      if (request[d] <= l.supply_of(x, d).own_pool - l.own_usage(x, d)) reclaims |= std::uint64_t{1} << d;
    }
    return reclaims;
  }

  /// The job of x whose turn it is: one that holds a reservation on what x owns, or the first in its queue.
  [[nodiscard]] static std::optional<job_id> next_of(Session& session, quota_id x) {
    if constexpr (makes_reservations) {
      for (const auto& p : session.owned_reservations(x)) {
        if (!session.was_tried(p.job)) return p.job;
      }
    }
    return session.first_of(x);
  }
  void consider(Session& session, quota_id x) {
    if constexpr (makes_reservations) {
      if (consider_owned_of(session, x)) return;
    }
    const std::optional<job_id> next = session.first_of(x);
    // By now one that is ready soon blocks the queue.
    if (!next) return session.touch(x);
    const job_id id = *next;
    if (admit(session, id)) return;
    const pending_reason why = why_not();
    if constexpr (makes_reservations) {
      if (reserve(session, id)) return session.record_found(id, why);
    }
    // Those with a reservation come before it.
    const bool is_behind = session.settings(x).head == queue_head::reserve && !may_reserve(session, x);
    session.mark_inadmissible(x, why, delays_, !is_behind && must_not_be_passed(session, session.at(id)));
  }
  /// Whether no later job of its quota may start before it: see `queue_settings::strict_after`.
  [[nodiscard]] static bool must_not_be_passed(Session& session, const record& r) {
    const instant age = session.settings(r.facts.quota).strict_after;
    return age != 0 && session.now() >= later(r.facts.submitted, age) && !r.facts.elastic &&
           !session.is_early(r) && owned_profile::owns_request(session, r);
  }
  /// Why the job that was tried last is not admitted, if the books do not say it.
  [[nodiscard]] pending_reason why_not() const noexcept {
    if (declined_) return pending_reason::lost_work;
    return gave_up_ ? pending_reason::not_proven : pending_reason::quota;
  }
  /// Admits the pending job, if there is room or can be made.
  bool admit(Session& session, job_id id) {
    const record& r = session.at(id);
    const std::size_t first_eviction = session.plan().evictions.size();
    delays_.reset();
    kept_by_ = delay_cause::none;
    claims_ = declined_ = gave_up_ = false;
    if (session.is_early(r)) return false;
    const auto at = walk_flavors(
        session, r, [&] { return room_for(session, r); }, [&] { return make_room(session, r); });
    if (!at) return false;
    if (claims_) claimant_ = id;
    const quota_id x = r.facts.quota;
    const std::int64_t priority = r.facts.priority;
    admitted_ = decided_ = true;
    session.nominate(id, *at, first_eviction);
    if constexpr (makes_reservations) renew_passed(session, x, priority);
    return true;
  }

  /// Admits the job with a reservation, if it can start now. Time alone gives no job a better chance, even
  /// where it moves reserved starts: then it is not tried.
  bool admit_reserved(Session& session, job_id id) {
    if (!has_changed_) {
      kept_by_ = delay_cause::none;
      session.record_found(id, session.found(session.at(id)));
      return false;
    }
    if (admit(session, id)) return true;
    session.record_found(id, why_not());
    return false;
  }

  /// Whether its quota allows the job as it is.
  [[nodiscard]] static bool is_allowed(Session& session, const record& r) {
    return detail::quota_allows(session, r, session.now());
  }
  /// A place for the job as it is, if its quota allows it and it delays no reservation.
  [[nodiscard]] std::optional<typename Session::place> room_for(Session& session, const record& r) {
    gave_up_ = false;
    if (!is_allowed(session, r) || is_kept_out(session, r) || delays_owned(session, r)) return std::nullopt;
    if constexpr (foresees) {
      // Most that delay a reservation do so on any place: that is known before they are placed.
      if (!session.reservations_by_start().empty()) {
        if (!could_place(session.places(), r.pod_request)) return std::nullopt;
        if (const auto delayed = profile_.delayed_anywhere(session, r, claims_of(session))) {
          record_delay(session, r, delayed->at);
          return std::nullopt;
        }
      }
    }
    const auto at = place(session, r);
    if (!at) return std::nullopt;
    if constexpr (makes_reservations) {
      if (const auto displaced = owned_.first_displaced(session, r, *at, others_of(session, r))) {
        session.places().release(*at);
        record_delay(session, r, *displaced);
        return std::nullopt;
      }
      if (const auto delayed = profile_.first_delayed(session, r, *at, claims_of(session))) {
        session.places().release(*at);
        record_delay(session, r, delayed->at);
        return std::nullopt;
      }
    }
    return at;
  }
  /// Whether the job, which its quota allows, leaves what it asks for to one that is ready soon.
  [[nodiscard]] bool is_kept_out(Session& session, const record& r) {
    if constexpr (looks_ahead) {
      if (const job_id soon = soon_.keeps_out(session, r)) {
        note_kept(session, r, soon);
        return true;
      }
    }
    return false;
  }
  void note_kept(const Session& session, const record& r, job_id soon) {
    const bool is_own = session.at(soon).facts.quota == r.facts.quota;
    kept_by_ = is_own ? delay_cause::higher_priority : delay_cause::owner;
    record_delay(session, r, session.at(soon).ready.at);
  }
  /// A place for the job beside those that are ready soon, after `is_kept_out`.
  [[nodiscard]] std::optional<typename Session::place> place(Session& session, const record& r) {
    if constexpr (looks_ahead) {
      const auto at = soon_.beside(session, [&] { return session.places().place(r.pod_request); });
      const job_id last = soon_.last_beside(session);
      if (!at && last && could_place(session.places(), r.pod_request)) {
        note_kept(session, r, last);
      }
      return at;
    } else {
      return session.places().place(r.pod_request);
    }
  }
  void record_delay(const Session& session, const record& r, instant start) {
    // A start may be delayed by who is gone by then, too; who is gone earlier still is asked again.
    const instant ends_by = std::min(start, later(session.now(), r.estimate) - 1);
    delays_ = std::max(delays_.value_or(ends_by), ends_by);
  }

  // Reservations on what a quota owns.

  /// Whether a job takes precedence over a reservation on what its quota owns: its priority is higher.
  [[nodiscard]] static bool passes(const Session& session, quota_id x, std::int64_t priority,
                                   const typename Session::reservation_entry& p) {
    return session.settings(x).order == queue_order::priority && priority > session.at(p.job).facts.priority;
  }
  /// Whether a job starts by a reservation with an earlier turn than another's, by that time at the latest.
  [[nodiscard]] static bool comes_before(const Session& session, const record& r,
                                         const typename Session::reservation_entry& p, instant by) {
    if (!r.has_reservation) return false;
    const auto& own = session.reservation_of(r.facts.id);
    return own.number < p.number && own.what.start <= std::max(session.now(), by);
  }
  /// The reservations of its quota that a job must not delay.
  [[nodiscard]] static auto others_of(const Session& session, const record& r) {
    return [&session, &r](const typename Session::reservation_entry& p) {
      return p.job != r.facts.id && !passes(session, r.facts.quota, r.facts.priority, p) &&
             !comes_before(session, r, p, p.what.start);
    };
  }
  /// Whether a job with a reservation must not be passed by one that has none.
  [[nodiscard]] static bool passes_one_too_many(Session& session, const record& r) {
    if (session.settings(r.facts.quota).strict_after == 0) return false;
    const auto others = others_of(session, r);
    bool any = false;
    owned_profile::for_each_reservation_of(session, r.facts.quota, [&](const auto& p) {
      any = any || (others(p) && must_not_be_passed(session, session.at(p.job)));
    });
    return any;
  }
  [[nodiscard]] bool delays_owned(Session& session, const record& r) {
    if constexpr (!makes_reservations) {
      return false;
    } else {
      const auto others = others_of(session, r);
      auto delayed = owned_.first_delayed(session, r, others);
      if (!r.has_reservation && passes_one_too_many(session, r)) delayed = session.now();
      if (delayed) record_delay(session, r, *delayed);
      return delayed.has_value();
    }
  }
  /// Tries those of x that have not been tried, in their turn, until one starts. Returns whether there are
  /// any: what comes after them competes with other quotas' jobs by what it requests itself.
  bool consider_owned_of(Session& session, quota_id x) {
    bool any = false;
    for (auto next = next_of(session, x); next && session.at(*next).has_reservation;
         next = next_of(session, x)) {
      any = true;
      if (consider_owned(session, *next)) break;
    }
    return any;
  }
  /// Starts the job, or renews its reservation. Returns whether it has started.
  bool consider_owned(Session& session, job_id id) {
    const record& r = session.at(id);
    const quota_id x = r.facts.quota;
    if (session.settings(x).head != queue_head::reserve || !owned_profile::may_hold(session, r)) {
      session.withdraw_reservation(id);
      return false;
    }
    const reservation before = session.reservation_of(id).what;
    if (admit_reserved(session, id)) {
      // What made it late makes those behind it late.
      if (before.cause != delay_cause::none) renew_owned_of(session, x, before.cause);
      return true;
    }
    // It had room in its quota, and yet could not start.
    if (before.start <= session.now()) renew_owned_of(session, x, kept_by_);
    session.touch(x);
    return false;
  }
  /// Renews the reservations of quotas whose own jobs have changed.
  void keep_owned(Session& session) {
    session.take_renewing([&](quota_id x) {
      take_back_later(session, x);
      renew_owned_of(session, x, delay_cause::none);
    });
  }
  /// Where the admission of a job with a reservation was taken back, jobs of its quota that came after it
  /// were admitted as if it ran.
  void take_back_later(Session& session, quota_id x) {
    for (std::size_t i = 0; i < session.owned_reservations(x).size(); ++i) {
      const auto p = session.owned_reservations(x)[i];
      if (!p.is_back) continue;
      const auto comes_later = [&](const record& r) { return !passes(session, x, r.facts.priority, p); };
      // Some of them may hold reservations again, too.
      if (session.take_back_after(p, comes_later)) i = 0;
    }
  }
  /// Returns why its start has become later, if it has; `cause` is what is known of that.
  delay_cause renew_owned(Session& session, const typename Session::reservation_entry& p, delay_cause cause) {
    const record& r = session.at(p.job);
    // Those behind it keep their starts beside it. If it is late, or they are and would make it so, they are
    // renewed after it: or late ones could pass it for ever.
    const bool is_in_time = p.what.start > session.now() && p.what.start != without_end;
    const auto others = [&](const typename Session::reservation_entry& q) {
      if (q.job == p.job || q.number < p.number) return q.job != p.job;
      return is_in_time && (q.what.start > session.now() ||
                            later(session.now(), session.at(q.job).estimate) <= p.what.start);
    };
    const auto start = owned_.earliest(session, r, others);
    // All that it needs is there. If it could not start, that may change as long as it is not late.
    const bool is_hindered = !start && owned_.has_room(session, r);
    if (is_hindered && p.what.start != without_end &&
        (p.what.start > session.now() || !session.was_tried(p.job))) {
      return delay_cause::none;
    }
    reservation renewed = p.what;
    renewed.start = start ? start->at : without_end;
    renewed.after = start ? start->after : job_id{};
    if (is_hindered) {
      // Those end, too.
      constexpr typename availability<Session>::no_claims no_claims;
      const auto by_then = profile_.earliest(session, r, no_claims);
      renewed.start = by_then ? by_then->at : session.now();
      renewed.after = by_then ? by_then->after : job_id{};
    }
    const bool is_late = renewed.start > p.what.first_start || renewed.start <= session.now();
    const bool moves = renewed.start > p.what.start;
    if (cause == delay_cause::none && (moves || (is_late && p.what.cause == delay_cause::none))) {
      if (start && !start->waits_for_place) {
        cause = why_late(session, r.facts.quota);
      } else if (is_hindered && claimed_at_ != session.now() && !owned_profile::has_nodes(session) &&
                 !is_allowed(session, r)) {
        cause = delay_cause::protection;
      } else {
        cause = start || is_hindered ? delay_cause::owner : why_late(session, r.facts.quota);
      }
    }
    if (is_late && cause != delay_cause::none) renewed.cause = cause;
    if (!is_late) renewed.cause = delay_cause::none;
    session.renew_reservation(p.job, renewed);
    return moves ? cause : delay_cause::none;
  }
  /// Why a reservation of x is late, if nothing has been told.
  [[nodiscard]] delay_cause why_late(const Session& session, quota_id x) const {
    const auto ends = session.expected_ends_of(x);
    if (!ends.empty() && ends.front().at <= session.now()) return delay_cause::overrun;
    if (claimed_at_ == session.now()) return delay_cause::owner;
    // Who is overdue ends later with every moment.
    for (const auto& p : session.owned_reservations(x)) {
      if (p.what.start <= session.now() && p.what.cause != delay_cause::none) return p.what.cause;
    }
    // One of its quota that was to borrow was displaced by an owner, and it by that one.
    return delay_cause::owner;
  }
  /// Those of x in their turn; what makes one late makes those behind it late.
  void renew_owned_of(Session& session, quota_id x, delay_cause cause) {
    for (const auto& p : session.owned_reservations(x)) {
      const delay_cause moved = renew_owned(session, p, cause);
      if (moved != delay_cause::none) cause = moved;
    }
  }
  /// Renews those of x that a job of that priority has passed.
  void renew_passed(Session& session, quota_id x, std::int64_t priority) {
    for (const auto& p : session.owned_reservations(x)) {
      if (passes(session, x, priority, p)) {
        static_cast<void>(renew_owned(session, p, delay_cause::higher_priority));
      }
    }
  }
  /// Makes them all again, in their turn: the world has changed.
  void renew_all_owned(Session& session, delay_cause cause) {
    for (const quota_id x : session.with_owned_reservations()) {
      for (const auto& p : session.owned_reservations(x)) {
        reservation unknown = p.what;
        unknown.start = without_end;
        session.renew_reservation(p.job, unknown);
      }
      for (const auto& p : session.owned_reservations(x)) static_cast<void>(renew_owned(session, p, cause));
    }
  }
  /// Gives the pending job a reservation on what its quota owns, if that is enough for it.
  bool reserve_owned(Session& session, job_id id) {
    const record& r = session.at(id);
    if (!owned_profile::may_hold(session, r)) return false;
    const auto all = [](const typename Session::reservation_entry&) { return true; };
    const auto start = owned_.earliest(session, r, all);
    if (!start) return false;
    reservation p{start->at, start->at, start->after};
    p.owned = true;
    if (start->at <= session.now()) p.cause = delay_cause::overrun;
    session.reserve(id, p);
    return true;
  }

  // Reservations.

  /// Whether a job takes precedence over a reservation: its priority in the same quota is higher, or it uses
  /// what its quota owns, and the job with a reservation is to borrow. Who reclaims does so in `make_room`.
  struct claims {
    exhaustive_cycle& cycle;
    Session& session;

    [[nodiscard]] bool operator()(const record& r, const typename Session::reservation_entry& p) const {
      const record& reserved = session.at(p.job);
      const queue_settings& settings = session.settings(r.facts.quota);
      const bool is_own = r.facts.quota == reserved.facts.quota;
      const bool has_priority =
          settings.order == queue_order::priority && r.facts.priority > reserved.facts.priority;
      const bool is_claimed = is_own ? has_priority || comes_before(session, r, p, session.now())
                                     : may_change(r, p) && !session.would_borrow(r);
      cycle.claims_ = cycle.claims_ || is_claimed;
      return is_claimed;
    }
    /// Whether it may claim the reservation at one time and not at another.
    [[nodiscard]] bool may_change(const record& r, const typename Session::reservation_entry& p) const {
      return p.what.borrows && r.facts.quota != session.at(p.job).facts.quota &&
             (!waits_for_loans(session.settings(r.facts.quota)) || cycle.is_due_owner(session, r));
    }
  };
  [[nodiscard]] claims claims_of(Session& session) { return {*this, session}; }
  /// Whether the time has come at which the job is to start on what its quota owns; or, as others have ended
  /// early, all of that is there.
  [[nodiscard]] bool is_due_owner(Session& session, const record& r) {
    if (!r.has_reservation) return false;
    const reservation& own = session.reservation_of(r.facts.id).what;
    if (!own.owned || own.start <= session.now()) return own.owned;
    return owned_.has_room_now(session, r, others_of(session, r));
  }
  [[nodiscard]] static bool waits_for_loans(const queue_settings& settings) noexcept {
    return settings.owners_backfill && settings.preempt.reclaim == preempt_reclaim::any;
  }
  /// Whether one more job of x may hold a reservation.
  [[nodiscard]] static bool may_reserve(const Session& session, quota_id x) {
    if constexpr (!makes_reservations) return false;
    return may_hold_one_more(session.settings(x), session.reservations_held(x));
  }
  [[nodiscard]] static bool may_hold_one_more(const queue_settings& settings, std::size_t held) noexcept {
    return settings.head == queue_head::reserve && held < settings.reservations;
  }
  /// Gives jobs that are not ready reservations. Returns whether there are any.
  bool reserve_early([[maybe_unused]] Session& session) {
    bool any = false;
    if constexpr (makes_reservations && looks_ahead) {
      sort_shown();
      kept_by_ = delay_cause::none;
      for (const quota_id x : shown_) {
        while (may_hold_one_more(session.settings(x), session.early_reservations(x))) {
          const std::optional<job_id> id = session.first_early(x);
          if (!id) break;
          if (!reserve(session, *id)) {
            session.mark_early(x);
            continue;
          }
          renew_reservations(session);
          any = true;
        }
      }
    }
    return any;
  }
  /// Gives the pending job a reservation, if its quota has one left and its start can be determined.
  bool reserve(Session& session, job_id id) {
    const record& r = session.at(id);
    const bool is_early = session.is_early(r);
    if (r.facts.elastic || (!is_early && !may_reserve(session, r.facts.quota))) return false;
    if (passes_one_too_many(session, r)) return false;
    if (reserve_owned(session, id)) return true;
    // Who waits for one that is ready soon would not start any later by the profile.
    if (kept_by_ != delay_cause::none) return false;
    if (others_lend(session, r) && session.reservations().size() >= most_on_loans) return false;
    claims_ = false;
    std::optional<instant> gathers_since;
    auto start = profile_.earliest(session, r, claims_of(session));
    if (!start && !is_early && may_gather(session, r)) {
      claims_ = false;
      gathers_since = session.now();
      start = profile_.gathered(session, r, gives_up_at(session, r));
    }
    if (!start) return false;
    if (!gathers_since && !is_lasting(session, r, *start)) return false;
    if (claims_) claimant_ = id;
    reservation p = reservation_from(session, *start);
    p.gathers_since = gathers_since;
    session.reserve(id, p);
    return true;
  }
  /// Whether a start that does not stand on what the quota owns alone is likely to hold: others do not want
  /// back what it counts on, and it delays no job of its own quota.
  [[nodiscard]] static bool is_lasting(Session& session, const record& r,
                                       const typename availability<Session>::start& start) {
    if (start.borrows && is_wanted(session, r, start.at)) return false;
    const auto owned = session.owned_reservations(r.facts.quota);
    const instant from = std::max(start.at, session.now());
    return detail::none_of(owned.begin(), owned.end(), [&](const auto& p) {
      const instant until = later(std::max(p.what.start, session.now()), session.at(p.job).estimate);
      return p.what.start < later(from, r.estimate) && until > from;
    });
  }
  /// Whether what the job is to use beyond what its quota owns may be called in again.
  [[nodiscard]] static bool others_lend(const Session& session, const record& r) {
    return session.settings(r.facts.quota).preempt.reclaim == preempt_reclaim::any;
  }
  /// Whether others, of what they own and their pending jobs ask for, leave too little for the job at that
  /// time: a start then would be displaced.
  [[nodiscard]] static bool is_wanted(Session& session, const record& r, instant at) {
    ledger<n>& l = session.assumed();
    const savepoint before = l.save();
    for (const expected_end& e : session.expected_ends()) {
      if (e.at > at) break;
      const record& gone = session.at(e.job);
      l.release(gone.facts.quota, gone.facts.request, gone.facts.in);
    }
    for (const quota_id x : session.tree().top_down()) {
      if (x == r.facts.quota || session.waiting(x) == 0) continue;
      // Who is to borrow as reserved is known to.
      resources<n> asked = session.asked(x);
      for (const auto& p : session.reservations()) {
        const record& other = session.at(p.job);
        if (other.facts.quota == x && !session.is_early(other)) asked -= other.facts.request;
      }
      // Who is not ready does not ask before its start.
      for (const auto& p : session.owned_reservations(x)) {
        const record& other = session.at(p.job);
        if (session.is_early(other) && p.what.start <= at) asked += other.facts.request;
      }
      resources<n> wanted;
      for (std::size_t d = 0; d < n; ++d) {
        const quantity owned = l.supply_of(x, d).own_pool - l.own_usage(x, d);
        wanted[d] = std::max(quantity{}, std::min(owned, asked[d]));
      }
      if (wanted != resources<n>{} && l.can_count(x, wanted)) l.charge(x, wanted, capacity_kind::any);
    }
    const bool fits = l.fits(r.facts.quota, r.facts.request, r.facts.in);
    l.rollback(before);
    return !fits;
  }
  [[nodiscard]] static reservation reservation_from(const Session& session,
                                                    const typename availability<Session>::start& start) {
    reservation p{start.at, start.at, start.after, start.borrows};
    if (start.at <= session.now()) p.cause = delay_cause::overrun;
    return p;
  }
  /// Whether the time has come until which a job that was displaced would have gathered.
  [[nodiscard]] static bool is_over(const Session& session, const record& r) {
    return r.gathers_until && *r.gathers_until <= session.now();
  }
  /// When a job that begins to gather gives up: one that was displaced, when it would have.
  [[nodiscard]] static instant gives_up_at(const Session& session, const record& r) {
    if (r.gathers_until && !is_over(session, r)) return *r.gathers_until;
    return later(session.now(), session.settings(r.facts.quota).gather.longest);
  }
  /// Whether a job whose start can't be determined may gather.
  [[nodiscard]] static bool may_gather(Session& session, const record& r) {
    const quota_id x = r.facts.quota;
    const gathering& may = session.settings(x).gather;
    if (may.longest == 0 || session.now() < r.gathers_from) return false;
    // It was displaced, its time has come since, and so the pause after it.
    if (is_over(session, r) && session.now() < later(*r.gathers_until, may.longest)) return false;
    resources<n> together = r.facts.request;
    for (const auto& p : session.reservations()) {
      const record& other = session.at(p.job);
      if (p.what.gathers_since && other.facts.quota == x) together += other.facts.request;
    }
    for (std::size_t d = 0; d < n; ++d) {
      const quantity most = session.assumed().potential(x, d);
      if (r.facts.request[d] <= quantity{} || most == quantity::unlimited()) continue;
      if (static_cast<wide>(together[d].in_milli()) * 100 >
          static_cast<wide>(most.in_milli()) * static_cast<wide>(may.percent)) {
        return false;
      }
    }
    return true;
  }
  /// Starts the jobs with a reservation that can start now, and recomputes the starts of the others as far as
  /// something that may move them has happened.
  void keep_reservations(Session& session) {
    all_hold_ = false;
    const detail::reservation_news news = session.take_reservation_news();
    has_changed_ = has_changed_ || news.says_anything();
    if (news.cause == delay_cause::cluster || news.cause == delay_cause::quotas) {
      renew_all_owned(session, news.cause);
    }
    keep_owned(session);
    if (session.reservations().empty()) {
      ended_early_ = false;
      return;
    }
    if (!has_changed_ && !session.has_time_passed()) return;
    // Reservations that were made while a job overran rest on its end at any moment.
    const bool overruns = news.ends_from < session.now() || any_overruns(session);
    const delay_cause cause = news.cause == delay_cause::none && overruns ? delay_cause::overrun : news.cause;
    if (cause != delay_cause::none) {
      const bool in_turn = cause == delay_cause::cluster;
      reserve_again(
          session, [cause](const record&) { return cause; }, {}, in_turn);
    } else {
      const bool all = news.may_move_starts(session.now());
      ended_early_ = ended_early_ || all;
      const std::size_t before = session.reservations().size();
      to_keep_.clear();
      // Those whose time to gather is over come first: what they leave is for the others.
      const auto gives_up = [&](const typename Session::reservation_entry& p) {
        return p.what.gathers_since && p.what.start <= session.now();
      };
      for (const auto& p : session.reservations()) {
        if (gives_up(p)) to_keep_.push_back(p);
      }
      for (const auto& p : session.reservations()) {
        const bool may_be_found = p.what.start == without_end && news.says_anything();
        if (gives_up(p)) continue;
        if (all || may_be_found || p.what.start <= session.now()) to_keep_.push_back(p);
      }
      for (const auto& p : to_keep_) {
        keep(session, p, cause);
        if (claimant_) break;
      }
      if (session.any_may_preempt() && session.reservations().size() < before) let_owners_claim(session);
      // Who starts only when others have gone has no expected end until then, and seems to be in the way.
      if (session.evicting().empty() && take_some_may_miss()) {
        const auto why = claimed_at_ == session.now() ? delay_cause::owner : displaced_by(session);
        renew_missed(session, [why](const record&) { return why; });
      }
    }
    renew_reservations(session);
  }
  /// A job with a reservation that has started may borrow what the owner of another reservation can reclaim.
  void let_owners_claim(Session& session) {
    to_keep_.clear();
    for (const auto& p : session.reservations()) {
      if (!p.what.borrows && p.what.start > session.now()) to_keep_.push_back(p);
    }
    for (const auto& p : to_keep_) {
      if (claimant_) return;
      keep(session, p, delay_cause::none);
    }
  }
  /// Whether, since the last call, a reservation may have been made impossible by another one's move or lost
  /// start.
  [[nodiscard]] bool take_some_may_miss() {
    const bool has_lost_start = std::exchange(has_lost_start_, false);
    return profile_.take_saw_missed() || has_lost_start;
  }
  /// The same, to look only.
  [[nodiscard]] bool some_may_miss() const { return profile_.saw_missed() || has_lost_start_; }
  /// Renews the reservations whose capacity a job has claimed.
  void renew_reservations(Session& session) {
    while (claimant_) {
      const job_id by = std::exchange(claimant_, job_id{});
      claimed_at_ = session.now();
      if (!session.contains(by) || session.reservations().empty()) return;
      const quota_id quota = session.at(by).facts.quota;
      const std::int64_t priority = session.at(by).facts.priority;
      reserve_again(
          session,
          [=](const record& r) {
            return r.facts.quota == quota && r.facts.priority < priority ? delay_cause::higher_priority
                                                                         : delay_cause::owner;
          },
          by);
    }
  }
  /// Renews all reservations: that of `claimant`, if it holds one, then those with the earliest starts first,
  /// so that each keeps its start if it can. Where the cluster has changed no start means anything any more:
  /// then they are made again in their turn.
  template <class CauseFor>
  void reserve_again(Session& session, CauseFor cause_for, job_id claimant = {}, bool in_turn = false) {
    to_keep_.clear();
    if (in_turn) {
      to_keep_.append(session.reservations().begin(), session.reservations().end());
    } else {
      for (const std::size_t i : session.reservations_by_start()) {
        to_keep_.push_back(session.reservations()[i]);
      }
      for (const auto& p : session.reservations()) {
        if (p.what.start == without_end) to_keep_.push_back(p);
      }
    }
    const auto first =
        detail::find_if(to_keep_.begin(), to_keep_.end(), [&](const auto& p) { return p.job == claimant; });
    if (first != to_keep_.end()) std::rotate(to_keep_.begin(), first, first + 1);
    for (const auto& p : to_keep_) {
      reservation unknown = p.what;
      unknown.start = without_end;
      session.renew_reservation(p.job, unknown);
    }
    for (const auto& p : to_keep_) keep(session, p, cause_for(session.at(p.job)));
    renew_missed(session, cause_for);
  }
  /// Renews the reservations that would miss their starts. They are renewed one after the other, and where
  /// one is placed then may leave no place for one that was renewed before.
  template <class CauseFor>
  void renew_missed(Session& session, CauseFor cause_for) {
    for (std::size_t left = session.reservations().size(); left > 0 && !claimant_; --left) {
      const job_id job = profile_.first_to_miss(session);
      if (job.is_none()) return;
      const typename Session::reservation_entry p = session.reservation_of(job);
      reservation unknown = p.what;
      unknown.start = without_end;
      session.renew_reservation(job, unknown);
      keep(session, p, cause_for(session.at(job)));
    }
  }
  /// Whether reservations are looked at again after a decision: where some are due or, as a job overruns, all
  /// are made again each time, one may start now, e.g. as the placement picks another place, on which its job
  /// delays no other. What is being evicted is an occasion of its own when it has left.
  [[nodiscard]] bool must_look_again(const Session& session) const {
    if constexpr (makes_reservations) {
      if (session.reservations().empty() || !session.evicting().empty()) return false;
      const auto starts = session.reservations_by_start();
      const bool some_are_due =
          !starts.empty() && session.reservations()[starts.front()].what.start <= session.now();
      return some_are_due || some_may_miss() || any_overruns(session);
    }
    return false;
  }
  [[nodiscard]] static bool any_overruns(const Session& session) {
    const auto ends = session.expected_ends();
    return !ends.empty() && ends.front().at <= session.now();
  }
  /// What has taken what a reservation counted on, if nothing has been told: other places, or, where places
  /// do not matter, owners.
  [[nodiscard]] static delay_cause displaced_by(const Session& session) {
    return owned_profile::has_nodes(session) ? delay_cause::placement : delay_cause::owner;
  }
  /// Starts a job with a reservation if that is possible, or renews its reservation.
  void keep(Session& session, const typename Session::reservation_entry& p, delay_cause cause) {
    const record& r = session.at(p.job);
    if (session.settings(r.facts.quota).head != queue_head::reserve)
      return session.withdraw_reservation(p.job);
    if (admit_reserved(session, p.job)) {
      all_hold_ = false;
      return;
    }
    if (cause == delay_cause::none) cause = kept_by_;
    // `admit` has made its claims, and the others' reservations have been renewed since.
    constexpr typename availability<Session>::no_claims no_claims;
    const bool is_to_come = p.what.start > session.now() && p.what.start != without_end;
    const bool gathers = p.what.gathers_since.has_value();
    bool is_as_planned = false;
    std::optional<typename availability<Session>::start> start;
    if (is_to_come && cause == delay_cause::none) {
      // It can start earlier only with what has become free since its start was found.
      const instant freed_until = session.reservation_of(p.job).freed_until;
      start = profile_.earliest(session, r, no_claims, std::min(p.what.start, freed_until));
      if (!start) {
        // After that all is as it was, unless a job with a reservation is placed before.
        const auto& next = session.reservations()[session.reservations_by_start().front()];
        const bool stays = all_hold_ || next.what.start >= freed_until;
        if (stays && (gathers || session.contains(p.what.after))) {
          return session.renew_reservation(p.job, p.what);
        }
        start = profile_.planned(session, p.job);
        is_as_planned = all_hold_ = start.has_value();
      }
    }
    if (!start) start = profile_.earliest(session, r, no_claims);
    if (is_to_come && cause != delay_cause::none && p.what.start < (start ? start->at : without_end)) {
      session.renew_reservation(p.job, p.what);
      if (const auto as_planned = profile_.planned(session, p.job)) {
        start = as_planned;
        is_as_planned = true;
      }
    }
    if (gathers && !is_as_planned) {
      // Its start is known by now, or will not be.
      all_hold_ = false;
      if (start) return session.renew_reservation(p.job, reservation_from(session, *start));
      return stop_gathering(session, p);
    }
    reservation renewed = p.what;
    renewed.start = start ? start->at : without_end;
    renewed.after = start ? start->after : job_id{};
    if (start) renewed.borrows = start->borrows;
    const bool is_late = renewed.start > p.what.first_start || renewed.start <= session.now();
    // What a claim of this step has displaced may have displaced others in turn.
    if (cause == delay_cause::none && renewed.start > p.what.start && claimed_at_ == session.now()) {
      cause = delay_cause::owner;
    }
    // Who comes later in turn, but starts earlier, may be placed elsewhere with more room.
    if (cause == delay_cause::none && renewed.cause == delay_cause::none && ended_early_) {
      cause = displaced_by(session);
    }
    if (is_late && cause != delay_cause::none) renewed.cause = cause;
    if (!is_late) renewed.cause = delay_cause::none;
    all_hold_ = all_hold_ && renewed.start == p.what.start;
    has_lost_start_ = has_lost_start_ || (!start && p.what.start != without_end);
    session.renew_reservation(p.job, renewed);
  }

  /// The job gives up gathering, as its time is over or it was displaced.
  static void stop_gathering(Session& session, const typename Session::reservation_entry& p) {
    if (p.what.start <= session.now()) {
      const instant longest = session.settings(session.at(p.job).facts.quota).gather.longest;
      return session.give_up_gathering(p.job, later(session.now(), longest), std::nullopt);
    }
    // By a claim, or a change of the world. Not again in this step, or two could displace each other for
    // ever.
    session.give_up_gathering(p.job, later(session.now(), 1), p.what.first_start);
  }

  /// A place made by evicting others.
  [[nodiscard]] std::optional<typename Session::place> make_room(Session& session, const record& r) {
    if (!session.may_preempt_again(r) || delays_owned(session, r)) return std::nullopt;
    if (most_moves == 0 && reclaimable(session, r.facts.quota, r.facts.priority, r.facts.request) == 0) {
      return std::nullopt;
    }
    std::optional<wide> bearable;
    bool declined = false;
    if constexpr (makes_reservations) bearable = bearable_loss(session, r);
    const search_outcome outcome = session.make_room(search_, r, [&](std::span<const victim<n>> found) {
      if (is_kept_out(session, r)) return false;
      if (!bearable) return true;
      wide loss = 0;
      for (const victim<n>& v : found) loss += lost_work(v.job, session.now(), 0, n);
      declined = loss >= *bearable;
      return !declined;
    });
    declined_ = declined_ || declined;
    if (declined) return std::nullopt;
    gave_up_ = gave_up_ || outcome == search_outcome::not_proven;
    if (outcome != search_outcome::found) {
      // Who restarts elsewhere makes room on nodes alone.
      if constexpr (most_moves > 0) return move_others(session, r);
      return std::nullopt;
    }
    session.count_preemption(r);
    session.evict_found(search_.victims(), r.facts.id);
    const auto at = session.places().place(r.pod_request);
    ALLOT_ASSERT(at.has_value(), "the search found a place");
    if constexpr (makes_reservations) {
      // A job that was to start in this very step holds its reservation again, without a start.
      const bool lost_start = session.reservations().size() > session.reservations_by_start().size();
      claimed_at_ = session.now();
      claims_ = claims_ || lost_start || !profile_.all_hold_beside(session, r, *at);
    }
    return at;
  }

  /// What victims of the job may lose, at most: from then on it waits for its reservation instead. None if it
  /// does not.
  [[nodiscard]] std::optional<wide> bearable_loss(Session& session, const record& r) {
    const std::int32_t percent = session.settings(r.facts.quota).wait_if_loss_percent;
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
    if (owned_profile::may_hold(session, r)) {
      if (const auto owned = owned_.earliest(session, r, others_of(session, r))) return owned->at;
    }
    constexpr typename availability<Session>::no_claims no_claims;
    const auto start = profile_.earliest(session, r, no_claims);
    return start ? std::optional{start->at} : std::nullopt;
  }
  /// A place for a job that its quota allows, made by restarting others elsewhere.
  [[nodiscard]] std::optional<typename Session::place> move_others(Session& session, const record& r) {
    if (!is_allowed(session, r) || is_kept_out(session, r)) return std::nullopt;
    movable_.clear();
    for (const quota_id x : session.tree().top_down()) {
      const auto jobs = session.running().jobs_of(x);
      movable_.append(jobs.begin(), jobs.end());
    }
    // The first to yield moves first; jobs that have just started lose least.
    detail::sort(movable_.begin(), movable_.end(),
                 [](const auto& a, const auto& b) { return compare_as_victims(a, b) < 0; });
    const auto at = session.move_others(move_, r, movable_);
    if (at) {
      claims_ = true;
      session.count_preemption(r);
    }
    return at;
  }

  tournament<n, QuotaOrder> turn_;
  [[no_unique_address]] std::conditional_t<makes_reservations, availability<Session>, none<0>> profile_{};
  [[no_unique_address]] std::conditional_t<makes_reservations, owned_profile, none<3>> owned_{};
  victim_search<n, order_of_victims, detail::guard_in<Guard, Session>, protection_of_all, fallback> search_;
  [[no_unique_address]] std::conditional_t<(most_moves > 0), consolidation_search<n>, none<1>> move_;
  [[no_unique_address]] std::conditional_t<evicts_after_resize, resize_search<n, order_of_victims>, none<2>>
      shrink_;
  [[no_unique_address]] protection_of_host protection_;
  [[no_unique_address]] std::conditional_t<looks_ahead, detail::soon_ready<Session>, none<4>> soon_{};
  vector<running_job<n>> movable_;
  /// The quotas that have changed in this step. Their first jobs are in the plan, tried or not.
  vector<quota_id> shown_;
  /// The reservations to renew.
  vector<typename Session::reservation_entry> to_keep_;
  /// The job that has claimed the capacity of reservations since they were last renewed.
  job_id claimant_{};
  /// When that happened last.
  std::optional<instant> claimed_at_;
  /// The latest reserved start that the job considered would delay, or before its own end if that is
  /// earlier: if it ended by then, it might start.
  std::optional<instant> delays_;
  /// Whether a job has ended otherwise than expected since no job held a reservation.
  bool ended_early_ = false;
  /// Whether it is known, while reservations are kept, that all hold as they are.
  bool all_hold_ = false;
  /// Whether a reserved start has become unknown since reservations were last looked through.
  bool has_lost_start_ = false;
  /// Whether the considered job takes precedence over some reservation.
  bool claims_ = false;
  bool gave_up_ = false;
  /// What the considered job is late for if what it asks for is kept for one that is ready soon; else none.
  delay_cause kept_by_ = delay_cause::none;
  /// Whether it could preempt, but its victims would lose too much.
  bool declined_ = false;
  /// Whether a job has been admitted since the last requeue.
  bool admitted_ = false;
  /// Whether this pass has decided something.
  bool decided_ = false;
  /// Whether anything has happened since the last step by which jobs may start.
  bool has_changed_ = false;
  bool is_new_tree_ = false;
  bool nothing_shown_ = false;
};

}  // namespace v0
}  // namespace allot
