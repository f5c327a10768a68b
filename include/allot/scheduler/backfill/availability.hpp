// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/backfill/detail/foresight.hpp>
#include <allot/scheduler/detail/quota_allows.hpp>
#include <allot/scheduler/reservation.hpp>
#include <allot/scheduler/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// The availability profile: what quotas and nodes have free over the time to come, if all that runs ends as
/// expected, every job with a reservation starts and ends as reserved, and quotas and nodes change as is
/// known. It is not kept but walked: from now on, from one end, start or change to the next, on the session's
/// books under a savepoint.
///
/// A job *delays* a reservation if the job with a reservation would not fit at its start any more, but would
/// without it. Reservations are not tied to places, so no start is lost to nodes that a reservation happened
/// to be planned on. So a job that is gone by a reserved start may delay it all the same, by where it lets
/// earlier jobs with a reservation be placed: the walk goes on to the last reserved start.
///
/// Most questions are answered without a walk, from what is kept for each of the next reserved starts: see
/// `detail::foresight`.
///
/// An expected end in the past, of a job that overruns, counts as any moment: before all that is to come, but
/// not yet. Queries change nothing. O(ends and starts to come x what placing costs) each; they do not
/// allocate, except for more jobs than ever before.
template <class Session>
class availability {
 public:
  /// The number of dimensions.
  static constexpr std::size_t n = Session::n;
  /// The record of a job.
  using record = typename Session::record;
  /// The placement's handle of a place.
  using place = typename Session::place;
  /// A pending job and its reservation.
  using reservation_entry = typename Session::reservation_entry;

  /// The claims of a job that takes precedence over no reservation.
  struct no_claims {
    [[nodiscard]] bool operator()(const record&, const reservation_entry&) const noexcept { return false; }
    /// Whether it may claim the reservation at one time and not at another.
    [[nodiscard]] bool may_change(const record&, const reservation_entry&) const noexcept { return false; }
  };

  /// A reserved start that would be missed.
  struct missed_start {
    /// The time.
    instant at = 0;
    /// The job with a reservation; none if the one that is asked about has no place itself.
    job_id job{};
  };
  /// What becomes of the reserved starts if a job starts now.
  struct effect {
    /// The earliest that it would delay, of reservations that it does not claim; none if it delays none.
    std::optional<missed_start> delayed{};
    /// Whether it would delay some if it claimed none.
    bool claims = false;
  };
  /// That of a job on the place taken for it. Those with `claims(job, reservation)` it claims.
  template <class Claims>
  [[nodiscard]] effect effect_of(Session& session, const record& r, const place& where, Claims claims) {
    const instant end = later(session.now(), r.estimate);
    const std::optional<missed_start> delayed = first_delayed_until(session, r, where, end, no_claims{});
    if (!delayed || !claims_any(session, r, claims)) return {delayed};
    return {first_delayed_until(session, r, where, end, claims), true};
  }
  /// What it delays wherever it is placed, as far as that is known; none otherwise.
  template <class Claims>
  [[nodiscard]] std::optional<missed_start> delayed_anywhere(Session& session, const record& r,
                                                             Claims claims) {
    const no_claims nothing;
    const auto counts = others(session, r, nothing);
    const auto all = session.reservations().all();
    const auto starts = session.reservations().by_start();
    std::size_t i = 0;
    while (i < starts.size() && !counts(all[starts[i]])) ++i;
    if (i == starts.size()) return std::nullopt;
    const reservation_entry& p = all[starts[i]];
    if (later(session.now(), r.estimate) <= p.what.start) return std::nullopt;
    if (!foresight_.certainly_delays(session, r, i, counts)) return std::nullopt;
    if (claims_any(session, r, claims)) return std::nullopt;
    return missed(p);
  }
  /// When the quotas, by a change that is known to come, allow less than what runs then with the job, if it
  /// starts now: it would be evicted, or another. None if it will have ended, or fits, or has no estimate.
  /// Those that are `gone` for it are no longer assumed.
  [[nodiscard]] std::optional<instant> cut_off(Session& session, const record& r,
                                               std::span<const victim<n>> gone = {}) {
    begin();
    return cut_off_before(session, r, later(session.now(), r.estimate), gone);
  }
  /// Whether all reservations of others hold as they are if the job gets the place taken for it, but starts
  /// only when others have gone: until then it is not known when it ends.
  [[nodiscard]] bool all_hold_beside(Session& session, const record& r, const place& where) {
    if (session.reservations().by_start().empty()) return true;
    begin();
    const no_claims claims;
    const auto seen =
        foresight_.foresee(session, state(), {r, where, without_end}, others(session, r, claims));
    if (seen.says != verdict::unknown) return seen.says == verdict::hold;
    auto before = open(session);
    session.books().assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    const bool some_missed = walk(session, others(session, r, claims), excuses_none{}).has_value();
    close(session, std::move(before));
    return !some_missed;
  }

