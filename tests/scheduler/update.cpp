// SPDX-License-Identifier: BSL-1.0
// A host says that a job has changed: `scheduler::update`.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <optional>

#include "tests/support/changing_host.hpp"

using allot::gpus;
using allot::instant;
using allot::pending_reason;
using allot::refusal;
using allot_test::always;

namespace {

using work = allot_test::changing_job;
using work_view = allot_test::changing_view;
using estimating_view = allot_test::estimating_changing_view;
template <class View, class Preset, class Places = allot::no_placement>
using lab = allot_test::changing_host<View, Preset, Places>;
template <class View = work_view>
using simple_lab = lab<View, allot::standard>;

}  // namespace

TEST_CASE("update: who waits goes by its new priority, quota, request and time") {
  simple_lab<> h;
  h.submit({.name = "x", .team = "a", .gpus = 8});
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "a", .gpus = 8, .priority = 0, .submitted = 1});
  h.submit({.name = "z", .team = "a", .gpus = 8, .priority = 0, .submitted = 2});
  CHECK(h.step(2).empty());
  const allot::job_id id = h["z"];
  SUBCASE("a higher priority, by which it preempts") {
    CHECK(h.update("z", [](work& w) { w.priority = 1; }) == refusal::none);
    CHECK(h.step(3) == "-x>z ~z");
  }
  SUBCASE("another quota, which owns what it asks for") {
    CHECK(h.update("z", [](work& w) {
      w.team = "b";
      w.gpus = 4;
    }) == refusal::none);
    CHECK(h.of.quota(id) == h.of.tree().find("b"));
    CHECK(h.of.waiting(h.of.tree().find("a")) == 1);
    CHECK(h.step(3) == "-x>z ~z");
  }
  SUBCASE("it is not ready") {
    CHECK(h.update("z", [](work& w) { w.ready = 9; }) == refusal::none);
    CHECK(h.of.why(id).reason == pending_reason::not_ready);
    CHECK(h.of.wakes_at() == std::optional<instant>{9});
    CHECK(h.update("y", [](work& w) { w.ready = 7; }) == refusal::none);
    CHECK(h.of.wakes_at() == std::optional<instant>{7});
    CHECK(h.of.finished(h["x"]) == refusal::none);
    CHECK(h.step(5).empty());
    CHECK(h.update("y", [](work& w) { w.ready = always; }) == refusal::none);
    CHECK(h.step(5) == "+y");
  }
  SUBCASE("less, which fits") {
    CHECK(h.update("x", [](work&) {}) == refusal::none);
    CHECK(h.step(2).empty());
    CHECK(h.of.finished(h["x"]) == refusal::none);
    CHECK(h.update("y", [](work& w) { w.gpus = 5; }) == refusal::none);
    CHECK(h.update("z", [](work& w) { w.gpus = 3; }) == refusal::none);
    CHECK(h.step(3) == "+y +z");
  }
  CHECK(h["z"] == id);
}

TEST_CASE("update: who runs goes by its new priority and quota, and keeps what it has") {
  simple_lab<> h;
  h.submit({.name = "x", .team = "a", .gpus = 4});
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1});
  CHECK(h.step(1) == "+y");
  SUBCASE("a priority") {
    h.submit({.name = "z", .team = "a", .gpus = 4, .priority = 1, .submitted = 2});
    CHECK(h.update("y", [](work& w) { w.priority = 2; }) == refusal::none);
    CHECK(h.step(2) == "-x>z ~z");
  }
  SUBCASE("a protection") {
    CHECK(h.update("y", [](work& w) { w.yields = false; }) == refusal::none);
    h.submit({.name = "z", .team = "a", .gpus = 4, .priority = 1, .submitted = 2});
    CHECK(h.step(2) == "-x>z ~z");
    CHECK(h.update("y", [](work& w) { w.yields = true; }) == refusal::none);
    h.submit({.name = "u", .team = "a", .gpus = 4, .priority = 1, .submitted = 3});
    CHECK(h.step(3) == "-y>u ~u");
  }
  SUBCASE("a quota that owns what it has") {
    CHECK(h.update("y", [](work& w) { w.team = "b"; }) == refusal::none);
    CHECK(h.of.ledger().own_usage(h.of.tree().find("a"))[0] == gpus(4));
    CHECK(h.of.ledger().own_usage(h.of.tree().find("b"))[0] == gpus(4));
    h.submit({.name = "z", .team = "b", .gpus = 4, .submitted = 2});
    CHECK(h.step(2).empty());
    CHECK(h.of.finished(h["y"]) == refusal::none);
    CHECK(h.step(3) == "+z");
  }
  SUBCASE("a quota that others leave room") {
    // Over its limit it is as if it had been adopted.
    h.submit({.name = "z", .team = "b", .gpus = 4, .submitted = 2});
    CHECK(h.step(2) == "-y>z ~z");
    CHECK(h.update("x", [](work& w) { w.team = "b"; }) == refusal::none);
    h.carry_out();
    CHECK(h.step(3) == "+y");
  }
  SUBCASE("but not another request") {
    CHECK(h.update("y", [](work& w) { w.gpus = 3; }) == refusal::request_in_use);
    CHECK(h.update("y", [](work& w) { w.gpus = 4; }) == refusal::none);
    CHECK(h.update("y", [](work& w) { w.pods = w.least = 2; }) == refusal::request_in_use);
  }
}

