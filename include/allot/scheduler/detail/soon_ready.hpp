// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>

#include <array>
#include <concepts>
#include <cstddef>

namespace allot {
inline namespace v0 {
namespace detail {

/// Keeps for the jobs that are ready soon (`queue_settings::ready_horizon`) what they would take back as soon
/// as they are: a job that would then be evicted for one of them does not start.
///
/// What decides is what the search for victims asks, too: by which relation the one may preempt the other.
/// Who may not be preempted at all does not start either: the owner would have to wait for its end.
template <class Session>
class soon_ready {
 public:
  static constexpr std::size_t n = Session::n;
  using record = typename Session::record;

  /// The one that is ready soon and for which the job, which its quota allows, has to wait; none if there is
  /// none. Those that are ready when it is expected to have gone do not matter. The others are what `beside`
  /// places.
  [[nodiscard]] job_id keeps_out(Session& session, const record& r) {
    beside_.clear();
    if (session.queues().soon_ready().empty()) return {};
    const instant end = later(session.now(), r.estimate);
    ledger<n>& l = session.books().assumed();
    const savepoint before = l.save();
    l.charge(r.facts.quota, r.facts.request, r.facts.in);
    job_id first{};
    for (const auto& next : session.queues().soon_ready()) {
      const record& soon = session.jobs().at(next.job);
      if (soon.ready.at >= end) break;
      const bool may = may_take_back(session, soon, r);
      // It does not borrow because later ones of its quota will.
      if (!may && soon.facts.quota == r.facts.quota) continue;
      // Those of other quotas that would not take anything from it may leave others no room.
      if (fits_beside(session, soon, may) || !may || !takes_back(session, soon, r)) continue;
      first = next.job;
      break;
    }
    l.rollback(before);
    return first;
  }
  /// Returns what `place()` returns, which is to place the job, while all of these have their places.
  template <class Place>
  [[nodiscard]] auto beside(Session& session, Place place) {
    if constexpr (!std::same_as<typename Session::placement_type, no_placement>) {
      for (const entry& e : beside_) {
        const auto at =
            session.books().places.place(session.jobs().pod_request_of(session.jobs().at(e.job), e.pick));
        if (at) held_.push_back(*at);
      }
    }
    const auto at = place();
    for (; !held_.empty(); held_.pop_back()) session.books().places.release(held_.back());
    return at;
  }
  /// Which of these is ready last; none if there is none.
  [[nodiscard]] job_id last_beside(const Session& session) const {
    job_id last{};
    for (const entry& e : beside_) {
      if (!last || session.jobs().at(e.job).ready.at > session.jobs().at(last).ready.at) last = e.job;
    }
    return last;
  }

 private:
  struct entry {
    job_id job;
    flavor_pick pick;
  };

  /// How the one would preempt the other.
  [[nodiscard]] static relation relation_of(const Session& session, quota_id x, quota_id y) {
    if (x == y) return relation::same_quota;
    const bool is_below =
        session.queues().settings(x).preempt.children && session.tree().common_ancestor(x, y) == x;
    return is_below ? relation::descendant : relation::borrower;
  }
  [[nodiscard]] static beneficiary<n> beneficiary_of(const Session& session, const record& r) {
    return {r.facts.quota,    r.facts.request,   r.facts.in,
            r.facts.priority, r.facts.submitted, session.queues().settings(r.facts.quota).preempt,
            session.now(),    r.facts.id};
  }
  [[nodiscard]] static std::array<bool, n> all_of(const resources<n>& request) {
    std::array<bool, n> these{};
    for (std::size_t d = 0; d < n; ++d) these[d] = request[d] > quantity{};
    return these;
  }
  /// Whether the rules allow it at all. The job has been charged.
  [[nodiscard]] static bool may_take_back(Session& session, const record& soon, const record& r) {
    if (!soon.preempts) return false;
    const relation how = relation_of(session, soon.facts.quota, r.facts.quota);
    if (!may_preempt(beneficiary_of(session, soon), r.facts, how)) return false;
    return how != relation::borrower || borrows(session, soon, r, all_of(r.facts.request));
  }
  /// Whether the job, which has been charged, borrows in one of these dimensions what the other's side may
  /// own.
  [[nodiscard]] static bool borrows(Session& session, const record& soon, const record& r,
                                    const std::array<bool, n>& these) {
    const quota_id top = session.tree().common_ancestor(soon.facts.quota, r.facts.quota);
    if (!top) return false;
    return reclaimable_dimensions(session.books().assumed(), r.facts.quota, top, these) !=
           std::array<bool, n>{};
  }
  /// Whether the other has room beside the job, with one of its flavors. It is charged then.
  [[nodiscard]] bool fits_beside(Session& session, const record& soon, bool keeps_place) {
    flavor_pick pick{};
    ledger<n>& l = session.books().assumed();
    do {
      const resources<n> request = soon.request_under(pick);
      if (!l.fits(soon.facts.quota, request, soon.facts.in)) continue;
      l.charge(soon.facts.quota, request, soon.facts.in);
      if (keeps_place) beside_.push_back({soon.facts.id, pick});
      return true;
    } while (advance(pick, soon.menu));
    return false;
  }
  /// Whether it would preempt the job for want of room, with one of its flavors.
  [[nodiscard]] static bool takes_back(Session& session, const record& soon, const record& r) {
    const relation how = relation_of(session, soon.facts.quota, r.facts.quota);
    const ledger<n>& l = session.books().assumed();
    beneficiary<n> b = beneficiary_of(session, soon);
    quota_id side = soon.facts.quota;
    const quota_id top = session.tree().common_ancestor(soon.facts.quota, r.facts.quota);
    while (side && side != top && session.tree().parent(side) != top) side = session.tree().parent(side);
    flavor_pick pick{};
    do {
      b.request = soon.request_under(pick);
      const std::array<bool, n> contested = contested_dimensions(l, b);
      const bool does = how == relation::borrower
                            ? owns_request(l, b, side == top ? quota_id{} : side, contested) &&
                                  borrows(session, soon, r, contested)
                            : uses_any<n>(r.facts.request, contested);
      if (does) return true;
    } while (advance(pick, soon.menu));
    return false;
  }

  /// Those that have room beside the job that was asked about last, and with which flavors.
  vector<entry> beside_;
  vector<typename Session::place> held_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
