// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/scheduler.hpp>

#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"
#include "tests/support/timed_nodes.hpp"

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot_test::gpu_pool;
using allot_test::random_source;
using allot_test::timed_job;
using allot_test::timed_view;

namespace {

constexpr quota_id a{1}, b{2};

/// Two teams that lend each other everything they own.
[[nodiscard]] std::vector<allot::quota_spec<1>> teams(std::int64_t each) {
  return {{.name = "all"},
          {.name = "a", .parent = "all", .nominal = gpus(each)},
          {.name = "b", .parent = "all", .nominal = gpus(each)}};
}
[[nodiscard]] allot::queue_settings gathering_queue(instant longest, std::int32_t percent = 100) {
  allot::queue_settings settings = allot::standard{}.defaults();
  settings.head = allot::queue_head::reserve;
  settings.gather = {longest, percent};
  return settings;
}
template <class View, class Placement>
[[nodiscard]] auto gathering_host(const std::vector<timed_job>& jobs, const View& view, std::int64_t each,
                                  Placement places, const allot::queue_settings& settings) {
  auto made = allot::make_scheduler(allot::standard{}, view, teams(each), std::move(places));
  auto& s = made.value();
  for (const quota_id x : {a, b}) REQUIRE(s.configure(x, settings).empty());
  return allot_test::timed_host<std::remove_cvref_t<decltype(s)>>{jobs, std::move(s)};
}

/// A gang of all eight GPUs behind eight jobs of one, which nobody knows the ends of.
[[nodiscard]] std::vector<timed_job> gang_behind_eight() {
  std::vector<timed_job> jobs;
  for (instant i = 0; i < 8; ++i) jobs.push_back({.quota = i < 4 ? a : b, .duration = 10 * (i + 1)});
  jobs.push_back({.quota = a, .gpus = 8, .submit = 1, .duration = 10});
  return jobs;
}

}  // namespace

TEST_CASE("gathering: a gang holds what becomes free where no end is known, and small jobs wait") {
  auto jobs = gang_behind_eight();
  const std::size_t gang = 8;
  jobs.push_back({.quota = a, .submit = 2, .duration = 5});                 // nobody knows for how long
  jobs.push_back({.quota = a, .submit = 2, .duration = 5, .estimate = 5});  // gone before the gang gives up
  auto h = gathering_host(jobs, timed_view{&jobs}, 4, gpu_pool{8}, gathering_queue(100));
  h.run_all([&](instant now) {
    if (now < 1 || now >= 80) return;
    const auto p = h.scheduler().reservation_of(h[gang].id);
    REQUIRE(p);
    CHECK(p->gathers_since == 1);
    CHECK(p->start == 101);
    CHECK(p->cause == allot::delay_cause::none);
  });
  CHECK(*h[10].start == 10);
  CHECK(*h[gang].start == 80);
  CHECK(*h[9].start == 90);
}

TEST_CASE("gathering: it ends in time, wakes the host, and does not begin again at once") {
  auto jobs = gang_behind_eight();
  const std::size_t gang = 8;
  for (instant i = 0; i < 30; ++i) jobs.push_back({.quota = a, .submit = 2, .duration = 20});
  auto h = gathering_host(jobs, timed_view{&jobs}, 4, gpu_pool{8}, gathering_queue(25));
  std::vector<instant> begins;
  h.run_all([&](instant now) {
    if (!h[gang].id || h[gang].start) return;
    const auto p = h.scheduler().reservation_of(h[gang].id);
    if (!p) return;
    REQUIRE(p->gathers_since);
    if (begins.empty() || begins.back() != *p->gathers_since) begins.push_back(*p->gathers_since);
    CHECK(p->start == begins.back() + 25);
    CHECK(now < p->start);
    REQUIRE(h.scheduler().wakes_at());
    CHECK(*h.scheduler().wakes_at() == p->start);
  });
  // Two GPUs were idle for a while; then small jobs got them.
  REQUIRE(begins.size() >= 2);
  CHECK(begins[0] == 1);
  CHECK(*h[9].start == 26);
  for (std::size_t i = 1; i < begins.size(); ++i) CHECK(begins[i] >= begins[i - 1] + 50);
  CHECK(h[gang].starts > 0);
}