TEST_CASE("update: a running elastic job has more pods, or fewer") {
  simple_lab<> h;
  h.submit({.name = "e", .team = "a", .pods = 2, .least = 1});
  CHECK(h.step(0) == "+e +e^");
  CHECK(h.step(1).empty());
  CHECK(h.update("e", [](work& w) { w.pods = 4; }) == refusal::none);
  CHECK(h.step(2) == "+e^ +e^");
  CHECK(h.update("e", [](work& w) { w.pods = 3; }) == refusal::request_in_use);
  CHECK(h.of.finished(h.of.elastic_pods_of(h["e"]).back()) == refusal::none);
  CHECK(h.update("e") == refusal::none);
  CHECK(h.step(3).empty());
  CHECK(h.of.elastic_pods_of(h["e"]).size() == 2);
  // It moves with all that it has.
  CHECK(h.update("e", [](work& w) { w.team = "b"; }) == refusal::none);
  CHECK(h.of.ledger().own_usage(h.of.tree().find("a"))[0] == gpus(0));
  CHECK(h.of.ledger().own_usage(h.of.tree().find("b"))[0] == gpus(3));
  CHECK(h.of.finished(h.of.elastic_pods_of(h["e"]).back()) == refusal::none);
  CHECK(h.step(4).empty());
  CHECK(h.update("e") == refusal::none);
  CHECK(h.step(4) == "+e^");
  CHECK(h.of.quota(h.of.elastic_pods_of(h["e"]).back()) == h.of.tree().find("b"));
  // What it needs at least it has; fewer are for its next run.
  CHECK(h.update("e", [](work& w) { w.least = 2; }) == refusal::request_in_use);
  CHECK(h.update("e", [](work& w) { w.least = 1; }) == refusal::none);
  CHECK(h.update("e", [](work& w) { w.gpus = 2; }) == refusal::request_in_use);
  CHECK(h.of.update(h.of.elastic_pods_of(h["e"]).back()) == refusal::wrong_state);
}

TEST_CASE("update: a running elastic job moves if its new quota can count it") {
  simple_lab<> h;
  // Three pods, each more than a fifth of what can be counted.
  work huge{.team = "a", .gpus = 1'900'000'000'000'000, .pods = 3};
  const allot::job_id id = h.of.adopt(&huge, 0).id;
  for (int i = 0; i < 2; ++i) CHECK(h.of.adopt_elastic_pod(id, 0));
  huge.team = "b";
  CHECK(h.of.update(id) == refusal::none);
  CHECK(h.of.ledger().own_usage(h.of.tree().find("b"))[0] == gpus(3 * huge.gpus));
}

TEST_CASE("update: an elastic job that needs fewer pods by now starts with these when it comes back") {
  simple_lab<> h;
  h.submit({.name = "e", .team = "a", .pods = 4, .least = 4});
  CHECK(h.step(0) == "+e");
  CHECK(h.update("e", [](work& w) { w.least = 2; }) == refusal::none);
  CHECK(h.step(1).empty());
  CHECK(h.of.request(h["e"])[0] == gpus(4));
  CHECK(h.of.evicted(h["e"]) == refusal::none);
  CHECK(h.of.request(h["e"])[0] == gpus(2));
  CHECK(h.step(2) == "+e +e^ +e^");
}

TEST_CASE("update: a limit and an estimate are as of the start of the run") {
  simple_lab<estimating_view> h;
  h.submit({.name = "x", .team = "a", .gpus = 8, .lasts = 10, .limit = 20});
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .lasts = 5});
  CHECK(h.step(1).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 10);
  CHECK(h.update("x", [](work& w) { w.lasts = 15; }) == refusal::none);
  CHECK(h.step(2).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 15);
  CHECK(h.of.reservation_of(h["y"])->cause == allot::delay_cause::cluster);
  CHECK(h.update("x", [](work& w) { w.lasts = 6; }) == refusal::none);
  CHECK(h.step(3).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 6);
  CHECK(h.update("x", [](work& w) { w.limit = 30; }) == refusal::none);
  CHECK(h.step(20).empty());
  CHECK(h.of.wakes_at() == std::optional<instant>{30});
  CHECK(h.update("x", [](work& w) { w.limit = 0; }) == refusal::none);
  CHECK_FALSE(h.of.wakes_at().has_value());
  CHECK(h.update("x", [](work& w) { w.limit = 21; }) == refusal::none);
  CHECK(h.step(30) == "-x ~y");
}

