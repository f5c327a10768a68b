// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/backfill/availability.hpp>
#include <allot/scheduler/backfill/detail/owned_profile.hpp>
#include <allot/scheduler/detail/attempt.hpp>
#include <allot/scheduler/detail/quota_allows.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace detail {

/// What reservations are made and renewed with.
template <class Session>
struct backfill_state {
  /// The time to come of the whole tree.
  availability<Session> profile;
  /// That of what single quotas own.
  owned_profile<Session> owned;
  /// The job that has claimed capacity of reservations since they were renewed last; none if none has.
  job_id claimant{};
  /// When a job did so last.
  std::optional<instant> claimed_at;
  /// Whether a job has ended otherwise than expected since no job held a reservation.
  bool ended_early = false;
  /// Whether a reserved start has become unknown since reservations were last looked through.
  bool has_lost_start = false;
  /// Whether others have been admitted since owners with a reservation were tried.
  bool owners_may_claim = false;
  /// The reservations to renew.
  vector<typename Session::reservation_entry> to_keep;

  /// Whether a reservation may have been made impossible by another one's move or lost start.
  [[nodiscard]] bool some_may_miss() const { return profile.saw_missed() || has_lost_start; }
};

/// The job holds its reservation without a start, until that is found again.
template <class Session>
void forget_start(Session& session, const typename Session::reservation_entry& p) {
  reservation unknown = p.what;
  unknown.start = without_end;
  session.renew_reservation(p.job, unknown);
}

/// The reservations that stand on what a quota owns. No other quota can displace them, unless by jobs that
/// may not be preempted: what others borrow of it comes back when asked for. So each is made, delayed and
/// renewed by the jobs of its own quota alone.
///
/// Lives as long as a call; all that it knows is in the session and in `backfill_state`.
template <class Session>
class owned_reservations {
 public:
  using record = typename Session::record;
  using place = typename Session::place;
  using reservation_entry = typename Session::reservation_entry;

  owned_reservations(Session& session, backfill_state<Session>& state) : session_(session), state_(state) {}

  /// Whether no later job of its quota may start before it: see `queue_settings::strict_after`.
  [[nodiscard]] static bool must_not_be_passed(Session& session, const record& r) {
    return r.is_too_old && !r.facts.elastic && !r.is_early() &&
           owned_profile<Session>::owns_request(session, r);
  }
  /// Whether a job without a reservation would pass one with a reservation that must not be passed.
  [[nodiscard]] bool passes_one_too_many(const record& r) const {
    if (session_.queues().settings(r.facts.quota).strict_after == 0) return false;
    const auto others = others_of(r);
    bool any = false;
    owned_profile<Session>::for_each_reservation_of(session_, r.facts.quota, [&](const auto& p) {
      any = any || (others(p) && must_not_be_passed(session_, session_.jobs().at(p.job)));
    });
    return any;
  }
  /// Whether a job of x takes precedence over a reservation there: its priority is higher.
  [[nodiscard]] bool passes(quota_id x, std::int64_t priority, const reservation_entry& p) const {
    return session_.queues().settings(x).order == queue_order::priority &&
           priority > session_.jobs().at(p.job).facts.priority;
  }
  /// Whether a job starts by a reservation with an earlier turn than another's, by that time at the latest.
  [[nodiscard]] bool comes_before(const record& r, const reservation_entry& p, instant by) const {
    if (!r.has_reservation) return false;
    const auto& own = *session_.jobs().reservation_of(r.facts.id);
    return own.number < p.number && own.what.start <= std::max(session_.now(), by);
  }

