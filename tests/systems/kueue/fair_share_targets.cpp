// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/detail/fair_share_targets.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/kueue_world.hpp"

// Kueue's own table (TestFairPreemptions in pkg/scheduler/preemption) as scenarios: the incoming workload is
// the only pending one, and the first cycle decides its victims.

namespace {

using allot_test::first_cycle;
using allot_test::kueue_case;
using allot_test::kueue_may;
using allot_test::kueue_queue;
using allot_test::kueue_workload;

constexpr auto never = allot::preempt_within::never;
constexpr auto lower = allot::preempt_within::lower_priority;
constexpr auto any = allot::preempt_reclaim::any;

/// Three queues with a nominal quota of three, one with none. `unit` allows for halves.
std::vector<kueue_queue> base(std::int64_t unit = 1) {
  allot::preempt_settings p = kueue_may(lower, any);
  p.borrow = allot::preempt_borrow::lower_priority;
  p.borrow_max_priority = -3;
  return {{.name = "all"},
          {.name = "a", .cohort = "all", .nominal = {3 * unit}, .preempt = p},
          {.name = "b", .cohort = "all", .nominal = {3 * unit}, .preempt = p},
          {.name = "c", .cohort = "all", .nominal = {3 * unit}, .preempt = p},
          {.name = "preemptible", .cohort = "all"}};
}
/// Workloads of one unit: "a3 b5" are a1 to a3 in a, b1 to b5 in b.
std::vector<kueue_workload> units(const std::vector<std::pair<std::string, int>>& queues,
                                  bool by_priority = false) {
  std::vector<kueue_workload> all;
  for (const auto& [queue, count] : queues) {
    for (int i = 1; i <= count; ++i)
      all.push_back({queue + std::to_string(i), queue, {1}, by_priority ? i : 0});
  }
  return all;
}
std::vector<kueue_workload> operator+(std::vector<kueue_workload> a, const std::vector<kueue_workload>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void check(const std::vector<kueue_case>& cases, allot::share_rules rules = {}) {
  for (const kueue_case& c : cases) {
    CAPTURE(c.name);
    allot::one_head_by_share policies;
    policies.rules = rules;
    CHECK(first_cycle<allot::kueue_fair>(c, policies) == c.decides);
  }
}

}  // namespace

TEST_CASE("fair_share_targets: flat, as Kueue") {
  check({
      {"own from who uses most",
       base(),
       units({{"a", 3}, {"b", 5}, {"c", 1}}),
       {"c_in", "c", {1}},
       "-b1:reclaim>c_in"},
      {"from who uses less, if that does it",
       base(),
       {{"a1", "a", {3}}, {"a2", "a", {1}}, {"b1", "b", {2}}, {"b2", "b", {3}}},
       {"c_in", "c", {3}},
       "-a1:reclaim>c_in"},
      {"borrowable from who uses most",
       base(),
       units({{"a", 3}, {"b", 5}, {"c", 1}}),
       {"a_in", "a", {1}},
       "-b1:fair_share>a_in"},
      {"one of each borrower",
       base(2),
       {{"a1", "a", {1}},
        {"a2", "a", {1}},
        {"a3", "a", {6}},
        {"b1", "b", {1}},
        {"b2", "b", {1}},
        {"b3", "b", {6}}},
       {"c_in", "c", {4}},
       "-a1:reclaim>c_in -b1:reclaim>c_in"},
      {"nobody is over", base(), units({{"a", 3}, {"b", 3}, {"c", 3}}), {"c_in", "c", {1}}, ""},
      {"it would turn the imbalance round", base(), units({{"a", 3}, {"b", 5}}), {"a_in", "a", {2}}, ""},
      {"lower priority of the own queue",
       base(),
       std::vector<kueue_workload>{
           {"a1_low", "a", {1}, -1}, {"a2_low", "a", {1}, -1}, {"a3", "a", {1}}, {"a4", "a", {1}}} +
           units({{"b", 5}}),
       {"a_in", "a", {2}},
       "-a1_low:priority>a_in -a2_low:priority>a_in"},
      {"own and the biggest",
       base(),
       std::vector<kueue_workload>{{"a_low", "a", {1}, -1}, {"a2", "a", {1}}, {"a3", "a", {1}}} +
           units({{"b", 6}}),
       {"a_in", "a", {2}},
       "-a_low:priority>a_in -b1:fair_share>a_in"},
      {"a huge one, if the asker's share is then lower",
       base(),
       {{"b1", "b", {9}}},
       {"a_in", "a", {2}},
       "-b1:reclaim>a_in"},
      {"a huge one by a huge one", base(), {{"a1", "a", {2}}, {"b1", "b", {7}}}, {"a_in", "a", {5}}, ""},
      {"two small ones by a huge one",
       base(),
       {{"b1", "b", {2}}, {"b2", "b", {2}}, {"b3", "b", {3}}},
       {"a_in", "a", {6}},
       ""},
      {"own and others, over nominal",
       base(),
       {{"a1_low", "a", {2}, -1}, {"a2_low", "a", {1}, -1}, {"b1", "b", {3}}, {"b2", "b", {3}}},
       {"a_in", "a", {4}},
       "-a1_low:priority>a_in -b1:fair_share>a_in"},
      {"who does not make the asker the biggest",
       base(2),
       {{"b1", "b", {4}}, {"b2", "b", {2}}, {"b3", "b", {4}}, {"c1", "c", {2}}},
       {"a_in", "a", {7}},
       "-b2:fair_share>a_in"},
      {"of different queues, if the biggest share is smaller then",
       base(2),
       {{"b1", "b", {4}}, {"b2", "b", {5}}, {"c1", "c", {4}}, {"c2", "c", {5}}},
       {"a_in", "a", {7}},
       "-b1:fair_share>a_in -c1:fair_share>a_in"},
      {"and not back",
       base(2),
       {{"a1", "a", {7}}, {"b2", "b", {5}}, {"c2", "c", {5}}},
       {"b_in", "b", {4}},
       ""},
      {"not below its own by one",
       base(),
       {{"b1", "b", {3}}, {"b2", "b", {3}}, {"c1", "c", {3}}},
       {"a_in", "a", {4}},
       ""},
      {"the priority threshold says nothing here",
       base(),
       units({{"a", 3}, {"b", 3}}) + std::vector<kueue_workload>{{"p1", "preemptible", {1}, -3},
                                                                 {"p2", "preemptible", {1}, -3},
                                                                 {"p3", "preemptible", {1}, -3}},
       {"a_in", "a", {2}},
       ""},
  });
}

TEST_CASE("fair_share_targets: one rule alone, as Kueue") {
  const std::vector<kueue_workload> running{{"a1", "a", {3}}, {"b_low", "b", {5}}, {"b_high", "b", {1}, 1}};
  check({{"initial share: lower priority, even if big",
          base(),
          running,
          {"a_in", "a", {1}},
          "-b_low:fair_share>a_in"}},
        {allot::share_rule::initial_share, false});
  check({{"final share: who keeps the balance, even of higher priority",
          base(),
          running,
          {"a_in", "a", {1}},
          "-b_high:fair_share>a_in"}},
        {allot::share_rule::final_share, false});
}

TEST_CASE("fair_share_targets: weights, as Kueue") {
  const auto three = [](std::int64_t a, std::int64_t b) {
    return std::vector<kueue_queue>{
        {.name = "all"},
        {.name = "a", .cohort = "all", .nominal = {3}, .preempt = kueue_may(lower, any), .weight = a},
        {.name = "b", .cohort = "all", .nominal = {3}, .preempt = kueue_may(lower, any), .weight = b},
        {.name = "c", .cohort = "all", .nominal = {3}, .preempt = kueue_may(lower, any)}};
  };
  const auto all_of = [](std::int64_t nominal) { return kueue_queue{.name = "all", .nominal = {nominal}}; };
  check({
      {"a higher weight may take more",
       three(2000, 1000),
       units({{"a", 3}, {"b", 6}}),
       {"a_in", "a", {2}},
       "-b1:fair_share>a_in -b2:fair_share>a_in"},
      {"a borrower of weight zero yields all it borrows",
       three(1000, 0),
       units({{"a", 3}, {"b", 6}}),
       {"a_in", "a", {3}},
       "-b1:fair_share>a_in -b2:fair_share>a_in -b3:fair_share>a_in"},
      {"weight zero within its own (#4962)",
       {all_of(0),
        {.name = "a", .cohort = "all", .nominal = {3}, .preempt = kueue_may(lower, any)},
        {.name = "b", .cohort = "all", .nominal = {3}, .weight = 0}},
       units({{"a", 3}, {"b", 3}}),
       {"a_in", "a", {1}},
       ""},
      {"a cohort of weight zero within its own (#4962)",
       {{.name = "root"},
        {.name = "right", .cohort = "root", .nominal = {1}, .weight = 0},
        {.name = "left-cq", .cohort = "root", .preempt = kueue_may(never, any)},
        {.name = "right-cq", .cohort = "right", .preempt = kueue_may(never, any), .weight = 0}},
       {{"right-1", "right-cq", {1}}},
       {"left-1", "left-cq", {1}},
       ""},
      {"a queue of weight zero takes back its own",
       {all_of(0),
        {.name = "a", .cohort = "all", .nominal = {1}, .preempt = kueue_may(never, any), .weight = 0},
        {.name = "b", .cohort = "all"}},
       {{"b1", "b", {1}}},
       {"a1", "a", {1}},
       "-b1:reclaim>a1"},
      {"a cohort of weight zero takes back its own",
       {{.name = "root"},
        {.name = "A", .cohort = "root", .nominal = {1}, .weight = 0},
        {.name = "a", .cohort = "A", .preempt = kueue_may(never, any), .weight = 0},
        {.name = "b", .cohort = "root"}},
       {{"b1", "b", {1}}},
       {"a1", "a", {1}},
       "-b1:fair_share>a1"},
      {"a borrower of weight zero takes from none of another weight (#6925)",
       {all_of(0),
        {.name = "a", .cohort = "all", .nominal = {1}, .preempt = kueue_may(never, any), .weight = 0},
        {.name = "b", .cohort = "all", .nominal = {1}}},
       {{"a1", "a", {1}}, {"b1", "b", {1}}},
       {"a_in", "a", {1}},
       ""},
      {"two of weight zero by what they borrow (#6925)",
       {all_of(3),
        {.name = "a", .cohort = "all", .nominal = {1}, .preempt = kueue_may(never, any), .weight = 0},
        {.name = "b", .cohort = "all", .weight = 0}},
       {{"b1", "b", {1}}, {"b2", "b", {1}}, {"b3", "b", {1}}},
       {"a_in", "a", {2}},
       "-b1:fair_share>a_in"},
      {"two of the same weight",
       {all_of(3),
        {.name = "a", .cohort = "all", .nominal = {1}, .preempt = kueue_may(never, any)},
        {.name = "b", .cohort = "all"}},
       {{"b1", "b", {1}}, {"b2", "b", {1}}, {"b3", "b", {1}}},
       {"a_in", "a", {2}},
       "-b1:fair_share>a_in"},
  });
}

TEST_CASE("fair_share_targets: through a hierarchy of cohorts, as Kueue") {
  const auto own = kueue_may(lower, any);
  const auto only = kueue_may(never, any);
  const auto protected_by = [&](std::int64_t nominal, const allot::preempt_settings& p) {
    return std::vector<kueue_queue>{
        {.name = "ROOT"},
        {.name = "RIGHT", .cohort = "ROOT", .nominal = {nominal}, .weight = 100},
        {.name = "a", .cohort = "ROOT", .nominal = {5}, .preempt = p, .weight = 10'000},
        {.name = "b", .cohort = "RIGHT", .weight = 100}};
  };
  check({
      {"everywhere",
       {{.name = "ROOT", .nominal = {5}},
        {.name = "LEFT", .cohort = "ROOT", .nominal = {5}, .weight = 2000},
        {.name = "RIGHT", .cohort = "ROOT", .nominal = {5}},
        {.name = "a", .cohort = "LEFT", .nominal = {1}, .preempt = only, .weight = 2000},
        {.name = "b", .cohort = "LEFT", .nominal = {1}},
        {.name = "c", .cohort = "ROOT", .nominal = {1}},
        {.name = "d", .cohort = "RIGHT", .nominal = {1}},
        {.name = "e", .cohort = "RIGHT", .nominal = {1}, .weight = 990}},
       units({{"b", 5}, {"c", 5}, {"d", 5}, {"e", 5}}, true),
       {"in", "a", {5}},
       "-b1:fair_share>in -b2:fair_share>in -c1:fair_share>in -c2:fair_share>in -e1:fair_share>in"},
      {"a borrower in a cohort within its own",
       protected_by(1, own),
       {{"a1", "a", {1}, -1}, {"a2", "a", {1}, -1}, {"a3", "a", {1}, -1}, {"b1", "b", {1}, -1}},
       {"in", "a", {5}},
       "-a1:priority>in -a2:priority>in -a3:priority>in"},
      {"a borrower of too high a priority",
       protected_by(3, kueue_may(lower, allot::preempt_reclaim::lower_priority)),
       {{"a1", "a", {1}, -1}, {"a2", "a", {1}, -1}, {"a3", "a", {1}, -1}, {"b1", "b", {4}, 100}},
       {"in", "a", {4}},
       "-a1:priority>in -a2:priority>in -a3:priority>in"},
      {"far away",
       {{.name = "ROOT"},
        {.name = "A", .cohort = "ROOT", .weight = 1010},
        {.name = "AA", .cohort = "A"},
        {.name = "AAA", .cohort = "AA"},
        {.name = "B", .cohort = "ROOT", .weight = 990},
        {.name = "BB", .cohort = "B"},
        {.name = "BBB", .cohort = "BB"},
        {.name = "C", .cohort = "ROOT"},
        {.name = "CC", .cohort = "C"},
        {.name = "CCC", .cohort = "CC"},
        {.name = "CCCC", .cohort = "CCC", .nominal = {1}},
        {.name = "a", .cohort = "AAA", .preempt = only},
        {.name = "b", .cohort = "BBB"}},
       {{"b1", "b", {1}}},
       {"a1", "a", {1}},
       "-b1:fair_share>a1"},
      {"whom the first rule passed over the second asks",
       {{.name = "ROOT"},
        {.name = "A", .cohort = "ROOT", .nominal = {1}, .weight = 0},
        {.name = "p", .cohort = "A", .nominal = {2}, .preempt = only},
        {.name = "y", .cohort = "A", .nominal = {2}},
        {.name = "x", .cohort = "ROOT", .nominal = {1}}},
       {{"p1", "p", {2}}, {"y1", "y", {2}}, {"y2", "y", {2}}, {"x1", "x", {1}}, {"x2", "x", {1}}},
       {"p_in", "p", {1}},
       "-x1:fair_share>p_in -y1:fair_share>p_in"},
      {"no cohort (#10891)",
       {{.name = "a", .nominal = {1}, .preempt = kueue_may(lower, allot::preempt_reclaim::never)}},
       {{"a1", "a", {1}}},
       {"a_in", "a", {1}, 1000},
       "-a1:priority>a_in"},
  });
}

TEST_CASE("fair_share_targets: borrowing in one flavor does not cost owned capacity of another, as Kueue") {
  // #9494. Dimensions: cpu of a premium and of a cheap flavor.
  const allot::flavor_choice stay{allot::flavor_step::stay, allot::flavor_step::stay};
  const kueue_case c{
      "",
      {{.name = "all"},
       {.name = "a", .cohort = "all", .nominal = {3, 0}, .preempt = kueue_may(never, any), .choice = stay},
       {.name = "b", .cohort = "all", .nominal = {0, 6}}},
      {{"p1", "a", {1}}, {"p2", "a", {1}}, {"c1", "a", {0, 5}}, {"b_prem1", "b", {1}}},
      {"a_in", "a", {}, 0, 0, {{{1, 0}, {0, 1}}}},
      "-b_prem1:reclaim>a_in"};
  allot::one_head_by_share policies;
  policies.resource_of = {0, 0, 1, 2};
  CHECK(first_cycle<allot::kueue_fair>(c, policies) == c.decides);
}
