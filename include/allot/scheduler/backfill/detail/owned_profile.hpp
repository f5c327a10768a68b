// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/possible_victims.hpp>
#include <allot/scheduler/detail/expected_ends.hpp>
#include <allot/scheduler/detail/release_schedule.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
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
    return r.preempts && always_reclaims(session.queues().settings(r.facts.quota).preempt) &&
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
  /// of the quota + reservations); with nodes O(running jobs), and what placing costs. Not before
  /// `claims_from`.
  template <class Counts>
  [[nodiscard]] std::optional<start> earliest(Session& session, const record& r, Counts counts) {
    draw(session, r, counts);
    const bool has_nodes = placement_or_default::has_nodes(session.books().places);
    std::optional<places_ahead<Counts>> places;
    const auto place_between = [&](const start& s, const std::optional<change>& until) {
      if (!places) places.emplace(session, r, counts, victims_);
      return first_place(*places, s, until ? until->at : without_end);
    };
    const bool has_room_now = has_room(session, r);
    if (has_room_now) {
      if (!has_nodes) return std::nullopt;
      spot first;
      const auto s = place_between({session.now(), {}}, next(session, first));
      if (s) return s->at > session.now() ? s : std::nullopt;
    }
    resources<n> free = free_;
    bool waits_for_place = has_room_now;
    spot here;
    for (;;) {
      pass_ends(session, here, free,
                [&](const resources<n>& then) { return !covers(then, r.facts.request); });
      std::optional<change> c = next(session, here);
      if (!c) return std::nullopt;
      start s{c->at, c->job};
      bool some_end = false;
      spot after = here;
      while (c && c->at == s.at) {
        here = after;
        some_end = some_end || !c->is_start;
        free = sum(free, *c);
        c = next(session, after);
      }
      const instant end = later(std::max(s.at, session.now()), r.estimate);
      if (!some_end || s.at < claims_from(r) || !fits(session, free, c, after, r.facts.request, end))
        continue;
      if (!has_nodes) return s;
      s.waits_for_place = waits_for_place;
      if (const auto at = place_between(s, c)) return at;
      waits_for_place = true;
    }
  }
  /// Whether the quota has room now for the job that `earliest` was asked about last.
  [[nodiscard]] bool has_room(const Session& session, const record& r) const {
    if (r.is_early() || !r.may_preempt()) return false;
    resources<n> free = free_;
    spot here;
    std::optional<change> c = next(session, here);
    // Who is overdue may end at any moment, and has not yet.
    for (; c && c->at <= session.now(); c = next(session, here)) {
      if (c->is_start) free = sum(free, *c);
    }
    return fits(session, free, c, here, r.facts.request, later(session.now(), r.estimate));
  }
  /// Whether the quota has room for it now, beside the reservations for which `counts(entry)`.
  template <class Counts>
  [[nodiscard]] bool has_room_now(Session& session, const record& r, Counts counts) {
    draw(session, r, counts);
    return has_room(session, r);
  }
  /// Whether the job has a place when all have gone that run or are nominated, now or after a change of the
  /// nodes that is known: else none of them is what it waits for.
  [[nodiscard]] static bool has_place_alone(Session& session, const record& r) {
    auto& places = session.books().places;
    ahead_of_time then{places, session.now()};
    const tentative trial{places};
    const auto leave = [&](const job_id id) { places.release(session.jobs().at(id).where); };
    for (const expected_end& e : session.books().ends()) leave(e.job);
    for (const job_id id : session.books().open_ended()) leave(id);
    for (const job_id id : session.jobs().nominated().waiting()) leave(id);
    for (instant at = session.now(); at != without_end; at = placement_or_default::next_change(places, at)) {
      then.look(at);
      if (could_place(places, r.pod_request)) return true;
    }
    return false;
  }
  /// The start of the first reservation, of those that count, at which the job, started now, would leave too
  /// little of what the quota owns; none if it delays none.
  template <class Counts>
  [[nodiscard]] std::optional<instant> first_delayed(Session& session, const record& r, Counts counts) {
    if (session.reservations().owned_by(r.facts.quota).empty()) return std::nullopt;
    draw(session, r, counts);
    const instant end = later(session.now(), r.estimate);
    resources<n> free = free_;
    spot here;
    while (here.other < starts_) {
      pass_ends(session, here, free, always);
      const auto c = next(session, here);
      if (!c || c->at >= end) break;
      free = sum(free, *c);
      if (c->is_start && c->job && session.jobs().reservation_of(c->job)->what.owned &&
          !covers(free, r.facts.request)) {
        return c->at;
      }
    }
    return std::nullopt;
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
      const auto earlier = before_it(p, counts);
      const auto has_place = [&](const place* without) {
        places_ahead<std::remove_const_t<decltype(earlier)>> places{session, session.jobs().at(p.job),
                                                                    earlier, victims_, without};
        return places.has_place(p.what.start);
      };
      if (!has_place(nullptr) && has_place(&where)) return p.what.start;
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
    ahead_of_time then{places, session.now()};
    auto before = places.save();
    vector<std::pair<instant, place>> runs;
    const auto ends = session.books().ends();
    std::size_t ended = 0;
    for (const reservation_entry* const p : all) {
      then.look(p->what.start);
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
        for_each_victim(session, r, p->what.start, [&](const record& v) { places.vacate(v.where); });
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

  /// Sets what is free now and all changes but the ends of running jobs, which are in order anyway, and
  /// thousands: `next` goes through both.
  template <class Counts>
  void draw(Session& session, const record& of, Counts counts) {
    const quota_id x = quota_ = of.facts.quota;
    const auto& assumed = session.books().assumed();
    for (std::size_t d = 0; d < n; ++d) free_[d] = assumed.supply_of(x, d).own_pool - assumed.own_usage(x, d);
    others_.clear();
    // From then on it can start, as if somebody had ended.
    if (claims_from(of) != ready_time::always) others_.push_back({claims_from(of), false, {}, {}});
    for (const job_id id : session.jobs().nominated().waiting()) {
      const record& r = session.jobs().at(id);
      if (r.facts.quota != x || r.estimate == without_end) continue;
      others_.push_back({later(session.now(), r.estimate), false, id, r.facts.request});
    }
    for (const auto& c : session.books().foreseen().all()) {
      for (const auto& o : c.owned) {
        if (o.quota != x) continue;
        if (o.more != resources<n>{}) others_.push_back({c.at, false, {}, o.more});
        if (o.less != resources<n>{}) others_.push_back({c.at, true, {}, o.less});
      }
    }
    // Who is to borrow takes what the quota owns first.
    for_each_reservation_of(session, x, [&](const reservation_entry& p) {
      if (p.what.gathers_since || !counts(p)) return;
      // Who is to borrow may lose its start while others leave. It has it again when they have left.
      const bool has_lost_it = p.what.start == without_end && !p.what.owned;
      const instant at = has_lost_it ? p.what.first_start : p.what.start;
      if (at == without_end || (has_lost_it && at <= session.now())) return;
      const record& other = session.jobs().at(p.job);
      others_.push_back({at, true, p.job, other.facts.request});
      if (const instant end = later(std::max(at, session.now()), other.estimate); end != without_end) {
        others_.push_back({end, false, p.job, other.facts.request});
      }
    });
    detail::sort(others_.begin(), others_.end());
    starts_ = others_.size();
    while (starts_ > 0 && !others_[starts_ - 1].is_start) --starts_;
  }
  /// Where a walk through the changes stands: at which end, and at which of the others.
  struct spot {
    typename release_schedule<n>::spot end;
    std::size_t other = 0;
  };
  /// The next change, the earliest first; none if there are no more.
  [[nodiscard]] std::optional<change> next(const Session& session, spot& here) const {
    const auto& ends = session.books().ends_of(quota_);
    const auto* const e = ends.at(here.end);
    const bool is_other = here.other < others_.size();
    if (e == nullptr) return is_other ? std::optional{others_[here.other++]} : std::nullopt;
    const change of_end{e->end.at, false, e->end.job, e->amount};
    if (is_other && others_[here.other] < of_end) return others_[here.other++];
    ends.next(here.end);
    return of_end;
  }
  /// Passes many ends at once, and adds them up in `free`, for as long as `is_passed(free)`: none from the
  /// next other change on.
  template <class IsPassed>
  void pass_ends(const Session& session, spot& here, resources<n>& free, IsPassed is_passed) const {
    const instant until = here.other < others_.size() ? others_[here.other].at : without_end;
    session.books().ends_of(quota_).pass_blocks(here.end, until, free, is_passed);
  }
  static constexpr auto always = [](const resources<n>&) { return true; };
  /// Whether so much is free, of that much at first, from the change `c` on, after which the walk is `here`,
  /// until then. Only starts take something away.
  [[nodiscard]] bool fits(const Session& session, resources<n> free, std::optional<change> c, spot here,
                          const resources<n>& request, instant until) const {
    if (!covers(free, request)) return false;
    while (c && c->at < until && (c->is_start || here.other < starts_)) {
      free = sum(free, *c);
      if (c->is_start && !covers(free, request)) return false;
      pass_ends(session, here, free, always);
      c = next(session, here);
    }
    return true;
  }

  // Nodes.

  /// Calls `visit(record, start)` for each other job of its quota with a reservation that runs at that time.
  template <class Counts, class Visit>
  static void for_each_running_at(Session& session, const record& r, instant at, Counts counts, Visit visit) {
    for_each_reservation_of(session, r.facts.quota, [&](const reservation_entry& p) {
      if (p.job == r.facts.id || !counts(p) || p.what.gathers_since) return;
      if (p.what.start <= at && end_of(session, p) > at) visit(session.jobs().at(p.job), p.what.start);
    });
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

  /// Whether a job has a place at ever later times, when all have gone that are expected to by then, and may
  /// be preempted for it, and others of its quota with a reservation have started. Walks through time once: a
  /// job whose place others hold for long is asked about at thousands of times.
  template <class Counts>
  class places_ahead {
   public:
    /// As if the job at `without`, if given, were not there.
    places_ahead(Session& session, const record& r, Counts counts, stamped_set<job_id>& victims,
                 const place* without = nullptr)
        : session_(session),
          r_(r),
          counts_(counts),
          without_(without),
          victims_(victims),
          then_(session.books().places, session.now()) {
      if constexpr (can_count) {
        is_counted_ = room().begin(places(), r.pod_request);
        if (is_counted_ && without_ != nullptr) room().gone(places(), *without_);
      }
      victims_.clear();
    }
    places_ahead(const places_ahead&) = delete;
    places_ahead& operator=(const places_ahead&) = delete;
    ~places_ahead() {
      if (before_) places().rollback(std::move(*before_));
    }

    /// Asked no more once it is true.
    [[nodiscard]] bool has_place(instant at) {
      if (is_counted_) {
        if (const std::optional<bool> known = count(at)) return *known;
        is_counted_ = false;
        victims_.clear();
        has_victims_ = false;
        passed_ = 0;
      }
      if (!before_) {
        before_ = places().save();
        if (without_ != nullptr) places().release(*without_);
      }
      then_.look(at);
      go_to(
          at, [&](const record& v) { places().vacate(v.where); },
          [&](const record& e) {
            places().release(e.where);
            return false;
          });
      auto here = places().save();
      for_each_running_at(session_, r_, at, counts_, [&](const record& other, instant start) {
        then_.look(start);
        static_cast<void>(places().place(other.pod_request));
      });
      then_.look(at);
      const bool fits = could_place(places(), r_.pod_request);
      places().rollback(std::move(here));
      return fits;
    }
    /// Of those that end next, the last; of nodes that change before that, when, and no job.
    [[nodiscard]] std::optional<expected_end> next_end(instant after) const {
      const auto ends = session_.books().ends();
      std::size_t i = passed_;
      while (i + 1 < ends.size() && ends[i + 1].at == ends[i].at) ++i;
      const instant change = placement_or_default::next_change(places(), std::max(after, session_.now()));
      if (i < ends.size() && ends[i].at <= change) return ends[i];
      return change == without_end ? std::nullopt : std::optional{expected_end{change, {}}};
    }

   private:
    using placement = typename Session::placement_type;
    static constexpr bool can_count = kept_placement_room<room_counter_of<placement>, placement>;

    [[nodiscard]] auto& places() const { return session_.books().places; }
    [[nodiscard]] auto& room() const { return session_.books().what_if(); }

    /// Counted, and as soon as enough have gone; the others with a reservation may take as much of the room
    /// as they can. Nothing if it depends on where these are. Nearly all questions end here: an event of ten
    /// quotas with nodes costs 35 % less (`bench/micro/reservations`).
    [[nodiscard]] std::optional<bool> count(instant at) {
      if constexpr (can_count) {
        std::optional<std::uint64_t> taken;
        const auto fits = [&] {
          if (!room().fits(0).value_or(false)) return false;
          if (!taken) taken = most_taken(at);
          return room().fits(*taken).value_or(false);
        };
        const auto gone = [&](const record& x) {
          room().gone(places(), x.where);
          return fits();
        };
        if (fits() || go_to(at, gone, gone) || fits()) return true;
        if (room().fits(0) == false) return false;
      }
      return std::nullopt;
    }
    /// How much the others with a reservation take of the room then, at most.
    [[nodiscard]] std::uint64_t most_taken(instant at) const {
      std::uint64_t taken = 0;
      for_each_running_at(session_, r_, at, counts_, [&](const record& other, instant) {
        taken += room().taken_by(places(), other.pod_request).second;
      });
      return taken;
    }
    /// Until one that has ended returns true: then so does this.
    template <class Victim, class Ended>
    bool go_to(instant at, Victim victim, Ended ended) {
      const auto ends = session_.books().ends();
      for (; passed_ < ends.size() && ends[passed_].at <= at; ++passed_) {
        const job_id id = ends[passed_].job;
        if (!victims_.contains(id) && ended(session_.jobs().at(id))) return true;
      }
      if (std::exchange(has_victims_, true)) return false;
      for_each_victim(session_, r_, at, [&](const record& v) {
        victims_.insert(v.facts.id);
        victim(v);
      });
      return false;
    }

    Session& session_;
    const record& r_;
    Counts counts_;
    const place* without_;
    /// Those that have gone as victims, and how many of all ends have been passed.
    stamped_set<job_id>& victims_;
    bool has_victims_ = false;
    std::size_t passed_ = 0;
    bool is_counted_ = false;
    ahead_of_time<placement> then_;
    /// Once that can't be counted.
    std::optional<decltype(std::declval<placement&>().save())> before_;
  };

  /// Those that are placed before it.
  template <class Counts>
  [[nodiscard]] static auto before_it(const reservation_entry& p, Counts counts) {
    return [&p, counts](const reservation_entry& q) {
      return counts(q) &&
             (q.what.start < p.what.start || (q.what.start == p.what.start && q.number < p.number));
    };
  }
  /// The first time from `s` on, and before `until`, at which the job has a place: when something ends.
  template <class Counts>
  [[nodiscard]] static std::optional<start> first_place(places_ahead<Counts>& places, const start& s,
                                                        instant until) {
    if (places.has_place(s.at)) return s;
    for (auto e = places.next_end(s.at); e && e->at < until; e = places.next_end(e->at)) {
      if (places.has_place(e->at)) return start{e->at, e->job, true};
    }
    return std::nullopt;
  }

  quota_id quota_{};
  /// What is free now, below zero if the quota borrows.
  resources<n> free_{};
  /// How that changes, the earliest first, but for the ends of running jobs; and up to which of them there
  /// are starts.
  vector<change> others_;
  std::size_t starts_ = 0;
  stamped_set<job_id> victims_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
