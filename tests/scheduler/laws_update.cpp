// SPDX-License-Identifier: BSL-1.0
// After `scheduler::update` a scheduler decides as one to which the job was always like that.
#include <allot/gpu/inventory.hpp>
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/standard.hpp>
#include <allot/presets/static_quotas.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "tests/support/changing_host.hpp"
#include "tests/support/seeds.hpp"

using allot::instant;
using allot::job_state;
using allot::refusal;
using allot_test::always;
using allot_test::random_source;

namespace {

using work = allot_test::changing_job;
using work_view = allot_test::changing_view;
using estimating_view = allot_test::estimating_changing_view;
template <class View, class Preset, class Places = allot::no_placement>
using lab = allot_test::changing_host<View, Preset, Places>;

/// A job that random hosts submit, and what becomes of it.
work draw_work(random_source& random, bool are_elastic) {
  work w;
  w.team = std::array{"a", "b", "c", "root"}[random.below(4)];
  w.gpus = random.between(0, 3);
  w.cpus = random.between(0, 3);
  w.pods = static_cast<std::uint32_t>(random.one_in(3) ? random.between(1, 3) : 1);
  w.least = are_elastic ? static_cast<std::uint32_t>(random.between(1, w.pods)) : w.pods;
  w.priority = random.between(0, 2);
  w.yields = !random.one_in(4);
  w.preempts = !random.one_in(4);
  w.lasts = random.between(0, 12);
  w.limit = random.one_in(3) ? random.between(1, 20) : 0;
  if (random.one_in(4)) w.flavors = static_cast<int>(random.between(1, 2));
  if (random.one_in(6)) w.ready = random.between(0, 12);
  return w;
}
/// Changes some of it; most of what a running one may not change stays.
void change(random_source& random, work& w, bool are_elastic, bool runs) {
  const work other = draw_work(random, are_elastic);
  if (random.one_in(2)) w.team = other.team;
  if (random.one_in(2)) w.priority = other.priority;
  if (random.one_in(3)) w.yields = other.yields;
  if (random.one_in(3)) w.preempts = other.preempts;
  if (random.one_in(3)) w.lasts = other.lasts;
  if (random.one_in(3)) w.limit = other.limit;
  if (random.one_in(3)) w.ready = other.ready;
  if (are_elastic && runs && random.one_in(2)) w.pods = std::max(w.least, w.pods + 1U);
  if (runs && !random.one_in(8)) return;
  if (random.one_in(2)) w.gpus = other.gpus;
  if (random.one_in(2)) w.cpus = other.cpus;
  if (random.one_in(3)) std::tie(w.pods, w.least) = std::pair{other.pods, other.least};
  if (random.one_in(4)) w.flavors = other.flavors;
}

/// A workload of Kueue runs with the pods with which it was admitted.
template <class Preset>
constexpr bool has_elastic_jobs =
    !std::same_as<Preset, allot::kueue> && !std::same_as<Preset, allot::kueue_fair>;

/// One step.
void live(auto& h, instant& now) {
  static_cast<void>(h.step(now++));
  h.carry_out();
}
/// A host of which some jobs change, and another one to which they were always like that, decide alike.
template <class Preset, class Places>
void check_update(std::size_t cases) {
  constexpr bool are_elastic = has_elastic_jobs<Preset>;
  std::size_t running = 0, waiting = 0, moved = 0;
  allot_test::for_each_seed(cases, [&](random_source& random) {
    lab<work_view, Preset, Places> h;
    for (const char* team : {"root", "a", "b", "c"}) {
      // What is remembered of reclaims is no fact of a job.
      auto s = h.of.settings(h.of.tree().find(team));
      s.borrow_backoff = {};
      REQUIRE(h.of.configure(h.of.tree().find(team), s).empty());
    }
    instant now = 0;
    const std::size_t jobs = 3 + random.below(8);
    for (std::size_t i = 0; i < jobs; ++i) {
      work w = draw_work(random, are_elastic);
      w.name = std::string(1, static_cast<char>('m' + i));
      w.submitted = random.between(0, 5);
      h.submit(std::move(w));
      if (random.one_in(3)) live(h, now);
    }
    for (int i = 0; i < 12; ++i) live(h, now);
    if (!h.is_at_rest()) return;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      const std::string name(1, static_cast<char>('m' + i));
      if (h[name].is_none() || random.one_in(2)) continue;
      const job_state is = h.of.state(h[name]);
      const work before = h(name);
      change(random, h(name), are_elastic, is == job_state::running);
      const refusal why = h.update(name);
      if (why != refusal::none) {
        h(name) = before;
        continue;
      }
      ++changes;
      (is == job_state::running ? running : waiting) += 1;
      moved += h(name).team != before.team ? 1U : 0U;
    }
    if (changes == 0) return;
    lab<work_view, Preset, Places> fresh;
    for (const char* team : {"root", "a", "b", "c"}) {
      REQUIRE(fresh.of.configure(fresh.of.tree().find(team), h.of.settings(h.of.tree().find(team))).empty());
    }
    fresh.build_like(h);
    for (int i = 0; i < 6; ++i, now += 2) {
      REQUIRE(h.step(now) == fresh.step(now));
      REQUIRE(h.told() == fresh.told());
      h.carry_out();
      fresh.carry_out();
    }
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(running > 50);
  CHECK(waiting > 50);
  CHECK(moved > 50);
}

}  // namespace

TEST_CASE_TEMPLATE("update: as one to which all jobs were always like that", Preset, allot::standard,
                   allot::static_quotas, allot::pai, allot::hyperpod, allot::kueue, allot::kueue_fair,
                   allot::runai) {
  check_update<Preset, allot::no_placement>(300);
}
TEST_CASE_TEMPLATE("update: as one to which all jobs were always like that, on nodes", Preset,
                   allot::standard, allot::runai) {
  check_update<Preset, allot::gpu::inventory>(300);
}

TEST_CASE("update: before the first step it is as if they had been submitted like that, with reservations") {
  std::size_t reserved = 0;
  allot_test::for_each_seed(300, [&](random_source& random) {
    lab<estimating_view, allot::standard> h, fresh;
    for (int i = 0; i < 10; ++i) {
      work w = draw_work(random, true);
      w.name = std::string(1, static_cast<char>('m' + i));
      w.submitted = random.between(0, 5);
      h.submit(w);
      if (h[w.name].is_none()) continue;
      const work before = h(w.name);
      change(random, h(w.name), true, false);
      h(w.name).submitted = before.submitted;
      if (h.update(w.name) != refusal::none) h(w.name) = before;
    }
    fresh.build_like(h);
    for (instant now = 5; now < 40; now += 3) {
      REQUIRE(h.step(now) == fresh.step(now));
      REQUIRE(h.told() == fresh.told());
      reserved += h.of.reservations().size();
      h.carry_out();
      fresh.carry_out();
    }
  });
  if (allot_test::all_cases_run()) CHECK(reserved > 300);
}
