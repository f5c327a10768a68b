// SPDX-License-Identifier: BSL-1.0
#include <allot/core/dimension_names.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/host.hpp"
#include "tests/support/timed_host.hpp"

using allot::gpus;
using allot::instant;
using allot::relation;
using allot_test::host;
using allot_test::host_job;
using allot_test::two_teams;

namespace {

const allot::dimension_names<1> gpu_names;

std::string name_of(const host_job* j) {
  return j->name;
}
template <class Host>
std::string waits(Host& h, const std::string& name) {
  return sentence(h.scheduler(), h.why(name), gpu_names, name_of);
}

}  // namespace

TEST_CASE("sentences: each bound, with the number that would lift it") {
  const auto tree =
      allot::build_quota_tree<2>({{.name = "lab"}, {.name = "vision", .parent = "lab"}}).value();
  const auto told = [&](allot::bound kind, std::int64_t missing) {
    const allot::shortfall s{tree.find("vision"), 1, kind, gpus(missing)};
    return sentence(s, tree, {gpus(8), gpus(3)}, allot::dimension_names<2>{"cpu", "h100/gpu"});
  };
  CHECK(told(allot::bound::capacity, 2) ==
        "vision has room for 1 of the 3 h100/gpu; 2 must be released there, or its nominal raised by 2");
  CHECK(told(allot::bound::borrow_limit, 3) ==
        "vision may borrow for none of the 3 h100/gpu; 3 must be released there, or its borrow limit raised "
        "by 3");
  CHECK(told(allot::bound::nominal, 5) ==
        "vision may not borrow, and has room for none of the 3 h100/gpu; 5 must be released there, or its "
        "nominal raised by 5");
  CHECK(told(allot::bound::guarantee, 1) ==
        "without preemption it may only use what vision owns, which has room for 2 of the 3 h100/gpu; 1 must "
        "be released there, or its nominal raised by 1");
}

TEST_CASE("sentences: why a job waits") {
  host h{two_teams()};
  h.submit("b1", "b", 6);
  h.step();
  h.submit("a1", "a", 4);
  h.submit("b2", "b", 5);
  h.step();
  CHECK(waits(h, "a1") == "a1 is next: it starts when the jobs that are evicted for it have gone");
  CHECK(
      waits(h, "b2") ==
      "b2 waits: root has room for 4 of the 5 gpu; 1 must be released there, or its nominal raised by 1; a1, "
      "which waits for b1 to go, holds 4 gpu there");
  CHECK(waits(h, "b1") == "b1 does not wait");
  for (auto p : h.pending()) {
    p.reason = allot::pending_reason::not_proven;
    CHECK(sentence(h.scheduler(), p, gpu_names, name_of)
              .ends_with("; whether others could yield was not proven"));
  }
  CHECK_FALSE(h.pending().empty());
}

TEST_CASE("sentences: never, rather than not now") {
  host h{{{.name = "root"},
          {.name = "a", .parent = "root", .nominal = gpus(4)},
          {.name = "b", .parent = "root", .nominal = gpus(4), .borrow = allot::limit::at_most(gpus(2))}}};
  h.submit("b1", "b", 7);
  CHECK_FALSE(h.scheduler().can_ever_start(h.id("b1")));
  CHECK(h.scheduler().can_ever_start(h.submit("b2", "b", 6)));
  CHECK_FALSE(h.scheduler().can_ever_start({}));
  CHECK(h.why("b1").out_of_reach == allot::shortfall{h.quota("b"), 0, allot::bound::borrow_limit, gpus(1)});
  CHECK(waits(h, "b1") ==
        "b1 waits: b can never have more than 6 of the 7 gpu, whatever others do; its borrow limit must be "
        "raised by 1");
  h.submit("a1", "a", 9);
  CHECK(waits(h, "a1") ==
        "a1 waits: root can never have more than 8 of the 9 gpu, whatever others do; its nominal must be "
        "raised by 1");
  h.submit("fixed", "a", 5, {.preemptible = false});
  h.step();
  CHECK(waits(h, "fixed") ==
        "fixed waits: a can never have more than 4 of the 5 gpu without borrowing, whatever others do; its "
        "nominal must be raised by 1");
  // It waits, as its quota may grow.
  const std::vector<allot::quota_change<1>> more{
      allot::resize_quota<1>{.quota = h.quota("b"), .borrow = allot::limit::at_most(gpus(3))}};
  REQUIRE(h.scheduler().apply(more));
  CHECK(h.scheduler().can_ever_start(h.id("b1")));

  const auto tree = allot::build_quota_tree<1>({{.name = "z"}}).value();
  CHECK(text_of_limit({tree.find("z"), 0, allot::bound::nominal, gpus(3)}, tree, gpus(3), gpu_names) ==
        "z can never have any of the 3 gpu, whatever others do; its nominal must be raised by 3");
}