  /// Whether the job, started now, would delay one of its quota by what it takes of what that owns.
  [[nodiscard]] bool are_delayed_by(const record& r, attempt& a) {
    auto delayed = state_.owned.first_delayed(session_, r, others_of(r));
    if (!r.has_reservation && passes_one_too_many(r)) delayed = session_.now();
    if (delayed) a.is_delaying(*delayed, later(session_.now(), r.estimate));
    return delayed.has_value();
  }
  /// The same by its place, which has been taken.
  [[nodiscard]] bool are_displaced_by(const record& r, const place& where, attempt& a) {
    const auto displaced = state_.owned.first_displaced(session_, r, where, others_of(r));
    if (displaced) a.is_delaying(*displaced, later(session_.now(), r.estimate));
    return displaced.has_value();
  }
  /// The start that a job of its quota would get, if it may hold a reservation and there is one.
  [[nodiscard]] std::optional<instant> earliest(const record& r) {
    if (!owned_profile<Session>::may_hold(session_, r)) return std::nullopt;
    const auto start = state_.owned.earliest(session_, r, others_of(r));
    return start ? std::optional{start->at} : std::nullopt;
  }
  /// Whether the time has come at which the job is to start on what its quota owns; or, as others have ended
  /// early, all of that is there.
  [[nodiscard]] bool is_due(const record& r) {
    if (!r.has_reservation) return false;
    const reservation& own = session_.jobs().reservation_of(r.facts.id)->what;
    if (!own.owned || own.start <= session_.now()) return own.owned;
    return state_.owned.has_room_now(session_, r, others_of(r));
  }

  /// Gives the pending job a reservation, if what its quota owns is enough for it.
  bool reserve(job_id id) {
    const record& r = session_.jobs().at(id);
    if (!owned_profile<Session>::may_hold(session_, r)) return false;
    const auto all = [](const reservation_entry&) { return true; };
    const auto start = state_.owned.earliest(session_, r, all);
    if (!start) return false;
    reservation p{start->at, start->at, start->after};
    p.owned = true;
    if (start->at <= session_.now()) p.cause = delay_cause::overrun;
    session_.reserve(id, p);
    return true;
  }
  /// The reservation on loans stands on what its job's quota owns, if that is enough by now for a start that
  /// is not later: no owner displaces it there. Returns whether it does.
  bool take_over(const reservation_entry& p, delay_cause cause) {
    const record& r = session_.jobs().at(p.job);
    if (!owned_profile<Session>::may_hold(session_, r)) return false;
    const auto others = [&](const reservation_entry& q) { return q.job != p.job; };
    const auto start = state_.owned.earliest(session_, r, others);
    if (!start || start->at > p.what.start) return false;
    reservation own = p.what;
    own.start = start->at;
    own.after = start->after;
    own.owned = true;
    own.borrows = false;
    own.gathers_since.reset();
    if (own.start > session_.now() && own.start <= own.first_start) {
      own.cause = delay_cause::none;
    } else if (own.cause == delay_cause::none) {
      own.cause = cause != delay_cause::none ? cause : why_late(p, {}, false).cause;
    }
    session_.renew_reservation(p.job, own);
    return true;
  }
  /// Tries those of x that have not been tried, in their turn, until one starts: `admit(job_id)` returns an
  /// attempt. Returns whether there are any.
  template <class Admit>
  bool try_each(quota_id x, Admit admit) {
    bool any = false;
    for (job_id next = first_untried(session_, x); next; next = first_untried(session_, x)) {
      any = true;
      if (try_one(next, admit)) break;
    }
    return any;
  }
  /// The first of x that has not been tried; none if all have.
  [[nodiscard]] static job_id first_untried(const Session& session, quota_id x) {
    for (const reservation_entry& p : session.reservations().owned_by(x)) {
      if (!session.queues().was_tried(session.jobs().at(p.job))) return p.job;
    }
    return {};
  }

