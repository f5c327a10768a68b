// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/promise.hpp>
#include <allot/scheduler/session.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// The availability profile: what quotas and nodes have free over the time to come, if all that runs ends as
/// expected and every job with a promise starts and ends as promised. It is not kept but walked: from now on,
/// from one end or start to the next, on the session's books under a savepoint.
///
/// A job *delays* a promise if the promised job would not fit at its start any more, but would without it.
/// Promises are not tied to places, so no start is lost to nodes that a promise happened to be planned on. So
/// a job that is gone by a promised start may delay it all the same, by where it lets earlier promised jobs
/// be placed: the walk goes on to the last promised start.
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
  /// A pending job and its promise.
  using promised_job = typename Session::promised_job;

  /// The claims of a job that takes precedence over no promise.
  struct no_claims {
    [[nodiscard]] bool operator()(const record&, const promised_job&) const noexcept { return false; }
  };

  /// The earliest promised start that a job would delay if it starts now on the place taken for it;
  /// none if it delays none. Promises with `claims(job, promise)` do not count.
  template <class Claims>
  [[nodiscard]] std::optional<instant> first_delayed(Session& session, const record& r, const place& where,
                                                     Claims claims) {
    const instant end = later(session.now(), r.estimate);
    const std::optional<instant> delayed = first_delayed_until(session, r, where, end, no_claims{});
    if (!delayed) return std::nullopt;
    const auto all = session.promised();
    const auto claimed = [&](const promised_job& p) { return p.job != r.facts.id && claims(r, p); };
    if (detail::none_of(all.begin(), all.end(), claimed)) return delayed;
    return first_delayed_until(session, r, where, end, claims);
  }

  /// The same for a job that gives no estimate and would be gone by `end`.
  template <class Claims>
  [[nodiscard]] std::optional<instant> first_delayed_by(Session& session, const record& r, const place& where,
                                                        instant end, Claims claims) {
    return first_delayed_until(session, r, where, end, claims);
  }
  /// The same for a running job that is in no list of ends.
  template <class Claims>
  [[nodiscard]] std::optional<instant> first_delayed_by_running(Session& session, const record& r,
                                                                instant end, Claims claims) {
    begin();
    return first_missed(
        session, others(session, r, claims),
        [&] {
          add_run(end, r.facts.id, r.where);
          return true;
        },
        [&] { release(session, r); });
  }
  /// The job with the promise that was found to be delayed last.
  [[nodiscard]] job_id delayed() const noexcept { return delayed_; }

  /// Whether all promises of others hold as they are if the job gets the place taken for it, but starts only
  /// when others have gone: until then it is not known when it ends.
  [[nodiscard]] bool all_hold_beside(Session& session, const record& r) {
    if (session.promised_by_start().empty()) return true;
    auto before = open(session);
    begin();
    session.assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    const no_claims claims;
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
  };
  /// The earliest start of a pending job that can't start now, so that it delays no promise but those that it
  /// claims. None if that can't be determined, or is not before `before`. A promise of its own does not
  /// count.
  template <class Claims>
  [[nodiscard]] std::optional<start> earliest(Session& session, const record& r, Claims claims,
                                              instant before = without_end) {
    begin();
    // Who gathers, and comes earlier in turn, may start at any moment until it gives up, and run on.
    for (const promised_job& p : session.promised()) {
      if (p.job == r.facts.id) break;
      if (p.what.gathers_since && others(session, r, claims)(p)) before = std::min(before, p.what.start);
    }
    // Then its quota may borrow again, if it backs off.
    instant may_borrow = session.next_backoff_end(r, session.now());
    const auto next_time = [&] {
      const std::optional<instant> t = next(session);
      return may_borrow < t.value_or(without_end) ? std::optional{may_borrow} : t;
    };
    std::optional<instant> t = next_time();
    if (!t || *t >= before) return std::nullopt;
    const auto concerns = [&](std::size_t i) { return others(session, r, claims)(session.promised()[i]); };
    const auto starts = session.promised_by_start();
    if (may_borrow == without_end && detail::none_of(starts.begin(), starts.end(), concerns) &&
        session.what_if().begin(session.places(), r.pod_request)) {
      return earliest_alone(session, r, before);
    }
    auto as_it_was = open(session);
    std::optional<start> found;
    for (; !found && t && *t < before; t = next_time()) {
      step(session, r, claims, *t);
      const bool waits_for_that = t == may_borrow;
      if (waits_for_that) may_borrow = session.next_backoff_end(r, *t);
      if (fits_from(session, r, claims, *t)) {
        found = start{*t, waits_for_that ? job_id{} : at_.last, session.would_borrow(r)};
      }
    }
    close(session, std::move(as_it_was));
    return found;
  }
  /// The start of a pending job that gathers from now on and gives up at `until`: that time, if by then it
  /// fits without the jobs that ran before now and have no expected end, beside all promised jobs. None
  /// otherwise. (When it does start it delays nobody, like any other.)
  [[nodiscard]] std::optional<start> gathered(Session& session, const record& r, instant until) {
    auto before = open(session);
    begin();
    const no_claims claims;
    for (auto t = next(session); t && *t <= until; t = next(session)) step(session, r, claims, *t);
    std::optional<start> found;
    if (has_chance(session, r, until, session.now(), others(session, r, claims))) {
      found = start{until, {}, session.would_borrow(r)};
    }
    close(session, std::move(before));
    return found;
  }
  /// The start that a job has been promised, if all promises hold as they are. `earliest` may find none as
  /// early: it asks for one beside all others, and promises for the same time may fit in one order only.
  [[nodiscard]] std::optional<start> planned(Session& session, job_id job) {
    auto before = open(session);
    begin();
    std::optional<start> found;
    const auto note = [&](const promised_job& p) {
      if (p.job == job) found = start{p.what.start, at_.last, session.would_borrow(session.at(job))};
      return true;
    };
    // Another job that no longer has a chance does not concern this one.
    const auto gathers_in_vain = [&](const promised_job& p) {
      return p.what.gathers_since.has_value() && p.job != job;
    };
    if (walk(session, note, gathers_in_vain)) found.reset();
    close(session, std::move(before));
    return found;
  }

 private:
  struct excuses_none {
    [[nodiscard]] bool operator()(const promised_job&) const noexcept { return false; }
  };

  /// As `first_delayed`, for a job that would run until `end`.
  template <class Claims>
  [[nodiscard]] std::optional<instant> first_delayed_until(Session& session, const record& r,
                                                           const place& where, instant end, Claims claims) {
    const promised_job* only = nullptr;
    bool are_more = false;
    for (const std::size_t i : session.promised_by_start()) {
      const promised_job& p = session.promised()[i];
      // Who is gone before the first of them starts delays none.
      if (only == nullptr && end <= p.what.start) break;
      if (!others(session, r, claims)(p)) continue;
      are_more = only != nullptr;
      if (are_more) break;
      only = &p;
    }
    if (only == nullptr) return std::nullopt;
    delayed_ = only->job;
    if (!are_more && session.what_if().begin(session.places(), session.at(only->job).pod_request)) {
      return delays(session, r, *only) ? std::optional{only->what.start} : std::nullopt;
    }
    begin();
    return first_missed(
        session, others(session, r, claims),
        [&] {
          session.assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
          add_run(end, r.facts.id, where);
          return true;
        },
        [&] { session.places().release(where); });
  }

  // With a single promise the placement's what-if is used instead of trial placements.

  /// Whether the only promise would be delayed by a job that starts now and lasts longer. Precondition: the
  /// what-if has begun for the promised job.
  [[nodiscard]] bool delays(Session& session, const record& r, const promised_job& p) {
    const record& promised = session.at(p.job);
    const savepoint before = session.assumed().save();
    session.assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    for (const expected_end& e : session.expected_ends()) {
      if (e.at > p.what.start) break;
      let_go(session, session.at(e.job));
    }
    if (p.what.gathers_since) {
      for_each_open_ended(session, *p.what.gathers_since, [&](const record& gone) { let_go(session, gone); });
    }
    const bool fits = is_allowed(session, promised, p.what.start) && session.what_if().fits(session.places());
    session.assumed().rollback(before);
    return !fits;
  }
  /// Precondition: the what-if has begun for the job.
  [[nodiscard]] std::optional<start> earliest_alone(Session& session, const record& r, instant before) {
    const savepoint as_it_was = session.assumed().save();
    std::optional<start> found;
    const auto ends = session.expected_ends();
    for (std::size_t i = 0; i < ends.size() && ends[i].at < before && !found; ++i) {
      let_go(session, session.at(ends[i].job));
      if (i + 1 < ends.size() && ends[i + 1].at == ends[i].at) continue;
      if (!session.what_if().fits(session.places())) continue;
      if (!session.assumed().fits(r.facts.quota, r.facts.request, r.facts.in)) continue;
      found = start{ends[i].at, ends[i].job, session.would_borrow(r)};
    }
    session.assumed().rollback(as_it_was);
    return found;
  }
  void let_go(Session& session, const record& gone) {
    session.assumed().release(gone.facts.quota, gone.facts.request, gone.facts.in);
    session.what_if().gone(session.places(), gone.where);
  }

  struct both_savepoints {
    savepoint in_ledger;
    decltype(std::declval<typename Session::placement_type&>().save()) in_places;
  };
  /// A promised job that has started in the walk, or the one that is asked about.
  struct run {
    instant end;
    job_id job;
    place where;
    friend bool operator<(const run& a, const run& b) {
      return a.end != b.end ? a.end < b.end : a.job < b.job;
    }
  };
  /// The state of a walk.
  struct cursor {
    std::size_t ends = 0;
    std::size_t starts = 0;
    /// The last that ended.
    job_id last{};
  };

  [[nodiscard]] both_savepoints open(Session& session) {
    return {session.assumed().save(), session.places().save()};
  }
  void close(Session& session, both_savepoints before) {
    session.places().rollback(std::move(before.in_places));
    session.assumed().rollback(before.in_ledger);
  }
  void begin() {
    at_ = {};
    runs_.clear();
    missed_anyway_.clear();
    knows_missed_ = false;
  }

  /// The time of the next event: ends before starts.
  [[nodiscard]] std::optional<instant> next(const Session& session) const {
    std::optional<instant> t;
    const auto consider = [&](instant u) { t = t ? std::min(*t, u) : u; };
    if (at_.ends < session.expected_ends().size()) consider(session.expected_ends()[at_.ends].at);
    if (!runs_.empty()) consider(runs_.front().end);
    if (at_.starts < session.promised_by_start().size()) consider(start_of(session).what.start);
    return t;
  }
  [[nodiscard]] const promised_job& start_of(const Session& session) const {
    return session.promised()[session.promised_by_start()[at_.starts]];
  }
  /// Lets all end that is expected to by `t`.
  void end_until(Session& session, instant t) {
    const auto ends = session.expected_ends();
    for (; at_.ends < ends.size() && ends[at_.ends].at <= t; ++at_.ends) {
      at_.last = ends[at_.ends].job;
      release(session, session.at(at_.last));
    }
    while (!runs_.empty() && runs_.front().end <= t) {
      detail::pop_heap(runs_.begin(), runs_.end(), ends_later);
      const run gone = runs_.back();
      runs_.pop_back();
      at_.last = gone.job;
      const record& r = session.at(gone.job);
      session.assumed().release(r.facts.quota, r.facts.request, r.facts.in);
      session.places().release(gone.where);
    }
  }
  void release(Session& session, const record& gone) {
    session.assumed().release(gone.facts.quota, gone.facts.request, gone.facts.in);
    session.places().release(gone.where);
  }
  /// Calls `visit(record)` for each running job without an expected end that ran before `since`.
  template <class Visit>
  static void for_each_open_ended(Session& session, instant since, Visit visit) {
    for (const record* r : session.open_ended()) {
      if (r->facts.started < since) visit(*r);
    }
  }
  /// Whether a promise is one that a job must not delay: of another, not claimed, and not of one that gathers
  /// and comes later in turn than the job's own promise.
  template <class Claims>
  [[nodiscard]] static auto others(Session& session, const record& r, Claims& claims) {
    return [&](const promised_job& p) {
      if (p.job == r.facts.id || claims(r, p)) return false;
      return !p.what.gathers_since || !r.promised || &p < &session.promise_of(r.facts.id);
    };
  }
  /// Starts a promised job, if it fits.
  template <class Counts>
  bool start_promised(Session& session, const promised_job& p, Counts counts) {
    const record& r = session.at(p.job);
    if (p.what.gathers_since) return has_chance(session, r, p.what.start, *p.what.gathers_since, counts);
    const std::optional<place> where = take(session, r, p.what.start);
    if (!where) return false;
    add_run(later(std::max(p.what.start, session.now()), r.estimate), p.job, *where);
    return true;
  }
  /// Whether a job that has gathered since then fits at `at`, where the walk stands, if all have gone that
  /// ran before and have no expected end; beside those that gather and come earlier in turn. Nobody knows
  /// when it starts, and they may stay: the walk goes on as if it did not.
  template <class Counts>
  [[nodiscard]] bool has_chance(Session& session, const record& r, instant at, instant since, Counts counts) {
    auto as_it_was = open(session);
    for_each_open_ended(session, since, [&](const record& gone) { release(session, gone); });
    for (const promised_job& p : session.promised()) {
      if (p.job == r.facts.id) break;
      if (p.what.gathers_since && counts(p))
        static_cast<void>(take(session, session.at(p.job), p.what.start));
    }
    const bool fits = take(session, r, at).has_value();
    close(session, std::move(as_it_was));
    return fits;
  }
  void add_run(instant end, job_id job, const place& where) {
    if (end == without_end) return;
    runs_.push_back({end, job, where});
    detail::push_heap(runs_.begin(), runs_.end(), ends_later);
  }
  /// Whether the job's quota allows it at that time, at which the walk stands.
  [[nodiscard]] static bool is_allowed(Session& session, const record& r, instant at) {
    return session.assumed().fits(r.facts.quota, r.facts.request, r.facts.in) &&
           !session.backs_off(r, std::max(at, session.now()));
  }
  [[nodiscard]] std::optional<place> take(Session& session, const record& r, instant at) {
    if (!is_allowed(session, r, at)) return std::nullopt;
    const std::optional<place> where = session.places().place(r.pod_request);
    if (where) session.assumed().charge(r.facts.quota, r.facts.request, r.facts.in);
    return where;
  }

  /// Goes on to the last promised start. Returns the first at which a job does not fit, of those that count
  /// and are not excused.
  template <class Counts, class Excused>
  [[nodiscard]] std::optional<instant> walk(Session& session, Counts counts, Excused is_excused) {
    const auto starts = session.promised_by_start();
    while (at_.starts < starts.size()) {
      const instant t = *next(session);
      end_until(session, t);
      for (; at_.starts < starts.size() && start_of(session).what.start <= t; ++at_.starts) {
        const promised_job& p = start_of(session);
        if (!counts(p) || start_promised(session, p, counts) || is_excused(p)) continue;
        delayed_ = p.job;
        return t;
      }
    }
    return std::nullopt;
  }
  /// The first promised start that is missed from where the walk stands, but would not be without the job.
  /// `occupy` lets it run, and returns whether it can; `vacate` takes it away. The walk stays where it is.
  template <class Counts, class Occupy, class Vacate>
  [[nodiscard]] std::optional<instant> first_missed(Session& session, Counts counts, Occupy occupy,
                                                    Vacate vacate) {
    const cursor was = at_;
    kept_ = runs_;
    const auto from_here = [&](auto go) {
      auto before = open(session);
      const std::optional<instant> missed = go();
      close(session, std::move(before));
      at_ = was;
      runs_ = kept_;
      return missed;
    };
    bool runs = true;
    const auto with_job = [&]() -> std::optional<instant> {
      runs = occupy();
      if (!runs) return session.now();
      return walk(session, counts, [&](const promised_job& p) { return is_missed_anyway(p); });
    };
    const std::optional<instant> missed = from_here(with_job);
    if (!missed || !runs || std::exchange(knows_missed_, true)) return missed;
    from_here([&] {
      vacate();
      return walk(session, counts, [&](const promised_job& p) {
        missed_anyway_.push_back(p.job);
        return true;
      });
    });
    return missed_anyway_.empty() ? missed : from_here(with_job);
  }
  /// Goes on to the next time, `t`.
  template <class Claims>
  void step(Session& session, const record& r, Claims claims, instant t) {
    end_until(session, t);
    const auto starts = session.promised_by_start();
    for (; at_.starts < starts.size() && start_of(session).what.start <= t; ++at_.starts) {
      const auto& p = start_of(session);
      if (others(session, r, claims)(p)) start_promised(session, p, others(session, r, claims));
    }
  }
  /// Whether the job can start at the walk's current time and delays no promise from there on.
  template <class Claims>
  [[nodiscard]] bool fits_from(Session& session, const record& r, Claims claims, instant from) {
    if (!is_allowed(session, r, from)) return false;
    if (at_.starts == session.promised_by_start().size()) {
      return could_place(session.places(), r.pod_request);
    }
    return !first_missed(
        session, others(session, r, claims),
        [&] {
          const std::optional<place> where = take(session, r, from);
          const instant end = later(std::max(from, session.now()), r.estimate);
          if (!where || leaves_no_place(session, others(session, r, claims), end)) return false;
          add_run(end, r.facts.id, *where);
          return true;
        },
        [] {});
  }
  /// Whether a job that has just taken its place, until `end`, certainly leaves none for the next promised
  /// job: most that could start would delay that one, and here it takes a tenth of the time to say so.
  template <class Counts>
  [[nodiscard]] bool leaves_no_place(Session& session, Counts counts, instant end) {
    // Until then it is not known which have no place anyway.
    if (!knows_missed_) return false;
    const auto starts = session.promised_by_start();
    std::size_t i = at_.starts;
    while (i < starts.size() && !counts(session.promised()[starts[i]])) ++i;
    if (i == starts.size()) return false;
    const promised_job& next = session.promised()[starts[i]];
    if (end <= next.what.start || is_missed_anyway(next)) return false;
    auto& what_if = session.what_if();
    if (!what_if.begin(session.places(), session.at(next.job).pod_request)) return false;
    const auto ends = session.expected_ends();
    for (std::size_t k = at_.ends; k < ends.size() && ends[k].at <= next.what.start; ++k) {
      what_if.gone(session.places(), session.at(ends[k].job).where);
    }
    for (const run& x : runs_) {
      if (x.end <= next.what.start) what_if.gone(session.places(), x.where);
    }
    if (next.what.gathers_since) {
      for_each_open_ended(session, *next.what.gathers_since,
                          [&](const record& gone) { what_if.gone(session.places(), gone.where); });
    }
    return !what_if.fits(session.places());
  }
  [[nodiscard]] bool is_missed_anyway(const promised_job& p) const {
    return detail::find(missed_anyway_.begin(), missed_anyway_.end(), p.job) != missed_anyway_.end();
  }
  static bool ends_later(const run& a, const run& b) { return b < a; }

  cursor at_;
  /// The promised jobs that have started, as a heap by end.
  vector<run> runs_;
  vector<run> kept_;
  /// The promised jobs that do not fit at their starts even without the one that is asked about.
  vector<job_id> missed_anyway_;
  bool knows_missed_ = false;
  job_id delayed_{};
};

}  // namespace v0
}  // namespace allot
