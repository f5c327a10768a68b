// SPDX-License-Identifier: BSL-1.0
// Policies that are woken by time alone.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/sim/simulator.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::sim::job_outcome;

namespace {

/// Starts what fits, but only every ten seconds; says after each step that it wants to be woken `after`
/// later.
template <class Session>
struct rounds {
  instant after;

  template <class Policies>
  explicit rounds(const Policies& p) : after(p.after) {}
  void reset(Session&) {}
  void run(Session& s) {
    if (s.now() % (10 * second) != 0) return;
    if (s.queues().must_requeue()) s.requeue_inadmissible();
    for (const quota_id x : s.tree().top_down()) {
      while (const auto first = s.first_of(x)) {
        const auto& r = s.jobs().at(*first);
        const bool fits = s.books().assumed().fits(x, r.facts.request, r.facts.in);
        const auto place = fits ? s.books().places.place(r.pod_request) : std::nullopt;
        place ? s.admit(*first, *place) : s.mark_inadmissible(x, allot::pending_reason::quota);
      }
    }
  }
  [[nodiscard]] std::optional<instant> wakes_at(const Session& s) const {
    // A second or more: the next full ones.
    return after >= second ? (s.now() / after + 1) * after : s.now() + after;
  }
};
struct round_policies {
  template <class Session>
  using cycle = rounds<Session>;
  instant after = 0;
  allot::by_settings jobs{};
  allot::capacity_kind not_preemptible = allot::capacity_kind::any;
};
struct woken : allot::standard {
  static constexpr std::string_view name = "woken", summary = "in rounds of ten seconds";
  using policies_type = round_policies;
  instant after = 0;
  [[nodiscard]] policies_type policies() const { return {after}; }
};

/// Two jobs that come between rounds, and one that its GPUs are not there for.
void check_rounds(instant after, bool one_never_starts) {
  CAPTURE(after);
  std::vector<allot::sim::job<1>> jobs = {job_of(a, 2, 3, 4), job_of(a, 2, 15, 5)};
  if (one_never_starts) jobs.push_back(job_of(a, 4, 1, 5));
  auto s = world<woken>(siblings({4}), std::move(jobs));
  s.where = nodes(2, 2);
  s.node_events = {{.at = 1 * second, .node = allot::gpu::node_id{1}, .what = allot::sim::node_change::down}};
  diary seen;
  woken by;
  by.after = after;
  auto made = allot::sim::simulator<1>::make(std::move(s), by);
  REQUIRE(made);
  auto& sim = made.value();
  CHECK(sim.run(seen).empty());
  CHECK(sim.history(0).first_start == 10 * second);
  CHECK(sim.history(0).end == 14 * second);
  CHECK(sim.history(1).first_start == 20 * second);
  CHECK(sim.history(1).end == 25 * second);
  if (one_never_starts) {
    CHECK(sim.history(2).outcome == job_outcome::waiting);
  } else {
    CHECK(sim.now() <= 30 * second);
  }
}

}  // namespace

TEST_CASE("simulator: a policy that always wants to be woken later ends when nothing more can happen") {
  for (const bool one_never_starts : {false, true}) {
    check_rounds(5 * second, one_never_starts);
    check_rounds(10 * second, one_never_starts);
  }
  check_rounds(1, false);
}

TEST_CASE("simulator: woken now, or earlier, is woken at the next instant") {
  check_rounds(0, false);
  check_rounds(-7 * second, false);
}
