// SPDX-License-Identifier: BSL-1.0
// What the cycles of the gallery share.
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/policies.hpp>

#include <compare>
#include <vector>

/// A fraction as a part of a rank: the largest is first.
struct largest_first {
  allot::wide numerator = 0;
  allot::wide denominator = 1;
  friend bool operator==(const largest_first& a, const largest_first& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const largest_first& a, const largest_first& b) {
    return allot::ratio{b.numerator, b.denominator} <=> allot::ratio{a.numerator, a.denominator};
  }
};

/// The jobs that wait and could run, and those that run; none that is elastic.
template <class Session>
[[nodiscard]] std::vector<allot::job_id> jobs_in(const Session& s) {
  std::vector<allot::job_id> all;
  const auto add = [&](allot::job_id j) {
    const auto& r = s.jobs().at(j);
    if (!r.facts.elastic && !r.is_early()) all.push_back(j);
  };
  for (const allot::quota_id x : s.tree().top_down()) {
    s.jobs().for_each_waiting(x, add);
    for (const auto& r : s.books().running().jobs_of(x)) add(r.id);
  }
  return all;
}

/// Whether a job fits its quota and the nodes now.
template <class Session>
[[nodiscard]] bool has_room(Session& s, const typename Session::record& r) {
  return s.books().assumed().fits(r.facts.quota, r.facts.request, r.facts.in) &&
         allot::could_place(s.books().places, r.pod_request);
}

/// Policies of a cycle that goes by a rank, or by parts of the time.
template <template <class Session, class By> class Cycle, class By>
struct cycle_policies {
  template <class Session>
  using cycle = Cycle<Session, By>;
  allot::by_settings jobs{};
  allot::capacity_kind not_preemptible = allot::capacity_kind::any;
  By by{};
};
