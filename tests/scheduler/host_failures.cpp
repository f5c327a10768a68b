// SPDX-License-Identifier: BSL-1.0
// What a host says when a plan can't be carried out as it is: starts that fail or take long, evictions that
// do, jobs that are held.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/holders.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/scheduler/settle.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using allot::gpus;
using allot::instant;
using allot::job_state;
using allot::pending_reason;
using allot::refusal;

namespace {

struct work {
  std::string name{};
  allot::quota_id quota{};
  std::int64_t gpus = 0;
  std::uint32_t pods = 1;
  std::uint32_t least = 1;
  std::int64_t priority = 0;
  instant submitted = 0;
  instant lasts = 0;
  instant limit = 0;
};
struct work_view {
  using job = const work*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return request(j, j->pods); }
  allot::resources<> request(job j, std::uint32_t pods) const { return allot::gpus(j->gpus * pods); }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->least; }
  std::int64_t priority(job j) const { return j->priority; }
  instant submitted(job j) const { return j->submitted; }
};
struct estimating_view : work_view {
  instant estimate(job j) const { return j->lasts; }
  instant time_limit(job j) const { return j->limit; }
};

/// Two teams that own 4 GPUs each and lend all of them.
template <class View, class Preset>
class lab {
 public:
  using scheduler_type = allot::scheduler_for<Preset, View>;
  explicit lab(const Preset& by)
      : lab(by, {{.name = "root"},
                 {.name = "a", .parent = "root", .nominal = gpus(4)},
                 {.name = "b", .parent = "root", .nominal = gpus(4)}}) {}
  lab(const Preset& by, std::vector<allot::quota_spec<>> quotas)
      : of(allot::make_scheduler(by, View{}, std::move(quotas)).value()) {}

  allot::job_id submit(work w, const char* team) {
    w.quota = of.tree().find(team);
    jobs_.push_back(std::move(w));
    return ids_[jobs_.back().name] = of.submit(&jobs_.back());
  }
  allot::job_id operator[](const std::string& name) const { return ids_.at(name); }
  /// "-x>y" x is evicted for y, "~y" y is nominated, "+y" y starts.
  std::string step(instant now) {
    const auto& plan = of.step(now);
    std::string line;
    const auto say = [&](const std::string& what) { line += (line.empty() ? "" : " ") + what; };
    for (const auto& e : plan.evictions)
      say("-" + e.what->name + ">" + (e.beneficiary ? of.what(e.beneficiary)->name : ""));
    for (const auto& r : plan.nominations) say("~" + r.what->name);
    for (const auto& a : plan.admissions) say("+" + a.what->name + (a.core ? "^" : ""));
    return line;
  }
  std::string sentence(const char* name) {
    return allot::sentence(
        of, of.why((*this)[name]), allot::dimension_names<1>{"gpu"}, [](const work* j) { return j->name; },
        [](instant at) { return std::to_string(at); });
  }

  scheduler_type of;

 private:
  std::deque<work> jobs_;
  std::map<std::string, allot::job_id> ids_;
};
template <class View = work_view, class Preset = allot::standard>
lab<View, Preset> lab_of(const Preset& by = {}) {
  return lab<View, Preset>{by};
}
/// One in which x of a, which has all, is evicted for y of b.
lab<work_view, allot::standard> lab_with_an_eviction() {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
  CHECK(h.step(1) == "-x>y ~y");
  return h;
}

}  // namespace

TEST_CASE_TEMPLATE("host failures: a job whose start fails is not tried before its time", Preset,
                   allot::standard, allot::kueue, allot::runai) {
  auto h = lab_of<work_view, Preset>();
  h.submit({.name = "x", .gpus = 4}, "a");
  h.submit({.name = "y", .gpus = 8, .submitted = 1}, "a");
  CHECK(h.step(0) == "+x");
  CHECK(h.of.start_failed(h["x"], 60) == refusal::none);
  CHECK(h.of.state(h["x"]) == job_state::pending);
  CHECK_FALSE(h.of.is_ready(h["x"]));
  CHECK(h.of.wakes_at() == std::optional<instant>{60});
  // Others need not wait for it.
  CHECK(h.step(0) == "+y");
  CHECK(h.of.why(h["x"]).reason == pending_reason::not_ready);
  CHECK(h.sentence("x") == "x waits: it is not ready before 60");
  CHECK(h.of.finished(h["y"]) == refusal::none);
  CHECK(h.step(59).empty());
  CHECK(h.step(60) == "+x");
  CHECK(h.of.start_failed(h["x"], 60) == refusal::none);
  CHECK(h.step(60) == "+x");
}

