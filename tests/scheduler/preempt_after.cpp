// SPDX-License-Identifier: BSL-1.0
// Jobs that wait before others are evicted for them: `queue_settings::preempt_after`.
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "tests/support/changing_host.hpp"

using allot::gpus;
using allot::instant;
using allot::pending_reason;
using allot::refusal;

namespace {

using view = allot_test::changing_view;
using estimating_view = allot_test::estimating_changing_view;

template <class View, class Preset>
class patient_lab : public allot_test::changing_host<View, Preset> {
 public:
  explicit patient_lab(instant a_waits, const Preset& by = {}) : allot_test::changing_host<View, Preset>(by) {
    this->submit({.name = "x", .team = "c", .gpus = 8});
    CHECK(this->step(0) == "+x");
    let_wait("a", a_waits);
  }
  void let_wait(const char* team, instant span) {
    auto s = this->of.settings(this->of.tree().find(team));
    s.preempt.reclaim = allot::preempt_reclaim::any;
    s.preempt_after = span;
    CHECK(this->of.configure(this->of.tree().find(team), s).empty());
  }
  /// Who is evicted, for whom.
  std::string evictions(instant now) {
    std::string line = this->step(now);
    const auto other = line.find(" ~");
    return other == std::string::npos ? line : line.substr(0, other);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("preempt_after: nothing is evicted for a job that has waited less", Preset,
                   allot::standard, allot::pai, allot::hyperpod, allot::kueue, allot::runai) {
  patient_lab<view, Preset> h{10};
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 5});
  CHECK(h.step(5).empty());
  CHECK(h.of.wakes_at() == std::optional<instant>{15});
  CHECK(h.of.why(h["y"]).reason == pending_reason::preempts_later);
  CHECK(h.of.why(h["y"]).preempts_at == std::optional<instant>{15});
  CHECK(h.sentence("y").find("; no other job is evicted for it before 15") != std::string::npos);
  CHECK(h.step(14).empty());
  CHECK(h.evictions(15) == "-x>y");
  CHECK_FALSE(h.of.why(h["y"]).preempts_at.has_value());
  h.carry_out();
  CHECK(h.step(16).find("+y") != std::string::npos);
}

TEST_CASE_TEMPLATE("preempt_after: nor for further pods of a job that has waited less", Preset,
                   allot::standard, allot::runai) {
  patient_lab<view, Preset> h{10};
  CHECK(h.of.finished(h["x"]) == refusal::none);
  h.submit({.name = "z", .team = "a", .gpus = 6, .submitted = 1});
  CHECK(h.step(1) == "+z");
  const allot_test::changing_job y{
      .name = "y", .team = "a", .pods = 4, .least = 1, .priority = 1, .submitted = 5};
  CHECK(h.of.adopt(&y, 5));
  CHECK(h.step(5) == "+y^");
  CHECK(h.step(14).empty());
  CHECK(h.evictions(15) == "-z>y");
}

TEST_CASE_TEMPLATE("preempt_after: it starts meanwhile where there is room, and others pass it", Preset,
                   allot::standard, allot::pai, allot::hyperpod, allot::kueue, allot::runai) {
  patient_lab<view, Preset> h{10};
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 5});
  CHECK(h.step(5).empty());
  CHECK(h.of.finished(h["x"]) == refusal::none);
  CHECK(h.step(6) == "+y");
  CHECK_FALSE(h.of.wakes_at().has_value());
}

TEST_CASE_TEMPLATE("preempt_after: who has waited long enough is not held up by one of its kind that has not",
                   Preset, allot::standard, allot::pai, allot::kueue, allot::runai) {
  patient_lab<view, Preset> h{10};
  // The later one comes first by its priority.
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1});
  h.submit({.name = "z", .team = "a", .gpus = 4, .priority = 1, .submitted = 9});
  CHECK(h.step(10).empty());
  CHECK(h.of.wakes_at() == std::optional<instant>{11});
  CHECK(h.evictions(11) == "-x>y");
}

