// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/single_queue.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"
#include "tests/support/timed_nodes.hpp"

using allot::gpus;

namespace {

/// What they own together is available to all.
const std::vector<allot::quota_spec<1>> quotas = {{.name = "a", .nominal = gpus(1)},
                                                  {.name = "b", .nominal = gpus(7)}};

}  // namespace

TEST_CASE("fifo: the head blocks all behind it, whatever quota or priority they have") {
  allot_test::preset_host<allot::fifo> h{quotas};
  h.submit("a1", "a", 5);
  h.submit("b1", "b", 4);
  h.submit("a2", "a", 1, {.priority = 9});
  CHECK(h.settle() == "+a1");
  h.finish("a1");
  CHECK(h.settle() == "+b1 +a2");
}

TEST_CASE("sjf: the shortest is first, and blocks as well") {
  allot_test::preset_host<allot::sjf> h{quotas};
  h.submit("long", "a", 2, {.length = 100});
  h.submit("short", "b", 7, {.length = 1});
  h.submit("middle", "a", 4, {.length = 50});
  CHECK(h.settle() == "+short");
  h.finish("short");
  CHECK(h.settle() == "+middle +long");
  h.submit("shorter", "b", 4, {.length = 2});
  h.submit("other", "b", 1, {.length = 3});
  CHECK(h.settle().empty());
}

namespace {

using allot_test::random_source;
using allot_test::timed_job;

/// EASY backfilling in its textbook form, from nothing but the running and pending jobs: the start of each
/// job.
std::vector<allot::instant> easy_by_hand(const std::vector<timed_job>& jobs, std::int64_t all,
                                         bool shortest) {
  struct run {
    std::size_t job;
    allot::instant end;
    allot::instant expected;
  };
  std::vector<allot::instant> start(jobs.size(), -1);
  std::vector<run> running;
  std::vector<std::size_t> queue;
  std::int64_t free = all;
  std::size_t next = 0;
  while (next < jobs.size() || !running.empty()) {
    allot::instant now = next < jobs.size() ? jobs[next].submit : std::numeric_limits<allot::instant>::max();
    for (const run& r : running) now = std::min(now, r.end);
    std::erase_if(running, [&](const run& r) {
      if (r.end == now) free += jobs[r.job].gpus;
      return r.end == now;
    });
    for (; next < jobs.size() && jobs[next].submit == now; ++next) queue.push_back(next);
    const auto begin = [&](std::size_t j) {
      start[j] = now;
      free -= jobs[j].gpus;
      running.push_back({j, now + jobs[j].duration, now + jobs[j].estimate});
    };
    while (!queue.empty() && jobs[queue.front()].gpus <= free) {
      begin(queue.front());
      queue.erase(queue.begin());
    }
    if (queue.empty()) continue;
    std::vector<run> by_end = running;
    std::sort(by_end.begin(), by_end.end(), [](auto& a, auto& b) { return a.expected < b.expected; });
    std::int64_t then = free;
    allot::instant shadow = 0;
    for (const run& r : by_end) {
      if (then >= jobs[queue.front()].gpus && r.expected != shadow) break;
      then += jobs[r.job].gpus;
      shadow = r.expected;
    }
    std::int64_t extra = then - jobs[queue.front()].gpus;
    std::vector<std::size_t> others{queue.begin() + 1, queue.end()};
    if (shortest) {
      std::stable_sort(others.begin(), others.end(),
                       [&](auto a, auto b) { return jobs[a].estimate < jobs[b].estimate; });
    }
    for (const std::size_t j : others) {
      const bool in_time = now + jobs[j].estimate <= shadow;
      if (jobs[j].gpus > free || (!in_time && jobs[j].gpus > extra)) continue;
      if (!in_time) extra -= jobs[j].gpus;
      begin(j);
      std::erase(queue, j);
    }
  }
  return start;
}

/// Jobs in the order of their submission. With `overruns` some exceed their estimates.
std::vector<timed_job> random_jobs(random_source& random, std::int64_t all, bool exact,
                                   bool overruns = false) {
  std::vector<timed_job> jobs(10 + random.below(80));
  allot::instant at = 0;
  const std::int64_t pause = random.between(1, 12);
  for (timed_job& j : jobs) {
    at += random.between(0, pause);
    j.submit = at;
    j.gpus = random.one_in(3) ? random.between(1, all) : random.between(1, 1 + all / 4);
    j.duration = random.between(1, 60);
    j.estimate = exact ? j.duration : j.duration * random.between(1, 5) + random.between(0, 9);
    if (overruns && random.one_in(3)) j.estimate = random.between(1, j.duration);
  }
  return jobs;
}

template <class Preset>
auto host_of(const std::vector<timed_job>& jobs, std::int64_t all, const Preset& preset) {
  auto made = allot::make_scheduler(preset, allot_test::timed_view{&jobs},
                                    {{.name = "all", .nominal = gpus(all)}}, allot_test::gpu_pool{all});
  return allot_test::timed_host<std::remove_cvref_t<decltype(made.value())>>{jobs, std::move(made).value()};
}

/// A preset with other settings of its queue.
template <class Preset>
struct with_settings : Preset {
  allot::queue_settings settings;
  [[nodiscard]] allot::queue_settings defaults() const { return settings; }
  template <std::size_t N>
  [[nodiscard]] allot::quota_rules<N> rules() const {
    return {settings, true, nullptr};
  }
};

}  // namespace

