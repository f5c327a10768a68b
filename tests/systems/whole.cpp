// SPDX-License-Identifier: BSL-1.0
// A preset is one thing: `make_scheduler` takes its policies, what it makes of quotas, and how it treats
// those that are not configured, now and later.
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>
#include <tests/presets/host.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::make_scheduler;
using allot::problem_code;
using allot::quota_id;

namespace {

using shown = allot_test::preset_view;
struct team_job : allot_test::preset_job {
  team_job(quota_id of, int size, allot::instant at = 1)
      : allot_test::preset_job{{}, of, size, 0, at, size, true} {}
};

std::vector<allot::quota_spec<>> teams() {
  return {{.name = "lab"},
          {.name = "a", .parent = "lab", .nominal = gpus(4)},
          {.name = "b", .parent = "lab", .nominal = gpus(4)}};
}

template <class Scheduler>
void settle(Scheduler& s) {
  const auto end = allot::settle(s, 0, [&](const auto& plan) {
    for (const auto& e : plan.evictions) s.evicted(e.id);
  });
  CHECK(end);
}

/// Whether a job of 6 runs in a quota that owns 4, and whether a job of 4 of another quota reclaims its own.
template <class Scheduler>
std::string lends(Scheduler s) {
  const team_job large{s.tree().find("a"), 6};
  const team_job own{s.tree().find("b"), 4, 2};
  const allot::job_id a = s.submit(&large);
  settle(s);
  if (s.state(a) != allot::job_state::running) return "kept";
  const allot::job_id b = s.submit(&own);
  settle(s);
  return s.state(b) == allot::job_state::running ? "lent, reclaimed" : "lent, gone";
}

[[nodiscard]] std::string texts(const std::vector<allot::problem>& all) {
  std::string text;
  for (const allot::problem& p : all) text += p.text + '\n';
  return text;
}
/// By the times at which the jobs were submitted.
template <class Plan>
[[nodiscard]] std::string told(const Plan& plan) {
  std::string text;
  for (const auto& e : plan.evictions) text += " -" + std::to_string(e.what->submitted);
  for (const auto& r : plan.nominations) text += " ~" + std::to_string(r.what->submitted);
  for (const auto& a : plan.admissions) text += " +" + std::to_string(a.what->submitted);
  for (const auto& p : plan.pending) {
    text += " ?" + std::to_string(p.what->submitted) + '/' + std::to_string(static_cast<int>(p.reason));
  }
  return text;
}

}  // namespace

TEST_CASE("make_scheduler: a preset lends and reclaims without settings for each quota") {
  CHECK(lends(make_scheduler(allot::standard{}, shown{}, teams()).value()) == "lent, reclaimed");
  CHECK(lends(make_scheduler(allot::static_quotas{}, shown{}, teams()).value()) == "kept");
  CHECK(lends(make_scheduler(allot::kueue{}, shown{}, teams()).value()) == "lent, gone");
  CHECK(lends(make_scheduler(allot::kueue_fair{}, shown{}, teams()).value()) == "lent, gone");
  CHECK(lends(make_scheduler(allot::hyperpod{}, shown{}, teams()).value()) == "lent, reclaimed");
  for (const char* name : {"standard", "static_quotas", "kueue", "kueue_fair", "hyperpod"}) {
    const auto p = *allot::any_preset::find(name);
    const std::string expected = p.name == "static_quotas"        ? "kept"
                                 : p.name.substr(0, 5) == "kueue" ? "lent, gone"
                                                                  : "lent, reclaimed";
    CHECK(lends(make_scheduler(p, shown{}, teams()).value()) == expected);
  }
}

