// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/detail/quota_allows.hpp>
#include <allot/scheduler/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// When a job with a reservation ends if it starts as reserved.
template <class Session>
[[nodiscard]] instant reserved_end(const Session& session, const typename Session::reservation_entry& p) {
  return later(std::max(p.what.start, session.now()), session.jobs().at(p.job).estimate);
}

/// What can be told about reserved starts without a walk to them, from the horizons that the session keeps:
/// what will have gone by then. For the first of them that is exact. A later one depends on the places of the
/// jobs with a reservation before it, too: often it certainly holds, or certainly does not, wherever these
/// are.
///
/// It answers as of now, or for where a walk stands. For the latter it keeps notes, made before the walk
/// begins: within a trial no horizon may be brought up to date.
///
/// Everywhere `counts(reservation)` says which reservations matter; the others are as if they were not there.
template <class Session>
class foresight {
 public:
  using record = typename Session::record;
  using place = typename Session::place;
  using reservation_entry = typename Session::reservation_entry;
  using horizon = typename Session::horizon_type;

  /// A job with a reservation that has started in a walk, or the one that is asked about.
  struct run {
    instant end;
    job_id job;
    /// Nothing where no job is placed.
    place where;
    /// How much it takes at least of the room that is counted.
    std::uint64_t takes = 0;
    friend bool operator<(const run& a, const run& b) {
      return a.end != b.end ? a.end < b.end : a.job < b.job;
    }
  };
  /// Where a walk stands.
  struct walk_state {
    /// How many reserved starts have come, of those in `reservations::by_start`.
    std::size_t starts = 0;
    /// Who has started and not ended since.
    std::span<const run> runs;
    /// Whether no job is placed.
    bool without_places = false;
    /// Whether jobs with a reservation have started otherwise than noted.
    bool differs = false;
    /// Whether all that have come certainly did so; only where no job is placed.
    bool is_certain = true;
  };
  /// A job beside all that is booked. It runs until then.
  struct guest {
    const record& job;
    const place& where;
    instant end;
  };
  /// Of reserved starts: all hold; the first one that does not is missed, perhaps without the guest, too; it
  /// is delayed by the guest.
  enum class verdict : std::uint8_t { unknown, hold, missed, delayed };
  struct outlook {
    verdict says = verdict::unknown;
    /// That first one.
    const reservation_entry* first = nullptr;
  };
  /// What the quotas allow at a reserved start if the jobs with a reservation before it start as reserved.
  struct noted_start {
    /// None if nothing is kept for it.
    horizon* of = nullptr;
    bool counts = false;
    bool is_allowed = false;
    bool is_allowed_beside = false;
    /// Whether the job with a reservation would borrow then; only where there is no guest.
    bool borrows = false;
    /// Whether it certainly holds.
    bool holds = false;
  };

  // As of now, outside of any trial.