TEST_CASE("easy: starts every job when the textbook algorithm does, in both orders") {
  for (const bool shortest : {false, true}) {
    std::size_t backfilled = 0;
    allot_test::for_each_seed(400, [&](random_source& random) {
      const std::int64_t all = random.between(2, 40);
      const auto jobs = random_jobs(random, all, random.one_in(3));
      const auto backfill =
          shortest ? allot::backfill_order::shortest_estimate : allot::backfill_order::queue;
      auto h = host_of(jobs, all, allot::easy{.backfill = backfill});
      h.run_all();
      const auto expected = easy_by_hand(jobs, all, shortest);
      allot::instant last = 0;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        CAPTURE(j);
        REQUIRE(h[j].start.has_value());
        REQUIRE(*h[j].start == expected[j]);
        backfilled += *h[j].start < last ? 1U : 0U;
        last = std::max(last, *h[j].start);
      }
    });
    CHECK(backfilled > 100);
  }
}

TEST_CASE("easy, conservative: no start is later than reserved, and with exact estimates none is earlier") {
  std::size_t kept = 0;
  std::size_t overruns = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t all = random.between(2, 40);
    const bool exact = random.one_in(2);
    const bool may_overrun = !exact && random.one_in(2);
    const auto jobs = random_jobs(random, all, exact, may_overrun);
    allot::queue_settings settings = allot::easy{}.defaults();
    settings.reservations =
        random.one_in(3) ? allot::reserve_all : static_cast<std::uint32_t>(random.between(1, 4));
    auto h = host_of(jobs, all, with_settings<allot::easy>{{}, settings});
    std::map<std::size_t, allot::instant> first;
    h.run_all([&](allot::instant now) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!h[j].id || h[j].start) continue;
        const auto p = h.scheduler().reservation_of(h[j].id);
        if (!p) continue;
        first.try_emplace(j, p->first_start);
        REQUIRE(p->first_start == first[j]);
        const bool is_late = p->start > p->first_start || p->start <= now;
        REQUIRE((p->cause == allot::delay_cause::none || may_overrun));
        REQUIRE((!is_late || p->cause == allot::delay_cause::overrun));
      }
    });
    for (const auto& [j, start] : first) {
      REQUIRE(h[j].start.has_value());
      const bool had_cause = h[j].reservation && h[j].reservation->cause != allot::delay_cause::none;
      overruns += had_cause ? 1U : 0U;
      REQUIRE((had_cause || *h[j].start <= start));
      if (exact && settings.reservations == allot::reserve_all) REQUIRE(*h[j].start == start);
      ++kept;
    }
  });
  CHECK(kept > 100);
  CHECK(overruns > 10);
}

