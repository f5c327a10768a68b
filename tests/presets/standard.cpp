// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/standard.hpp>

#include "tests/presets/host.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/timed_host.hpp"

using allot::fair_weight;
using allot::gpus;
using standard_host = allot_test::preset_host<allot::standard>;

namespace {

struct without_estimates {
  using job = int;
  [[nodiscard]] allot::quota_id quota(job) const { return allot::quota_id{0}; }
  [[nodiscard]] allot::resources<> request(job) const { return gpus(1); }
  [[nodiscard]] std::int64_t priority(job) const { return 0; }
};

/// Jobs by their GPUs and estimates: when they were submitted is not shown.
struct untimed {
  using job = std::pair<int, allot::instant>;
  [[nodiscard]] allot::quota_id quota(job) const { return allot::quota_id{0}; }
  [[nodiscard]] allot::resources<> request(job j) const { return gpus(j.first); }
  [[nodiscard]] std::int64_t priority(job) const { return 0; }
  [[nodiscard]] allot::instant estimate(job j) const { return j.second; }
};

struct derived : allot::standard {};

/// Its cycle makes no reservations, and does nothing else either.
template <class Session>
struct idle_cycle {
  template <class Policies>
  explicit idle_cycle(const Policies&) {}
  void reset(Session&) {}
  void run(Session&) {}
};
struct idle_policies : allot::policies<> {
  template <class Session>
  using cycle = idle_cycle<Session>;
};
struct simple : allot::standard {
  using policies_type = idle_policies;
};

}  // namespace

TEST_CASE("standard: idle capacity is lent, and reclaimed by its owner") {
  standard_host h{{{.name = "root"},
                   {.name = "a", .parent = "root", .nominal = gpus(6)},
                   {.name = "b", .parent = "root", .nominal = gpus(5)}}};
  h.submit("b1", "b", 4);
  h.submit("b2", "b", 4);
  CHECK(h.settle() == "+b1 +b2");
  h.submit("a1", "a", 3);
  CHECK(h.settle() == "+a1");
  h.submit("a2", "a", 3);
  CHECK(h.settle() == "-b2>a2 +a2");
  CHECK(h.used("a") == 6);
  // A requeued job does not reclaim what it lost.
  CHECK(h.settle().empty());
}

TEST_CASE("standard: quotas within their nominal come first, then the lower weighted share") {
  standard_host h{{{.name = "root", .nominal = gpus(2)},
                   {.name = "a", .parent = "root", .nominal = gpus(2)},
                   {.name = "heavy", .parent = "root", .nominal = gpus(0), .weight = fair_weight::whole(3)},
                   {.name = "light", .parent = "root", .nominal = gpus(0)}}};
  h.submit("light1", "light", 1);
  h.submit("heavy1", "heavy", 1);
  h.submit("light2", "light", 1);
  h.submit("heavy2", "heavy", 1);
  h.submit("heavy3", "heavy", 1);
  h.submit("a1", "a", 1);
  // A loan of one weighs a third with heavy: its first two equal half a loan of light's.
  CHECK(h.settle() == "+a1 +heavy1 +heavy2 +light1");
}

TEST_CASE("standard: a higher priority evicts a lower one of its own quota only") {
  standard_host h{{{.name = "root"},
                   {.name = "a", .parent = "root", .nominal = gpus(4)},
                   {.name = "b", .parent = "root", .nominal = gpus(4)}}};
  h.submit("a1", "a", 4, {.priority = 1});
  h.submit("b1", "b", 4);
  CHECK(h.settle() == "+a1 +b1");
  h.submit("a2", "a", 4, {.priority = 9});
  CHECK(h.settle() == "-a1>a2 +a2");
  h.submit("a3", "a", 4, {.priority = 9});
  CHECK(h.settle().empty());
}

TEST_CASE("standard: non-preemptible jobs never borrow") {
  standard_host h{{{.name = "root"},
                   {.name = "a", .parent = "root", .nominal = gpus(4)},
                   {.name = "b", .parent = "root", .nominal = gpus(4)}}};
  h.submit("fixed", "b", 6, {.preemptible = false});
  h.submit("loose", "b", 6);
  CHECK(h.settle() == "+loose");
  h.submit("own", "a", 4, {.preemptible = false});
  CHECK(h.settle() == "-loose>own +own");
  h.submit("more", "a", 1, {.priority = 9});
  CHECK(h.settle() == "+more");
}

