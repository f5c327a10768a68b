// SPDX-License-Identifier: BSL-1.0

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using allot::runtime_source;
using world = allot_test::kai_world;

namespace {

void guarantee(world& w, const char* quota, const allot::runtime_guarantee& g) {
  allot::queue_settings settings;
  settings.min_runtime = g;
  REQUIRE(w.scheduler().configure(w.quota(quota), settings).empty());
}
/// A step at that time, whatever has happened.
std::string step(world& w, allot::instant now) {
  w.scheduler().retry();
  return w.step(now);
}

}  // namespace

TEST_CASE("victims_queue, trap 1: victims already considered are deducted from their queue") {
  world w{R"(
    nodes 12
    queue d - - 1
    queue a d 4 0
    queue b d 4 0
    queue c d 4 0
    run a0 a 1x1 @0
    run a1 a 1x1 @0
    run a2 a 1x1 @0
    run a3 a 1x1 @0
    run a4 a 1x1 @0
    run a5 a 1x1 @0
    run b0 b 1x1 @0
    run b1 b 1x1 @0
    run b2 b 1x1 @0
    run b3 b 1x1 @0
    run b4 b 1x1 @0
    run b5 b 1x1 @0
    wait p c 4x1)"};
  w.step();
  CHECK(w.used("a") == 4);
  CHECK(w.used("b") == 4);
}

TEST_CASE("victims_queue, trap 2: an elastic job yields as much as needed, and no more") {
  world w{R"(
    nodes 6
    queue d - - 1
    queue a d 2 0
    queue b d 3 0
    run r a 6x1 min=2 @0,0,0,0,0,0
    wait p b 1x3)"};
  CHECK(w.step() == "-r:1 -r:1 -r:1 ~p");
  CHECK(w.scheduler().state(w.id("r")) == allot::job_state::running);
  CHECK(w.used("a") == 3);
}

TEST_CASE("victims_queue: minimum runtime protects a job from other quotas") {
  const std::string told = R"(
    nodes 2
    queue d1 - 0 0
    queue d2 - 2 1
    queue a d1 0 0
    queue b d2 2 1
    run old a 1x1 @0 since=0
    run new a 1x1 @0 since=50
    wait p b 1x1)";
  world w{told};
  guarantee(w, "a", {0, 100});
  // Between departments the departments' settings count, and d1 has none.
  CHECK(step(w, 60) == "-new ~p");

  allot::kai_policies by_queue;
  by_queue.reclaim_protection = runtime_source::leaf;
  world q{told, by_queue};
  guarantee(q, "a", {0, 100});
  CHECK(step(q, 60).empty());
  CHECK(step(q, 99).empty());
  CHECK(step(q, 100) == "-old ~p");

  world d{told};
  guarantee(d, "d1", {0, 100});
  CHECK(step(d, 60).empty());
  CHECK(step(d, 120) == "-old ~p");
}

TEST_CASE("victims_queue: minimum runtime protects a job from its own queue, by that queue's setting") {
  world w{R"(
    nodes 1
    queue d - - 1
    queue a d 1 0
    run r a 1x1 @0 since=0
    wait p a 1x1 prio=75)"};
  guarantee(w, "a", {30, 0});
  CHECK(step(w, 10).empty());
  CHECK(step(w, 30) == "-r ~p");
}

TEST_CASE("victims_queue: a protected elastic job yields only elastic pods, then ends the search") {
  const std::string told = R"(
    nodes 4
    queue d - - 1
    queue a d 0 0
    queue b d 4 1
    run other a 1x1 @0 since=0
    run r a 3x1 min=1 @0,0,0 since=0
  )";
  world enough{told + "wait p b 1x2"};
  guarantee(enough, "a", {0, 100});
  CHECK(enough.step(10) == "-r:1 -r:1 ~p");
  world all{told + "wait p b 1x4"};
  guarantee(all, "a", {0, 100});
  CHECK(all.step(10).empty());
}

TEST_CASE("victims_queue: a pipelined job holds nothing that could be deducted from its queue") {
  // p0 takes r0's place. When p1 looks for victims, p0 has not been given any resources, so its queue still
  // holds what it has with it, and p0's own capacity is taken back.
  CHECK(world{R"(
    nodes 4 1
    queue d - - 1
    queue a d 2 0
    queue b d 3 0
    queue c d 3 0
    run r0 a 1x3 @0
    run r1 c 2x1 @0,1
    wait p0 b 1x2
    wait p1 c 2x1
    wait p2 a 1x1
    wait p3 b 2x1)"}
            .step() == "-r0 ~p0 ~p2");
}
