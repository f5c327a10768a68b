// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/backfill/availability.hpp>

#include <allot/presets/standard.hpp>
#include <allot/scheduler/sentences.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/reservation_law.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/timed_host.hpp"
#include "tests/support/timed_nodes.hpp"

using allot::delay_cause;
using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot_test::check_reservations;
using allot_test::random_source;
using allot_test::reservations_seen;
using allot_test::timed_job;
using allot_test::timed_nodes;
using allot_test::timed_nodes_view;

namespace {

/// Three teams that lend each other everything they own.
[[nodiscard]] std::vector<allot::quota_spec<1>> teams(std::int64_t each) {
  return {{.name = "all"},
          {.name = "a", .parent = "all", .nominal = gpus(each)},
          {.name = "b", .parent = "all", .nominal = gpus(2 * each)},
          {.name = "c", .parent = "all", .nominal = gpus(each)}};
}
constexpr quota_id a{1}, b{2}, c{3};

struct traits {
  bool exact = true;
  bool priorities = false;
  bool some_say_nothing = false;
};
[[nodiscard]] std::vector<timed_job> random_jobs(random_source& random, std::int64_t all, const traits& how) {
  std::vector<timed_job> jobs(10 + random.below(50));
  instant at = 0;
  const std::int64_t pause = random.between(1, 15);
  for (timed_job& j : jobs) {
    at += random.between(0, pause);
    j.quota = quota_id{1 + random.below(3)};
    j.submit = at;
    j.gpus = random.one_in(3) ? random.between(1, all) : random.between(1, 1 + all / 4);
    j.duration = random.between(1, 60);
    j.estimate = how.exact ? j.duration : random.between(1, 2 * j.duration);
    if (how.some_say_nothing && random.one_in(6)) j.estimate = 0;
    if (how.priorities) j.priority = static_cast<std::int64_t>(random.below(3));
    // Evicted jobs are restarted, and then the estimate is exact again.
    j.preemptible = !random.one_in(8);
  }
  return jobs;
}

template <class View, class Placement>
[[nodiscard]] auto reserving_host(const std::vector<timed_job>& jobs, const View& view,
                                  std::vector<allot::quota_spec<1>> quotas, Placement places,
                                  std::uint32_t depth,
                                  allot::preempt_reclaim reclaim = allot::preempt_reclaim::any) {
  auto made = allot::make_scheduler(allot::standard{}, view, std::move(quotas), std::move(places));
  auto& s = made.value();
  allot::queue_settings settings = allot::standard{}.defaults();
  settings.head = allot::queue_head::reserve;
  settings.reservations = depth;
  settings.preempt.reclaim = reclaim;
  for (const quota_id x : s.tree().top_down()) {
    if (s.tree().parent(x)) REQUIRE(s.configure(x, settings).empty());
  }
  return allot_test::timed_host<std::remove_cvref_t<decltype(s)>>{jobs, std::move(s)};
}
template <class View, class Placement>
[[nodiscard]] auto reserving_host(const std::vector<timed_job>& jobs, const View& view, std::int64_t each,
                                  Placement places, std::uint32_t depth,
                                  allot::preempt_reclaim reclaim = allot::preempt_reclaim::any) {
  return reserving_host(jobs, view, teams(each), std::move(places), depth, reclaim);
}
/// Whether owners take back what they lend: only then can a start rest on what a quota owns.
[[nodiscard]] allot::preempt_reclaim any_reclaim(random_source& random) {
  return random.one_in(2) ? allot::preempt_reclaim::any : allot::preempt_reclaim::never;
}
/// Two teams that lend each other everything they own.
[[nodiscard]] std::vector<allot::quota_spec<1>> two_teams(std::int64_t first, std::int64_t second) {
  return {{.name = "all"},
          {.name = "a", .parent = "all", .nominal = gpus(first)},
          {.name = "b", .parent = "all", .nominal = gpus(second)}};
}

}  // namespace

