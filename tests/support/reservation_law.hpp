// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/reservation.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "tests/support/timed_host.hpp"

namespace allot_test {

/// What `check_reservations` has seen.
struct reservations_seen {
  std::size_t reservations = 0;
  std::size_t late = 0;
  std::map<allot::delay_cause, std::size_t> causes;
};

/// Runs the jobs and checks the tenth law: no start is later than first reserved but for one of the allowed
/// causes, on record. Calls `look(now)` after each instant.
template <class Host>
void check_reservations(Host& h, const std::vector<timed_job>& jobs,
                        const std::vector<allot::delay_cause>& allowed, reservations_seen& all,
                        const std::function<void(allot::instant)>& look = {}) {
  std::map<std::size_t, allot::instant> first;
  std::map<std::size_t, allot::delay_cause> cause;
  std::map<std::size_t, std::size_t> starts;
  const auto is_allowed = [&](allot::delay_cause why) {
    return std::find(allowed.begin(), allowed.end(), why) != allowed.end();
  };
  h.run_all([&](allot::instant now) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto p = h[j].id ? h.scheduler().reservation_of(h[j].id) : std::nullopt;
      CAPTURE(j);
      CAPTURE(now);
      if (!p) {
        // Started or withdrawn: the reservation was kept if the start was not late.
        if (const auto at = first.find(j); at != first.end()) {
          // The job may have been evicted at once.
          REQUIRE(h[j].starts > starts[j]);
          REQUIRE((now <= at->second || cause[j] != allot::delay_cause::none));
          all.late += now > at->second ? 1U : 0U;
          first.erase(at);
        }
        continue;
      }
      // The job started and was evicted at once.
      if (h[j].starts > starts[j]) first.erase(j);
      all.reservations += first.try_emplace(j, p->first_start).second ? 1U : 0U;
      CAPTURE(p->start);
      CAPTURE(p->first_start);
      CAPTURE(p->owned);
      REQUIRE(p->first_start == first[j]);
      cause[j] = p->cause;
      starts[j] = h[j].starts;
      const bool is_late = p->start > p->first_start || p->start <= now;
      REQUIRE((!is_late || p->cause != allot::delay_cause::none));
      if (p->cause == allot::delay_cause::none) continue;
      CAPTURE(to_string(p->cause));
      REQUIRE(is_allowed(p->cause));
      ++all.causes[p->cause];
    }
    if (look) look(now);
    for (const allot::quota_id x : h.scheduler().tree().top_down())
      REQUIRE(h.scheduler().ledger().is_sound(x));
  });
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].preemptible) REQUIRE((h[j].start.has_value() || !h[j].id));
  }
  REQUIRE(h.disagreements() == 0);
}

}  // namespace allot_test