  /// Whether the reserved start at that position, the first that counts, holds without the job, and certainly
  /// not if it starts now and runs by then, wherever it is placed.
  template <class Counts>
  [[nodiscard]] bool certainly_delays(Session& session, const record& r, std::size_t i, Counts counts) {
    session.look_ahead();
    const noted_start seen = look_at(session, i, counts, &r);
    if (seen.of == nullptr || !seen.is_allowed) return false;
    const auto& room = seen.of->room;
    if (!fits(room, 0)) return false;
    return !seen.is_allowed_beside ||
           !could_fit(room, room.taken_by(session.books().places, r.pod_request).first);
  }
  /// Whether the job with a reservation borrows at its start. None if that is not known, or it is not certain
  /// that all reservations hold.
  [[nodiscard]] std::optional<bool> borrows_as_reserved(Session& session, job_id job) {
    session.look_ahead();
    const auto starts = session.reservations().by_start();
    const auto counts = [](const reservation_entry&) { return true; };
    std::optional<bool> borrows;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const noted_start seen = look_at(session, i, counts, nullptr);
      if (seen.of == nullptr || !seen.is_allowed) return std::nullopt;
      if (!fits(seen.of->room, most_taken(session, *seen.of, 0, i, counts))) return std::nullopt;
      if (session.reservations().all()[starts[i]].job == job) borrows = seen.borrows;
    }
    return borrows;
  }

  // The notes.

  /// Notes what is allowed at the next reserved starts, without the job and with it, for a walk that begins
  /// now.
  template <class Counts>
  void note(Session& session, const record& r, Counts counts) {
    session.look_ahead();
    for (std::size_t i = 0; i < session.reservations().by_start().size(); ++i) {
      const bool is_counted = counts(session.reservations().all()[session.reservations().by_start()[i]]);
      noted_.push_back(is_counted ? look_at(session, i, counts, &r) : noted_start{});
      noted_start& noted = noted_.back();
      noted.counts = is_counted;
      if (!is_counted) continue;
      if (noted.of == nullptr) break;
      noted.holds = noted.is_allowed && fits(noted.of->room, most_taken(session, *noted.of, 0, i, counts));
    }
  }
  /// Another walk begins.
  void forget() { noted_.clear(); }
  /// By position in `reservations::by_start`: the first ones, as far as they are known.
  [[nodiscard]] std::span<const noted_start> noted() const noexcept { return noted_; }
  /// Whether the notes are true where the walk stands: not if the job claims other reservations by now.
  template <class Counts>
  [[nodiscard]] bool is_as_noted(Session& session, const walk_state& walk, Counts counts) const {
    if (noted_.empty() || walk.differs) return false;
    for (std::size_t i = 0; i < noted_.size(); ++i) {
      if (counts(session.reservations().all()[session.reservations().by_start()[i]]) != noted_[i].counts)
        return false;
    }
    return true;
  }

  // Where a walk stands that goes as noted.

  /// Whether all reservations hold that start there or later, with a guest that has taken its place in the
  /// walk. Without notes: as of now, with one that has taken it before, outside of any trial.
  template <class Counts>
  [[nodiscard]] outlook foresee(Session& session, const walk_state& walk, const guest& g, Counts counts) {
    const bool walks = !noted_.empty();
    if (!walks) session.look_ahead();
    const auto starts = session.reservations().by_start();
    for (std::size_t i = walk.starts; i < starts.size(); ++i) {
      const reservation_entry& p = session.reservations().all()[starts[i]];
      if (!counts(p)) continue;
      if (walks && i >= noted_.size()) return {};
      const noted_start seen = walks ? noted_[i] : look_at(session, i, counts, &g.job);
      if (seen.of == nullptr) return {};
      const bool is_there = g.end > p.what.start;
      const std::uint64_t taken = most_taken(session, *seen.of, walk.starts, i, counts);
      if (is_there ? seen.is_allowed_beside : seen.is_allowed) {
        if (has_room(session, walk, *seen.of, taken, uncounted(g, is_there))) continue;
        // Those before it start: it is missed if they leave too little wherever they are.
        const std::uint64_t least = least_taken(session, *seen.of, walk.starts, i, counts);
        if (taken != 0 && could_have_room(session, walk, *seen.of, least, uncounted(g, is_there))) return {};
      }
      const bool is_delayed =
          is_there && seen.is_allowed && has_room(session, walk, *seen.of, taken, uncounted(g, false));
      return {is_delayed ? verdict::delayed : verdict::missed, &p};
    }
    return {verdict::hold};
  }
  /// The first reserved start that certainly holds without the job and certainly not if that starts there and
  /// still runs, wherever it is placed. None: a time that no job runs beyond.
  template <class Counts>
  [[nodiscard]] instant ruled_out_from(Session& session, const walk_state& walk, const record& r,
                                       Counts counts) {
    const auto starts = session.reservations().by_start();
    for (std::size_t i = walk.starts; i < std::min(starts.size(), noted_.size()); ++i) {
      const noted_start& noted = noted_[i];
      if (!noted.counts) continue;
      // As long as they hold without the job, each that does not start is one that it delays.
      if (noted.of == nullptr || !holds_without(session, walk, i, counts)) break;
      if ((walk.is_certain && !noted.is_allowed_beside) || !could_hold_beside(session, walk, r, i, counts)) {
        return noted.of->at;
      }
    }
    return without_end;
  }

 private:
  using room_counter = kept_counter_of<typename Session::placement_type>;

  /// @{
  /// Whether a job has a place, certainly or perhaps, if others take so much of the room.
  [[nodiscard]] static bool fits(const room_counter& room, std::uint64_t taken) {
    return room.fits(taken).value_or(false);
  }
  [[nodiscard]] static bool could_fit(const room_counter& room, std::uint64_t taken) {
    return room.fits(taken).value_or(true);
  }
  /// @}
  /// Calls `visit(reservation)` for those from a position on that count, start before the one at `until`, and
  /// run then.
  template <class Counts, class Visit>
  static void for_each_before(Session& session, std::size_t from, std::size_t until, Counts counts,
                              Visit visit) {
    const auto starts = session.reservations().by_start();
    const instant at = session.reservations().all()[starts[until]].what.start;
    for (std::size_t i = from; i < until; ++i) {
      const reservation_entry& p = session.reservations().all()[starts[i]];
      if (counts(p) && !p.what.gathers_since && reserved_end(session, p) > at) visit(p);
    }
  }
  template <class Counts, class Taken>
  [[nodiscard]] static std::uint64_t sum_before(Session& session, std::size_t from, std::size_t until,
                                                Counts counts, Taken taken) {
    std::uint64_t sum = 0;
    for_each_before(session, from, until, counts,
                    [&](const reservation_entry& p) { sum += taken(session.jobs().at(p.job).pod_request); });
    return sum;
  }
  /// @{
  /// How much of the room at the reserved start at `until` those take at most, and at least.
  template <class Counts>
  [[nodiscard]] static std::uint64_t most_taken(Session& session, const horizon& h, std::size_t from,
                                                std::size_t until, Counts counts) {
    return sum_before(session, from, until, counts, [&](const auto& pod_request) {
      return h.room.taken_by(session.books().places, pod_request).second;
    });
  }
  template <class Counts>
  [[nodiscard]] static std::uint64_t least_taken(Session& session, const horizon& h, std::size_t from,
                                                 std::size_t until, Counts counts) {
    return sum_before(session, from, until, counts, [&](const auto& pod_request) {
      return h.room.taken_by(session.books().places, pod_request).first;
    });
  }
  /// @}
  /// What is allowed at the reserved start at that position, for its job and with a guest. Not in a walk.
  template <class Counts>
  [[nodiscard]] static noted_start look_at(Session& session, std::size_t i, Counts counts,
                                           const record* beside) {
    const reservation_entry& p = session.reservations().all()[session.reservations().by_start()[i]];
    noted_start seen;
    if (p.what.gathers_since) return seen;
    seen.of = session.books().horizons().find(p);
    if (seen.of == nullptr) return seen;
    auto& assumed = session.books().assumed();
    const auto as_it_was = assumed.save();
    for (const auto& share : seen.of->gone) {
      if (share.amount != resources<Session::n>{}) assumed.release(share.quota, share.amount, share.in);
    }
    // Together they may request more than can be counted.
    const auto charge = [&](const record& r) {
      if (!assumed.can_count(r.facts.quota, r.facts.request)) {
        seen.of = nullptr;
      } else {
        assumed.charge(r.facts.quota, r.facts.request, r.facts.in);
      }
    };
    for_each_before(session, 0, i, counts,
                    [&](const reservation_entry& before) { charge(session.jobs().at(before.job)); });
    const record& reserved = session.jobs().at(p.job);
    seen.is_allowed = quota_allows(session, reserved, p.what.start);
    if (beside == nullptr) {
      seen.borrows = session.books().would_borrow(reserved);
    } else {
      charge(*beside);
      seen.is_allowed_beside = quota_allows(session, reserved, p.what.start);
    }
    assumed.rollback(as_it_was);
    return seen;
  }

  /// A place that the counts of a horizon show free although a job is there by then, or the reverse; or
  /// none.
  struct difference {
    const place* where = nullptr;
    bool is_taken = false;
  };
  /// That of the guest, if it is there by then, or not. The counts are as old as the notes. Without any they
  /// know its place, and no end.
  [[nodiscard]] difference uncounted(const guest& g, bool is_there) const {
    const bool is_counted = noted_.empty();
    return is_counted == is_there ? difference{} : difference{&g.where, is_there};
  }
  /// @{
  /// Whether a job with a reservation has a place at its start, certainly or perhaps, if others that start
  /// before it take so much of the room at most, or at least.
  [[nodiscard]] static bool has_room(Session& session, const walk_state& walk, horizon& h, std::uint64_t most,
                                     const difference& by_guest = {}) {
    return ask_room(session, walk, h, by_guest, [most](const auto& room) { return fits(room, most); });
  }
  [[nodiscard]] static bool could_have_room(Session& session, const walk_state& walk, horizon& h,
                                            std::uint64_t least, const difference& by_guest = {}) {
    return ask_room(session, walk, h, by_guest, [least](const auto& room) { return could_fit(room, least); });
  }
  /// @}
  /// Returns `ask(room)` about the room at a reserved start, without what runs in the walk by then.
  template <class Ask>
  [[nodiscard]] static bool ask_room(Session& session, const walk_state& walk, horizon& h,
                                     const difference& by_guest, Ask ask) {
    const auto set = [&](const place& where, bool is_taken) {
      is_taken ? h.room.back(session.books().places, where) : h.room.gone(session.books().places, where);
    };
    // What runs in the walk has begun since the counts were brought up to date.
    const auto shift = [&](bool on) {
      for (const run& x : walk.runs) {
        if (x.end > h.at) set(x.where, on);
      }
      if (by_guest.where != nullptr) set(*by_guest.where, by_guest.is_taken == on);
    };
    shift(true);
    const bool answer = ask(std::as_const(h.room));
    shift(false);
    return answer;
  }
  /// Whether the reserved start at a noted position certainly holds if all before it do.
  template <class Counts>
  [[nodiscard]] bool holds_without(Session& session, const walk_state& walk, std::size_t i, Counts counts) {
    const noted_start& noted = noted_[i];
    if (noted.holds || walk.without_places || !noted.is_allowed) return noted.holds;
    return has_room(session, walk, *noted.of, most_taken(session, *noted.of, walk.starts, i, counts));
  }
  /// Whether it may if the job runs by then, too.
  template <class Counts>
  [[nodiscard]] bool could_hold_beside(Session& session, const walk_state& walk, const record& r,
                                       std::size_t i, Counts counts) {
    auto& h = *noted_[i].of;
    const auto least = [&](const record& by) {
      return h.room.taken_by(session.books().places, by.pod_request).first;
    };
    const std::uint64_t taken = least(r) + least_taken(session, h, walk.starts, i, counts);
    if (!walk.without_places) return could_have_room(session, walk, h, taken);
    std::uint64_t by_runs = 0;
    for (const run& x : walk.runs) {
      if (x.end > h.at) by_runs += least(session.jobs().at(x.job));
    }
    return could_fit(h.room, taken + by_runs);
  }

  vector<noted_start> noted_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
