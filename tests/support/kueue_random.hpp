// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/kueue_naive.hpp"
#include "tests/support/kueue_world.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// Random clusters in which a scheduler and the naive rules must decide the same, step by step.
template <class Preset>
void check_against_naive(random_source& random) {
  constexpr std::size_t n = 4;
  constexpr bool fair = std::is_same_v<Preset, allot::kueue_fair>;
  kueue_naive naive;
  naive.fair = fair;
  naive.n = n;
  const bool flavored = random.one_in(2);
  naive.resource_of = flavored ? std::vector<int>{0, 0, 1, 1} : std::vector<int>{0, 1, 2, 3};
  const std::size_t dimensions = flavored ? n : 1 + random.below(2);

  // Of users: many quotas that own next to nothing, side by side, and mostly preempt nobody.
  const bool of_users = random.one_in(3);

  // Cohorts first, each below an earlier one or without parent; then queues, most of them below cohorts.
  const std::size_t cohorts = 1 + random.below(of_users ? 2 : 4);
  const std::size_t queues = of_users ? 4 + random.below(8) : 2 + random.below(4);
  std::vector<kueue_queue> told;
  for (std::size_t i = 0; i < cohorts + queues; ++i) {
    const bool is_queue = i >= cohorts;
    naive_quota x;
    if (is_queue ? !random.one_in(8) : i > 0 && !random.one_in(6)) {
      x.parent = static_cast<int>(random.below(is_queue ? cohorts : i));
    }
    x.nominal.assign(n, 0);
    x.borrow.assign(n, -1);
    x.lend.assign(n, -1);
    for (std::size_t d = 0; d < dimensions; ++d) {
      x.nominal[d] = is_queue || random.one_in(3) ? random.between(0, 6) : 0;
      if (of_users) x.nominal[d] = is_queue ? random.between(0, 1) : random.between(4, 12);
      if (x.parent < 0) continue;
      if (random.one_in(5)) x.borrow[d] = random.between(0, 4);
      if (random.one_in(5)) x.lend[d] = random.between(0, 4);
    }
    if (random.one_in(3)) x.weight = random.one_in(3) ? 0 : random.between(1, 4) * 500;
    x.preempt.within =
        random.pick(std::vector{allot::preempt_within::never, allot::preempt_within::lower_priority,
                                allot::preempt_within::lower_or_newer_equal});
    x.preempt.reclaim = random.pick(std::vector{allot::preempt_reclaim::never, allot::preempt_reclaim::any,
                                                allot::preempt_reclaim::lower_priority});
    if (x.preempt.reclaim != allot::preempt_reclaim::never && random.one_in(2)) {
      x.preempt.borrow = allot::preempt_borrow::lower_priority;
      if (random.one_in(2)) x.preempt.borrow_max_priority = random.between(-1, 2);
    }
    if (random.one_in(2)) x.choice.when_can_borrow = allot::flavor_step::try_next;
    if (random.one_in(2)) x.choice.when_can_preempt = allot::flavor_step::stay;
    if (random.one_in(3)) x.choice.preference = allot::flavor_preference::preemption_over_borrowing;
    x.strict = random.one_in(of_users ? 8 : 3);
    if (of_users && !random.one_in(6)) {
      x.preempt.reclaim = allot::preempt_reclaim::never;
      x.preempt.borrow = allot::preempt_borrow::never;
      x.preempt.borrow_max_priority.reset();
    }

    kueue_queue t;
    t.name = "q" + std::to_string(i);
    if (x.parent >= 0) t.cohort = "q" + std::to_string(x.parent);
    t.nominal = x.nominal;
    t.borrow = x.borrow;
    t.lend = x.lend;
    t.weight = x.weight;
    t.preempt = x.preempt;
    t.choice = x.choice;
    t.head = x.strict ? allot::queue_head::strict : allot::queue_head::best_effort;
    told.push_back(t);
    naive.quotas.push_back(std::move(x));
  }
  typename kueue_world<Preset>::policies policies;
  if constexpr (fair) {
    naive.final_share = !random.one_in(3);
    naive.initial_share = !naive.final_share || !random.one_in(3);
    policies.rules.first =
        naive.final_share ? allot::share_rule::final_share : allot::share_rule::initial_share;
    policies.rules.then_initial = naive.final_share && naive.initial_share;
    for (const int r : naive.resource_of) policies.resource_of.push_back(static_cast<std::uint8_t>(r));
  }
  policies.preserve_scan_progress = naive.preserves_scans = !random.one_in(4);
  policies.recompute_overlaps = naive.recomputes_overlaps = !random.one_in(4);
  kueue_world<Preset> world{told, policies};

  std::size_t count = 0;
  const auto make = [&](bool running) {
    naive_workload w;
    // Ids are names, so their order differs from the order of age.
    w.name = std::string(1, static_cast<char>('a' + random.below(26))) + std::to_string(count++);
    kueue_workload t;
    w.queue = static_cast<int>(cohorts + random.below(queues));
    w.base.assign(n, 0);
    if (flavored) {
      const std::size_t options = 1 + random.below(2);
      for (std::size_t i = 0; i < options; ++i) {
        naive_amounts a(n, 0);
        a[i] = random.between(1, 4);
        if (random.one_in(2)) a[2 + i] = random.between(1, 3);
        w.options.push_back(a);
      }
      if (random.one_in(4)) w.base[random.below(n)] = 1;
    } else {
      for (std::size_t d = 0; d < dimensions; ++d) w.base[d] = random.between(d == 0 ? 1 : 0, 4);
    }
    w.priority = random.between(-1, 2);
    w.at = w.since = random.between(0, 5);
    for (std::size_t i = 0; i < 8; ++i) {
      w.id = w.id << 8 | static_cast<unsigned char>(i < w.name.size() ? w.name[i] : '\0');
    }
    t.name = w.name;
    t.queue = "q" + std::to_string(w.queue);
    t.request = w.base;
    t.priority = w.priority;
    t.at = w.at;
    if (!w.options.empty()) t.groups = {w.options};
    if (running) {
      w.running = true;
      w.leaving = random.one_in(10);
      if (!w.options.empty()) w.pick = random.below(w.options.size());
      w.uses = w.base;
      for (std::size_t d = 0; d < n && !w.options.empty(); ++d) w.uses[d] += w.options[w.pick][d];
      world.runs(t, {static_cast<std::uint8_t>(w.pick)});
      if (w.leaving) world.told(w.name);
    } else {
      world.waits(t);
      // It is as inadmissible as those before it that request the same; if it comes first, all are tried
      // again.
      const auto is_same = [&](const naive_workload& o) {
        return o.parked && o.queue == w.queue && o.base == w.base && o.priority == w.priority;
      };
      for (const auto& o : naive.workloads) {
        w.parked = w.parked || (is_same(o) && std::pair{o.at, o.id} < std::pair{w.at, w.id});
      }
      for (auto& o : naive.workloads) o.parked = o.parked && (w.parked || !is_same(o));
    }
    naive.workloads.push_back(std::move(w));
  };
  const std::size_t running = random.below(10);
  const std::size_t waiting = 1 + random.below(of_users ? 24 : 8);
  for (std::size_t i = 0; i < running; ++i) make(true);
  for (std::size_t i = 0; i < waiting; ++i) make(false);

  std::string diary;
  for (int step = 0; step < 9; ++step) {
    const std::string expected = naive.step();
    const std::string decided = world.step();
    diary += " | " + expected;
    INFO("so far:" << diary);
    REQUIRE(decided == expected);
    naive.mark_leaving();
    if (random.one_in(2)) continue;
    bool somebody = false;
    for (const auto& w : naive.workloads) {
      if (!w.leaving) continue;
      somebody = true;
      world.gone(w.name);
    }
    if (somebody) naive.settle();
    // What was found inadmissible stays so when others arrive, until something is given back.
    while (!flavored && decided.empty() && random.one_in(2)) make(false);
    if (!random.one_in(4)) continue;
    std::vector<std::size_t> may_finish;
    for (std::size_t i = 0; i < naive.workloads.size(); ++i) {
      if (naive.workloads[i].running && !naive.workloads[i].leaving) may_finish.push_back(i);
    }
    if (may_finish.empty()) continue;
    const auto gone = naive.workloads.begin() + static_cast<std::ptrdiff_t>(random.pick(may_finish));
    world.finished(gone->name);
    naive.workloads.erase(gone);
    naive.wake();
  }
}

}  // namespace allot_test