TEST_CASE("update: a reservation is kept by who asks for no more, in its quota and its turn") {
  simple_lab<estimating_view> h;
  h.submit({.name = "x", .team = "a", .gpus = 4, .lasts = 10});
  h.submit({.name = "w", .team = "b", .gpus = 4, .lasts = 20, .yields = false});
  CHECK(h.step(0) == "+x +w");
  h.submit(
      {.name = "y", .team = "a", .gpus = 4, .priority = 1, .submitted = 1, .lasts = 10, .yields = false});
  h.submit(
      {.name = "z", .team = "a", .gpus = 4, .priority = 1, .submitted = 2, .lasts = 10, .yields = false});
  h("x").yields = false;
  CHECK(h.update("x") == refusal::none);
  CHECK(h.step(2).empty());
  REQUIRE(h.of.reservation_of(h["y"]));
  CHECK(h.of.reservation_of(h["y"])->start == 10);
  CHECK(h.of.reservation_of(h["z"])->start == 20);
  SUBCASE("less") {
    CHECK(h.update("y", [](work& w) { w.gpus = 3; }) == refusal::none);
    CHECK(h.of.reservation_of(h["y"]));
    CHECK(h.update("y", [](work& w) { w.lasts = 5; }) == refusal::none);
    CHECK(h.of.reservation_of(h["y"]));
    CHECK(h.step(3).empty());
    CHECK(h.of.reservation_of(h["y"])->start == 10);
    CHECK(h.of.reservation_of(h["z"])->start == 15);
  }
  SUBCASE("a higher priority") {
    CHECK(h.update("z", [](work& w) { w.priority = 2; }) == refusal::none);
    CHECK(h.of.reservation_of(h["z"]));
    CHECK(h.of.finished(h["x"]) == refusal::none);
    // What y was promised is its own, as it is before a job that comes with that priority.
    CHECK(h.step(3) == "+y");
  }
  SUBCASE("a lower one") {
    CHECK(h.update("y", [](work& w) { w.priority = 0; }) == refusal::none);
    CHECK_FALSE(h.of.reservation_of(h["y"]));
    CHECK(h.step(3).empty());
    CHECK(h.of.reservation_of(h["z"])->start == 10);
    CHECK(h.of.reservation_of(h["y"])->start == 20);
  }
  SUBCASE("more time") {
    CHECK(h.update("y", [](work& w) { w.lasts = 11; }) == refusal::none);
    CHECK_FALSE(h.of.reservation_of(h["y"]));
  }
  SUBCASE("another quota") {
    CHECK(h.update("y", [](work& w) { w.team = "b"; }) == refusal::none);
    CHECK_FALSE(h.of.reservation_of(h["y"]));
    CHECK(h.step(3) == "");
    CHECK(h.of.reservation_of(h["z"])->start == 10);
    CHECK(h.of.reservation_of(h["y"])->start == 20);
  }
}

TEST_CASE("update: what the host has said of a job stays") {
  simple_lab<> h;
  h.submit({.name = "x", .team = "a", .gpus = 4});
  CHECK(h.step(0) == "+x");
  CHECK(h.of.start_failed(h["x"], 10) == refusal::none);
  CHECK(h.update("x", [](work& w) { w.priority = 1; }) == refusal::none);
  CHECK(h.of.why(h["x"]).ready_at == std::optional<instant>{10});
  CHECK(h.update("x", [](work& w) { w.ready = 12; }) == refusal::none);
  CHECK(h.of.why(h["x"]).ready_at == std::optional<instant>{12});
  CHECK(h.of.hold(h["x"]) == refusal::none);
  CHECK(h.update("x", [](work& w) { w.ready = always; }) == refusal::none);
  CHECK(h.of.why(h["x"]).reason == pending_reason::held);
  SUBCASE("at once") {}
  SUBCASE("and after a restart") {
    simple_lab<> next;
    REQUIRE(next.of.resume(h.of.state()));
    h.of = next.of;
  }
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.of.why(h["x"]).ready_at == std::optional<instant>{10});
  CHECK(h.step(9).empty());
  CHECK(h.step(10) == "+x");
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(10) == "+x");
}