TEST_CASE("availability: under quotas that lend no start is later than reserved but for an owner's claim") {
  reservations_seen all;
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const auto jobs = random_jobs(random, 4 * each, {});
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    const auto reclaim = any_reclaim(random);
    auto h = reserving_host(jobs, allot_test::timed_view{&jobs}, each, allot_test::gpu_pool{4 * each}, depth,
                            reclaim);
    check_reservations(h, jobs, {delay_cause::owner}, all);
  });
  CHECK(all.reservations > 100);
  CHECK(all.late > 0);
}

TEST_CASE("availability: priorities, overruns and unknown ends have their causes on record") {
  reservations_seen all;
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const auto jobs = random_jobs(random, 4 * each,
                                  {.exact = false, .priorities = true, .some_say_nothing = random.one_in(2)});
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    const auto reclaim = any_reclaim(random);
    auto h = reserving_host(jobs, allot_test::timed_view{&jobs}, each, allot_test::gpu_pool{4 * each}, depth,
                            reclaim);
    // Some jobs that borrow may not be preempted.
    check_reservations(
        h, jobs,
        {delay_cause::owner, delay_cause::higher_priority, delay_cause::overrun, delay_cause::protection},
        all);
  });
  CHECK(all.reservations > 100);
  CHECK(all.causes[delay_cause::owner] > 0);
  CHECK(all.causes[delay_cause::higher_priority] > 0);
  CHECK(all.causes[delay_cause::overrun] > 0);
}

TEST_CASE("availability: on nodes, too") {
  reservations_seen all;
  allot_test::for_each_seed(200, [&](random_source& random) {
    const std::int64_t each = random.between(2, 6);
    const std::int64_t per_node = random.between(1, 4);
    const std::int64_t count = 4 * each / per_node;
    const auto jobs = random_jobs(random, std::max<std::int64_t>(1, count * per_node - 1), {});
    timed_nodes_view view{{&jobs}};
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    const auto reclaim = any_reclaim(random);
    auto h = reserving_host(jobs, view, each, timed_nodes(count, per_node), depth, reclaim);
    check_reservations(h, jobs, {delay_cause::owner}, all);
  });
  CHECK(all.reservations > 100);
}

TEST_CASE("availability: planned places are free by then and large enough, and asking changes nothing") {
  struct use {
    instant from;
    instant until;
    std::vector<allot::gpu::placed_pod> pods;
    bool gives_way = false;
  };
  std::size_t planned = 0;
  std::size_t overdue = 0;
  std::size_t gathering = 0;
  allot_test::for_each_seed(150, [&](random_source& random) {
    const std::int64_t each = random.between(2, 6);
    const std::int64_t per_node = random.between(1, 4);
    const std::int64_t count = 4 * each / per_node;
    const auto jobs = random_jobs(
        random, std::max<std::int64_t>(1, count * per_node - 1),
        {.exact = random.one_in(2), .priorities = random.one_in(2), .some_say_nothing = random.one_in(2)});
    timed_nodes_view view{{&jobs}};
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    const auto make = [&] {
      auto h = reserving_host(jobs, view, each, timed_nodes(count, per_node), depth);
      for (const quota_id x : {a, b, c}) {
        auto settings = h.scheduler().settings(x);
        settings.gather = {30, 100};
        REQUIRE(h.scheduler().configure(x, settings).empty());
      }
      return h;
    };
    auto unasked = make();
    unasked.run_all();
    auto h = make();
    h.run_all([&](instant now) {
      auto& s = h.scheduler();
      CAPTURE(now);
      const auto pods_of = [&](allot::gpu::allocation_id at) {
        const auto all = s.places().pods(at);
        return std::vector<allot::gpu::placed_pod>{all.begin(), all.end()};
      };
      std::vector<use> uses;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (!h[j].id || s.state(h[j].id) != allot::job_state::running) continue;
        const instant end = jobs[j].estimate == 0 ? allot::without_end : *h[j].start + jobs[j].estimate;
        uses.push_back({*h[j].start, end, pods_of(s.place_of(h[j].id)), jobs[j].preemptible});
      }
      std::size_t known = 0;
      std::size_t owned = 0;
      for (const allot::job_id id : s.reservations()) {
        const allot::reservation p = *s.reservation_of(id);
        owned += p.owned ? 1U : 0U;
        gathering += p.gathers_since ? 1U : 0U;
        known += p.start != allot::without_end && !p.gathers_since ? 1U : 0U;
      }
      const auto before = s.places();
      instant last = -1;
      bool some_give_way = false;
      s.for_each_planned_place([&](allot::job_id id, allot::gpu::allocation_id at) {
        const instant start = s.reservation_of(id)->start;
        REQUIRE(last <= start);
        last = start;
        --known;
        ++planned;
        overdue += start <= now ? 1U : 0U;
        use its{start, allot::later(std::max(start, now), jobs[s.what(id)].estimate), pods_of(at), false};
        if (jobs[s.what(id)].estimate == 0) its.until = allot::without_end;
        std::int64_t gpus_there = 0;
        for (const auto& p : its.pods) gpus_there += std::popcount(p.where.devices);
        REQUIRE(gpus_there == jobs[s.what(id)].gpus);
        some_give_way = some_give_way || s.reservation_of(id)->owned;
        for (const use& other : uses) {
          if (other.until <= start) continue;
          // Who may be preempted leaves for who takes back its own.
          if (other.gives_way && some_give_way) continue;
          for (const auto& p : its.pods) {
            for (const auto& q : other.pods) {
              REQUIRE((p.where.node != q.where.node || (p.where.devices & q.where.devices) == 0));
            }
          }
        }
        uses.push_back(std::move(its));
      });
      // Where owners take back their own, one may find its place taken.
      REQUIRE((known == 0 || owned > 0));
      REQUIRE(s.places() == before);
    });
    REQUIRE(h.evictions() == unasked.evictions());
    for (std::size_t j = 0; j < jobs.size(); ++j) REQUIRE(h[j].start == unasked[j].start);
  });
  CHECK(planned > 200);
  CHECK(overdue > 10);
  CHECK((gathering > 10 || !allot_test::all_cases_run()));
}

