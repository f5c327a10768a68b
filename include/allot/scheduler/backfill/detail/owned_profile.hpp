// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/possible_victims.hpp>
#include <allot/scheduler/detail/expected_ends.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// What a quota's own jobs leave of what it owns, over the time to come: all that runs ends as expected, and
/// each job with a reservation on it starts and ends as reserved. What others borrow of it counts as free:
/// they give it back. So a question costs what the quota's own jobs are, however large the tree.
///
/// Where there are nodes, a reserved start is a time at which the job also has a place, if all that is
/// expected to end by then, in whatever quota, has gone, and all jobs that may be preempted for it.
///
/// Queries change nothing, and in the steady state do not allocate.
template <class Session>
class owned_profile {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using reservation_entry = typename Session::reservation_entry;

  struct start {
    instant at = 0;
    /// Whose end or start it waits for; none if what is in its way is no job of its quota.
    job_id after{};
    /// Whether its quota would have room earlier, but it has no place by then.
    bool waits_for_place = false;
  };

  /// Whether its quota owns all that the job asks for.
  [[nodiscard]] static bool owns_request(Session& session, const record& r) {
    const quota_id x = r.facts.quota;
    for (std::size_t d = 0; d < n; ++d) {
      // A parent that is overcommitted may have less, and nothing that is guaranteed.
      if (r.facts.request[d] > quantity{} &&
          (r.facts.request[d] > session.books().assumed().supply_of(x, d).own_pool ||
           r.facts.request[d] > session.books().assumed().potential(x, d, r.facts.in))) {
        return false;
      }
    }
    return true;
  }
  /// Whether the job may hold a reservation on what its quota owns: it owns all that the job asks for, and
  /// what it has lent comes back when asked for.
  [[nodiscard]] static bool may_hold(Session& session, const record& r) {
    return session.queues().settings(r.facts.quota).preempt.reclaim == preempt_reclaim::any &&
           owns_request(session, r);
  }

  /// Calls `visit(entry)` for each reservation of a job of x, those that stand on what it owns first.
  template <class Visit>
  static void for_each_reservation_of(const Session& session, quota_id x, Visit visit) {
    for (const reservation_entry& p : session.reservations().owned_by(x)) visit(p);
    for (const reservation_entry& p : session.reservations().all()) {
      if (p.quota == x) visit(p);
    }
  }

