// SPDX-License-Identifier: BSL-1.0
//
// Elastic jobs: a core that starts as a gang, and pods beyond it that come and go one by one.
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/scheduler/unit_host.hpp"

using allot::job_id;
using allot::job_state;
using allot_test::assertion_failed;
using allot_test::models;
using allot_test::one_team;
using allot_test::unit_host;

namespace {

/// Two teams that lend to each other.
std::vector<allot::quota_spec<2>> two_teams(std::int64_t a, std::int64_t b) {
  return {{.name = "root"},
          {.name = "a", .parent = "root", .nominal = models(a)},
          {.name = "b", .parent = "root", .nominal = models(b)}};
}

}  // namespace

TEST_CASE("elastic jobs: the pods that an elastic job needs start together, or none does") {
  unit_host<> h{one_team(5)};
  h.submit("first", "q", 1, {.pods = 3});
  CHECK(h.step() == "+first");
  h.submit("e", "q", 1, {.pods = 6, .min_pods = 3});
  CHECK(h.step().empty());
  CHECK(h.pods("e") == 0);
  CHECK(h.scheduler().request(h.id("e")) == models(3));
  h.finished("first");
  CHECK(h.step() == "+e +e^ +e^");
  CHECK(h.pods("e") == 5);
}

TEST_CASE("elastic jobs: it grows by one pod at a time while there is room, and no further than its size") {
  unit_host<> h{one_team(10)};
  h.submit("e", "q", 2, {.pods = 4, .min_pods = 1});
  CHECK(h.step() == "+e +e^ +e^ +e^");
  CHECK(h.used("q") == 8);
  CHECK(h.scheduler().waiting(h.quota("q")) == 0);
  CHECK(h.step().empty());
}

TEST_CASE("elastic jobs: it grows when room is freed") {
  unit_host<> h{one_team(4)};
  h.submit("x", "q", 2);
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 1});
  CHECK(h.step() == "+x +e +e^");
  REQUIRE(h.pending().size() == 1);
  CHECK(h.pending().front().id == h.waiting_elastic_pod("e"));
  CHECK(h.step().empty());
  h.finished("x");
  CHECK(h.step() == "+e^ +e^");
  CHECK(h.pods("e") == 4);
}

TEST_CASE("elastic jobs: growth never precedes a pending job of equal priority") {
  unit_host<> h{one_team(4)};
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 1});
  h.submit("late", "q", 2);
  CHECK(h.step() == "+e +late +e^");
  // A job of lower priority does not prevent growth.
  unit_host<> other{one_team(4)};
  other.submit("e", "q", 1, {.pods = 4, .min_pods = 1, .priority = 1});
  other.submit("late", "q", 2);
  CHECK(other.step() == "+e +e^ +e^ +e^");
}

TEST_CASE("elastic jobs: between quotas of equal share, cores come before more pods") {
  unit_host<> h{two_teams(0, 0)};
  REQUIRE(h.scheduler().apply(
      std::array<allot::quota_change<2>, 1>{allot::resize_quota<2>{h.quota("root"), models(4)}}));
  h.submit("ea", "a", 1, {.pods = 4, .min_pods = 1});
  h.submit("eb", "b", 1, {.pods = 4, .min_pods = 1});
  CHECK(h.step() == "+ea +eb +ea^ +eb^");
}

TEST_CASE("elastic jobs: the elastic pods yield first, exactly as many as are needed (KAI trap 2)") {
  unit_host<> h{two_teams(3, 3)};
  h.submit("e", "b", 1, {.pods = 6, .min_pods = 2});
  CHECK(h.step() == "+e +e^ +e^ +e^ +e^");
  h.submit("a1", "a", 3);
  CHECK(h.settle() == "-e^>a1 -e^>a1 -e^>a1 ~a1 +a1");
  CHECK(h.pods("e") == 3);
  CHECK(h.state("e") == job_state::running);
}

