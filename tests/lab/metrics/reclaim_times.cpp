// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/reclaim_times.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::lab::reclaim_times;
using allot::sim::job;

TEST_CASE("reclaim_times: latency and violation of one quota, by hand") {
  reclaim_times c{{}, 5};
  CHECK(c.are_met());
  c.look(10, a, true);
  CHECK_FALSE(c.are_met());
  CHECK(c.of(a, 12).violated == 0);
  CHECK(c.of(a, 18).violated == 3);
  CHECK(c.of(a, 18).open == 1);
  c.look(12, a, true);
  c.look(30, a, false);
  CHECK(c.are_met());
  CHECK(c.of(a, 90).violated == 15);
  CHECK(c.of(a, 90).open == 0);
  CHECK(c.of(a, 90).latency.count == 1);
  CHECK(c.of(a, 90).latency.max == 20);
  // A shorter one is no violation.
  c.look(40, a, true);
  c.look(44, a, false);
  CHECK(c.of(a, 90).violated == 15);
  CHECK(c.of(a, 90).latency.count == 2);
  CHECK(c.of(a, 90).latency.p50 == 20);
  // For others nothing is known.
  CHECK(c.of(b, 90).latency.count == 0);
  CHECK(c.of(b, 90).violated == 0);
}

TEST_CASE("reclaim_times: a claim that is met at once has latency 0 and counts once per instant") {
  reclaim_times c;
  c.note_reclaim(b);
  c.note_reclaim(b);
  CHECK_FALSE(c.are_met());
  c.look(10, a, false);
  c.look(10, b, false);
  c.settle();
  CHECK(c.are_met());
  CHECK(c.of(b, 10).latency.count == 1);
  CHECK(c.of(b, 10).latency.max == 0);
  CHECK(c.of_all(10).latency.count == 1);
  // A job was evicted, but there is more to claim.
  c.note_reclaim(b);
  c.look(20, b, true);
  c.settle();
  c.note_reclaim(b);
  c.look(27, b, false);
  c.settle();
  CHECK(c.of(b, 27).latency.count == 2);
  CHECK(c.of(b, 27).latency.max == 7);
}

TEST_CASE("reclaim_times: a window counts its violations and the claims that arise in it") {
  reclaim_times c{{100, 200}, 10};
  c.look(50, a, true);
  c.look(120, a, false);
  CHECK(c.of(a, 300).violated == 20);
  CHECK(c.of(a, 300).latency.count == 0);
  c.look(185, a, true);
  CHECK(c.of(a, 300).violated == 25);
  c.look(400, a, false);
  CHECK(c.of(a, 400).violated == 25);
  CHECK(c.of(a, 400).latency.max == 215);
  c.look(500, a, true);
  CHECK(c.of_all(600).violated == 25);
  CHECK(c.of_all(600).open == 1);
}

TEST_CASE("reclaim_times: room for a request in the own pool") {
  auto specs = siblings({4, 4});
  allot::ledger<1> l{allot::build_quota_tree(specs).value()};
  const auto has_room = [&](std::int64_t n) {
    return allot::lab::guarantee_has_room(l, a, allot::resources<1>{gpus(n)});
  };
  l.charge(a, allot::resources<1>{gpus(3)});
  CHECK(has_room(0));
  CHECK(has_room(1));
  CHECK_FALSE(has_room(2));
  l.charge(a, allot::resources<1>{gpus(2)});
  CHECK(has_room(0));
  CHECK_FALSE(has_room(1));
}

TEST_CASE(
    "reclaim_times: a lender is whole at once where borrowers are evicted, and waits where they are not") {
  // b borrows all of a's 4 GPUs for 100 s; a wants 2 of them back at 30, and 4 at 60.
  const std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 2, 30, 10), job_of(a, 4, 60, 10)};
  allot::lab::metrics<1> reclaiming;
  const auto first = run<allot::standard>(world<allot::standard>(siblings({4, 4}), jobs), reclaiming);
  const auto met = reclaiming.figures(first);
  CHECK(met.reclaims.violated == 0);
  CHECK(met.reclaims.latency.count == 2);
  CHECK(met.reclaims.latency.max == 0);
  CHECK(met.quotas[a.index()].reclaims.latency.count == 2);
  CHECK(met.quotas[b.index()].reclaims.latency.count == 0);

  // In a single queue a waits until b's job has ended, then runs.
  allot::lab::metrics<1> waiting{{.grace = 20 * second}};
  auto s = world<allot::fifo>(siblings({4, 4}), jobs);
  s.where = nodes(1, 8);
  const auto second_run = run<allot::fifo>(std::move(s), waiting);
  const auto f = waiting.figures(second_run);
  CHECK(f.reclaims.violated == 50 * second);
  CHECK(f.reclaims.latency.count == 1);
  CHECK(f.reclaims.latency.max == 70 * second);
  CHECK(f.quotas[a.index()].reclaims.violated == 50 * second);
  CHECK(f.reclaims.open == 0);
}

TEST_CASE("reclaim_times: a job beyond the guarantee makes no claim") {
  // a's job of 6 GPUs would borrow itself.
  const std::vector<job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 6, 30, 10)};
  allot::lab::metrics<1> m;
  auto s = world<allot::fifo>(siblings({4, 4}), jobs);
  s.where = nodes(1, 8);
  const auto sim = run<allot::fifo>(std::move(s), m);
  CHECK(m.figures(sim).reclaims.latency.count == 0);
  CHECK(m.figures(sim).reclaims.violated == 0);
}