TEST_CASE("standard: a gang that waits lets smaller jobs pass") {
  standard_host h{{{.name = "root", .nominal = gpus(4)}}};
  h.submit("r1", "root", 3);
  h.submit("gang", "root", 4);
  h.submit("small", "root", 1);
  CHECK(h.settle() == "+r1 +small");
}

TEST_CASE("standard: reserves three jobs of a quota where the view shows estimates, unless told otherwise") {
  const std::vector<allot_test::timed_job> jobs;
  // 0 if a job that does not fit lets all others pass.
  const auto reservations = [](const auto& preset, const auto& view) -> std::uint32_t {
    auto made = allot::make_scheduler(preset, view, {{.name = "a", .nominal = gpus(8)}});
    const allot::queue_settings s = made.value().settings(allot::quota_id{0});
    return s.head == allot::queue_head::reserve ? s.reservations : 0;
  };
  const allot_test::timed_view view{&jobs};
  CHECK(reservations(allot::standard{}, without_estimates{}) == 0);
  CHECK(reservations(allot::standard{}, view) == 3);
  CHECK(reservations(allot::standard{.reservations = 0}, view) == 0);
  CHECK(reservations(allot::standard{.reservations = 2}, view) == 2);
  CHECK(reservations(derived{}, view) == 3);
  CHECK(reservations(simple{}, view) == 0);
}

TEST_CASE("standard: the README's settings keep what they do not change") {
  // One of two GPUs is taken until 10, and the next job needs both.
  const std::vector<allot_test::timed_job> jobs{{.estimate = 10}, {.gpus = 2, .estimate = 10}};
  auto lab = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs},
                                   {{.name = "team", .nominal = gpus(2)}})
                 .value();
  const allot::quota_id team = lab.tree().find("team");
  CHECK(lab.submit(0));
  lab.step(0);
  const allot::submission id = lab.submit(1);
  lab.step(0);
  const auto complain = [](const std::string& text) { FAIL_CHECK(text); };
  const allot::queue_settings before = lab.settings(team);
  // As in README.md.
  allot::queue_settings settings = lab.settings(team);  // the preset's, as long as it is not configured
  settings.backfill = allot::backfill_order::shortest_estimate;
  for (const auto& p : lab.configure(team, settings)) complain(p.text);  // then nothing has changed
  if (const auto p = lab.reservation_of(id)) std::cout << "by " << p->start << " at the latest\n";
  // The end of it.
  REQUIRE(lab.reservation_of(id));
  CHECK(lab.reservation_of(id)->start == 10);
  CHECK(lab.settings(team).head == allot::queue_head::reserve);
  CHECK(lab.settings(team).reservations == 3);
  allot::queue_settings after = lab.settings(team);
  CHECK(after.backfill == allot::backfill_order::shortest_estimate);
  after.backfill = before.backfill;
  CHECK(after == before);
}

TEST_CASE("standard: gathers with two reservations of each quota, unless told otherwise") {
  const std::vector<allot_test::timed_job> jobs;
  const auto made = [&](const allot::standard& preset) {
    auto s = allot::make_scheduler(preset, allot_test::timed_view{&jobs}, {{.name = "a"}}).value();
    return std::pair{s.settings({}).gather.longest, s.settings({}).reservations};
  };
  CHECK(made({.gather = 60}) == std::pair<allot::instant, std::uint32_t>{60, 2});
  CHECK(made({.reservations = 4, .gather = 60}) == std::pair<allot::instant, std::uint32_t>{60, 4});
  CHECK(made({}) == std::pair<allot::instant, std::uint32_t>{0, 3});
}

TEST_CASE("standard: where it is not known when jobs were submitted, they keep the order of the queue") {
  std::vector<allot::quota_spec<1>> quotas{{.name = "a", .nominal = gpus(8)}};
  auto s = allot::make_scheduler(allot::standard{}, untimed{}, std::move(quotas)).value();
  const allot::job_id first = s.submit({8, 100}).id;
  CHECK(s.step(0).admissions.size() == 1);
  const allot::job_id longer = s.submit({8, 1000}).id;
  const allot::job_id shorter = s.submit({8, 1}).id;
  CHECK(s.step(50).empty());
  CHECK(s.reservation_of(longer)->start == 100);
  CHECK(s.reservation_of(shorter)->start == 1100);
  // No age is known by which a job could be too old to be passed.
  auto settings = s.settings(s.quota(first));
  settings.strict_after = 60;
  CHECK(s.configure(s.quota(first), settings).size() == 1);
}
