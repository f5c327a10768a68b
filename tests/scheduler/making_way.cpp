// SPDX-License-Identifier: BSL-1.0
// Jobs without an estimate that start on reserved capacity: `queue_settings::backfill_preemptible`.
#include <allot/scheduler/detail/making_way.hpp>

#include <allot/presets/standard.hpp>

#include <doctest/doctest.h>

#include <algorithm>
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
using allot::job_id;
using allot::job_state;
using allot::quota_id;
using allot::refusal;
using allot::relation;
using allot_test::gpu_pool;
using allot_test::random_source;
using allot_test::reservations_seen;
using allot_test::saving_view;
using allot_test::timed_job;

namespace {

constexpr quota_id a{1}, b{2};

/// Two teams that lend each other everything they own.
[[nodiscard]] std::vector<allot::quota_spec<1>> teams(std::int64_t of_a, std::int64_t of_b) {
  return {{.name = "all"},
          {.name = "a", .parent = "all", .nominal = gpus(of_a)},
          {.name = "b", .parent = "all", .nominal = gpus(of_b)}};
}
[[nodiscard]] allot::queue_settings making_way_queue() {
  allot::queue_settings settings = allot::standard{}.defaults();
  settings.head = allot::queue_head::reserve;
  settings.owners_backfill = true;
  settings.backfill_preemptible = true;
  return settings;
}
template <class View, class Placement>
[[nodiscard]] auto making_way_host(const std::vector<timed_job>& jobs, const View& view,
                                   std::vector<allot::quota_spec<1>> quotas, Placement places,
                                   const allot::queue_settings& settings) {
  auto made = allot::make_scheduler(allot::standard{}, view, std::move(quotas), std::move(places));
  auto& s = made.value();
  for (const quota_id x : {a, b}) REQUIRE(s.configure(x, settings).empty());
  return allot_test::timed_host<std::remove_cvref_t<decltype(s)>>{jobs, std::move(s)};
}
[[nodiscard]] auto pool_host(const std::vector<timed_job>& jobs,
                             const allot::queue_settings& settings = making_way_queue()) {
  return making_way_host(jobs, saving_view<>{{&jobs}}, teams(8, 0), gpu_pool{8}, settings);
}

/// Six of eight GPUs are used until 100; a gang of all eight waits for them; so two are reserved. A job that
/// says nothing, and saves its work each ten, could use one of them. Nobody borrows.
[[nodiscard]] std::vector<timed_job> two_reserved() {
  return {{.quota = a, .gpus = 6, .duration = 100, .estimate = 100},
          {.quota = a, .gpus = 8, .submit = 1, .duration = 50, .estimate = 50},
          {.quota = a, .submit = 2, .duration = 500, .checkpoint = 10, .restart = 5}};
}
constexpr std::size_t gang = 1, small = 2;

[[nodiscard]] instant least_run(instant checkpoint, instant restart) {
  allot::running_job<1> job;
  job.checkpoint = checkpoint;
  job.restart = restart;
  return allot::least_gainful_run(job);
}

}  // namespace

TEST_CASE("making way: a job without an estimate runs on reserved capacity until it is needed") {
  const auto jobs = two_reserved();
  auto h = pool_host(jobs);
  std::size_t seen = 0;
  h.look_at_plans([&](const auto& plan) {
    for (const auto& e : plan.evictions) {
      ++seen;
      CHECK(e.what == small);
      CHECK(e.how == relation::reservation);
      CHECK(e.beneficiary == h[gang].id);
    }
  });
  h.run_all([&](instant now) {
    const auto p = h[gang].id ? h.scheduler().reservation_of(h[gang].id) : std::nullopt;
    if (now == 2) {
      REQUIRE(p);
      CHECK(p->start == 100);
      CHECK(*h[small].start == 2);
      CHECK(h.scheduler().makes_way_for(h[small].id) == h[gang].id);
      CHECK(h.scheduler().wakes_at() == 100);
    }
    if (now == 100) {
      CHECK(*h[gang].start == 100);
      CHECK(h.scheduler().state(h[small].id) == job_state::pending);
    }
  });
  CHECK(seen == 1);
  CHECK(*h[small].start == 150);

  auto settings = making_way_queue();
  settings.backfill_preemptible = false;
  auto without = pool_host(jobs, settings);
  without.run_all();
  CHECK(without.evictions() == 0);
  CHECK(without[small].starts == 1);
  CHECK(*without[small].start == 150);
}