TEST_CASE("availability: a gang gets its nodes while small jobs backfill") {
  std::vector<timed_job> jobs{{.quota = b, .gpus = 4, .duration = 100, .estimate = 100},
                              {.quota = a, .gpus = 8, .submit = 1, .duration = 10, .estimate = 10},
                              {.quota = c, .gpus = 1, .submit = 2, .duration = 98, .estimate = 98},
                              {.quota = c, .gpus = 1, .submit = 3, .duration = 98, .estimate = 98}};
  auto h = reserving_host(jobs, allot_test::timed_view{&jobs}, 2, allot_test::gpu_pool{8}, 1);
  h.run_all([&](instant now) {
    if (now < 2 || now > 3) return;
    const auto why = h.scheduler().why(h[1].id);
    REQUIRE(why.reservation.has_value());
    // The third job finishes in time; the fourth does not, but what it uses is its quota's own.
    CHECK(why.reservation->start == 98 + now);
    CHECK(why.reservation->cause == (now == 2 ? delay_cause::none : delay_cause::owner));
    CHECK(h.scheduler().wakes_at() == 98 + now);
  });
  CHECK(h[3].start == 3);
  CHECK(h[2].start == 2);
  CHECK(h[1].start == 101);
}

TEST_CASE("availability: an early end moves a reservation, and that one those behind it") {
  for (const bool on_nodes : {false, true}) {
    CAPTURE(on_nodes);
    std::vector<timed_job> jobs{{.quota = b, .gpus = 4, .duration = 40, .estimate = 100},
                                {.quota = a, .gpus = 4, .duration = 60, .estimate = 60},
                                {.quota = b, .gpus = 8, .submit = 1, .duration = 50, .estimate = 50},
                                {.quota = c, .gpus = 8, .submit = 2, .duration = 10, .estimate = 10}};
    const auto check = [&](auto h) {
      std::size_t looks = 0;
      h.run_all([&](instant now) {
        if (now < 2 || now >= 60) return;
        const instant first = now < 40 ? 100 : 60;
        const auto held = h.scheduler().reservation_of(h[2].id);
        REQUIRE(held);
        CHECK(held->start == first);
        CHECK(held->after == h[now < 40 ? 0 : 1].id);
        const auto behind = h.scheduler().reservation_of(h[3].id);
        REQUIRE(behind);
        CHECK(behind->start == first + 50);
        CHECK(behind->after == h[2].id);
        ++looks;
      });
      CHECK(looks > 1);
      CHECK(*h[2].start == 60);
      CHECK(*h[3].start == 110);
    };
    if (on_nodes) {
      check(reserving_host(jobs, timed_nodes_view{{&jobs}}, 2, timed_nodes(2, 4), 1));
    } else {
      check(reserving_host(jobs, allot_test::timed_view{&jobs}, 2, allot_test::gpu_pool{8}, 1));
    }
  }
}

