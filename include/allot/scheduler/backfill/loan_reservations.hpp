// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/time.hpp>
#include <allot/preemption/victims.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/backfill/owned_reservations.hpp>
#include <allot/scheduler/detail/attempt.hpp>
#include <allot/scheduler/detail/quota_allows.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The reservations that have no start on what their quota owns: they ask for more than that, it does not
/// reclaim, or none is known. They stand on the availability profile of the whole tree, and owners may claim
/// what they count on.
///
/// Lives as long as a call; all that it knows is in the session and in `backfill_state`. `Admit` tries a job
/// with a reservation: `admit(job_id)` returns an attempt.
template <class Session>
class loan_reservations {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using place = typename Session::place;
  using reservation_entry = typename Session::reservation_entry;
  /// How many there may be in the tree where owners reclaim: each looks at the whole tree. See
  /// `queue_head::reserve`.
  static constexpr std::size_t most_on_loans = 8;

  loan_reservations(Session& session, backfill_state<Session>& state)
      : session_(session), state_(state), owned_(session, state) {}

  /// Whether the job, started now, would delay one wherever it is placed, as far as that is known.
  [[nodiscard]] bool are_delayed_by(const record& r, attempt& a) {
    return note_delay(r, state_.profile.delayed_anywhere(session_, r, claims{*this}), a);
  }
  /// The same on the place that has been taken.
  [[nodiscard]] bool are_displaced_by(const record& r, const place& where, attempt& a) {
    const auto seen = state_.profile.effect_of(session_, r, where, claims{*this});
    a.claims = a.claims || seen.claims;
    return note_delay(r, seen.delayed, a);
  }
  /// Whether the job, started where these are gone, would delay one of its own quota over which it does not
  /// take precedence. In the trial in which they are gone; if they `stay`, it takes what is free beside them.
  [[nodiscard]] bool are_delayed_within(const record& r, std::span<const victim<n>> gone, bool stay,
                                        attempt& a) {
    const claims takes_precedence{*this};
    const instant end = later(session_.now(), r.estimate);
    for (const std::size_t i : session_.reservations().by_start()) {
      const reservation_entry& p = session_.reservations().all()[i];
      if (p.what.start >= end) return false;
      if (p.quota != r.facts.quota || p.job == r.facts.id || p.what.gathers_since) continue;
      if (takes_precedence(r, p) || starts_beside(p, gone, stay, &r)) continue;
      if (!starts_beside(p, gone, stay, nullptr)) continue;
      a.is_delaying(p.what.start, end);
      return true;
    }
    return false;
  }
  /// The job has made room for itself by preemption, perhaps with what others were to have.
  void note_preemption(const record& r, const place& where, attempt& a) {
    // A job that was to start in this very step holds its reservation again, without a start.
    const bool lost_start = session_.reservations().all().size() > session_.reservations().by_start().size();
    state_.claimed_at = session_.now();
    a.claims = a.claims || lost_start || !state_.profile.all_hold_beside(session_, r, where);
  }
  /// The start that the job would get on its own, beside all reservations.
  [[nodiscard]] std::optional<instant> earliest(const record& r) {
    const auto start = state_.profile.earliest(session_, r, no_claims{});
    return start ? std::optional{start->at} : std::nullopt;
  }

  /// Gives the pending job a reservation, if there is a start that it can count on.
  bool reserve(job_id id) {
    const record& r = session_.jobs().at(id);
    if (others_lend(r) && session_.reservations().all().size() >= most_on_loans) return false;
    std::optional<instant> gathers_since;
    auto start = state_.profile.earliest(session_, r, claims{*this});
    if (!start && !r.is_early() && may_gather(r)) {
      gathers_since = session_.now();
      start = state_.profile.gathered(session_, r, gives_up_at(r));
    }
    if (!start || (!gathers_since && !is_lasting(r, *start))) return false;
    if (start->claims) state_.claimant = id;
    reservation p = reservation_from(*start);
    p.gathers_since = gathers_since;
    session_.reserve(id, p);
    return true;
  }

