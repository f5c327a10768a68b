// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/count_allocations.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::job_id;
using allot::job_state;
using allot::limit;
using allot::pending_reason;
using allot::quantity;
using allot::quota_id;
using allot::refusal;
using allot_test::assertion_failed;
using allot_test::host;
using allot_test::host_job;
using allot_test::nodes;
using allot_test::two_teams;

// --- the protocol
// -------------------------------------------------------------------------------------------

TEST_CASE("scheduler: a job waits, starts and ends, and its id is never reused") {
  host<> h{two_teams()};
  const job_id id = h.submit("a1", "a", 3);
  CHECK(h.state("a1") == job_state::pending);
  CHECK(h.scheduler().waiting(h.quota("a")) == 1);
  CHECK(h.used("a") == 0);
  CHECK(h.step() == "+a1");
  CHECK(h.state("a1") == job_state::running);
  CHECK(h.scheduler().waiting(h.quota("a")) == 0);
  CHECK(h.used("a") == 3);
  h.finished("a1");
  CHECK(h.state("a1") == job_state::unknown);
  CHECK(h.used("a") == 0);
  CHECK(h.submit("a2", "a", 1) != id);
  CHECK(h.state("a1") == job_state::unknown);
  CHECK(h.scheduler().finished(id) == allot::refusal::unknown_job);
  CHECK(h.state("a2") == job_state::pending);
}

TEST_CASE("scheduler: a job that can never be admitted is refused with the reason") {
  host<allot::gpu::inventory> h{two_teams(), nodes(2, 4)};
  const auto refused = [&](const host_job& j) { return h.scheduler().refuses(&j); };
  CHECK(refused({"x", h.quota("a"), gpus(8)}) == refusal::none);
  CHECK(refused({"x", h.quota("a"), gpus(9)}) == refusal::larger_than_cluster);
  CHECK(refused({"x", quota_id{9}, gpus(1)}) == refusal::unknown_quota);
  CHECK(refused({"x", quota_id::none(), gpus(1)}) == refusal::unknown_quota);
  CHECK(refused({"x", h.quota("a"), gpus(-1)}) == refusal::invalid_request);
  CHECK(refused({"x", h.quota("a"), quantity::unlimited()}) == refusal::invalid_request);
  CHECK(h.submit("large", "a", 9).is_none());
  CHECK(h.scheduler().waiting(h.quota("a")) == 0);
  CHECK(h.step().empty());
}

TEST_CASE("scheduler: adopted jobs hold their share, and may yield like others") {
  host<> h{two_teams()};
  h.adopt("old", "b", 8);
  CHECK(h.state("old") == job_state::running);
  CHECK(h.used("b") == 8);
  CHECK(h.step().empty());
  h.submit("a1", "a", 2);
  CHECK(h.step() == "-old>a1 ~a1");
  CHECK(h.scheduler().adopt(h.job("bad", "a", -1, {}), 0).why_not == allot::refusal::invalid_request);
}

TEST_CASE("scheduler: an evicted job waits again with its old rank") {
  host<> h{two_teams()};
  h.submit("b1", "b", 4);
  h.submit("b2", "b", 4);
  CHECK(h.step() == "+b1 +b2");
  h.submit("b3", "b", 4);
  CHECK(h.step().empty());
  h.evicted("b1");
  CHECK(h.state("b1") == job_state::pending);
  CHECK(h.used("b") == 4);
  CHECK(h.step() == "+b1");
}

TEST_CASE("scheduler: a job that the host evicts holds its share until it has left") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  h.step();
  h.evicting("b1");
  CHECK(h.state("b1") == job_state::evicting);
  CHECK(h.used("b") == 8);
  h.submit("a1", "a", 6);
  h.submit("a2", "a", 1);
  CHECK(h.step() == "~a1 ~a2");
  CHECK(h.step().empty());
  CHECK(h.used("a") == 0);
  SUBCASE("it ends") {
    h.finished("b1");
    CHECK(h.step() == "+a1 +a2");
  }
  SUBCASE("it is evicted and waits") {
    h.evicted("b1");
    CHECK(h.step() == "+a1 +a2");
    CHECK(h.state("b1") == job_state::pending);
  }
  SUBCASE("it is cancelled") {
    h.cancel("b1");
    CHECK(h.step() == "+a1 +a2");
  }
}

TEST_CASE("scheduler: jobs can be taken back wherever they are") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  h.step();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b1>a1 ~a1");
  h.submit("a2", "a", 9);
  CHECK(h.step().empty());
  h.cancel("a2");  // pending
  CHECK(h.state("a2") == job_state::unknown);
  h.cancel("b1");  // evicting
  CHECK(h.step() == "+a1");
  h.cancel("a1");  // running
  CHECK(h.used("a") == 0);
  CHECK(h.step().empty());
}

TEST_CASE("scheduler: the room of a cancelled nominated job is free for any job") {
  host<> h{two_teams()};
  h.submit("b1", "b", 4);
  h.submit("b2", "b", 4);
  h.step();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b2>a1 ~a1");
  CHECK(h.state("a1") == job_state::nominated);
  CHECK(h.scheduler().waiting(h.quota("a")) == 1);
  h.cancel("a1");
  CHECK(h.scheduler().waiting(h.quota("a")) == 0);
  h.submit("b3", "b", 3);
  CHECK(h.step() == "~b3");
  h.evicted("b2");
  CHECK(h.step() == "+b3");
}

