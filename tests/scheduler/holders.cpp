// SPDX-License-Identifier: BSL-1.0
#include <allot/core/dimension_names.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/holders.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::holder;
using allot::holders_of_own;
using allot::job_state;
using allot::kept_by;
using allot_test::host;
using allot_test::host_job;
using allot_test::two_teams;

namespace {

const allot::dimension_names<1> gpu_names;

std::string name_of(const host_job* j) {
  return j->name;
}
std::string time_text(allot::instant t) {
  return "t" + std::to_string(t);
}
template <class Host>
std::string waits(Host& h, const std::string& name) {
  return sentence(h.scheduler(), h.why(name), gpu_names, name_of, time_text);
}
/// `who` has 8 of b's and a's 8; then an owner of b asks for 4.
void lend_all(host<>& h, host<>::options who = {}) {
  h.submit("x", "a", 8, who);
  h.step_at(0);
  h.submit("y", "b", 4);
}

}  // namespace

TEST_CASE("holders: what an owner waits for has run for less than it is guaranteed") {
  host h{two_teams()};
  allot::queue_settings s;
  s.min_runtime.reclaim = 300;
  h.configure("a", s);
  lend_all(h);
  CHECK(h.step_at(1).empty());
  const auto all = holders_of_own(h.scheduler(), h.id("y"));
  REQUIRE(all.size() == 1);
  CHECK(all[0] == holder{h.id("x"), h.quota("a"), 0, gpus(8), gpus(4), kept_by::min_runtime, 300});
  CHECK(h.scheduler().wakes_at() == 300);
  CHECK_FALSE(h.why("y").out_of_reach);
  CHECK(
      waits(h, "y") ==
      "y waits: b owns what it asks for; a borrows 4 gpu of that: x may not be preempted before t300, by its "
      "guaranteed runtime");
  CHECK(sentence(h.scheduler(), h.why("y"), gpu_names, name_of) ==
        "y waits: b owns what it asks for; a borrows 4 gpu of that: x may not be preempted until it has run "
        "for as long as it is guaranteed");
  CHECK(h.step_at(300) == "-x>y ~y");
  CHECK(holders_of_own(h.scheduler(), h.id("y")).empty());
  CHECK(holders_of_own(h.scheduler(), h.id("x")).empty());
  CHECK(holders_of_own(h.scheduler(), {}).empty());
}

TEST_CASE("holders: the host holds it, it may not be preempted, or the settings forbid it") {
  host held{two_teams()};
  lend_all(held);
  REQUIRE(held.scheduler().hold(held.id("x")) == allot::refusal::none);
  CHECK(held.step_at(1).empty());
  CHECK(holders_of_own(held.scheduler(), held.id("y"))[0].why == kept_by::hold);
  CHECK(waits(held, "y").ends_with(": x is held, and so is not preempted"));
  REQUIRE(held.scheduler().unhold(held.id("x")) == allot::refusal::none);
  // Nothing keeps it, but no step has been made since.
  CHECK(holders_of_own(held.scheduler(), held.id("y"))[0].why == kept_by::policy);
  CHECK(held.step_at(2) == "-x>y ~y");

  allot::policies<> lenient;
  lenient.not_preemptible = allot::capacity_kind::any;
  host fixed{two_teams(), {}, lenient};
  lend_all(fixed, {.preemptible = false});
  CHECK(fixed.step_at(1).empty());
  CHECK(holders_of_own(fixed.scheduler(), fixed.id("y"))[0].why == kept_by::not_preemptible);
  CHECK(waits(fixed, "y").ends_with(": x may not be preempted"));

  host high{two_teams()};
  allot::queue_settings s;
  s.preempt.reclaim = allot::preempt_reclaim::lower_priority;
  high.configure("b", s);
  lend_all(high, {.priority = 1});
  CHECK(high.step_at(1).empty());
  CHECK(holders_of_own(high.scheduler(), high.id("y"))[0].why == kept_by::settings);
  CHECK(waits(high, "y").ends_with(": x may not be preempted by a job of that quota and priority"));
}

TEST_CASE("holders: a job that would borrow is told what is missing, and one that fits nothing") {
  host h{two_teams()};
  h.submit("x", "a", 8);
  h.step_at(0);
  h.submit("y", "b", 5);
  CHECK(holders_of_own(h.scheduler(), h.id("y")).empty());
  CHECK(waits(h, "y").find("must be released there") != std::string::npos);
  host idle{two_teams()};
  idle.submit("y", "b", 4);
  CHECK(holders_of_own(idle.scheduler(), idle.id("y")).empty());
}