TEST_CASE(
    "elastic jobs: elastic pods yield before gangs of their priority, and after gangs of lower priority") {
  unit_host<> h{two_teams(4, 0)};
  h.submit("e", "b", 1, {.pods = 2, .min_pods = 1});
  h.submit("gang", "b", 1);
  h.submit("low", "b", 1, {.priority = -1});
  CHECK(h.step() == "+e +gang +e^ +low");
  h.submit("a1", "a", 1);
  CHECK(h.settle() == "-low>a1 ~a1 +a1");
  h.submit("a2", "a", 1);
  CHECK(h.settle() == "-e^>a2 ~a2 +a2");
  h.submit("a3", "a", 1);
  CHECK(h.settle() == "-gang>a3 ~a3 +a3");
}

TEST_CASE("elastic jobs: an evicted core takes its elastic pods along, in one eviction") {
  unit_host<> h{two_teams(6, 0)};
  h.submit("e", "b", 1, {.pods = 5, .min_pods = 2});
  CHECK(h.step() == "+e +e^ +e^ +e^");
  h.submit("a1", "a", 1, {.pods = 5});
  // The sixth GPU is free. All pods of e but one would have to be evicted, so e is evicted as a whole.
  const auto& plan = h.scheduler().step(9);
  REQUIRE(plan.evictions.size() == 1);
  CHECK(plan.evictions.front().id == h.id("e"));
  CHECK(plan.evictions.front().pods == 5);
  CHECK_FALSE(plan.evictions.front().core);
  REQUIRE(plan.nominations.size() == 1);
  CHECK(plan.nominations.front().count == 1);
  CHECK(h.scheduler().elastic_pods_of(h.id("e")).size() == 3);
  h.check();
  h.evicted("e");
  CHECK(h.scheduler().elastic_pods_of(h.id("e")).empty());
  CHECK(h.state("e") == job_state::pending);
  CHECK(h.step() == "+a1");
  h.finished("a1");
  CHECK(h.step() == "+e +e^ +e^ +e^");
}

TEST_CASE("elastic jobs: a pod that waits to join does not outlive its core") {
  unit_host<> h{two_teams(4, 0)};
  h.submit("e", "b", 1, {.pods = 9, .min_pods = 2});
  CHECK(h.step() == "+e +e^ +e^");
  REQUIRE(h.waiting_elastic_pod("e"));
  h.submit("a1", "a", 1, {.pods = 3});
  CHECK(h.step() == "-e>a1 ~a1");
  CHECK_FALSE(h.waiting_elastic_pod("e"));
  CHECK(h.scheduler().waiting(h.quota("b")) == 0);
  // One GPU is left over, and only e's next pod would have asked for it.
  h.evicted("e");
  CHECK(h.step() == "+a1");
  h.finished("a1");
  CHECK(h.step() == "+e +e^ +e^");
}

TEST_CASE("elastic jobs: evicted and admitted jobs of a plan may end in any order") {
  for (const bool core_first : {false, true}) {
    unit_host<> h{two_teams(4, 0)};
    h.submit("e", "b", 1, {.pods = 4, .min_pods = 2});
    CHECK(h.step() == "+e +e^ +e^");
    h.submit("a1", "a", 1);
    CHECK(h.step() == "-e^>a1 ~a1");
    job_id told;
    for (const job_id s : h.scheduler().elastic_pods_of(h.id("e"))) {
      if (h.scheduler().state(s) == job_state::evicting) told = s;
    }
    REQUIRE(told);
    h.submit("a2", "a", 1, {.pods = 3});
    CHECK(h.step() == "-e>a2 ~a2");
    if (!core_first) {
      h.evicted(told);
      CHECK(h.step() == "+a1");
    }
    h.evicted("e");
    CHECK(h.step() == (core_first ? "+a1 +a2" : "+a2"));
    CHECK(h.state("e") == job_state::pending);
    h.finished("a1");
    h.finished("a2");
    CHECK(h.step() == "+e +e^ +e^");
  }
}