TEST_CASE("scheduler: calls that make no sense in a state are refused") {
  host<> h{two_teams()};
  h.submit("pending", "a", 9);
  h.submit("victim", "b", 8);
  h.step();
  h.submit("reserved", "a", 1);
  CHECK(h.step() == "-victim>reserved ~reserved");
  h.adopt("running", "b", 0);
  CHECK(h.state("pending") == job_state::pending);
  CHECK(h.state("victim") == job_state::evicting);
  CHECK(h.state("reserved") == job_state::nominated);
  CHECK(h.state("running") == job_state::running);
  auto& lab = h.scheduler();
  const auto held = lab.ledger();
  const auto assumed = lab.assumed();
  for (const char* job : {"pending", "reserved"}) {
    CHECK(lab.evicted(h.id(job)) == refusal::wrong_state);
    CHECK(lab.finished(h.id(job)) == refusal::wrong_state);
    CHECK(lab.evicting(h.id(job)) == refusal::wrong_state);
    CHECK(lab.started(h.id(job), 1) == refusal::wrong_state);
    CHECK(h.why(job).reason != pending_reason::not_waiting);
  }
  CHECK(lab.evicting(h.id("victim")) == refusal::wrong_state);
  CHECK(lab.started(h.id("victim"), 1) == refusal::wrong_state);
  CHECK(h.why("victim").reason == pending_reason::not_waiting);
  CHECK(h.why("running").reason == pending_reason::not_waiting);
  CHECK(lab.ledger() == held);
  CHECK(lab.assumed() == assumed);
  CHECK(lab.started(h.id("running"), 1) == refusal::none);
  CHECK(lab.finished(h.id("running")) == refusal::none);
  for (const job_id id : {h.id("running"), job_id{1000}, job_id{0, 7}, job_id::none()}) {
    CHECK(lab.state(id) == job_state::unknown);
    CHECK(lab.evicted(id) == refusal::unknown_job);
    CHECK(lab.evicting(id) == refusal::unknown_job);
    CHECK(lab.finished(id) == refusal::unknown_job);
    CHECK(lab.cancel(id) == refusal::unknown_job);
    CHECK(lab.started(id, 1) == refusal::unknown_job);
    CHECK(lab.adopt_elastic_pod(id, 1).why_not == refusal::unknown_job);
    CHECK(lab.why(id).reason == pending_reason::not_waiting);
    CHECK(lab.what(id) == nullptr);
    CHECK(lab.request(id) == allot::resources<>{});
    CHECK(lab.elastic_pods_of(id).empty());
    static_cast<void>(lab.place_of(id));
    static_cast<void>(lab.pick(id));
  }
  CHECK(lab.ledger() == held);
  CHECK(lab.assumed() == assumed);
}

TEST_CASE("scheduler: the newest yields by the time at which it really started") {
  host<> h{two_teams()};
  h.submit("b1", "b", 3);
  h.submit("b2", "b", 3);
  h.step();
  h.scheduler().started(h.id("b1"), 50);
  h.scheduler().started(h.id("b2"), 40);
  h.submit("a1", "a", 4);
  CHECK(h.step_at(60) == "-b1>a1 ~a1");
}

TEST_CASE("scheduler: a minimal view is enough") {
  struct least {
    using job = int;
    quota_id quota(job) const { return quota_id{0}; }
    allot::resources<> request(job j) const { return gpus(j); }
    int priority(job) const { return 0; }
  };
  allot::scheduler<least> s{{}, allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(4)}}).value()};
  // Submission order is the order of the calls.
  for (const int j : {3, 4, 1}) REQUIRE(s.submit(j));
  const auto& plan = s.step(0);
  REQUIRE(plan.admissions.size() == 2);
  CHECK(plan.admissions[0].what == 3);
  CHECK(plan.admissions[1].what == 1);
}

// --- queues
// -------------------------------------------------------------------------------------------------

TEST_CASE("scheduler: a strict queue is blocked by its head, the others are not") {
  host<> h{two_teams()};
  h.configure("a",
              {.head = allot::queue_head::strict, .preempt = {.reclaim = allot::preempt_reclaim::never}});
  h.submit("b1", "b", 3);
  h.step();
  h.submit("a1", "a", 6);
  h.submit("a2", "a", 1);
  h.submit("b2", "b", 1);
  CHECK(h.step() == "+b2");
  REQUIRE(h.pending().size() == 1);
  CHECK(h.pending().front().what->name == "a1");
  CHECK(h.why("a2").reason == pending_reason::behind_head);
  SUBCASE("the head leaves") {
    h.cancel("a1");
    CHECK(h.step() == "+a2");
  }
  SUBCASE("there is room for it") {
    h.finished("b1");
    CHECK(h.step() == "+a1 +a2");
  }
  SUBCASE("a job that ranks before it is submitted") {
    h.submit("a0", "a", 1, {.priority = 1});
    CHECK(h.step() == "+a0");
  }
  SUBCASE("the queue is no longer strict") {
    h.configure("a", {.preempt = {.reclaim = allot::preempt_reclaim::never}});
    CHECK(h.step() == "+a2");
  }
}

