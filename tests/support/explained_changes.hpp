// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/scheduler/explain_change.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_host.hpp"
#include "tests/support/seeds.hpp"

namespace allot_test {

/// A change that a host may think of, drawn from random numbers: the same calls each time.
template <class Scheduler>
class random_change {
 public:
  random_change(random_source random, std::deque<soak_job>& jobs, allot::instant now)
      : random_(random), jobs_(jobs), now_(now) {}

  void operator()(Scheduler& s) {
    random_source random = random_;
    switch (random.below(8)) {
      case 0:
        break;
      case 1:
        resize(s, random);
        break;
      case 2:
        lose_node(s, allot::gpu::node_id{random.below(4)});
        break;
      case 3:
        for (std::size_t i = 0; i < 4; ++i) s.nodes().reopen(allot::gpu::node_id{i});
        s.retry();
        break;
      case 4:
        raise(s, random);
        break;
      case 5:
        with_unit(s, random, [&](const auto& u) { s.cancel(u.id); });
        break;
      case 6:
        static_cast<void>(s.submit(static_cast<std::uint32_t>(jobs_.size() - 1)));
        break;
      default:
        with_unit(s, random, [&](const auto& u) {
          if (s.hold(u.id) == allot::refusal::none) s.start_failed(u.id, now_ + 5);
        });
        break;
    }
  }

 private:
  template <class Act>
  static void with_unit(const Scheduler& s, random_source& random, Act act) {
    const auto all = s.state().units;
    if (!all.empty()) act(random.pick(all));
  }
  /// A team, and what is above the teams if that is needed.
  static void resize(Scheduler& s, random_source& random) {
    const auto to = [](std::size_t x, std::int64_t first, std::int64_t second) {
      return allot::resize_quota<2>{allot::quota_id{x},
                                    soak_amounts{allot::gpus(first), allot::gpus(second)}};
    };
    const auto team = static_cast<std::size_t>(random.between(2, 4));
    static_cast<void>(s.apply(std::vector<allot::quota_change<2>>{
        to(0, 15, 15), to(1, 9, 9), to(team, random.between(0, 5), random.between(0, 5))}));
  }
  /// A job has another priority.
  void raise(Scheduler& s, random_source& random) {
    with_unit(s, random, [&](const auto& u) {
      soak_job& job = jobs_[u.what];
      const std::int64_t before = std::exchange(job.priority, random.between(0, 4));
      static_cast<void>(s.update(u.id));
      job.priority = before;
    });
  }

  random_source random_;
  std::deque<soak_job>& jobs_;
  allot::instant now_;
};

/// What comes of the jobs of a scheduler, as a host sees it that carries out all plans of an instant.
template <class Scheduler>
std::map<allot::job_id, std::string> carry_out(Scheduler& s, allot::instant now) {
  std::map<allot::job_id, std::string> last;
  for (std::size_t i = 0;; ++i) {
    const auto& plan = s.step(now);
    if (plan.empty() || i > 100) return last;
    const auto evictions = plan.evictions;
    const auto admissions = plan.admissions;
    for (const auto& e : evictions) {
      s.evicted(e.id);
      last[e.id] = "gone";
    }
    for (const auto& a : admissions) last[a.id] = "started";
  }
}

/// In random states of a random host: what `explain_change` says of a random change is what comes of it when
/// the host makes the change, and the scheduler that was asked is as it was. Returns how often it was said of
/// a job, by list.
template <class Places, class Preset>
std::map<std::string, std::size_t> check_explained_changes(const Preset& preset, std::size_t seeds = 20) {
  using host = random_host<Preset, Places>;
  using scheduler = typename host::scheduler_type;
  using state = allot::job_state;
  std::map<std::string, std::size_t> seen;
  for_each_seed(seeds, [&](random_source& random) {
    constexpr std::size_t calls = 60;
    std::deque<soak_job> jobs = random_jobs(random, calls + 1);
    host h{preset, jobs};
    for (std::size_t i = 0; i < calls; ++i) {
      static_cast<void>(h.act(random_source{random()}));
      if (i % 2 != 0) continue;
      random_change<scheduler> change{random_source{random()}, jobs, h.now()};
      const auto before = h.scheduler().state();
      const auto told = explain_change(h.scheduler(), h.now(), change);
      REQUIRE(h.scheduler().state() == before);
      if (!told.at_rest) continue;

      scheduler without = h.scheduler();
      auto came_without = carry_out(without, h.now());
      scheduler with = h.scheduler();
      change(with);
      const auto changed = with.state();
      auto came_with = carry_out(with, h.now());
      REQUIRE(told.without.state() == without.state());
      REQUIRE(told.with.state() == with.state());

      typename allot::explained_change<scheduler>::effects_type e;
      const auto compare = [&](allot::job_id id, allot::job_id in_without, state was) {
        if (with.state(id) == state::unknown && came_with[id] != "gone") return;
        const bool had = was == state::running || was == state::evicting;
        const auto runs_on = [&](auto& s, auto& came, auto x) {
          return had && s.state(x) == state::running && came[x].empty();
        };
        const auto starts = [](auto& s, auto& came, auto x) {
          return s.state(x) == state::running && came[x] == "started";
        };
        const auto note = [&](const char* what, bool is, allot::vector<allot::job_id>& in) {
          if (!is) return;
          in.push_back(id);
          ++seen[what];
        };
        const bool starts_without = starts(without, came_without, in_without);
        const bool starts_with = starts(with, came_with, id);
        note("started", starts_with && !starts_without, e.started);
        note("not_started", !starts_with && starts_without, e.not_started);
        const bool runs_on_without = runs_on(without, came_without, in_without);
        const bool runs_on_with = runs_on(with, came_with, id);
        note("evicted", runs_on_without && !runs_on_with, e.evicted);
        note("not_evicted", !runs_on_without && runs_on_with, e.not_evicted);
        const state is_without = without.state(in_without);
        const state is_with = with.state(id);
        if (is_without == state::running && is_with == state::running) {
          const auto pods = [](const auto& s, auto x) {
            const auto all = s.elastic_pods_of(x);
            return std::count_if(all.begin(), all.end(),
                                 [&](auto p) { return s.state(p) == state::running; });
          };
          note("grown", pods(with, id) > pods(without, in_without), e.grown);
          note("shrunk", pods(with, id) < pods(without, in_without), e.shrunk);
        }
        const auto waits = [](state s) { return s == state::pending || s == state::nominated; };
        if (!waits(is_with)) return;
        const auto start = [](const auto& s, auto x) {
          const auto r = s.reservation_of(x);
          if (s.state(x) == state::nominated) return allot::instant{-1};
          return r && !r->gathers_since ? r->start : allot::without_end;
        };
        if (waits(is_without)) {
          note("sooner", start(with, id) < start(without, in_without), e.sooner);
          note("later", start(with, id) > start(without, in_without), e.later);
        }
        const auto was_for = without.why(in_without).reason;
        const auto is_for = with.why(id).reason;
        if (was_for == is_for) return;
        e.reasons.push_back({id, was_for, is_for});
        ++seen["reason"];
      };
      for (const auto& u : before.units) {
        if (u.core) continue;
        compare(u.id, u.id, u.state);
      }
      for (const auto& u : changed.units) {
        const bool is_new = h.scheduler().state(u.id) == state::unknown;
        if (is_new && !u.core) compare(u.id, {}, state::unknown);
      }
      REQUIRE(told.effects == e);
    }
  });
  return seen;
}

}  // namespace allot_test
