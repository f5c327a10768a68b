// SPDX-License-Identifier: BSL-1.0
//
// What a host persists of a scheduler's jobs, and how it tells a new scheduler after a restart. All is read
// from the scheduler, so it may be written after any call; it is plain data, whose job is the host's own key.
//
// Not in here are what a host has anyway: its quotas, in the order of their ids, and the settings it has
// configured; and of its jobs what the view shows, with `submitted` and `id`, or ties go another way.
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace restart {

/// `Where` says where a job runs in terms of the host: the names of machines, say. `Time` is its point in
/// time.
template <class Job, class Where, class Time = allot::instant>
struct saved_state {
  /// A job that holds its share: running or being evicted. Or one of its elastic pods.
  struct held {
    Job what{};
    bool is_pod = false;
    Time since{};
    Where at{};
    allot::flavor_pick pick{};
    /// If it makes way for jobs with a reserved start: the indexes in `timed` of the one for whose start it
    /// leaves (one too many: none), and of the last in turn.
    std::optional<std::pair<std::size_t, std::size_t>> makes_way_for{};
  };
  /// A job that starts when its victims, by their indexes in `leaving`, have left.
  struct nominated {
    Job what{};
    Where at{};
    allot::flavor_pick pick{};
    std::vector<std::size_t> victims{};
  };

  /// Each job before its pods, these in the order of their ids.
  std::vector<held> holding;
  /// Those of `holding` that are on their way out, in the order of their evictions.
  std::vector<std::size_t> leaving;
  /// In the order of the decisions.
  std::vector<nominated> nominated_jobs;
  /// Of those that only wait, those announced: under Kueue and KAI they wait for victims, too.
  std::vector<Job> announced;
  /// Those with a reserved start, in the order of their turn.
  std::vector<std::pair<Job, allot::reservation>> timed;
  std::vector<Job> pending;
  /// Which quotas do not borrow for now, because they were reclaimed.
  std::vector<allot::backoff> backoffs;
  /// What the policies remember of past usage; empty if it does not count.
  std::vector<std::uint64_t> past_usage;
};

/// Reads the jobs with these ids. `where(place)` is the host's account of a place.
template <class Where, class Scheduler, class WhereOf>
[[nodiscard]] auto save(const Scheduler& s, std::span<const allot::job_id> ids, WhereOf where) {
  saved_state<typename Scheduler::job, Where, typename Scheduler::time_point> all;
  std::vector<allot::job_id> units;
  const auto timed = s.reservations();
  const auto holds = [&](allot::job_id id) {
    return s.state(id) == allot::job_state::running || s.state(id) == allot::job_state::evicting;
  };
  const auto add = [&](allot::job_id id, bool is_pod) {
    auto& held = all.holding.emplace_back();
    held = {s.what(id), is_pod, s.since(id), where(s.place_of(id)), s.pick(id)};
    const auto index_of = [&](allot::job_id holder) {
      return static_cast<std::size_t>(std::find(timed.begin(), timed.end(), holder) - timed.begin());
    };
    const std::size_t whom = index_of(s.makes_way_for(id)), up_to = index_of(s.makes_way_up_to(id));
    if (up_to < timed.size()) held.makes_way_for = {whom, up_to};
    units.push_back(id);
  };
  for (const allot::job_id id : ids) {
    if (s.state(id) == allot::job_state::pending) {
      if (s.reservation_of(id)) continue;
      (s.announced(id) ? all.announced : all.pending).push_back(s.what(id));
    }
    if (!holds(id)) continue;
    add(id, false);
    std::vector<allot::job_id> pods(s.elastic_pods_of(id).begin(), s.elastic_pods_of(id).end());
    std::sort(pods.begin(), pods.end());
    for (const allot::job_id pod : pods) {
      if (holds(pod)) add(pod, true);
    }
  }
  const auto backoffs = s.backoffs();
  all.backoffs.assign(backoffs.begin(), backoffs.end());
  all.past_usage = s.past_usage();
  for (const allot::job_id id : timed) all.timed.emplace_back(s.what(id), *s.reservation_of(id));
  for (const allot::job_id id : s.evicting()) {
    const auto at = std::find(units.begin(), units.end(), id);
    if (at != units.end()) all.leaving.push_back(static_cast<std::size_t>(at - units.begin()));
  }
  for (const allot::job_id id : s.nominated()) {
    // A nominated pod of a running job: the job requests it again.
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
    auto& r = all.nominated_jobs.emplace_back();
    r.what = s.what(id);
    r.at = where(s.place_of(id));
    r.pick = s.pick(id);
    for (std::size_t i = 0; i < all.leaving.size(); ++i) {
      if (s.beneficiary_of(units[all.leaving[i]]) == id) r.victims.push_back(i);
    }
  }
  return all;
}

/// Tells a new scheduler. `take(job, where)` takes the place again in `s.places()`; `adopted(job, id)` is
/// called for each job that the scheduler has accepted, pods left out. Returns whether it has accepted
/// everything. From then on it decides as the old one would have after `retry`: all pending jobs are retried.
template <class Scheduler, class Where, class Take, class Adopted>
bool restore(Scheduler& s,
             const saved_state<typename Scheduler::job, Where, typename Scheduler::time_point>& all,
             Take take, Adopted adopted) {
  bool accepted = true;
  const auto note = [&](const auto& job, allot::submission answer) {
    accepted = accepted && answer;
    if (answer) adopted(job, answer.id);
    return answer.id;
  };
  // First what holds a share, whether it leaves or not: its place is its own.
  std::vector<allot::job_id> units;
  allot::job_id core;
  for (const auto& h : all.holding) {
    if (h.is_pod) {
      const allot::submission pod = s.adopt_elastic_pod(core, h.since, take(h.what, h.at));
      accepted = accepted && pod;
      units.push_back(pod.id);
    } else {
      units.push_back(core = note(h.what, s.adopt(h.what, h.since, take(h.what, h.at), h.pick)));
    }
  }
  // Then what leaves: its place counts as free from now on,
  for (const std::size_t i : all.leaving) accepted = s.evicting(units[i]) == allot::refusal::none && accepted;
  // so that it can be taken for those that wait for it.
  for (const auto& r : all.nominated_jobs) {
    std::vector<allot::job_id> victims;
    for (const std::size_t i : r.victims) victims.push_back(units[all.leaving[i]]);
    note(r.what, s.adopt_nominated(r.what, victims, take(r.what, r.at), r.pick));
  }
  // Those that only wait come last: each has the rank that its submission gives it.
  for (const auto& job : all.announced) note(job, s.adopt_announced(job));
  std::vector<allot::job_id> timed;
  for (const auto& [job, held] : all.timed) timed.push_back(note(job, s.adopt_reservation(job, held)));
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& for_whom = all.holding[i].makes_way_for;
    if (!for_whom) continue;
    const allot::job_id whom = for_whom->first < timed.size() ? timed[for_whom->first] : allot::job_id{};
    const auto answer = s.adopt_making_way(units[i], whom, timed[for_whom->second]);
    accepted = accepted && answer == allot::refusal::none;
  }
  for (const auto& job : all.pending) note(job, s.submit(job));
  accepted = s.restore_backoffs(all.backoffs) && accepted;
  return s.restore_past_usage(all.past_usage) && accepted;
}

}  // namespace restart