  /// A start, and the job whose end or start makes it possible.
  struct start {
    /// A time that has passed: any moment, as that job overruns.
    instant at = 0;
    /// None if the job could start now.
    job_id after{};
    /// Whether it then uses more than its quota owns.
    bool borrows = false;
    /// Whether it would then delay some that it claims.
    bool claims = false;
  };
  /// The earliest start of a pending job that can't start now, so that it delays no reservation but those
  /// that it claims, and is not before `from`. None if that can't be determined, or is not before `before`. A
  /// reservation of its own does not count.
  template <class Claims>
  [[nodiscard]] std::optional<start> earliest(Session& session, const record& r, Claims claims,
                                              instant before = without_end,
                                              instant from = std::numeric_limits<instant>::min()) {
    begin();
    // Who gathers, and comes earlier in turn, may start at any moment until it gives up, and run on.
    for (const reservation_entry& p : session.reservations().all()) {
      if (p.job == r.facts.id) break;
      if (p.what.gathers_since && others(session, r, claims)(p)) before = std::min(before, p.what.start);
    }
    if (from >= before) return std::nullopt;
    // Then its quota may borrow again, if it backs off, or it is ready; at first, from then on it may start.
    instant chance = from > session.now() ? from : session.jobs().next_chance(r, session.now());
    const auto concerns_any = others(session, r, claims);
    // The next time after `here`, where the walk stands, at which it may be able to start.
    const auto next_time = [&](instant here) {
      if (at_.without_places && !could_fit(at_.taken)) {
        const instant next_other = next_of_reserved(session).value_or(without_end);
        if (const auto t = end_until_room(session, std::min({before, chance, next_other}))) return t;
      }
      const instant end = later(std::max(here, session.now()), r.estimate);
      const bool is_out = is_ruled_out(session, r, concerns_any, end);
      const std::optional<instant> t = is_out ? next_of_reserved(session) : next(session);
      while (is_out && chance < t.value_or(without_end)) {
        chance = session.jobs().next_chance(r, chance);
      }
      return chance < t.value_or(without_end) ? std::optional{chance} : t;
    };
    std::optional<instant> t = next_time(session.now());
    if (!t || *t >= before) return std::nullopt;
    const auto concerns = [&](std::size_t i) { return concerns_any(session.reservations().all()[i]); };
    const auto starts = session.reservations().by_start();
    const bool changes = session.foresees_changes();
    if (!changes && chance == without_end && detail::none_of(starts.begin(), starts.end(), concerns) &&
        session.books().what_if().begin(session.books().places, r.pod_request)) {
      const auto is_others = [&](std::size_t i) { return session.reservations().all()[i].job != r.facts.id; };
      return earliest_alone(session, r, detail::any_of(starts.begin(), starts.end(), is_others), before);
    }
    const auto may_change = [&](const reservation_entry& p) { return claims.may_change(r, p); };
    const auto all = session.reservations().all();
    if (detail::none_of(all.begin(), all.end(), may_change)) foresight_.note(session, r, concerns_any);
    t = next_time(session.now());
    if (!t || *t >= before) return std::nullopt;
    room_ = changes ? nullptr : session.books().room_now(r);
    auto as_it_was = open(session);
    std::optional<start> found;
    at_.without_places = room_ != nullptr;
    for (; !found && t && *t < before; t = next_time(*t)) {
      const bool waits_for_that = t == chance;
      if (waits_for_that) chance = session.jobs().next_chance(r, *t);
      const auto could_start_now = [&] { return *t >= from && could_start(session, r, claims, *t); };
      if (!step(session, r, claims, *t) || (at_.without_places && could_start_now())) {
        // Once more from the beginning, with all on their places.
        close(session, std::move(as_it_was));
        as_it_was = open(session);
        place_all(session, r, claims, *t);
      }
      if (at_.without_places || !could_start_now()) continue;
      if (fits_from(session, r, claims, *t)) {
        found = start{*t, waits_for_that ? job_id{} : at_.last, session.books().would_borrow(r)};
        found->claims = at_.claims || claims_start(session, r, claims, *t);
      }
    }
    close(session, std::move(as_it_was));
    end_counting(session);
    return found;
  }
  /// The start of a pending job that gathers from now on and gives up at `until`: that time, if by then it
  /// fits without the jobs that ran before now and have no expected end, beside all jobs with a reservation.
  /// None otherwise. (When it does start it delays no job, like any other.)
  [[nodiscard]] std::optional<start> gathered(Session& session, const record& r, instant until) {
    auto before = open(session);
    begin();
    const no_claims claims;
    for (auto t = next(session); t && *t <= until; t = next(session)) step(session, r, claims, *t);
    std::optional<start> found;
    if (has_chance(session, r, until, session.now(), others(session, r, claims))) {
      found = start{until, {}, session.books().would_borrow(r)};
    }
    close(session, std::move(before));
    return found;
  }
  /// The reserved start of a job, if all reservations hold as they are. `earliest` may find none as
  /// early: it asks for one beside all others, and reservations for the same time may fit in one order only.
  [[nodiscard]] std::optional<start> planned(Session& session, job_id job) {
    begin();
    if (const auto borrows = foresight_.borrows_as_reserved(session, job)) {
      const instant at = session.jobs().reservation_of(job)->what.start;
      return start{at, last_to_end(session, at), *borrows};
    }
    auto before = open(session);
    std::optional<start> found;
    const auto note = [&](const reservation_entry& p) {
      if (p.job == job)
        found = start{p.what.start, at_.last, session.books().would_borrow(session.jobs().at(job))};
      return true;
    };
    // Another job that no longer has a chance does not concern this one.
    const auto gathers_in_vain = [&](const reservation_entry& p) {
      return p.what.gathers_since.has_value() && p.job != job;
    };
    if (walk(session, note, gathers_in_vain)) found.reset();
    close(session, std::move(before));
    return found;
  }
  /// Whether, since `forget_missed`, a walk has come upon a reserved start that is missed anyway: what it
  /// answered holds for the others only.
  [[nodiscard]] bool saw_missed() const noexcept { return saw_missed_; }
  /// They have been renewed.
  void forget_missed() noexcept { saw_missed_ = false; }
  /// The first job with a reservation that would miss its start, if all reservations hold as they are; none
  /// if there is none. Those that gather, or whose start is overdue, are not expected to keep it.
  [[nodiscard]] job_id first_to_miss(Session& session) {
    begin();
    auto before = open(session);
    const auto counts = [](const reservation_entry&) { return true; };
    const auto may_miss = [&](const reservation_entry& p) {
      return p.what.gathers_since.has_value() || p.what.start <= session.now();
    };
    const std::optional<missed_start> missed = walk(session, counts, may_miss);
    close(session, std::move(before));
    return missed ? missed->job : job_id{};
  }

