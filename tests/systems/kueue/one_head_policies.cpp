// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/detail/one_head_policies.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "tests/support/kueue_world.hpp"

static_assert(allot::one_head_by_priority{}.not_preemptible == allot::capacity_kind::any);
static_assert(
    allot::hierarchical_reclaim<2>::may_preempt_on_loan({.borrow = allot::preempt_borrow::lower_priority}));
static_assert(!allot::hierarchical_reclaim<2>::may_preempt_on_loan({.reclaim = allot::preempt_reclaim::any,
                                                                    .borrow = allot::preempt_borrow::never}));
// With fair sharing a queue that may reclaim may do so while it borrows.
static_assert(allot::fair_share_targets<2>::may_preempt_on_loan({.reclaim = allot::preempt_reclaim::any,
                                                                 .borrow = allot::preempt_borrow::never}));

namespace {

using allot_test::kueue_queue;

/// Flavors x and y; "a" borrows much of one, "b" some of both.
std::string who_goes(const allot::one_head_by_share& policies, std::size_t own = 0) {
  allot::preempt_settings reclaims;
  reclaims.within = allot::preempt_within::never;
  reclaims.reclaim = allot::preempt_reclaim::any;
  reclaims.borrow = allot::preempt_borrow::never;
  allot_test::kueue_amounts nominal{0, 0};
  nominal[own] = 1;
  allot_test::kueue_world<allot::kueue_fair> world{
      {{.name = "pool", .nominal = {11, 12}},
       {.name = "a", .cohort = "pool"},
       {.name = "b", .cohort = "pool"},
       {.name = "c", .cohort = "pool", .nominal = nominal, .preempt = reclaims}},
      policies};
  world.runs({"a1", "a", {7, 0}}).runs({"b1", "b", {5, 5}});
  world.waits({"c1", "c", {1}, 0, 9});
  return world.step();
}

}  // namespace

TEST_CASE("one_head_policies: which dimensions are flavors of one resource") {
  // Separately: 7 of 12 and 5 of 12. Together: 7 and 10, of 24.
  CHECK(who_goes({}) == "-a1:reclaim>c1");
  CHECK(who_goes({.resource_of = {0, 0}}) == "-b1:reclaim>c1");
  // Dimensions without an entry are resources of their own.
  CHECK(who_goes({.resource_of = {0}}) == "-a1:reclaim>c1");
}

TEST_CASE("one_head_policies: the rules of fair sharing") {
  // c would have 4 of 9; a has 6, and nothing without its job.
  const auto decides = [](allot::share_rules rules) {
    allot::preempt_settings reclaims;
    reclaims.within = allot::preempt_within::never;
    reclaims.reclaim = allot::preempt_reclaim::any;
    reclaims.borrow = allot::preempt_borrow::never;
    allot_test::kueue_world<allot::kueue_fair> world{{{.name = "pool", .nominal = {9}},
                                                      {.name = "a", .cohort = "pool", .preempt = reclaims},
                                                      {.name = "b", .cohort = "pool"},
                                                      {.name = "c", .cohort = "pool", .preempt = reclaims}},
                                                     {.rules = rules}};
    world.runs({"a1", "a", {6}}).runs({"b1", "b", {3}});
    world.waits({"c1", "c", {4}, 0, 9});
    return world.step();
  };
  using allot::share_rule;
  CHECK(decides({share_rule::final_share, false}) == "");
  CHECK(decides({share_rule::final_share, true}) == "-a1:fair_share>c1");
  CHECK(decides({share_rule::initial_share, false}) == "-a1:fair_share>c1");
}
