// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tests/support/kueue_random.hpp"
#include "tests/support/kueue_world.hpp"
#include "tests/support/seeds.hpp"

namespace {
using world = allot_test::kueue_world<allot::kueue>;
using within = allot::preempt_within;
using reclaim = allot::preempt_reclaim;
}  // namespace

TEST_CASE("kueue: a lower priority of the same queue yields, newest first") {
  world w{{{.name = "cq",
            .nominal = {6},
            .preempt = {.within = within::lower_priority, .reclaim = reclaim::never}}}};
  w.runs({"low", "cq", {2}, -1}).runs({"mid", "cq", {2}, 0}).runs({"high", "cq", {2}, 1});
  w.waits({"in", "cq", {2}, 1});
  CHECK(w.step() == "-low:priority>in");
  CHECK(w.step() == "");
  w.gone("low");
  CHECK(w.step() == "+in");
}

TEST_CASE("kueue: by default no job is preempted, and best-effort queues pass a waiting head") {
  world w{{{.name = "pool"},
           {.name = "a", .cohort = "pool", .nominal = {4}},
           {.name = "b", .cohort = "pool", .nominal = {4}}}};
  w.runs({"b1", "b", {8}, -9});
  w.waits({"a1", "a", {4}, 9});
  // The law of guarantee does not hold.
  CHECK(w.step() == "");
  w.finished("b1");
  CHECK(w.step() == "+a1");
}

TEST_CASE("kueue: not fair: shares are ignored") {
  world w{
      {{.name = "pool", .nominal = {4}}, {.name = "a", .cohort = "pool"}, {.name = "b", .cohort = "pool"}}};
  w.runs({"a1", "a", {3}});
  w.waits({"a2", "a", {1}, 0, 1}).waits({"b1", "b", {1}, 0, 2});
  CHECK(w.step() == "+a2");
}

TEST_CASE("kueue: not quiet: a victim with nearer capacity is admitted before its preemptor, forever") {
  allot::preempt_settings preempt;
  preempt.within = within::lower_priority;
  preempt.reclaim = reclaim::any;
  preempt.borrow = allot::preempt_borrow::lower_priority;
  world w{{{.name = "root", .nominal = {2}},
           {.name = "mid", .cohort = "root"},
           {.name = "a", .cohort = "mid", .nominal = {6}, .preempt = preempt},
           {.name = "b", .cohort = "mid", .nominal = {4}}}};
  w.runs({"a1", "a", {5}, 2}).runs({"b1", "b", {4}, 0});
  w.waits({"big", "a", {3}, 2, 3}).waits({"small", "b", {1}, -1, 4});
  const std::string diary = w.settle();
  CHECK(diary.starts_with(
      "+small | -small:reclaim_while_borrowing>big | +small | -small:reclaim_while_borrowing"));
  CHECK(diary.ends_with("and so on"));
}

TEST_CASE("kueue: what one head's search takes is there for the next") {
  // The search for a1 takes x1, which is being evicted and leaves x within its own, and then y1 instead. That
  // of b1 may not take either, but x2.
  world w{{{.name = "pool"},
           {.name = "a",
            .cohort = "pool",
            .nominal = {5},
            .preempt = allot_test::kueue_may(within::never, reclaim::any)},
           {.name = "b",
            .cohort = "pool",
            .nominal = {3},
            .preempt = allot_test::kueue_may(within::never, reclaim::lower_priority)},
           {.name = "x", .cohort = "pool", .nominal = {1}},
           {.name = "y", .cohort = "pool"}}};
  w.told_to_go({"x1", "x", {3}, 5}).runs({"x2", "x", {1}}).runs({"y1", "y", {4}, 5});
  w.waits({"a1", "a", {5}, 0}).waits({"b1", "b", {2}, 3});
  CHECK(w.step() == "-x2:reclaim>b1");
}

TEST_CASE("kueue: two borrowers fit, but not together (Kueue #822)") {
  world w{
      {{.name = "pool", .nominal = {3}}, {.name = "a", .cohort = "pool"}, {.name = "b", .cohort = "pool"}}};
  w.waits({"a1", "a", {2}, 0, 2}).waits({"b1", "b", {2}, 0, 1});
  CHECK(w.step() == "+b1");
  CHECK(w.step() == "");
}

TEST_CASE("kueue: a head that can't fit evicts no job (Kueue #1979), an empty request fits (#2524)") {
  allot::preempt_settings preempt;
  preempt.within = within::lower_priority;
  preempt.reclaim = reclaim::any;
  world w{{{.name = "pool"},
           {.name = "a", .cohort = "pool", .nominal = {4, 1}, .preempt = preempt},
           {.name = "b", .cohort = "pool", .nominal = {4, 4}}}};
  w.runs({"a1", "a", {4, 3}, 0}).runs({"b1", "b", {4}, 9});
  w.waits({"a2", "a", {6}, 1});
  CHECK(w.step() == "");
  w.waits({"a3", "a", {3}, 1, 5});
  CHECK(w.step() == "-a1:priority>a3");
}