  /// From when it may take back what its quota has lent: not before it is ready, and others may be evicted
  /// for it.
  [[nodiscard]] static instant claims_from(const record& r) {
    return std::max(r.is_early() ? r.ready.at : ready_time::always, r.preempts_from);
  }
  /// The earliest start of the pending job, beside the reservations of its quota for which `counts(entry)`.
  /// None if that can't be determined, or the quota has room for it now: then others are in its way. O(jobs
  /// of the quota x reservations); with nodes, and what placing costs. Not before `claims_from`.
  template <class Counts>
  [[nodiscard]] std::optional<start> earliest(Session& session, const record& r, Counts counts) {
    draw(session, r, counts);
    const bool has_room_now = has_room(session, r);
    if (has_room_now) {
      if (!placement_or_default::has_nodes(session.books().places)) return std::nullopt;
      const auto s = place_between(session, r, {session.now(), {}}, next_change(0), counts);
      if (s) return s->at > session.now() ? s : std::nullopt;
    }
    resources<n> free = free_;
    bool waits_for_place = has_room_now;
    for (std::size_t i = 0; i < changes_.size();) {
      start s{changes_[i].at, changes_[i].job};
      bool some_end = false;
      for (; i < changes_.size() && changes_[i].at == s.at; ++i) {
        some_end = some_end || !changes_[i].is_start;
        free = sum(free, changes_[i]);
      }
      const instant end = later(std::max(s.at, session.now()), r.estimate);
      if (!some_end || s.at < claims_from(r) || !fits(free, i, r.facts.request, end)) continue;
      if (!placement_or_default::has_nodes(session.books().places)) return s;
      s.waits_for_place = waits_for_place;
      if (const auto at = place_between(session, r, s, next_change(i), counts)) return at;
      waits_for_place = true;
    }
    return std::nullopt;
  }
  /// Whether the quota has room now for the job that `earliest` was asked about last.
  [[nodiscard]] bool has_room(const Session& session, const record& r) const {
    if (r.is_early() || !r.may_preempt()) return false;
    resources<n> free = free_;
    for (const change& c : changes_) {
      if (c.is_start && c.at <= session.now()) free = sum(free, c);
    }
    if (!covers(free, r.facts.request)) return false;
    for (const change& c : changes_) {
      if (c.at <= session.now()) continue;
      if (c.at >= later(session.now(), r.estimate)) break;
      free = sum(free, c);
      if (c.is_start && !covers(free, r.facts.request)) return false;
    }
    return true;
  }
  /// Whether the quota has room for it now, beside the reservations for which `counts(entry)`.
  template <class Counts>
  [[nodiscard]] bool has_room_now(Session& session, const record& r, Counts counts) {
    draw(session, r, counts);
    return has_room(session, r);
  }
  /// The start of the first reservation, of those that count, at which the job, started now, would leave too
  /// little of what the quota owns; none if it delays none.
  template <class Counts>
  [[nodiscard]] std::optional<instant> first_delayed(Session& session, const record& r, Counts counts) {
    const instant end = later(session.now(), r.estimate);
    // There are few of them. To put all changes in order first makes an event of 30 quotas without nodes 15 %
    // dearer (`bench/micro/reservations`).
    std::optional<instant> first;
    for (const reservation_entry& p : session.reservations().owned_by(r.facts.quota)) {
      if (p.what.start >= (first ? *first : end) || !counts(p)) continue;
      const change at_start{p.what.start, true, p.job, {}};
      resources<n> free = free_now(session, r.facts.quota);
      for_each_change(session, r.facts.quota, counts, p.what.start, [&](const change& c) {
        if (!(at_start < c)) free = sum(free, c);
      });
      if (!covers(free, r.facts.request)) first = p.what.start;
    }
    return first;
  }
  /// The same by its place, which has been taken: the reserved start at which another job has none, but would
  /// have one without it.
  template <class Counts>
  [[nodiscard]] std::optional<instant> first_displaced(Session& session, const record& r, const place& where,
                                                       Counts counts) {
    if (!placement_or_default::has_nodes(session.books().places)) return std::nullopt;
    const instant end = later(session.now(), r.estimate);
    for (const reservation_entry& p : session.reservations().owned_by(r.facts.quota)) {
      if (!counts(p) || p.what.start == without_end || p.what.start >= end) continue;
      if (has_place(session, p, nullptr, counts)) continue;
      if (has_place(session, p, &where, counts)) return p.what.start;
    }
    return std::nullopt;
  }

  /// Calls `visit(job_id, place)` for each reserved start in the tree that is known, the earliest first,
  /// where the job is placed then. Jobs that may be preempted for it stay where it has a place beside them.
  template <class Visit>
  void for_each_planned_place(Session& session, Visit visit) {
    vector<const reservation_entry*> all;
    for (const reservation_entry& p : session.reservations().all()) all.push_back(&p);
    for (const quota_id x : session.reservations().owners()) {
      for (const reservation_entry& p : session.reservations().owned_by(x)) all.push_back(&p);
    }
    erase_if(all, [](const auto* p) { return p->what.start == without_end || p->what.gathers_since; });
    detail::sort(all.begin(), all.end(), [](const auto* p, const auto* q) {
      return std::pair{p->what.start, p->number} < std::pair{q->what.start, q->number};
    });
    auto& places = session.books().places;
    auto before = places.save();
    vector<std::pair<instant, place>> runs;
    const auto ends = session.books().ends();
    std::size_t ended = 0;
    for (const reservation_entry* const p : all) {
      for (; ended < ends.size() && ends[ended].at <= p->what.start; ++ended) {
        places.release(session.jobs().at(ends[ended].job).where);
      }
      erase_if(runs, [&](const auto& run) {
        if (run.first <= p->what.start) places.release(run.second);
        return run.first <= p->what.start;
      });
      const record& r = session.jobs().at(p->job);
      auto at = places.place(r.pod_request);
      if (!at && p->what.owned) {
        auto with_victims = places.save();
        vacate_victims(session, r, p->what.start);
        at = places.place(r.pod_request);
        at ? places.commit(std::move(with_victims)) : places.rollback(std::move(with_victims));
      }
      if (!at) continue;
      visit(p->job, *at);
      runs.push_back({end_of(session, *p), *at});
    }
    places.rollback(std::move(before));
  }

 private:
  struct change {
    instant at;
    /// Of two at the same time, ends come first.
    bool is_start;
    job_id job;
    resources<n> amount;
    friend bool operator<(const change& a, const change& b) {
      if (a.at != b.at) return a.at < b.at;
      return a.is_start != b.is_start ? b.is_start : a.job < b.job;
    }
  };

