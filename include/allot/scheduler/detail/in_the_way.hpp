// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// Finds which evictions under way are in the way of a pending job: see `departures`. All that is tried is
/// taken back. O(evicting and nominated jobs x depth), and as many attempts to place the job where places are
/// what it lacks.
template <class Session>
class in_the_way {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using pending_job = typename Session::plan_type::pending_job;
  using departure = typename Session::jobs_type::departure;

  explicit in_the_way(Session& session) : books_(session.books()), jobs_(session.jobs()) {}

  /// What nominated jobs hold of what the ledger's `p.binding` counts.
  void find_held(pending_job& p) {
    find_at_bound(p, books_.assumed(), nominated(),
                  [&](job_id id, quantity gained) { note_held(p.departures, id, gained); });
  }
  /// What leaves, of what the ledger's `p.binding` counts.
  void find_leaving(pending_job& p) {
    find_at_bound(p, books_.allocated(), leaving(),
                  [&](const departure& d, quantity gained) { note_leaving(p.departures, d, gained); });
  }
  /// The job that leaves is in the way: without it there would be that much more room at the bound.
  void note_leaving(departures& to, const departure& d, quantity gained) const {
    const record& r = jobs_.at(d.job);
    const job_id whole = r.facts.elastic ? r.facts.core : d.job;
    if (!to) {
      to.job = whole;
      if (waits(d.beneficiary)) to.beneficiary = d.beneficiary;
    } else if (whole != to.job && stands_for_its_job(r)) {
      ++to.others;
    }
    to.amount += gained;
  }

  /// Calls `visit(departure, is_first)` for each job that leaves for one for which `is_announced`, other than
  /// the pending one; of the jobs that leave for the same, one is the first.
  template <class IsAnnounced, class Visit>
  void for_each_claimed(const pending_job& p, IsAnnounced is_announced, Visit visit) const {
    const auto& all = leaving();
    for (auto d = all.begin(); d != all.end(); ++d) {
      if (d->beneficiary == p.id || !waits(d->beneficiary) || !is_announced(d->beneficiary)) continue;
      const auto is_same = [&](const auto& other) { return other.beneficiary == d->beneficiary; };
      visit(*d, detail::none_of(all.begin(), d, is_same));
    }
  }
  /// The quota allows the job now. Whether it would not, had those their turn first for which others leave.
  template <class IsAnnounced>
  void find_earlier_turn(pending_job& p, IsAnnounced is_announced) {
    if (leaving().empty()) return;
    const record& r = jobs_.at(p.id);
    ledger<n>& l = books_.allocated();
    const savepoint before = l.save();
    for_each_claimed(p, is_announced, [&](const departure& d, bool) { release(l, jobs_.at(d.job)); });
    for_each_claimed(p, is_announced, [&](const departure& d, bool is_first) {
      const record& b = jobs_.at(d.beneficiary);
      if (!is_first || p.departures || !l.can_count(b.facts.quota, b.facts.request)) return;
      l.charge(b.facts.quota, b.facts.request, b.facts.in);
      if (!l.fits(r.facts.quota, r.facts.request, r.facts.in)) note_leaving(p.departures, d, {});
    });
    l.rollback(before);
  }