TEST_CASE("scheduler: otherwise smaller jobs pass, in their order") {
  host<> h{two_teams()};
  h.submit("a1", "a", 9);
  h.submit("a2", "a", 5);
  h.submit("a3", "a", 2);
  h.submit("a4", "a", 2);
  h.submit("a5", "a", 1);
  CHECK(h.step() == "+a2 +a3 +a5");
}

TEST_CASE("scheduler: priority ranks a queue, or submission alone") {
  for (const auto order : {allot::queue_order::priority, allot::queue_order::fifo}) {
    host<> h{two_teams()};
    h.configure("a", {.order = order, .preempt = {.within = allot::preempt_within::never}});
    h.submit("a1", "a", 2, {.priority = 1});
    h.submit("a2", "a", 2, {.priority = 3});
    h.submit("a3", "a", 2, {.priority = 2});
    CHECK(h.step() == (order == allot::queue_order::fifo ? "+a1 +a2 +a3" : "+a2 +a3 +a1"));
  }
}

TEST_CASE("scheduler: in a queue by submission a job may preempt where an equal one before it may not") {
  host<> h{{{.name = "q", .nominal = gpus(2)}}};
  h.configure("q", {.order = allot::queue_order::fifo});
  h.submit("q1", "q", 2, {.priority = 1});
  CHECK(h.step() == "+q1");
  h.submit("q2", "q", 2, {.priority = 1});
  h.submit("q3", "q", 2, {.priority = 5});
  CHECK(h.step() == "-q1>q3 ~q3");
}

// --- borrowing and reclaim
// ----------------------------------------------------------------------------------

TEST_CASE("scheduler: two borrowers that fit singly but not together: one of them (Kueue #822)") {
  host<> h{{{.name = "root", .nominal = gpus(4)},
            {.name = "a", .parent = "root"},
            {.name = "b", .parent = "root"}}};
  h.submit("a1", "a", 3);
  h.submit("b1", "b", 3);
  CHECK(h.step() == "+a1");
  CHECK(h.scheduler().ledger().is_sound());
}

TEST_CASE("scheduler: an admission says what it borrows") {
  host<> h{two_teams()};
  h.submit("a1", "a", 3);
  h.submit("a2", "a", 3);
  const auto& plan = h.scheduler().step(1);
  REQUIRE(plan.admissions.size() == 2);
  CHECK(plan.admissions[0].borrows == allot::resources<>{gpus(0)});
  CHECK(plan.admissions[1].borrows == allot::resources<>{gpus(2)});
}

TEST_CASE("scheduler: capacity of victims that leave one by one goes to the beneficiary alone") {
  host<> h{two_teams()};
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  h.step();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b4>a1 -b3>a1 ~a1");
  // Meanwhile jobs of the same queue and of another are submitted, and ask for what was released.
  h.evicted("b4");
  h.submit("a2", "a", 1, {.priority = -1});
  h.submit("b5", "b", 2);
  CHECK(h.step().empty());
  CHECK(h.state("b4") == job_state::pending);
  h.submit("a3", "a", 2);
  CHECK(h.step().empty());
  h.evicted("b3");
  CHECK(h.step() == "+a1");
  CHECK(h.step().empty());
  CHECK(h.used("a") == 4);
  CHECK(h.used("b") == 4);
}

TEST_CASE("scheduler: what one victim leaves is not taken by a smaller job that was decided on later") {
  host<> h{{{.name = "root"},
            {.name = "a", .parent = "root", .nominal = gpus(8)},
            {.name = "c", .parent = "root", .nominal = gpus(4)},
            {.name = "b", .parent = "root"}}};
  for (const char* name : {"b1", "b2", "b3"}) h.submit(name, "b", 4);
  CHECK(h.step() == "+b1 +b2 +b3");
  h.submit("a1", "a", 8);
  CHECK(h.step() == "-b3>a1 -b2>a1 ~a1");
  h.submit("c1", "c", 4);
  CHECK(h.step() == "-b1>c1 ~c1");
  SUBCASE("the victims of the first leave first") {
    h.evicted("b3");
    CHECK(h.step().empty());
    h.evicted("b2");
    CHECK(h.step() == "+a1");
    h.evicted("b1");
    CHECK(h.step() == "+c1");
  }
  SUBCASE("those of the second leave first: it need not wait") {
    h.evicted("b1");
    CHECK(h.step() == "+c1");
    h.evicted("b2");
    CHECK(h.step().empty());
    h.evicted("b3");
    CHECK(h.step() == "+a1");
  }
  SUBCASE("the first is cancelled") {
    h.evicted("b3");
    h.cancel("a1");
    CHECK(h.step() == "~b3 +c1");  // b3 is nominated again on what b2 is to release
    h.evicted("b2");
    CHECK(h.step() == "~b2 +b3");  // and b2 on what b1 is to release
    h.evicted("b1");
    CHECK(h.step() == "+b2");
  }
}

TEST_CASE("scheduler: beneficiaries start in the order of the decisions when their room comes at once") {
  host<> h{{{.name = "root"},
            {.name = "a", .parent = "root", .nominal = gpus(6)},
            {.name = "b", .parent = "root"}}};
  h.submit("b1", "b", 6);
  h.step();
  h.submit("a1", "a", 2);
  h.submit("a2", "a", 3);
  h.submit("a3", "a", 1);
  CHECK(h.step() == "-b1>a1 ~a1 ~a2 ~a3");
  h.evicted("b1");
  CHECK(h.step() == "+a1 +a2 +a3");
}