TEST_CASE("availability: owners that reclaim may backfill like all others") {
  std::vector<timed_job> jobs{{.quota = b, .gpus = 2, .duration = 100, .estimate = 100},
                              {.quota = a, .gpus = 8, .submit = 1, .duration = 50, .estimate = 50},
                              {.quota = c, .gpus = 1, .submit = 2, .duration = 98, .estimate = 98},
                              {.quota = c, .gpus = 1, .submit = 3, .duration = 98, .estimate = 98}};
  for (const bool backfill : {false, true}) {
    auto h = reserving_host(jobs, allot_test::timed_view{&jobs}, 2, allot_test::gpu_pool{8}, 1);
    allot::queue_settings settings = h.scheduler().settings(c);
    settings.owners_backfill = backfill;
    REQUIRE(h.scheduler().configure(c, settings).empty());
    h.run_all([](instant) {});
    CHECK(*h[2].start == 2);
    // Nobody borrows from it until the gang does, and then it reclaims.
    CHECK(*h[3].start == (backfill ? 100 : 3));
  }
}

TEST_CASE("availability: with aged jobs and owners that backfill no start is late but for an owner's claim") {
  reservations_seen all;
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const auto jobs = random_jobs(random, 4 * each, {});
    allot::standard by;
    by.reservations = static_cast<std::uint32_t>(random.between(1, 4));
    auto made =
        allot::make_scheduler(by, allot_test::timed_view{&jobs}, teams(each), allot_test::gpu_pool{4 * each});
    auto& s = made.value();
    REQUIRE(s.settings(a).owners_backfill);
    allot_test::timed_host<std::remove_cvref_t<decltype(s)>> h{jobs, std::move(s)};
    check_reservations(h, jobs, {delay_cause::owner}, all);
  });
  CHECK(all.reservations > 100);
}

TEST_CASE("availability: reservations of quotas that back off, and nothing happens between two wakes") {
  reservations_seen all;
  std::size_t backoffs = 0;
  allot_test::for_each_seed(200, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const auto jobs = random_jobs(random, 4 * each, {});
    allot::standard by;
    by.reservations = static_cast<std::uint32_t>(random.between(0, 3));
    const instant first = random.between(1, 40);
    const instant longest = first + random.between(0, 100);
    const auto made_host = [&] {
      auto made = allot::make_scheduler(by, allot_test::timed_view{&jobs}, teams(each),
                                        allot_test::gpu_pool{4 * each});
      auto& s = made.value();
      for (const quota_id x : {a, b, c}) {
        allot::queue_settings settings = s.settings(x);
        settings.borrow_backoff = {first, longest};
        REQUIRE(s.configure(x, settings).empty());
      }
      return allot_test::timed_host<std::remove_cvref_t<decltype(s)>>{jobs, std::move(s)};
    };
    auto h = made_host();
    check_reservations(h, jobs, {delay_cause::owner}, all);
    // One that also looks at each instant in between decides the same.
    auto always = made_host();
    always.look_at_each_instant();
    always.run_all([&](instant now) {
      for (const allot::backoff& of : always.scheduler().backoffs()) backoffs += of.until > now ? 1U : 0U;
    });
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      CAPTURE(j);
      REQUIRE(h[j].start == always[j].start);
      REQUIRE(h[j].starts == always[j].starts);
    }
    CHECK(h.evictions() == always.evictions());
  });
  CHECK(all.reservations > 50);
  CHECK(backoffs > 100);
}