TEST_CASE("making way: only who may be preempted, and would save more by then than its restarts cost") {
  CHECK(least_run(10, 5) == 15);
  CHECK(least_run(10, 0) == 10);
  CHECK(least_run(10, 10) == 30);
  CHECK(least_run(10, 19) == 39);
  CHECK(least_run(0, 5) == allot::without_end);
  CHECK(least_run(allot::without_end, 5) == allot::without_end);
  const auto starts_at_once = [](auto change, allot::queue_settings settings = making_way_queue()) {
    auto jobs = two_reserved();
    change(jobs[small]);
    auto h = pool_host(jobs, settings);
    h.run_all();
    return h[small].starts == 2;
  };
  CHECK(starts_at_once([](timed_job&) {}));
  CHECK_FALSE(starts_at_once([](timed_job& j) { j.preemptible = false; }));
  CHECK_FALSE(starts_at_once([](timed_job& j) { j.checkpoint = 0; }));
  CHECK_FALSE(starts_at_once([](timed_job& j) { j.estimate = 500; }));
  CHECK(starts_at_once([](timed_job& j) { j.submit = 85; }));
  CHECK_FALSE(starts_at_once([](timed_job& j) { j.submit = 86; }));
  auto guaranteed = making_way_queue();
  guaranteed.min_runtime.preempt = 1;
  CHECK_FALSE(starts_at_once([](timed_job&) {}, guaranteed));
}

TEST_CASE("making way: as far as needed, and as soon as the job with a reservation fits") {
  // The job that runs says 100, and ends at 40. One of the other two is enough.
  auto jobs = two_reserved();
  jobs[0].duration = 40;
  jobs[gang].gpus = 7;
  jobs.push_back(jobs[small]);
  jobs[small + 1].submit = 3;
  auto h = pool_host(jobs);
  h.run_all([&](instant now) {
    if (now != 40) return;
    CHECK(*h[gang].start == 40);
    // The one that started last.
    CHECK(h.scheduler().state(h[small].id) == job_state::running);
    CHECK(h.scheduler().makes_way_for(h[small].id).is_none());
    CHECK(h.scheduler().state(h[small + 1].id) == job_state::pending);
  });
  CHECK(h.evictions() == 1);
  CHECK(*h[small].start == 2);
}

TEST_CASE("making way: without the reservation it runs on, and makes way for the next") {
  for (const bool is_next : {false, true}) {
    CAPTURE(is_next);
    auto jobs = two_reserved();
    jobs.push_back({.quota = a, .gpus = 8, .submit = 60, .duration = 10, .estimate = 10});
    auto settings = making_way_queue();
    settings.reservations = is_next ? 2 : 1;
    auto h = pool_host(jobs, settings);
    bool gone = false;
    h.run_all([&](instant now) {
      if (now < 60 || gone) return;
      gone = true;
      auto& s = h.scheduler();
      CHECK(s.reservation_of(h[3].id).has_value() == is_next);
      REQUIRE(s.cancel(h[gang].id) == refusal::none);
      static_cast<void>(s.step(61));
      CHECK(s.makes_way_for(h[small].id) == (is_next ? h[3].id : job_id{}));
      // Otherwise nobody knows any more when the last one starts.
      CHECK(s.reservation_of(h[3].id).has_value() == is_next);
    });
    CHECK(h.evictions() == (is_next ? 1 : 0));
    CHECK(*h[3].start == (is_next ? 100 : 502));
  }
}

TEST_CASE("making way: a reservation that moves takes it along") {
  // The first job runs longer than it said.
  auto jobs = two_reserved();
  jobs[0].duration = 130;
  auto h = pool_host(jobs);
  h.run_all([&](instant now) {
    if (now < 2 || now >= 130) return;
    CHECK(h.scheduler().state(h[small].id) == job_state::running);
    CHECK(h.scheduler().makes_way_for(h[small].id) == h[gang].id);
  });
  CHECK(*h[gang].start == 130);
  CHECK(h.evictions() == 1);
}

