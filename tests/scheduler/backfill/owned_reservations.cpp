// SPDX-License-Identifier: BSL-1.0
// Reservations that stand on what a quota owns: how long a job within its nominal waits at most.
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"
#include "tests/support/timed_nodes.hpp"

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot_test::random_source;
using allot_test::timed_job;

namespace {

constexpr quota_id a{1};

[[nodiscard]] std::vector<allot::quota_spec<1>> teams(const std::vector<std::int64_t>& owned) {
  std::vector<allot::quota_spec<1>> specs{{.name = "all"}};
  for (std::size_t i = 0; i < owned.size(); ++i) {
    specs.push_back({.name = "t" + std::to_string(i), .parent = "all", .nominal = gpus(owned[i])});
  }
  return specs;
}

}  // namespace

TEST_CASE("owned reservations: a gang within what its team owns starts after one job length, at any depth") {
  for (const std::uint32_t depth : {1U, 2U, 3U, 8U, allot::reserve_all}) {
    CAPTURE(depth);
    std::vector<timed_job> jobs;
    for (instant i = 0; i < 200; ++i) {
      for (std::size_t team = 1; team <= 2; ++team) {
        const instant length = i < 4 ? 250 * (i + 1) : 1000;
        jobs.push_back({.quota = quota_id{team}, .submit = i, .duration = length, .estimate = length});
      }
    }
    const std::size_t gang = jobs.size();
    jobs.push_back({.quota = a, .gpus = 4, .submit = 3, .duration = 1000, .estimate = 1000});
    auto made = allot::make_scheduler(allot::standard{.reservations = depth}, allot_test::timed_view{&jobs},
                                      teams({4, 4}));
    allot_test::timed_host<std::remove_cvref_t<decltype(made.value())>> h{jobs, std::move(made.value())};
    h.run_all();
    // The last of those that ran when it came ends at 1003.
    CHECK(*h[gang].start <= 1003);
    CHECK(h.disagreements() == 0);
  }
}

TEST_CASE("owned reservations: of hundreds that run, it starts when as many have ended as it needs") {
  allot_test::for_each_seed(20, [](random_source& random) {
    const std::size_t ones = 100 + random.below(400);
    std::vector<timed_job> jobs;
    for (std::size_t i = 0; i < ones; ++i) {
      // Many end at the same time.
      const instant length = 10 + static_cast<instant>(random.below(random.one_in(2) ? 30 : 1000));
      jobs.push_back({.quota = a, .duration = length, .estimate = length});
    }
    const auto gang = static_cast<std::uint32_t>(jobs.size());
    jobs.push_back({.quota = a,
                    .gpus = 1 + static_cast<std::int64_t>(random.below(ones)),
                    .submit = 1,
                    .duration = 10,
                    .estimate = 10});
    const std::vector<std::int64_t> owned{static_cast<std::int64_t>(ones), 0};
    auto s = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, teams(owned)).value();
    std::vector<std::pair<instant, allot::job_id>> running;
    for (std::uint32_t j = 0; j < gang; ++j) running.push_back({jobs[j].duration, s.submit(j).id});
    s.step(0);
    const allot::job_id id = s.submit(gang).id;
    s.step(1);
    std::sort(running.begin(), running.end());
    // Some end early, in any order.
    const auto needed = static_cast<std::size_t>(jobs[gang].gpus);
    for (std::size_t ended = 0;; ++ended) {
      REQUIRE(s.reservation_of(id).has_value());
      REQUIRE(s.reservation_of(id)->start == running[needed - ended - 1].first);
      if (ended + 1 == needed) break;
      const std::size_t which = random.below(running.size());
      REQUIRE(s.finished(running[which].second) == allot::refusal::none);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      s.step(2);
    }
  });
}

TEST_CASE("owned reservations: without estimates such a gang is passed until it is too old for that") {
  for (const bool says_nothing : {true, false}) {
    CAPTURE(says_nothing);
    std::vector<timed_job> jobs;
    for (instant i = 0; i < 200; ++i) {
      for (std::size_t team = 1; team <= 2; ++team) {
        const instant length = i < 4 ? 250 * (i + 1) : 1000;
        // Or a tenth of the truth.
        jobs.push_back({.quota = quota_id{team},
                        .submit = i,
                        .duration = length,
                        .estimate = says_nothing ? 0 : length / 10});
      }
    }
    const std::size_t gang = jobs.size();
    jobs.push_back(
        {.quota = a, .gpus = 4, .submit = 3, .duration = 1000, .estimate = says_nothing ? 0 : 1000});
    auto made = allot::make_scheduler(allot::standard{.strict_after = 3000}, allot_test::timed_view{&jobs},
                                      teams({4, 4}));
    allot_test::timed_host<std::remove_cvref_t<decltype(made.value())>> h{jobs, std::move(made.value())};
    h.run_all();
    if (says_nothing) CHECK(*h[gang].start > 3003);
    CHECK(*h[gang].start <= 4003);
    CHECK(h.disagreements() == 0);
  }
}

