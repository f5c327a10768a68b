// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/hierarchical_reclaim.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/kueue_world.hpp"

// What Kueue's own tables say (TestPreemption, TestHierarchicalPreemptions in pkg/scheduler/preemption), told
// as scenarios: the incoming workload is the only one that waits, and the first cycle says whom it evicts.
// Resources: cpu, memory, and memory of two flavors more.

namespace {

using allot_test::first_cycle;
using allot_test::kueue_case;
using allot_test::kueue_queue;
using allot_test::kueue_workload;

constexpr auto never = allot::preempt_within::never;
constexpr auto lower = allot::preempt_within::lower_priority;
constexpr auto newer = allot::preempt_within::lower_or_newer_equal;
constexpr auto no_reclaim = allot::preempt_reclaim::never;
constexpr auto reclaim_lower = allot::preempt_reclaim::lower_priority;
constexpr auto reclaim_any = allot::preempt_reclaim::any;

allot::preempt_settings may(allot::preempt_within within, allot::preempt_reclaim reclaim) {
  allot::preempt_settings s;
  s.within = within;
  s.reclaim = reclaim;
  return s;
}
/// Borrowers of a priority of at most 0 yield to borrowers.
allot::preempt_settings on_loan(allot::preempt_within within, allot::preempt_reclaim reclaim) {
  allot::preempt_settings s = may(within, reclaim);
  s.borrow = allot::preempt_borrow::lower_priority;
  s.borrow_max_priority = 0;
  return s;
}

std::vector<kueue_queue> flat() {
  return {
      {.name = "standalone", .nominal = {6, 0, 3, 3}, .preempt = may(lower, no_reclaim)},
      {.name = "starve", .nominal = {6}, .preempt = may(newer, no_reclaim)},
      {.name = "cohort"},
      {.name = "c1",
       .cohort = "cohort",
       .nominal = {6, 3},
       .borrow = {{6, 3}},
       .preempt = may(lower, reclaim_lower)},
      {.name = "c2",
       .cohort = "cohort",
       .nominal = {6, 3},
       .borrow = {{6, 3}},
       .preempt = may(never, reclaim_any)},
      {.name = "no-limits"},
      {.name = "d1", .cohort = "no-limits", .nominal = {6, 3}, .preempt = may(lower, reclaim_lower)},
      {.name = "d2", .cohort = "no-limits", .nominal = {6, 3}, .preempt = may(never, reclaim_any)},
      {.name = "legion"},
      {.name = "l1",
       .cohort = "legion",
       .nominal = {6, 3},
       .borrow = {{12, 6}},
       .preempt = may(lower, reclaim_lower)},
      {.name = "with-shared"},
      {.name = "a_standard",
       .cohort = "with-shared",
       .nominal = {1},
       .borrow = {{12}},
       .preempt = on_loan(never, reclaim_lower)},
      {.name = "b_standard",
       .cohort = "with-shared",
       .nominal = {1},
       .borrow = {{12}},
       .preempt = on_loan(lower, reclaim_any)},
      {.name = "a_effort",
       .cohort = "with-shared",
       .nominal = {1},
       .borrow = {{12}},
       .preempt = on_loan(never, reclaim_lower)},
      {.name = "b_effort",
       .cohort = "with-shared",
       .nominal = {0},
       .borrow = {{13}},
       .preempt = on_loan(never, reclaim_lower)},
      {.name = "shared", .cohort = "with-shared", .nominal = {10}},
      {.name = "lending"},
      {.name = "lend1",
       .cohort = "lending",
       .nominal = {6},
       .lend = {{4}},
       .preempt = may(lower, reclaim_lower)},
      {.name = "lend2",
       .cohort = "lending",
       .nominal = {6},
       .lend = {{2}},
       .preempt = may(lower, reclaim_lower)},
      {.name = "three"},
      {.name = "a", .cohort = "three", .nominal = {2, 2}, .preempt = may(lower, reclaim_any)},
      {.name = "b", .cohort = "three", .nominal = {2, 2}},
      {.name = "c", .cohort = "three", .nominal = {2, 2}},
  };
}

void check(const std::vector<kueue_case>& cases) {
  for (const kueue_case& c : cases) {
    CAPTURE(c.name);
    CHECK(first_cycle<allot::kueue>(c) == c.decides);
  }
}

}  // namespace

