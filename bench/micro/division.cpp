// SPDX-License-Identifier: BSL-1.0
// What it costs to say what every quota is owed, over trees of (quotas, depth of the leaves).
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/surplus.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "random_ledger.hpp"

namespace {

using allot::gpus;
using allot::quantity;
using allot::quota_id;

void report(benchmark::State& state) {
  state.counters["per_quota"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Half of the leaves want more than they own.
void division_update(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), state.range(1)};
  std::vector<allot::resources<>> demand(w.l.tree().slots());
  for (const quota_id x : w.l.tree().top_down()) demand[x.index()] = w.l.own_usage(x);
  allot::division<> shares;
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    shares.update(w.l, demand);
    checksum += shares.entitled(w.l.tree().roots().front())[0].in_milli();
    benchmark::DoNotOptimize(checksum);
  }
  report(state);
}
BENCHMARK(division_update)->ArgNames({"quotas", "depth"})->ArgsProduct({{10, 100, 1000, 10'000}, {1, 4}});

/// The rule alone, where rounding has most to settle: equal weights, and half a thousandth left over for
/// each.
void equal_weights(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const std::vector<allot::claimant> wanting(static_cast<std::size_t>(count), {{}, gpus(8), 1000});
  allot::proportional_to_weight rule;
  std::vector<allot::claimant> claimants;
  for ([[maybe_unused]] auto _ : state) {
    claimants = wanting;
    rule(quantity::milli(4000 * count + count / 2 - 1), claimants);
    benchmark::DoNotOptimize(claimants.data());
  }
  report(state);
}
BENCHMARK(equal_weights)->ArgName("claimants")->Arg(10)->Arg(100)->Arg(1000)->Arg(10'000);

}  // namespace