TEST_CASE("owned reservations: who is nominated and loses its room before it starts keeps its turn") {
  std::vector<timed_job> jobs{{.quota = quota_id{2}, .gpus = 2, .duration = 100, .estimate = 100},
                              {.quota = a, .gpus = 2, .duration = 10, .estimate = 10},
                              {.quota = a, .gpus = 4, .submit = 1, .duration = 10, .estimate = 10},
                              {.quota = a, .gpus = 4, .submit = 2, .duration = 10, .estimate = 10}};
  auto s = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, teams({4, 0})).value();
  std::vector<allot::job_id> ids;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    ids.push_back(s.submit(j).id);
    s.step(jobs[j].submit);
  }
  CHECK(s.reservation_of(ids[2])->start == 10);
  CHECK(s.reservation_of(ids[3])->start == 20);
  s.finished(ids[1]);
  CHECK(s.step(10).nominations.size() == 1);
  CHECK(s.state(ids[2]) == allot::job_state::nominated);
  // For a moment its team owns less. Job 0 is on its way out all the while.
  for (const std::int64_t owned : {1, 4}) {
    const allot::quota_change<1> to = allot::resize_quota<1>{a, gpus(owned)};
    CHECK(s.apply({&to, 1}));
  }
  s.step(11);
  CHECK(s.state(ids[2]) == allot::job_state::nominated);
  CHECK(s.state(ids[3]) == allot::job_state::pending);
}

TEST_CASE("owned reservations: without a node for it a job has no start, and nobody waits for it") {
  for (const bool fits_elsewhere : {false, true}) {
    CAPTURE(fits_elsewhere);
    const std::vector<timed_job> jobs{
        {.quota = a, .gpus = 4, .duration = 10, .estimate = 10},
        {.quota = a, .gpus = 4, .submit = 1, .duration = 5, .estimate = 5},
        {.quota = a, .gpus = fits_elsewhere ? 2 : 3, .submit = 2, .duration = 5, .estimate = 5}};
    std::vector<allot::gpu::node_spec> nodes(2);
    nodes[0] = {.name = "large", .gpus = 4};
    nodes[1] = {.name = "small", .gpus = 2};
    auto s = allot::make_scheduler(allot::standard{}, allot_test::timed_nodes_view{{&jobs}}, teams({4, 0}),
                                   allot::gpu::inventory{allot::gpu::build_cluster(nodes).value()})
                 .value();
    std::vector<allot::job_id> ids;
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      ids.push_back(s.submit(j).id);
      s.step(jobs[j].submit);
    }
    REQUIRE(s.reservation_of(ids[1])->start == 10);
    REQUIRE(s.reservation_of(ids[2])->start == 15);
    s.nodes().close(allot::gpu::node_id{0});
    s.retry();
    s.step(3);
    s.finished(ids[0]);
    CHECK(s.step(10).admissions.size() == (fits_elsewhere ? 1 : 0));
    REQUIRE(s.reservation_of(ids[1]).has_value());
    CHECK(s.reservation_of(ids[1])->start == allot::without_end);
    CHECK(s.reservation_of(ids[1])->first_start == 10);
    CHECK(s.reservation_of(ids[1])->cause == allot::delay_cause::cluster);
    CHECK_FALSE(s.wakes_at().has_value());
    // It has kept its turn.
    s.nodes().reopen(allot::gpu::node_id{0});
    s.retry();
    CHECK(s.step(12).admissions.size() == (fits_elsewhere ? 0 : 1));
    if (fits_elsewhere) {
      REQUIRE(s.reservation_of(ids[1]).has_value());
      CHECK(s.reservation_of(ids[1])->start == 15);
      s.finished(ids[2]);
      s.step(15);
    }
    CHECK(s.state(ids[1]) == allot::job_state::running);
  }
}