TEST_CASE("hierarchical_reclaim: within the own queue, as Kueue") {
  check({
      {"lowest priority",
       flat(),
       {{"low", "standalone", {2}, -1}, {"mid", "standalone", {2}}, {"high", "standalone", {2}, 1}},
       {"in", "standalone", {2}, 1},
       "-low:priority>in"},
      {"several",
       flat(),
       {{"low", "standalone", {2}, -1}, {"mid", "standalone", {2}}, {"high", "standalone", {2}, 1}},
       {"in", "standalone", {3}, 1},
       "-low:priority>in -mid:priority>in"},
      {"nobody for the lowest",
       flat(),
       {{"low", "standalone", {3}, -1}, {"mid", "standalone", {3}}},
       {"in", "standalone", {1}, -1},
       ""},
      {"not enough of lower priority",
       flat(),
       {{"low", "standalone", {3}, -1}, {"mid", "standalone", {3}}},
       {"in", "standalone", {4}},
       ""},
      {"some is free",
       flat(),
       {{"low", "standalone", {1}, -1}, {"mid", "standalone", {1}}, {"high", "standalone", {3}, 1}},
       {"in", "standalone", {2}, 1},
       "-low:priority>in"},
      {"the lowest turns out unnecessary",
       flat(),
       {{"low", "standalone", {1}, -1}, {"mid", "standalone", {2}}, {"high", "standalone", {3}, 1}},
       {"in", "standalone", {2}, 1},
       "-mid:priority>in"},
      {"only who uses the flavor",
       flat(),
       {{"low", "standalone", {0, 0, 2}, -1},
        {"mid", "standalone", {0, 0, 0, 1}},
        {"high", "standalone", {0, 0, 0, 1}, 1}},
       {"in", "standalone", {1, 0, 0, 2}, 1},
       "-mid:priority>in"},
      {"two flavors at once",
       flat(),
       {{"low-alpha", "standalone", {0, 0, 2}, -1}, {"low-beta", "standalone", {0, 0, 0, 2}, -1}},
       {"in", "standalone", {0, 0, 2, 2}},
       "-low-alpha:priority>in -low-beta:priority>in"},
      {"nobody where nobody yields",
       flat(),
       {{"c2-low", "c2", {3}, -1}, {"c1-high", "c1", {6}, 1}},
       {"in", "c2", {4}, 1},
       ""},
      {"within an empty cohort",
       flat(),
       {{"l1-med", "l1", {4}}, {"l1-low", "l1", {2}, -1}},
       {"in", "l1", {4}, 1},
       "-l1-med:priority>in"},
  });
  // Newer ones of the same priority, the one that was admitted last first.
  allot_test::kueue_world<allot::kueue> w{flat()};
  w.runs({"wl1", "starve", {2}, 2, 100})
      .runs({"wl2", "starve", {2}, 1, 101})
      .runs({"wl3", "starve", {2}, 1, 100});
  w.waits({"in", "starve", {2}, 1, 85});
  CHECK(w.step() == "-wl2:priority>in");
}

