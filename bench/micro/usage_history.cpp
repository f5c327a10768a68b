// SPDX-License-Identifier: BSL-1.0
// The cost of recording usage, with and without a sliding window.
#include <allot/fairshare/fair_tree.hpp>
#include <allot/fairshare/usage_history.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "random_ledger.hpp"

namespace {

using allot::gpus;
using allot::instant;
using allot::quota_id;
using allot::resources;

/// A job starts and another ends, a second apart, in quotas four levels deep.
void history_change(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), 4};
  allot::usage_history<> history{{3600, state.range(1)}};
  history.reset(w.l.tree(), 0);
  history.set_capacity(resources<1>{gpus(8 * state.range(0))}, 0);
  instant now = 0;
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const quota_id x = w.walk[at++ % w.walk.size()];
    history.charge(w.l.tree(), x, resources<1>{gpus(1)}, ++now);
    history.release(w.l.tree(), x, resources<1>{gpus(1)}, ++now);
  }
}
BENCHMARK(history_change)->ArgNames({"quotas", "window"})->ArgsProduct({{10, 1000, 100'000}, {0, 604'800}});

void past_use(benchmark::State& state) {
  const allot_bench::world<1> w{1000, 4};
  allot::usage_history<> history{{3600, state.range(0)}};
  history.reset(w.l.tree(), 0);
  history.set_capacity(resources<1>{gpus(8000)}, 0);
  instant now = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    history.charge(w.l.tree(), w.walk[i], resources<1>{gpus(1)}, ++now);
    history.release(w.l.tree(), w.walk[i], resources<1>{gpus(1)}, ++now);
  }
  std::size_t at = 0;
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) checksum += history.past_use(w.walk[at++ % w.walk.size()], false, 0);
  benchmark::DoNotOptimize(checksum);
}
BENCHMARK(past_use)->ArgName("window")->Arg(0)->Arg(5000);

/// Everybody's rank, over quotas four levels deep.
void fair_tree_ranks(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), 4};
  std::vector<std::int64_t> usage(w.l.tree().slots());
  for (const quota_id x : w.l.tree().top_down()) usage[x.index()] = w.l.own_usage(x, 0).in_milli();
  allot::fair_tree ranks;
  for ([[maybe_unused]] auto _ : state) {
    ranks.update(w.l.tree(), 0, usage);
    benchmark::DoNotOptimize(ranks.rank(w.walk.front()));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(fair_tree_ranks)
    ->ArgName("quotas")
    ->RangeMultiplier(10)
    ->Range(10, 100'000)
    ->Complexity(benchmark::oNLogN);

}  // namespace