TEST_CASE("host failures: settle comes to rest although a start fails each time") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 4}, "a");
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "a");
  std::size_t tries = 0;
  for (const instant now : {0, 10, 20}) {
    const auto end = allot::settle(h.of, now, [&](const auto& plan) {
      for (const auto& a : plan.admissions) {
        if (a.what->name != "x") continue;
        ++tries;
        CHECK(h.of.start_failed(a.id, now + 10) == refusal::none);
      }
    });
    CHECK(end.at_rest);
    CHECK(end.not_started.is_none());
  }
  CHECK(tries == 3);
}

TEST_CASE("host failures: a pod whose start fails is tried again, and its job runs on") {
  auto h = lab_of();
  h.submit({.name = "e", .gpus = 1, .pods = 3, .least = 1}, "a");
  CHECK(h.step(0) == "+e +e^ +e^");
  CHECK(h.of.start_failed(h.of.elastic_pods_of(h["e"]).front(), 5) == refusal::none);
  CHECK(h.of.state(h["e"]) == job_state::running);
  CHECK(h.step(1).empty());
  CHECK(h.of.wakes_at() == std::optional<instant>{5});
  CHECK(h.step(5) == "+e^");
  CHECK(h.of.elastic_pods_of(h["e"]).size() == 2);
  // With its job all pods are gone.
  CHECK(h.of.start_failed(h["e"], 9) == refusal::none);
  CHECK(h.of.elastic_pods_of(h["e"]).empty());
  CHECK(h.step(8).empty());
  CHECK(h.step(9) == "+e +e^ +e^");
}

TEST_CASE("host failures: who held a reservation holds it again, before those of its quota that came later") {
  auto h = lab_of<estimating_view>();
  h.submit({.name = "x", .gpus = 4, .lasts = 10}, "a");
  h.submit({.name = "w", .gpus = 4, .lasts = 10}, "b");
  CHECK(h.step(0) == "+x +w");
  h.submit({.name = "y", .gpus = 4, .submitted = 1, .lasts = 10}, "a");
  h.submit({.name = "z", .gpus = 4, .submitted = 2, .lasts = 10}, "a");
  CHECK(h.step(2).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 10);
  CHECK(h.of.reservation_of(h["z"])->start == 20);
  CHECK(h.of.finished(h["x"]) == refusal::none);
  CHECK(h.step(10) == "+y");
  SUBCASE("at once") {}
  SUBCASE("and after a restart") {
    auto next = lab_of<estimating_view>();
    CHECK(next.of.resume(h.of.state()).refused.empty());
    h.of = next.of;
  }
  CHECK(h.of.start_failed(h["y"], 12) == refusal::none);
  // z would not be over by then.
  CHECK(h.step(10).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 12);
  CHECK(h.of.reservation_of(h["z"])->start == 22);
  CHECK(h.step(12) == "+y");
}

TEST_CASE_TEMPLATE("host failures: who is held waits and claims nothing", Preset, allot::standard,
                   allot::kueue, allot::runai) {
  auto h = lab_of<work_view, Preset>();
  h.submit({.name = "x", .gpus = 4}, "a");
  CHECK(h.of.hold(h["x"]) == refusal::none);
  CHECK(h.of.is_held(h["x"]));
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "a");
  CHECK(h.step(0) == "+y");
  CHECK(h.of.requested(h.of.tree().find("a")) == allot::resources<>{});
  CHECK(h.of.why(h["x"]).reason == pending_reason::held);
  CHECK(h.sentence("x") == "x waits: it is held");
  CHECK(h.of.waiting_by_reason(h.of.tree().find("a"))[static_cast<std::size_t>(pending_reason::held)] == 1);
  CHECK_FALSE(h.of.wakes_at().has_value());
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.step(0) == "+x");
  // Held while it runs it waits, held, when the host has evicted it.
  CHECK(h.of.hold(h["x"]) == refusal::none);
  CHECK(h.of.evicting(h["x"]) == refusal::none);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(1).empty());
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.step(1) == "+x");
}