TEST_CASE("hierarchical_reclaim: in a flat cohort, as Kueue") {
  check({
      {"from the borrower",
       flat(),
       {{"c1-low", "c1", {3}, -1}, {"c2-mid", "c2", {3}}, {"c2-high", "c2", {6}, 1}},
       {"in", "c1", {3}, 1},
       "-c2-mid:reclaim>in"},
      {"another resource is used up, but not asked for",
       flat(),
       {{"c1-low", "c1", {3, 3}, -1}, {"c2-mid", "c2", {3}}, {"c2-high", "c2", {6}, 1}},
       {"in", "c1", {3, 0}, 1},
       "-c2-mid:reclaim>in"},
      {"nobody borrows",
       flat(),
       {{"c1-high", "c1", {4}, 1}, {"c2-low-1", "c2", {4}, -1}, {"other", "c2", {2}, 1}},
       {"in", "c1", {4}, 1},
       ""},
      {"borrowers are not enough",
       flat(),
       {{"c1-high", "c1", {4}, 1}, {"c2-low-1", "c2", {4}, -1}, {"c2-low-2", "c2", {4}, -1}},
       {"in", "c1", {4}, 1},
       ""},
      {"own, while borrowing something else",
       flat(),
       {{"c1-low", "c1", {4}, -1}, {"c2-low-1", "c2", {4}, -1}, {"c2-high-2", "c2", {4}, 1}},
       {"in", "c1", {4, 5}, 1},
       "-c1-low:priority>in"},
      {"own, while borrowing the same",
       flat(),
       {{"c1-med", "c1", {4}}, {"c1-low", "c1", {4}, -1}, {"c2-low-1", "c2", {4}, -1}},
       {"in", "c1", {4}, 1},
       "-c1-low:priority>in"},
      {"the same without borrow limits (#1561)",
       flat(),
       {{"d1-med", "d1", {4}}, {"d1-low", "d1", {4}, -1}, {"d2-low-1", "d2", {4}, -1}},
       {"in", "d1", {4}, 1},
       "-d1-low:priority>in"},
      {"own, while borrowing something else, though others borrow",
       flat(),
       {{"c1-med", "c1", {4}},
        {"c2-low-1", "c2", {5}, -1},
        {"c2-low-2", "c2", {1}, -1},
        {"c2-low-3", "c2", {1}, -1}},
       {"in", "c1", {2, 5}, 1},
       "-c1-med:priority>in"},
      {"not from the same priority",
       flat(),
       {{"c1", "c1", {2}}, {"c2-1", "c2", {4}}, {"c2-2", "c2", {4}}},
       {"in", "c1", {4}},
       ""},
      {"from any priority",
       flat(),
       {{"c1-1", "c1", {4}}, {"c1-2", "c1", {4}, 1}, {"c2", "c2", {2}}},
       {"in", "c2", {4}},
       "-c1-1:reclaim>in"},
      {"from both",
       flat(),
       {{"c1-low", "c1", {3}, -1}, {"c1-mid", "c1", {2}}, {"c2-low", "c2", {3}, -1}, {"c2-mid", "c2", {4}}},
       {"in", "c1", {4}},
       "-c1-low:priority>in -c2-low:reclaim>in"},
      {"what a lender keeps counts",
       flat(),
       {{"lend1-low", "lend1", {3}, -1}, {"lend2-mid", "lend2", {3}}, {"lend2-high", "lend2", {4}, 1}},
       {"in", "lend1", {3}, 1},
       "-lend2-mid:reclaim>in"},
      {"from both, lending",
       flat(),
       {{"lend1-low", "lend1", {3}, -1},
        {"lend1-mid", "lend1", {2}},
        {"lend2-low", "lend2", {3}, -1},
        {"lend2-mid", "lend2", {4}}},
       {"in", "lend1", {4}},
       "-lend1-low:priority>in -lend2-low:reclaim>in"},
      {"more than the others lend", flat(), {{"lend2-low", "lend2", {8}, -1}}, {"in", "lend1", {9}}, ""},
      {"the own quota is used up",
       flat(),
       {{"a1", "a", {1}, -2},
        {"a2", "a", {1}, -2},
        {"a3", "a", {1}, -1},
        {"b1", "b", {1}},
        {"b2", "b", {1}},
        {"b3", "b", {1}}},
       {"in", "a", {2}},
       "-a1:priority>in -a2:priority>in"},
      {"in two resources",
       flat(),
       {{"a1", "a", {1, 1}, -2},
        {"a2", "a", {1, 1}, -2},
        {"a3", "a", {1, 1}, -1},
        {"b1", "b", {1, 1}},
        {"b2", "b", {1, 1}},
        {"b3", "b", {1, 1}}},
       {"in", "a", {2, 2}},
       "-a1:priority>in -a2:priority>in"},
      {"in one resource of two",
       flat(),
       {{"a1", "a", {1}, -2},
        {"a2", "a", {1}, -2},
        {"a3", "a", {1}, -1},
        {"b1", "b", {1}},
        {"b2", "b", {1}},
        {"b3", "b", {1}}},
       {"in", "a", {2, 2}},
       "-a1:priority>in -a2:priority>in"},
      {"the own quota is not used up",
       flat(),
       {{"a1", "a", {1}, -1},
        {"b1", "b", {1}},
        {"b2", "b", {1}},
        {"b3", "b", {1}},
        {"b4", "b", {1}},
        {"b5", "b", {1}, -1}},
       {"in", "a", {2}},
       "-a1:priority>in -b5:reclaim>in"},
  });
}

