// SPDX-License-Identifier: BSL-1.0
// Quotas that were reclaimed do not borrow again at once.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/sentences.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/scheduler/unit_host.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"

using allot::backoff;
using allot::backoff_span;
using allot::backoff_times;
using allot::gpus;
using allot::instant;
using allot::pending_reason;
using allot::queue_settings;
using allot::quota_id;
using allot_test::h100_then_a100;
using allot_test::host;
using allot_test::models;
using allot_test::timed_job;
using allot_test::two_teams;

namespace {

constexpr instant longest = 35;
constexpr quota_id a{1}, b{2};

[[nodiscard]] queue_settings backing_off(const backoff_times& times = {10, longest}) {
  queue_settings s = allot::standard{}.defaults();
  s.borrow_backoff = times;
  return s;
}
/// Two teams of 4 that lend to each other; b, where b1 and b2 borrow, backs off.
[[nodiscard]] host<> borrowing_host() {
  host h{two_teams()};
  h.configure("a", allot::standard{}.defaults());
  h.configure("b", backing_off());
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  CHECK(h.step_at(0) == "+b1 +b2 +b3 +b4");
  return h;
}

/// At 100 the owner takes back what b borrows.
void reclaim_half(host<>& h) {
  h.submit("a1", "a", 4);
  CHECK(h.step_at(100) == "-b4>a1 -b3>a1 ~a1");
  h.evicted("b4");
  h.evicted("b3");
  CHECK(h.step_at(100) == "+a1");
}

}  // namespace

TEST_CASE("backoff: the span doubles up to the longest") {
  const backoff_times times{10, 35};
  CHECK(backoff_span(times, 0) == 0);
  CHECK(backoff_span(times, 1) == 10);
  CHECK(backoff_span(times, 2) == 20);
  CHECK(backoff_span(times, 3) == 35);
  CHECK(backoff_span(times, 1000) == 35);
  CHECK(backoff_span({}, 5) == 0);
  constexpr instant most = std::numeric_limits<instant>::max();
  CHECK(backoff_span({1, most}, 62) == instant{1} << 61);
  CHECK(backoff_span({1, most}, 63) == instant{1} << 62);
  CHECK(backoff_span({1, most}, 64) == instant{1} << 62);
  CHECK(backoff_span({3, most}, 64) == most);
  CHECK(backoff_span({most, most}, 2) == most);
}

TEST_CASE("backoff: who was reclaimed borrows again when its time has come, to the instant") {
  host h = borrowing_host();
  CHECK_FALSE(h.scheduler().wakes_at());
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  CHECK(h.scheduler().wakes_at() == 110);
  h.evicted("b4");
  CHECK(h.step_at(101) == "+a1");
  h.finished("a1");
  CHECK(h.step_at(109).empty());
  CHECK(h.scheduler().wakes_at() == 110);
  const auto why = h.why("b4");
  CHECK(why.reason == pending_reason::backoff);
  CHECK_FALSE(why.binding);
  const backoff known{h.quota("b"), 0, 100, 110, 1};
  CHECK(why.backs_off == known);
  CHECK(h.scheduler().backoffs() == allot::vector<backoff>{known});
  CHECK(h.scheduler().waiting_by_reason(h.quota("b"))[static_cast<std::size_t>(pending_reason::backoff)] ==
        1);
  const auto name_of = [](const auto* j) { return j->name; };
  const allot::dimension_names<1> names{"gpu"};
  CHECK(sentence(h.scheduler(), why, names, name_of) ==
        "b4 waits: b was reclaimed, and does not borrow gpu again yet");
  CHECK(sentence(h.scheduler(), why, names, name_of, [](instant t) { return std::to_string(t) + " s"; }) ==
        "b4 waits: b was reclaimed, and does not borrow gpu again before 110 s");
  CHECK(h.step_at(110) == "+b4");
  CHECK_FALSE(h.scheduler().wakes_at());
}

TEST_CASE("backoff: twice as long each time in a row, at most the longest") {
  host h = borrowing_host();
  instant now = 100;
  int times = 0;
  for (const instant span : {10, 20, 35, 35}) {
    const std::string by = "a" + std::to_string(++times);
    h.submit(by, "a", 2);
    CHECK(h.step_at(now) == "-b4>" + by + " ~" + by);
    h.evicted("b4");
    CHECK(h.step_at(now) == "+" + by);
    h.finished(by);
    CHECK(h.step_at(now + span - 1).empty());
    CHECK(h.scheduler().wakes_at() == now + span);
    CHECK(h.step_at(now + span) == "+b4");
    now += span;
  }
  // b4 ends in peace, after which the next reclaim is the first in a row.
  h.finished("b4");
  CHECK(h.scheduler().backoffs().empty());
  h.submit("b5", "b", 2);
  CHECK(h.step_at(now + 1) == "+b5");
  h.submit("a9", "a", 2);
  CHECK(h.step_at(now + 2) == "-b5>a9 ~a9");
  CHECK(h.scheduler().wakes_at() == now + 12);
}