 private:
  using foresight = detail::foresight<Session>;
  using run = typename foresight::run;
  using verdict = typename foresight::verdict;

  struct excuses_none {
    [[nodiscard]] bool operator()(const reservation_entry&) const noexcept { return false; }
  };
  [[nodiscard]] static missed_start missed(const reservation_entry& p) { return {p.what.start, p.job}; }

  /// The earliest reserved start that a job would delay that runs until `end` on the place taken for it.
  template <class Claims>
  [[nodiscard]] std::optional<missed_start> first_delayed_until(Session& session, const record& r,
                                                                const place& where, instant end,
                                                                Claims claims) {
    const reservation_entry* only = nullptr;
    bool are_more = false;
    for (const std::size_t i : session.reservations().by_start()) {
      const reservation_entry& p = session.reservations().all()[i];
      // Who is gone before the first of them starts delays none.
      if (only == nullptr && end <= p.what.start) break;
      if (!others(session, r, claims)(p)) continue;
      are_more = only != nullptr;
      if (are_more) break;
      only = &p;
    }
    if (only == nullptr) return std::nullopt;
    begin();
    if constexpr (std::is_same_v<Claims, no_claims>) {
      const auto seen = foresight_.foresee(session, state(), {r, where, end}, others(session, r, claims));
      if (seen.says == verdict::hold) return std::nullopt;
      if (seen.says == verdict::delayed) return missed(*seen.first);
    }
    if (!are_more && !session.foresees_changes() &&
        session.books().what_if().begin(session.books().places, session.jobs().at(only->job).pod_request)) {
      return delays(session, r, *only) ? std::optional{missed(*only)} : std::nullopt;
    }
    return first_missed(
        session, others(session, r, claims),
        [&] {
          session.books().assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
          add_run(end, r.facts.id, where);
          return true;
        },
        [&] { session.books().places.release(where); });
  }

  // With a single reservation the room is counted instead of placing jobs on trial.

