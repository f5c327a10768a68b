// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/runai.hpp>

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

#include <string>

using world = allot_test::kai_world;

namespace {

std::string decide(const std::string& told) {
  return world{told}.step();
}
/// Runs cycles until nothing is decided any more; evicted jobs are released in between.
std::string settle(const std::string& told) {
  return world{told}.settle();
}

}  // namespace

// Cases from KAI's tables, reclaim_test.go.

TEST_CASE("runai, reclaim: two queues over their share yield one job each, the lowest priority") {
  CHECK(decide(R"(
    nodes 6
    queue d1 - 1 0
    queue q0 d1 1 1
    queue q1 d1 1 1
    queue r d1 2 0
    run a0 q0 1x1 @0
    run a1 q0 1x1 @0
    run a2 q0 1x1 @0 prio=49
    run b0 q1 1x1 @0
    run b1 q1 1x1 @0
    run b2 q1 1x1 @0 prio=49
    wait r r 2x1)") == "-b2 -a2 ~r");
}

TEST_CASE("runai, reclaim: a gang is evicted whole, though its queue falls below what it deserves") {
  CHECK(decide(R"(
    nodes 16 16
    queue d - - 1
    queue q0 d 10 1
    queue q1 d 10 1
    run a q0 2x10 @0,1
    wait b q1 1x10)") == "-a ~b");
}

TEST_CASE("runai, reclaim: over its deserved share a queue yields to one below it") {
  CHECK(decide(R"(
    nodes 3 3 3 3 3 3
    queue d - - 1
    queue q0 d 2 1
    queue q1 d 2 1
    run a0 q0 1x2 @0
    run a1 q0 1x2 @1
    run a2 q0 1x2 @2
    run a3 q0 1x2 @3
    run a4 q0 1x2 @4
    run a5 q0 1x2 @5
    wait a6 q0 1x2
    wait a7 q0 1x2
    wait a8 q0 1x2
    wait b0 q1 1x2)") == "-a5 ~b0");
}

TEST_CASE("runai, reclaim: fractions") {
  CHECK(decide(R"(
    nodes 4
    queue d - - 1
    queue q0 d 1 3
    queue q1 d 2 1
    run a0 q0 1x1 @0:0
    run a1 q0 1x0.5 @0:1
    wait a2 q0 1x0.5
    run b0 q1 1x2 @0
    run b1 q1 1x0.5 @0:1)") == "-b1 ~a2");
}

TEST_CASE("runai, reclaim: a gang's parts of GPUs are added in floating point") {
  // b is due 2.4, but three times 0.8 is more.
  const auto gang = [](const std::string& deserved, const std::string& part) {
    return "nodes 4\n queue a - 0 1\n queue b - " + deserved + " 1\n run r a 4x1 @0,0,0,0\n wait p b 3x" +
           part;
  };
  CHECK(decide(gang("2", "0.8")).empty());
  CHECK(decide(gang("2", "0.75")) == "-r ~p");
  CHECK(decide(gang("3", "0.8")) == "-r ~p");
}

TEST_CASE("runai, reclaim: a search that fails strands fractions that wait") {
  // After that for s, neither p nor q makes its device free for others, which they could leave for an unused
  // one.
  const std::string told = R"(
    nodes 5
    queue a - 4 1
    queue b - 3 1
    run r a 1x2 @0
    run u a 1x3 @0
    wait p b 1x0.8
    wait q b 1x0.8
  )";
  CHECK(decide(told + "wait t a 1x1") == "-u ~p ~q ~t");
  CHECK(decide(told + "wait s a 1x2\n wait t a 1x1") == "-u ~p ~q");
}

TEST_CASE("runai, reclaim: a gang of four from four jobs of a queue that deserves nothing") {
  CHECK(decide(R"(
    nodes 1 1 1 1
    queue d - - 1
    queue q0 d 0 0
    queue q1 d 2 1
    run a0 q0 1x1 @0
    run a1 q0 1x1 @1
    run a2 q0 1x1 @2
    run a3 q0 1x1 @3
    wait b q1 4x1)") == "-a3 -a2 -a1 -a0 ~b");
}

TEST_CASE("runai, reclaim: a gang of three from a gang of three") {
  CHECK(decide(R"(
    nodes 1 1 1 1
    queue d - - 1
    queue q0 d 1 0
    queue q1 d 2 1
    run a0 q0 3x1 @0,1,2
    run a1 q0 1x1 @3
    wait b q1 3x1)") == "-a0 ~b");
}

TEST_CASE("runai, reclaim: from two queues, until each has what it deserves") {
  CHECK(decide(R"(
    nodes 2 2
    queue d - - 1
    queue q0 d 0 0
    queue q1 d 1 0
    queue q2 d 3 0
    run j0 q0 1x1 @0
    run j1 q1 1x1 @0
    run j2 q0 1x1 @1
    run j3 q1 1x1 @1
    wait p q2 3x1)") == "-j2 -j0 -j3 ~p");
}

TEST_CASE("runai, reclaim: one of two waiting jobs gets its queue's share, the other waits on") {
  const std::string equal = "nodes 2\n queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n";
  CHECK(decide(equal + R"(
    run r0 q0 1x1 @0
    run r1 q0 1x1 @0
    wait p0 q1 1x1
    wait p1 q1 1x1)") == "-r1 ~p0");
  CHECK(decide(equal + R"(
    run r0 q0 1x1 @0
    run r1 q1 1x1 @0
    wait p0 q0 1x1
    wait p1 q1 1x1)")
            .empty());
  // A job that may not be preempted stays, though it is newer.
  CHECK(decide(equal + R"(
    run r0 q0 1x1 @0
    run r1 q0 1x1 @0 prio=100
    wait p0 q1 1x1
    wait p1 q1 1x1)") == "-r0 ~p0");
  CHECK(decide(equal + R"(
    run r0 q0 1x2 @0
    wait p0 q1 1x1
    wait p1 q1 1x1)") == "-r0 ~p0");
  CHECK(decide(equal + R"(
    run r0 q0 1x2 @0
    wait p0 q1 1x1
    wait p1 q1 1x1 prio=100)") == "-r0 ~p1");
  CHECK(decide(equal + R"(
    run r0 q0 1x2 @0
    wait p0 q1 1x2 prio=100)")
            .empty());
  CHECK(decide(equal + R"(
    run r0 q0 1x1 @0
    run r1 q0 1x1 @0 prio=75
    wait p0 q1 1x1)") == "-r0 ~p0");
  CHECK(decide(equal + R"(
    run r0 q0 1x1 @0 prio=75
    run r1 q0 1x1 @0 prio=75
    wait p0 q1 1x1)") == "-r1 ~p0");
}

TEST_CASE("runai, reclaim: a queue keeps what it deserves, even if more is deserved than exists") {
  CHECK(decide(R"(
    nodes 2
    queue d - - 1
    queue q0 d 2 2
    queue q1 d 2 2
    run r0 q0 1x1 @0
    run r1 q0 1x1 @0
    wait p0 q1 1x1
    wait p1 q1 1x1)")
            .empty());
}

TEST_CASE(
    "runai, reclaim: what may not be preempted is never reclaimed, nor reclaims beyond what it deserves") {
  CHECK(decide(R"(
    nodes 1
    queue d - - 1
    queue q0 d 0 0
    queue q1 d 1 1
    run r q0 1x1 @0 prio=100
    wait p q1 1x1 prio=100)")
            .empty());
  CHECK(decide(R"(
    nodes 4
    queue d - - 1
    queue q0 d 1 1
    queue q1 d 1 1
    run r0 q0 1x1 @0 prio=100
    run r1 q1 1x3 @0
    wait p q0 1x1 prio=100)")
            .empty());
}

TEST_CASE("runai, reclaim: queues without jobs have no share") {
  CHECK(decide(R"(
    nodes 4
    queue d - - 1
    queue q0 d 1 1
    queue q1 d 1 1
    queue q2 d 1 1
    run r0 q0 1x1 @0
    run r1 q0 1x1 @0
    run r2 q0 1x1 @0
    run r3 q1 1x1 @0
    wait p q1 1x1)") == "-r2 ~p");
}

TEST_CASE("runai, reclaim: from a job larger than its queue's fair share, not from one within it") {
  const std::string weighted = "queue d - - 1\n queue q0 d 2 1\n queue q1 d 2 2\n";
  CHECK(decide("nodes 10\n" + weighted + "run r q0 1x8 @0\n wait p q1 1x6") == "-r ~p");
  CHECK(decide("nodes 10\n" + weighted + "run r q0 1x4 @0\n wait p q1 1x7").empty());
  // 12 - 4 = 8 by 1:2 is 2.67 and 5.33; the unit left by rounding goes to the larger fraction.
  CHECK(decide("nodes 12\n" + weighted + "run r q0 1x10 @0\n wait p q1 1x7") == "-r ~p");
}

TEST_CASE("runai, reclaim: a victim that fits elsewhere is moved") {
  const std::string jobs = R"(
    run a0 q0 1x2 @0
    run a1 q0 1x1 @1
    wait b0 q1 1x2
  )";
  CHECK(decide("nodes 3 2\n queue d - - 1\n queue q0 d 2 1\n queue q1 d 2 0\n" + jobs) == "-a1 ~b0");
  CHECK(decide("nodes 3 2\n queue d - - 1\n queue q0 d 2 3\n queue q1 d 2 0\n" + jobs + "wait b1 q1 1x2") ==
        "-a1 ~b0");
  CHECK(decide("nodes 3 2\n queue d - - 1\n queue q0 d 3 0\n queue q1 d 2 0\n" + jobs) == "-a1 ~b0");
}

TEST_CASE("runai, reclaim: unlimited quotas are never over") {
  CHECK(decide("nodes 4\n queue d - - 1\n queue q0 d - 0\n queue q1 d 2 0\n run r q0 1x4 @0 yield prio=125\n"
               "wait p q1 1x2")
            .empty());
  CHECK(decide("nodes 4\n queue d - - 1\n queue q0 d - 0\n queue q1 d - 0\n run r q0 1x4 @0 yield prio=125\n"
               "wait p q1 1x2")
            .empty());
  CHECK(decide("nodes 4\n queue d0 - - 1\n queue d1 - 2 1\n queue q0 d0 - 0\n queue q1 d1 2 0\n"
               "run r q0 1x4 @0 yield prio=125\n wait p q1 1x2")
            .empty());
}

TEST_CASE("runai, reclaim: with fractions, moved if they fit together, else taken") {
  const std::string queues = "nodes 1 1\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 0 0\n queue q2 d 2 0\n";
  CHECK(decide(queues + "run a q0 1x0.5 @0\n run b q1 1x0.5 @1\n wait p q2 1x1") == "-b ~p");
  CHECK(decide(queues + "run a q0 1x0.7 @0\n run b q1 1x0.7 @1\n wait p q2 1x1") == "-b ~p");
  CHECK(decide("nodes 1 1\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 0\n"
               "run a q0 1x0.7 @0\n wait p q1 2x1") == "-a ~p");
  CHECK(decide("nodes 1 1\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 0\n"
               "run a q0 1x0.7 @0\n run b q1 1x0.3 @1\n wait p q1 2x0.7") == "-a ~p");
}

// reclaim_elastic_test.go

TEST_CASE("runai, reclaim: an elastic job gives elastic pods one at a time") {
  const std::string equal = "queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n";
  CHECK(decide("nodes 2\n" + equal + "run r q0 2x1 min=1 @0,0\n wait p q1 1x1") == "-r:1 ~p");
  CHECK(decide("nodes 4\n" + equal + "run r q0 4x1 min=1 @0,0,0,0\n wait p q1 1x2") == "-r:1 -r:1 ~p");
  CHECK(decide("nodes 2\n queue d - - 1\n queue q0 d 1 0\n queue q1 d 1 0\n"
               "run r q0 2x1 min=1 @0,0\n wait p q1 3x1 min=1") == "-r:1 ~p");
  CHECK(decide("nodes 2\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 1\n"
               "run r q0 2x1 min=1 @0,0\n wait p q1 1x2") == "-r ~p");
  const std::string nothing = "nodes 3\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 3 1\n";
  CHECK(decide(nothing + "run r0 q0 2x1 min=1 @0,0\n run r1 q0 1x1 @0\n wait p q1 1x2") == "-r0:1 -r1 ~p");
  CHECK(decide("nodes 4\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 1\n"
               "run r0 q0 2x1 min=1 @0,0\n run r1 q0 2x1 min=1 @0,0\n wait p q1 1x2") == "-r1:1 -r0:1 ~p");
  CHECK(decide(nothing + "run r0 q0 2x1 min=1 @0,0\n run r1 q0 1x1 @0\n wait p q1 1x3") == "-r1 -r0 ~p");
  CHECK(decide("nodes 2\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 1 1\n"
               "run r q0 1x2 @0\n wait p q1 2x1 min=1") == "-r ~p");
  CHECK(decide("nodes 3\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 1 1\n"
               "run r0 q0 2x1 min=1 @0,0\n run p q1 2x1 min=1 @0") == "-r0:1 ~p");
}

// reclaimGang_test.go

TEST_CASE("runai, reclaim: gangs") {
  const std::string queues = "queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 2\n";
  CHECK(decide("nodes 2\n" + queues + "run r q0 1x1 @0\n wait p q1 2x1 prio=100") == "-r ~p");
  CHECK(decide("nodes 1\n" + queues + "run r q0 1x1 @0\n wait p q1 2x1 prio=100").empty());
  CHECK(decide("nodes 10\n" + queues + "run r q0 1x10 @0\n wait p q1 2x2 prio=100").empty());
  CHECK(decide("nodes 2\n" + queues + "run r q0 2x1 @0,0\n wait p q1 1x2 prio=100") == "-r ~p");
  CHECK(decide("nodes 1 1\n queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n"
               "run r q0 2x1 @0,1\n wait p q1 1x1") == "-r ~p");
}

// consolidation_test.go

TEST_CASE("runai, consolidation: a running job moves so that a larger one fits") {
  const std::string two = "nodes 4 4\n queue d - - 1\n queue q0 d 2 1\n";
  CHECK(decide(two + "run r0 q0 1x2 @0\n run r1 q0 1x2 @1\n wait p0 q0 1x3\n wait p1 q0 1x2") ==
        "+p1");  // If the allocate phase ran first, the second job would take the room.
  CHECK(decide(two + "run r0 q0 1x2 @0\n run r1 q0 1x2 @1\n wait p0 q0 1x5\n wait p1 q0 1x3") == "-r1 ~p1");
  CHECK(decide(two + "run r0 q0 1x2 @0\n run r1 q0 1x2 @1\n run r2 q0 1x1 @1\n"
                     "wait p0 q0 1x4\n wait p1 q0 2x3 min=1") == "-r1 ~p1");
  CHECK(decide(two + "run r0 q0 1x3 @0\n run r1 q0 1x3 @1\n wait p0 q0 1x2\n wait p1 q0 1x2").empty());
  CHECK(decide(two + "run r0 q0 1x3 @0\n run r1 q0 1x3 @1\n wait p0 q0 1x3").empty());
}

TEST_CASE("runai, consolidation: only jobs that fit elsewhere move") {
  const std::string one = "nodes 4 4\n queue d - - 1\n queue q0 d 8 0\n";
  CHECK(decide(one + "run r0 q0 1x3 @0\n run r1 q0 1x1 @1\n run r2 q0 1x2 @1\n wait p q0 1x2") == "-r1 ~p");
  CHECK(decide(one + "run r0 q0 1x2 @0 prio=50\n run r1 q0 1x2 @1 prio=75\n wait p q0 1x3") == "-r0 ~p");
  CHECK(decide("nodes 2\n queue d - - 1\n queue q0 d 2 0\n"
               "run r0 q0 1x0.5 @0:0\n run r1 q0 1x0.5 @0:1\n wait p q0 1x1") == "-r1 ~p");
  const std::string two = "queue d - - 1\n queue q0 d 4 0\n queue q1 d 4 0\n";
  CHECK(decide("nodes 4 4\n" + two +
               "run r0 q0 1x2 @0\n run r1 q1 1x1 @0\n run r2 q1 1x3 @1\n wait p q0 1x2") == "-r1 ~p");
  CHECK(decide("nodes 2 2\n queue d - - 1\n queue q0 d 1 0\n queue q1 d 1 0\n"
               "run r0 q0 1x1 @0\n run r1 q1 1x1 @0\n run r2 q1 1x2 @1\n wait p q0 1x1")
            .empty());
}

TEST_CASE("runai, consolidation: non-preemptible jobs do not move, and no room is made for them") {
  CHECK(decide("nodes 2 2\n queue d - - 1\n queue q0 d 4 0\n"
               "run r0 q0 1x1 @0 prio=100\n run r1 q0 1x1 @1 prio=100\n wait p q0 1x2")
            .empty());
  CHECK(decide("nodes 2 2\n queue d - - 1\n queue q0 d 4 0\n"
               "run r0 q0 1x1 @0 prio=100\n run r1 q0 1x1 @1 prio=100\n wait p q0 1x2 prio=100")
            .empty());
}

TEST_CASE("runai, consolidation: elastic pods of elastic jobs move") {
  const std::string one = "queue d - - 1\n queue q0 d 9 0\n";
  CHECK(decide("nodes 4 3\n" + one + "run r q0 2x2 min=1 @0,1\n wait p q0 1x3") == "-r:1 ~p");
  CHECK(decide("nodes 4 3\n" + one + "run r q0 3x2 min=1 @0,0,1\n wait p q0 1x3").empty());
}

TEST_CASE("runai, consolidation: over full nodes, and two at a time") {
  const std::string one = "nodes 4 4 4 4\n queue d - - 1\n queue q0 d 16 0\n";
  CHECK(decide(one + "run r0 q0 1x4 @0\n run r1 q0 1x2 @1\n run r2 q0 1x2 @2\n run r3 q0 1x4 @3\n"
                     "wait p q0 1x3") == "-r2 ~p");
  CHECK(decide(one + "run r0 q0 1x1 @0\n run r1 q0 1x1 @1\n run r2 q0 1x1 @2\n run r3 q0 1x1 @3\n"
                     "run r4 q0 1x1 @0\n run r5 q0 1x1 @1\n run r6 q0 1x1 @2\n run r7 q0 1x1 @3\n"
                     "wait p q0 2x3") == "-r7 -r6 ~p");
}

// preempt_test.go, preempt_elastic_test.go

TEST_CASE("runai, preempt: a lower priority of the same queue yields") {
  const std::string one = "queue d - - 1\n queue q0 d 2 0\n";
  CHECK(decide("nodes 2\n" + one +
               "run r0 q0 1x0.5 @0:0\n run r1 q0 1x1 @0:1\n run r2 q0 1x0.5 @0:0\n wait p q0 1x1 prio=100") ==
        "-r1 ~p");
  CHECK(decide("nodes 1\n queue d - - 1\n queue q0 d 1 0\n run r q0 1x1 @0\n wait p q0 1x1 prio=100") ==
        "-r ~p");
  CHECK(decide("nodes 1\n queue d - - 1\n queue q0 d 1 0\n run r q0 1x1 @0\n wait p q0 1x1").empty());
  CHECK(decide("nodes 2\n" + one + "run r0 q0 1x1 @0\n run r1 q0 1x1 @0\n wait p q0 1x2 prio=100") ==
        "-r1 -r0 ~p");
  CHECK(decide("nodes 2\n" + one + "run r0 q0 1x1 @0\n run r1 q0 1x1 @0 prio=75\n wait p q0 1x1 prio=100") ==
        "-r0 ~p");
  const std::string two = "nodes 4\n queue d - - 1\n queue q0 d 2 0\n queue q1 d 2 0\n";
  CHECK(decide(two + "run r0 q0 1x2 @0\n run r1 q1 1x2 @0\n wait p q0 1x2 prio=100") == "-r0 ~p");
  CHECK(decide(two + "run r0 q0 1x1 @0\n run r1 q1 1x2 @0\n wait p q0 1x2 prio=100") == "-r0 ~p");
  CHECK(decide("nodes 1\n queue d - - 1\n queue q0 d 1 0\n queue q1 d 1 0\n"
               "run r q0 1x1 @0\n wait p q1 1x1 prio=100")
            .empty());
}

TEST_CASE("runai: priorities at both ends of 64 bits") {
  const std::string before = "nodes 1\n queue d - - 1\n queue q0 d 1 0\n";
  const std::string lowest = " prio=-9223372036854775808";
  const std::string next = " prio=-9223372036854775807";
  const std::string highest = " prio=9223372036854775807";
  CHECK(decide(before + "run r q0 1x1 @0" + lowest + "\n wait p q0 1x1" + lowest).empty());
  CHECK(decide(before + "run r q0 1x1 @0" + next + "\n wait p q0 1x1" + lowest).empty());
  CHECK(decide(before + "run r q0 1x1 @0" + lowest + "\n wait p q0 1x1" + next) == "-r ~p");
  CHECK(decide(before + "run r q0 1x1 @0" + lowest + "\n wait p q0 1x1" + highest) == "-r ~p");
  CHECK(decide(before + "wait a q0 1x1" + lowest +
               "\n wait b q0 1x1 prio=1\n wait c q0 1x1 prio=3000000000") == "+c");
  CHECK(decide(before + "wait a q0 1x1" + lowest + "\n wait b q0 1x1" + next) == "+b");
}

TEST_CASE("runai, preempt: of elastic jobs the elastic pods first, one pod at a time") {
  const auto one = [](const std::string& gpus) {
    return "nodes " + gpus + "\n queue d - - 1\n queue q0 d " + gpus + " 0\n";
  };
  CHECK(decide(one("2") + "run r q0 2x1 min=1 @0,0\n wait p q0 1x1 prio=125 yield") == "-r:1 ~p");
  CHECK(decide(one("4") + "run r q0 4x1 min=1 @0,0,0,0\n wait p q0 1x2 prio=125") == "-r:1 -r:1 ~p");
  CHECK(decide(one("2") + "run r q0 2x1 min=1 @0,0\n wait p q0 1x2 prio=125") == "-r ~p");
  CHECK(decide(one("3") + "run r0 q0 2x1 min=1 @0,0\n run r1 q0 1x1 @0\n wait p q0 1x2 prio=125") ==
        "-r0:1 -r1 ~p");
  CHECK(decide(one("4") + "run r0 q0 2x1 min=1 @0,0\n run r1 q0 2x1 min=1 @0,0\n wait p q0 1x2 prio=125") ==
        "-r1:1 -r0:1 ~p");
  CHECK(decide(one("4") + "run r0 q0 1x1 @0\n run r1 q0 2x1 min=1 @0,0\n run r2 q0 1x1 @0\n"
                          "wait p q0 1x4 prio=125") == "-r2 -r1 -r0 ~p");
}

// allocateElastic_test.go

TEST_CASE("runai, allocate: elastic jobs start with their minimum and grow, the smallest first") {
  const std::string one = "queue d - - 1\n queue q0 d 2 0\n";
  CHECK(decide("nodes 2\n" + one + "wait p q0 2x1 min=1") == "+p:1 +p:1");
  CHECK(decide("nodes 1\n" + one + "wait p q0 2x1 min=1") == "+p:1");
  CHECK(decide("nodes 2\n" + one + "run p q0 2x1 min=1 @0") == "+p:1");
  CHECK(decide("nodes 5\n" + one + "wait p0 q0 3x1 min=1\n wait p1 q0 3x1 min=1") ==
        "+p0:1 +p1:1 +p0:1 +p1:1 +p0:1");
}

// integration_tests/reclaim/reclaim_test.go: evicted jobs are released, until nothing is decided any more.

TEST_CASE("runai, in rounds: lent capacity is reclaimed once") {
  CHECK(settle("nodes 8\n queue d - - 1\n queue q0 d 6 6\n queue q1 d 5 5\n"
               "run r q0 1x8 @0\n wait p q1 1x5") == "-r ~p | +p");
  CHECK(settle("nodes 4\n queue d - - 1\n queue q0 d 2 2\n queue q1 d 2 2\n"
               "run r0 q0 1x2 @0\n run r1 q0 1x1 @0\n run r2 q1 1x1 @0\n"
               "wait p0 q1 1x3\n wait p1 q1 1x1\n wait p2 q0 1x1")
            .empty());  // Allocate would give it back to q0: the first job of q1 blocks the second.
  CHECK(settle("nodes 4\n queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n queue q2 d 0 0\n"
               "run r0 q0 1x2 @0\n run r1 q0 1x1 @0\n run r2 q2 1x1 @0\n wait p q1 1x1") == "-r2 ~p | +p");
  CHECK(settle("nodes 4\n queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n queue q2 d 1 0 prio=1\n"
               "run r0 q0 1x1 @0\n run r1 q0 1x1 @0\n run r2 q2 1x1 @0\n run r3 q2 1x1 @0\n"
               "wait p q1 1x1") == "-r1 ~p | +p");
  CHECK(settle("nodes 8\n queue d - - 1\n queue q0 d 1 1\n queue q1 d 1 1\n"
               "run r0 q0 1x1 @0\n run r1 q0 1x3 @0\n run r2 q0 1x4 @0\n"
               "wait p0 q1 1x4\n wait p1 q1 1x4") == "-r2 ~p0 | +p0");
  CHECK(settle("nodes 7\n queue d - - 1\n queue q0 d 2 2\n queue q1 d 1 1\n"
               "run r0 q0 1x4 @0\n run r1 q1 1x3 @0\n wait p q0 1x1") == "-r1 ~p | +p");
}

TEST_CASE("runai, in rounds: between departments") {
  const std::string two = "nodes 2\n queue d1 - 1 1\n queue d2 - 1 1\n queue q0 d1 1 1\n queue q1 d2 1 1\n";
  CHECK(settle(two + "run r0 q0 1x1 @0\n run r1 q0 1x1 @0 prio=100\n wait p q1 1x1") == "-r0 ~p | +p");
  CHECK(settle(two + "run r0 q0 1x1 @0\n run r1 q0 1x1 @0 prio=100\n wait p q1 1x1 prio=100") ==
        "-r0 ~p | +p");
  CHECK(settle("nodes 4\n queue d1 - 2 1\n queue d2 - 2 1\n"
               "queue q0 d1 1 1\n queue q1 d2 1 1\n queue q2 d2 1 1\n"
               "run r0 q0 1x3 @0\n run r1 q1 1x1 @0 prio=100\n wait p q1 1x2")
            .empty());
  CHECK(settle("nodes 8\n queue d1 - 1 1\n queue d2 - 1 1\n queue q0 d1 1 1\n queue q1 d2 1 1\n"
               "run r0 q0 1x4 @0\n run r1 q0 1x1 @0\n wait p q1 1x4") == "-r1 ~p | +p");
  CHECK(settle("nodes 8\n queue d1 - 1 1\n queue q0 d1 1 2\n queue q1 d1 1 1\n queue q d1 0 1 prio=1\n"
               "run a0 q0 1x1 @0\n run a1 q0 1x1 @0\n run a2 q0 1x1 @0\n run a3 q0 1x1 @0\n"
               "run a4 q0 1x1 @0\n run b0 q1 1x1 @0\n run b1 q1 1x1 @0\n run b2 q1 1x1 @0\n"
               "wait p q 1x3") == "-a4 -a3 -b2 ~p | +p");
  CHECK(settle("nodes 4\n queue d1 - 0 1\n queue d2 - 4 1\n"
               "queue q0 d1 1 1\n queue q1 d2 0 0\n queue q2 d2 4 4\n"
               "run r0 q0 1x2 @0\n run r1 q1 1x2 @0\n wait p q2 1x4") == "-r0 -r1 ~p | +p");
  const std::string over =
      "nodes 3 3\n queue d1 - 2 1\n queue d2 - 2 1\n queue q0 d1 2 3\n queue q1 d2 2 0\n";
  CHECK(settle(over + "run r0 q0 1x2 @0\n run r1 q0 1x2 @1 prio=100\n wait p q1 1x2") == "-r0 ~p | +p");
  const std::string full =
      "nodes 3 3\n queue d1 - 3 1\n queue d2 - 3 1\n"
      "queue q0 d1 3 0\n queue q1 d2 2 0\n queue q2 d2 1 0\n";
  const std::string jobs =
      "run r0 q0 1x2 @0\n run r1 q0 1x1 @1 prio=100\n"
      "run r2 q1 1x2 @1\n run r3 q1 1x1 @0\n";
  CHECK(settle(full + jobs + "wait p q2 1x1") == "-r3 ~p | +p");
  CHECK(settle("nodes 3 3\n queue d1 - 1 1\n queue d2 - 1 1\n queue q0 d1 1 1\n queue q1 d2 1 1\n" + jobs +
               "wait p q1 1x1")
            .empty());
  CHECK(settle("nodes 1 1\n queue d1 - 2 1\n queue d2 - 2 1\n queue q0 d1 1 0\n queue q1 d2 1 0\n"
               "run r0 q0 1x1 @0\n run r1 q1 1x1 @1 prio=100\n wait p q1 1x1")
            .empty());
}

TEST_CASE("runai, in rounds: the second in line, roundings, elastic jobs and fractions") {
  CHECK(settle("nodes 2\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 1 1\n"
               "run r q0 1x2 @0\n wait p0 q1 1x2 prio=100\n wait p1 q1 1x1 prio=100") == "-r ~p1 | +p1");
  CHECK(settle("nodes 8\n queue d - - 1\n queue q0 d 4 4\n queue q1 d 2 2\n"
               "run r0 q0 1x5 @0\n run r1 q0 1x1 @0\n run r2 q0 1x1 @0\n wait p q1 1x3") ==
        "-r2 -r1 ~p | +p");
  CHECK(settle("nodes 9\n queue d - - 1\n queue q0 d 4 4\n queue q1 d 4 4\n queue q2 d 10 10\n"
               "run r0 q0 1x5 @0\n run r1 q0 1x2 @0\n run r2 q0 1x1 @0\n wait p3 q2 1x1\n wait p0 q1 1x3") ==
        "-r2 -r1 ~p0 +p3 | +p0");
  CHECK(settle("nodes 4\n queue d - - 1\n queue q0 d 2 2\n queue q1 d 1 1\n"
               "run r q0 1x3 @0\n wait p q1 1x2")
            .empty());
  CHECK(settle("nodes 3\n queue d - - 1\n queue q0 d 1 0\n queue q1 d 2 1\n"
               "run r q0 2x1 min=1 @0,0\n wait p q1 3x1 min=1") == "-r:1 ~p +p:1 | +p:1");
  const std::string three = "nodes 1 1\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 0 0\n queue q2 d 2 0\n";
  CHECK(settle(three + "run r0 q0 1x0.5 @0\n run r1 q1 1x0.5 @1\n wait p q2 1x1") == "-r1 ~p | +p +r1");
  CHECK(settle(three + "run r0 q0 1x0.7 @0\n run r1 q1 1x0.7 @1\n wait p q2 1x1") == "-r1 ~p | +p");
  const std::string two = "nodes 1 1\n queue d - - 1\n queue q0 d 0 0\n queue q1 d 2 0\n";
  CHECK(settle(two + "run r q0 1x0.7 @0\n wait p q1 2x1") == "-r ~p | +p");
  CHECK(settle(two + "run r0 q0 1x0.7 @0\n run r1 q1 1x0.3 @1\n wait p q1 2x0.7") == "-r0 ~p | +p");
}

// Traps from KAI's history, and what it does not promise.

TEST_CASE("runai, trap 15: jobs of several trees reclaim from each other") {
  CHECK(
      decide("nodes 2\n queue a - 1 1\n queue b - 1 1\n run r0 a 1x1 @0\n run r1 a 1x1 @0\n wait p b 1x1") ==
      "-r1 ~p");
}

TEST_CASE(
    "runai, trap 20: the second in line reclaims when the first can't, and whole GPUs block fractions") {
  CHECK(decide("nodes 2\n queue d - - 1\n queue a d 0 0\n queue b d 1 0\n"
               "run r a 1x2 @0\n wait p b 1x2\n wait q b 1x1") == "-r ~q");
  CHECK(decide("nodes 1\n queue d - - 1\n queue a d 1 1\n gone l a 1x1 @0\n wait p a 1x1\n wait q a 1x0.5") ==
        "~p");
}

TEST_CASE("runai, trap 21: rounding gives the last GPU to the lower priority's share, but not its turn") {
  // c's fair share is one, a's and b's are none; yet a is first in line and would get it back.
  const std::string one = "nodes 1\n queue a - 0 1 prio=1\n queue b - 0 1 prio=1\n queue c - 0 1\n";
  CHECK(decide(one + "run r a 1x1 @0\n wait p b 1x1\n wait q c 1x1").empty());
  CHECK(decide(one + "run r c 1x1 @0\n wait p a 1x1\n wait q b 1x1").empty());  // Nor may the higher take it.
}

TEST_CASE("runai, trap 22: requests of 0.6 and 0.6 on one GPU") {
  CHECK(settle("nodes 1\n queue a - 0 1\n queue b - 0 1\n run r b 1x0.6 @0:0\n wait p a 1x0.6") ==
        "-r ~p | +p");
}

TEST_CASE("runai, trap 24: with weights of zero no share includes the surplus, but it is lent all the same") {
  const std::string zero = "nodes 8\n queue a - 2 0\n queue b - 2 0\n";
  CHECK(decide(zero + "wait p a 1x7") == "+p");
  CHECK(decide(zero + "run r a 1x8 @0\n wait p b 1x3").empty());
  CHECK(decide(zero + "run r a 1x8 @0\n wait p b 1x2") == "-r ~p");
}

TEST_CASE("runai, trap 25: a gang larger than its queue's share never reclaims") {
  CHECK(decide("nodes 14\n queue a - 0 1\n queue b - 0 1\n run r a 14x1 @0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
               "wait p b 8x1")
            .empty());
  CHECK(decide("nodes 14\n queue a - 0 1\n queue b - 0 1\n run r a 14x1 @0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
               "wait p b 7x1") == "-r ~p");
}

TEST_CASE("runai, trap 28: the order in which quotas and jobs are given matters only for age") {
  const std::string nodes = "nodes 2 2\n queue d - - 1\n";
  const std::string a = "queue a d 0 0\n";
  const std::string b = "queue b d 0 0\n";
  const std::string c = "queue c d 2 1\n";
  CHECK(decide(nodes + a + b + c + "run r0 a 1x2 @0\n run r1 b 1x2 @1\n wait p c 1x2") == "-r1 ~p");
  CHECK(decide(nodes + c + b + a + "run r0 a 1x2 @0\n run r1 b 1x2 @1\n wait p c 1x2") == "-r0 ~p");
}

TEST_CASE("runai, trap 29: a queue one GPU over its share may lose a gang and fall below what it deserves") {
  CHECK(
      decide("nodes 9\n queue a - 8 0\n queue b - 1 0\n run r0 a 1x1 @0\n run r1 a 1x8 @0\n wait p b 1x1") ==
      "-r1 ~p");
}

TEST_CASE("runai: limits and non-preemptible jobs") {
  CHECK(decide("nodes 9\n queue d - - 1\n queue a d 1 1 limit=3\n wait p a 1x4\n wait q a 1x3") == "+q");
  CHECK(decide("nodes 9\n queue d - 2 1\n queue a d 4 1\n wait p a 1x3 prio=100\n wait q a 1x2 prio=100") ==
        "+q");
}

TEST_CASE("runai: a gang that evicts elastic pods of its quota may exceed the limit") {
  // The second of its pods finds the victims of the first again: they are deducted twice (KAI v0.13).
  world w{"nodes 5\n queue d - - 1\n queue q d 0 1 limit=2\n wait e q 3x0.5 min=1\n wait p q 3x1 prio=75"};
  CHECK(w.step() == "~p");
  CHECK(w.step() == "+p");
  CHECK(w.used("q") == 3);
}

namespace {

/// Two queues with two jobs each as large as the cluster, of which one can run at a time.
const std::string two_queues_for_one_job = R"(
    nodes 16
    queue d - 0 1
    queue q1 d 0 1
    queue q2 d 0 1
    wait a q1 1x16
    wait b q1 1x16
    wait c q2 1x16
    wait d q2 1x16)";

}  // namespace

TEST_CASE("runai: with past usage two queues take turns, though nothing happens but that time passes") {
  const allot::runai by{.k = 1000, .half_life = 128, .window = 256};
  world w{two_queues_for_one_job, by.policies()};
  double of_q1 = 0;
  double of_q2 = 0;
  int evictions = 0;
  for (allot::instant now = 0; now < 1024;) {
    for (std::string said = w.step(now); !said.empty(); said = w.step(now)) {
      evictions += said.starts_with('-') ? 1 : 0;
      w.let_go();
    }
    const auto wakes = w.scheduler().wakes_at();
    REQUIRE(wakes == now + 1);
    of_q1 += w.used("q1");
    of_q2 += w.used("q2");
    now = *wakes;
  }
  CHECK(evictions == 6);
  CHECK(of_q1 / 1024 == doctest::Approx(8.05).epsilon(0.01));
  CHECK(of_q2 / 1024 == doctest::Approx(7.95).epsilon(0.01));
}

TEST_CASE("runai: options") {
  const allot::kai_policies by_default = allot::runai{}.policies();
  CHECK(by_default.k == 0);
  CHECK(by_default.window == 604'800);
  CHECK(by_default.period == 1);
  const allot::runai chosen{.k = 2000,
                            .half_life = 60,
                            .window = 600,
                            .period = 5,
                            .saturation_multiplier = 500,
                            .share_units = {1}};
  const allot::kai_policies p = chosen.policies();
  CHECK(p.k == 2000);
  CHECK(p.half_life == 60);
  CHECK(p.window == 600);
  CHECK(p.period == 5);
  CHECK(allot::runai{.period = -1}.policies().period == 1);
  CHECK(p.saturation_multiplier == 1000);
  CHECK(p.units[0] == 1);
  CHECK(p.units[1] == 1000);
}

TEST_CASE("runai: a job that the host submits twice under one id is two jobs in its queue") {
  world w{R"(
    nodes 2
    queue d - - 1
    queue q d 1 1
    queue r d 1 1
    run a q 1x1 @0
    run b q 1x1 @0
    wait c q 1x1)"};
  REQUIRE(w.scheduler().submit(w.scheduler().what(w.id("c"))));
  w.tell("wait d r 1x1");
  CHECK(w.step() == "-b ~d");
  w.let_go();
  CHECK(w.settle() == "+d");
  w.finished("a");
  CHECK(w.settle() == "+b");
  w.finished("d");
  CHECK(w.settle() == "+c");
  w.finished("b");
  CHECK(w.settle() == "+c");
}