TEST_CASE("making way: for one that gathers, too") {
  // It is not known when those end that run.
  std::vector<timed_job> jobs;
  for (instant i = 0; i < 4; ++i) jobs.push_back({.quota = a, .gpus = 2, .duration = 20 * (i + 1)});
  jobs.push_back({.quota = a, .gpus = 8, .submit = 1, .duration = 10});
  jobs.push_back({.quota = a, .gpus = 2, .submit = 2, .duration = 500, .checkpoint = 10});
  for (const instant longest : {100, 50}) {
    CAPTURE(longest);
    auto settings = making_way_queue();
    settings.preempt.reclaim = allot::preempt_reclaim::never;
    settings.owners_backfill = false;
    settings.gather = {longest, 100};
    auto h = pool_host(jobs, settings);
    h.run_all([&](instant now) {
      if (now < 20 || now >= std::min<instant>(80, 1 + longest)) return;
      CHECK(*h[5].start == 20);
      CHECK(h.scheduler().makes_way_for(h[5].id) == h[4].id);
      REQUIRE(h.scheduler().reservation_of(h[4].id));
      CHECK(h.scheduler().reservation_of(h[4].id)->gathers_since == 1);
    });
    // When it gives up the other stays.
    CHECK(*h[4].start == (longest == 100 ? 80 : 520));
    CHECK(h.evictions() == (longest == 100 ? 1 : 0));
  }
}

TEST_CASE("making way: a scheduler that is resumed knows who makes way, and for which job") {
  const auto jobs = two_reserved();
  auto h = pool_host(jobs);
  bool done = false;
  h.run_all([&](instant now) {
    if (now != 2 || std::exchange(done, true)) return;
    auto& old = h.scheduler();
    auto other = pool_host(jobs);
    auto& s = other.scheduler();
    REQUIRE(
        s.resume(old.state(), [&](const auto& u) { return s.unchecked_places().place(jobs[u.what].gpus); }));
    const job_id id = h[small].id, whom = h[gang].id;
    CHECK(s.makes_way_for(id) == whom);
    CHECK(s.step(3).empty());
    REQUIRE(s.reservation_of(whom));
    CHECK(s.reservation_of(whom)->start == 100);
    CHECK(s.reservation_of(whom)->cause == delay_cause::none);
    CHECK(s.makes_way_for(id) == whom);
  });
  CHECK(done);
}

namespace {

[[nodiscard]] std::vector<timed_job> making_way_jobs(random_source& random, std::int64_t each,
                                                     bool is_exact) {
  std::vector<timed_job> jobs(20 + random.below(50));
  instant at = 0;
  for (timed_job& j : jobs) {
    at += random.between(0, 12);
    j.quota = quota_id{1 + random.below(2)};
    j.submit = at;
    j.gpus = random.one_in(3) ? random.between(1, 2 * each) : random.between(1, 1 + each / 3);
    j.duration = random.between(1, 60);
    if (random.one_in(2)) j.estimate = is_exact ? j.duration : random.between(1, 2 * j.duration);
    j.priority = random.one_in(5) ? 1 : 0;
    j.preemptible = !random.one_in(8);
    if (!random.one_in(4)) j.checkpoint = random.between(1, 10);
    j.restart = random.between(0, 5);
  }
  return jobs;
}

/// A process with a scheduler without nodes, which may be restarted.
class restarted {
 public:
  using scheduler_type = std::remove_cvref_t<
      decltype(allot::make_scheduler(allot::standard{}, saving_view<>{}, teams(1, 1)).value())>;

  restarted(const std::vector<timed_job>& jobs, std::int64_t each, const allot::queue_settings& settings)
      : jobs_(&jobs), each_(each), settings_(settings), s_(begin()) {}

  void restart() {
    const auto state = s_.state();
    s_ = begin();
    REQUIRE(s_.resume(state));
  }
  /// One plan, carried out. Evicted jobs leave at once.
  [[nodiscard]] std::string step(instant now) {
    const auto& plan = s_.step(now);
    std::string told;
    std::vector<job_id> gone;
    for (const auto& e : plan.evictions) {
      told += " -" + std::to_string(e.what) + std::string{to_string(e.how)};
      gone.push_back(e.id);
    }
    for (const auto& r : plan.nominations) told += " ~" + std::to_string(r.what);
    for (const auto& started : plan.admissions) told += " +" + std::to_string(started.what);
    for (const job_id id : gone) REQUIRE(s_.evicted(id) == refusal::none);
    return told;
  }
  [[nodiscard]] scheduler_type& scheduler() { return s_; }
  [[nodiscard]] std::uint32_t makes_way_for(std::uint32_t j) const {
    const job_id whom = s_.makes_way_for(ids.at(j));
    return whom ? s_.what(whom) : j;
  }
  std::map<std::uint32_t, job_id> ids;