  [[nodiscard]] static bool covers(const resources<n>& free, const resources<n>& request) {
    for (std::size_t d = 0; d < n; ++d) {
      if (request[d] > quantity{} && request[d] > free[d]) return false;
    }
    return true;
  }
  [[nodiscard]] static resources<n> sum(resources<n> free, const change& c) {
    c.is_start ? free -= c.amount : free += c.amount;
    return free;
  }
  /// When a job with a reservation ends if it starts as reserved.
  [[nodiscard]] static instant end_of(const Session& session, const reservation_entry& p) {
    return later(std::max(p.what.start, session.now()), session.jobs().at(p.job).estimate);
  }

  template <class Counts>
  void draw(Session& session, const record& of, Counts counts) {
    const quota_id x = of.facts.quota;
    changes_.clear();
    // From then on it can start, as if somebody had ended.
    if (claims_from(of) != ready_time::always) changes_.push_back({claims_from(of), false, {}, {}});
    free_ = free_now(session, x);
    for_each_change(session, x, counts, without_end, [&](const change& c) { changes_.push_back(c); });
    detail::sort(changes_.begin(), changes_.end());
  }
  /// What x owns and its own jobs do not use.
  [[nodiscard]] static resources<n> free_now(Session& session, quota_id x) {
    resources<n> free;
    const auto& assumed = session.books().assumed();
    for (std::size_t d = 0; d < n; ++d) free[d] = assumed.supply_of(x, d).own_pool - assumed.own_usage(x, d);
    return free;
  }
  /// Calls `visit(change)` for all changes, in no particular order; those after `until` may be left out.
  template <class Counts, class Visit>
  static void for_each_change(Session& session, quota_id x, Counts counts, instant until, Visit visit) {
    for (const expected_end& e : session.books().ends_of(x)) {
      if (e.at > until) break;
      visit(change{e.at, false, e.job, session.jobs().at(e.job).facts.request});
    }
    for (const job_id id : session.jobs().nominated().waiting()) {
      const record& r = session.jobs().at(id);
      if (r.facts.quota != x || r.estimate == without_end) continue;
      visit(change{later(session.now(), r.estimate), false, id, r.facts.request});
    }
    // Who is to borrow takes what the quota owns first.
    for_each_reservation_of(session, x, [&](const reservation_entry& p) {
      if (p.what.gathers_since || !counts(p)) return;
      // Who is to borrow may lose its start while others leave. It has it again when they have left.
      const bool has_lost_it = p.what.start == without_end && !p.what.owned;
      const instant at = has_lost_it ? p.what.first_start : p.what.start;
      if (at > until || at == without_end || (has_lost_it && at <= session.now())) return;
      const record& other = session.jobs().at(p.job);
      visit(change{at, true, p.job, other.facts.request});
      if (const instant end = later(std::max(at, session.now()), other.estimate); end != without_end) {
        visit(change{end, false, p.job, other.facts.request});
      }
    });
  }
  /// Whether so much is free, of that much at first, from the change at `from` on until then.
  [[nodiscard]] bool fits(resources<n> free, std::size_t from, const resources<n>& request,
                          instant until) const {
    if (!covers(free, request)) return false;
    for (; from < changes_.size() && changes_[from].at < until; ++from) {
      free = sum(free, changes_[from]);
      if (changes_[from].is_start && !covers(free, request)) return false;
    }
    return true;
  }

  // Nodes.