TEST_CASE("elastic jobs: an elastic job that is cancelled, finishes or is evicted leaves nothing behind") {
  enum class stage { pending, running, growing, shrinking, told, told_by_host, nominated };
  enum class end { cancel, finish, evict };
  for (const stage at : {stage::pending, stage::running, stage::growing, stage::shrinking, stage::told,
                         stage::told_by_host, stage::nominated}) {
    for (const end how : {end::cancel, end::finish, end::evict}) {
      CAPTURE(static_cast<int>(at));
      CAPTURE(static_cast<int>(how));
      unit_host<allot::gpu::inventory> h{two_teams(4, 4), allot_test::two_models(1, 0, 8)};
      h.submit("other", "b", 1);
      CHECK(h.step() == "+other");
      const auto ledger = h.scheduler().ledger();
      const auto assumed = h.scheduler().assumed();
      // The jobs for which it is evicted, or that are evicted for it.
      std::vector<std::string> others;
      if (at == stage::nominated) {
        h.submit("fill", "a", 7, {.priority = -1});
        CHECK(h.step() == "+fill");
        others.push_back("fill");
      }
      h.submit("e", "b", 1, {.pods = 7, .min_pods = 3});
      if (at != stage::pending) h.step();
      switch (at) {
        case stage::pending:
          CHECK(h.state("e") == job_state::pending);
          break;
        case stage::running:
          CHECK(h.pods("e") == 7);
          break;
        case stage::growing:
          h.evicted(h.elastic_pod("e"));
          REQUIRE(h.waiting_elastic_pod("e"));
          break;
        case stage::shrinking:
          h.submit("a1", "a", 2);
          others.push_back("a1");
          CHECK(h.step() == "-e^>a1 -e^>a1 ~a1");
          break;
        case stage::told:
          h.submit("a1", "a", 4);
          others.push_back("a1");
          CHECK(h.step() == "-e^>a1 -e^>a1 -e^>a1 -e^>a1 ~a1");
          h.submit("b1", "b", 3, {.priority = 5});
          others.push_back("b1");
          CHECK(h.step() == "-e>b1 ~b1");
          break;
        case stage::told_by_host:
          h.evicting("e");
          break;
        case stage::nominated:
          CHECK(h.state("e") == job_state::nominated);
          break;
      }
      const bool runs = h.state("e") == job_state::running || h.state("e") == job_state::evicting;
      if (how == end::cancel) {
        h.cancel("e");
      } else if (!runs) {
        CHECK(h.scheduler().finished(h.id("e")) == allot::refusal::wrong_state);
        CHECK(h.scheduler().evicted(h.id("e")) == allot::refusal::wrong_state);
        continue;
      } else if (how == end::finish) {
        h.finished("e");
      } else {
        h.evicted("e");
        CHECK(h.state("e") == job_state::pending);
        CHECK(h.scheduler().elastic_pods_of(h.id("e")).empty());
        h.cancel("e");
      }
      for (const std::string& name : others) h.cancel(name);
      CHECK(h.scheduler().ledger() == ledger);
      CHECK(h.scheduler().assumed() == assumed);
      CHECK(h.scheduler().places().used() == allot::gpus(1));
      CHECK(h.scheduler().places().held() == allot::gpus(0));
      for (const allot::quota_id x : h.scheduler().tree().top_down()) CHECK(h.scheduler().waiting(x) == 0);
      CHECK(h.step().empty());
      // Its quota can be removed as well.
      h.finished("other");
      const std::array<allot::quota_change<2>, 1> removal{allot::remove_quota{h.quota("b")}};
      CHECK(h.scheduler().apply(removal));
    }
  }
}

TEST_CASE("elastic jobs: an elastic pod may leave alone, and the job gets another") {
  unit_host<> h{one_team(4)};
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 2});
  CHECK(h.step() == "+e +e^ +e^");
  h.evicted(h.elastic_pod("e"));
  CHECK(h.pods("e") == 3);
  CHECK(h.step() == "+e^");
  h.evicting(h.elastic_pod("e"));
  CHECK(h.pods("e") == 3);
  CHECK(h.step().empty());
  for (const job_id s : h.scheduler().elastic_pods_of(h.id("e"))) {
    if (h.scheduler().state(s) != job_state::evicting) continue;
    h.evicted(s);
    break;
  }
  CHECK(h.step() == "+e^");
  CHECK(h.pods("e") == 4);
}