  /// Why a start has become later. Who has higher priority takes precedence, but not over all that come
  /// behind whom it has delayed.
  struct delay {
    delay_cause cause = delay_cause::none;
    /// Of that job.
    std::int64_t priority = std::numeric_limits<std::int64_t>::max();
  };
  /// That of a job which is late for that cause.
  [[nodiscard]] static delay of(delay_cause cause, const record& r) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return {cause, r.facts.priority == most ? most : r.facts.priority + 1};
  }
  /// Why one of its quota is late that comes before a reservation, and so may make it late, too.
  [[nodiscard]] delay before_it(const reservation_entry& p) const {
    delay found;
    owned_profile<Session>::for_each_reservation_of(session_, p.quota, [&](const reservation_entry& q) {
      if (q.number >= p.number || found.cause != delay_cause::none) return;
      if (const delay its = of(q.what.cause, session_.jobs().at(q.job)); is_inherited(its, p)) found = its;
    });
    return found;
  }
  /// Whether it makes a reservation late, too.
  [[nodiscard]] bool is_inherited(const delay& d, const reservation_entry& p) const {
    return d.cause != delay_cause::higher_priority || passes(p.quota, d.priority, p);
  }

  /// Renews those of quotas whose own jobs have changed.
  void renew_changed() {
    session_.take_renewing([&](quota_id x) {
      take_back_later(x);
      renew_of(x, {});
    });
  }
  /// Renews those of x that a job of that priority has passed.
  void renew_passed(quota_id x, std::int64_t priority) {
    for (const reservation_entry& p : session_.reservations().owned_by(x)) {
      if (passes(x, priority, p)) static_cast<void>(renew(p, {delay_cause::higher_priority, priority}, {}));
    }
  }
  /// Makes them all again, in their turn: the world has changed.
  void renew_all(delay_cause cause) {
    for (const quota_id x : session_.reservations().owners()) {
      for (const reservation_entry& p : session_.reservations().owned_by(x)) forget_start(session_, p);
      for (const reservation_entry& p : session_.reservations().owned_by(x))
        static_cast<void>(renew(p, {cause}, {}));
    }
  }

 private:
  /// The reservations of its quota that a job must not delay.
  [[nodiscard]] auto others_of(const record& r) const {
    return [this, &r](const reservation_entry& p) {
      return p.job != r.facts.id && !passes(r.facts.quota, r.facts.priority, p) &&
             !comes_before(r, p, p.what.start);
    };
  }
  /// Starts the job, or renews its reservation. Returns whether it has started.
  template <class Admit>
  bool try_one(job_id id, Admit admit) {
    const record& r = session_.jobs().at(id);
    const quota_id x = r.facts.quota;
    if (session_.queues().settings(x).head != queue_head::reserve ||
        !owned_profile<Session>::may_hold(session_, r)) {
      session_.withdraw_reservation(id);
      return false;
    }
    const reservation before = session_.jobs().reservation_of(id)->what;
    const attempt a = admit(id);
    if (a.is_admitted) {
      // What made it late makes those behind it late.
      if (before.cause != delay_cause::none) renew_of(x, of(before.cause, r));
      return true;
    }
    // It had room in its quota, and yet could not start.
    if (before.start <= session_.now()) renew_of(x, of(a.kept_by, r));
    session_.queues().touch(x);
    return false;
  }
  /// Where the admission of a job with a reservation was taken back, jobs of its quota that came after it
  /// were admitted as if it ran.
  void take_back_later(quota_id x) {
    for (std::size_t i = 0; i < session_.reservations().owned_by(x).size(); ++i) {
      const reservation_entry p = session_.reservations().owned_by(x)[i];
      if (!p.is_back) continue;
      const auto comes_later = [&](const record& r) { return !passes(x, r.facts.priority, p); };
      // Some of them may hold reservations again, too.
      if (session_.take_back_after(p, comes_later)) i = 0;
    }
  }
  /// Those of x in their turn; `before` is why one before them is late.
  void renew_of(quota_id x, delay before) {
    for (const reservation_entry& p : session_.reservations().owned_by(x)) {
      const delay moved = renew(p, {}, before);
      if (moved.cause != delay_cause::none) before = moved;
    }
  }
  /// `told` is why its start becomes later, if it does; `before` is why that of one before it has. Returns
  /// why, if it does.
  delay renew(const reservation_entry& p, const delay& told, const delay& before) {
    const record& r = session_.jobs().at(p.job);
    const instant now = session_.now();
    // Those behind it keep their starts beside it. If it is late, or they are and would make it so, they are
    // renewed after it: or late ones could pass it for ever.
    const bool is_in_time = p.what.start > now && p.what.start != without_end;
    const auto others = [&](const reservation_entry& q) {
      if (q.job == p.job || q.number < p.number) return q.job != p.job;
      // One that owners have displaced no longer holds a start that it was promised.
      const bool is_displaced = !q.what.owned && q.what.start > q.what.first_start;
      return is_in_time && !is_displaced &&
             (q.what.start > now || later(now, session_.jobs().at(q.job).estimate) <= p.what.start);
    };
    auto start = state_.owned.earliest(session_, r, others);
    if (is_in_time && (!start || start->at > p.what.start)) {
      // Those behind it that also stand on what the quota owns must not make it later. They fit beside it in
      // amounts; where the nodes are too few for both, they are the ones to move.
      const auto unmoved = [&](const reservation_entry& q) {
        return others(q) && (q.number < p.number || !q.what.owned);
      };
      const auto alone = state_.owned.earliest(session_, r, unmoved);
      if (alone && alone->at <= p.what.start) start = {p.what.start, alone->after, alone->waits_for_place};
    }
    // All that it needs is there. If it could not start, that may change as long as it is not late.
    const bool is_hindered = !start && state_.owned.has_room(session_, r);
    if (is_hindered && p.what.start != without_end &&
        (p.what.start > now || !session_.queues().was_tried(session_.jobs().at(p.job)))) {
      return {};
    }
    reservation renewed = p.what;
    renewed.start = start ? start->at : without_end;
    renewed.after = start ? start->after : job_id{};
    if (is_hindered) {
      // Those end, too: if it is not known when, at any moment. Where there are no such, as nodes are closed,
      // it must not keep those behind it waiting.
      constexpr typename availability<Session>::no_claims no_claims;
      if (const auto by_then = state_.profile.earliest(session_, r, no_claims)) {
        renewed.start = by_then->at;
        renewed.after = by_then->after;
      } else if (owned_profile<Session>::has_place_alone(session_, r)) {
        renewed.start = now;
      }
    }
    const bool is_late = renewed.start > p.what.first_start || renewed.start <= now;
    delay by;
    const bool is_made_again = told.cause != delay_cause::none && p.what.start == without_end;
    if (renewed.start > p.what.start || (is_late && p.what.cause == delay_cause::none) || is_made_again) {
      by = told;
      if (by.cause == delay_cause::none) by = why_late(p, before, is_hindered);
      renewed.cause = by.cause;
    }
    if (!is_late) renewed.cause = delay_cause::none;
    session_.renew_reservation(p.job, renewed);
    return by;
  }
  /// What has made a start later, if nothing has been told: what has become of its quota's own jobs by now,
  /// which the start counted on; else what made one before it later; else others.
  [[nodiscard]] delay why_late(const reservation_entry& p, const delay& before, bool is_hindered) {
    const instant now = session_.now();
    const auto& ends = session_.books().ends_of(p.quota);
    if (!ends.empty() && ends.front().end.at <= now) return {delay_cause::overrun};
    delay by;
    const auto look = [&](const record& r, instant end) {
      const reservation_entry* const had = session_.reservation_before(r.facts.id);
      delay its;
      if (had != nullptr && had->number < p.number && !session_.was_decided_on(r)) {
        // Its start was counted on.
        its = of(had->what.cause, r);
      } else if (passes(p.quota, r.facts.priority, p)) {
        its = {delay_cause::higher_priority, r.facts.priority};
      } else if (session_.was_decided_on(r) || r.facts.started > now) {
        // Its victims take their time to leave, or have; or it takes its time to start.
        its = {delay_cause::overrun};
      }
      if (its.cause != delay_cause::higher_priority && end <= p.what.start) return;
      if (its.cause == delay_cause::none || !is_inherited(its, p)) return;
      if (by.cause == delay_cause::none) by = its;
      if (its.cause == by.cause) by.priority = std::max(by.priority, its.priority);
    };
    for (const job_id id : session_.jobs().nominated().waiting()) {
      const record& r = session_.jobs().at(id);
      if (r.facts.quota == p.quota) look(r, later(now, r.estimate));
    }
    typename std::remove_cvref_t<decltype(ends)>::spot here;
    for (; ends.at(here) != nullptr; ends.next(here)) {
      const record& r = session_.jobs().at(ends.at(here)->end.job);
      if (r.facts.started >= now) look(r, r.expected_end);
    }
    if (by.cause != delay_cause::none) return by;
    if (before.cause != delay_cause::none && is_inherited(before, p)) return before;
    if (const delay its = before_it(p); its.cause != delay_cause::none) return its;
    // Who is overdue is so with every moment.
    if (p.what.cause != delay_cause::none && p.what.start <= now) {
      return of(p.what.cause, session_.jobs().at(p.job));
    }
    if (is_hindered && state_.claimed_at != now &&
        !placement_or_default::has_nodes(session_.books().places) &&
        !quota_allows(session_, session_.jobs().at(p.job), now)) {
      return {delay_cause::protection};
    }
    // Or one of its quota that was to borrow was displaced by an owner, and it by that one.
    return {delay_cause::owner};
  }

  Session& session_;
  backfill_state<Session>& state_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