TEST_CASE("scheduler: a beneficiary starts before its victims have left if others make room") {
  host<> h{two_teams()};
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  h.step();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b4>a1 -b3>a1 ~a1");
  h.finished("b1");
  CHECK(h.step().empty());
  h.finished("b2");
  CHECK(h.step() == "+a1");
  // Jobs that are being evicted still hold their share. Once they are released there is room.
  CHECK(h.state("b4") == job_state::evicting);
  CHECK(h.used("b") == 4);
  h.evicted("b4");
  CHECK(h.step() == "+b4");
  h.evicted("b3");
  CHECK(h.step() == "+b3");
}

TEST_CASE("scheduler: an owner claims its own before the borrower nominated on it has started") {
  host<> h{{{.name = "root"},
            {.name = "a", .parent = "root", .nominal = gpus(4)},
            {.name = "b", .parent = "root"}}};
  h.submit("b0", "b", 4);
  h.step();
  h.submit("b1", "b", 4, {.priority = 1});
  CHECK(h.step() == "-b0>b1 ~b1");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "~a1");
  h.evicted("b0");
  CHECK(h.step() == "+a1");
  CHECK(h.state("b1") == job_state::pending);
  CHECK(h.used("a") == 4);
}

TEST_CASE("scheduler: a non-preemptible job never borrows and is never a victim") {
  host<> h{two_teams()};
  h.submit("b1", "b", 5, {.preemptible = false});
  CHECK(h.step().empty());
  CHECK(h.pending().front().binding->kind == allot::bound::guarantee);
  h.submit("b2", "b", 4, {.preemptible = false});
  h.submit("b3", "b", 4);
  CHECK(h.step() == "+b2 +b3");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b3>a1 ~a1");
  h.submit("b4", "b", 1, {.priority = 9});
  CHECK(h.step().empty());
}

TEST_CASE("scheduler: a search that gave up says so") {
  allot::policies<> tight;
  tight.search_budget = 1;
  host<> h{two_teams(), {}, tight};
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  h.step();
  h.submit("a1", "a", 2);
  CHECK(h.step() == "-b4>a1 ~a1");
  h.evicted("b4");
  h.step();
  h.finished("a1");
  CHECK(h.step() == "+b4");
  h.submit("a2", "a", 4);
  CHECK(h.step().empty());
  REQUIRE(h.pending().size() == 1);
  CHECK(h.pending().front().reason == pending_reason::not_proven);
  REQUIRE(h.pending().front().binding.has_value());
  CHECK(h.pending().front().binding->missing == gpus(4));
  CHECK(h.why("a2").reason == pending_reason::not_proven);
  // With a3 it would borrow, and no job yields for that.
  h.finished("b1");
  h.submit("a3", "a", 1, {.priority = 1});
  CHECK(h.step() == "+a3");
  CHECK(h.why("a2").reason == pending_reason::quota);
}

// --- placement
// ----------------------------------------------------------------------------------------------

TEST_CASE("scheduler: a job with quota but no place waits with the placement's reason") {
  host<allot::gpu::inventory> h{{{.name = "q", .nominal = gpus(16)}}, nodes(2, 4)};
  h.submit("q1", "q", 3);
  h.submit("q2", "q", 3);
  CHECK(h.step() == "+q1 +q2");
  h.submit("q3", "q", 2);
  SUBCASE("in the plan and when asked") {
    CHECK(h.step().empty());
    REQUIRE(h.pending().size() == 1);
    CHECK(h.pending().front().reason == pending_reason::placement);
    CHECK_FALSE(h.pending().front().binding.has_value());
    REQUIRE(h.pending().front().placement.has_value());
    CHECK(h.pending().front().placement->reason == allot::gpu::obstacle::fragmented);
  }
  SUBCASE("only when asked, if plans explain nothing") {
    h.scheduler().explain_plans(false);
    CHECK(h.step().empty());
    REQUIRE(h.pending().size() == 1);
    CHECK_FALSE(h.pending().front().placement.has_value());
  }
  CHECK(h.why("q3").reason == pending_reason::placement);
}

TEST_CASE("scheduler: places are cleared for a gang, and it starts when they are empty") {
  host<allot::gpu::inventory> h{two_teams(), nodes(2, 4)};
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  CHECK(h.step() == "+b1 +b2 +b3 +b4");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b4>a1 -b3>a1 ~a1");
  h.evicted("b4");
  CHECK(h.step().empty());
  CHECK_FALSE(h.scheduler().places().ready(h.scheduler().place_of(h.id("a1"))));
  h.evicted("b3");
  CHECK(h.step() == "+a1");
  CHECK(h.scheduler().places().used() == gpus(8));
  CHECK(h.scheduler().places().held() == gpus(0));
}

TEST_CASE("scheduler: a job within quota may wait for its place alone") {
  host<allot::gpu::inventory> h{{{.name = "q", .nominal = gpus(16)}}, nodes(2, 4)};
  h.submit("q1", "q", 2);
  h.submit("q2", "q", 4);
  CHECK(h.step() == "+q1 +q2");
  h.evicting("q2");
  h.submit("q3", "q", 4);
  h.submit("q4", "q", 2);
  // q3 is placed where q2 still runs; q4 has a place of its own and need not wait.
  CHECK(h.step() == "~q3 +q4");
  h.finished("q2");
  CHECK(h.step() == "+q3");
}