  /// Settles whether a job that its quota allows has a place, and if not, who is in the way.
  void find_at_place(pending_job& p) {
    if (!p.placement) return;
    const record& r = jobs_.at(p.id);
    if (has_place(p, r)) return settle_place(p);
    p.departures = {};
    if constexpr (!std::same_as<typename Session::placement_type, no_placement>) {
      if (nominated().empty()) return;
      const tentative trial{books_.places};
      for (const job_id id : nominated()) {
        books_.places.release(jobs_.at(id).where);
        if (could_place(books_.places, r.pod_request)) return note_held(p.departures, id, {});
      }
    }
  }
  /// The same where nothing is held: those that leave have their places until they have gone.
  template <class IsAnnounced>
  void find_at_place_now(pending_job& p, IsAnnounced is_announced) {
    if (!p.placement || leaving().empty()) return find_at_place(p);
    const record& r = jobs_.at(p.id);
    const tentative trial{books_.places};
    for (const departure& d : leaving()) books_.places.reoccupy(jobs_.at(d.job).where);
    p.placement.emplace(books_.places.why_not(r.pod_request));
    const bool has_room = has_place(p, r);
    if (!has_room) p.departures = {};
    for (const departure& d : leaving()) {
      books_.places.vacate(jobs_.at(d.job).where);
      if (!has_room && could_place(books_.places, r.pod_request)) return note_leaving(p.departures, d, {});
    }
    if (!has_room) return;
    settle_place(p);
    // Whether it would have none, had those their turn first for which others leave.
    for_each_claimed(p, is_announced, [&](const departure& d, bool is_first) {
      if (!is_first || p.departures || !books_.places.place(jobs_.at(d.beneficiary).pod_request)) return;
      if (!could_place(books_.places, r.pod_request)) note_leaving(p.departures, d, {});
    });
  }

 private:
  [[nodiscard]] const auto& leaving() const { return jobs_.nominated().leaving(); }
  [[nodiscard]] const auto& nominated() const { return jobs_.nominated().waiting(); }
  [[nodiscard]] bool waits(job_id id) const {
    if (!jobs_.contains(id)) return false;
    const job_state is = jobs_.at(id).state;
    return is == job_state::pending || is == job_state::nominated;
  }
  /// Whether the unit is the one that counts of those of its job that leave.
  [[nodiscard]] bool stands_for_its_job(const record& r) const {
    if (!r.facts.elastic) return true;
    const record& core = jobs_.at(r.facts.core);
    if (core.state == job_state::evicting) return false;
    for (const job_id pod : core.elastic_pods) {
      if (jobs_.at(pod).state == job_state::evicting) return pod == r.facts.id;
    }
    return true;
  }
  void note_held(departures& to, job_id beneficiary, quantity gained) const {
    to.amount += gained;
    if (to) {
      ++to.others;
      return;
    }
    to.is_held = true;
    to.beneficiary = beneficiary;
    // One without victims of its own waits for those of others.
    for (const departure& d : leaving()) {
      const bool is_own = d.beneficiary == beneficiary;
      if (!to.job || is_own) to.job = jobs_.at(d.job).facts.elastic ? jobs_.at(d.job).facts.core : d.job;
      if (is_own) return;
    }
  }
  static void release(ledger<n>& l, const record& r) {
    l.release(r.facts.quota, r.facts.request, r.facts.in);
  }

  /// Takes these off the ledger one by one; calls `note` for each that gives more room at `p.binding`.
  template <class All, class Note>
  void find_at_bound(const pending_job& p, ledger<n>& l, const All& all, Note note) {
    if (all.empty()) return;
    const record& r = jobs_.at(p.id);
    const shortfall& b = *p.binding;
    quantity room;
    const auto look = [&] {
      l.for_each_bound(r.facts.quota, b.dimension, r.facts.in,
                       [&](quota_id at, quantity left, bool of_all_jobs) {
                         if (at == b.quota && of_all_jobs == (b.kind != bound::guarantee)) room = left;
                       });
      return room;
    };
    const auto id_of = [](const auto& x) {
      if constexpr (requires { x.job; }) {
        return x.job;
      } else {
        return x;
      }
    };
    const savepoint before = l.save();
    quantity now = look();
    for (const auto& which : all) {
      const record& other = jobs_.at(id_of(which));
      if (other.facts.request[b.dimension] <= quantity{}) continue;
      release(l, other);
      const quantity gained = look() - now;
      if (gained > quantity{}) note(which, gained);
      now = room;
    }
    l.rollback(before);
  }
  [[nodiscard]] bool has_place(const pending_job& p, const record& r) {
    return !says_no(*p.placement) && could_place(books_.places, r.pod_request);
  }
  static void settle_place(pending_job& p) {
    p.placement.reset();
    if (p.reason == pending_reason::placement) p.reason = pending_reason::behind_head;
  }

  typename Session::books_type& books_;
  const typename Session::jobs_type& jobs_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