TEST_CASE("host failures: who was held keeps its age, unless the host says otherwise") {
  for (const bool ages : {true, false}) {
    auto h = lab_of();
    h.submit({.name = "x", .gpus = 8, .submitted = 0}, "a");
    CHECK(h.of.hold(h["x"]) == refusal::none);
    h.submit({.name = "y", .gpus = 8, .submitted = 1}, "a");
    CHECK(h.step(2) == "+y");
    h.submit({.name = "z", .gpus = 8, .submitted = 3}, "a");
    CHECK((ages ? h.of.unhold(h["x"]) : h.of.unhold(h["x"], 4)) == refusal::none);
    CHECK(h.of.finished(h["y"]) == refusal::none);
    CHECK(h.step(5) == (ages ? "+x" : "+z"));
  }
}

TEST_CASE_TEMPLATE("host failures: a job that is held while it runs is not preempted", Preset,
                   allot::standard, allot::runai) {
  auto h = lab_of<work_view, Preset>();
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  CHECK(h.of.hold(h["x"]) == refusal::none);
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
  CHECK(h.step(1).empty());
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.step(1) == "-x>y ~y");
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(1) == "+y");
}

TEST_CASE("host failures: an elastic job is held with its pods") {
  auto h = lab_of();
  h.submit({.name = "e", .gpus = 1, .pods = 8, .least = 1}, "a");
  CHECK(h.step(0) == "+e +e^ +e^ +e^ +e^ +e^ +e^ +e^");
  CHECK(h.of.hold(h["e"]) == refusal::none);
  // It is its job that is held.
  CHECK(h.of.hold(h.of.elastic_pods_of(h["e"]).front()) == refusal::wrong_state);
  h.submit({.name = "y", .gpus = 2, .submitted = 1}, "b");
  CHECK(h.step(1).empty());
  // It does not grow, either.
  CHECK(h.of.finished(h.of.elastic_pods_of(h["e"]).front()) == refusal::none);
  CHECK(h.of.evicted(h.of.elastic_pods_of(h["e"]).front()) == refusal::none);
  CHECK(h.step(2) == "+y");
  CHECK(h.of.finished(h["y"]) == refusal::none);
  CHECK(h.step(3).empty());
  CHECK(h.of.unhold(h["e"]) == refusal::none);
  CHECK(h.step(4) == "+e^");
}

TEST_CASE(
    "host failures: a job and its pods count as submitted when they were let go, also after a restart") {
  auto h = lab_of();
  h.submit({.name = "e", .gpus = 1, .pods = 3, .submitted = 1}, "a");
  CHECK(h.step(1) == "+e +e^ +e^");
  CHECK(h.of.hold(h["e"]) == refusal::none);
  CHECK(h.of.unhold(h["e"], 7) == refusal::none);
  const auto before = h.of.state();
  for (const auto& u : before.units) CHECK(u.submitted == 7);
  auto again = lab_of();
  CHECK(again.of.resume(before).refused.empty());
  CHECK(again.of.state() == before);
}

TEST_CASE("host failures: a nominated job that is held gives its turn away") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
  h.submit({.name = "z", .gpus = 4, .submitted = 2}, "b");
  CHECK(h.step(1) == "-x>y ~y ~z");
  CHECK(h.of.hold(h["y"]) == refusal::none);
  CHECK(h.of.state(h["y"]) == job_state::pending);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(2) == "+z");
  CHECK(h.of.unhold(h["y"]) == refusal::none);
  CHECK(h.step(3) == "+y");
}

TEST_CASE("host failures: a nominated pod of a job that is held gives its turn away") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 5}, "b");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "e", .gpus = 1, .pods = 4, .least = 3, .submitted = 1}, "a");
  CHECK(h.step(1) == "-x>e ~e +e");
  CHECK(h.of.hold(h["e"]) == refusal::none);
  CHECK(h.of.nominated().empty());
  const allot::job_id pod = h.of.elastic_pods_of(h["e"]).front();
  CHECK(h.of.why(pod).reason == pending_reason::held);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(2) == "+x");
  CHECK(h.of.unhold(h["e"]) == refusal::none);
  CHECK(h.step(3) == "-x>e ~e");
}