TEST_CASE("scheduler: after the host has made room, retry tries again") {
  host<allot::gpu::inventory> h{{{.name = "q", .nominal = gpus(16)}}, nodes(1, 4)};
  const auto blocker = h.scheduler().take_place({.gpus = gpus(3)});
  REQUIRE(blocker.has_value());
  h.submit("q1", "q", 2);
  CHECK(h.step().empty());
  CHECK(h.scheduler().release_place(*blocker) == refusal::none);
  CHECK(h.step().empty());
  h.scheduler().retry();
  CHECK(h.step() == "+q1");
}

TEST_CASE("scheduler: jobs are adopted where they run") {
  host<allot::gpu::inventory> h{two_teams(), nodes(1, 4)};
  const auto at = h.scheduler().take_place({.gpus = gpus(4)});
  const host_job* const old = h.job("old", "b", 4, {});
  const job_id id = h.scheduler().adopt(old, 0, *at);
  CHECK(h.scheduler().place_of(id) == *at);
  h.submit("a1", "a", 1);
  CHECK(h.step().empty());
  h.scheduler().finished(id);
  CHECK(h.step() == "+a1");
}

// --- explanations
// -------------------------------------------------------------------------------------------

TEST_CASE("scheduler: a pending reason refers to the state after the plan") {
  // b1 is tried first, and is short of 2; then a1 takes the room that b1 left.
  host<> h{{{.name = "root", .nominal = gpus(6)},
            {.name = "a", .parent = "root", .weight = fair_weight::milli(1)},
            {.name = "b", .parent = "root", .weight = fair_weight::whole(1)}}};
  h.submit("b1", "b", 8);
  h.submit("a1", "a", 5);
  CHECK(h.step() == "+a1");
  REQUIRE(h.pending().size() == 1);
  REQUIRE(h.pending().front().binding.has_value());
  CHECK(h.pending().front().binding->quota == h.quota("root"));
  CHECK(h.pending().front().binding->kind == allot::bound::capacity);
  CHECK(h.pending().front().binding->missing == gpus(7));
}

TEST_CASE("scheduler: why a job waits, as of now") {
  host<> h{{{.name = "root"},
            {.name = "a", .parent = "root", .nominal = gpus(4)},
            {.name = "b", .parent = "root", .nominal = gpus(4), .borrow = limit::at_most(gpus(2))}}};
  h.submit("b1", "b", 7);
  CHECK(h.why("b1").reason == pending_reason::quota);
  h.submit("b2", "b", 1);
  CHECK(h.step() == "+b2");
  const auto why = h.why("b1");
  CHECK(why.id == h.id("b1"));
  CHECK(why.what->name == "b1");
  CHECK(why.quota == h.quota("b"));
  REQUIRE(why.binding.has_value());
  CHECK(why.binding->kind == allot::bound::borrow_limit);
  CHECK(why.binding->missing == gpus(2));
  h.submit("a1", "a", 1);
  h.adopt("b3", "b", 5);
  CHECK(h.step() == "+a1");
  h.submit("a2", "a", 3);
  CHECK(h.step() == "-b3>a2 ~a2");
  CHECK(h.why("a2").reason == pending_reason::evictions);
  CHECK_FALSE(h.why("a2").binding.has_value());
}

// --- changes of the tree
// ------------------------------------------------------------------------------------

TEST_CASE("scheduler: apply reports quotas over their limits, and owners reclaim") {
  host<> h{two_teams()};
  h.submit("b1", "b", 2);
  h.submit("b2", "b", 2);
  h.submit("b3", "b", 2);
  h.step();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b3>a1 ~a1");
  h.evicted("b3");
  CHECK(h.step() == "+a1");
  const std::array<allot::quota_change<1>, 2> moves_two{allot::resize_quota<1>{h.quota("b"), gpus(6)},
                                                        allot::resize_quota<1>{h.quota("a"), gpus(2)}};
  const auto over = h.scheduler().apply(moves_two);
  REQUIRE(over);
  CHECK(over.value().empty());
  CHECK(h.settle() == "-a1>b3 ~b3 +b3");
}

TEST_CASE("scheduler: quotas are added, moved and removed while jobs wait and run") {
  host<> h{two_teams()};
  h.submit("a1", "a", 6);
  h.submit("a2", "a", 8);
  CHECK(h.step() == "+a1");
  const auto apply = [&](const allot::quota_change<1>& c) {
    const std::array<allot::quota_change<1>, 1> one{c};
    return static_cast<bool>(h.scheduler().apply(one));
  };
  REQUIRE(apply(allot::add_quota<1>{{.name = "c", .parent = "root", .nominal = gpus(6)}}));
  CHECK(h.step() == "+a2");
  h.submit("c1", "c", 6);
  CHECK(h.settle() == "-a2>c1 ~c1 +c1");
  // A quota with jobs, pending or running, is not removed.
  CHECK_FALSE(apply(allot::remove_quota{h.quota("a")}));
  CHECK_FALSE(apply(allot::remove_quota{h.quota("c")}));
  h.cancel("c1");
  // a2 wants the 8 that exist with c.
  REQUIRE(apply(allot::remove_quota{h.quota("c")}));
  CHECK(h.step().empty());
  REQUIRE(apply(allot::add_quota<1>{{.name = "other", .nominal = gpus(20)}}));
  REQUIRE(apply(allot::move_quota{h.quota("b"), h.quota("other")}));
  CHECK(h.step().empty());
  REQUIRE(apply(allot::move_quota{h.quota("a"), h.quota("other")}));
  CHECK(h.step() == "+a2");
  CHECK_FALSE(apply(allot::remove_quota{quota_id{77}}));
  CHECK(h.scheduler().submit(h.job("x", "c", 1, {})).why_not == allot::refusal::unknown_quota);
}