TEST_CASE("backoff: only a run in peace, begun since and on borrowed capacity, ends the row") {
  host h = borrowing_host();
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  h.evicted("b4");
  CHECK(h.step_at(100) == "+a1");
  // Started before.
  h.finished("b3");
  REQUIRE(h.scheduler().backoffs().size() == 1);
  // Started since, but on what b owns.
  h.finished("b2");
  CHECK(h.step_at(111) == "+b4");
  h.finished("b4");
  REQUIRE(h.scheduler().backoffs().size() == 1);
  // A run that is being evicted has no peace, nor has one that is cancelled.
  h.submit("b5", "b", 2);
  h.submit("b6", "b", 2);
  CHECK(h.step_at(112) == "+b5 +b6");
  h.evicting("b6");
  h.finished("b6");
  h.submit("b7", "b", 2);
  CHECK(h.step_at(113) == "+b7");
  h.cancel("b7");
  REQUIRE(h.scheduler().backoffs().size() == 1);
  CHECK(h.scheduler().backoffs()[0].times == 1);
  h.submit("b8", "b", 2);
  CHECK(h.step_at(114) == "+b8");
  h.finished("b8");
  CHECK(h.scheduler().backoffs().empty());
}

TEST_CASE("backoff: older runs renew the span, and do not double it") {
  host h = borrowing_host();
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  h.submit("a2", "a", 2);
  CHECK(h.step_at(105) == "-b3>a2 ~a2");
  CHECK(h.scheduler().backoffs() == allot::vector<backoff>{{h.quota("b"), 0, 105, 115, 1}});
  CHECK(h.scheduler().wakes_at() == 115);
}

TEST_CASE("backoff: several victims at once count once") {
  host h = borrowing_host();
  h.submit("a1", "a", 4);
  CHECK(h.step_at(100) == "-b4>a1 -b3>a1 ~a1");
  CHECK(h.scheduler().backoffs() == allot::vector<backoff>{{h.quota("b"), 0, 100, 110, 1}});
}

TEST_CASE("backoff: what a quota owns it uses") {
  host h = borrowing_host();
  reclaim_half(h);
  h.finished("a1");
  h.finished("b2");
  // Of its 4 it uses 2; the others may not borrow, so only one starts.
  CHECK(h.step_at(101) == "+b3");
  CHECK(h.why("b4").reason == pending_reason::backoff);
  CHECK(h.step_at(110) == "+b4");
}

TEST_CASE("backoff: a higher priority in the quota takes the place of a lower one") {
  host h = borrowing_host();
  reclaim_half(h);
  h.finished("a1");
  h.submit("high", "b", 4, {.priority = 1});
  // There is room for it to borrow, but it does not.
  CHECK(h.step_at(101) == "-b2>high -b1>high ~high");
  h.evicted("b1");
  h.evicted("b2");
  CHECK(h.step_at(102) == "+high");
  CHECK(h.step_at(110) == "+b1 +b2");
}

TEST_CASE("backoff: a higher priority that would borrow in spite of all victims waits") {
  host h = borrowing_host();
  reclaim_half(h);
  h.finished("a1");
  h.submit("high", "b", 5, {.priority = 1});
  CHECK(h.step_at(101).empty());
  // Now its quota does not allow it, and with the others gone it would borrow.
  CHECK(h.why("high").reason == pending_reason::quota);
  CHECK(h.why("high").backs_off);
  CHECK(h.step_at(110) == "-b2>high ~high");
}

TEST_CASE("backoff: settings without it end it, and contradictions are refused") {
  host h = borrowing_host();
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  h.evicted("b4");
  h.cancel("a1");
  CHECK(h.step_at(101).empty());
  h.configure("b", allot::standard{}.defaults());
  CHECK(h.scheduler().backoffs().empty());
  CHECK_FALSE(h.scheduler().wakes_at());
  CHECK(h.step_at(102) == "+b4");

  const auto codes = [&](const backoff_times& times) {
    std::vector<allot::problem_code> all;
    for (const auto& p : h.scheduler().configure(h.quota("b"), backing_off(times))) all.push_back(p.code);
    return all;
  };
  using allot::problem_code;
  CHECK(codes({-1, 5}) == std::vector{problem_code::negative});
  CHECK(codes({1, -5}) == std::vector{problem_code::negative});
  CHECK(codes({6, 5}) == std::vector{problem_code::contradiction});
  CHECK(codes({5, 5}).empty());
  CHECK(codes({0, 5}) == std::vector{problem_code::contradiction});
}