TEST_CASE("easy, conservative: the first reservations are the same, however many there are") {
  allot_test::for_each_seed(200, [](random_source& random) {
    const std::int64_t all = random.between(2, 20);
    auto jobs = random_jobs(random, all, false);
    for (timed_job& j : jobs) j.submit = 0;
    std::vector<std::optional<allot::instant>> before;
    for (const std::uint32_t depth : {1U, 2U, 5U, allot::reserve_all}) {
      allot::queue_settings settings = allot::easy{}.defaults();
      settings.reservations = depth;
      auto h = host_of(jobs, all, with_settings<allot::easy>{{}, settings});
      std::vector<allot::job_id> ids;
      for (std::uint32_t j = 0; j < jobs.size(); ++j) ids.push_back(h.scheduler().submit(j));
      static_cast<void>(h.scheduler().step(0));
      std::vector<std::optional<allot::instant>> now;
      for (const allot::job_id id : ids) {
        const auto p = h.scheduler().reservation_of(id);
        if (p) now.push_back(p->start);
      }
      REQUIRE(now.size() >= before.size());
      for (std::size_t i = 0; i < before.size(); ++i) REQUIRE(now[i] == before[i]);
      before = now;
    }
  });
}

TEST_CASE("easy: a job without an expected end lets others pass and reserves nothing") {
  std::vector<timed_job> jobs(3);
  jobs[0] = {.gpus = 3, .duration = 50};
  jobs[1] = {.gpus = 4, .submit = 1, .duration = 5, .estimate = 5};
  jobs[2] = {.gpus = 1, .submit = 2, .duration = 500};
  auto h = host_of(jobs, 4, allot::easy{});
  h.run_all([&](allot::instant now) {
    if (now == 2) CHECK_FALSE(h.scheduler().reservation_of(h[1].id));
  });
  CHECK(h[2].start == 2);
  CHECK(h[1].start == 502);
}

TEST_CASE("conservative: a job starts in the step in which another one's start gives it a place") {
  // The job of eight needs the whole second node, at any moment. There the job of two would delay it, until
  // the job of three leaves just two on the first node.
  const std::vector<timed_job> jobs{{.gpus = 3, .duration = 900, .estimate = 900},
                                    {.gpus = 6, .duration = 900, .estimate = 5},
                                    {.gpus = 8, .submit = 7, .duration = 9, .estimate = 9},
                                    {.gpus = 2, .submit = 8, .duration = 9, .estimate = 9},
                                    {.gpus = 3, .submit = 9, .duration = 9, .estimate = 9}};
  auto made = allot::make_scheduler(allot::conservative{}, allot_test::timed_nodes_view{{&jobs}}, quotas,
                                    allot_test::timed_nodes(2, 8));
  auto& s = made.value();
  static_cast<void>(s.submit(0));
  static_cast<void>(s.step(0));
  static_cast<void>(s.submit(1));
  REQUIRE(s.step(0).admissions.size() == 1);
  for (const std::uint32_t j : {2U, 3U, 4U}) static_cast<void>(s.submit(j));
  const auto& plan = s.step(10);
  REQUIRE(plan.admissions.size() == 2);
  CHECK(plan.admissions[0].what == 4);
  CHECK(plan.admissions[1].what == 3);
  CHECK(s.step(10).empty());
  CHECK(s.step(11).empty());
}

TEST_CASE("easy: a view without estimates is refused, and says so") {
  struct plain {
    using job = int;
    allot::quota_id quota(job) const { return allot::quota_id{0}; }
    allot::resources<> request(job) const { return gpus(1); }
    int priority(job) const { return 0; }
  };
  const auto made = allot::make_scheduler(allot::easy{}, plain{}, {{.name = "all", .nominal = gpus(1)}});
  REQUIRE_FALSE(made);
  CHECK(made.problems().front().text.find("estimate(job)") != std::string::npos);
}