TEST_CASE("scheduler: a quota whose last job was pending and cancelled can be removed") {
  host<> h{two_teams()};
  h.submit("a1", "a", 9);
  CHECK(h.step().empty());
  h.cancel("a1");
  const std::array<allot::quota_change<1>, 1> removal{allot::remove_quota{h.quota("a")}};
  REQUIRE(h.scheduler().apply(removal));
  CHECK(h.step().empty());
  h.submit("b1", "b", 4);
  CHECK(h.step() == "+b1");
}

TEST_CASE("scheduler: problems with a change leave everything as it was") {
  host<> h{two_teams()};
  h.submit("a1", "a", 4);
  h.step();
  const std::vector<allot::quota_change<1>> changes{allot::resize_quota<1>{h.quota("b"), gpus(9)},
                                                    allot::remove_quota{h.quota("a")},
                                                    allot::remove_quota{quota_id{9}}};
  const auto before = h.scheduler().ledger();
  const auto over = h.scheduler().apply(changes);
  REQUIRE_FALSE(over);
  CHECK(over.problems().front().code == allot::problem_code::in_use);
  CHECK(over.problems().front().subject == "a");
  CHECK(h.scheduler().ledger() == before);
}

TEST_CASE("scheduler: a nominated job without room is pending again") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  h.step();
  h.submit("a1", "a", 4);
  h.submit("a2", "a", 2);
  CHECK(h.step() == "-b1>a1 ~a1 ~a2");
  const std::array<allot::quota_change<1>, 1> smaller{allot::resize_quota<1>{h.quota("b"), gpus(0)}};
  REQUIRE(h.scheduler().apply(smaller));
  CHECK(h.state("a1") == job_state::nominated);
  CHECK(h.state("a2") == job_state::pending);
  CHECK(h.scheduler().waiting(h.quota("a")) == 2);
  CHECK(h.step().empty());
  h.evicted("b1");
  CHECK(h.step() == "+a1");
}

// --- allocation
// ---------------------------------------------------------------------------------------------

TEST_CASE("scheduler: a steady cycle does not allocate") {
  struct many {
    using job = std::uint32_t;
    quota_id quota(job j) const { return quota_id{1 + j / 1000}; }
    allot::resources<> request(job j) const { return gpus(1 + j % 4); }
    int priority(job j) const { return static_cast<int>(j % 2); }
    allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(1 + j % 4), .total = true}; }
  };
  std::vector<allot::quota_spec<>> specs{{.name = "root"},
                                         {.name = "a", .parent = "root", .nominal = gpus(20)},
                                         {.name = "b", .parent = "root", .nominal = gpus(8)},
                                         {.name = "c", .parent = "root", .nominal = gpus(4)}};
  allot::scheduler<many, allot::gpu::inventory> s{many{}, allot::build_quota_tree<1>(specs).value(),
                                                  nodes(4, 8)};
  std::vector<job_id> running;
  running.reserve(1000);
  std::size_t decisions = 0;
  allot::instant now = 0;
  std::uint32_t next = 0;
  std::array<job_id, 240> ids;
  std::size_t count = 0;
  const auto work = [&] {
    // First c borrows all it can, then a reclaims its own, then all submit jobs.
    for (std::uint32_t round = 0; round < 60; ++round) {
      const std::uint32_t team = round < 20 ? 2 : (round < 40 ? 0 : round % 3);
      for (int i = 0; i < 4; ++i) ids.at(count++) = s.submit(team * 1000 + next++ % 600);
      const auto& plan = s.step(++now);
      decisions += plan.evictions.size();
      for (const auto& a : plan.admissions) running.push_back(a.id);
      for (const auto& e : plan.evictions) std::erase(running, e.id);
      std::array<job_id, 64> going;
      const std::size_t leaving = plan.evictions.size();
      for (std::size_t i = 0; i < leaving; ++i) going[i] = plan.evictions[i].id;
      for (std::size_t i = 0; i < leaving; ++i) s.evicted(going[i]);
      for (int i = 0; i < 2 && !running.empty(); ++i) {
        const job_id done = running.front();
        running.erase(running.begin());
        if (s.state(done) == allot::job_state::running) s.finished(done);
      }
      for (const auto& a : s.step(++now).admissions) running.push_back(a.id);
    }
    // Remaining jobs are removed, so that every round begins in the same state.
    while (count > 0) s.cancel(ids[--count]);
    running.clear();
    static_cast<void>(s.step(++now));
    next = 0;
  };
  work();
  work();
  const std::size_t before = decisions;
  CHECK(allot_test::allocations_in(work) == 0);
  CHECK(decisions > before);
}