TEST_CASE("host failures: a pod that was cancelled does not come back before its job has run") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "e", .gpus = 2, .pods = 2, .least = 1, .submitted = 1}, "b");
  CHECK(h.step(1) == "-x>e ~e ~e");
  CHECK(h.of.cancel(h.of.elastic_pods_of(h["e"]).front()) == refusal::none);
  CHECK(h.of.hold(h["e"]) == refusal::none);
  CHECK(h.of.unhold(h["e"]) == refusal::none);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(2) == "+e");
  CHECK(h.of.elastic_pods_of(h["e"]).empty());
}

TEST_CASE("host failures: who may be preempted again is, though the jobs of its quota were ruled out") {
  for (const int how : {0, 1, 2}) {
    auto h = lab_of();
    h.submit({.name = "x", .gpus = 8}, "a");
    CHECK(h.step(0) == "+x");
    const allot::quota_id a = h.of.tree().find("a");
    auto s = h.of.settings(a);
    s.preempt.within = allot::preempt_within::lower_priority;
    CHECK(h.of.configure(a, s).empty());
    if (how == 0) CHECK(h.of.hold(h["x"]) == refusal::none);
    if (how == 1) CHECK(h.of.freeze(a) == refusal::none);
    if (how == 2) {
      CHECK(h.of.evicting(h["x"]) == refusal::none);
      CHECK(h.of.not_evicted(h["x"], 5) == refusal::none);
    }
    h.submit({.name = "y", .gpus = 4, .priority = 1, .submitted = 1}, "a");
    CHECK(h.step(1).empty());
    if (how == 0) CHECK(h.of.unhold(h["x"]) == refusal::none);
    if (how == 1) CHECK(h.of.thaw(a) == refusal::none);
    CHECK(h.step(5) == "-x>y ~y");
  }
}

TEST_CASE("host failures: a job whose eviction is withdrawn grows in the same step") {
  auto h = lab_of();
  h.of.withdraw_evictions(true);
  h.submit({.name = "e", .gpus = 1, .pods = 5, .least = 4}, "a");
  h.submit({.name = "x", .gpus = 4, .submitted = 1}, "b");
  CHECK(h.step(0) == "+e +x");
  h.submit({.name = "y", .gpus = 3, .priority = 1, .submitted = 2}, "a");
  CHECK(h.step(1) == "-e>y ~y");
  CHECK(h.of.finished(h["x"]) == refusal::none);
  const auto& plan = h.of.step(2);
  CHECK(plan.withdrawn.size() == 1);
  CHECK(plan.admissions.size() == 2);
  CHECK(h.step(2).empty());
}

TEST_CASE("host failures: calls that are refused change nothing") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 4}, "a");
  CHECK(h.of.start_failed(h["x"], 1) == refusal::wrong_state);
  CHECK(h.of.start_failed(allot::job_id{7}, 1) == refusal::unknown_job);
  CHECK(h.of.hold(allot::job_id{7}) == refusal::unknown_job);
  CHECK(h.of.unhold(allot::job_id{7}) == refusal::unknown_job);
  CHECK_FALSE(h.of.is_held(allot::job_id{7}));
  // Not held: nothing changes.
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.step(0) == "+x");
}