TEST_CASE("owned reservations: who waits for a job of another quota whose end is not known keeps its room") {
  const std::vector<timed_job> jobs{{.quota = a, .gpus = 4, .duration = 10, .estimate = 10},
                                    {.quota = quota_id{2}, .duration = 1000, .preemptible = false},
                                    {.quota = a, .gpus = 4, .submit = 1, .duration = 5, .estimate = 5},
                                    {.quota = a, .gpus = 1, .submit = 2, .duration = 5, .estimate = 5}};
  auto s = allot::make_scheduler(allot::standard{}, allot_test::timed_nodes_view{{&jobs}}, teams({4, 1}),
                                 allot_test::timed_nodes(2, 4))
               .value();
  std::vector<allot::job_id> ids;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    ids.push_back(s.submit(j).id);
    s.step(jobs[j].submit);
  }
  REQUIRE(s.reservation_of(ids[2])->start == 10);
  // Where the first one runs.
  s.nodes().close(allot::gpu::node_id{0});
  s.retry();
  s.step(3);
  s.finished(ids[0]);
  CHECK(s.step(10).admissions.empty());
  CHECK(s.reservation_of(ids[2])->start == 10);
  CHECK(s.reservation_of(ids[3])->start == 15);
  s.finished(ids[1]);
  s.step(12);
  CHECK(s.state(ids[2]) == allot::job_state::running);
}

TEST_CASE("owned reservations: law 13, in random worlds of teams that always have jobs waiting") {
  std::size_t too_old = 0;
  std::size_t waited = 0;
  std::size_t borrowed = 0;
  allot_test::for_each_seed(400, [&](random_source& random) {
    const bool exact = random.one_in(2);
    const instant strict_after = exact && random.one_in(2) ? 0 : random.between(1, 100);
    std::vector<std::int64_t> owned(static_cast<std::size_t>(random.between(1, 4)));
    for (std::int64_t& n : owned) n = random.between(1, 8);
    std::vector<timed_job> jobs(static_cast<std::size_t>(random.between(10, 60)));
    for (timed_job& j : jobs) {
      j.quota = quota_id{1 + random.below(owned.size())};
      j.gpus = random.between(1, owned[j.quota.index() - 1]);
      j.submit = random.between(0, 100);
      j.duration = j.estimate = random.between(1, 60);
      if (!exact && random.one_in(2)) j.estimate = random.one_in(2) ? 0 : random.between(1, 80);
    }
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    auto made = allot::make_scheduler(
        allot::standard{.reservations = depth,
                        .backfill = exact ? allot::backfill_order::aged : allot::backfill_order::queue,
                        .strict_after = strict_after},
        allot_test::timed_view{&jobs}, teams(owned));
    allot_test::timed_host<std::remove_cvref_t<decltype(made.value())>> h{jobs, std::move(made.value())};
    // By when a job must have started, since it is the first of its quota; and how often it had then.
    std::vector<instant> by(jobs.size(), allot::without_end);
    std::vector<std::size_t> starts(jobs.size());
    h.run_all([&](instant now) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!h[j].id || h.scheduler().state(h[j].id) != allot::job_state::pending) continue;
        CAPTURE(j);
        CAPTURE(now);
        if (h[j].starts > std::exchange(starts[j], h[j].starts)) by[j] = allot::without_end;
        instant longest = now;
        bool is_first = true;
        bool some_came_back = false;
        for (std::size_t k = 0; k < jobs.size(); ++k) {
          if (!h[k].id || jobs[k].quota != jobs[j].quota || k == j) continue;
          const allot::job_state is = h.scheduler().state(h[k].id);
          if (is == allot::job_state::running) longest = std::max(longest, *h[k].start + jobs[k].duration);
          // Who holds a reservation had its turn before one that was evicted and is back.
          const bool is_earlier =
              jobs[k].submit < jobs[j].submit || (jobs[k].submit == jobs[j].submit && k < j);
          if (is != allot::job_state::pending) continue;
          is_first = is_first && !is_earlier && !h.scheduler().reservation_of(h[k].id);
          some_came_back = some_came_back || is_earlier;
        }
        // One that stands on what others own is displaced as they want it.
        const auto held = h.scheduler().reservation_of(h[j].id);
        if (some_came_back || (!exact && held && !held->owned)) by[j] = allot::without_end;
        REQUIRE(now < by[j]);
        const bool is_too_old = strict_after > 0 && now >= jobs[j].submit + strict_after;
        if (!is_first || by[j] != allot::without_end || !(exact || is_too_old)) continue;
        too_old += exact ? 0U : 1U;
        by[j] = longest + 1;
        ++waited;
        borrowed +=
            h.scheduler().ledger().own_usage(jobs[j].quota, 0) > gpus(owned[jobs[j].quota.index() - 1]);
      }
    });
  });
  CHECK((waited > 1000 || !allot_test::all_cases_run()));
  CHECK((too_old > 1000 || !allot_test::all_cases_run()));
  CHECK((borrowed > 10 || !allot_test::all_cases_run()));
}