  /// Whether the only reservation would be delayed by a job that starts now and lasts longer. Precondition:
  /// the room is counted for the job with a reservation.
  [[nodiscard]] bool delays(Session& session, const record& r, const reservation_entry& p) {
    const record& reserved = session.jobs().at(p.job);
    const savepoint before = session.books().assumed().save();
    session.books().assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    for (const expected_end& e : session.books().ends()) {
      if (e.at > p.what.start) break;
      let_go(session, session.jobs().at(e.job));
    }
    if (p.what.gathers_since) {
      for_each_open_ended(session, *p.what.gathers_since, [&](const record& gone) { let_go(session, gone); });
    }
    const bool fits = detail::quota_allows(session, reserved, p.what.start) &&
                      session.books().what_if().fits(0).value_or(false);
    session.books().assumed().rollback(before);
    return !fits;
  }
  /// Precondition: the room is counted for the job, and it claims all known starts, if there are any.
  [[nodiscard]] std::optional<start> earliest_alone(Session& session, const record& r, bool claims_some,
                                                    instant before) {
    const savepoint as_it_was = session.books().assumed().save();
    std::optional<start> found;
    const auto ends = session.books().ends();
    for (std::size_t i = 0; i < ends.size() && ends[i].at < before && !found; ++i) {
      let_go(session, session.jobs().at(ends[i].job));
      if (i + 1 < ends.size() && ends[i + 1].at == ends[i].at) continue;
      if (!session.books().what_if().fits(0).value_or(false)) continue;
      if (!session.books().assumed().fits(r.facts.quota, r.facts.request, r.facts.in)) continue;
      found = start{ends[i].at, ends[i].job, session.books().would_borrow(r), claims_some};
    }
    session.books().assumed().rollback(as_it_was);
    return found;
  }
  void let_go(Session& session, const record& gone) {
    session.books().assumed().release(gone.facts.quota, gone.facts.request, gone.facts.in);
    session.books().what_if().gone(session.books().places, gone.where);
  }