TEST_CASE("backoff: one that lasts ends no later than new settings allow") {
  host h = borrowing_host();
  h.configure("b", backing_off({30, 60}));
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  h.evicted("b4");
  h.cancel("a1");
  CHECK(h.scheduler().wakes_at() == 130);
  // Longer ones are for the next reclaim.
  h.configure("b", backing_off({50, 60}));
  CHECK(h.scheduler().wakes_at() == 130);
  h.configure("b", backing_off({5, 20}));
  CHECK(h.scheduler().wakes_at() == 120);
  CHECK(h.step_at(119).empty());
  SUBCASE("then it borrows") {
    CHECK(h.step_at(120) == "+b4");
  }
  SUBCASE("one that has ended by the new settings has ended, and counts in the row") {
    h.configure("b", backing_off({5, 10}));
    CHECK(h.step_at(119) == "+b4");
    CHECK_FALSE(h.scheduler().wakes_at());
    CHECK(h.scheduler().backoffs() == allot::vector<backoff>{{h.quota("b"), 0, 100, 110, 1}});
  }
}

TEST_CASE("backoff: a restarted scheduler knows it") {
  host h = borrowing_host();
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-b4>a1 ~a1");
  const auto known = h.scheduler().backoffs();
  REQUIRE(known.size() == 1);
  const auto state = h.scheduler().state();
  const auto resumed = [&](host<>& fresh, auto edit) {
    auto edited = state;
    edit(edited.memory.backoffs);
    REQUIRE(fresh.scheduler().resume(edited));
    return fresh.scheduler().backoffs();
  };

  host again{two_teams()};
  again.configure("b", backing_off());
  CHECK(resumed(again, [](auto&) {}) == known);
  CHECK(again.scheduler().wakes_at() == 110);
  CHECK(again.scheduler().evicted(h.id("b4")) == allot::refusal::none);
  CHECK(again.step_at(109) == "+a1");
  CHECK(again.step_at(110).empty());

  // What can't be is left out, and no quota backs off for longer than the settings say.
  host fresh{two_teams()};
  fresh.configure("b", backing_off());
  CHECK(resumed(fresh, [&](auto& backoffs) {
          backoffs.push_back(known[0]);
          backoffs.back().dimension = 1;
          backoffs.push_back(known[0]);
          backoffs.back().quota = quota_id{17};
        }) == known);
  host longer{two_teams()};
  longer.configure("b", backing_off());
  resumed(longer, [](auto& backoffs) { backoffs[0].until = allot::without_end; });
  CHECK(longer.scheduler().wakes_at() == 100 + longest);
  host without{two_teams()};
  CHECK(resumed(without, [](auto&) {}).empty());
}

TEST_CASE("backoff: each resource by itself, and a job takes the flavor that need not be borrowed") {
  allot_test::unit_host<> h{{{.name = "root"},
                             {.name = "a", .parent = "root", .nominal = models(4, 4)},
                             {.name = "b", .parent = "root", .nominal = models(4, 4)}}};
  h.configure("a", allot::standard{}.defaults());
  h.configure("b", backing_off());
  h.submit("b1", "b", 6);
  CHECK(h.step_at(0) == "+b1");
  h.submit("a1", "a", 4);
  CHECK(h.step_at(100) == "-b1>a1 ~a1");
  h.evicted("b1");
  CHECK(h.step_at(100) == "+a1");
  h.finished("a1");
  // Of the first model b does not borrow, of the second it does.
  h.submit("b2", "b", 0, {.menu = h100_then_a100(6)});
  CHECK(h.step_at(101) == "+b2");
  CHECK(h.scheduler().pick(h.id("b2"))[0] == 1);
  // And what it owns of the first it uses.
  h.submit("b3", "b", 0, {.menu = h100_then_a100(4)});
  CHECK(h.step_at(102) == "+b3");
  CHECK(h.scheduler().pick(h.id("b3"))[0] == 0);
  const auto why = h.scheduler().why(h.id("b1"));
  REQUIRE(why.backs_off);
  CHECK(why.backs_off.dimension == 0);
  CHECK(h.scheduler().wakes_at() == 110);
  CHECK(h.step_at(109).empty());
  h.finished("b3");
  CHECK(h.step_at(110) == "+b1");
}

