// SPDX-License-Identifier: BSL-1.0
// What a scheduler does beyond `policies<>`: guaranteed runtimes, rivals, moves, and room after a resize.
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/lifetime_alignment.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/timed_host.hpp"

using allot::gpus;
using allot::queue_settings;
using allot_test::host;
using allot_test::nodes;
using allot_test::two_teams;

namespace {

/// The usual parts with options.
template <class... Options>
using with = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                             allot::lowest_priority_then_highest_share, allot::eligible_is_fair,
                             allot::unprotected, Options...>;
using moving = with<allot::no_second_pass, allot::consolidation<4>, allot::eviction_after_resize>;

}  // namespace

TEST_CASE("scheduler: a guaranteed runtime is respected, and no longer") {
  host h{two_teams()};
  queue_settings s;
  s.min_runtime = {.preempt = 5, .reclaim = 100};
  h.configure("b", s);
  h.submit("b1", "b", 8);
  CHECK(h.step_at(10) == "+b1");
  CHECK(h.scheduler().wakes_at() == 15);
  h.submit("a1", "a", 4);
  CHECK(h.step_at(20).empty());
  CHECK(h.scheduler().wakes_at() == 110);
  CHECK(h.step_at(109).empty());
  CHECK(h.step_at(110) == "-b1>a1 ~a1");
  CHECK_FALSE(h.scheduler().wakes_at().has_value());
}

TEST_CASE("scheduler: a runtime guaranteed later also protects running jobs") {
  queue_settings s;
  s.min_runtime = {.preempt = 5, .reclaim = 100};
  host h{two_teams()};
  h.adopt("b1", "b", 8);
  h.configure("b", s);
  CHECK(h.scheduler().wakes_at() == 5);
  h.submit("a1", "a", 4);
  CHECK(h.step_at(20).empty());
  CHECK(h.scheduler().wakes_at() == 100);
  CHECK(h.step_at(100) == "-b1>a1 ~a1");

  host above{two_teams()};
  above.adopt("b1", "b", 8);
  above.configure("a", s);
  CHECK_FALSE(above.scheduler().wakes_at().has_value());
  above.configure("root", s);
  CHECK(above.scheduler().wakes_at() == 5);
}

namespace {

/// The library's own cycle, which also wants to run ten ticks after the last step while a job waits.
template <class Session>
struct cycle_in_rounds : allot::policies<>::cycle<Session> {
  using allot::policies<>::cycle<Session>::cycle;

  [[nodiscard]] std::optional<allot::instant> wakes_at(const Session& session) const {
    for (const allot::quota_id x : session.tree().top_down()) {
      if (session.queues().waiting(x) > 0) return session.now() + 10;
    }
    return std::nullopt;
  }
};
struct in_rounds : allot::policies<> {
  template <class Session>
  using cycle = cycle_in_rounds<Session>;
};

}  // namespace

TEST_CASE("scheduler: a cycle may say when it wants to run next, and the earliest of all times counts") {
  // Also through policies of any type.
  using any = allot::any_policies<allot_test::host_view>;
  host<allot::no_placement, any> h{two_teams(), {}, any{in_rounds{}}};
  h.submit("b1", "b", 8);
  CHECK(h.step_at(0) == "+b1");
  CHECK_FALSE(h.scheduler().wakes_at());
  h.submit("b2", "b", 8);
  CHECK(h.step_at(3).empty());
  CHECK(h.scheduler().wakes_at() == 13);
  queue_settings s;
  s.min_runtime = {.preempt = 7, .reclaim = 100};
  h.configure("b", s);
  CHECK(h.scheduler().wakes_at() == 7);
  CHECK(h.step_at(8).empty());
  CHECK(h.scheduler().wakes_at() == 18);
  CHECK(h.step_at(95).empty());
  CHECK(h.scheduler().wakes_at() == 100);
}