TEST_CASE("kueue: an equal request of lower priority is tried by itself") {
  // The heads of a reserve its capacity one after the other, so that b's second job has no room beside either
  // of them; meanwhile another tree proceeds.
  world w{{{.name = "pool"},
           {.name = "a", .cohort = "pool", .nominal = {5}},
           {.name = "b", .cohort = "pool"},
           {.name = "far", .nominal = {1}}}};
  w.runs({"a0", "a", {3}, 9});
  w.waits({"a1", "a", {4}, 3, 1}).waits({"a2", "a", {4}, 1, 2});
  w.waits({"b1", "b", {9}, 3, 3}).waits({"b2", "b", {1}, 0, 4});
  w.waits({"far1", "far", {7}, 3, 5}).waits({"far2", "far", {1}, 0, 6});
  CHECK(w.step() == "+far2");
  CHECK(w.step() == "+b2");
}

TEST_CASE("kueue: priorities at both ends of 64 bits") {
  using limits = std::numeric_limits<std::int64_t>;
  const auto queue = [](const char* name, allot_test::kueue_amounts nominal) {
    allot_test::kueue_queue q{.name = name, .cohort = "pool", .nominal = std::move(nominal)};
    q.preempt =
        allot_test::kueue_may(within::lower_priority, reclaim::any, allot::preempt_borrow::lower_priority);
    return q;
  };
  world one{{{.name = "pool"}, queue("a", {1})}};
  one.runs({"low", "a", {1}, limits::min() + 1});
  one.waits({"lowest", "a", {1}, limits::min()});
  CHECK(one.step() == "");
  one.waits({"third", "a", {1}, 1})
      .waits({"first", "a", {1}, limits::max()})
      .waits({"second", "a", {1}, 3'000'000'000});
  CHECK(one.step() == "-low:priority>first");
  one.gone("low");
  CHECK(one.step() == "+first");
  one.finished("first");
  CHECK(one.step() == "+second");

  // The threshold for victims of jobs that borrow.
  for (const std::int64_t threshold : {limits::min(), limits::max()}) {
    auto borrower = queue("a", {});
    borrower.preempt.borrow_max_priority = threshold;
    world two{{{.name = "pool"}, queue("b", {1}), borrower, queue("c", {})}};
    two.runs({"c1", "c", {1}, limits::min() + 1});
    two.waits({"a1", "a", {1}, limits::max()});
    CHECK(two.step() == (threshold == limits::max() ? "-c1:reclaim_while_borrowing>a1" : ""));
  }
}

TEST_CASE("kueue: a quota over its limit with a waiting head counts as if it were within it") {
  // a0's 3 count as 1 for the rest of the cycle, but still as 3 in the pool: removing a0 frees only 1.
  const auto decides = [](std::int64_t limit) {
    world w{{{.name = "pool", .nominal = {4}},
             {.name = "a",
              .cohort = "pool",
              .nominal = {1},
              .borrow = {{limit}},
              .head = allot::queue_head::strict},
             {.name = "b", .cohort = "pool"},
             {.name = "c",
              .cohort = "pool",
              .preempt = allot_test::kueue_may(within::never, reclaim::any,
                                               allot::preempt_borrow::lower_priority)}}};
    w.runs({"a0", "a", {3}}).runs({"b0", "b", {2}, 9});
    w.waits({"a1", "a", {1}, 9, 3}).waits({"c1", "c", {2}, 5, 4});
    return w.step();
  };
  CHECK(decides(2) == "-a0:reclaim_while_borrowing>c1");
  CHECK(decides(0) == "");
}

TEST_CASE("kueue: agrees with a naive implementation of the rules") {
  allot_test::for_each_seed(4000, allot_test::check_against_naive<allot::kueue>);
}

TEST_CASE("kueue: a quota that contains its children's is a cohort with what is left") {
  std::vector<allot::quota_spec<1>> specs{{.name = "all", .nominal = allot::gpus(16), .inclusive = true},
                                          {.name = "pool", .nominal = allot::gpus(3)},
                                          {.name = "a", .parent = "all", .nominal = allot::gpus(8)},
                                          {.name = "b", .parent = "all", .nominal = allot::gpus(4)},
                                          {.name = "c", .parent = "pool", .nominal = allot::gpus(2)}};
  allot::kueue::adapt(specs);
  CHECK(specs[0].nominal == allot::gpus(4));
  CHECK(specs[1].nominal == allot::gpus(3));
  CHECK(specs[2].nominal == allot::gpus(8));
  for (const auto& s : specs) CHECK_FALSE(s.inclusive);
}