  /// Starts the jobs that can start now, and recomputes the starts of the others as far as something that may
  /// move them has happened: `news`, or what `has_changed` says.
  template <class Admit>
  void keep_all(const reservation_news& news, bool has_changed, Admit admit) {
    const bool some_may_claim = std::exchange(state_.owners_may_claim, false);
    if (session_.reservations().empty()) {
      state_.ended_early = false;
      return;
    }
    if (!has_changed && !session_.has_time_passed()) return;
    // Those that were made while a job overran rest on its end at any moment.
    const bool overruns = news.ends_from < session_.now() || any_overruns();
    const delay_cause cause = news.cause == delay_cause::none && overruns ? delay_cause::overrun : news.cause;
    if (cause != delay_cause::none) {
      reserve_again([cause](const record&) { return cause; }, admit, {}, cause == delay_cause::cluster);
    } else {
      keep_what_may_move(news, some_may_claim, admit);
    }
    renew_claimed(admit);
  }
  /// Renews those whose capacity a job has claimed.
  template <class Admit>
  void renew_claimed(Admit admit) {
    while (state_.claimant) {
      const job_id by = std::exchange(state_.claimant, job_id{});
      state_.claimed_at = session_.now();
      if (!session_.jobs().contains(by) || session_.reservations().empty()) return;
      const quota_id quota = session_.jobs().at(by).facts.quota;
      const std::int64_t priority = session_.jobs().at(by).facts.priority;
      const auto cause_for = [=](const record& r) {
        return r.facts.quota == quota && r.facts.priority < priority ? delay_cause::higher_priority
                                                                     : delay_cause::owner;
      };
      reserve_again(cause_for, admit, by);
    }
  }
  /// Others have been admitted: owners with a reservation are to be tried again. Returns whether there are
  /// any.
  bool let_owners_claim_later() {
    return state_.owners_may_claim =
               session_.queues().any_may_preempt() &&
               detail::any_of(session_.reservations().all().begin(), session_.reservations().all().end(),
                              [&](const reservation_entry& p) { return may_claim(p); });
  }
  /// Whether they are looked at again after a decision: where some are due or, as a job overruns, all are
  /// made again each time, one may start now, e.g. as the placement picks another place, on which its job
  /// delays no other. What is being evicted is an occasion of its own when it has left.
  [[nodiscard]] bool must_look_again() const {
    if (session_.reservations().empty() || !session_.jobs().evicting().empty()) return false;
    const auto starts = session_.reservations().by_start();
    const bool some_are_due =
        !starts.empty() && session_.reservations().all()[starts.front()].what.start <= session_.now();
    return some_are_due || state_.some_may_miss() || any_overruns();
  }

 private:
  using profile_start = typename availability<Session>::start;
  using no_claims = typename availability<Session>::no_claims;

  /// Whether a job takes precedence over a reservation: in the same quota its priority is higher, or it has
  /// an earlier turn and starts by then; of another one, it uses what its quota owns, and the job with the
  /// reservation is to borrow. With `owners_backfill` it does so only by preemption, or when its own reserved
  /// start has come.
  struct claims {
    loan_reservations& of;

    [[nodiscard]] bool operator()(const record& r, const reservation_entry& p) const {
      if (r.facts.quota != p.quota) return may_change(r, p) && !of.session_.books().would_borrow(r);
      return of.owned_.passes(p.quota, r.facts.priority, p) ||
             of.owned_.comes_before(r, p, of.session_.now());
    }
    /// Whether it may claim the reservation at one time and not at another.
    [[nodiscard]] bool may_change(const record& r, const reservation_entry& p) const {
      return p.what.borrows && r.facts.quota != p.quota &&
             (!waits_for_loans(of.session_.queues().settings(r.facts.quota)) || of.owned_.is_due(r));
    }
  };
  [[nodiscard]] static bool waits_for_loans(const queue_settings& settings) noexcept {
    return settings.owners_backfill && always_reclaims(settings.preempt);
  }
  [[nodiscard]] bool note_delay(const record& r,
                                const std::optional<typename availability<Session>::missed_start>& delayed,
                                attempt& a) const {
    if (delayed) a.is_delaying(delayed->at, later(session_.now(), r.estimate));
    return delayed.has_value();
  }

  // Making one.