TEST_CASE("gathering: bounded in what the jobs of a quota gather together") {
  for (const std::int32_t percent : {49, 50, 74, 75, 100}) {
    CAPTURE(percent);
    std::vector<timed_job> jobs;
    for (instant i = 0; i < 8; ++i) jobs.push_back({.quota = a, .duration = 50});
    jobs.push_back({.quota = b, .gpus = 4, .submit = 1, .duration = 10});
    jobs.push_back({.quota = b, .gpus = 2, .submit = 1, .duration = 10});
    auto settings = gathering_queue(100, percent);
    settings.reservations = 2;
    settings.preempt.reclaim = allot::preempt_reclaim::never;
    auto h = gathering_host(jobs, timed_view{&jobs}, 4, gpu_pool{8}, settings);
    std::int64_t most = 0;
    h.run_all([&](instant) {
      most = std::max(most, h.scheduler().gathered()[0].in_milli() / 1000);
      if (percent == 49 && h[8].id) CHECK_FALSE(h.scheduler().reservation_of(h[8].id).has_value());
    });
    CHECK(most == (percent < 50 ? 2 : percent < 75 ? 4 : 6));
  }
}

TEST_CASE("gathering: what is reserved does not rest on what one that gathers hopes for") {
  // 6 and 4 of ten run. The gang of 6 has a reservation at 50; one of 4 gathers until 22. If it gets its room
  // by then, somebody has gone whom the gang does not count on.
  std::vector<timed_job> jobs{{.quota = a, .gpus = 4, .duration = 100},
                              {.quota = a, .gpus = 4, .duration = 50, .estimate = 50},
                              {.quota = a, .gpus = 6, .submit = 1, .duration = 100},
                              {.quota = b, .gpus = 4, .submit = 2, .duration = 10, .estimate = 10},
                              {.quota = b, .gpus = 2, .submit = 3, .duration = 100, .estimate = 100}};
  auto settings = gathering_queue(20);
  settings.preempt.reclaim = allot::preempt_reclaim::never;
  settings.reservations = 2;
  auto made = allot::make_scheduler(allot::standard{}, timed_view{&jobs}, teams(5), gpu_pool{10});
  auto& s = made.value();
  for (const quota_id x : {a, b}) REQUIRE(s.configure(x, settings).empty());
  allot_test::timed_host<std::remove_cvref_t<decltype(s)>> h{jobs, std::move(s)};
  h.run_all([&](instant now) {
    const auto p = h[2].id ? h.scheduler().reservation_of(h[2].id) : std::nullopt;
    if (!p) return;
    CAPTURE(now);
    CHECK(p->first_start == 50);
    CHECK((p->start == 50 || p->cause != allot::delay_cause::none));
  });
  CHECK(h[2].starts > 0);
}

TEST_CASE("gathering: a start that becomes known is reserved, and one that is hopeless is not waited for") {
  std::vector<timed_job> jobs{{.quota = a, .gpus = 6, .duration = 30},
                              {.quota = b, .gpus = 2, .duration = 50, .estimate = 50},
                              {.quota = b, .gpus = 8, .submit = 1, .duration = 10}};
  auto h = gathering_host(jobs, timed_view{&jobs}, 4, gpu_pool{8}, gathering_queue(60));
  h.run_all([&](instant now) {
    const auto p = h[2].id ? h.scheduler().reservation_of(h[2].id) : std::nullopt;
    if (now < 1 || now >= 50) return;
    REQUIRE(p);
    CHECK(p->gathers_since.has_value() == (now < 30));
    CHECK(p->start == (now < 30 ? 61 : 50));
    CHECK(h.scheduler().gathered()[0] == gpus(now < 30 ? 8 : 0));
  });
  CHECK(*h[2].start == 50);

  // The second one would be there for longer than the gang gathers.
  jobs[1].estimate = jobs[1].duration = 100;
  auto again = gathering_host(jobs, timed_view{&jobs}, 4, gpu_pool{8}, gathering_queue(60));
  again.run_all([&](instant now) {
    const auto p = again[2].id ? again.scheduler().reservation_of(again[2].id) : std::nullopt;
    if (now >= 1 && now < 30) CHECK_FALSE(p.has_value());
  });
  CHECK(*again[2].start == 100);
}

