// SPDX-License-Identifier: BSL-1.0
// What other systems got wrong and `standard` must not: the traps of tests/README.md,
// section 5, that are about a whole scheduler. (Those about a part stand with its tests.)
#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/law_host.hpp"

using allot::gpus;
using allot::job_state;
using allot::pending_reason;
using host = allot_test::host<allot::no_placement, allot::standard::policies_type>;

namespace {

/// Quotas of so many GPUs below a root that has none of its own.
struct quota {
  const char* name;
  std::int64_t gpus;
};
host siblings(const std::vector<quota>& all) {
  std::vector<allot::quota_spec<1>> specs{{.name = "all"}};
  for (const quota& q : all) {
    specs.push_back({.name = q.name, .parent = "all", .nominal = gpus(q.gpus)});
  }
  return host{std::move(specs)};
}

bool is_told_to_go(host& h, const std::string& name) {
  return h.state(name) == job_state::evicting;
}

}  // namespace

TEST_CASE("traps: Kueue 1: the nominal of a removed quota no longer counts") {
  host h = siblings({{"a", 4}, {"b", 4}});
  h.submit("a1", "a", 4);
  CHECK(h.settle() == "+a1");
  const std::vector<allot::quota_change<1>> removal{allot::remove_quota{h.quota("b")}};
  REQUIRE(h.scheduler().apply(removal));
  h.submit("a2", "a", 1);
  CHECK(h.settle().empty());
  CHECK(h.why("a2").binding == allot::shortfall{h.quota("all"), 0, allot::bound::capacity, gpus(1)});
}

TEST_CASE("traps: Kueue 2: a quota that shrinks while it lends admits no job, and the rest is exact") {
  host h = siblings({{"a", 2}, {"b", 4}});
  h.submit("a1", "a", 2);
  h.submit("a2", "a", 3);
  CHECK(h.settle() == "+a1 +a2");
  const std::vector<allot::quota_change<1>> less{allot::resize_quota<1>{h.quota("b"), gpus(0)}};
  const auto over = h.scheduler().apply(less);
  REQUIRE(over);
  CHECK(over.value() == std::vector<allot::quota_id>{h.quota("all")});
  h.submit("a3", "a", 1);
  h.submit("b1", "b", 1);
  CHECK(h.settle().empty());
  CHECK(h.why("b1").binding->missing == gpus(4));
  h.finished("a2");
  CHECK(h.settle().empty());
  h.finished("a1");
  CHECK(h.settle() == "+a3 +b1");
}

TEST_CASE("traps: Kueue 9 and 24: two beneficiaries of the same victims get one each") {
  host h = siblings({{"a", 4}, {"b", 4}, {"c", 0}});
  h.submit("c1", "c", 4);
  h.submit("c2", "c", 4);
  CHECK(h.settle() == "+c1 +c2");
  h.submit("a1", "a", 4);
  h.submit("b1", "b", 4);
  CHECK(h.step() == "-c2>a1 -c1>b1 ~a1 ~b1");
  h.evicted("c1");
  h.evicted("c2");
  CHECK(h.settle() == "+a1 +b1");
  CHECK(h.used("c") == 0);
}

TEST_CASE("traps: Kueue 24: a large job keeps its victims' capacity from smaller ones") {
  host h = siblings({{"hero", 8}, {"a", 2}, {"c", 0}});
  for (const char* name : {"c1", "c2", "c3", "c4", "c5"}) h.submit(name, "c", 2);
  h.settle();
  CHECK(h.used("c") == 10);
  h.submit("a1", "a", 2);
  h.submit("h1", "hero", 8);
  h.step();
  CHECK(h.state("a1") == job_state::nominated);
  CHECK(h.state("h1") == job_state::nominated);
  h.settle();
  for (const char* name : {"c1", "c2", "c3", "c4", "c5"}) {
    if (is_told_to_go(h, name)) h.evicted(name);
  }
  h.settle();
  CHECK(h.used("hero") == 8);
  CHECK(h.used("a") == 2);
}

TEST_CASE("traps: Kueue 13: jobs that started at the same instant cost no extra victims") {
  host h = siblings({{"a", 2}, {"b", 0}});
  h.submit("b1", "b", 1);
  h.submit("b2", "b", 1);
  CHECK(h.step() == "+b1 +b2");
  h.submit("a1", "a", 1);
  CHECK(h.step() == "-b2>a1 ~a1");
}

TEST_CASE("traps: Kueue 14: the only borrower is a cousin") {
  host h{{{.name = "all"},
          {.name = "left", .parent = "all"},
          {.name = "right", .parent = "all"},
          {.name = "a", .parent = "left", .nominal = gpus(4)},
          {.name = "b", .parent = "right"}}};
  h.submit("b1", "b", 4);
  CHECK(h.settle() == "+b1");
  h.submit("a1", "a", 2);
  CHECK(h.step() == "-b1>a1 ~a1");
}

TEST_CASE("traps: Kueue 20: a head without victims blocks no owner") {
  host h = siblings({{"a", 4}, {"b", 4}, {"c", 4}});
  h.submit("c1", "c", 4);
  h.submit("c2", "c", 4);
  h.submit("a1", "a", 4);
  CHECK(h.settle() == "+c1 +a1 +c2");
  h.submit("a2", "a", 8);
  h.submit("b1", "b", 4);
  CHECK(h.settle() == "-c2>b1 ~b1 +b1");
  CHECK(h.why("a2").reason == pending_reason::quota);
  // Nor from a quota that may borrow.
  h.finished("c1");
  CHECK(h.settle() == "+c2");
}

