// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/plan.hpp>

#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Whether the placement's reason rules out that there is a place; see `placement`.
template <class Reason>
[[nodiscard]] bool says_no([[maybe_unused]] const Reason& why) {
  if constexpr (requires { why.says_no(); }) return why.says_no();
  return false;
}

/// Finds which evictions under way are in the way of a pending job: see `departures`. All that is tried is
/// taken back. O(evicting and nominated jobs x depth), and as many attempts to place the job where places are
/// what it lacks.
template <class Session>
class in_the_way {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;
  using pending_job = typename Session::plan_type::pending_job;

  explicit in_the_way(Session& session) : s_(session) {}

  /// What nominated jobs hold of what the ledger's `p.binding` counts.
  void find_held(pending_job& p) {
    if (s_.nominated().empty()) return;
    without(s_.assumed(), p, [&](const auto& gained_by) {
      for (const job_id id : s_.nominated()) {
        const quantity gained = gained_by(id);
        if (gained > quantity{}) note_held(p.departures, id, gained);
      }
    });
  }
  /// What leaves, of what the ledger's `p.binding` counts.
  void find_leaving(pending_job& p) {
    if (s_.leaving().empty()) return;
    without(s_.allocated(), p, [&](const auto& gained_by) {
      for (const auto& d : s_.leaving()) {
        const quantity gained = gained_by(d.job);
        if (gained > quantity{}) note_leaving(p.departures, d, gained);
      }
    });
  }
  /// The job that leaves is in the way: without it there would be that much more room at the bound.
  template <class Departure>
  void note_leaving(departures& to, const Departure& d, quantity gained) const {
    const record& r = s_.at(d.job);
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
    const auto all = s_.leaving();
    for (auto d = all.begin(); d != all.end(); ++d) {
      if (d->beneficiary == p.id || !waits(d->beneficiary) || !is_announced(d->beneficiary)) continue;
      const auto is_same = [&](const auto& other) { return other.beneficiary == d->beneficiary; };
      visit(*d, detail::none_of(all.begin(), d, is_same));
    }
  }
  /// The quota allows the job now. Whether it would not, had those their turn first for which others leave.
  template <class IsAnnounced>
  void find_earlier_turn(pending_job& p, IsAnnounced is_announced) {
    if (s_.leaving().empty()) return;
    const record& r = s_.at(p.id);
    ledger<n>& l = s_.allocated();
    const savepoint before = l.save();
    for_each_claimed(p, is_announced, [&](const auto& d, bool) { release(l, s_.at(d.job)); });
    for_each_claimed(p, is_announced, [&](const auto& d, bool is_first) {
      const record& b = s_.at(d.beneficiary);
      if (!is_first || p.departures || !l.can_count(b.facts.quota, b.facts.request)) return;
      l.charge(b.facts.quota, b.facts.request, b.facts.in);
      if (!l.fits(r.facts.quota, r.facts.request, r.facts.in)) note_leaving(p.departures, d, {});
    });
    l.rollback(before);
  }

  /// Settles whether a job that its quota allows has a place, and if not, who is in the way. Where nothing is
  /// held (`holds`), those that leave have their places until they have gone.
  template <class IsAnnounced>
  void find_at_place(pending_job& p, bool holds, IsAnnounced is_announced) {
    if (!p.placement) return;
    const record& r = s_.at(p.id);
    const bool are_there = !holds && !s_.leaving().empty();
    if (has_place(p, r, are_there)) {
      p.placement.reset();
      if (p.reason == pending_reason::placement) p.reason = pending_reason::behind_head;
      if (are_there && !p.departures) find_earlier_place(p, r, is_announced);
      return;
    }
    p.departures = {};
    if (are_there) {
      const tentative trial{s_.places()};
      reoccupy();
      for (const auto& d : s_.leaving()) {
        s_.places().vacate(s_.at(d.job).where);
        if (could_place(s_.places(), r.pod_request)) return note_leaving(p.departures, d, {});
      }
    } else if (holds && !s_.nominated().empty()) {
      const tentative trial{s_.places()};
      for (const job_id id : s_.nominated()) {
        s_.places().release(s_.at(id).where);
        if (could_place(s_.places(), r.pod_request)) return note_held(p.departures, id, {});
      }
    }
  }

 private:
  [[nodiscard]] bool waits(job_id id) const {
    if (!s_.contains(id)) return false;
    const job_state is = s_.at(id).state;
    return is == job_state::pending || is == job_state::nominated;
  }
  /// Whether the unit is the one that counts of those of its job that leave.
  [[nodiscard]] bool stands_for_its_job(const record& r) const {
    if (!r.facts.elastic) return true;
    const record& core = s_.at(r.facts.core);
    if (core.state == job_state::evicting) return false;
    for (const job_id pod : core.elastic_pods) {
      if (s_.at(pod).state == job_state::evicting) return pod == r.facts.id;
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
    for (const auto& d : s_.leaving()) {
      const bool is_own = d.beneficiary == beneficiary;
      if (!to.job || is_own) to.job = s_.at(d.job).facts.elastic ? s_.at(d.job).facts.core : d.job;
      if (is_own) return;
    }
  }
  static void release(ledger<n>& l, const record& r) {
    l.release(r.facts.quota, r.facts.request, r.facts.in);
  }

  /// Calls `try_each(gained_by)`, where `gained_by(id)` releases a job and returns how much more room there
  /// is at `p.binding` then.
  template <class TryEach>
  void without(ledger<n>& l, const pending_job& p, TryEach try_each) {
    const record& r = s_.at(p.id);
    const shortfall& b = *p.binding;
    const auto room = [&] {
      quantity there;
      l.for_each_bound(r.facts.quota, b.dimension, r.facts.in,
                       [&](quota_id at, quantity left, bool of_all_jobs) {
                         if (at == b.quota && of_all_jobs == (b.kind != bound::guarantee)) there = left;
                       });
      return there;
    };
    const savepoint before = l.save();
    quantity now = room();
    try_each([&](job_id id) {
      const record& other = s_.at(id);
      if (other.facts.request[b.dimension] <= quantity{}) return quantity{};
      release(l, other);
      const quantity then = room();
      const quantity gained = then - now;
      now = then;
      return gained;
    });
    l.rollback(before);
  }

  void reoccupy() {
    for (const auto& d : s_.leaving()) s_.places().reoccupy(s_.at(d.job).where);
  }
  /// Whether it has a place now; `p.placement` says why not.
  [[nodiscard]] bool has_place(pending_job& p, const record& r, bool are_there) {
    if (!are_there) return !says_no(*p.placement) && could_place(s_.places(), r.pod_request);
    const tentative trial{s_.places()};
    reoccupy();
    p.placement.emplace(s_.places().why_not(r.pod_request));
    return !says_no(*p.placement) && could_place(s_.places(), r.pod_request);
  }
  /// The job has a place now. Whether it would not, had those their turn first for which others leave.
  template <class IsAnnounced>
  void find_earlier_place(pending_job& p, const record& r, IsAnnounced is_announced) {
    const tentative trial{s_.places()};
    for_each_claimed(p, is_announced, [&](const auto& d, bool is_first) {
      if (!is_first || p.departures || !s_.places().place(s_.at(d.beneficiary).pod_request)) return;
      if (!could_place(s_.places(), r.pod_request)) note_leaving(p.departures, d, {});
    });
  }

  Session& s_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