 private:
  [[nodiscard]] scheduler_type begin() const {
    auto made = allot::make_scheduler(allot::standard{}, saving_view<>{{jobs_}}, teams(each_, each_));
    for (const quota_id x : {a, b}) REQUIRE(made.value().configure(x, settings_).empty());
    return std::move(made).value();
  }
  const std::vector<timed_job>* jobs_;
  std::int64_t each_;
  allot::queue_settings settings_;
  scheduler_type s_;
};

struct making_way_seen {
  std::size_t starts = 0;
  std::size_t evictions = 0;
  std::size_t stay = 0;
};

/// What must hold of those that make way, beside the tenth law.
template <class View, class Placement>
void check_making_way(std::size_t worlds, bool gathers, const auto& make_places) {
  making_way_seen all;
  reservations_seen reservations;
  allot_test::for_each_seed(worlds, [&](random_source& random) {
    const std::int64_t each = random.between(2, 8);
    const bool is_exact = random.one_in(2);
    const auto jobs = making_way_jobs(random, each, is_exact);
    auto settings = making_way_queue();
    settings.reservations = static_cast<std::uint32_t>(random.between(1, 3));
    settings.owners_backfill = random.one_in(2);
    if (gathers)
      settings.gather = {random.between(5, 80), static_cast<std::int32_t>(random.between(30, 100))};
    const View view{{&jobs}};
    const auto places = make_places(random, 2 * each);
    const auto made = [&] { return making_way_host(jobs, view, teams(each, each), places, settings); };
    auto h = made();
    auto& s = h.scheduler();
    instant now = 0;
    std::vector<job_id> whom(jobs.size());
    // The latest start that each had reserved.
    std::map<job_id, instant> latest;
    const auto note_starts = [&] {
      for (const job_id p : s.reservations()) {
        latest[p] = std::max(latest[p], s.reservation_of(p)->start);
      }
    };
    h.look_at_plans([&](const auto& plan) {
      note_starts();
      for (const auto& e : plan.evictions) {
        if (e.how != relation::reservation) continue;
        ++all.evictions;
        CAPTURE(e.what);
        REQUIRE(jobs[e.what].preemptible);
        REQUIRE(jobs[e.what].estimate == 0);
        REQUIRE(e.beneficiary);
        REQUIRE(s.state(e.beneficiary) == job_state::nominated);
        // (Where the plan decides more than that, others may have left room since.)
        if (!plan.admissions.empty() || plan.nominations.size() > 1) continue;
        // Without it the other would not fit, with all others gone that leave for it.
        auto ledger = s.assumed();
        auto pods = s.places();
        const std::uint32_t p = s.what(e.beneficiary);
        const auto in = jobs[p].preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
        ledger.release(jobs[p].quota, gpus(jobs[p].gpus), in);
        ledger.charge(e.quota, gpus(jobs[e.what].gpus));
        pods.release(s.place_of(e.beneficiary));
        pods.reoccupy(s.place_of(e.id));
        REQUIRE_FALSE((ledger.fits(jobs[p].quota, gpus(jobs[p].gpus), in) &&
                       pods.place(view.pod_request(p)).has_value()));
      }
    });
    const auto look = [&](instant t) {
      now = t;
      note_starts();
      for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        const job_id next = h[j].id ? s.makes_way_for(h[j].id) : job_id{};
        CAPTURE(j);
        CAPTURE(now);
        if (next) {
          REQUIRE(jobs[j].preemptible);
          REQUIRE(jobs[j].estimate == 0);
          REQUIRE(s.reservation_of(next));
          if (s.reservation_of(next)->start > now && s.reservation_of(next)->start != allot::without_end)
            REQUIRE(s.wakes_at());
          if (whom[j].is_none() && *h[j].start == now) {
            ++all.starts;
            REQUIRE(jobs[j].checkpoint > 0);
            const instant until = now + least_run(jobs[j].checkpoint, jobs[j].restart);
            REQUIRE(
                std::any_of(latest.begin(), latest.end(), [&](const auto& p) { return p.second >= until; }));
          }
        } else if (whom[j] && s.state(h[j].id) == job_state::running && *h[j].start < now) {
          ++all.stay;
        }
        whom[j] = next;
      }
    };
    const std::vector<delay_cause> causes{delay_cause::owner, delay_cause::higher_priority,
                                          delay_cause::overrun, delay_cause::placement};
    if (gathers) {
      h.run_all([&](instant t) {
        look(t);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
          const auto p = h[j].id ? s.reservation_of(h[j].id) : std::nullopt;
          if (!p || p->gathers_since) continue;
          CAPTURE(j);
          CAPTURE(now);
          REQUIRE(((p->start <= p->first_start && p->start > now) || p->cause != delay_cause::none));
        }
      });
    } else {
      allot_test::check_reservations(h, jobs, causes, reservations, look);
    }
    constexpr bool has_nodes = !std::is_same_v<Placement, gpu_pool>;
    CHECK((has_nodes || reservations.causes[delay_cause::placement] == 0));
    // One that also looks at each instant in between decides the same. (At its own time while a job
    // overruns.)
    if (!is_exact) return;
    auto always = made();
    always.look_at_each_instant();
    always.run_all();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      CAPTURE(j);
      CAPTURE(h[j].start.value_or(-1));
      CAPTURE(always[j].start.value_or(-1));
      REQUIRE(h[j].start == always[j].start);
      REQUIRE(h[j].starts == always[j].starts);
    }
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(all.starts > worlds / 4);
  CHECK(all.evictions > worlds / 20);
  CHECK(all.stay > worlds / 20);
  MESSAGE(all.starts << " start, " << all.evictions << " leave, " << all.stay << " stay");
}