namespace {

/// What must hold of reservations, known and not, after a step.
template <class Host>
void check_gathering(Host& h, const std::vector<timed_job>& jobs, instant now, instant longest,
                     std::int32_t percent, std::map<std::size_t, instant>& given_up,
                     std::map<std::size_t, instant>& since, std::size_t& seen, std::size_t& with_chance) {
  auto& s = h.scheduler();
  std::map<quota_id, std::int64_t> together;
  std::int64_t all = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto p = h[j].id ? s.reservation_of(h[j].id) : std::nullopt;
    constexpr bool has_nodes = !std::is_same_v<std::remove_cvref_t<decltype(s.places())>, gpu_pool>;
    if (p && !p->gathers_since) {
      const bool is_late = p->start > p->first_start || p->start <= now;
      CAPTURE(j);
      CAPTURE(now);
      REQUIRE((!is_late || p->cause != allot::delay_cause::none));
      REQUIRE((has_nodes || p->cause != allot::delay_cause::placement));
    }
    if (!p || !p->gathers_since) {
      if (since.count(j) != 0 && since[j] + longest == now && !h[j].start && !p) given_up[j] = now;
      since.erase(j);
      continue;
    }
    CAPTURE(now);
    CAPTURE(j);
    ++seen;
    REQUIRE(*p->gathers_since <= now);
    REQUIRE(p->start <= *p->gathers_since + longest);
    REQUIRE(now < p->start);
    if (since.count(j) == 0 && given_up.count(j) != 0) REQUIRE(now >= given_up[j] + longest);
    since[j] = *p->gathers_since;
    together[jobs[j].quota] += jobs[j].gpus;
    all += jobs[j].gpus;
    // It still has its chance: with all gone that ran before, or are expected to end, it fits. Only a job
    // with a reservation of its own may have taken it.
    bool some_reserved_started = false;
    auto ledger = s.assumed();
    auto places = s.places();
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      if (!h[k].start || s.state(h[k].id) != allot::job_state::running) continue;
      const instant started = *h[k].start;
      if (h[k].reservation && started >= *p->gathers_since) some_reserved_started = true;
      const bool says = jobs[k].estimate > 0;
      if (says ? started + jobs[k].estimate > p->start : started >= *p->gathers_since) continue;
      ledger.release(jobs[k].quota, gpus(jobs[k].gpus),
                     jobs[k].preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed);
      places.release(s.place_of(h[k].id));
    }
    if (some_reserved_started) continue;
    ++with_chance;
    REQUIRE(ledger.fits(jobs[j].quota, gpus(jobs[j].gpus),
                        jobs[j].preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed));
    REQUIRE(places.place(s.view().pod_request(static_cast<std::uint32_t>(j))).has_value());
  }
  REQUIRE(s.gathered()[0] == gpus(all));
  for (const auto& [quota, amount] : together) {
    const auto most = s.assumed().potential(quota, 0);
    REQUIRE(amount * 1000 * 100 <= most.in_milli() * percent);
  }
  for (const quota_id x : s.tree().top_down()) REQUIRE(s.ledger().is_sound(x));
}

template <class View, class Placement>
void check_random_worlds(std::size_t worlds, const auto& make_places) {
  std::size_t seen = 0;
  std::size_t with_chance = 0;
  allot_test::for_each_seed(worlds, [&](random_source& random) {
    const std::int64_t each = random.between(2, 8);
    std::vector<timed_job> jobs(20 + random.below(50));
    instant at = 0;
    const bool some_say = random.one_in(2);
    for (timed_job& j : jobs) {
      at += random.between(0, 12);
      j.quota = quota_id{1 + random.below(2)};
      j.submit = at;
      j.gpus = random.one_in(3) ? random.between(1, 2 * each) : random.between(1, 1 + each / 3);
      j.duration = random.between(1, 60);
      if (some_say && random.one_in(2)) j.estimate = j.duration;
      j.priority = random.one_in(5) ? 1 : 0;
      j.preemptible = !random.one_in(8);
    }
    const instant longest = random.between(5, 80);
    auto settings = gathering_queue(longest, static_cast<std::int32_t>(random.between(30, 100)));
    settings.reservations = static_cast<std::uint32_t>(random.between(1, 3));
    settings.owners_backfill = random.one_in(2);
    View view;
    view.jobs = &jobs;
    auto h = gathering_host(jobs, view, each, make_places(random, 2 * each), settings);
    std::map<std::size_t, instant> given_up;
    std::map<std::size_t, instant> since;
    h.run_all([&](instant now) {
      check_gathering(h, jobs, now, longest, settings.gather.percent, given_up, since, seen, with_chance);
    });
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (jobs[j].preemptible) REQUIRE((h[j].start.has_value() || !h[j].id));
    }
  });
  CHECK(seen > 100);
  CHECK(with_chance > seen / 2);
}

}  // namespace

TEST_CASE("gathering: in random worlds a job that gathers keeps its chance, and gives up in time") {
  check_random_worlds<timed_view, gpu_pool>(
      300, [](random_source&, std::int64_t gpus_of_all) { return gpu_pool{gpus_of_all}; });
}

TEST_CASE("gathering: on nodes, too") {
  check_random_worlds<allot_test::timed_nodes_view, allot::gpu::inventory>(
      200, [](random_source& random, std::int64_t all) {
        const std::int64_t each = random.between(1, 4);
        return allot_test::timed_nodes(std::max<std::int64_t>(1, all / each), each);
      });
}