  /// Calls `ask` at a time in a world in which all have gone that are expected to by then, and may be
  /// preempted for the job, and others with a reservation have started.
  template <class Counts, class Ask>
  auto suppose(Session& session, const record& r, instant at, Counts counts, Ask ask) {
    auto& places = session.books().places;
    auto before = places.save();
    vacate_victims(session, r, at);
    for (const expected_end& e : session.books().ends()) {
      if (e.at > at) break;
      places.release(session.jobs().at(e.job).where);
    }
    for_each_running_at(session, r, at, counts,
                        [&](const record& other) { static_cast<void>(places.place(other.pod_request)); });
    auto result = ask();
    places.rollback(std::move(before));
    return result;
  }
  /// Calls `visit(record)` for each other job of its quota with a reservation that runs at that time.
  template <class Counts, class Visit>
  static void for_each_running_at(Session& session, const record& r, instant at, Counts counts, Visit visit) {
    for_each_reservation_of(session, r.facts.quota, [&](const reservation_entry& p) {
      if (p.job == r.facts.id || !counts(p) || p.what.gathers_since) return;
      if (p.what.start <= at && end_of(session, p) > at) visit(session.jobs().at(p.job));
    });
  }
  static void vacate_victims(Session& session, const record& r, instant at) {
    for_each_victim(session, r, at, [&](const record& v) { session.books().places.vacate(v.where); });
  }
  /// Calls `visit(record)` for each job that may be preempted for it, and has not ended by then.
  template <class Visit>
  static void for_each_victim(Session& session, const record& r, instant at, Visit visit) {
    const beneficiary<n> b{r.facts.quota,     r.facts.request,
                           r.facts.in,        r.facts.priority,
                           r.facts.submitted, session.queues().settings(r.facts.quota).preempt,
                           session.now(),     r.facts.id};
    for_each_possible_victim(session.books().assumed(), b, [&](const possible_victims& these) {
      for (const running_job<n>& job : session.books().running().jobs_of(these.quota)) {
        const record& v = session.jobs().at(job.id);
        if (job.priority <= these.highest_priority && v.expected_end > at) visit(v);
      }
    });
  }
  /// Whether the job certainly has a place at that time, in the world of `suppose`. Counted, and as soon as
  /// enough have gone; the others may take as much of the room as they can. Nearly all questions end here: an
  /// event of ten quotas with nodes costs 35 % less (`bench/micro/reservations`).
  template <class Counts>
  [[nodiscard]] static bool certainly_has_place(Session& session, const record& r, instant at,
                                                Counts counts) {
    using placement = typename Session::placement_type;
    if constexpr (kept_placement_room<room_counter_of<placement>, placement>) {
      const auto& places = session.books().places;
      auto& room = session.books().what_if();
      if (!room.begin(places, r.pod_request)) return false;
      std::uint64_t taken = 0;
      for_each_running_at(session, r, at, counts, [&](const record& other) {
        taken += room.taken_by(places, other.pod_request).second;
      });
      const auto fits = [&] { return room.fits(taken).value_or(false); };
      if (fits()) return true;
      for (const expected_end& e : session.books().ends()) {
        if (e.at > at) break;
        room.gone(places, session.jobs().at(e.job).where);
        if (fits()) return true;
      }
      for_each_victim(session, r, at, [&](const record& v) { room.gone(places, v.where); });
      return fits();
    }
    return false;
  }
  /// Those that are placed before it.
  template <class Counts>
  [[nodiscard]] static auto before_it(const reservation_entry& p, Counts counts) {
    return [&p, counts](const reservation_entry& q) {
      return counts(q) &&
             (q.what.start < p.what.start || (q.what.start == p.what.start && q.number < p.number));
    };
  }
  /// Whether the job with a reservation has a place at its start; without the one at `without`, if given.
  template <class Counts>
  [[nodiscard]] bool has_place(Session& session, const reservation_entry& p, const place* without,
                               Counts counts) {
    const record& r = session.jobs().at(p.job);
    const auto before = before_it(p, counts);
    if (certainly_has_place(session, r, p.what.start, before)) return true;
    return suppose(session, r, p.what.start, before, [&] {
      if (without != nullptr) session.books().places.release(*without);
      return could_place(session.books().places, r.pod_request);
    });
  }
  [[nodiscard]] instant next_change(std::size_t i) const {
    return i < changes_.size() ? changes_[i].at : without_end;
  }
  /// The first time from `s` on, and before `until`, at which the job has a place: when something ends.
  template <class Counts>
  [[nodiscard]] std::optional<start> place_between(Session& session, const record& r, const start& s,
                                                   instant until, Counts counts) {
    if (certainly_has_place(session, r, s.at, counts)) return s;
    return suppose(session, r, s.at, counts, [&]() -> std::optional<start> {
      if (could_place(session.books().places, r.pod_request)) return s;
      const auto ends = session.books().ends();
      for (std::size_t i = 0; i < ends.size() && ends[i].at < until; ++i) {
        if (ends[i].at <= s.at) continue;
        session.books().places.release(session.jobs().at(ends[i].job).where);
        if (i + 1 < ends.size() && ends[i + 1].at == ends[i].at) continue;
        if (could_place(session.books().places, r.pod_request)) return start{ends[i].at, ends[i].job, true};
      }
      return std::nullopt;
    });
  }

  /// What is free now, below zero if the quota borrows; and how that changes, the earliest first.
  resources<n> free_{};
  vector<change> changes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