TEST_CASE_TEMPLATE("host failures: who can't be evicted runs on, and another one goes", Preset,
                   allot::standard, allot::kueue, allot::runai) {
  auto h = lab_of<work_view, Preset>();
  h.submit({.name = "x", .gpus = 4}, "a");
  h.submit({.name = "w", .gpus = 4, .submitted = 1}, "a");
  for (int i = 0; i < 3; ++i) static_cast<void>(h.step(0));
  h.submit({.name = "y", .gpus = 4, .submitted = 2}, "b");
  auto s = h.of.settings(h.of.tree().find("b"));
  s.preempt.reclaim = allot::preempt_reclaim::any;
  CHECK(h.of.configure(h.of.tree().find("b"), s).empty());
  const auto evicts = [&](instant now) {
    const auto& plan = h.of.step(now);
    return plan.evictions.size() == 1 ? plan.evictions.front().what->name : std::string{};
  };
  const std::string first = evicts(1);
  const std::string second = first == "x" ? "w" : "x";
  REQUIRE(!first.empty());
  CHECK(h.of.not_evicted(h[first], 100) == refusal::none);
  CHECK(h.of.state(h[first]) == job_state::running);
  CHECK(h.of.state(h["y"]) == job_state::pending);
  CHECK(evicts(1) == second);
  CHECK(h.of.not_evicted(h[second], 50) == refusal::none);
  CHECK(evicts(1).empty());
  CHECK(h.of.wakes_at() == std::optional<instant>{50});
  CHECK(evicts(50) == second);
  CHECK(h.of.evicted(h[second]) == refusal::none);
  CHECK(h.step(50) == "+y");
  // The other one may be asked again at 100.
  CHECK(h.of.wakes_at() == std::optional<instant>{100});
}

TEST_CASE("host failures: what is evicted for a job that goes is withdrawn, if the host wants that") {
  for (const bool withdraws : {true, false}) {
    for (const bool is_cancelled : {true, false}) {
      auto h = lab_with_an_eviction();
      h.of.withdraw_evictions(withdraws);
      CHECK((is_cancelled ? h.of.cancel(h["y"]) : h.of.hold(h["y"])) == refusal::none);
      const auto& plan = h.of.step(2);
      CHECK(plan.withdrawn.size() == (withdraws ? 1 : 0));
      CHECK(plan.empty() == !withdraws);
      CHECK(h.of.state(h["x"]) == (withdraws ? job_state::running : job_state::evicting));
      // A host that is too late says so.
      CHECK(h.of.evicted(h["x"]) == refusal::none);
      CHECK(h.of.state(h["x"]) == job_state::pending);
      CHECK(h.step(3) == "+x");
    }
  }
}

TEST_CASE("host failures: what is withdrawn and claimed by another job goes after all") {
  auto h = lab_with_an_eviction();
  h.of.withdraw_evictions(true);
  CHECK(h.of.cancel(h["y"]) == refusal::none);
  h.submit({.name = "z", .gpus = 3, .submitted = 2}, "b");
  CHECK(h.step(2) == "-x>z ~z");
  CHECK(h.of.step(2).withdrawn.empty());
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(3) == "+z");
}

TEST_CASE(
    "host failures: what has reached its time limit meanwhile leaves, though nobody needs that any more") {
  auto h = lab_of<estimating_view>();
  h.of.withdraw_evictions(true);
  h.submit({.name = "x", .gpus = 8, .limit = 10}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
  CHECK(h.step(1) == "-x>y ~y");
  SUBCASE("after a restart") {
    auto other = lab_of<estimating_view>();
    other.of.withdraw_evictions(true);
    CHECK(other.of.resume(h.of.state()).refused.empty());
    CHECK(other.of.cancel(h["y"]) == refusal::none);
    CHECK(other.of.step(10).empty());
    CHECK(other.of.state(h["x"]) == job_state::evicting);
  }
  CHECK(h.of.cancel(h["y"]) == refusal::none);
  SUBCASE("before it has") {
    CHECK(h.of.step(9).withdrawn.size() == 1);
    CHECK(h.step(10) == "-x>");
  }
  SUBCASE("after") {
    CHECK(h.of.step(10).empty());
    CHECK(h.of.evicted(h["x"]) == refusal::none);
    CHECK(h.step(11) == "+x");
  }
}

TEST_CASE("host failures: who waits behind an eviction that is withdrawn starts in the same step") {
  lab<work_view, allot::standard> h{
      {},
      {{.name = "root"},
       {.name = "a", .parent = "root", .nominal = gpus(2)},
       {.name = "b", .parent = "root", .nominal = gpus(3), .borrow = {allot::limit::none()}},
       {.name = "c", .parent = "root", .nominal = gpus(3)}}};
  h.of.withdraw_evictions(true);
  h.submit({.name = "x", .gpus = 6}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .gpus = 3, .submitted = 1}, "c");
  h.submit({.name = "low", .gpus = 3, .submitted = 1}, "b");
  CHECK(h.step(1) == "-x>y ~y ~low");
  CHECK(h.of.cancel(h["y"]) == refusal::none);
  // With `low` there x can't stay. In its turn "high" takes the place of that one, and x has room again.
  h.submit({.name = "next", .gpus = 1, .submitted = 2}, "a");
  h.submit({.name = "high", .gpus = 1, .priority = 1, .submitted = 2}, "b");
  CHECK(h.step(2) == "+high +next");
  CHECK(h.of.state(h["x"]) == job_state::running);
}