TEST_CASE("backoff: an elastic job does not grow by borrowing, and its pods count") {
  allot_test::unit_host<> h{{{.name = "root"},
                             {.name = "a", .parent = "root", .nominal = models(4)},
                             {.name = "b", .parent = "root", .nominal = models(4)}}};
  h.configure("a", allot::standard{}.defaults());
  h.configure("b", backing_off());
  h.submit("e", "b", 1, {.pods = 8, .min_pods = 4});
  CHECK(h.settle() == "+e +e^ +e^ +e^ +e^");
  h.submit("a1", "a", 2);
  CHECK(h.step_at(100) == "-e^>a1 -e^>a1 ~a1");
  for (const allot::job_id pod :
       std::vector<allot::job_id>(h.scheduler().evicting().begin(), h.scheduler().evicting().end())) {
    h.evicted(pod);
  }
  CHECK(h.step_at(101) == "+a1");
  h.finished("a1");
  CHECK(h.step_at(109).empty());
  CHECK(h.pods("e") == 6);
  CHECK(h.step_at(110) == "+e^ +e^");
  CHECK(h.pods("e") == 8);
}

TEST_CASE("backoff: a reserved start that borrows is not before its end") {
  std::vector<timed_job> jobs{{.quota = b, .gpus = 8, .duration = 1000, .estimate = 1000},
                              {.quota = a, .gpus = 4, .submit = 100, .duration = 20, .estimate = 20},
                              {.quota = b, .gpus = 2, .submit = 101, .duration = 50, .estimate = 50}};
  const auto made_with = [&](const backoff_times& times) {
    auto made = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, two_teams(),
                                      allot_test::gpu_pool{8});
    auto& s = made.value();
    for (const quota_id x : {a, b}) {
      queue_settings settings = s.settings(x);
      settings.borrow_backoff = times;
      REQUIRE(s.configure(x, settings).empty());
    }
    return allot_test::timed_host<std::remove_cvref_t<decltype(s)>>{jobs, std::move(s)};
  };
  auto h = made_with({200, 800});
  std::size_t looks = 0;
  h.run_all([&](instant now) {
    if (now != 101) return;
    ++looks;
    const auto held = h.scheduler().reservation_of(h[0].id);
    REQUIRE(held);
    CHECK(held->start == 300);
    CHECK_FALSE(held->after);
    const auto why = h.scheduler().why(h[0].id);
    REQUIRE(why.backs_off);
    CHECK(why.backs_off.until == 300);
    // The third is of the same quota and within its own.
    CHECK(h[2].start == 101);
  });
  CHECK(looks == 1);
  CHECK(h[0].start == 300);
  auto at_once = made_with({});
  at_once.run_all();
  CHECK(*at_once[0].start == 120);
}

TEST_CASE("backoff: a reservation that a reclaim makes void moves, and says why") {
  // The third holds a reservation for the end of the second, which also lends from a; a reclaims from b then.
  std::vector<timed_job> jobs{{.quota = b, .gpus = 6, .duration = 1000, .estimate = 1000},
                              {.quota = a, .gpus = 2, .duration = 150, .estimate = 150},
                              {.quota = b, .gpus = 2, .submit = 1, .duration = 10, .estimate = 10},
                              {.quota = a, .gpus = 1, .submit = 100, .duration = 30, .estimate = 30}};
  auto made = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, two_teams(),
                                    allot_test::gpu_pool{8});
  auto& s = made.value();
  queue_settings settings = s.settings(b);
  settings.borrow_backoff = {200, 800};
  // Otherwise it would stand on what b owns, from 1000 on.
  settings.preempt.reclaim = allot::preempt_reclaim::never;
  settings.owners_backfill = false;
  REQUIRE(s.configure(b, settings).empty());
  allot_test::timed_host<std::remove_cvref_t<decltype(s)>> h{jobs, std::move(s)};
  std::optional<allot::reservation> before;
  std::optional<allot::reservation> after;
  h.run_all([&](instant now) {
    if (now == 1) before = h.scheduler().reservation_of(h[2].id);
    if (now == 100) after = h.scheduler().reservation_of(h[0].id);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto p = h[j].id ? h.scheduler().reservation_of(h[j].id) : std::nullopt;
      if (p) CHECK((p->start > now || p->cause != allot::delay_cause::none));
    }
  });
  REQUIRE(before);
  CHECK(before->start == 150);
  REQUIRE(after);
  CHECK(after->start >= 300);
  CHECK(h[2].start.has_value());
}