TEST_CASE("update: calls that are refused change nothing") {
  simple_lab<> h;
  h.submit({.name = "x", .team = "a", .gpus = 8});
  CHECK(h.of.update(allot::job_id{7}) == refusal::unknown_job);
  CHECK(h.update("x", [](work& w) { w.gpus = -1; }) == refusal::invalid_request);
  CHECK(h.update("x", [](work& w) { w.pods = w.least = 0; }) == refusal::invalid_request);
  h("x") = {.name = "x", .team = "a", .gpus = 8};
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "b", .gpus = 4, .submitted = 1});
  CHECK(h.step(1) == "-x>y ~y");
  CHECK(h.update("x", [](work& w) { w.priority = 7; }) == refusal::wrong_state);
  CHECK(h.update("y", [](work& w) { w.priority = 7; }) == refusal::wrong_state);
  h.carry_out();
  CHECK(h.step(2) == "+y");
}

TEST_CASE("update: who asks for no more than before holds nobody up") {
  simple_lab<> h;
  h.submit({.name = "x", .team = "a", .gpus = 4});
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "a", .gpus = 8, .submitted = 1});
  CHECK(h.step(1).empty());
  CHECK(h.update("x") == refusal::none);
  CHECK(h.update("y") == refusal::none);
  // Nothing is looked at again.
  CHECK(h.step(1).empty());
  CHECK(h.of.step(1).pending.empty());
}

TEST_CASE("update: who is nominated no longer holds its reservation again as it has changed, or not at all") {
  simple_lab<estimating_view> h;
  const allot::quota_id b = h.of.tree().find("b");
  auto s = h.of.settings(b);
  s.min_runtime.reclaim = 5;
  CHECK(h.of.configure(b, s).empty());
  h.submit({.name = "x", .team = "c", .gpus = 8, .lasts = 100});
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .lasts = 10});
  CHECK(h.step(2).empty());
  REQUIRE(h.of.reservation_of(h["y"]));
  CHECK(h.step(5) == "-x>y ~y");
  // There is no room for it any more.
  const work z{.name = "z", .team = "b", .gpus = 8, .lasts = 20, .yields = false, .id = 9};
  REQUIRE(h.of.adopt(&z, 5));
  REQUIRE(h.of.state(h["y"]) == allot::job_state::pending);
  SUBCASE("held") {
    CHECK(h.of.hold(h["y"]) == refusal::none);
    static_cast<void>(h.step(6));
    CHECK_FALSE(h.of.reservation_of(h["y"]));
  }
  SUBCASE("of another quota") {
    CHECK(h.update("y", [](work& w) { w.team = "b"; }) == refusal::none);
    CHECK_FALSE(h.of.reservation_of(h["y"]));
  }
  SUBCASE("for less") {
    CHECK(h.update("y", [](work& w) { w.gpus = 3; }) == refusal::none);
    CHECK(h.of.reservation_of(h["y"]));
  }
}

TEST_CASE("update: a pod that leaves moves with its job, and runs on there") {
  simple_lab<> h;
  h.submit({.name = "e", .team = "c", .pods = 8, .least = 4});
  CHECK(h.step(0) == "+e +e^ +e^ +e^ +e^");
  h.submit({.name = "y", .team = "a", .gpus = 2, .submitted = 1});
  CHECK(h.step(1) == "-e^>y -e^>y ~y");
  const allot::quota_id b = h.of.tree().find("b"), c = h.of.tree().find("c");
  CHECK(h.update("e", [](work& w) { w.team = "b"; }) == refusal::none);
  CHECK(h.of.ledger().own_usage(c)[0] == gpus(0));
  CHECK(h.of.ledger().own_usage(b)[0] == gpus(8));
  CHECK(h.of.assumed().own_usage(b)[0] == gpus(6));
  CHECK(h.update("e", [](work& w) { w.pods = 7; }) == refusal::request_in_use);
  h("e").pods = 8;
  const allot::job_id pod = h.of.evicting().front();
  CHECK(h.of.not_evicted(pod, 10) == refusal::none);
  CHECK(h.of.quota(pod) == b);
  CHECK(h.of.assumed().own_usage(b)[0] == gpus(7));
}
