// SPDX-License-Identifier: BSL-1.0
// A clock that was wrong makes no difference, under every preset.
#include <allot/sim/places.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/random_host.hpp"
#include "tests/support/seeds.hpp"

using allot::any_preset;
using allot::instant;

namespace {

/// A host whose clock is moved back and forth, and rebased, decides as one whose clock goes on.
void check_rebase(const any_preset& preset) {
  constexpr std::size_t calls = 60;
  std::size_t starts = 0;
  std::size_t evictions = 0;
  allot_test::for_each_seed(20, [&](allot_test::random_source& random) {
    const std::deque<allot_test::soak_job> jobs = allot_test::random_jobs(random, calls);
    // When they are ready is a time of the host's own: it has moved for those that it submits later.
    std::deque<allot_test::soak_job> moved_jobs = jobs;
    using host = allot_test::random_host<any_preset, allot::sim::places>;
    host goes_on{preset, jobs};
    host is_moved{preset, moved_jobs};
    goes_on.step();
    is_moved.step();
    for (std::size_t i = 0; i < calls; ++i) {
      if (random.one_in(5)) {
        const instant most = random.one_in(2) ? 20 : 75LL * 365 * 86'400;
        const instant by = random.between(-most, most);
        is_moved.rebase(by);
        for (auto& j : moved_jobs) j.ready = allot::detail::moved(j.ready, by);
      }
      const allot_test::random_source numbers{random.seed() + 1000 * i};
      const std::string says = is_moved.act(numbers);
      const std::string should_say = goes_on.act(numbers);
      REQUIRE_MESSAGE(says == should_say, preset.name << ", call " << i << ":\n"
                                                      << says << "and not\n"
                                                      << should_say);
    }
    starts += goes_on.starts();
    evictions += goes_on.evictions();
  });
  CHECK((starts > 0 || !allot_test::all_cases_run()));
  CHECK((evictions > 0 || !allot_test::all_cases_run()));
}

}  // namespace

TEST_CASE("clock: a step back while past usage counts") {
  allot_test::preset_host<allot::runai> h{{{.name = "a", .nominal = allot::gpus(1)}},
                                          allot::runai{.k = 1000}};
  auto& scheduler = h.scheduler();
  scheduler.step(100);
  h.submit("j", "a", 1);
  const auto& plan = scheduler.step(50);
  CHECK(plan.admissions.size() == 1);
  CHECK(plan.clamped_by == 50);
  CHECK(scheduler.since(h.id("j")) == 100);
  // And a first step before the time at which the scheduler was made.
  allot_test::preset_host<allot::runai> early{{{.name = "a", .nominal = allot::gpus(1)}},
                                              allot::runai{.k = 1000}};
  early.submit("j", "a", 1);
  CHECK(early.scheduler().step(-100).admissions.size() == 1);
}
TEST_CASE("clock: after a rebase all goes on as before, under every preset") {
  allot::for_each_preset([](auto preset) {
    // The order `aged` compares times of submission, which are the host's, with the clock.
    if constexpr (std::is_same_v<decltype(preset), allot::standard>) {
      preset.backfill = allot::backfill_order::queue;
    }
    check_rebase(any_preset{preset});
  });
}
TEST_CASE("clock: after a rebase what is remembered goes on as before") {
  check_rebase(any_preset{allot::runai{.k = 1000, .half_life = 50, .window = 500}});
  check_rebase(any_preset{allot::runai{.k = 1000, .window = 40}});
  check_rebase(any_preset{allot::standard{.backfill = allot::backfill_order::shortest_estimate,
                                          .first_backoff = 3,
                                          .longest_backoff = 20,
                                          .gather = 20}});
  any_preset by_past_usage{allot::standard{}};
  REQUIRE(by_past_usage.choose({.queue_order = allot::quota_order_name::fair_tree, .half_life = 50}));
  check_rebase(by_past_usage);
}