TEST_CASE("preempt_after: other settings count at once") {
  patient_lab<view, allot::standard> h{0};
  h.let_wait("a", 10);
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 5});
  CHECK(h.step(5).empty());
  SUBCASE("less") {
    h.let_wait("a", 3);
    CHECK(h.of.wakes_at() == std::optional<instant>{8});
    CHECK(h.evictions(8) == "-x>y");
  }
  SUBCASE("none") {
    h.let_wait("a", 0);
    CHECK_FALSE(h.of.wakes_at().has_value());
    CHECK(h.evictions(5) == "-x>y");
  }
  SUBCASE("more") {
    h.let_wait("a", 20);
    CHECK(h.step(15).empty());
    CHECK(h.evictions(25) == "-x>y");
  }
  SUBCASE("of another quota") {
    // Its quota lets it wait longer.
    h.let_wait("b", 30);
    CHECK(h.update("y", [](auto& w) { w.team = "b"; }) == refusal::none);
    CHECK(h.of.wakes_at() == std::optional<instant>{35});
    CHECK(h.update("y", [](auto& w) { w.team = "a"; }) == refusal::none);
    CHECK(h.evictions(15) == "-x>y");
  }
}

TEST_CASE("preempt_after: it waits since it was submitted, ready or evicted, whichever is the latest") {
  patient_lab<view, allot::standard> h{10};
  SUBCASE("ready") {
    h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .ready = 7});
    CHECK(h.step(5).empty());
    CHECK(h.step(7).empty());
    CHECK(h.of.wakes_at() == std::optional<instant>{17});
    CHECK(h.evictions(17) == "-x>y");
  }
  SUBCASE("evicted") {
    h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1});
    CHECK(h.evictions(11) == "-x>y");
    h.carry_out();
    CHECK(h.step(12) == "+y");
    CHECK(h.of.evicted(h["y"]) == refusal::none);
    CHECK(h.of.hold(h["y"]) == refusal::none);
    CHECK(h.step(13) == "+x");
    CHECK(h.of.unhold(h["y"]) == refusal::none);
    SUBCASE("at once") {}
    SUBCASE("and after a restart") {
      allot_test::changing_host<view, allot::standard> next;
      for (const auto& [name, x] : view::teams()) CHECK(next.of.configure(x, h.of.settings(x)).empty());
      REQUIRE(next.of.resume(h.of.state()));
      h.of = next.of;
    }
    SUBCASE("and after the clock was wrong") {
      h.of.rebase(1013);
      CHECK(h.of.wakes_at() == std::optional<instant>{1022});
      h.of.rebase(13);
    }
    CHECK(h.of.wakes_at() == std::optional<instant>{22});
    CHECK(h.evictions(22) == "-x>y");
  }
  SUBCASE("but not since a start that failed") {
    h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1});
    CHECK(h.evictions(11) == "-x>y");
    h.carry_out();
    CHECK(h.step(12) == "+y");
    CHECK(h.of.start_failed(h["y"], 14) == refusal::none);
    CHECK(h.step(13) == "+x");
    CHECK(h.evictions(14) == "-x>y");
  }
  SUBCASE("nor since it was held") {
    h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1});
    CHECK(h.of.hold(h["y"]) == refusal::none);
    CHECK(h.step(9).empty());
    CHECK(h.of.unhold(h["y"]) == refusal::none);
    CHECK(h.evictions(11) == "-x>y");
  }
}

TEST_CASE("preempt_after: who waits for it may hold a reservation, for when it may take back its own") {
  patient_lab<estimating_view, allot::standard> h{10};
  h("x").lasts = 100;
  CHECK(h.update("x") == refusal::none);
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .lasts = 10});
  CHECK(h.step(2).empty());
  REQUIRE(h.of.reservation_of(h["y"]));
  CHECK(h.of.reservation_of(h["y"])->start == 11);
  CHECK(h.of.reservation_of(h["y"])->cause == allot::delay_cause::none);
  CHECK(h.evictions(11) == "-x>y");
  h.carry_out();
  CHECK(h.step(11) == "+y");
}