TEST_CASE("scheduler: within a quota the preempt guarantee counts") {
  host h{{{.name = "q", .nominal = gpus(4)}}};
  queue_settings s;
  s.min_runtime = {.preempt = 50, .reclaim = 0};
  h.configure("q", s);
  h.submit("low", "q", 4);
  CHECK(h.step_at(0) == "+low");
  h.submit("high", "q", 4, {.priority = 1});
  CHECK(h.step_at(49).empty());
  CHECK(h.step_at(50) == "-low>high ~high");
}

TEST_CASE("scheduler: rivals share unowned capacity if a guard judges them") {
  using fair = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                               allot::lowest_priority_then_highest_share, allot::final_share>;
  host<allot::no_placement, fair> h{
      {{.name = "all", .nominal = gpus(8)}, {.name = "a", .parent = "all"}, {.name = "b", .parent = "all"}}};
  queue_settings s;
  s.preempt.rivals = allot::preempt_rivals::any;
  h.configure("a", s);
  h.configure("b", s);
  for (const char* name : {"a1", "a2", "a3", "a4"}) h.submit(name, "a", 2);
  CHECK(h.settle() == "+a1 +a2 +a3 +a4");
  for (const char* name : {"b1", "b2", "b3", "b4"}) h.submit(name, "b", 2);
  const auto& plan = h.scheduler().step(100);
  REQUIRE(plan.evictions.size() == 2);
  for (const auto& e : plan.evictions) {
    CHECK(e.how == allot::relation::rival);
    CHECK(e.why.rule == allot::fairness_rule::final_share);
    CHECK(e.why.beneficiary <= e.why.victim);
  }
  h.evicted("a4");
  h.evicted("a3");
  CHECK(h.settle() == "+b1 +b2");
  CHECK(h.used("a") == 4);
  CHECK(h.used("b") == 4);
}

TEST_CASE("scheduler: a job that fits elsewhere makes room by moving there") {
  host<allot::gpu::inventory, moving> h{{{.name = "q", .nominal = gpus(16)}}, nodes(2, 4)};
  h.submit("q1", "q", 3);
  h.submit("q2", "q", 2);
  h.submit("q3", "q", 1);
  CHECK(h.step() == "+q1 +q2 +q3");
  h.finished("q3");
  h.submit("q4", "q", 1);
  CHECK(h.step() == "+q4");
  h.finished("q1");
  // Four are free on the first node except for q4, and two on the second: q4 moves there.
  h.submit("q5", "q", 4);
  const auto& plan = h.scheduler().step(50);
  REQUIRE(plan.evictions.size() == 1);
  CHECK(plan.evictions[0].what->name == "q4");
  CHECK(plan.evictions[0].how == allot::relation::consolidation);
  h.evicted("q4");
  CHECK(h.settle() == "+q5 +q4");
}

TEST_CASE("scheduler: a move that would not help is not made") {
  host<allot::gpu::inventory, moving> h{{{.name = "q", .nominal = gpus(16)}}, nodes(2, 4)};
  h.submit("q1", "q", 3);
  h.submit("q2", "q", 3);
  h.submit("q3", "q", 2);
  CHECK(h.settle() == "+q1 +q2");
  CHECK(h.scheduler().places().used() == gpus(6));
}

TEST_CASE("scheduler: a quota that has become smaller is brought down, if the policies say so") {
  const std::vector<allot::quota_change<1>> smaller{
      allot::resize_quota<1>{.quota = allot::quota_id{0}, .nominal = gpus(4)}};
  const auto shrink = [&](auto& h) {
    for (const char* name : {"q1", "q2", "q3", "q4"}) h.submit(name, "q", 2);
    CHECK(h.step() == "+q1 +q2 +q3 +q4");
    REQUIRE(h.scheduler().apply(smaller));
  };
  host stays{{{.name = "q", .nominal = gpus(8)}}};
  shrink(stays);
  CHECK(stays.step().empty());

  host<allot::no_placement, with<allot::eviction_after_resize>> h{{{.name = "q", .nominal = gpus(8)}}};
  shrink(h);
  // What a freeze keeps goes when it ends.
  CHECK(h.scheduler().freeze(h.quota("q")) == allot::refusal::none);
  CHECK(h.step().empty());
  CHECK(h.step().empty());
  CHECK(h.scheduler().thaw(h.quota("q")) == allot::refusal::none);
  CHECK(h.step() == "-q4> -q3>");
  h.evicted("q4");
  h.evicted("q3");
  CHECK(h.settle().empty());
  CHECK(h.used("q") == 4);
}