TEST_CASE("availability: the same on nodes") {
  reservations_seen all;
  allot_test::for_each_seed(300, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const std::int64_t per_node = random.between(1, 4);
    const std::int64_t count = std::max<std::int64_t>(1, 4 * each / per_node);
    const auto jobs = random_jobs(random, std::max<std::int64_t>(1, count * per_node - 1), {});
    allot::standard by;
    by.reservations = static_cast<std::uint32_t>(random.between(1, 4));
    auto made =
        allot::make_scheduler(by, timed_nodes_view{{&jobs}}, teams(each), timed_nodes(count, per_node));
    auto& s = made.value();
    REQUIRE(s.settings(a).owners_backfill);
    allot_test::timed_host<std::remove_cvref_t<decltype(s)>> h{jobs, std::move(s)};
    check_reservations(h, jobs, {delay_cause::owner}, all);
  });
  CHECK(all.reservations > 100);
}

TEST_CASE(
    "availability: an end that nobody expected may change where others are placed, which is on record") {
  // Two of three nodes are reserved for a gang at 52. A small job is to start at 44, on the other one; but
  // then one more job has gone, and it is placed on one of the two.
  std::vector<timed_job> jobs{
      {.quota = b, .gpus = 6, .submit = 11, .duration = 21},
      {.quota = b, .gpus = 2, .submit = 31, .duration = 21, .estimate = 21},
      {.quota = a, .submit = 11, .duration = 33},
      {.quota = a, .gpus = 2, .submit = 31},
      {.quota = a, .submit = 31, .duration = 13, .estimate = 13, .priority = 1},
      {.quota = b, .submit = 36, .duration = 17, .estimate = 17},
      {.quota = b, .submit = 43, .duration = 10, .estimate = 10},
  };
  jobs[3].duration = 0;
  auto h = reserving_host(jobs, timed_nodes_view{{&jobs}}, two_teams(5, 5), timed_nodes(3, 3), 2);
  std::size_t seen = 0;
  h.run_all([&](instant now) {
    const auto p = h[0].id ? h.scheduler().reservation_of(h[0].id) : std::nullopt;
    if (!p) return;
    CAPTURE(now);
    ++seen;
    CHECK(p->first_start == 52);
    CHECK(p->start == (now < 44 ? 52 : 53));
    CHECK(p->cause == (now < 44 ? delay_cause::none : delay_cause::placement));
  });
  CHECK(seen >= 4);
  CHECK(*h[0].start == 53);
}

TEST_CASE("availability: a reservation that another one's move has made impossible is renewed") {
  std::vector<timed_job> jobs{
      {.quota = b, .gpus = 10, .duration = 2},
      {.quota = a, .gpus = 10, .submit = 1, .duration = 7},
      {.quota = a, .gpus = 3, .submit = 1, .duration = 5},
      {.quota = a, .gpus = 3, .submit = 6, .duration = 1},
      {.quota = a, .gpus = 2, .submit = 6, .duration = 8},
      {.quota = a, .gpus = 8, .submit = 6, .duration = 1},
      {.quota = a, .gpus = 3, .submit = 7, .duration = 8},
      {.quota = b, .gpus = 3, .submit = 7, .duration = 8},
  };
  for (timed_job& j : jobs) j.estimate = j.duration;
  auto h = reserving_host(jobs, timed_nodes_view{{&jobs}}, two_teams(9, 3), timed_nodes(4, 3), 3,
                          allot::preempt_reclaim::never);
  std::size_t seen = 0;
  h.run_all([&](instant now) {
    CAPTURE(now);
    auto& t = h.scheduler();
    std::size_t known = 0;
    for (const allot::job_id id : t.reservations()) {
      known += t.reservation_of(id)->start != allot::without_end ? 1U : 0U;
    }
    seen += known;
    std::size_t planned = 0;
    t.for_each_planned_place([&](allot::job_id, allot::gpu::allocation_id) { ++planned; });
    CHECK(planned == known);
  });
  CHECK(seen > 3);
}