TEST_CASE("elastic jobs: an elastic pod that has finished or is cancelled is not replaced") {
  unit_host<> h{one_team(4)};
  h.submit("e", "q", 1, {.pods = 4, .min_pods = 1});
  CHECK(h.step() == "+e +e^ +e^ +e^");
  h.finished(h.elastic_pod("e"));
  CHECK(h.step().empty());
  CHECK(h.pods("e") == 3);
  h.cancel(h.elastic_pod("e"));
  CHECK(h.step().empty());
  CHECK(h.pods("e") == 2);
  h.evicted(h.elastic_pod("e"));
  CHECK(h.step() == "+e^");
  h.evicted(h.elastic_pod("e"));
  h.cancel(h.waiting_elastic_pod("e"));
  CHECK(h.step().empty());
  CHECK(h.pods("e") == 1);
  // Admitted again, it has all the pods that it can have.
  h.evicted("e");
  CHECK(h.step() == "+e +e^ +e^ +e^");
}

TEST_CASE("elastic jobs: cancelling a pending pod makes the next one pending") {
  unit_host<> h{one_team(2)};
  h.submit("e", "q", 1, {.pods = 5, .min_pods = 1});
  CHECK(h.step() == "+e +e^");
  h.cancel(h.waiting_elastic_pod("e"));
  CHECK(h.waiting_elastic_pod("e"));
  h.cancel(h.waiting_elastic_pod("e"));
  CHECK(h.waiting_elastic_pod("e"));
  h.cancel(h.waiting_elastic_pod("e"));
  CHECK_FALSE(h.waiting_elastic_pod("e"));
}

TEST_CASE("elastic jobs: pods that were started by others are adopted") {
  unit_host<> h{one_team(4)};
  const allot_test::unit_job* j = h.job("e", "q", models(1), {.pods = 5, .min_pods = 2});
  const job_id core = h.scheduler().adopt(j, -10);
  h.know("e", core);
  h.check();
  CHECK(h.waiting_elastic_pod("e"));
  const job_id more = h.scheduler().adopt_elastic_pod(core, -5);
  h.check();
  CHECK(h.scheduler().state(more) == job_state::running);
  CHECK(h.pods("e") == 3);
  CHECK(h.step() == "+e^");
  CHECK(h.pods("e") == 4);
  // Charged to the ledger as if there were room: a restart does not evict.
  CHECK(h.scheduler().adopt_elastic_pod(core, 0));
  CHECK(h.pods("e") == 5);
  CHECK(h.scheduler().adopt_elastic_pod(core, 0).why_not == allot::refusal::has_all_pods);
  CHECK(h.scheduler().adopt_elastic_pod(more, 0).why_not == allot::refusal::wrong_state);
  h.check();
}

TEST_CASE("elastic jobs: an elastic pod can be adopted while the next pod is nominated") {
  unit_host<> h{two_teams(2, 2)};
  h.submit("b1", "b", 1);
  h.submit("b2", "b", 1);
  h.submit("b3", "b", 1);
  CHECK(h.step() == "+b1 +b2 +b3");
  h.evicting("b3");
  h.submit("e", "a", 1, {.pods = 2, .min_pods = 1});
  CHECK(h.step() == "~e^ +e");
  const job_id pod = h.scheduler().adopt_elastic_pod(h.id("e"), 0);
  CHECK(h.scheduler().state(pod) == job_state::running);
  CHECK(h.pods("e") == 2);
  h.check();
  h.evicted("b3");
  CHECK(h.pods("e") == 2);
  CHECK(h.step().empty());
}

