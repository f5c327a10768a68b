// SPDX-License-Identifier: BSL-1.0
// A whole cycle: the quotas take turns, one job each, as long as something fits; nothing is preempted.
#pragma once

#include <allot/presets/standard.hpp>
#include <allot/scheduler/session.hpp>

#include <string_view>

template <class Session>
struct turns {
  template <class Policies>
  explicit turns(const Policies&) {}
  void reset(Session&) {}
  void run(Session& session) {
    if (session.queues().must_requeue()) session.requeue_inadmissible();
    for (bool someone = true; someone;) {
      someone = false;
      for (const allot::quota_id x : session.tree().top_down()) {
        const auto first = session.first_of(x);
        if (!first) continue;
        someone = true;
        const auto& job = session.jobs().at(*first);
        const bool fits = session.books().assumed().fits(x, job.facts.request, job.facts.in);
        const auto place = fits ? session.books().places.place(job.pod_request) : std::nullopt;
        place ? session.admit(*first, *place) : session.mark_inadmissible(x, allot::pending_reason::quota);
      }
    }
  }
};
struct turn_policies {
  template <class Session>
  using cycle = turns<Session>;
  allot::by_settings jobs{};
  allot::capacity_kind not_preemptible = allot::capacity_kind::any;
};
struct round_robin : allot::standard {
  static constexpr std::string_view name = "round_robin", summary = "quotas take turns; nothing is preempted";
  using policies_type = turn_policies;
};
