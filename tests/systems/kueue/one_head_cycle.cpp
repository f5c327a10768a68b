// SPDX-License-Identifier: BSL-1.0

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/kueue_world.hpp"

// Kueue's own tables (TestSchedule and its neighbours in pkg/scheduler) as scenarios: what one cycle decides
// for all pending workloads.

namespace {

using allot_test::kueue_amounts;
using allot_test::kueue_may;
using allot_test::kueue_queue;
using allot_test::kueue_workload;

struct cycle_case {
  std::string name;
  std::vector<kueue_queue> queues;
  std::vector<kueue_workload> running;
  std::vector<kueue_workload> waiting;
  std::string decides;
};

template <class Preset>
void check(const std::vector<cycle_case>& cases) {
  for (const cycle_case& c : cases) {
    CAPTURE(c.name);
    allot_test::kueue_world<Preset> world{c.queues};
    for (const kueue_workload& w : c.running) world.runs(w);
    for (const kueue_workload& w : c.waiting) world.waits(w);
    CHECK(world.step() == c.decides);
  }
}

constexpr auto never = allot::preempt_within::never;
constexpr auto lower = allot::preempt_within::lower_priority;
constexpr auto no_reclaim = allot::preempt_reclaim::never;
constexpr auto reclaim_lower = allot::preempt_reclaim::lower_priority;
constexpr auto reclaim_any = allot::preempt_reclaim::any;
constexpr auto strict = allot::queue_head::strict;

/// On demand, spot, GPUs, and a flavor of its own.
std::vector<kueue_queue> company(const std::vector<kueue_queue>& more = {}) {
  std::vector<kueue_queue> all{
      {.name = "sales", .nominal = {0, 0, 0, 50}, .head = strict},
      {.name = "eng"},
      {.name = "eng-alpha", .cohort = "eng", .nominal = {50, 100}, .borrow = {{50, 0}}, .head = strict},
      {.name = "eng-beta",
       .cohort = "eng",
       .nominal = {50, 0, 20},
       .borrow = {{10, 100, 0}},
       .preempt = kueue_may(lower, reclaim_any),
       .head = strict},
      {.name = "lend"},
      {.name = "lend-a", .cohort = "lend", .nominal = {3}, .lend = {{2}}},
      {.name = "lend-b", .cohort = "lend", .nominal = {2}, .lend = {{2}}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
/// A workload that takes the first or the second dimension.
kueue_workload either(const std::string& name, const std::string& queue, std::int64_t n,
                      std::int64_t priority = 0, allot::instant at = 0) {
  return {name, queue, {}, priority, at, {{{n}, {0, n}}}};
}

}  // namespace

TEST_CASE("one_head_cycle: admissions of one cycle, as Kueue") {
  const auto cqs = [](const std::string& cohort) {
    std::vector<kueue_queue> all{{.name = cohort}};
    for (const char* name : {"cq1", "cq2", "cq3"}) {
      all.push_back({.name = name,
                     .cohort = cohort,
                     .nominal = {10, 10},
                     .borrow = {{10, 10}},
                     .preempt = kueue_may(lower, reclaim_any)});
    }
    return all;
  };
  check<allot::kueue>({
      {"the queue is full",
       company(),
       {{"old", "sales", {0, 0, 0, 40}}},
       {{"new", "sales", {0, 0, 0, 11}}},
       ""},
      {"more than it has", company(), {}, {{"new", "sales", {0, 0, 0, 100}}}, ""},
      {"in two cohorts, without loan first",
       company(),
       {},
       {either("alpha", "eng-alpha", 51), {"sales", "sales", {0, 0, 0, 1}}},
       "+sales +alpha/0"},
      {"without borrowing",
       company(),
       {},
       {either("alpha", "eng-alpha", 40), either("beta", "eng-beta", 40)},
       "+alpha/0 +beta/0"},
      {"several resources and flavors, the second pods after the first",
       company(),
       {},
       {{"new", "eng-beta", {0, 0, 10}, 0, 0, {{{60}, {0, 60}}, {{40}, {0, 40}}}}},
       "+new/0/1"},
      {"two that fit alone and not together (#822)",
       company(),
       {},
       {either("alpha", "eng-alpha", 45), either("beta", "eng-beta", 56)},
       "+alpha/0"},
      {"two that fit together",
       company(),
       {},
       {either("alpha", "eng-alpha", 45), either("beta", "eng-beta", 55)},
       "+alpha/0 +beta/0"},
      {"who can't be helped keeps one flavor, another borrows the other",
       company(),
       {{"od", "eng-beta", {50}}, {"spot", "eng-beta", {0, 1}}},
       {either("can-reclaim", "eng-alpha", 100), either("needs-loan", "eng-beta", 1)},
       "+needs-loan/0"},
      {"more than is lent", company(), {{"a", "lend-b", {2}}}, {{"b", "lend-b", {3}}}, ""},
      {"the next flavor, where the first is lent out",
       company(),
       {{"old", "eng-beta", {45}}},
       {either("new", "eng-alpha", 60)},
       "+new/1"},
      {"never more than there is",
       company({{.name = "eng-gamma",
                 .cohort = "eng",
                 .nominal = {50, 0},
                 .borrow = {{10, 100}},
                 .preempt = kueue_may(lower, reclaim_any)}}),
       {{"old", "eng-gamma", {51, 100}}},
       {either("beta", "eng-beta", 50, 0, 1), either("alpha", "eng-alpha", 1, 0, 2),
        either("gamma", "eng-gamma", 50, 0, 3)},
       "+beta/0 +alpha/0"},
      {"different resources of one flavor",
       cqs("co"),
       {},
       {{"wl1", "cq1", {16}, -1}, {"wl2", "cq2", {0, 16}, -2}},
       "+wl1 +wl2"},
      {"the same resource, if there is enough",
       cqs("co"),
       {},
       {{"wl1", "cq1", {16}, -1}, {"wl2", "cq2", {14}, -2}},
       "+wl1 +wl2"},
      {"the same resource, if there is not",
       cqs("co"),
       {},
       {{"wl1", "cq1", {16}, -1}, {"wl2", "cq2", {16}, -2}},
       "+wl1"},
      {"who can't be helped keeps only what it may borrow (#4813)",
       {{.name = "pool"},
        {.name = "shared", .cohort = "pool", .nominal = {4}, .borrow = {{0}}},
        {.name = "cq_a",
         .cohort = "pool",
         .borrow = {{3}},
         .preempt = kueue_may(never, reclaim_lower, allot::preempt_borrow::lower_priority)},
        {.name = "cq_b",
         .cohort = "pool",
         .preempt = kueue_may(never, reclaim_lower, allot::preempt_borrow::lower_priority)}},
       {{"old_a", "cq_a", {2}}},
       {{"a", "cq_a", {3}, 0, 1}, {"b", "cq_b", {1}, 0, 2}},
       "+b"},
  });
  // A strict head stays in the queue; if it were parked, it would keep its quota no longer than the cycle.
  const auto lends = [](allot::preempt_reclaim policy, allot::queue_head head, const std::string& decides) {
    check<allot::kueue>(
        {{"what can always be taken back is lent, what can't is not (#4813)",
          {{.name = "root"},
           {.name = "A", .cohort = "root", .nominal = {2}, .preempt = kueue_may(never, policy), .head = head},
           {.name = "B", .cohort = "root"}},
          {{"old", "A", {1}}},
          {{"a", "A", {2}, 0, 1}, {"b", "B", {1}, 0, 2}},
          decides}});
  };
  lends(reclaim_any, strict, "+b");
  lends(reclaim_lower, strict, "");
  lends(no_reclaim, strict, "");
  lends(no_reclaim, allot::queue_head::best_effort, "+b");
}

TEST_CASE("one_head_cycle: evictions of one cycle, as Kueue") {
  const auto pair = [](std::int64_t alpha, std::int64_t beta, const allot::preempt_settings& p,
                       std::int64_t bank = 0) {
    return std::vector<kueue_queue>{{.name = "other"},
                                    {.name = "alpha", .cohort = "other", .nominal = {alpha}, .preempt = p},
                                    {.name = "beta", .cohort = "other", .nominal = {beta}, .preempt = p},
                                    {.name = "bank", .cohort = "other", .nominal = {bank}}};
  };
  const auto two = [](std::int64_t a, std::int64_t b) {
    return std::vector<kueue_queue>{
        {.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {a, a}, .preempt = kueue_may(lower, reclaim_lower)},
        {.name = "beta", .cohort = "other", .nominal = {b, b}}};
  };
  check<allot::kueue>({
      {"of the own queue and of a borrower",
       company(),
       {{"spot", "eng-alpha", {0, 100}},
        {"low-1", "eng-beta", {30}, -1},
        {"low-2", "eng-beta", {10}, -2},
        {"borrower", "eng-alpha", {60}}},
       {either("in", "eng-beta", 20)},
       "-borrower:reclaim>in -low-2:priority>in"},
      {"one needs preemption and another can't be helped",
       {{.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {50}, .borrow = {{50}}},
        {.name = "beta",
         .cohort = "other",
         .nominal = {50},
         .borrow = {{10}},
         .preempt = kueue_may(lower, reclaim_any)}},
       {{"all", "alpha", {100}}},
       {{"in", "beta", {1}, -1}, {"pending", "alpha", {1}, 1}},
       "-all:reclaim>in"},
      {"only as many as needed",
       {{.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {2}, .preempt = kueue_may(lower, reclaim_any)},
        {.name = "beta", .cohort = "other", .nominal = {2}},
        {.name = "gamma", .cohort = "other", .nominal = {2}}},
       {{"a1", "alpha", {1}, -2},
        {"a2", "alpha", {1}, -2},
        {"a3", "alpha", {1}, -1},
        {"b1", "beta", {1}},
        {"b2", "beta", {1}},
        {"b3", "beta", {1}}},
       {{"in", "alpha", {2}}},
       "-a1:priority>in -a2:priority>in"},
      {"nobody for more than the own nominal",
       pair(2, 2, kueue_may(lower, reclaim_any)),
       {{"a1", "alpha", {1}, -1}, {"b1", "beta", {1}, -1}},
       {{"in", "alpha", {3}, 1}},
       ""},
      {"two queues at once",
       pair(2, 2, kueue_may(lower, no_reclaim)),
       {{"a1", "alpha", {2}}, {"b1", "beta", {2}}},
       {{"pa", "alpha", {2}, 100}, {"pb", "beta", {2}, 100}},
       "-a1:priority>pa -b1:priority>pb"},
      {"after one that fits",
       pair(1, 2, kueue_may(lower, no_reclaim)),
       {{"b1", "beta", {2}}},
       {{"fit", "alpha", {1}, 100}, {"in", "beta", {2}, 99}},
       "-b1:priority>in +fit"},
      {"not in vain, where both need what only one can have",
       pair(2, 2, kueue_may(lower, no_reclaim, allot::preempt_borrow::lower_priority), 1),
       {{"a1", "alpha", {2}}, {"b1", "beta", {2}}},
       {{"pa", "alpha", {3}, 100}, {"pb", "beta", {3}, 99}},
       "-a1:priority>pa"},
      {"rather reclaim in the second flavor (#2811)",
       two(10, 0),
       {{"a1", "alpha", {5}, 50}, {"b1", "beta", {0, 5}, 50}},
       {either("in", "alpha", 6, 100)},
       "-b1:reclaim>in"},
      {"not reclaim and the own queue in the second flavor",
       two(10, 0),
       {{"a1", "alpha", {5}, 50}, {"a2", "alpha", {0, 5}, 50}, {"b1", "beta", {0, 5}, 50}},
       {either("in", "alpha", 6, 100)},
       "-a1:priority>in"},
      {"the first flavor, if the second is no better",
       two(10, 0),
       {{"a1", "alpha", {6}, 50}, {"a2", "alpha", {0, 5}, 50}, {"b1", "beta", {0, 5}, 9001}},
       {either("in", "alpha", 5, 100)},
       "-a1:priority>in"},
      {"the second flavor, if the first has nobody to evict",
       {{.name = "alpha",
         .nominal = {50, 100},
         .preempt = kueue_may(lower, no_reclaim),
         .choice = {allot::flavor_step::stay, allot::flavor_step::stay}}},
       {{"old", "alpha", {50}}},
       {either("in", "alpha", 20)},
       "+in/1"},
      {"who takes back its own before an older one that can't have it (#3405)",
       {{.name = "other"},
        {.name = "CQ1", .cohort = "other", .nominal = {10}},
        {.name = "CQ2", .cohort = "other", .nominal = {10}, .preempt = kueue_may(never, reclaim_any)},
        {.name = "CQ3", .cohort = "other"}},
       {{"w1", "CQ1", {5}}, {"w2", "CQ3", {5}}, {"w3", "CQ3", {5}, 1}},
       {{"WL1", "CQ1", {10}, 0, 1}, {"WL2", "CQ2", {10}, 0, 2}},
       "-w2:reclaim>WL2"},
  });
}

TEST_CASE("one_head_cycle: with fair sharing, as Kueue") {
  const auto may_any = kueue_may(lower, reclaim_any);
  const std::vector<kueue_queue> two{
      {.name = "A", .nominal = {10}}, {.name = "b", .cohort = "A"}, {.name = "c", .cohort = "A"}};
  check<allot::kueue_fair>({
      {"the lowest share first",
       company({{.name = "shared", .cohort = "eng", .nominal = {10}, .borrow = {{0}}}}),
       {{"own", "eng-alpha", {50}}, {"loan", "eng-beta", {55}}},
       {either("older", "eng-beta", 1, 0, 1), either("new", "eng-alpha", 5, 0, 2)},
       "+new/0"},
      {"who wins the tournament",
       {{.name = "A", .nominal = {200}},
        {.name = "B", .cohort = "A"},
        {.name = "C", .cohort = "A"},
        {.name = "d", .cohort = "B"},
        {.name = "e", .cohort = "B"},
        {.name = "f", .cohort = "C"},
        {.name = "g", .cohort = "C"}},
       {{"d0", "d", {10}}, {"e0", "e", {20}}, {"g0", "g", {100}}},
       {{"d1", "d", {70}}, {"e1", "e", {61}}, {"f1", "f", {1}}, {"g1", "g", {1}}},
       "+d1"},
      {"the lowest share with the workload",
       {{.name = "A", .nominal = {100}}, {.name = "b", .cohort = "A"}, {.name = "c", .cohort = "A"}},
       {{"b0", "b", {10}}},
       {{"b1", "b", {50}}, {"c1", "c", {75}}},
       "+b1"},
      {"alone in a cohort, and without one",
       {{.name = "A", .nominal = {10}},
        {.name = "B"},
        {.name = "a", .cohort = "A"},
        {.name = "b", .cohort = "B", .nominal = {10}},
        {.name = "c", .nominal = {10}}},
       {},
       {{"a1", "a", {10}}, {"b1", "b", {10}}, {"c1", "c", {10}}},
       "+a1 +b1 +c1"},
      {"then the higher priority", two, {}, {{"b1", "b", {10}, 99}, {"c1", "c", {10}, 101}}, "+c1"},
      {"then the earlier", two, {}, {{"b1", "b", {10}, 101, 2}, {"c1", "c", {10}, 101, 1}}, "+c1"},
      {"evicts from the highest share",
       company({{.name = "gamma", .cohort = "eng", .nominal = {50}, .borrow = {{0}}}}),
       {{"spot", "eng-alpha", {0, 100}},
        {"alpha1", "eng-alpha", {20}},
        {"alpha2", "eng-alpha", {20}},
        {"alpha3", "eng-alpha", {20}},
        {"alpha4", "eng-alpha", {20}},
        {"gamma1", "gamma", {10}},
        {"gamma2", "gamma", {20}},
        {"gamma3", "gamma", {20}},
        {"gamma4", "gamma", {20}}},
       {either("in", "eng-beta", 30)},
       "-alpha1:reclaim>in -gamma1:reclaim>in"},
      {"several queues within themselves",
       {{.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {2}, .preempt = kueue_may(lower, reclaim_lower)},
        {.name = "beta", .cohort = "other", .nominal = {2}, .preempt = kueue_may(lower, reclaim_lower)},
        {.name = "gamma", .cohort = "other", .nominal = {2}, .preempt = kueue_may(lower, reclaim_lower)},
        {.name = "bank", .cohort = "other", .nominal = {3}}},
       {{"a1", "alpha", {3}}, {"b1", "beta", {3}}, {"c1", "gamma", {3}}},
       {{"pa", "alpha", {3}, 100}, {"pb", "beta", {3}, 100}, {"pc", "gamma", {3}, 100}},
       "-a1:priority>pa -b1:priority>pb -c1:priority>pc"},
      {"the same victim for two: the second looks for others (#13320)",
       {{.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {0, 1}, .preempt = may_any},
        {.name = "beta", .cohort = "other", .nominal = {0, 0, 1}, .preempt = may_any},
        {.name = "gamma", .cohort = "other", .nominal = {0, 0, 0, 1}, .preempt = may_any},
        {.name = "bank", .cohort = "other", .nominal = {9}}},
       {{"a1", "alpha", {0, 1}}, {"b1", "beta", {0, 0, 1}}, {"c1", "gamma", {9}}},
       {{"pa", "alpha", {3, 1}, 100}, {"pb", "beta", {3, 0, 1}, 99}},
       "-a1:priority>pa -b1:priority>pb -c1:fair_share>pa"},
      {"rather reclaim in the second flavor, borrowing",
       {{.name = "other"},
        {.name = "alpha", .cohort = "other", .nominal = {7, 7}, .preempt = kueue_may(lower, reclaim_lower)},
        {.name = "beta", .cohort = "other", .nominal = {3, 3}}},
       {{"a1", "alpha", {5}, 50}, {"b1", "beta", {0, 5}, 50}},
       {either("in", "alpha", 8, 100)},
       "-b1:fair_share>in"},
      {"more than it has", company(), {}, {{"new", "sales", {0, 0, 0, 100}}}, ""},
  });
}

TEST_CASE("one_head_cycle: two that need the same victims, as Kueue") {
  // TestScheduleRecomputePreemptionTargets.
  const auto p = kueue_may(lower, reclaim_any);
  const std::vector<kueue_queue> tree{{.name = "root", .nominal = {3005}},
                                      {.name = "A", .cohort = "root"},
                                      {.name = "B", .cohort = "root"},
                                      {.name = "C", .cohort = "root"},
                                      {.name = "hero", .cohort = "A", .nominal = {3000}, .preempt = p},
                                      {.name = "noisy", .cohort = "A", .preempt = p},
                                      {.name = "tiny", .cohort = "B", .nominal = {50}, .preempt = p},
                                      {.name = "rest", .cohort = "C", .preempt = p}};
  check<allot::kueue_fair>({
      {"it finds others",
       tree,
       {{"noisy0", "noisy", {3000}}, {"tiny0", "tiny", {60}}, {"rest0", "rest", {2995}}},
       {{"hero1", "hero", {2990}, 0, 2}, {"tiny1", "tiny", {10}, 0, 1}},
       "-noisy0:reclaim>hero1 -rest0:fair_share>tiny1"},
      {"it waits for the same",
       tree,
       {{"rest0", "rest", {6055}}},
       {{"hero1", "hero", {2950}, 0, 2}, {"tiny1", "tiny", {50}, 0, 1}, {"rest1", "rest", {4000}, 10, 3}},
       "-rest0:reclaim>tiny1"},
      {"of the flavor that it was nominated for",
       {{.name = "root"},
        {.name = "cq-1", .cohort = "root", .nominal = {5, 5}, .preempt = p},
        {.name = "cq-2", .cohort = "root", .nominal = {5, 5}, .preempt = p}},
       {{"default", "cq-1", {10}}, {"demand", "cq-1", {0, 10}}},
       {either("high-1", "cq-1", 10, 11, 1), either("high-2", "cq-2", 10, 10, 2)},
       "-default:fair_share>high-2"},
  });
  check<allot::kueue>({{"it waits for the same",
                        tree,
                        {{"rest0", "rest", {6055}}},
                        {{"hero1", "hero", {2950}, 0, 2}, {"tiny1", "tiny", {50}, 0, 1}},
                        "-rest0:reclaim>tiny1"}});
}

TEST_CASE("one_head_cycle: a step does not allocate once its buffers have grown") {
  // A workload that is evicted and admitted again and again.
  allot_test::kueue_world<allot::kueue> world{
      {{.name = "root", .nominal = {2}},
       {.name = "mid", .cohort = "root"},
       {.name = "a",
        .cohort = "mid",
        .nominal = {6},
        .preempt = kueue_may(lower, reclaim_any, allot::preempt_borrow::lower_priority)},
       {.name = "b", .cohort = "mid", .nominal = {4}}}};
  world.runs({"a1", "a", {5}, 2}).runs({"b1", "b", {4}, 0});
  world.waits({"big", "a", {3}, 2, 3}).waits({"small", "b", {1}, -1, 4});
  std::size_t allocations = 0;
  std::size_t decisions = 0;
  allot::instant now = 10;
  bool evicts = false;
  for (int round = 0; round < 40; ++round) {
    if (evicts) world.gone("small");
    std::size_t made = 0;
    const std::size_t in_step = allot_test::allocations_in([&] {
      const auto& plan = world.scheduler().step(++now);
      evicts = !plan.evictions.empty();
      made = plan.evictions.size() + plan.admissions.size();
    });
    if (round < 20) continue;
    allocations += in_step;
    decisions += made;
  }
  CHECK(allocations == 0);
  CHECK(decisions == 20);
}