TEST_CASE("elastic jobs: each pod is adopted at a place of its own") {
  unit_host<allot::gpu::inventory> h{two_teams(4, 4), allot_test::two_models(1, 0, 8)};
  auto& lab = h.scheduler();
  h.submit("g", "a", 3);
  h.submit("f", "a", 1, {.pods = 2, .min_pods = 1});
  h.submit("other", "b", 4);
  h.step();
  REQUIRE(h.pods("f") == 1);
  CHECK(lab.adopt_elastic_pod(h.id("f"), 0, lab.place_of(h.id("f"))).why_not == allot::refusal::place_in_use);
  CHECK(lab.adopt_elastic_pod(h.id("f"), 0, lab.place_of(h.id("g"))).why_not == allot::refusal::place_in_use);
  CHECK(lab.places().used() == allot::gpus(8));
  h.finished("other");
  const auto own = lab.take_place({.gpus = allot::gpus(1)});
  REQUIRE(own);
  CHECK(lab.adopt_elastic_pod(h.id("f"), 0, *own));
  CHECK(lab.release_place(*own) == allot::refusal::place_in_use);
}

TEST_CASE("elastic jobs: an elastic pod is adopted by a running job only") {
  unit_host<> h{one_team(4)};
  const job_id id = h.submit("e", "q", 1, {.pods = 4, .min_pods = 2});
  CHECK(h.scheduler().adopt_elastic_pod(id, 0).why_not == allot::refusal::wrong_state);
  h.step();
  h.evicting("e");
  CHECK(h.scheduler().adopt_elastic_pod(id, 0).why_not == allot::refusal::wrong_state);
}

TEST_CASE("elastic jobs: a job that needs more pods than it has is refused") {
  unit_host<> h{one_team(4)};
  const auto* j = h.job("x", "q", models(1), {.pods = 2, .min_pods = 3});
  CHECK(h.scheduler().refuses(j) == allot::refusal::invalid_request);
  CHECK_FALSE(h.scheduler().submit(j));
  CHECK_FALSE(h.scheduler().adopt(j, 0));
}

TEST_CASE("elastic jobs: growth of a non-preemptible job never borrows") {
  unit_host<> h{two_teams(3, 3)};
  h.submit("fixed", "a", 1, {.pods = 5, .min_pods = 2, .preemptible = false});
  h.submit("loose", "b", 1, {.pods = 5, .min_pods = 2});
  CHECK(h.step() == "+fixed +loose +fixed^ +loose^");
  CHECK(h.pods("fixed") == 3);
  h.submit("b1", "b", 3, {.priority = 9});
  // Nothing that fixed uses may be taken.
  CHECK(h.settle() == "-loose>b1 ~b1 +b1");
  CHECK(h.pods("fixed") == 3);
}

TEST_CASE("elastic jobs: an elastic job that was evicted grows again only after it runs again") {
  unit_host<> h{two_teams(4, 4)};
  h.submit("e", "b", 1, {.pods = 8, .min_pods = 6});
  CHECK(h.step() == "+e +e^ +e^");
  h.submit("a1", "a", 4);
  // Two pods beyond the core are not enough, so e is evicted as a whole and waits as one job.
  CHECK(h.settle() == "-e>a1 ~a1 +a1");
  CHECK(h.scheduler().waiting(h.quota("b")) == 1);
  CHECK(h.settle().empty());
  h.finished("a1");
  CHECK(h.settle() == "+e +e^ +e^");
}

TEST_CASE("elastic jobs: a nominated job without room is pending again, and so are elastic pods") {
  unit_host<> h{two_teams(4, 4)};
  h.submit("b1", "b", 4);
  h.submit("e", "a", 1, {.pods = 9, .min_pods = 2});
  CHECK(h.step() == "+b1 +e +e^ +e^");
  h.evicting("b1");
  CHECK(h.step() == "~e^ ~e^ ~e^ ~e^");
  const std::array<allot::quota_change<2>, 1> smaller{allot::resize_quota<2>{h.quota("b"), models(0)}};
  REQUIRE(h.scheduler().apply(smaller));
  h.check();
  CHECK(h.waiting_elastic_pod("e"));
  CHECK(h.step().empty());
  h.evicted("b1");
  CHECK(h.step().empty());
  const std::array<allot::quota_change<2>, 1> larger{allot::resize_quota<2>{h.quota("b"), models(1)}};
  REQUIRE(h.scheduler().apply(larger));
  CHECK(h.step() == "+e^");
  CHECK(h.pods("e") == 5);
}