TEST_CASE("hierarchical_reclaim: borrowWithinCohort, as Kueue") {
  check({
      {"a lower priority of others, while borrowing",
       flat(),
       {{"a_low", "a_effort", {10}, -1}, {"b_low", "b_effort", {1}, -1}},
       {"in", "a_standard", {10}},
       "-a_low:reclaim_while_borrowing>in"},
      {"not above the threshold, while borrowing",
       flat(),
       {{"b", "b_standard", {10}, 1}},
       {"in", "a_standard", {10}, 2},
       ""},
      {"above the threshold, if nothing is borrowed then",
       flat(),
       {{"b", "b_standard", {13}, 1}},
       {"in", "a_standard", {1}, 2},
       "-b:reclaim>in"},
      {"not of the own queue", flat(), {{"a", "a_standard", {13}, 1}}, {"in", "a_standard", {1}, 2}, ""},
      {"the own queue only, where nobody else is below the threshold",
       flat(),
       {{"a_1", "a_standard", {10}, 1},
        {"a_2", "a_standard", {1}, 1},
        {"b_1", "b_standard", {1}, 1},
        {"b_2", "b_standard", {1}, 2}},
       {"in", "b_standard", {1}, 3},
       "-b_1:priority>in"},
      {"the own queue and others below the threshold",
       flat(),
       {{"b_high", "b_standard", {10}, 2},
        {"b_mid", "b_standard", {1}, 1},
        {"a_low", "a_effort", {1}, -1},
        {"a_lower", "a_effort", {1}, -2}},
       {"in", "b_standard", {2}, 2},
       "-a_lower:reclaim_while_borrowing>in -b_mid:priority>in"},
  });
}