TEST_CASE("scheduler: a job nominated on a failed or closed node is decided on again") {
  host<allot::gpu::inventory> h{{{.name = "root"},
                                 {.name = "a", .parent = "root", .nominal = gpus(8)},
                                 {.name = "b", .parent = "root", .nominal = gpus(4)}},
                                nodes(3, 4)};
  for (const char* name : {"b1", "b2", "b3"}) h.submit(name, "b", 4);
  CHECK(h.step() == "+b1 +b2 +b3");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b3>a1 ~a1");
  const auto& inventory = h.scheduler().places();
  const auto at = h.scheduler().place_of(h.id("a1"));
  h.scheduler().nodes().close((*inventory.pods(at).begin()).where.node);
  h.scheduler().retry();
  CHECK(h.step() == "-b2>a1 ~a1");
  h.evicted("b3");
  CHECK(h.step().empty());
  h.evicted("b2");
  CHECK(h.step() == "+a1");
  CHECK(inventory.usable(h.scheduler().place_of(h.id("a1"))));
}

TEST_CASE("scheduler: adopting a job beyond its quota revokes nominations without room") {
  host<> h{two_teams()};
  h.submit("b1", "b", 8);
  CHECK(h.step() == "+b1");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b1>a1 ~a1");
  h.adopt("a2", "a", 6);
  h.evicted("b1");
  CHECK(h.step().empty());
  CHECK(h.state("a1") == job_state::pending);
  h.finished("a2");
  CHECK(h.step() == "+a1");
}

TEST_CASE("scheduler: an adopted job has a place that the placement has given") {
  host<allot::gpu::inventory> h{two_teams(), nodes(1, 4)};
  auto& lab = h.scheduler();
  const auto* j = h.job("j", "a", 2, {});
  CHECK(lab.adopt(j, 0).why_not == refusal::unknown_place);
  const auto at = lab.take_place({.gpus = gpus(2), .total = true});
  REQUIRE(at);
  const auto taken = lab.adopt(j, 0, *at);
  REQUIRE(taken);
  CHECK(lab.finished(taken) == refusal::none);
  CHECK(lab.adopt(j, 0, *at).why_not == refusal::unknown_place);
  CHECK(lab.places().used() == gpus(0));
}

TEST_CASE("scheduler: a place is one job's: no other is adopted there") {
  host<allot::gpu::inventory> h{two_teams(), nodes(1, 8)};
  auto& lab = h.scheduler();
  const auto same = [&] {
    return lab.ledger().own_usage(h.quota("a"), 0) + lab.ledger().own_usage(h.quota("b"), 0) ==
           lab.places().used();
  };
  const auto at = lab.take_place({.gpus = gpus(4)});
  REQUIRE(at);
  const auto first = lab.adopt(h.job("x", "a", 4, {}), 0, *at);
  REQUIRE(first);
  CHECK(lab.adopt(h.job("y", "a", 4, {}), 0, *at).why_not == refusal::place_in_use);
  CHECK(same());
  // Nor where the scheduler has placed one itself.
  h.submit("z", "b", 2);
  CHECK(h.step() == "+z");
  CHECK(lab.adopt(h.job("y", "a", 2, {}), 0, lab.place_of(h.id("z"))).why_not == refusal::place_in_use);
  CHECK(same());
  // One that is on its way out has its place until it has left.
  CHECK(lab.evicting(first) == refusal::none);
  CHECK(lab.adopt(h.job("y", "a", 4, {}), 0, *at).why_not == refusal::place_in_use);
  CHECK(lab.evicted(first) == refusal::none);
  CHECK(lab.adopt(h.job("y", "a", 4, {}), 0, *at).why_not == refusal::unknown_place);
  CHECK(same());
}

TEST_CASE("scheduler: a job that waits for evictions has its place too") {
  host<allot::gpu::inventory> h{two_teams(), nodes(1, 8)};
  auto& lab = h.scheduler();
  h.submit("b1", "b", 8);
  CHECK(h.step() == "+b1");
  h.submit("a1", "a", 4);
  CHECK(h.step() == "-b1>a1 ~a1");
  const auto at = lab.place_of(h.id("a1"));
  CHECK(lab.adopt(h.job("y", "a", 4, {}), 0, at).why_not == refusal::place_in_use);
  CHECK(lab.release_place(at) == refusal::place_in_use);
  h.cancel("a1");
  CHECK(lab.release_place(at) == refusal::unknown_place);
}

TEST_CASE("scheduler: the host gives back what it has taken, and no job's place") {
  host<allot::gpu::inventory> h{two_teams(), nodes(2, 4)};
  auto& lab = h.scheduler();
  h.submit("a1", "a", 4);
  CHECK(h.step() == "+a1");
  CHECK(lab.release_place(lab.place_of(h.id("a1"))) == refusal::place_in_use);
  CHECK(lab.places().used() == gpus(4));
  const auto own = lab.take_place({.gpus = gpus(3)});
  REQUIRE(own);
  CHECK(lab.places().used() == gpus(7));
  CHECK(lab.release_place(*own) == refusal::none);
  CHECK(lab.release_place(*own) == refusal::unknown_place);
  CHECK(lab.release_place({}) == refusal::unknown_place);
  CHECK(lab.places().used() == gpus(4));
  h.finished("a1");
  CHECK(lab.places().used() == gpus(0));
}