TEST_CASE("availability: a closed node moves a reservation, which says so") {
  std::vector<timed_job> jobs{{.quota = b, .gpus = 4, .duration = 50, .estimate = 50},
                              {.quota = a, .gpus = 8, .submit = 1, .duration = 10, .estimate = 10}};
  auto made =
      allot::make_scheduler(allot::standard{}, timed_nodes_view{{&jobs}}, teams(2), timed_nodes(2, 4));
  auto& s = made.value();
  allot::queue_settings settings = allot::standard{}.defaults();
  settings.head = allot::queue_head::reserve;
  for (const quota_id x : {a, b, c}) REQUIRE(s.configure(x, settings).empty());
  const auto runs = s.submit(0);
  static_cast<void>(s.step(0));
  const auto gang = s.submit(1);
  static_cast<void>(s.step(1));
  REQUIRE(s.reservation_of(gang).has_value());
  CHECK(s.reservation_of(gang)->start == 50);
  s.nodes().close(allot::gpu::node_id{0});
  s.retry();
  static_cast<void>(s.step(2));
  REQUIRE(s.reservation_of(gang).has_value());
  CHECK(s.reservation_of(gang)->start == allot::without_end);
  CHECK(s.reservation_of(gang)->first_start == 50);
  CHECK(s.reservation_of(gang)->cause == delay_cause::cluster);
  s.nodes().reopen(allot::gpu::node_id{0});
  s.retry();
  static_cast<void>(s.step(3));
  CHECK(s.reservation_of(gang)->start == 50);
  CHECK(s.reservation_of(gang)->cause == delay_cause::none);
  CHECK(s.step(4).empty());
  CHECK(s.finished(runs) == allot::refusal::none);
  CHECK(s.step(50).admissions.size() == 1);
  CHECK_FALSE(s.reservation_of(gang).has_value());
}

TEST_CASE("availability: as time goes by no job starts early, although another overruns") {
  // The last job backfills what the one before it must not have: that one would delay the first reservation.
  // When the last one overruns, all reservations are made again, and that is no claim on what it uses.
  const std::vector<timed_job> jobs{
      {.quota = a, .gpus = 2, .duration = 10, .estimate = 10, .priority = 3},
      {.quota = a, .gpus = 4, .submit = 1, .duration = 5, .estimate = 5, .priority = 2},
      {.quota = a, .gpus = 2, .submit = 1, .duration = 20, .estimate = 20, .priority = 1},
      {.quota = a, .gpus = 1, .submit = 1, .duration = 9, .estimate = 4}};
  auto made = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, two_teams(4, 0),
                                    allot_test::gpu_pool{4});
  auto& s = made.value();
  static_cast<void>(s.submit(0));
  REQUIRE(s.step(0).admissions.size() == 1);
  const auto first = s.submit(1);
  const auto second = s.submit(2);
  static_cast<void>(s.submit(3));
  REQUIRE(s.step(1).admissions.size() == 1);
  REQUIRE(s.reservation_of(first)->start == 10);
  REQUIRE(s.reservation_of(second)->start == 15);
  CHECK(s.step(1).empty());
  CHECK(s.wakes_at() == 10);
  for (instant now = 2; now < 10; ++now) CHECK(s.step(now).empty());
  CHECK(s.reservation_of(first)->start == 10);
  CHECK(s.reservation_of(second)->start == 15);
}

TEST_CASE("availability: settings that reserve nothing, or no longer do") {
  std::vector<timed_job> jobs{{.quota = b, .gpus = 4, .duration = 50, .estimate = 50},
                              {.quota = b, .gpus = 8, .submit = 1, .duration = 10, .estimate = 10}};
  auto made = allot::make_scheduler(allot::standard{}, allot_test::timed_view{&jobs}, teams(2),
                                    allot_test::gpu_pool{8});
  auto& s = made.value();
  allot::queue_settings settings = allot::standard{}.defaults();
  settings.head = allot::queue_head::reserve;
  settings.reservations = 0;
  CHECK(s.configure(b, settings).size() == 1);
  settings.reservations = 1;
  settings.wait_if_loss_percent = -1;
  settings.gather = {-1, 0};
  CHECK(s.configure(b, settings).size() == 3);
  settings.head = allot::queue_head::best_effort;
  settings.wait_if_loss_percent = 1;
  settings.gather = {1, 100};
  CHECK(s.configure(b, settings).size() == 2);
  settings.head = allot::queue_head::reserve;
  settings.wait_if_loss_percent = 0;
  settings.gather = {};
  CHECK(s.configure(b, settings).empty());
  static_cast<void>(s.submit(0));
  const auto gang = s.submit(1);
  static_cast<void>(s.step(0));
  CHECK(s.reservation_of(gang).has_value());
  CHECK(s.waiting(b) == 1);
  CHECK(s.requested(b)[0] == gpus(8));
  CHECK(s.configure(b, allot::standard{.reservations = 0}.defaults()).empty());
  static_cast<void>(s.step(1));
  CHECK_FALSE(s.reservation_of(gang).has_value());
  CHECK(s.state(gang) == allot::job_state::pending);
  CHECK(s.cancel(gang) == allot::refusal::none);
  CHECK(s.waiting(b) == 0);
}