TEST_CASE("sentences: a job's user is told nothing that only operators can do") {
  host h{two_teams()};
  h.submit("b1", "b", 6);
  h.step();
  h.submit("b2", "b", 5);
  h.submit("b3", "b", 9);
  h.step();
  const auto told = [&](auto p) {
    return sentence(
        h.scheduler(), p, gpu_names, name_of, [](auto) { return std::string{}; }, allot::addressee::users);
  };
  auto b2 = h.why("b2");
  CHECK(told(b2) == "b2 waits: root has room for 2 of the 5 gpu");
  b2.reason = allot::pending_reason::not_proven;
  CHECK(told(b2) == "b2 waits: root has room for 2 of the 5 gpu");
  CHECK(told(h.why("b3")) == "b3 waits: root can never have more than 8 of the 9 gpu, whatever others do");
}

TEST_CASE("sentences: a problem names its resource, if it is one of several") {
  const auto two =
      allot::build_quota_tree<2>({{.name = "org", .nominal = {gpus(8), gpus(1)}, .inclusive = true},
                                  {.name = "team", .parent = "org", .nominal = {gpus(8), gpus(2)}}});
  REQUIRE_FALSE(two);
  const allot::problem& p = two.problems()[0];
  CHECK(p.dimension == 1);
  CHECK(sentence(p, allot::dimension_names<2>{"cpu", "h100/gpu"}) == "h100/gpu: " + p.text);
  CHECK(sentence(p, gpu_names) == p.text);
  const allot::problem of_none{allot::problem_code::missing, "q", "head", "it lacks that"};
  CHECK(sentence(of_none, allot::dimension_names<2>{"cpu", "gpu"}) == "it lacks that");
}

TEST_CASE("sentences: how many jobs of its quota have their turn before a job") {
  host h{two_teams()};
  h.submit("x", "a", 8);
  h.step();
  for (const char* name : {"a1", "a2"}) h.submit(name, "a", 3);
  h.submit("b1", "b", 6);
  h.submit("urgent", "a", 7, {.priority = 1});
  const auto before = [&](const char* name) { return h.scheduler().jobs_before(h.id(name)); };
  CHECK(before("urgent") == 0);
  CHECK(before("a1") == 1);
  CHECK(before("a2") == 2);
  CHECK(before("b1") == 0);
  CHECK(before("x") == 0);
  REQUIRE(h.scheduler().hold(h.id("urgent")) == allot::refusal::none);
  CHECK(before("a2") == 1);
  CHECK(h.scheduler().jobs_before({}) == 0);
}

TEST_CASE("sentences: a placement's reason is part of the sentence") {
  host h{{{.name = "q", .nominal = gpus(16)}}, allot_test::nodes(2, 4)};
  for (const char* name : {"q1", "q2"}) h.submit(name, "q", 3);
  h.submit("q3", "q", 4);
  h.submit("q4", "q", 1);
  h.step();
  h.submit("q5", "q", 2);
  h.step();
  CHECK(waits(h, "q5") == "q5 waits: q allows it, but 2 gpu are asked for and 1 are free");
  allot::queue_settings strict;
  strict.head = allot::queue_head::strict;
  h.configure("q", strict);
  h.submit("q6", "q", 1);
  CHECK(waits(h, "q6") == "q6 waits: an earlier job of q goes first");

  using scheduler = host<>::scheduler_type;
  host nowhere{two_teams()};
  nowhere.submit("a1", "a", 1);
  scheduler::plan_type::pending_job p{nowhere.id("a1"), nowhere.scheduler().what(nowhere.id("a1")),
                                      nowhere.quota("a"), allot::pending_reason::placement};
  CHECK(sentence(nowhere.scheduler(), p, gpu_names, name_of) ==
        "a1 waits: a allows it, but there is no place for it");
}

TEST_CASE("sentences: what leaves, for which job, and whether anything is held") {
  host h{two_teams()};
  h.submit("b1", "b", 6);
  h.step();
  h.submit("a1", "a", 4);
  h.submit("b2", "b", 5);
  h.step();
  auto p = h.why("b2");
  REQUIRE(p.departures == allot::departures{h.id("b1"), h.id("a1"), 0, gpus(4), true});
  const auto told = [&] { return text_of_departures(h.scheduler(), p, "gpu", name_of); };
  CHECK(told() == "a1, which waits for b1 to go, holds 4 gpu there");
  p.departures.others = 2;
  CHECK(told() == "a1, which waits for b1 to go, and 2 more hold 4 gpu there");
  p.departures.job = {};
  CHECK(told() == "a1, which is next, and 2 more hold 4 gpu there");
  const auto bound = p.binding;
  p.binding.reset();
  p.placement.emplace();
  CHECK(told() == "a1, which is next, and 2 more hold room there");

  p.departures = {h.id("b1"), h.id("a1"), 0, gpus(4)};
  CHECK(told() == "b1, which is being evicted for a1, is still there");
  p.departures.others = 1;
  CHECK(told() == "b1, which is being evicted for a1, and 1 more are still there");
  p.placement.reset();
  CHECK(told() == "there is room for it unless a1, for which b1 is being evicted, goes first");
  p.binding = bound;
  CHECK(told() == "b1, which is being evicted for a1, and 1 more still use 4 gpu there");
  p.departures.others = 0;
  p.departures.beneficiary = p.id;
  CHECK(told() == "b1, which is being evicted for it, still uses 4 gpu there");
  p.departures.beneficiary = {};
  CHECK(told() == "b1, which is being evicted, still uses 4 gpu there");
  p.departures.job = allot::job_id{1234};
  CHECK(told() == "another job, which is being evicted, still uses 4 gpu there");
  p.departures = {};
  CHECK(told().empty());
}