TEST_CASE("host failures: one victim leaves by itself, and the other one is no longer needed") {
  auto h = lab_of();
  h.of.withdraw_evictions(true);
  h.submit({.name = "v", .gpus = 4}, "a");
  h.submit({.name = "w", .gpus = 4, .submitted = 1}, "a");
  CHECK(h.step(0) == "+v +w");
  h.submit({.name = "y", .gpus = 4, .submitted = 2}, "b");
  CHECK(h.step(1) == "-w>y ~y");
  // The other one ends, so there is room for y at once.
  CHECK(h.of.finished(h["v"]) == refusal::none);
  const auto& plan = h.of.step(2);
  REQUIRE(plan.admissions.size() == 1);
  CHECK(plan.admissions.front().what->name == "y");
  REQUIRE(plan.withdrawn.size() == 1);
  CHECK(plan.withdrawn.front().what->name == "w");
  CHECK(h.of.state(h["w"]) == job_state::running);
}

TEST_CASE("host failures: an elastic job that can't be evicted keeps all its pods") {
  auto h = lab_of();
  h.submit({.name = "e", .gpus = 4, .pods = 2, .least = 1}, "a");
  CHECK(h.step(0) == "+e +e^");
  h.submit({.name = "y", .gpus = 4, .submitted = 2}, "b");
  CHECK(h.step(1) == "-e>y ~y");
  const allot::job_id pod = h.of.elastic_pods_of(h["e"]).front();
  CHECK(h.of.state(pod) == job_state::evicting);
  CHECK(h.of.not_evicted(pod, 10) == refusal::none);
  CHECK(h.of.state(pod) == job_state::running);
  // Its job may go instead, with it.
  CHECK(h.step(2).empty());
  CHECK(h.step(10) == "-e>y ~y");
}

TEST_CASE_TEMPLATE("host failures: where evictions are frozen nobody goes", Preset, allot::standard,
                   allot::runai) {
  auto h = lab_of<work_view, Preset>();
  const allot::quota_id root = h.of.tree().find("root"), a = h.of.tree().find("a"), b = h.of.tree().find("b");
  CHECK(h.of.freeze(root) == refusal::none);
  CHECK(h.of.is_frozen(a));
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
  CHECK(h.step(1).empty());
  CHECK(h.of.thaw(b) == refusal::none);
  CHECK(h.step(2).empty());
  CHECK(h.of.thaw(a) == refusal::none);
  CHECK(h.step(3) == "-x>y ~y");
  // What leaves leaves.
  CHECK(h.of.freeze(a) == refusal::none);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(4) == "+y");
  CHECK(h.of.freeze(allot::quota_id{99}) == refusal::unknown_quota);
}

TEST_CASE("host failures: who waited for an eviction that ended while there was no scheduler starts") {
  auto h = lab_with_an_eviction();
  for (const bool has_gone : {false, true}) {
    auto state = h.of.state();
    for (auto& u : state.units) {
      if (u.what->name == "x") u.state = job_state::pending;
    }
    if (has_gone) erase_if(state.units, [](const auto& u) { return u.what->name == "x"; });
    auto next = lab_of();
    REQUIRE(next.of.resume(state));
    CHECK(next.step(2) == "+y");
  }
}

