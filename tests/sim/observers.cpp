// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/observers.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/sim/small_world.hpp"
#include "tests/support/words.hpp"

using namespace allot_test;
using allot::standard;

namespace {

allot::sim::setup<1> everything_happens() {
  std::vector<allot::sim::job<1>> jobs = {job_of(b, 8, 0, 100), job_of(a, 4, 45, 20), job_of(a, 4, 50, 10),
                                          job_of(quota_id{9}, 1, 55, 1)};
  auto s = world<standard>(siblings({4, 4}), std::move(jobs));
  s.cancels = {{60 * second, 2}};
  return s;
}

}  // namespace

TEST_CASE("observers: each observer gets all events") {
  diary alone;
  const auto sim = run<standard>(everything_happens(), alone);
  diary first;
  diary second_one;
  diary third;
  allot::sim::observers<1> all{&first, &second_one, &third};
  const auto same = run<standard>(everything_happens(), all);
  // A submission, a start, an eviction, an end, a refusal and a withdrawal.
  CHECK(alone.lines.size() == 12);
  for (const diary<>* d : {&first, &second_one, &third}) {
    CHECK(d->lines == alone.lines);
    CHECK(d->settled_at == alone.settled_at);
  }
}

TEST_CASE("observers: pods that join and leave") {
  allot::sim::job<1> elastic = job_of(b, 6, 0, 100);
  elastic.pod_request = {gpus(1), 6};
  elastic.min_pods = 2;
  const std::vector<allot::sim::job<1>> jobs = {elastic, job_of(a, 3, 50, 20)};
  diary alone;
  const auto sim = run<standard>(world<standard>(siblings({4, 4}), jobs), alone);
  diary one;
  diary other;
  allot::sim::observers<1> both{&one, &other};
  const auto same = run<standard>(world<standard>(siblings({4, 4}), jobs), both);
  CHECK(std::count(alone.lines.begin(), alone.lines.end(), "50 shrink 0 to 5 for 1 (borrower)") == 1);
  CHECK(one.lines == alone.lines);
  CHECK(other.lines == alone.lines);
}

TEST_CASE("observers: in the order in which they were given") {
  std::vector<int> calls;
  each_instant<1> one{[&](const auto&) { calls.push_back(1); }};
  each_instant<1> two{[&](const auto&) { calls.push_back(2); }};
  allot::sim::observers<1> both{&two, &one};
  const auto sim = run<standard>(world<standard>(siblings({1}), {job_of(a, 1, 0, 5)}), both);
  CHECK(calls == std::vector<int>{2, 1, 2, 1});
}

TEST_CASE("observers: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::sim::job_event_kind>(8));
}
