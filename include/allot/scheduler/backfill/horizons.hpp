// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/backfill/reservations.hpp>
#include <allot/scheduler/detail/expected_ends.hpp>
#include <allot/scheduler/detail/job_table.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace allot {
inline namespace v0 {
namespace detail {

/// What jobs of a quota release of one kind of capacity.
template <std::size_t N>
struct released_share {
  quota_id quota;
  capacity_kind in{};
  resources<N> amount{};
};
/// What will have gone by a reserved start.
template <job_view View, placement Placement>
struct horizon {
  job_id job;
  instant at = 0;
  typename Placement::pod_request asked{};
  /// Whether the placement can tell.
  bool is_known = false;
  /// Whether it has been brought up to date since all were outdated.
  bool is_current = false;
  kept_counter_of<Placement> room{};
  /// The same as of now, with no job gone, for walks on behalf of the job.
  kept_counter_of<Placement> room_now{};
  vector<released_share<dimensions<View>>> gone;
};

/// For each reserved start, the earliest ones, what will have gone by then if all that runs ends as expected:
/// of the quotas, and of the places for the job with a reservation. It is kept as jobs start and end, so that
/// whether a reservation holds can often be told without a walk to its start. Other jobs with a reservation
/// do not count in it.
template <job_view View, placement Placement>
class horizons {
 public:
  static constexpr std::size_t n = dimensions<View>;
  using record = job_record<View, Placement>;
  using pod_request = typename Placement::pod_request;
  /// Of no more are counts kept: each costs a little at every start and end.
  static constexpr std::size_t most = 8;
  using horizon_type = horizon<View, Placement>;

  /// The running job is expected to end at its `expected_end`, from now on or no longer. It has its place.
  void expect(const Placement& places, const record& r) {
    for (horizon_type& h : kept_) {
      if (r.expected_end <= h.at) add(h, places, r);
    }
  }
  void forget(const Placement& places, const record& r) {
    for (horizon_type& h : kept_) {
      if (r.expected_end <= h.at) take_back(h, places, r);
    }
  }
  /// The job holds no reservation any more.
  void forget(job_id holder) {
    erase_if(kept_, [&](const horizon_type& h) { return h.job == holder; });
  }

  /// All times move by that span.
  void rebase(instant by) {
    for (horizon_type& h : kept_) h.at = moved(h.at, by);
  }

  /// Something may have changed since they were brought up to date.
  void outdate() {
    for (horizon_type& h : kept_) h.is_current = false;
  }
  /// That of a reservation, if it is kept and up to date. Valid until the next call of `keep`.
  [[nodiscard]] horizon_type* find(const reservations::entry& p) {
    const auto at = find_if(kept_.begin(), kept_.end(), [&](const horizon_type& h) {
      return h.job == p.job && h.is_known && h.is_current;
    });
    return at == kept_.end() ? nullptr : &*at;
  }
  /// Brings that of a reservation up to date, with a start that is known; `record_of` returns running jobs.
  /// O(nodes + ends) for another job, O(ends between) for another start, O(changes in the placement) else.
  template <class RecordOf>
  void keep(const Placement& places, const reservations::entry& p, const pod_request& asked,
            std::span<const expected_end> ends, RecordOf record_of) {
    horizon_type& h = place_for(p);
    h.is_current = true;
    if (h.job != p.job || h.asked != asked) {
      h.job = p.job;
      h.at = p.what.start;
      h.asked = asked;
      h.gone.clear();
      h.is_known = h.room_now.keep(places, asked);
      h.room = h.room_now;
      for (const expected_end& e : ends) {
        if (e.at > h.at || !h.is_known) break;
        add(h, places, record_of(e.job));
      }
      return;
    }
    if (h.is_known && h.at != p.what.start) {
      const auto first = std::upper_bound(ends.begin(), ends.end(), std::min(h.at, p.what.start), is_before);
      const auto last = std::upper_bound(first, ends.end(), std::max(h.at, p.what.start), is_before);
      for (auto e = first; e != last; ++e) {
        h.at < p.what.start ? add(h, places, record_of(e->job)) : take_back(h, places, record_of(e->job));
      }
    }
    h.at = p.what.start;
    if (h.is_known) h.room.look(places);
  }
  /// The room for a job as of now, with no job gone, or null if the placement can't tell. The caller
  /// undoes its changes to it. O(changes in the placement) for a job with a reservation, O(nodes) for others.
  [[nodiscard]] kept_counter_of<Placement>* room_now(const Placement& places, job_id job,
                                                     const pod_request& asked) {
    const auto own = find_if(kept_.begin(), kept_.end(), [&](const horizon_type& h) { return h.job == job; });
    if (own == kept_.end() || own->asked != asked) return other_.keep(places, asked) ? &other_ : nullptr;
    if (!own->is_known) return nullptr;
    // All of them, before a walk makes changes that it undoes: a look that comes after them is cheap only
    // then.
    for (horizon_type& h : kept_) {
      if (h.is_known) h.room_now.look(places);
    }
    return &own->room_now;
  }

 private:
  static bool is_before(instant t, const expected_end& e) { return t < e.at; }

  /// Its own, or a new one, or the one with the latest start.
  [[nodiscard]] horizon_type& place_for(const reservations::entry& p) {
    const auto own =
        find_if(kept_.begin(), kept_.end(), [&](const horizon_type& h) { return h.job == p.job; });
    if (own != kept_.end()) return *own;
    if (kept_.size() < most) {
      kept_.resize(kept_.size() + 1);
      return kept_.back();
    }
    return *std::max_element(kept_.begin(), kept_.end(),
                             [](const horizon_type& a, const horizon_type& b) { return a.at < b.at; });
  }
  static void add(horizon_type& h, const Placement& places, const record& r) {
    if (!h.is_known) return;
    share_of(h, r).amount += r.facts.request;
    h.room.gone(places, r.where);
  }
  static void take_back(horizon_type& h, const Placement& places, const record& r) {
    if (!h.is_known) return;
    share_of(h, r).amount -= r.facts.request;
    h.room.back(places, r.where);
  }
  [[nodiscard]] static released_share<n>& share_of(horizon_type& h, const record& r) {
    const auto at = find_if(h.gone.begin(), h.gone.end(), [&](const released_share<n>& s) {
      return s.quota == r.facts.quota && s.in == r.facts.in;
    });
    if (at != h.gone.end()) return *at;
    h.gone.push_back({r.facts.quota, r.facts.in, {}});
    return h.gone.back();
  }

  vector<horizon_type> kept_;
  /// For a job without a reservation.
  kept_counter_of<Placement> other_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
