// SPDX-License-Identifier: BSL-1.0
// Jobs for which no other is evicted: `preempting_view`.
#include <allot/gpu/inventory.hpp>
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

using allot::instant;
using allot::pending_reason;
using allot::refusal;

namespace {

using view = allot_test::changing_view;
using estimating_view = allot_test::estimating_changing_view;

/// All GPUs are lent to x.
template <class View, class Preset, class Places = allot::no_placement>
class lent_out : public allot_test::changing_host<View, Preset, Places> {
 public:
  lent_out() {
    for (const char* team : {"a", "b"}) {
      auto s = this->of.settings(this->of.tree().find(team));
      s.preempt.reclaim = allot::preempt_reclaim::any;
      CHECK(this->of.configure(this->of.tree().find(team), s).empty());
    }
    this->submit({.name = "x", .team = "c", .gpus = 4, .pods = 2, .least = 2});
    CHECK(this->step(0) == "+x");
  }
  bool evicts(instant now) { return this->step(now).find("-x>") != std::string::npos; }
};

}  // namespace

TEST_CASE_TEMPLATE("preempts: nothing is evicted for a job that preempts no other", Preset, allot::standard,
                   allot::pai, allot::hyperpod, allot::kueue, allot::runai) {
  lent_out<view, Preset> h;
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .preempts = false});
  CHECK(h.step(1).empty());
  CHECK(h.step(1'000'000).empty());
  CHECK_FALSE(h.of.wakes_at().has_value());
  CHECK(h.of.why(h["y"]).reason == pending_reason::preempts_later);
  CHECK_FALSE(h.of.why(h["y"]).preempts_at.has_value());
  const std::string why = h.sentence("y");
  CHECK(why.find("no other job is evicted for it") != std::string::npos);
  CHECK(why.find(" before ") == std::string::npos);
  SUBCASE("it starts where there is room") {
    CHECK(h.of.finished(h["x"]) == refusal::none);
    CHECK(h.step(1'000'001) == "+y");
  }
  SUBCASE("it does not keep one like it from preempting") {
    h.submit({.name = "z", .team = "a", .gpus = 4, .submitted = 2});
    CHECK(h.evicts(1'000'001));
  }
  SUBCASE("the host may change that") {
    CHECK(h.update("y", [](auto& w) { w.preempts = true; }) == refusal::none);
    CHECK(h.evicts(1'000'001));
  }
  SUBCASE("a new scheduler goes on") {
    allot_test::changing_host<view, Preset> next;
    for (const auto& [name, x] : view::teams()) CHECK(next.of.configure(x, h.of.settings(x)).empty());
    REQUIRE(next.of.resume(h.of.state()));
    h.of = next.of;
    CHECK(h.step(1'000'001).empty());
    CHECK(h.of.why(h["y"]).reason == pending_reason::preempts_later);
  }
}

TEST_CASE_TEMPLATE("preempts: nor on nodes", Preset, allot::standard, allot::kueue, allot::runai) {
  lent_out<view, Preset, allot::gpu::inventory> h;
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .preempts = false});
  CHECK(h.step(1).empty());
  h.submit({.name = "z", .team = "a", .gpus = 4, .submitted = 2});
  CHECK(h.evicts(2));
  h.carry_out();
  // What was freed for the one is not the other's, although that was submitted first.
  CHECK(h.step(3).find("+z") != std::string::npos);
}

TEST_CASE_TEMPLATE("preempts: nor of its own quota, whatever the priority", Preset, allot::standard,
                   allot::pai, allot::hyperpod, allot::kueue, allot::runai) {
  allot_test::changing_host<view, Preset> h;
  for (const char* team : {"a", "b"}) {
    auto s = h.of.settings(h.of.tree().find(team));
    s.preempt.within = allot::preempt_within::lower_priority;
    CHECK(h.of.configure(h.of.tree().find(team), s).empty());
  }
  h.submit({.name = "x", .team = "a", .gpus = 4});
  h.submit({.name = "w", .team = "c", .gpus = 4});
  CHECK(h.step(0) == "+x +w");
  h.submit({.name = "y", .team = "a", .gpus = 4, .priority = 5, .submitted = 1, .preempts = false});
  CHECK(h.step(1).empty());
  CHECK(h.update("y", [](auto& w) { w.preempts = true; }) == refusal::none);
  CHECK(h.step(2).find("-x>y") != std::string::npos);
}

TEST_CASE_TEMPLATE("preempts: nor for further pods of an elastic job", Preset, allot::standard,
                   allot::runai) {
  lent_out<view, Preset> h;
  CHECK(h.of.finished(h["x"]) == refusal::none);
  h.submit({.name = "z", .team = "c", .gpus = 6, .submitted = 1});
  CHECK(h.step(1) == "+z");
  const allot_test::changing_job y{
      .name = "y", .team = "a", .pods = 4, .least = 1, .submitted = 2, .preempts = false};
  CHECK(h.of.adopt(&y, 2));
  CHECK(h.step(2) == "+y^");
  CHECK(h.step(3).empty());
}

TEST_CASE("preempts: it may hold a reservation, for when there is room without evictions") {
  lent_out<estimating_view, allot::standard> h;
  h("x").lasts = 100;
  CHECK(h.update("x") == refusal::none);
  h.submit({.name = "y", .team = "a", .gpus = 4, .submitted = 1, .lasts = 10, .preempts = false});
  CHECK(h.step(2).empty());
  REQUIRE(h.of.reservation_of(h["y"]));
  CHECK(h.of.reservation_of(h["y"])->start == 100);
  // Others may still go first if they are gone by then.
  CHECK(h.of.finished(h["x"]) == refusal::none);
  CHECK(h.step(50) == "+y");
}

TEST_CASE("preempts: nothing is kept for one that is ready soon and would take nothing back") {
  lent_out<estimating_view, allot::standard> h;
  CHECK(h.of.finished(h["x"]) == refusal::none);
  auto s = h.of.settings(h.of.tree().find("a"));
  s.ready_horizon = 60;
  CHECK(h.of.configure(h.of.tree().find("a"), s).empty());
  h.submit(
      {.name = "y", .team = "a", .gpus = 4, .submitted = 1, .lasts = 10, .ready = 20, .preempts = false});
  h.submit({.name = "z", .team = "c", .gpus = 8, .submitted = 2, .lasts = 100});
  CHECK(h.step(3) == "+z");
  CHECK(h.step(20).empty());
}
