// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kueue/detail/head_memory.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/kueue_world.hpp"

// The memory of the heads is tested through the scheduler's decisions.

namespace {

using allot_test::kueue_queue;
using priority_world = allot_test::kueue_world<allot::kueue>;

constexpr auto strict_head = allot::queue_head::strict;
constexpr auto best_effort_head = allot::queue_head::best_effort;

allot::preempt_settings within() {
  allot::preempt_settings s;
  s.within = allot::preempt_within::lower_priority;
  s.reclaim = allot::preempt_reclaim::never;
  return s;
}
allot::flavor_choice stay() {
  return {allot::flavor_step::stay, allot::flavor_step::stay};
}

struct elastic_job {
  allot::quota_id quota;
  std::uint32_t pods = 1;
};
struct elastic_jobs {
  using job = const elastic_job*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return request(j, j->pods); }
  allot::resources<> request(job, std::uint32_t pods) const { return allot::gpus(pods); }
  int priority(job) const { return 0; }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job) const { return 1; }
};

}  // namespace

TEST_CASE("head_memory: a job waiting for its victims stays the head of a best-effort queue (Kueue #7157)") {
  for (const auto head : {best_effort_head, strict_head}) {
    CAPTURE(head == strict_head);
    priority_world w{{{.name = "cq", .nominal = {4}, .preempt = within(), .head = head}}};
    w.runs({"old", "cq", {4}, 0});
    w.waits({"first", "cq", {3}, 1, 1});
    CHECK(w.step() == "-old:priority>first");
    w.waits({"higher", "cq", {2}, 2, 2});
    CHECK(w.step() == "");
    w.gone("old");
    CHECK(w.step() == (head == strict_head ? "+higher" : "+first"));
  }
}

TEST_CASE(
    "head_memory: who was just told to go does not overtake, nor is it told twice (Kueue #9437, #13662)") {
  priority_world w{{{.name = "cq", .nominal = {4}, .preempt = within()}}};
  w.runs({"one", "cq", {2}, 0, 1}).runs({"two", "cq", {2}, 0, 2});
  w.waits({"in", "cq", {4}, 1, 3});
  CHECK(w.step() == "-one:priority>in -two:priority>in");
  w.gone("one");
  CHECK(w.step() == "");
  w.gone("two");
  CHECK(w.step() == "+in");
  CHECK(w.step() == "");
}

TEST_CASE("head_memory: a strict queue waits for its head, a best-effort one goes on (Kueue #2061)") {
  for (const auto head : {best_effort_head, strict_head}) {
    CAPTURE(head == strict_head);
    priority_world w{{{.name = "cq", .nominal = {4}, .head = head}}};
    w.runs({"old", "cq", {2}});
    w.waits({"big", "cq", {3}, 1, 1}).waits({"small", "cq", {1}, 0, 2});
    CHECK(w.step() == (head == strict_head ? "" : "+small"));
    CHECK(w.step() == "");
    w.finished("old");
    CHECK(w.step() == (head == strict_head ? "+big" : "+big"));
    CHECK(w.step() == (head == strict_head ? "+small" : ""));
  }
}

TEST_CASE("head_memory: flavors at which a preemption failed in the end are not tried again (Kueue #1332)") {
  // There are victims for each resource, but not for both together: the second flavor is tried in the next
  // cycle.
  const auto decides = [](allot::queue_head head) {
    priority_world w{{{.name = "pool"},
                      {.name = "cq",
                       .cohort = "pool",
                       .nominal = {2, 4, 2},
                       .preempt = within(),
                       .head = head,
                       .choice = stay()},
                      {.name = "lender", .cohort = "pool", .nominal = {1, 0, 1}}}};
    w.runs({"low", "cq", {2, 0, 2}, 0}).runs({"high", "lender", {1, 0, 1}, 9});
    w.waits({"in", "cq", {0, 0, 1}, 1, 5, {{{3}, {0, 3}}}});
    return w.settle();
  };
  CHECK(decides(best_effort_head) == "-low:priority>in | +in/1");
  CHECK(decides(strict_head) == "-low:priority>in | +in/1");
}