TEST_CASE("holders: where nothing is held, those that leave still have it") {
  auto made = allot::make_scheduler(allot::kueue{}, allot_test::host_view{}, two_teams());
  REQUIRE(made);
  auto& s = made.value();
  const host_job x{"x", s.tree().find("a"), gpus(8)};
  const host_job y{"y", s.tree().find("b"), gpus(4), 0, true, 1};
  const allot::job_id ix = s.submit(&x);
  static_cast<void>(s.step(0));
  const allot::job_id iy = s.submit(&y);
  static_cast<void>(s.step(1));
  REQUIRE(s.state(ix) == job_state::running);
  REQUIRE(s.evicting(ix) == allot::refusal::none);
  const auto all = holders_of_own(s, iy);
  REQUIRE(all.size() == 1);
  CHECK(all[0].why == kept_by::leaving);
  CHECK(sentence(s, all, gpu_names, name_of) == "a borrows 4 gpu of that: x is being evicted");
  CHECK(sentence(s, s.why(iy), gpu_names, name_of) ==
        "y waits: root has room for none of the 4 gpu; 4 must be released there, or its nominal raised by 4; "
        "x, which is being evicted, still uses 8 gpu there");
}

TEST_CASE("holders: three are named, by quota, and the others counted") {
  host h{two_teams()};
  std::vector<holder> all;
  CHECK(sentence(h.scheduler(), all, gpu_names, name_of).empty());
  for (const char* name : {"x1", "x2", "x3", "x4", "x5"}) {
    h.submit(name, "a", 1);
    all.push_back({h.id(name), h.quota(all.size() < 2 ? "a" : "b"), 0, gpus(1), gpus(2), kept_by::policy});
  }
  CHECK(
      sentence(h.scheduler(), all, gpu_names, name_of) ==
      "a borrows 2 gpu of that: x1 is not preempted as the policy stands, x2 is not preempted as the policy "
      "stands; b borrows 2 gpu of that: x3 is not preempted as the policy stands, and 2 more");
  // Each reason has its own name and text.
  std::set<std::string> texts;
  std::set<std::string_view> names;
  all.resize(1);
  for (int why = 0; why <= static_cast<int>(kept_by::policy); ++why) {
    all[0].why = static_cast<kept_by>(why);
    texts.insert(sentence(h.scheduler(), all, gpu_names, name_of));
    names.insert(to_string(all[0].why));
  }
  CHECK(texts.size() == static_cast<std::size_t>(kept_by::policy) + 1);
  CHECK(names.size() == texts.size());
  CHECK(to_string(static_cast<kept_by>(100)).empty());
}

TEST_CASE("holders: in random worlds they account for what is lent, and each is kept by what is said") {
  std::size_t seen = 0;
  allot_test::for_each_seed(200, [&](allot_test::random_source& random) {
    std::vector<allot::quota_spec<>> specs{{.name = "root"}};
    for (const char* name : {"a", "b", "c"})
      specs.push_back({.name = name, .parent = "root", .nominal = gpus(random.between(1, 6))});
    host h{specs};
    allot::queue_settings s;
    s.min_runtime.reclaim = 20;
    h.configure("a", s);
    std::vector<std::string> names;
    for (allot::instant now = 1; now < 60; ++now) {
      const char* const teams[] = {"a", "b", "c"};
      names.push_back("j" + std::to_string(now));
      h.submit(names.back(), random.pick(teams), random.between(1, 4),
               {.priority = 0, .preemptible = !random.one_in(5)});
      if (random.one_in(3)) h.finished(random.pick(names));
      if (random.one_in(6)) static_cast<void>(h.scheduler().hold(h.id(random.pick(names))));
      h.step_at(now);
      const auto leaving = h.scheduler().evicting();
      for (const allot::job_id id : std::vector<allot::job_id>(leaving.begin(), leaving.end()))
        h.scheduler().evicted(id);
      h.step_at(now);
      for (const std::string& name : names) {
        auto& of = h.scheduler();
        const allot::job_id id = h.id(name);
        const auto all = holders_of_own(of, id);
        if (all.empty()) continue;
        ++seen;
        const allot::loan_book<1> book{of.counted()};
        allot::quantity lent;
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (i == 0 || all[i].quota != all[i - 1].quota) lent += all[i].lent;
          CHECK(all[i].quota != of.quota(id));
          CHECK(of.state(all[i].job) != job_state::pending);
          CHECK(of.is_held(all[i].job) == (all[i].why == kept_by::hold));
          CHECK((all[i].why == kept_by::min_runtime) == all[i].until.has_value());
          if (all[i].until) CHECK(*all[i].until > now);
        }
        CHECK(lent == book.lent(of.quota(id), 0));
        CHECK(of.why(name.empty() ? allot::job_id{} : id).binding);
      }
    }
  });
  if (allot_test::all_cases_run()) CHECK(seen > 100);
}