TEST_CASE("scheduler: the job that loses the least work yields") {
  using cheap = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                                allot::cheapest_lost_work>;
  host<allot::no_placement, cheap> h{two_teams()};
  h.submit("b1", "b", 4);
  CHECK(h.step_at(0) == "+b1");
  h.submit("b2", "b", 2);
  h.submit("b3", "b", 2);
  CHECK(h.step_at(90) == "+b2 +b3");
  h.submit("a1", "a", 4);
  // b1 is the oldest and has run 100 on four GPUs, the others 10 on two each.
  CHECK(h.step_at(100) == "-b3>a1 -b2>a1 ~a1");
}

namespace {

// Parts that decide by the host's job names, which the library does not know.
using shown = const allot_test::host_job*;

/// The job with the last name is preempted first.
struct last_name_first {
  template <class View, std::size_t N>
  std::string operator()(const View&, shown j, const allot::ledger<N>&,
                         const allot::victim_candidate<N>&) const {
    std::string reversed = j->name;
    for (char& c : reversed) c = static_cast<char>('~' - c);
    return reversed;
  }
  template <class View>
  bool within_quota(const View&, shown a, shown b, allot::instant) const {
    return a->name > b->name;
  }
};
/// No job preempts one of its own kind, by the first letter.
struct not_to_its_kind {
  template <class View, std::size_t N>
  bool operator()(const View&, shown beneficiary, shown victim, const allot::ledger<N>&,
                  const allot::beneficiary<N>&, const allot::victim_candidate<N>&) const {
    return beneficiary->name[0] != victim->name[0];
  }
};
/// The same guard as a protection.
struct protects_its_kind {
  template <class View, std::size_t N>
  bool operator()(const View&, shown beneficiary, shown victim, const allot::ledger<N>&,
                  const allot::beneficiary<N>&, const allot::victim_candidate<N>&,
                  const allot::search_progress<N>&) const {
    return beneficiary->name[0] == victim->name[0];
  }
};
template <class Guard, class Protection, class... Options>
using by_name = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                                last_name_first, Guard, Protection, Options...>;

}  // namespace

TEST_CASE_TEMPLATE("scheduler: victims, guards and protections see the host's jobs", parts,
                   by_name<not_to_its_kind, allot::unprotected>,
                   by_name<allot::eligible_is_fair, protects_its_kind>) {
  host<allot::no_placement, parts> h{two_teams()};
  for (const char* name : {"m1", "z1", "a9", "k1"}) h.submit(name, "b", 2);
  CHECK(h.settle() == "+m1 +z1 +a9 +k1");
  // z1 is last by name, and of zoo's kind.
  h.submit("zoo", "a", 2);
  CHECK(h.step() == "-m1>zoo ~zoo");
  h.evicted("m1");
  CHECK(h.step() == "+zoo");
  h.submit("apple", "a", 2);
  CHECK(h.step() == "-z1>apple ~apple");
}

TEST_CASE(
    "scheduler: after a resize, the order of victims sees the host's jobs, also where a scheduler moved") {
  using parts = by_name<allot::eligible_is_fair, allot::unprotected, allot::eviction_after_resize>;
  host<allot::no_placement, parts> h{{{.name = "q", .nominal = gpus(8)}}};
  for (const char* name : {"q4", "q2", "q3", "q1"}) h.submit(name, "q", 2);
  CHECK(h.step() == "+q4 +q2 +q3 +q1");
  auto moved = std::move(h.scheduler());
  REQUIRE(moved.apply(std::vector<allot::quota_change<1>>{
      allot::resize_quota<1>{.quota = allot::quota_id{0}, .nominal = gpus(4)}}));
  std::vector<std::string> gone;
  for (const auto& e : moved.step(7).evictions) gone.push_back(e.what->name);
  CHECK(gone == std::vector<std::string>{"q4", "q3"});
}