TEST_CASE("traps: Kueue 21: while victims leave, no job of the same queue overtakes") {
  for (const auto head : {allot::queue_head::best_effort, allot::queue_head::strict}) {
    host h{{{.name = "q", .nominal = gpus(4)}}};
    allot::queue_settings settings = allot::standard{}.defaults();
    settings.head = head;
    h.configure("q", settings);
    h.submit("low", "q", 4);
    CHECK(h.settle() == "+low");
    h.submit("high", "q", 3, {.priority = 2});
    CHECK(h.step() == "-low>high ~high");
    h.submit("late", "q", 2, {.priority = 1});
    CHECK(h.step().empty());
    h.evicted("low");
    CHECK(h.step() == "+high");
    CHECK(h.settle().empty());
    CHECK(h.state("late") == job_state::pending);
    h.finished("high");
    CHECK(h.settle() == "+late");
  }
}

TEST_CASE("traps: Kueue 22: the first evicted victim is not admitted again before the last has left") {
  host h = siblings({{"a", 4}, {"b", 0}});
  h.submit("b1", "b", 2);
  h.submit("b2", "b", 2);
  CHECK(h.settle() == "+b1 +b2");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b2>a1 -b1>a1 ~a1");
  h.evicted("b2");
  for (int round = 0; round < 5; ++round) CHECK(h.step().empty());
  CHECK(h.state("b2") == job_state::pending);
  h.evicted("b1");
  CHECK(h.step() == "+a1");
  for (int round = 0; round < 5; ++round) CHECK(h.step().empty());
}

TEST_CASE("traps: Kueue 23: a victim is evicted once, and its beneficiary starts however it ends") {
  enum class end { gone, finished, cancelled };
  for (const end how : {end::gone, end::finished, end::cancelled}) {
    host h = siblings({{"a", 4}, {"b", 0}});
    h.submit("b1", "b", 4);
    CHECK(h.settle() == "+b1");
    h.submit("a1", "a", 4);
    CHECK(h.step() == "-b1>a1 ~a1");
    for (int round = 0; round < 5; ++round) CHECK(h.step().empty());
    h.scheduler().retry();
    CHECK(h.step().empty());
    if (how == end::gone) h.evicted("b1");
    if (how == end::finished) h.finished("b1");
    if (how == end::cancelled) h.cancel("b1");
    CHECK(h.step() == "+a1");
  }
}

TEST_CASE("traps: KAI 15: a job of an unknown quota is refused") {
  host h = siblings({{"a", 4}});
  const auto* lost = h.job("lost", "nowhere", 1, {});
  CHECK(h.scheduler().refuses(lost) == allot::refusal::unknown_quota);
  CHECK_FALSE(h.scheduler().submit(lost));
  const auto orphan = allot::build_quota_tree<1>({{.name = "orphan", .parent = "nowhere"}});
  REQUIRE_FALSE(orphan);
  CHECK(orphan.problems().front().code == allot::problem_code::unknown_parent);
}

TEST_CASE("traps: KAI 15: nothing is taken from another tree") {
  host h{{{.name = "a", .nominal = gpus(2)}, {.name = "b", .nominal = gpus(2)}}};
  h.submit("b1", "b", 2);
  CHECK(h.settle() == "+b1");
  h.submit("a1", "a", 2);
  h.submit("a2", "a", 1, {.priority = 1});
  CHECK(h.settle() == "+a2");
  CHECK(h.why("a1").binding == allot::shortfall{h.quota("a"), 0, allot::bound::capacity, gpus(1)});
}

TEST_CASE(
    "traps: KAI 18: a job that asks for too much does not keep another from its own, and none strikes back") {
  host h = siblings({{"a", 4}, {"b", 4}, {"c", 4}});
  h.submit("b1", "b", 4);
  h.submit("b2", "b", 4);
  h.submit("c1", "c", 4);
  CHECK(h.settle() == "+b1 +c1 +b2");
  h.submit("c2", "c", 12, {.priority = 5});
  CHECK(h.settle().empty());
  h.submit("a1", "a", 4);
  CHECK(h.settle() == "-b2>a1 ~a1 +a1");
  for (int round = 0; round < 5; ++round) {
    h.scheduler().retry();
    CHECK(h.step().empty());
  }
}

TEST_CASE("traps: Kueue 34 and KAI 28: equal jobs are ordered by id, whatever the order of the calls") {
  allot_test::scenario s;
  s.quotas.resize(2);
  s.quotas[0].own[0] = 3000;
  s.quotas[1] = {.number = 1, .parent = 0};
  for (std::size_t i = 0; i < 5; ++i) s.jobs.push_back({.number = i, .quota = i % 2, .request = {1000}});
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  std::string first;
  do {
    allot_test::law_host<allot::standard, 1> h{s, allot_test::all_laws};
    for (const std::size_t i : order) {
      h.act({.what = allot_test::event_kind::arrive, .which = i});
    }
    h.settle();
    if (first.empty()) first = h.diary();
    CHECK(h.diary() == first);
    CHECK(first.rfind("1: +0 +2 +4 ?1", 0) == 0);
  } while (std::next_permutation(order.begin(), order.end()));
}