TEST_CASE("head_memory: heads that try one flavor after another terminate") {
  // Two strict heads, each with three flavors in which a preemption looks possible and fails.
  std::vector<kueue_queue> queues{{.name = "pool"},
                                  {.name = "bank", .cohort = "pool", .nominal = {4, 4, 4, 4}}};
  for (const char* name : {"a", "b"}) {
    queues.push_back({.name = name,
                      .cohort = "pool",
                      .nominal = {2, 2, 2, 1},
                      .preempt = within(),
                      .head = strict_head,
                      .choice = stay()});
  }
  priority_world w{queues};
  w.runs({"bank1", "bank", {4, 4, 4, 4}, 9});
  for (const char* name : {"a", "b"}) {
    w.runs({std::string{"old"} + name, name, {2, 2, 2, 0}, 0});
    w.runs({std::string{"top"} + name, name, {0, 0, 0, 1}, 9});
  }
  w.waits({"in_a", "a", {0, 0, 0, 1}, 1, 5, {{{1}, {0, 1}, {0, 0, 1}}}});
  w.waits({"in_b", "b", {0, 0, 0, 1}, 1, 5, {{{1}, {0, 1}}}});
  CHECK(w.step() == "");
  CHECK(w.step() == "");
  w.finished("topa");
  CHECK(w.step() == "-olda:priority>in_a");
}

TEST_CASE("head_memory: a head that is passed over goes on with its next flavor (Kueue #13956)") {
  // The strict head keeps free what the other is nominated for.
  for (const bool preserves : {true, false}) {
    CAPTURE(preserves);
    priority_world w{{{.name = "pool"},
                      {.name = "a", .cohort = "pool", .nominal = {6}, .head = strict_head},
                      {.name = "b", .cohort = "pool", .nominal = {0, 3}}},
                     allot::kueue{.preserve_scan_progress = preserves}.policies()};
    w.runs({"old", "a", {3}, 9});
    w.waits({"big", "a", {5}, 0, 1}).waits({"other", "b", {}, 0, 2, {{{3}, {0, 3}}}});
    CHECK(w.step() == (preserves ? "+other/1" : ""));
    CHECK(w.step() == "");
  }
}

TEST_CASE("head_memory: the last cycle's progress holds even if the world has changed since") {
  // Each time the head of b is passed over in its first flavor, a job elsewhere ends.
  for (const bool preserves : {true, false}) {
    CAPTURE(preserves);
    priority_world w{{{.name = "pool", .nominal = {2}},
                      {.name = "a", .cohort = "pool"},
                      {.name = "b", .cohort = "pool", .nominal = {0, 2}},
                      {.name = "far", .nominal = {4}}},
                     allot::kueue{.preserve_scan_progress = preserves}.policies()};
    w.runs({"ends", "far", {4}});
    w.waits({"a1", "a", {2}, 5, 1}).waits({"b1", "b", {}, 0, 2, {{{2}, {0, 2}}}});
    CHECK(w.step() == "+a1");
    w.finished("a1");
    w.finished("ends");
    CHECK(w.step() == (preserves ? "+b1/1" : "+b1/0"));
  }
}

TEST_CASE("head_memory: an adopted elastic job does with the pods that it has, however many it could have") {
  auto lab =
      allot::make_scheduler(allot::kueue{}, elastic_jobs{}, {{.name = "cq", .nominal = allot::gpus(8)}})
          .value();
  const elastic_job most{lab.tree().find("cq"), std::uint32_t{1} << 31U};
  const elastic_job other{lab.tree().find("cq")};
  const auto adopted = lab.adopt(&most, 0);
  REQUIRE(adopted);
  CHECK(lab.elastic_pods_of(adopted.id).size() == 1);
  const auto pod = lab.elastic_pods_of(adopted.id).front();
  lab.step(1);
  CHECK(lab.elastic_pods_of(adopted.id).empty());
  CHECK(lab.waiting(lab.tree().find("cq")) == 0);
  CHECK(lab.adopt_elastic_pod(adopted.id, 1).why_not == allot::refusal::has_all_pods);
  // No pod came after the one that was dropped: its number is used again, for the second time.
  const auto next = lab.submit(&other);
  REQUIRE(next);
  CHECK(next.id == allot::job_id{pod.index(), pod.generation() + 1});
}