TEST_CASE("scheduler: options are combined") {
  host<allot::gpu::inventory, moving> h{{{.name = "q", .nominal = gpus(8)}}, nodes(2, 4)};
  for (const char* name : {"q1", "q2", "q3"}) h.submit(name, "q", 2);
  CHECK(h.step() == "+q1 +q2 +q3");
  h.finished("q1");
  // The newest moves to the node of the other, or there is no place for four.
  h.submit("q4", "q", 4);
  CHECK(h.step() == "-q3>q4 ~q4");
  h.evicted("q3");
  CHECK(h.settle() == "+q4 +q3");
  REQUIRE(h.scheduler().apply(std::vector<allot::quota_change<1>>{
      allot::resize_quota<1>{.quota = allot::quota_id{0}, .nominal = gpus(4)}}));
  CHECK(h.step() == "-q4>");
}

namespace {

struct placed_with_estimate : allot_test::timed_view {
  [[nodiscard]] allot::gpu::pod_request pod_request(job j) const {
    return {.gpus = allot::gpus(at(j).gpus), .total = true, .estimate = {at(j).estimate}};
  }
};

/// Counts how often it is asked to place something.
struct counting_nodes : allot::gpu::inventory {
  using allot::gpu::inventory::inventory;
  [[nodiscard]] std::optional<allocation> place(const pod_request& d) {
    ++asked;
    return allot::gpu::inventory::place(d);
  }
  [[nodiscard]] bool could_place(const pod_request& d) {
    ++asked;
    return allot::gpu::inventory::could_place(d);
  }
  std::size_t asked = 0;
};

}  // namespace

TEST_CASE("scheduler: of jobs that differ in the estimates of their pods alone, one speaks for the others") {
  allot::gpu::node_spec node;
  node.name = "n";
  node.gpus = 4;
  std::vector<allot_test::timed_job> jobs(100, {.gpus = 3});
  for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].estimate = static_cast<allot::instant>(j + 1);
  allot::scheduler<placed_with_estimate, counting_nodes> s{
      placed_with_estimate{&jobs}, allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(400)}}).value(),
      counting_nodes{allot::gpu::build_cluster({node}).value()}};
  for (std::uint32_t j = 0; j < jobs.size(); ++j) REQUIRE(s.submit(j));
  REQUIRE(s.step(0).admissions.size() == 1);
  CHECK(s.places().asked < 10);
  CHECK(s.waiting_by_reason(allot::quota_id{0})[static_cast<std::size_t>(allot::pending_reason::placement)] ==
        99);
  CHECK(s.places().asked < 20);
}

TEST_CASE("scheduler: after an eviction the placement, too, is told how long the rest takes") {
  using places = allot::gpu::basic_inventory<allot::gpu::lifetime_alignment>;
  allot::gpu::node_spec node;
  node.name = "n";
  node.gpus = 4;
  std::vector<allot_test::timed_job> jobs{{.gpus = 2, .estimate = 100}};
  allot::scheduler<placed_with_estimate, places> s{
      placed_with_estimate{&jobs}, allot::build_quota_tree<1>({{.name = "q", .nominal = gpus(4)}}).value(),
      places{allot::gpu::build_cluster({node}).value()}};
  const allot::job_id id = s.submit(0);
  const auto expected_end = [&] { return s.places().pods(s.place_of(id)).begin()->end; };
  REQUIRE(s.step(10).admissions.size() == 1);
  CHECK(expected_end() == 110);
  jobs[0].estimate = 30;
  s.evicted(id);
  REQUIRE(s.step(50).admissions.size() == 1);
  CHECK(expected_end() == 80);
}