TEST_CASE(
    "availability: a job waits rather than preempt if its victims would lose more than the wait costs") {
  // A job of b borrows, and would end at 110; its owner comes at 100 and could wait for ten.
  for (const std::int32_t percent : {0, 3999, 4000, 4001}) {
    CAPTURE(percent);
    std::vector<timed_job> jobs{{.quota = b, .gpus = 8, .duration = 110, .estimate = 110},
                                {.quota = a, .gpus = 2, .submit = 100, .duration = 5, .estimate = 5}};
    auto h = reserving_host(jobs, allot_test::timed_view{&jobs}, 2, allot_test::gpu_pool{8}, 1);
    auto settings = h.scheduler().settings(a);
    settings.wait_if_loss_percent = percent;
    REQUIRE(h.scheduler().configure(a, settings).empty());
    h.run_all([&](instant now) {
      if (now != 100 || percent == 0 || percent > 4000) return;
      const auto why = h.scheduler().why(h[1].id);
      CHECK(why.reason == allot::pending_reason::lost_work);
      CHECK(why.binding);
      const auto name_of = [](std::uint32_t j) { return "job-" + std::to_string(j); };
      CHECK(
          sentence(h.scheduler(), why, allot::dimension_names<1>{"gpu"}, name_of) ==
          "job-1 waits: all has room for none of the 2 gpu; 2 must be released there, or its nominal raised "
          "by 2; others could yield, but they would lose too much work for the wait that it saves");
      CHECK(h.scheduler().waiting_by_reason(a)[static_cast<std::size_t>(allot::pending_reason::lost_work)] ==
            1);
      REQUIRE(why.reservation);
      CHECK(why.reservation->start == 110);
      CHECK(why.reservation->after == h[0].id);
    });
    // The victim has run for 100 on eight GPUs; the owner would wait for ten with two.
    const bool waits = percent != 0 && percent <= 4000;
    CHECK(*h[1].start == (waits ? 110 : 100));
    CHECK(h.evictions() == (waits ? 0 : 1));
    CHECK(h.listed(allot::pending_reason::lost_work) == (waits ? 1 : 0));
    CHECK(h.disagreements() == 0);
  }
}

TEST_CASE(
    "availability: who waits rather than preempt keeps its reservation, and without a known start preempts") {
  reservations_seen all;
  std::size_t evictions[2] = {0, 0};
  std::size_t declined = 0;
  allot_test::for_each_seed(100, [&](random_source& random) {
    const std::int64_t each = random.between(1, 8);
    const bool says_all = random.one_in(2);
    const auto jobs = random_jobs(random, 4 * each, {.some_say_nothing = !says_all});
    const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
    for (const bool waits : {false, true}) {
      auto h =
          reserving_host(jobs, allot_test::timed_view{&jobs}, each, allot_test::gpu_pool{4 * each}, depth);
      for (const quota_id x : {a, b, c}) {
        auto settings = h.scheduler().settings(x);
        if (waits) settings.wait_if_loss_percent = static_cast<std::int32_t>(random.between(1, 100));
        REQUIRE(h.scheduler().configure(x, settings).empty());
      }
      check_reservations(h, jobs, {delay_cause::owner, delay_cause::overrun, delay_cause::protection}, all);
      evictions[waits ? 1 : 0] += h.evictions();
      if (!waits) REQUIRE(h.listed(allot::pending_reason::lost_work) == 0);
      declined += h.listed(allot::pending_reason::lost_work);
    }
  });
  CHECK(evictions[1] < evictions[0]);
  CHECK(evictions[1] > 0);
  CHECK(declined > 10);
}