TEST_CASE("make_scheduler: reports every problem of the quotas, as the preset sees them") {
  const auto wrong =
      make_scheduler(allot::standard{}, shown{}, {{.name = "x", .nominal = gpus(-1)}, {.name = "x"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.problems().size() == 2);
  // PAI reads a parent's nominal quota as one that contains its children's; KAI lets the children have more.
  CHECK(make_scheduler(allot::pai{}, shown{}, teams()).problems().front().code ==
        problem_code::exceeds_parent);
  CHECK(make_scheduler(allot::runai{}, shown{}, teams()));
}

TEST_CASE("make_scheduler: quotas that are added or changed later are the preset's, too") {
  auto fixed = make_scheduler(allot::static_quotas{}, shown{}, teams()).value();
  const std::array<allot::quota_change<1>, 1> more{
      allot::add_quota<1>{{.name = "c", .parent = "lab", .nominal = gpus(2)}}};
  REQUIRE(fixed.apply(more));
  const quota_id c = fixed.tree().find("c");
  CHECK(fixed.tree().spec(c).is_static);
  CHECK(fixed.settings(c) == fixed.settings(fixed.tree().find("a")));
  const team_job j{c, 3};
  const allot::job_id waits = fixed.submit(&j);
  settle(fixed);
  CHECK(fixed.state(waits) == allot::job_state::pending);

  auto kueue = make_scheduler(allot::kueue{}, shown{}, teams()).value();
  REQUIRE(kueue.apply(more));
  CHECK(kueue.settings(kueue.tree().find("c")).preempt.reclaim == allot::preempt_reclaim::never);

  // A cluster's nominal quota contains its teams', from the first one on.
  auto hyper = make_scheduler(allot::hyperpod{}, shown{}, {{.name = "lab", .nominal = gpus(8)}}).value();
  CHECK_FALSE(hyper.tree().spec(hyper.tree().find("lab")).inclusive);
  REQUIRE(hyper.apply(more));
  CHECK(hyper.tree().spec(hyper.tree().find("lab")).inclusive);
  const std::array<allot::quota_change<1>, 1> gone{allot::remove_quota{hyper.tree().find("c")}};
  REQUIRE(hyper.apply(gone));
  CHECK_FALSE(hyper.tree().spec(hyper.tree().find("lab")).inclusive);
}

TEST_CASE("make_scheduler: Kueue's cohort keeps its own pool when a member of an inclusive one is resized") {
  auto s = make_scheduler(allot::kueue{}, shown{},
                          {{.name = "lab", .nominal = gpus(10), .inclusive = true},
                           {.name = "a", .parent = "lab", .nominal = gpus(4)}})
               .value();
  CHECK(s.tree().spec(s.tree().find("lab")).nominal[0] == gpus(6));
  const std::array<allot::quota_change<1>, 1> larger{
      allot::resize_quota<1>{s.tree().find("a"), allot::resources<1>{gpus(7)}}};
  REQUIRE(s.apply(larger));
  CHECK(s.tree().spec(s.tree().find("lab")).nominal[0] == gpus(3));
}

TEST_CASE(
    "make_scheduler: amounts change as if the tree were built again, under any preset, on random trees") {
  std::size_t made = 0;
  std::size_t refused = 0;
  const auto run = [&](std::string_view name, allot_test::random_source& random) {
    const auto preset = *allot::any_preset::find(name);
    const auto quotas = allot_test::random_quotas<1>(random, {.most_quotas = 8});
    auto one = make_scheduler(preset, shown{}, quotas);
    auto other = make_scheduler(preset, shown{}, quotas);
    if (!one) return;
    auto& changed = one.value();
    auto& rebuilt = other.value();
    std::deque<team_job> jobs;
    std::vector<allot::job_id> running;
    for (int at = 1; at <= 15 && !changed.tree().top_down().empty(); ++at) {
      const auto any_quota = [&] { return random.pick(changed.tree().top_down()); };
      jobs.emplace_back(any_quota(), static_cast<int>(random.between(1, 8)), at);
      REQUIRE(changed.submit(&jobs.back()).id == rebuilt.submit(&jobs.back()).id);
      std::vector<allot::quota_change<1>> batch;
      const quota_id x = any_quota();
      if (random.one_in(4)) {
        batch.emplace_back(allot::remove_quota{x});
      } else {
        for (std::size_t i = random.below(3); i > 0; --i) {
          const quota_id y = any_quota();
          if (random.one_in(3)) {
            batch.emplace_back(
                allot::reweight_quota<1>{y, allot::fair_weight::milli(random.between(-100, 3000))});
          } else {
            const allot::quantity now = changed.tree().spec(y).nominal[0];
            batch.emplace_back(allot::resize_quota<1>{y, now + gpus(random.between(-4, 6))});
          }
        }
      }
      const auto answer = changed.apply(batch);
      batch.emplace_back(allot::move_quota{x, rebuilt.tree().parent(x)});
      if (std::holds_alternative<allot::remove_quota>(batch.front())) batch.pop_back();
      const auto expected = rebuilt.apply(batch);
      REQUIRE(static_cast<bool>(answer) == static_cast<bool>(expected));
      REQUIRE(texts(answer.problems()) == texts(expected.problems()));
      if (answer) REQUIRE(answer.value() == expected.value());
      ++(answer ? made : refused);
      for (bool is_done = false; !is_done;) {
        const auto& plan = changed.step(at);
        const auto& same = rebuilt.step(at);
        is_done = plan.empty();
        REQUIRE(told(plan) == told(same));
        std::vector<allot::job_id> going;
        for (const auto& e : plan.evictions) going.push_back(e.id);
        for (const auto& a : plan.admissions) running.push_back(a.id);
        for (const allot::job_id id : going) {
          std::erase(running, id);
          changed.evicted(id), rebuilt.evicted(id);
        }
      }
      REQUIRE(changed.ledger() == rebuilt.ledger());
      REQUIRE(changed.assumed() == rebuilt.assumed());
      if (!running.empty() && random.one_in(2)) {
        const allot::job_id ends = random.pick(running);
        std::erase(running, ends);
        changed.finished(ends), rebuilt.finished(ends);
      }
    }
  };
  allot_test::for_each_seed(60, [&](allot_test::random_source& random) {
    allot::for_each_preset([&](auto p) {
      INFO(p.name);
      run(p.name, random);
    });
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(made > 1000);
  CHECK(refused > 300);
}

TEST_CASE("make_scheduler: a preset that ignores quotas takes jobs of any and pools what they own") {
  auto s = make_scheduler(allot::fifo{}, shown{}, teams()).value();
  const team_job first{quota_id{1}, 6};
  const team_job second{quota_id{77}, 2, 2};
  const team_job third{quota_id::none(), 1, 3};
  std::vector<allot::job_id> ids;
  for (const team_job* j : {&first, &second, &third}) ids.push_back(s.submit(j));
  settle(s);
  CHECK(s.state(ids[0]) == allot::job_state::running);
  CHECK(s.state(ids[1]) == allot::job_state::running);
  CHECK(s.state(ids[2]) == allot::job_state::pending);
  const std::array<allot::quota_change<1>, 1> change{allot::remove_quota{quota_id{1}}};
  CHECK(s.apply(change));
  CHECK(make_scheduler(allot::fifo{}, shown{}, {{.name = "x"}, {.name = "x"}}).problems().size() == 1);
}

TEST_CASE("make_scheduler: the policies of a preset may be given with options") {
  const allot::kueue_fair preset{.strategies = allot::fair_strategies::initial_share};
  CHECK(lends(make_scheduler(preset, shown{}, teams()).value()) == "lent, gone");
  // Spelling out the parts does not change what they decide.
  auto s = make_scheduler(allot::kueue_fair{}, shown{}, teams(), {}, preset.policies()).value();
  CHECK(lends(std::move(s)) == "lent, gone");
}

TEST_CASE("configure: settings that make no sense are refused, and the old ones stay") {
  auto s = make_scheduler(allot::standard{}, shown{}, teams()).value();
  const quota_id a = s.tree().find("a");
  const allot::queue_settings before = s.settings(a);
  const auto codes = [&](const allot::queue_settings& q, quota_id x) {
    std::vector<problem_code> result;
    for (const auto& p : s.configure(x, q)) {
      CHECK_FALSE(p.text.empty());
      result.push_back(p.code);
    }
    return result;
  };
  using codes_type = std::vector<problem_code>;
  CHECK(codes({}, quota_id::none()) == codes_type{problem_code::unknown_quota});
  CHECK(codes({}, quota_id{77}) == codes_type{problem_code::unknown_quota});
  CHECK(codes({.preempt = {.borrow_max_priority = 3}}, a) == codes_type{problem_code::contradiction});
  CHECK(codes({.preempt = {.rivals = allot::preempt_rivals::any}}, a) ==
        codes_type{problem_code::contradiction});
  CHECK(codes({.preempt = {.borrow = allot::preempt_borrow::lower_priority,
                           .rivals = allot::preempt_rivals::lower_priority}},
              a) == codes_type{problem_code::contradiction, problem_code::contradiction});
  CHECK(codes({.min_runtime = {.preempt = -1}}, a) == codes_type{problem_code::negative});
  CHECK(s.settings(a) == before);
  CHECK(s.configure(a, {.head = allot::queue_head::strict}).empty());
  CHECK(s.settings(a).head == allot::queue_head::strict);
}

TEST_CASE("configure: a guard that judges rivals enables them unless the settings forbid it") {
  const auto rivals_under = [](auto guard, allot::preempt_rivals said) {
    using policies = allot::policies<allot::within_nominal_then_borrowed_share, allot::by_settings,
                                     allot::lowest_priority_then_highest_share, decltype(guard)>;
    allot::scheduler<shown, allot::no_placement, policies> s{shown{},
                                                             allot::build_quota_tree(teams()).value()};
    if (said != allot::preempt_rivals::by_guard) {
      CHECK(s.configure(quota_id{1}, {.preempt = {.rivals = said}}).empty());
    }
    return s.settings(quota_id{1}).preempt.rivals;
  };
  CHECK(rivals_under(allot::final_share{}, allot::preempt_rivals::by_guard) == allot::preempt_rivals::any);
  CHECK(rivals_under(allot::final_share{}, allot::preempt_rivals::never) == allot::preempt_rivals::never);
  CHECK(rivals_under(allot::eligible_is_fair{}, allot::preempt_rivals::by_guard) ==
        allot::preempt_rivals::never);
  const auto own = [](const auto&, const auto&, const auto&) { return true; };
  CHECK(rivals_under(own, allot::preempt_rivals::by_guard) == allot::preempt_rivals::never);
  CHECK(rivals_under(own, allot::preempt_rivals::any) == allot::preempt_rivals::any);
}

namespace {

/// The minimum that a scheduler needs of a view.
struct shows_no_duration {
  using job = const team_job*;
  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return allot::gpus(j->gpus); }
  int priority(job) const { return 0; }
};

}  // namespace

TEST_CASE("make_scheduler: a preset by name that needs more of the view is refused") {
  const auto shortest = make_scheduler(*allot::any_preset::find("sjf"), shows_no_duration{}, teams());
  REQUIRE_FALSE(shortest);
  REQUIRE(shortest.problems().size() == 1);
  CHECK(shortest.problems().front().subject == "sjf");
  CHECK(shortest.problems().front().text.find("duration(job)") != std::string::npos);
  CHECK(make_scheduler(*allot::any_preset::find("fifo"), shows_no_duration{}, teams()));
}
