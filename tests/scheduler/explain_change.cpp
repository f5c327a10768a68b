// SPDX-License-Identifier: BSL-1.0
// For all presets: tests/systems/copies.cpp.
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/explain_change.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/scheduler/unit_host.hpp"
#include "tests/support/explained_changes.hpp"
#include "tests/support/timed_host.hpp"

using allot::explain_change;
using allot::gpus;
using allot::job_id;
using allot_test::h100_then_a100;
using allot_test::host;
using allot_test::models;
using allot_test::nodes;
using allot_test::two_teams;
using allot_test::unit_host;

namespace {

template <class Job>
std::string name_of(const Job* j) {
  return j->name;
}
std::string name_of(std::uint32_t j) {
  return std::to_string(j);
}
/// "+a": starts; "!+a": does not; "-a": has to go; "!-a": does not; "a^": has more pods; "av": has fewer;
/// "a<": starts sooner; "a>": later; "a: quota > placement": waits for another reason.
template <class Told>
std::string text_of(const Told& told) {
  std::string text;
  const auto say = [&](const char* before, job_id id, const std::string& after) {
    const bool is_old = told.without.state(id) != allot::job_state::unknown;
    text += (text.empty() ? "" : " ") + std::string{before};
    text += name_of(is_old ? told.without.what(id) : told.with.what(id)) + after;
  };
  const auto& e = told.effects;
  for (const job_id id : e.started) say("+", id, "");
  for (const job_id id : e.not_started) say("!+", id, "");
  for (const job_id id : e.evicted) say("-", id, "");
  for (const job_id id : e.not_evicted) say("!-", id, "");
  for (const job_id id : e.grown) say("", id, "^");
  for (const job_id id : e.shrunk) say("", id, "v");
  for (const job_id id : e.sooner) say("", id, "<");
  for (const job_id id : e.later) say("", id, ">");
  for (const auto& r : e.reasons) {
    say("", r.job, ": " + std::string{to_string(r.was)} + " > " + std::string{to_string(r.is)});
  }
  CHECK(told.at_rest);
  CHECK(e.empty() == text.empty());
  return text;
}
template <class Scheduler, class Change>
std::string told(const Scheduler& s, Change change) {
  const auto before = s.state();
  const std::string text = text_of(explain_change(s, 10, change));
  CHECK(s.state() == before);
  return text;
}
template <std::size_t N>
auto resized(allot::quota_id x, const allot::resources<N>& to) {
  return [change = std::vector<allot::quota_change<N>>{allot::resize_quota<N>{x, to}}](auto& copy) {
    REQUIRE(copy.apply(change));
  };
}
constexpr auto nothing = [](auto&) {};

}  // namespace

TEST_CASE("explain_change: with more quota a job starts, and another need not go") {
  host h{two_teams()};
  h.submit("b1", "b", 6);
  REQUIRE(h.step_at(0) == "+b1");
  h.submit("a1", "a", 4);
  h.submit("a2", "a", 4);
  // As things are, both start: a takes back what b borrows, and borrows itself what that leaves.
  const auto& s = h.scheduler();
  CHECK(told(s, nothing).empty());
  CHECK(told(s, resized<1>(h.quota("a"), gpus(6))) == "!+a2 !-b1 a2: not_waiting > quota");
  CHECK(told(s, resized<1>(h.quota("a"), gpus(10))) == "!-b1");
  // Of what is at rest it says the same without.
  REQUIRE(h.settle() == "-b1>a1 ~a1 ~a2 +a1 +a2");
  CHECK(told(s, resized<1>(h.quota("a"), gpus(10))) == "+b1");
  CHECK(told(s, [&](auto& copy) { copy.finished(h.id("a2")); }).empty());
}

TEST_CASE("explain_change: a job waits for another reason") {
  host h{two_teams(), nodes(1, 8)};
  h.submit("a1", "a", 4);
  h.submit("b1", "b", 4);
  REQUIRE(h.step_at(0) == "+a1 +b1");
  h.submit("b2", "b", 2);
  REQUIRE(h.settle().empty());
  CHECK(told(h.scheduler(), resized<1>(h.quota("b"), gpus(6))) == "b2: quota > placement");
  CHECK(told(h.scheduler(), resized<1>(h.quota("a"), gpus(2))).empty());
}