[[nodiscard]] gpu_pool a_pool(random_source&, std::int64_t all) {
  return gpu_pool{all};
}
[[nodiscard]] allot::gpu::inventory some_nodes(random_source& random, std::int64_t all) {
  const std::int64_t each = random.between(1, 4);
  return allot_test::timed_nodes(std::max<std::int64_t>(1, all / each), each);
}
using on_nodes = saving_view<allot_test::timed_nodes_view>;

}  // namespace

TEST_CASE("making way: a scheduler that is restored at any time decides as the old one would") {
  std::size_t seen = 0;
  allot_test::for_each_seed(12, [&](random_source& random) {
    const std::int64_t each = random.between(2, 8);
    const auto jobs = making_way_jobs(random, each, true);
    auto settings = making_way_queue();
    settings.reservations = static_cast<std::uint32_t>(random.between(1, 3));
    restarted kept{jobs, each, settings}, killed{jobs, each, settings};
    std::map<std::uint32_t, instant> ends;
    std::string diary;
    std::size_t next = 0;
    for (instant now = 0; next < jobs.size() || !ends.empty(); ++now) {
      const auto both = [&](auto call) { call(kept), call(killed); };
      for (auto at = ends.begin(); at != ends.end();) {
        const std::uint32_t j = at->first;
        const auto& s = kept.scheduler();
        if (s.state(kept.ids[j]) != job_state::running || now < s.since(kept.ids[j]) + jobs[j].duration) {
          s.state(kept.ids[j]) == job_state::running ? ++at : at = ends.erase(at);
          continue;
        }
        both([&](restarted& p) { p.scheduler().finished(p.ids[j]), p.ids.erase(j); });
        at = ends.erase(at);
      }
      for (; next < jobs.size() && jobs[next].submit <= now; ++next) {
        const auto j = static_cast<std::uint32_t>(next);
        both([&](restarted& p) { p.ids[j] = p.scheduler().submit(j); });
      }
      killed.restart();
      for (bool again = true; again;) {
        const std::string one = kept.step(now), other = killed.step(now);
        diary += '\n' + std::to_string(now) + one;
        INFO(diary);
        REQUIRE(one == other);
        again = !one.empty();
      }
      for (const auto& known : kept.ids) {
        const std::uint32_t j = known.first;
        const job_id id = known.second;
        if (kept.scheduler().state(id) == job_state::running) ends[j] = 0;
        CAPTURE(j);
        REQUIRE(kept.makes_way_for(j) == killed.makes_way_for(j));
        seen += kept.makes_way_for(j) != j ? 1U : 0U;
        const auto p = kept.scheduler().reservation_of(id);
        const auto q = killed.scheduler().reservation_of(killed.ids.at(j));
        REQUIRE(p.has_value() == q.has_value());
        if (p) REQUIRE(p->start == q->start);
      }
    }
  });
  CHECK((seen > 50 || !allot_test::all_cases_run()));
}

TEST_CASE("making way: in random worlds no reservation is broken, and no job is preempted needlessly") {
  check_making_way<saving_view<>, gpu_pool>(300, false, a_pool);
}
TEST_CASE("making way: the same where jobs gather") {
  check_making_way<saving_view<>, gpu_pool>(300, true, a_pool);
}
TEST_CASE("making way: the same on nodes") {
  check_making_way<on_nodes, allot::gpu::inventory>(300, false, some_nodes);
}
