// SPDX-License-Identifier: BSL-1.0
// A whole preemptive cycle: all jobs are ranked, running ones included; each in turn runs if there is room
// without those that rank behind it, of which the last are evicted. A job for which there is no room is
// passed over.
//
// A rank is `rank(session, record)`, the least first. If it has `begin(session, jobs)`, it sees all of them
// before; if it has `wakes_at(session, record)`, that says when the rank of a running job will change. Jobs
// run with the pods that they need. O(jobs log jobs) an event, and a trial for each that waits: for
// studies, not for a million jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cycle_parts.hpp"

template <class Session, class Rank>
class ranked_cycle {
  using id = allot::job_id;
  using record = typename Session::record;
  Rank rank_;

 public:
  template <class Policies>
  explicit ranked_cycle(const Policies& p) : rank_(p.by) {}
  void reset(Session&) {}

  void run(Session& s) {
    using key = decltype(rank_(s, std::declval<const record&>()));
    const std::vector<id> all = jobs_in(s);
    if constexpr (requires { rank_.begin(s, all); }) rank_.begin(s, all);
    std::vector<std::pair<key, id>> order;
    for (const id j : all) order.emplace_back(rank_(s, s.jobs().at(j)), j);
    std::sort(order.begin(), order.end());
    const auto runs = [&](std::size_t i) {
      return s.jobs().state(order[i].second) == allot::job_state::running;
    };
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (runs(i)) running.push_back(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const record& r = s.jobs().at(order[i].second);
      if (r.state != allot::job_state::pending) continue;
      std::vector<id> behind;
      for (std::size_t k = running.size(); k-- > 0 && running[k] > i;) {
        if (runs(running[k])) behind.push_back(order[running[k]].second);
      }
      const std::optional<std::vector<id>> victims = victims_for(s, r, behind);
      if (!victims) continue;
      for (const id v : *victims) s.evict(v, r.facts.id, allot::relation::same_quota);
      const auto place = s.books().places.place(r.pod_request);
      victims->empty() ? s.admit(r.facts.id, *place) : s.nominate(r.facts.id, *place);
    }
  }
  [[nodiscard]] std::optional<allot::instant> wakes_at([[maybe_unused]] const Session& s) const {
    std::optional<allot::instant> first;
    if constexpr (requires(const record& r) { rank_.wakes_at(s, r); }) {
      for (const allot::quota_id x : s.tree().top_down()) {
        for (const auto& r : s.books().running().jobs_of(x)) {
          const std::optional<allot::instant> at = rank_.wakes_at(s, s.jobs().at(r.id));
          if (at && (!first || *at < *first)) first = at;
        }
      }
    }
    return first;
  }

 private:
  /// The first of those behind that make room for the job, less those without which there is room as well.
  [[nodiscard]] static std::optional<std::vector<id>> victims_for(Session& s, const record& r,
                                                                  const std::vector<id>& behind) {
    auto& ledger = s.books().assumed();
    auto& places = s.books().places;
    auto as_placed = places.save();
    const auto as_charged = ledger.save();
    std::vector<id> gone;
    bool fits = has_room(s, r);
    for (std::size_t k = 0; !fits && k < behind.size(); fits = has_room(s, r), ++k) {
      const record& v = s.jobs().at(behind[k]);
      places.vacate(v.where);
      ledger.release(v.facts.quota, v.facts.request, v.facts.in);
      gone.push_back(behind[k]);
    }
    for (std::size_t k = gone.size(); fits && k-- > 0;) {
      const record& v = s.jobs().at(gone[k]);
      places.reoccupy(v.where);
      ledger.charge(v.facts.quota, v.facts.request, v.facts.in);
      if (has_room(s, r)) {
        gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      places.vacate(v.where);
      ledger.release(v.facts.quota, v.facts.request, v.facts.in);
    }
    ledger.rollback(as_charged);
    places.rollback(std::move(as_placed));
    return fits ? std::optional{std::move(gone)} : std::nullopt;
  }
};

/// Policies of such a cycle, on one queue without quotas as `fifo` has it.
template <class Rank>
using ranked_policies = cycle_policies<ranked_cycle, Rank>;
