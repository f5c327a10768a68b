// SPDX-License-Identifier: BSL-1.0
// The cost of choosing the next quota, over trees of (quotas, depth of the leaves).
#include <allot/fairshare/tournament.hpp>
#include <allot/scheduler/session.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "random_ledger.hpp"

namespace {

using allot::gpus;
using allot::quota_id;
using turn = allot::tournament<1, allot::within_nominal_then_borrowed_share>;

/// A quota's usage changes: its path is keyed again, and the winner is read.
void next_turn(benchmark::State& state) {
  allot_bench::world<1> w{state.range(0), state.range(1)};
  turn t;
  t.reset(w.l.tree());
  std::uint64_t id = 0;
  for (const quota_id x : w.walk) t.enter(w.l, x, gpus(1), {0, 0, ++id});
  std::size_t checksum = 0;
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const quota_id x = w.walk[at++ % w.walk.size()];
    // Forth and back, so that the state does not drift.
    if (at / w.walk.size() % 2 == 0) {
      w.l.charge(x, gpus(1));
    } else {
      w.l.release(x, gpus(1));
    }
    t.enter(w.l, x, gpus(1), {0, 0, ++id});
    checksum += t.best(w.l.tree()).index();
  }
  benchmark::DoNotOptimize(checksum);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(next_turn)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {1}})
    ->Complexity(benchmark::oLogN);
BENCHMARK(next_turn)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {4}})
    ->Complexity(benchmark::oLogN);

/// Data of the order has changed for all quotas.
void everybody_again(benchmark::State& state) {
  allot_bench::world<1> w{state.range(0), 4};
  turn t;
  t.reset(w.l.tree());
  std::uint64_t id = 0;
  for (const quota_id x : w.walk) t.enter(w.l, x, gpus(1), {0, 0, ++id});
  std::size_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    t.refresh_all(w.l);
    checksum += t.best(w.l.tree()).index();
  }
  benchmark::DoNotOptimize(checksum);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(everybody_again)
    ->ArgName("quotas")
    ->RangeMultiplier(10)
    ->Range(10, 100'000)
    ->Complexity(benchmark::oN);

/// The next of `pending` jobs in twelve sizes is chosen and charged, its quota shows its next one, and a new
/// job comes for it.
void next_job(benchmark::State& state) {
  allot_bench::world<1> w{state.range(0), state.range(1)};
  const auto always = [](const allot::pending_entry&) { return true; };
  turn t;
  t.reset(w.l.tree());
  std::vector<allot::pending_queue> queues(w.l.tree().slots());
  std::uint64_t id = 0;
  const auto come = [&](quota_id x) {
    ++id;
    queues[x.index()].push(allot::class_number{static_cast<std::uint32_t>(id % 12)},
                           {{-static_cast<std::int64_t>(id % 3), 0, id}, {}, 0});
  };
  const auto refresh = [&](quota_id x) {
    const std::optional<allot::pending_entry> first = queues[x.index()].first(always);
    t.enter(w.l, x, gpus(static_cast<std::int64_t>(1 + first->rank.id % 12)), first->rank);
  };
  for (std::int64_t i = 0; i < state.range(2); ++i) come(w.walk[static_cast<std::size_t>(i) % w.walk.size()]);
  for (const quota_id x : w.walk) {
    if (!queues[x.index()].first(always)) come(x);
    refresh(x);
  }
  // The job admitted longest ago ends, so that usage stays constant.
  struct started {
    quota_id quota;
    allot::quantity gpus;
  };
  std::vector<started> running(256);
  std::size_t oldest = 0;
  for ([[maybe_unused]] auto _ : state) {
    const quota_id x = t.best(w.l.tree());
    const auto first = queues[x.index()].first(always);
    queues[x.index()].take_out(allot::class_number{static_cast<std::uint32_t>(first->rank.id % 12)},
                               first->id);
    const auto size = gpus(static_cast<std::int64_t>(1 + first->rank.id % 12));
    w.l.charge(x, size);
    come(x);
    refresh(x);
    started& last = running[oldest++ % running.size()];
    if (last.quota) {
      w.l.release(last.quota, last.gpus);
      refresh(last.quota);
    }
    last = {x, size};
  }
}
BENCHMARK(next_job)
    ->ArgNames({"quotas", "depth", "pending"})
    ->ArgsProduct({{10, 100, 1000, 10'000}, {1, 4}, {1000, 10'000, 100'000}});

}  // namespace