TEST_CASE("hierarchical_reclaim: through a hierarchy of cohorts, as Kueue") {
  const auto both = may(lower, reclaim_any);
  const auto loan = on_loan(lower, reclaim_any);
  const kueue_queue r{.name = "r"};
  const auto c = [](std::int64_t nominal) {
    return kueue_queue{.name = "c", .cohort = "r", .nominal = {nominal}};
  };
  const auto q = [](const allot::preempt_settings& p) {
    return kueue_queue{.name = "q", .cohort = "c", .preempt = p};
  };
  const kueue_queue borrowing{.name = "borrowing", .cohort = "r", .preempt = both};
  const kueue_queue same{.name = "same", .cohort = "c", .preempt = both};
  const kueue_queue nominal{.name = "nominal", .cohort = "r", .nominal = {2}, .preempt = both};
  check({
      {"a cousin borrows (#3691)",
       {{.name = "root"},
        {.name = "left", .cohort = "root"},
        {.name = "right", .cohort = "root"},
        {.name = "cq-left", .cohort = "left", .nominal = {10}, .preempt = may(never, reclaim_any)},
        {.name = "cq-right", .cohort = "right"}},
       {{"taken", "cq-right", {5}}},
       {"in", "cq-left", {8}},
       "-taken:reclaim>in"},
      {"the cohort owns it",
       {r, c(2), q(both), borrowing},
       {{"a2", "borrowing", {2}}},
       {"in", "q", {2}},
       "-a2:reclaim>in"},
      {"not from who is within its own",
       {r, c(2), nominal, q(both), borrowing},
       {{"a1", "nominal", {2}, -10}, {"a2", "borrowing", {2}}},
       {"in", "q", {2}},
       "-a2:reclaim>in"},
      {"whatever the priority",
       {r, c(2), q(both), borrowing},
       {{"a1", "borrowing", {1}, 1}, {"a2", "borrowing", {1}, 2}},
       {"in", "q", {2}},
       "-a1:reclaim>in -a2:reclaim>in"},
      {"of the own cohort and the own queue",
       {r, c(3), q(loan), same},
       {{"not", "same", {1}, 1}, {"yes", "same", {1}}, {"own", "q", {1}, -1}},
       {"in", "q", {2}, 1},
       "-own:priority>in -yes:reclaim_while_borrowing>in"},
      {"hierarchical before own",
       {r, c(2), q(both), borrowing},
       {{"outside", "borrowing", {1}, 1}, {"own", "q", {1}, -2}},
       {"in", "q", {1}},
       "-outside:reclaim>in"},
      {"by priority where there is no other",
       {r, c(2), q(loan), nominal, same},
       {{"nominal", "nominal", {2}, -10}, {"same", "same", {2}, -1}},
       {"in", "q", {2}},
       "-same:reclaim_while_borrowing>in"},
      {"it fits the own nominal",
       {r, c(2), {.name = "q", .cohort = "c", .nominal = {4}, .preempt = both}, borrowing, same},
       {{"outside", "borrowing", {3}, 10}, {"same", "same", {3}, 10}},
       {"in", "q", {4}},
       "-outside:reclaim>in -same:reclaim>in"},
      {"hierarchical and by priority",
       {{.name = "r", .nominal = {1}}, c(4), q(on_loan(lower, reclaim_lower)), borrowing, same},
       {{"outside", "borrowing", {2}, -1}, {"same", "same", {1}, -1}, {"not", "borrowing", {2}, 1}},
       {"in", "q", {3}},
       "-outside:reclaim>in -same:reclaim_while_borrowing>in"},
      {"hierarchical and own",
       {{.name = "r", .nominal = {1}}, c(4), q(on_loan(lower, reclaim_lower)), borrowing, same},
       {{"outside", "borrowing", {2}, -1}, {"own", "q", {1}, -1}, {"not", "borrowing", {2}, 1}},
       {"in", "q", {3}},
       "-outside:reclaim>in -own:priority>in"},
      {"the lowest priority of those who borrow",
       {r, c(3), q(both), borrowing, nominal},
       {{"p8", "borrowing", {1}, 8},
        {"p9", "borrowing", {1}, 9},
        {"p10", "borrowing", {1}, 9},
        {"nominal", "nominal", {2}, -2}},
       {"in", "q", {1}},
       "-p8:reclaim>in"},
      {"all are in cohorts within their own",
       {r,
        c(2),
        {.name = "other", .cohort = "r", .nominal = {2}},
        {.name = "q_other", .cohort = "other", .preempt = both},
        q(both),
        same},
       {{"o1", "q_other", {1}, -10}, {"o2", "q_other", {1}, -10}, {"same", "same", {2}}},
       {"in", "q", {2}},
       ""},
      {"two resources",
       {{.name = "r", .nominal = {3}},
        {.name = "c", .cohort = "r", .nominal = {4, 4}},
        q(both),
        borrowing,
        same},
       {{"outside", "borrowing", {3, 1}}, {"same", "same", {1, 3}, -2}},
       {"in", "q", {2, 1}, -2},
       "-outside:reclaim>in"},
      {"who is going already is counted on",
       {r, c(2), q(loan), borrowing, same},
       {{"outside", "borrowing", {1}, -10}, {"!same", "same", {1}, -1}},
       {"in", "q", {1}},
       ""},
      {"what a queue keeps",
       {r, c(2), {.name = "q", .cohort = "c", .nominal = {3}, .lend = {{2}}, .preempt = both}, borrowing},
       {{"outside", "borrowing", {4}}},
       {"in", "q", {5}, -2},
       "-outside:reclaim>in"},
      {"a deep tree",
       {r,
        {.name = "c11", .cohort = "r", .nominal = {4}},
        {.name = "c12", .cohort = "r", .nominal = {4}},
        {.name = "c21", .cohort = "c11", .nominal = {4}},
        {.name = "c22", .cohort = "c11", .nominal = {4}},
        {.name = "c23", .cohort = "c11", .nominal = {4}},
        {.name = "c31", .cohort = "c21", .nominal = {4}},
        {.name = "c32", .cohort = "c21", .nominal = {4}},
        {.name = "q1", .cohort = "c12", .preempt = both},
        {.name = "q2", .cohort = "c23", .preempt = both},
        {.name = "q3", .cohort = "c22", .preempt = both},
        {.name = "q4", .cohort = "c32", .preempt = both},
        {.name = "q5", .cohort = "c31", .preempt = both}},
       {{"b1", "q1", {4}, -6},
        {"b2", "q1", {4}, -5},
        {"b3", "q2", {4}, -9},
        {"b4", "q2", {4}, -10},
        {"b5", "q3", {4}, -4},
        {"b6", "q3", {3}, -3},
        {"b7", "q4", {2}, 4},
        {"b8", "q4", {3}, 2}},
       {"in", "q5", {7}, -2},
       "-b1:reclaim>in -b4:reclaim>in"},
  });
}