TEST_CASE("explain_change: a node goes away") {
  // The first two nodes are of one model, the others of another one.
  unit_host<allot::gpu::inventory> h{allot_test::one_team(16, 16), allot_test::two_models(2, 2, 4)};
  h.submit("x", "q", 4);
  h.submit("y", "q", 0, {.priority = 1, .menu = h100_then_a100(4)});
  h.submit("e", "q", 0, {.pods = 5, .min_pods = 2, .menu = h100_then_a100(1)});
  REQUIRE(h.step() == "+y +x +e +e^ +e^ +e^");
  const auto lost = [&](std::size_t n) {
    return told(h.scheduler(), [n](auto& copy) { allot::lose_node(copy, allot::gpu::node_id{n}); });
  };
  CHECK(lost(0) == "+y -x -y x: not_waiting > placement");
  CHECK(lost(1) == "-x x: not_waiting > placement");
  CHECK(lost(2) == "+e -e ev");
  CHECK(lost(3) == "ev");
  CHECK(lost(4).empty());
  // For real it is the same.
  CHECK(allot::lose_node(h.scheduler(), allot::gpu::node_id{3}).size() == 1);
  CHECK(h.pods("e") == 4);
}

TEST_CASE("explain_change: a job had a higher priority") {
  host h{allot_test::two_teams()};
  h.submit("a1", "a", 8);
  REQUIRE(h.step_at(0) == "+a1");
  h.submit("a2", "a", 8);
  h.submit("a3", "a", 8);
  REQUIRE(h.settle().empty());
  const auto is_at = [&](const char* name, std::int64_t priority, auto& copy) {
    const std::int64_t before = std::exchange(h.shown(name).priority, priority);
    REQUIRE(copy.update(h.id(name)) == allot::refusal::none);
    h.shown(name).priority = before;
  };
  const auto raised = [&](auto& copy) { is_at("a3", 1, copy); };
  CHECK(told(h.scheduler(), raised) == "+a3 -a1 a1: not_waiting > quota");
  // So it is with one that runs.
  const auto keep_a1 = [&](auto& copy) {
    raised(copy);
    is_at("a1", 2, copy);
  };
  CHECK(told(h.scheduler(), keep_a1).empty());
  h.finished("a1");
  CHECK(told(h.scheduler(), raised) == "+a3 !+a2 a2: not_waiting > quota");
  // What is new, or gone, is no change of a job that was there.
  CHECK(told(h.scheduler(), [&](auto& copy) { copy.cancel(h.id("a2")); }) == "+a3");
  allot_test::host_job other = h.shown("a3");
  other.priority = 1;
  other.name = "new";
  other.number = 9;
  CHECK(told(h.scheduler(), [&](auto& copy) { REQUIRE(copy.submit(&other)); }) ==
        "+new !+a2 a2: not_waiting > quota");
}

TEST_CASE("explain_change: reservations come sooner or later, and elastic jobs have more pods or fewer") {
  const std::vector<allot_test::timed_job> jobs = {{.gpus = 4, .duration = 100, .estimate = 100},
                                                   {.gpus = 4, .duration = 300, .estimate = 300},
                                                   {.gpus = 6, .submit = 1, .duration = 9, .estimate = 9}};
  auto s = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs},
                                 {{.name = "q", .nominal = gpus(8)}})
               .value();
  const auto submit = [&](std::uint32_t j) { return static_cast<job_id>(s.submit(j)); };
  const job_id first = submit(0);
  const job_id second = submit(1);
  REQUIRE(s.step(5).admissions.size() == 2);
  const job_id third = submit(2);
  REQUIRE(s.step(6).empty());
  REQUIRE(s.reservation_of(third)->start == 305);
  CHECK(told(s, resized<1>(allot::quota_id{0}, gpus(10))) == "2<");
  CHECK(told(s, [&](auto& copy) { copy.finished(first); }).empty());
  CHECK(told(s, [&](auto& copy) { copy.finished(second); }) == "2<");
  CHECK(told(s, [&](auto& copy) { copy.started(second, 8); }) == "2>");

  unit_host<> h{allot_test::one_team(4)};
  h.submit("e", "q", 1, {.pods = 9, .min_pods = 1});
  REQUIRE(h.step() == "+e +e^ +e^ +e^");
  CHECK(told(h.scheduler(), resized<2>(h.quota("q"), models(6))) == "e^");
}

TEST_CASE("explain_change: the change may put another scheduler in the place of the copy") {
  const auto with = [](std::int64_t priority) {
    host h{two_teams()};
    h.submit("a1", "a", 8, {.priority = priority});
    h.step_at(0);
    h.submit("a2", "a", 8, {.priority = 1});
    return h;
  };
  auto h = with(0);
  auto other = with(1);
  CHECK(told(h.scheduler(), [&](auto& copy) { copy = other.scheduler(); }) ==
        "!+a2 !-a1 a2: not_waiting > quota");
}

TEST_CASE("explain_change: says what comes of a change when the host makes it") {
  auto said = allot_test::check_explained_changes<allot::gpu::inventory>(allot::standard{}, 40);
  for (const char* what :
       {"started", "not_started", "evicted", "not_evicted", "grown", "shrunk", "sooner", "later", "reason"}) {
    CHECK_MESSAGE((said[what] > 0 || !allot_test::all_cases_run()), std::string{what});
  }
  allot_test::check_explained_changes<allot::gpu::inventory>(
      allot::standard{.gather = 20, .strict_after = 30});
}