TEST_CASE("scheduler: a place that was taken before there was a scheduler can be adopted, once") {
  auto before = nodes(1, 4);
  const auto at = before.place({.gpus = gpus(2)});
  REQUIRE(at);
  host<allot::gpu::inventory> h{two_teams(), std::move(before)};
  REQUIRE(h.scheduler().adopt(h.job("x", "a", 2, {}), 0, *at));
  CHECK(h.scheduler().adopt(h.job("y", "a", 2, {}), 0, *at).why_not == refusal::place_in_use);
  // So can one in a copy of the nodes of another scheduler, whose jobs are no jobs of this one.
  host<allot::gpu::inventory> other{two_teams(), h.scheduler().places()};
  CHECK(other.scheduler().adopt(other.job("x", "a", 2, {}), 0, *at));
  CHECK(other.scheduler().release_place(*at) == refusal::place_in_use);
}

namespace {

template <class S>
concept gives_unchecked = requires(S& s) {
  s.unchecked_places();
};
template <class P>
concept places_or_releases = requires(P& p, allot::gpu::allocation_id at, allot::gpu::pod_request d) {
  requires requires {
    p.place(d);
  } || requires {
    p.release(at);
  } || requires {
    p.vacate(at);
  } || requires {
    p.reoccupy(at);
  } || requires {
    p.save();
  };
};

}  // namespace

TEST_CASE("scheduler: what a host may change in an inventory is its nodes") {
  using lab_type = host<allot::gpu::inventory>::scheduler_type;
  static_assert(allot::guarded_placement<allot::gpu::inventory>);
  static_assert(std::is_const_v<std::remove_reference_t<decltype(std::declval<lab_type&>().places())>>);
  static_assert(!gives_unchecked<lab_type> && gives_unchecked<host<>::scheduler_type>);
  static_assert(!places_or_releases<decltype(std::declval<lab_type&>().nodes())>);
  static_assert(places_or_releases<allot::gpu::inventory>);
  host<allot::gpu::inventory> h{two_teams(), nodes(1, 4)};
  auto& lab = h.scheduler();
  CHECK(lab.nodes().close(allot::gpu::node_id{0}));
  CHECK(lab.places().is_closed(allot::gpu::node_id{0}));
  CHECK_FALSE(lab.nodes().close(allot::gpu::node_id{7}));
  h.submit("a1", "a", 1);
  CHECK(h.step().empty());
  CHECK(lab.nodes().reopen(allot::gpu::node_id{0}));
  lab.retry();
  CHECK(h.step() == "+a1");
  CHECK(lab.nodes().expect_end(lab.place_of(h.id("a1")), 7));
  CHECK_FALSE(lab.nodes().expect_end({}, 7));
}

TEST_CASE("scheduler: usage that can't be counted is not adopted") {
  host<> h{two_teams()};
  const auto most = allot::quantity::milli(allot::quantity::unlimited().in_milli() - 1);
  host_job large{"large", h.quota("a"), most, 0, true, 100};
  CHECK(h.scheduler().adopt(&large, 0));
  host_job more{"more", h.quota("b"), most, 0, true, 101};
  CHECK(h.scheduler().adopt(&more, 0).why_not == refusal::invalid_request);
  CHECK(h.scheduler().ledger().own_usage(h.quota("a"), 0) == most);
}

TEST_CASE("scheduler: memory after many jobs of different sizes is that of the live ones") {
  struct sized {
    using job = std::uint32_t;
    quota_id quota(job) const { return quota_id{0}; }
    allot::resources<> request(job j) const { return quantity::milli(1 + j); }
    int priority(job) const { return 0; }
    allot::instant time_limit(job) const { return 1'000'000'000; }
  };
  allot::scheduler<sized> s{sized{},
                            allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(100'000)}}).value()};
  std::vector<job_id> running;
  std::uint32_t next = 0;
  allot::instant now = 0;
  const auto round = [&] {
    for (int i = 0; i < 2'000; ++i) {
      running.push_back(s.submit(next++));
      static_cast<void>(s.step(++now));
      if (running.size() > 20) {
        CHECK(s.finished(running.front()) == refusal::none);
        running.erase(running.begin());
      }
    }
  };
  round();
  const auto held = allot_test::bytes_in_use();
  for (int i = 0; i < 10; ++i) round();
  CHECK(allot_test::bytes_in_use() < held + 64 * 1024);
}

TEST_CASE("scheduler: a negative number of pods is refused") {
  struct signed_pods {
    using job = int;
    quota_id quota(job) const { return quota_id{0}; }
    allot::resources<> request(job j) const { return gpus(j); }
    allot::resources<> request(job, std::uint32_t pods) const { return gpus(1) * pods; }
    int priority(job) const { return 0; }
    int pods(job j) const { return j; }
    int min_pods(job j) const { return j == -2 ? 1 : j; }
  };
  allot::scheduler<signed_pods> s{signed_pods{},
                                  allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(4)}}).value()};
  CHECK(s.submit(-1).why_not == refusal::invalid_request);
  CHECK(s.submit(-2).why_not == refusal::invalid_request);
  CHECK(s.submit(2));
}
