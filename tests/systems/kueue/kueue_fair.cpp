// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/kueue_fair.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/kueue_random.hpp"
#include "tests/support/kueue_world.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"

namespace {

using fair_world = allot_test::kueue_world<allot::kueue_fair>;

allot::preempt_settings reclaims() {
  allot::preempt_settings s;
  s.within = allot::preempt_within::never;
  s.reclaim = allot::preempt_reclaim::any;
  return s;
}

}  // namespace

TEST_CASE("kueue_fair: the lowest share first, one head a quota") {
  fair_world w{
      {{.name = "pool", .nominal = {6}}, {.name = "a", .cohort = "pool"}, {.name = "b", .cohort = "pool"}}};
  w.waits({"a1", "a", {2}, 9, 1}).waits({"a2", "a", {1}, 9, 2}).waits({"b1", "b", {1}, 0, 3});
  CHECK(w.step() == "+b1 +a1");
  CHECK(w.step() == "+a2");
}

TEST_CASE("kueue_fair: not quiet: reclaims one resource and borrows another, forever") {
  fair_world w{{{.name = "pool"},
                {.name = "a", .cohort = "pool", .nominal = {6, 4}, .preempt = reclaims()},
                {.name = "b", .cohort = "pool", .nominal = {5, 2}, .weight = 2000}}};
  w.runs({"a1", "a", {2, 3}, 1}).runs({"b1", "b", {5}, 2});
  w.waits({"asks", "a", {4, 2}, -1, 4}).waits({"back", "b", {3}, 0, 3});
  const std::string diary = w.settle();
  CHECK(diary.starts_with("+back | -back:reclaim>asks | +back | -back:reclaim>asks | +back"));
  CHECK(diary.ends_with("and so on"));
}

TEST_CASE("kueue_fair: a quota without a cohort, and one of weight zero (Kueue #10891, #4962, #14671)") {
  allot::preempt_settings all = reclaims();
  all.within = allot::preempt_within::lower_priority;
  fair_world alone{{{.name = "a", .nominal = {2}, .preempt = all}}};
  alone.runs({"old", "a", {2}, 0}).waits({"new", "a", {1}, 1}).waits({"large", "a", {3}, 2});
  CHECK(alone.step() == "-old:priority>new");

  // Within its nominal quota it is never preempted; beyond it, it is preempted first, and it preempts nothing
  // that has a share.
  const auto pool = [&](std::int64_t own) {
    return std::vector<allot_test::kueue_queue>{
        {.name = "pool", .nominal = {4}},
        {.name = "zero", .cohort = "pool", .nominal = {own}, .preempt = all, .weight = 0},
        {.name = "b", .cohort = "pool", .nominal = {4 - own}, .preempt = all}};
  };
  fair_world within{pool(4)};
  within.runs({"z", "zero", {4}}).runs({"b1", "b", {4}}).waits({"b2", "b", {1}});
  CHECK(within.step() == "");
  fair_world beyond{pool(0)};
  beyond.runs({"z", "zero", {4}}).runs({"b1", "b", {4}}).waits({"b2", "b", {1}, 0, 5});
  CHECK(beyond.step() == "-z:fair_share>b2");
  fair_world asking{pool(0)};
  asking.runs({"b1", "b", {8}, -5}).waits({"z", "zero", {1}, 9, 5});
  CHECK(asking.step() == "");
}

TEST_CASE("kueue_fair: floating-point shares, where equal ones round differently") {
  // b would keep 5 of 15 at weight 5, and a would have 1 of 15 at weight 1: as doubles, a's is the greater.
  const auto decides = [](bool as_floats) {
    const allot::kueue_fair preset{.strategies = allot::fair_strategies::final_share,
                                   .float_shares = as_floats};
    fair_world w{{{.name = "pool", .nominal = {7}},
                  {.name = "a", .cohort = "pool", .preempt = reclaims()},
                  {.name = "b", .cohort = "pool", .weight = 5000},
                  {.name = "c", .cohort = "pool", .nominal = {8}}},
                 preset.policies()};
    w.runs({"b1", "b", {5}, 0, 1}).runs({"b2", "b", {2}, 0, 2}).runs({"c1", "c", {8}, 0, 3});
    w.waits({"a1", "a", {1}, 0, 4});
    return w.step();
  };
  CHECK_FALSE(allot::kueue_fair{}.float_shares);
  CHECK(decides(false) == "-b2:fair_share>a1");
  CHECK(decides(true) == "");
}

TEST_CASE("kueue_fair: strategies have words") {
  CHECK(allot_test::has_words<allot::fair_strategies>(3));
}

TEST_CASE("kueue_fair: agrees with a naive implementation of the rules") {
  allot_test::for_each_seed(4000, allot_test::check_against_naive<allot::kueue_fair>);
}