TEST_CASE("sentences: when a job with a reservation starts, and what that rests on") {
  using allot_test::timed_job;
  std::vector<timed_job> jobs{{.quota = allot::quota_id{1}, .gpus = 6, .estimate = 100},
                              {.quota = allot::quota_id{1}, .gpus = 8, .submit = 1, .estimate = 10}};
  allot::standard by;
  by.reservations = 1;
  auto made = allot::make_scheduler(by, allot_test::timed_view{&jobs}, two_teams(), allot_test::gpu_pool{8});
  auto& s = made.value();
  static_cast<void>(s.submit(0));
  static_cast<void>(s.step(0));
  const auto big = s.submit(1);
  static_cast<void>(s.step(1));
  auto p = s.reservation_of(big).value();
  allot::instant now = 1;
  const auto told = [&] {
    return sentence(
        s, p, now, [](std::uint32_t j) { return "job-" + std::to_string(j); },
        [](instant t) { return "t" + std::to_string(t); });
  };
  CHECK(told() ==
        "it starts by t100 at the latest, when job-0 ends, if all jobs end as estimated and no owner takes "
        "back "
        "what it is to borrow");
  p.borrows = false;
  p.start = 120;
  p.cause = allot::delay_cause::overrun;
  CHECK(told() ==
        "it starts by t120 at the latest, when job-0 ends, if all jobs end as estimated; first it was to "
        "start by "
        "t100, but a job runs longer than expected");
  now = 130;
  CHECK(told() == "it starts at any moment: it waits for job-0, which runs longer than expected");
  p.after = {};
  CHECK(told() == "it starts at any moment: it waits for a job that runs longer than expected");
  p.start = allot::without_end;
  p.cause = allot::delay_cause::cluster;
  CHECK(told() ==
        "when it starts is not known any more: the nodes, or what runs on them, were changed; it keeps its "
        "turn");
  p.gathers_since = 1;
  p.start = 500;
  CHECK(told() ==
        "it gathers: it is not known when the jobs in its way end, but later ones leave it their room, until "
        "it "
        "gives up at t500");
  // Every cause has its own text.
  p.gathers_since.reset();
  p.start = 501;
  std::set<std::string> all;
  for (int c = 0; c <= static_cast<int>(allot::delay_cause::protection); ++c) {
    p.cause = static_cast<allot::delay_cause>(c);
    all.insert(told());
  }
  CHECK(all.size() == static_cast<std::size_t>(allot::delay_cause::protection) + 1);
}

TEST_CASE("sentences: the beneficiary of an eviction, and the rule") {
  host h{two_teams()};
  h.submit("b1", "b", 6);
  const auto& first = h.scheduler().step(1);
  CHECK(sentence(h.scheduler(), first.admissions[0], gpu_names, name_of) ==
        "b1 starts in b with 6 gpu, of which 2 gpu are borrowed and may be reclaimed");
  h.submit("a1", "a", 3);
  auto e = h.scheduler().step(2).evictions[0];
  const auto told = [&] { return sentence(h.scheduler(), e, gpu_names, name_of); };
  CHECK(told() ==
        "b1 of b is evicted for a1: a takes back its own from b, which borrows it; it then waits again");
  // Every rule has its own text, and none is omitted.
  std::vector<std::string> all;
  for (std::size_t i = 0; i < allot::relation_count; ++i) {
    e.how = static_cast<relation>(i);
    all.push_back(told());
    CHECK(all.back().starts_with("b1 of b is evicted for a1: "));
    for (std::size_t k = 0; k < i; ++k) CHECK(all[k] != all[i]);
  }
  e.how = relation::time_limit;
  e.beneficiary = {};
  CHECK(told() == "b1 of b is evicted: it has run for as long as it may");
  e.how = relation::borrower;
  e.core = e.id;
  e.pods = 2;
  CHECK(told() == "2 pods of b1 of b are evicted: another quota takes back its own from b, which borrows it");

  h.evicted("b1");
  CHECK(sentence(h.scheduler(), h.scheduler().step(3).admissions[0], gpu_names, name_of) ==
        "a1 starts in a with 3 gpu");
}