TEST_CASE("host failures: who can't be evicted is not asked while its quota is frozen, either") {
  auto h = lab_with_an_eviction();
  CHECK(h.of.freeze(h.of.tree().find("a")) == refusal::none);
  CHECK(h.of.not_evicted(h["x"], 5) == refusal::none);
  CHECK(h.step(5).empty());
  CHECK(h.of.hold(h["x"]) == refusal::none);
  CHECK(h.of.thaw(h.of.tree().find("a")) == refusal::none);
  CHECK(h.step(6).empty());
  CHECK(h.of.unhold(h["x"]) == refusal::none);
  CHECK(h.step(7) == "-x>y ~y");
}

TEST_CASE("host failures: a job that is starting has its share, and its run begins when it has started") {
  auto h = lab_of<estimating_view>();
  h.submit({.name = "x", .gpus = 8, .lasts = 100, .limit = 100}, "a");
  h.submit({.name = "y", .gpus = 8, .submitted = 1, .lasts = 100}, "a");
  CHECK(h.step(1) == "+x");
  CHECK(h.of.reservation_of(h["y"])->start == 101);
  CHECK(h.of.starting(h["x"], 31) == refusal::none);
  CHECK(h.of.state(h["x"]) == job_state::starting);
  CHECK(h.of.since(h["x"]) == 31);
  CHECK(h.step(1).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 131);
  CHECK(h.of.wakes_at() == std::optional<instant>{131});
  // It takes longer, and nobody says so; then it has started.
  CHECK(h.step(40).empty());
  CHECK(h.of.state(h["x"]) == job_state::starting);
  CHECK(h.of.started(h["x"], 50) == refusal::none);
  CHECK(h.of.state(h["x"]) == job_state::running);
  CHECK(h.step(50).empty());
  CHECK(h.of.reservation_of(h["y"])->start == 150);
  CHECK(h.of.reservation_of(h["y"])->cause == allot::delay_cause::overrun);
  CHECK(h.of.step(150).evictions.size() == 1);
  CHECK(h.of.evicted(h["x"]) == refusal::none);
  CHECK(h.step(150) == "+y");
}

TEST_CASE("host failures: a start that takes long fails, is preempted, or ends by itself") {
  auto h = lab_of();
  h.submit({.name = "x", .gpus = 8}, "a");
  CHECK(h.step(0) == "+x");
  CHECK(h.of.starting(h["x"], 30) == refusal::none);
  SUBCASE("it fails") {
    CHECK(h.of.start_failed(h["x"], 60) == refusal::none);
    CHECK(h.of.state(h["x"]) == job_state::pending);
    CHECK(h.step(60) == "+x");
    CHECK(h.of.state(h["x"]) == job_state::running);
  }
  SUBCASE("it is preempted") {
    h.submit({.name = "y", .gpus = 4, .submitted = 1}, "b");
    CHECK(h.step(1) == "-x>y ~y");
    CHECK(h.of.state(h["x"]) == job_state::evicting);
    CHECK(h.of.started(h["x"], 2) == refusal::wrong_state);
    SUBCASE("and could not be") {
      CHECK(h.of.not_evicted(h["x"], 20) == refusal::none);
      CHECK(h.of.state(h["x"]) == job_state::starting);
    }
    SUBCASE("and goes") {
      CHECK(h.of.evicted(h["x"]) == refusal::none);
      CHECK(h.step(2) == "+y");
      CHECK(h.of.starting(h["x"], 30) == refusal::wrong_state);
    }
  }
  SUBCASE("it ends") {
    CHECK(h.of.finished(h["x"]) == refusal::none);
    CHECK(h.of.ledger().own_usage(h.of.tree().find("a"), 0) == gpus(0));
  }
}