  struct both_savepoints {
    savepoint in_ledger;
    decltype(std::declval<typename Session::placement_type&>().save()) in_places;
    /// As of when places were given, and how many changes of the quotas had been made.
    instant seen;
    std::size_t changes;
  };
  /// How far a walk has come.
  struct cursor {
    std::size_t ends = 0;
    /// Of these, who has been released in the ledger.
    std::size_t released = 0;
    /// Of these, whose places are released: only when a place is asked for.
    std::size_t vacated = 0;
    std::size_t starts = 0;
    /// As of when places are given; the present at first.
    instant seen = std::numeric_limits<instant>::min();
    /// The last that ended.
    job_id last{};
    /// Whether no job is placed: only the room for a job is counted.
    bool without_places = false;
    /// What the jobs with a reservation that have started take at least of the room that is counted.
    std::uint64_t taken = 0;
    /// Whether jobs with a reservation have started otherwise than noted.
    bool differs = false;
    /// Whether some have been passed over that the job claims.
    bool claims = false;
    /// Whether all that have come certainly did so; only where no job is placed.
    bool is_certain = true;
    /// From which reserved start on a job is ruled out, as found when so many had come.
    std::size_t ruled_by = nowhere;
    instant ruled_out_from = without_end;
  };
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] both_savepoints open(Session& session) {
    return {session.books().assumed().save(), session.books().places.save(), at_.seen,
            session.books().foreseen().made()};
  }
  void close(Session& session, both_savepoints before) {
    session.books().foreseen().undo(session.books().assumed(), before.changes);
    session.books().places.rollback(std::move(before.in_places));
    look_ahead(session, before.seen);
    session.books().assumed().rollback(before.in_ledger);
  }
  void begin() {
    at_ = {};
    runs_.clear();
    missed_anyway_.clear();
    knows_missed_ = false;
    foresight_.forget();
    room_ = nullptr;
  }
  /// What is foreseen depends on that of a walk.
  [[nodiscard]] typename foresight::walk_state state() const {
    return {at_.starts, runs_, at_.without_places, at_.differs, at_.is_certain};
  }

  [[nodiscard]] instant next_change(const Session& session) const {
    return session.books().next_change(std::max(at_.seen, session.now()));
  }
  void look_ahead(Session& session, instant at) {
    at_.seen = at;
    detail::placement_or_default::look_ahead(session.books().places, std::max(at, session.now()));
  }

  /// The time of the next event: ends before starts, and what changes of quotas and nodes.
  [[nodiscard]] std::optional<instant> next(const Session& session) const {
    std::optional<instant> t;
    const auto consider = [&](instant u) { t = t ? std::min(*t, u) : u; };
    if (at_.ends < session.books().ends().size()) consider(session.books().ends()[at_.ends].at);
    if (!runs_.empty() && runs_.front().end != without_end) consider(runs_.front().end);
    if (at_.starts < session.reservations().by_start().size()) consider(start_of(session).what.start);
    if (const instant change = next_change(session); change != without_end) consider(change);
    return t;
  }
  /// The same of events of jobs with a reservation alone.
  [[nodiscard]] std::optional<instant> next_of_reserved(const Session& session) const {
    instant t = runs_.empty() ? without_end : runs_.front().end;
    if (at_.starts < session.reservations().by_start().size()) t = std::min(t, start_of(session).what.start);
    return t == without_end ? std::nullopt : std::optional{t};
  }
  [[nodiscard]] const reservation_entry& start_of(const Session& session) const {
    return session.reservations().all()[session.reservations().by_start()[at_.starts]];
  }
  /// Lets all end that is expected to by `t`.
  void end_until(Session& session, instant t) {
    if (next_change(session) <= t) at_.last = {};
    look_ahead(session, t);
    session.books().foreseen().make(session.books().assumed(), t);
    const auto ends = session.books().ends();
    for (; at_.ends < ends.size() && ends[at_.ends].at <= t; ++at_.ends) at_.last = ends[at_.ends].job;
    // While room is counted there is mostly none, and it is not asked for.
    if (!at_.without_places) release_ended(session);
    while (!runs_.empty() && runs_.front().end <= t) {
      detail::pop_heap(runs_.begin(), runs_.end(), ends_later);
      const run gone = runs_.back();
      runs_.pop_back();
      at_.last = gone.job;
      const record& r = session.jobs().at(gone.job);
      session.books().assumed().release(r.facts.quota, r.facts.request, r.facts.in);
      at_.taken -= gone.takes;
      if (!at_.without_places) session.books().places.release(gone.where);
    }
  }
  /// Releases in the ledger what those use that have ended.
  void release_ended(Session& session) {
    for (; at_.released < at_.ends; ++at_.released) {
      const record& gone = session.jobs().at(session.books().ends()[at_.released].job);
      session.books().assumed().release(gone.facts.quota, gone.facts.request, gone.facts.in);
    }
  }
  /// Releases the places of those that have ended.
  void vacate(Session& session) {
    for (; at_.vacated < at_.ends; ++at_.vacated) {
      session.books().places.release(session.jobs().at(session.books().ends()[at_.vacated].job).where);
    }
  }
  void release(Session& session, const record& gone) {
    session.books().assumed().release(gone.facts.quota, gone.facts.request, gone.facts.in);
    session.books().places.release(gone.where);
  }
  /// Who ends last by `t`, of those who run and of the jobs with a reservation, if these start as reserved;
  /// none if no job ends by then.
  [[nodiscard]] static job_id last_to_end(const Session& session, instant t) {
    const auto ends = session.books().ends();
    const auto after = std::upper_bound(ends.begin(), ends.end(), t,
                                        [](instant u, const expected_end& e) { return u < e.at; });
    run last{std::numeric_limits<instant>::min(), {}, {}};
    if (after != ends.begin()) last = {std::prev(after)->at, std::prev(after)->job, {}};
    // Of those that end together one with a reservation is the last in a walk.
    bool has_reservation = false;
    for (const std::size_t i : session.reservations().by_start()) {
      const reservation_entry& p = session.reservations().all()[i];
      const run x{detail::reserved_end(session, p), p.job, {}};
      if (p.what.start > t || x.end > t || x.end < last.end || (has_reservation && x < last)) continue;
      last = x;
      has_reservation = true;
    }
    return last.job;
  }
  /// Calls `visit(record)` for each running job without an expected end that ran before `since`.
  template <class Visit>
  static void for_each_open_ended(Session& session, instant since, Visit visit) {
    for (const job_id id : session.books().open_ended()) {
      const record& r = session.jobs().at(id);
      if (r.facts.started < since) visit(r);
    }
  }
  /// Whether a reservation is one that a job must not delay: of another, not claimed, and not of one that
  /// gathers and comes later in turn than the job's own reservation.
  template <class Claims>
  [[nodiscard]] static auto others(Session& session, const record& r, Claims& claims) {
    return [&](const reservation_entry& p) {
      if (p.job == r.facts.id || claims(r, p)) return false;
      return !p.what.gathers_since || !r.has_reservation ||
             p.number < session.jobs().reservation_of(r.facts.id)->number;
    };
  }
  /// Whether it claims any.
  template <class Claims>
  [[nodiscard]] static bool claims_any(Session& session, const record& r, Claims& claims) {
    const auto all = session.reservations().all();
    return detail::any_of(all.begin(), all.end(),
                          [&](const reservation_entry& p) { return p.job != r.facts.id && claims(r, p); });
  }
  /// Whether a job that starts where the walk stands takes precedence over a known start: it claims it now,
  /// or by the time at which it would delay it.
  template <class Claims>
  [[nodiscard]] bool claims_start(Session& session, const record& r, Claims& claims, instant from) {
    bool may_change = false;
    for (const std::size_t i : session.reservations().by_start()) {
      const reservation_entry& p = session.reservations().all()[i];
      if (p.job == r.facts.id) continue;
      if (claims(r, p)) return true;
      may_change = may_change || claims.may_change(r, p);
    }
    return may_change && !fits_from(session, r, no_claims{}, from);
  }
  /// Starts a job with a reservation, if it fits.
  template <class Counts>
  bool start_reserved(Session& session, const reservation_entry& p, Counts counts) {
    if (!p.what.gathers_since) return start_as_reserved(session, p).has_value();
    return has_chance(session, session.jobs().at(p.job), p.what.start, *p.what.gathers_since, counts);
  }
  /// Starts one whose start is known, if it fits. Returns its place.
  std::optional<place> start_as_reserved(Session& session, const reservation_entry& p) {
    const record& r = session.jobs().at(p.job);
    const std::optional<place> where = take(session, r, p.what.start);
    if (where) add_run(detail::reserved_end(session, p), p.job, *where, takes_of_room(session, r));
    return where;
  }
  /// Whether a job that has gathered since then fits at `at`, where the walk stands, if all have gone that
  /// ran before and have no expected end; beside those that gather and come earlier in turn. It is not known
  /// when it starts, and they may stay: the walk goes on as if it did not.
  template <class Counts>
  [[nodiscard]] bool has_chance(Session& session, const record& r, instant at, instant since, Counts counts) {
    vacate(session);
    auto as_it_was = open(session);
    for_each_open_ended(session, since, [&](const record& gone) { release(session, gone); });
    for (const reservation_entry& p : session.reservations().all()) {
      if (p.job == r.facts.id) break;
      if (p.what.gathers_since && counts(p))
        static_cast<void>(take(session, session.jobs().at(p.job), p.what.start));
    }
    const bool fits = take(session, r, at).has_value();
    close(session, std::move(as_it_was));
    return fits;
  }
  void add_run(instant end, job_id job, const place& where, std::uint64_t takes = 0) {
    runs_.push_back({end, job, where, takes});
    at_.taken += takes;
    detail::push_heap(runs_.begin(), runs_.end(), ends_later);
  }
  [[nodiscard]] std::optional<place> take(Session& session, const record& r, instant at) {
    if (!detail::quota_allows(session, r, at)) return std::nullopt;
    vacate(session);
    const std::optional<place> where = session.books().places.place(r.pod_request);
    if (where) session.books().assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    return where;
  }

  /// Goes on to the last reserved start. Returns the first at which a job does not fit, of those that count
  /// and are not excused.
  template <class Counts, class Excused>
  [[nodiscard]] std::optional<missed_start> walk(Session& session, Counts counts, Excused is_excused) {
    const auto starts = session.reservations().by_start();
    while (at_.starts < starts.size()) {
      const instant t = *next(session);
      end_until(session, t);
      for (; at_.starts < starts.size() && start_of(session).what.start <= t; ++at_.starts) {
        const reservation_entry& p = start_of(session);
        if (!counts(p) || start_reserved(session, p, counts) || is_excused(p)) continue;
        return missed_start{t, p.job};
      }
    }
    return std::nullopt;
  }
  /// The first reserved start that is missed from where the walk stands, but would not be without the job.
  /// `occupy` lets it run, and returns whether it can; `leave` takes it away. The walk stays where it is.
  template <class Counts, class Occupy, class Leave>
  [[nodiscard]] std::optional<missed_start> first_missed(Session& session, Counts counts, Occupy occupy,
                                                         Leave leave) {
    const cursor was = at_;
    kept_ = runs_;
    const auto from_here = [&](auto go) {
      auto before = open(session);
      const std::optional<missed_start> missed = go();
      close(session, std::move(before));
      at_ = was;
      runs_ = kept_;
      return missed;
    };
    bool runs = true;
    const auto with_job = [&]() -> std::optional<missed_start> {
      runs = occupy();
      if (!runs) return missed_start{session.now()};
      return walk(session, counts, [&](const reservation_entry& p) { return is_missed_anyway(p); });
    };
    const std::optional<missed_start> missed = from_here(with_job);
    if (!missed || !runs || std::exchange(knows_missed_, true)) return missed;
    from_here([&] {
      leave();
      return walk(session, counts, [&](const reservation_entry& p) {
        missed_anyway_.push_back(p.job);
        return true;
      });
    });
    if (missed_anyway_.empty()) return missed;
    saw_missed_ = true;
    return from_here(with_job);
  }
  /// Goes on to the next time, `t`. Returns false if that can't be done without places. Without places the
  /// room is at least what it would be with them.
  template <class Claims>
  bool step(Session& session, const record& r, Claims claims, instant t) {
    std::size_t next_end = at_.ends;
    end_until(session, t);
    for (; room_ != nullptr && next_end < at_.ends; ++next_end) {
      room_->gone(session.books().places, session.jobs().at(session.books().ends()[next_end].job).where);
    }
    // Claims that may change depend on usage.
    const auto noted = foresight_.noted();
    if (noted.empty()) release_ended(session);
    const auto starts = session.reservations().by_start();
    for (; at_.starts < starts.size() && start_of(session).what.start <= t; ++at_.starts) {
      const auto& p = start_of(session);
      const bool is_counted = others(session, r, claims)(p);
      if (at_.starts < noted.size() && noted[at_.starts].counts != is_counted) at_.differs = true;
      if (!is_counted) {
        at_.claims = at_.claims || (p.job != r.facts.id && claims(r, p));
        continue;
      }
      if (at_.without_places) {
        if (at_.differs || at_.starts >= noted.size()) return false;
        if (!noted[at_.starts].holds) {
          // It may not start, and so leaves more room.
          at_.is_certain = false;
          saw_missed_ = true;
          continue;
        }
        const record& reserved = session.jobs().at(p.job);
        if (!session.books().assumed().can_count(reserved.facts.quota, reserved.facts.request)) return false;
        session.books().assumed().charge(reserved.facts.quota, reserved.facts.request, reserved.facts.in);
        add_run(detail::reserved_end(session, p), p.job, {}, takes_of_room(session, reserved));
        continue;
      }
      if (!start_reserved(session, p, others(session, r, claims))) at_.differs = saw_missed_ = true;
    }
    return true;
  }
  /// Precondition: the room is counted, and there is none. Lets end one after the other that is expected to
  /// before `before`, until there is. Returns when.
  [[nodiscard]] std::optional<instant> end_until_room(Session& session, instant before) {
    const auto ends = session.books().ends();
    while (at_.ends < ends.size() && ends[at_.ends].at < before) {
      const expected_end& e = ends[at_.ends++];
      at_.last = e.job;
      room_->gone(session.books().places, session.jobs().at(e.job).where);
      if (could_fit(at_.taken)) return e.at;
    }
    return std::nullopt;
  }
  /// The same walk once more, up to `t`, with all on their places. The room is still counted.
  template <class Claims>
  void place_all(Session& session, const record& r, Claims claims, instant t) {
    end_counting(session);
    at_ = {};
    runs_.clear();
    for (auto u = next(session); u && *u <= t; u = next(session)) step(session, r, claims, *u);
  }
  /// Precondition: those that have ended in the walk are on their places.
  void end_counting(Session& session) {
    for (std::size_t i = 0; room_ != nullptr && i < at_.ends; ++i) {
      room_->back(session.books().places, session.jobs().at(session.books().ends()[i].job).where);
    }
  }
  /// Whether that room may suffice if others take at least so much of it.
  [[nodiscard]] bool could_fit(std::uint64_t taken) const { return room_->fits(taken).value_or(true); }
  [[nodiscard]] std::uint64_t takes_of_room(Session& session, const record& reserved) const {
    return room_ == nullptr ? 0 : room_->taken_by(session.books().places, reserved.pod_request).first;
  }
  /// Whether the job may start where the walk stands, as far as that is known without placing it.
  template <class Claims>
  [[nodiscard]] bool could_start(Session& session, const record& r, Claims claims, instant at) {
    if (room_ != nullptr && !could_fit(at_.taken)) return false;
    release_ended(session);
    if (!detail::quota_allows(session, r, at)) return false;
    const instant end = later(std::max(at, session.now()), r.estimate);
    return !is_ruled_out(session, r, others(session, r, claims), end);
  }
  /// Whether a job that starts where the walk stands and runs until `end` certainly keeps a job with a
  /// reservation from starting, wherever it is placed.
  template <class Counts>
  [[nodiscard]] bool is_ruled_out(Session& session, const record& r, Counts counts, instant end) {
    if (!foresight_.is_as_noted(session, state(), counts)) return false;
    if (std::exchange(at_.ruled_by, at_.starts) != at_.starts) {
      at_.ruled_out_from = foresight_.ruled_out_from(session, state(), r, counts);
    }
    return end > at_.ruled_out_from;
  }
  /// Whether the job can start at the walk's current time and delays no reservation from there on.
  template <class Claims>
  [[nodiscard]] bool fits_from(Session& session, const record& r, Claims claims, instant from) {
    const auto counts = others(session, r, claims);
    const instant end = later(std::max(from, session.now()), r.estimate);
    if (cut_off_before(session, r, end)) return false;
    vacate(session);
    if (at_.starts == session.reservations().by_start().size()) {
      return could_place(session.books().places, r.pod_request);
    }
    if (foresight_.is_as_noted(session, state(), counts)) {
      auto before = open(session);
      const std::optional<place> where = take(session, r, from);
      const auto seen = where ? foresight_.foresee(session, state(), {r, *where, end}, counts)
                              : typename foresight::outlook{};
      close(session, std::move(before));
      if (!where) return false;
      if (seen.says == verdict::hold) return true;
      if (seen.says == verdict::delayed) return false;
    }
    return !first_missed(
        session, counts,
        [&] {
          const std::optional<place> where = take(session, r, from);
          if (!where || leaves_no_place(session, counts, end)) return false;
          add_run(end, r.facts.id, *where);
          return true;
        },
        [] {});
  }
  /// Whether a job that has just taken its place, until `end`, certainly leaves none for the next reserved
  /// job: most that could start would delay that one, and here it takes a tenth of the time to say so.
  template <class Counts>
  [[nodiscard]] bool leaves_no_place(Session& session, Counts counts, instant end) {
    // Until then it is not known which have no place anyway.
    if (!knows_missed_) return false;
    const auto starts = session.reservations().by_start();
    std::size_t i = at_.starts;
    while (i < starts.size() && !counts(session.reservations().all()[starts[i]])) ++i;
    if (i == starts.size()) return false;
    const reservation_entry& next = session.reservations().all()[starts[i]];
    if (end <= next.what.start || is_missed_anyway(next)) return false;
    auto& what_if = session.books().what_if();
    if (!what_if.begin(session.books().places, session.jobs().at(next.job).pod_request)) return false;
    const auto ends = session.books().ends();
    for (std::size_t k = at_.ends; k < ends.size() && ends[k].at <= next.what.start; ++k) {
      what_if.gone(session.books().places, session.jobs().at(ends[k].job).where);
    }
    for (const run& x : runs_) {
      if (x.end <= next.what.start) what_if.gone(session.books().places, x.where);
    }
    if (next.what.gathers_since) {
      for_each_open_ended(session, *next.what.gathers_since,
                          [&](const record& gone) { what_if.gone(session.books().places, gone.where); });
    }
    return !what_if.fits(0).value_or(false);
  }
  /// The first change of the quotas before `end` that leaves no room for a job that starts where the walk
  /// stands.
  [[nodiscard]] std::optional<instant> cut_off_before(Session& session, const record& r, instant end,
                                                      std::span<const victim<n>> gone = {}) {
    auto& books = session.books();
    instant t = books.foreseen().next_change(std::max(at_.seen, session.now()));
    if (t >= end || r.estimate == without_end) return std::nullopt;
    auto& assumed = books.assumed();
    const savepoint before = assumed.save();
    const std::size_t changes = books.foreseen().made();
    const auto release = [&](const record& ended) {
      const auto is_ended = [&](const victim<n>& v) { return v.job.id == ended.facts.id; };
      if (!detail::any_of(gone.begin(), gone.end(), is_ended))
        assumed.release(ended.facts.quota, ended.facts.request, ended.facts.in);
    };
    std::size_t released = at_.released;
    std::optional<instant> found;
    for (instant last = at_.seen; t < end && !found; last = t, t = books.foreseen().next_change(t)) {
      books.foreseen().make(assumed, t);
      const auto ends = books.ends();
      for (; released < ends.size() && ends[released].at <= t; ++released)
        release(session.jobs().at(ends[released].job));
      for (const run& x : runs_) {
        if (x.end > last && x.end <= t) release(session.jobs().at(x.job));
      }
      const savepoint beside = assumed.save();
      for (std::size_t i = at_.starts; i < session.reservations().by_start().size(); ++i) {
        const auto& p = session.reservations().all()[session.reservations().by_start()[i]];
        const record& other = session.jobs().at(p.job);
        if (p.job == r.facts.id || p.what.gathers_since || p.what.start > t) continue;
        if (detail::reserved_end(session, p) > t && assumed.can_count(other.facts.quota, other.facts.request))
          assumed.charge(other.facts.quota, other.facts.request, other.facts.in);
      }
      if (!assumed.fits(r.facts.quota, r.facts.request, r.facts.in)) found = t;
      assumed.rollback(beside);
    }
    books.foreseen().undo(assumed, changes);
    assumed.rollback(before);
    return found;
  }
  [[nodiscard]] bool is_missed_anyway(const reservation_entry& p) const {
    return detail::find(missed_anyway_.begin(), missed_anyway_.end(), p.job) != missed_anyway_.end();
  }
  static bool ends_later(const run& a, const run& b) { return b < a; }

  cursor at_;
  /// The jobs with a reservation that have started, as a heap by end.
  vector<run> runs_;
  vector<run> kept_;
  /// The jobs with a reservation that do not fit at their starts even without the one that is asked about.
  vector<job_id> missed_anyway_;
  foresight foresight_;
  /// While the room for a job is counted: that room, without those that have ended in the walk.
  detail::kept_counter_of<typename Session::placement_type>* room_ = nullptr;
  bool knows_missed_ = false;
  bool saw_missed_ = false;
};

}  // namespace v0
}  // namespace allot