  /// Whether a start that does not stand on what the quota owns alone is likely to hold: others do not want
  /// back what it counts on, and it delays no job of its own quota.
  [[nodiscard]] bool is_lasting(const record& r, const profile_start& start) {
    if (start.borrows && is_wanted(r, start.at)) return false;
    const auto owned = session_.reservations().owned_by(r.facts.quota);
    return detail::none_of(owned.begin(), owned.end(),
                           [&](const reservation_entry& p) { return runs_during(p, r, start.at); });
  }
  /// Whether the job with a reservation is to run at some time at which r does that starts at `at`.
  [[nodiscard]] bool runs_during(const reservation_entry& p, const record& r, instant at) const {
    const instant from = std::max(at, session_.now());
    return p.what.start < later(from, r.estimate) && reserved_end(session_, p) > from;
  }
  /// Whether what the job is to use beyond what its quota owns may be called in again.
  [[nodiscard]] bool others_lend(const record& r) const {
    return always_reclaims(session_.queues().settings(r.facts.quota).preempt);
  }
  /// Whether others, of what they own and their pending jobs ask for, leave too little for the job at that
  /// time: a start then would be displaced.
  [[nodiscard]] bool is_wanted(const record& r, instant at) {
    ledger<n>& l = session_.books().assumed();
    const savepoint before = l.save();
    for (const expected_end& e : session_.books().ends()) {
      if (e.at > at) break;
      const record& gone = session_.jobs().at(e.job);
      l.release(gone.facts.quota, gone.facts.request, gone.facts.in);
    }
    for (const quota_id x : session_.tree().top_down()) {
      if (x == r.facts.quota || session_.queues().waiting(x) == 0) continue;
      const resources<n> asked = asked_at(x, at);
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
  /// What the pending jobs of x request at that time, without those that are to borrow as reserved.
  [[nodiscard]] resources<n> asked_at(quota_id x, instant at) const {
    resources<n> asked = session_.queues().asked(x);
    for (const reservation_entry& p : session_.reservations().all()) {
      const record& other = session_.jobs().at(p.job);
      if (p.quota == x && !other.is_early()) asked -= other.facts.request;
    }
    // Who is not ready does not ask before its start.
    for (const reservation_entry& p : session_.reservations().owned_by(x)) {
      const record& other = session_.jobs().at(p.job);
      if (other.is_early() && p.what.start <= at) asked += other.facts.request;
    }
    return asked;
  }
  [[nodiscard]] reservation reservation_from(const profile_start& start) const {
    reservation p{start.at, start.at, start.after, start.borrows};
    if (start.at <= session_.now()) p.cause = delay_cause::overrun;
    return p;
  }

  // Gathering: `queue_settings::gather`.

  /// Whether a job whose start can't be determined may gather.
  [[nodiscard]] bool may_gather(const record& r) const {
    const quota_id x = r.facts.quota;
    const gathering& may = session_.queues().settings(x).gather;
    if (may.longest == 0 || session_.now() < r.gathers_from) return false;
    // It was displaced, its time has come since, and so the pause after it.
    if (is_over(r) && session_.now() < later(*r.gathers_until, may.longest)) return false;
    resources<n> together = r.facts.request;
    for (const reservation_entry& p : session_.reservations().all()) {
      if (p.what.gathers_since && p.quota == x) together += session_.jobs().at(p.job).facts.request;
    }
    for (std::size_t d = 0; d < n; ++d) {
      const quantity most = session_.books().assumed().potential(x, d);
      if (r.facts.request[d] <= quantity{} || most == quantity::unlimited()) continue;
      if (static_cast<wide>(together[d].in_milli()) * 100 >
          static_cast<wide>(most.in_milli()) * static_cast<wide>(may.percent)) {
        return false;
      }
    }
    return true;
  }
  /// Whether the time has come until which a job that was displaced would have gathered.
  [[nodiscard]] bool is_over(const record& r) const {
    return r.gathers_until && *r.gathers_until <= session_.now();
  }
  /// When a job that begins to gather gives up: one that was displaced, when it would have.
  [[nodiscard]] instant gives_up_at(const record& r) const {
    if (r.gathers_until && !is_over(r)) return *r.gathers_until;
    return later(session_.now(), session_.queues().settings(r.facts.quota).gather.longest);
  }
  /// The job gives up gathering, as its time is over or it was displaced.
  void stop_gathering(const reservation_entry& p) {
    if (p.what.start <= session_.now()) {
      const instant longest = session_.queues().settings(p.quota).gather.longest;
      return session_.give_up_gathering(p.job, later(session_.now(), longest), std::nullopt);
    }
    // By a claim, or a change of the world. Not again in this step, or two could displace each other for
    // ever.
    session_.give_up_gathering(p.job, later(session_.now(), 1), p.what.first_start);
  }

  // Keeping them.

  /// Nothing is known that moves all of them.
  template <class Admit>
  void keep_what_may_move(const reservation_news& news, bool some_may_claim, Admit admit) {
    const bool all = news.may_move_starts(session_.now());
    state_.ended_early = state_.ended_early || all;
    const std::size_t before = session_.reservations().all().size();
    state_.to_keep.clear();
    // Those whose time to gather is over come first: what they leave is for the others.
    const auto gives_up = [&](const reservation_entry& p) {
      return p.what.gathers_since && p.what.start <= session_.now();
    };
    for (const reservation_entry& p : session_.reservations().all()) {
      if (gives_up(p)) state_.to_keep.push_back(p);
    }
    for (const reservation_entry& p : session_.reservations().all()) {
      const bool may_be_found = p.what.start == without_end && news.says_anything();
      if (gives_up(p)) continue;
      if (all || may_be_found || p.what.start <= session_.now()) state_.to_keep.push_back(p);
    }
    bool all_hold = false;
    for (const reservation_entry& p : state_.to_keep) {
      keep(p, delay_cause::none, admit, all_hold);
      if (state_.claimant) break;
    }
    const bool some_have_started = session_.reservations().all().size() < before;
    if (session_.queues().any_may_preempt() &&
        (some_have_started || some_may_claim || (!all && news.says_anything()))) {
      let_owners_claim(admit, all_hold);
    }
    // Who starts only when others have gone has no expected end until then, and seems to be in the way.
    if (!session_.jobs().evicting().empty() || !state_.some_may_miss()) return;
    state_.profile.forget_missed();
    state_.has_lost_start = false;
    const auto why = state_.claimed_at == session_.now() ? delay_cause::owner : displaced_by();
    // One that owners have displaced may have to wait for what its quota has promised, too.
    const auto cause_for = [&](const record& r) {
      const bool is_displaced = session_.jobs().reservation_of(r.facts.id)->what.cause == delay_cause::owner;
      return is_displaced ? delay_cause::owner : why;
    };
    renew_missed(cause_for, admit);
  }
  /// Whether its job may use what its quota owns, and could start before its time if it preempts others.
  [[nodiscard]] bool may_claim(const reservation_entry& p) const {
    return p.what.start > session_.now() && (!p.what.borrows || !session_.jobs().at(p.job).menu.empty());
  }
  /// Where jobs have ended or started, the owner of a reservation may be able to reclaim what others borrow.
  template <class Admit>
  void let_owners_claim(Admit admit, bool& all_hold) {
    state_.to_keep.clear();
    for (const reservation_entry& p : session_.reservations().all()) {
      if (may_claim(p)) state_.to_keep.push_back(p);
    }
    for (const reservation_entry& p : state_.to_keep) {
      if (state_.claimant) return;
      keep(p, delay_cause::none, admit, all_hold);
    }
  }
  /// Renews all: that of `claimant`, if it holds one, then those with the earliest starts first, so that each
  /// keeps its start if it can. Where the cluster has changed no start means anything any more: then they are
  /// made again in their turn.
  template <class CauseFor, class Admit>
  void reserve_again(CauseFor cause_for, Admit admit, job_id claimant = {}, bool in_turn = false) {
    auto& to_keep = state_.to_keep;
    to_keep.clear();
    if (in_turn) {
      to_keep.append(session_.reservations().all().begin(), session_.reservations().all().end());
    } else {
      for (const std::size_t i : session_.reservations().by_start()) {
        to_keep.push_back(session_.reservations().all()[i]);
      }
      for (const reservation_entry& p : session_.reservations().all()) {
        if (p.what.start == without_end) to_keep.push_back(p);
      }
    }
    bool all_hold = false;
    const auto first =
        detail::find_if(to_keep.begin(), to_keep.end(), [&](const auto& p) { return p.job == claimant; });
    if (first != to_keep.end()) {
      // Those over which it takes no precedence keep their starts.
      const reservation_entry own = *first;
      to_keep.erase(first);
      const record& by = session_.jobs().at(claimant);
      const claims takes_precedence{*this};
      forget_start(session_, own);
      erase_if(to_keep, [&](const reservation_entry& p) {
        return !takes_precedence(by, p) && !takes_precedence.may_change(by, p);
      });
      for (const reservation_entry& p : to_keep) forget_start(session_, p);
      keep(own, cause_for(by), admit, all_hold);
    }
    for (const reservation_entry& p : to_keep) forget_start(session_, p);
    all_hold = false;
    for (const reservation_entry& p : to_keep) keep(p, cause_for(session_.jobs().at(p.job)), admit, all_hold);
    renew_missed(cause_for, admit);
  }
  /// Renews those that would miss their starts. They are renewed one after the other, and where one is placed
  /// then may leave no place for one that was renewed before.
  template <class CauseFor, class Admit>
  void renew_missed(CauseFor cause_for, Admit admit) {
    for (std::size_t left = session_.reservations().all().size(); left > 0 && !state_.claimant; --left) {
      const job_id job = state_.profile.first_to_miss(session_);
      if (job.is_none()) return;
      const reservation_entry p = *session_.jobs().reservation_of(job);
      forget_start(session_, p);
      bool all_hold = false;
      keep(p, cause_for(session_.jobs().at(job)), admit, all_hold);
    }
  }
  [[nodiscard]] bool any_overruns() const {
    const auto ends = session_.books().ends();
    return !ends.empty() && ends.front().at <= session_.now();
  }
  /// What has taken what a reservation counted on, if nothing has been told: other places, or, where places
  /// do not matter, owners.
  [[nodiscard]] delay_cause displaced_by() const {
    return placement_or_default::has_nodes(session_.books().places) ? delay_cause::placement
                                                                    : delay_cause::owner;
  }
  /// Starts the job if that is possible, or renews its reservation. `all_hold` says that all are known to
  /// hold as they are.
  template <class Admit>
  void keep(const reservation_entry& p, delay_cause cause, Admit admit, bool& all_hold) {
    const record& r = session_.jobs().at(p.job);
    if (session_.queues().settings(p.quota).head != queue_head::reserve) {
      return session_.withdraw_reservation(p.job);
    }
    const attempt a = admit(p.job);
    if (a.is_admitted) {
      all_hold = false;
      return;
    }
    if (cause == delay_cause::none) cause = a.kept_by;
    if (owned_.take_over(p, cause)) {
      all_hold = false;
      return;
    }
    // `admit` has made its claims, and the others' reservations have been renewed since.
    const bool is_to_come = p.what.start > session_.now() && p.what.start != without_end;
    const bool gathers = p.what.gathers_since.has_value();
    bool is_as_planned = false;
    std::optional<profile_start> start;
    if (is_to_come && cause == delay_cause::none) {
      // It can start earlier only with what has become free since its start was found.
      const instant freed_until = session_.jobs().reservation_of(p.job)->freed_until;
      start = state_.profile.earliest(session_, r, no_claims{}, std::min(p.what.start, freed_until));
      // Others count on the start that it has.
      start = after_owned(p, start, session_.reservations().next_number(), p.what.start);
      if (!start) {
        // After that all is as it was, unless a job with a reservation is placed before.
        const auto& next = session_.reservations().all()[session_.reservations().by_start().front()];
        const bool stays = all_hold || next.what.start >= freed_until;
        if (stays && (gathers || session_.jobs().contains(p.what.after))) {
          return session_.renew_reservation(p.job, p.what);
        }
        start = state_.profile.planned(session_, p.job);
        is_as_planned = all_hold = start.has_value();
      }
    }
    if (!start) start = state_.profile.earliest(session_, r, no_claims{});
    if (is_to_come && cause != delay_cause::none && p.what.start < (start ? start->at : without_end)) {
      session_.renew_reservation(p.job, p.what);
      if (const auto as_planned = state_.profile.planned(session_, p.job)) {
        start = as_planned;
        is_as_planned = true;
      }
    }
    if (gathers && !is_as_planned) {
      // Its start is known by now, or will not be.
      all_hold = false;
      if (start) return session_.renew_reservation(p.job, reservation_from(*start));
      return stop_gathering(p);
    }
    // What a claim of this step has displaced may have displaced others in turn.
    if (cause == delay_cause::none && is_later(start, p) && state_.claimed_at == session_.now()) {
      cause = delay_cause::owner;
    }
    // Who comes later in turn, but starts earlier, may be placed elsewhere with more room.
    if (cause == delay_cause::none && p.what.cause == delay_cause::none && state_.ended_early) {
      cause = displaced_by();
    }
    // What was lent to it others may claim; what its quota owns, and has promised since, they may not.
    const bool is_displaced = cause == delay_cause::owner && is_later(start, p);
    if (is_displaced) session_.yield_turn(p.job);
    if (!is_as_planned) start = after_owned(p, start, session_.jobs().reservation_of(p.job)->number);
    reservation renewed = p.what;
    renewed.start = start ? start->at : without_end;
    renewed.after = start ? start->after : job_id{};
    if (start) renewed.borrows = start->borrows;
    const bool is_late = renewed.start > p.what.first_start || renewed.start <= session_.now();
    const bool moves = renewed.start > p.what.start;
    if (!is_late) {
      renewed.cause = delay_cause::none;
    } else if (moves || p.what.cause == delay_cause::none) {
      if (cause == delay_cause::none) cause = owned_.before_it(p).cause;
      if (cause == delay_cause::none && p.what.cause == delay_cause::none) cause = displaced_by();
      if (cause != delay_cause::none) renewed.cause = cause;
    }
    all_hold = all_hold && renewed.start == p.what.start;
    state_.has_lost_start = state_.has_lost_start || (!start && p.what.start != without_end);
    session_.renew_reservation(p.job, renewed);
  }

  /// Whether the job with a reservation can start as reserved beside all that run and those with an earlier
  /// start, without those that are gone, and with another one, if given, that has started now.
  [[nodiscard]] bool starts_beside(const reservation_entry& p, std::span<const victim<n>> gone, bool stay,
                                   const record* started) {
    ledger<n>& l = session_.books().assumed();
    auto& places = session_.books().places;
    const savepoint before = l.save();
    ahead_of_time then{places, session_.now()};
    const tentative trial{places};
    const auto is_gone = [&](job_id id) {
      return detail::any_of(gone.begin(), gone.end(), [id](const victim<n>& v) { return v.job.id == id; });
    };
    const auto run = [&](const record& r) {
      if (!places.place(r.pod_request)) return;
      if (l.can_count(r.facts.quota, r.facts.request)) l.charge(r.facts.quota, r.facts.request, r.facts.in);
    };
    for (std::size_t i = 0; stay && i < gone.size(); ++i) {
      const running_job<n>& v = gone[i].job;
      l.charge(v.quota, v.request, v.in);
      places.reoccupy(session_.jobs().at(v.id).where);
    }
    if (started != nullptr) run(*started);
    for (const expected_end& e : session_.books().ends()) {
      if (e.at > p.what.start) break;
      if (!stay && is_gone(e.job)) continue;
      const record& ended = session_.jobs().at(e.job);
      l.release(ended.facts.quota, ended.facts.request, ended.facts.in);
      places.release(ended.where);
    }
    for (const std::size_t i : session_.reservations().by_start()) {
      const reservation_entry& q = session_.reservations().all()[i];
      if (q.job == p.job) break;
      const bool runs = started == nullptr || q.job != started->facts.id;
      if (!runs || q.what.gathers_since || reserved_end(session_, q) <= p.what.start) continue;
      then.look(q.what.start);
      run(session_.jobs().at(q.job));
    }
    then.look(p.what.start);
    auto& foreseen = session_.books().foreseen();
    foreseen.make(l, p.what.start);
    const record& r = session_.jobs().at(p.job);
    const bool starts = quota_allows(session_, r, p.what.start) && could_place(places, r.pod_request);
    foreseen.undo(l, 0);
    l.rollback(before);
    return starts;
  }
  [[nodiscard]] static bool is_later(const std::optional<profile_start>& start, const reservation_entry& p) {
    return (start ? start->at : without_end) > p.what.start;
  }
  /// The earliest start of a job with a reservation, but after those that its quota has promised what it
  /// owns, and whose turn is before that number; `start` is the earliest beside the others. None if that is
  /// not before `before`.
  [[nodiscard]] std::optional<profile_start> after_owned(const reservation_entry& p,
                                                         std::optional<profile_start> start,
                                                         std::uint64_t number, instant before = without_end) {
    const record& r = session_.jobs().at(p.job);
    const auto owned = session_.reservations().owned_by(p.quota);
    while (start) {
      const auto in_way = detail::find_if(owned.begin(), owned.end(), [&](const reservation_entry& q) {
        return q.number < number && runs_during(q, r, start->at);
      });
      if (in_way == owned.end()) break;
      // By then others may be in its way.
      const instant until = reserved_end(session_, *in_way);
      start = state_.profile.earliest(session_, r, no_claims{}, before, until);
      if (start && start->at == until) start->after = in_way->job;
    }
    return start;
  }

  Session& session_;
  backfill_state<Session>& state_;
  owned_reservations<Session> owned_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