TEST_CASE("host failures: who should have left is listed once for each time that the host names") {
  auto h = lab_with_an_eviction();
  CHECK(h.of.leaves_by(h["y"], 10) == refusal::wrong_state);
  CHECK(h.of.leaves_by(h["x"], 10) == refusal::none);
  CHECK(h.of.wakes_at() == std::optional<instant>{10});
  CHECK(h.of.step(9).empty());
  const auto is_overdue = [&](instant now) {
    const auto& plan = h.of.step(now);
    CHECK(plan.empty() == plan.overdue.empty());
    for (const auto& o : plan.overdue) {
      CHECK(o.id == h["x"]);
      CHECK(o.what->name == "x");
      CHECK(o.quota == h.of.tree().find("a"));
    }
    return plan.overdue.size() == 1;
  };
  CHECK(is_overdue(12));
  CHECK_FALSE(is_overdue(12));
  CHECK_FALSE(h.of.wakes_at());
  CHECK(h.of.leaves_by(h["x"], 20) == refusal::none);
  for (int i = 0; i < 2; ++i) CHECK(h.of.leaves_by(h["x"], 30) == refusal::none);
  CHECK(h.of.wakes_at() == std::optional<instant>{30});
  CHECK_FALSE(is_overdue(20));
  SUBCASE("it can't be evicted") {
    CHECK(h.of.not_evicted(h["x"], 40) == refusal::none);
    CHECK_FALSE(is_overdue(30));
    // And when it is evicted again no time is known.
    CHECK(h.step(40) == "-x>y ~y");
    CHECK_FALSE(h.of.wakes_at());
  }
  SUBCASE("it has gone") {
    CHECK(h.of.evicted(h["x"]) == refusal::none);
    CHECK(h.step(30) == "+y");
    CHECK_FALSE(is_overdue(31));
  }
  SUBCASE("it has not") {
    CHECK(is_overdue(30));
  }
}

TEST_CASE("host failures: an owner is told by when the borrower will have left") {
  auto h = lab_with_an_eviction();
  h.submit({.name = "z", .gpus = 4, .submitted = 2}, "a");
  CHECK(h.of.leaves_by(h["x"], 10) == refusal::none);
  allot::scheduler_for<allot::kueue, work_view> kueue =
      allot::make_scheduler(allot::kueue{}, work_view{},
                            {{.name = "root"},
                             {.name = "a", .parent = "root", .nominal = gpus(4)},
                             {.name = "b", .parent = "root", .nominal = gpus(4)}})
          .value();
  // Where nothing is held for who was announced, what leaves is in the way until it is gone.
  work x{.name = "x", .quota = kueue.tree().find("a"), .gpus = 8};
  work y{.name = "y", .quota = kueue.tree().find("b"), .gpus = 4, .submitted = 1};
  const auto of_x = kueue.submit(&x).id;
  static_cast<void>(kueue.step(0));
  auto settings = kueue.settings(y.quota);
  settings.preempt.reclaim = allot::preempt_reclaim::any;
  REQUIRE(kueue.configure(y.quota, settings).empty());
  const auto of_y = kueue.submit(&y).id;
  REQUIRE(kueue.step(1).evictions.size() == 1);
  CHECK(kueue.leaves_by(of_x, 10) == refusal::none);
  const auto holders = allot::holders_of_own(kueue, of_y);
  REQUIRE(holders.size() == 1);
  CHECK(holders[0].why == allot::kept_by::leaving);
  CHECK(holders[0].until == std::optional<instant>{10});
}

TEST_CASE(
    "host failures: what is starting or should have left is known after a restart, and in another clock") {
  auto h = lab_with_an_eviction();
  h.submit({.name = "z", .gpus = 4, .submitted = 2}, "b");
  CHECK(h.of.leaves_by(h["x"], 10) == refusal::none);
  auto other = lab_of();
  const auto same = [&](auto& s) {
    CHECK(s.wakes_at() == std::optional<instant>{10});
    CHECK(s.step(10).overdue.size() == 1);
    CHECK(s.step(10).empty());
    CHECK(s.evicted(h["x"]) == refusal::none);
    CHECK(s.step(11).admissions.size() == 2);
    CHECK(s.starting(h["y"], 30) == refusal::none);
  };
  SUBCASE("restart") {
    CHECK(other.of.resume(h.of.state()).refused.empty());
    same(other.of);
    auto third = lab_of();
    CHECK(third.of.resume(other.of.state()).refused.empty());
    CHECK(third.of.state(h["y"]) == job_state::starting);
    CHECK(third.of.step(20).empty());
    CHECK(third.of.since(h["y"]) == 30);
  }
  SUBCASE("clock") {
    h.of.rebase(1001);
    CHECK(h.of.wakes_at() == std::optional<instant>{1010});
    CHECK(h.of.step(1010).overdue.size() == 1);
  }
}
