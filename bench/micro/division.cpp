// SPDX-License-Identifier: BSL-1.0
// The cost of dividing entitlements, over trees of (quotas, depth of the leaves): from scratch,
// and after the demand of one quota has changed. What the cost grows with is printed as BigO.
#include <allot/extras/adjusted_shares.hpp>
#include <allot/extras/whole_gangs.hpp>
#include <allot/fairshare/decayed_surplus.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/even_totals.hpp>
#include <allot/fairshare/first_come.hpp>
#include <allot/fairshare/priority_bands.hpp>
#include <allot/fairshare/surplus.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
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
template <class Rule>
void division_update(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), state.range(1)};
  std::vector<allot::resources<>> demand(w.l.tree().slots());
  for (const quota_id x : w.l.tree().top_down()) demand[x.index()] = w.l.own_usage(x);
  allot::division<1, Rule> shares;
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    shares.update(w.l, demand);
    checksum += shares.entitled(w.l.tree().roots().front())[0].in_milli();
    benchmark::DoNotOptimize(checksum);
  }
  report(state);
  state.SetComplexityN(state.range(0));
}
BENCHMARK_TEMPLATE(division_update, allot::proportional_to_weight)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {1}})
    ->Complexity(benchmark::oNLogN);
BENCHMARK_TEMPLATE(division_update, allot::proportional_to_weight)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {4}})
    ->Complexity(benchmark::oNLogN);
BENCHMARK_TEMPLATE(division_update, allot::proportional<allot::by_weight, allot::largest_remainder>)
    ->ArgNames({"quotas", "depth"})
    ->Args({1000, 1});
BENCHMARK_TEMPLATE(division_update, allot::proportional_to_quota)
    ->ArgNames({"quotas", "depth"})
    ->Args({1000, 1});
BENCHMARK_TEMPLATE(division_update, allot::priority_bands<>)->ArgNames({"quotas", "depth"})->Args({1000, 1});
BENCHMARK_TEMPLATE(division_update, allot::first_come)->ArgNames({"quotas", "depth"})->Args({1000, 1});
BENCHMARK_TEMPLATE(division_update, allot::decayed_surplus<>)->ArgNames({"quotas", "depth"})->Args({1000, 1});
BENCHMARK_TEMPLATE(division_update, allot::most_under_served_first)
    ->ArgNames({"quotas", "depth"})
    ->Args({1000, 1});

/// A job is added to, or leaves, one quota after the other; all entitlements are updated.
void one_demand_changed(benchmark::State& state, bool waits) {
  const allot_bench::world<1> w{state.range(0), state.range(1)};
  std::vector<allot::resources<>> demand(w.l.tree().slots());
  for (const quota_id x : w.l.tree().top_down()) demand[x.index()] = w.l.own_usage(x);
  // All that want more than they own want much more than they get, or just what they use.
  for (const quota_id x : w.walk) {
    if (waits) demand[x.index()][0] = gpus(100);
  }
  allot::division<> shares;
  shares.update(w.l, demand);
  std::size_t at = 0;
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    const quota_id x = w.walk[at++ % w.walk.size()];
    demand[x.index()][0] += at / w.walk.size() % 2 == 0 ? gpus(1) : -gpus(1);
    demand[x.index()][0] = std::max(quantity{}, demand[x.index()][0]);
    shares.change_demand(w.l, x, demand[x.index()]);
    checksum += shares.own(x)[0].in_milli();
  }
  benchmark::DoNotOptimize(checksum);
  state.SetComplexityN(state.range(0));
}
/// For a quota that demands more than its entitlement.
void queue_grows(benchmark::State& state) {
  one_demand_changed(state, true);
}
/// For any quota; half of them get all that they demand, so the rest for the others changes.
void demand_changes(benchmark::State& state) {
  one_demand_changed(state, false);
}
BENCHMARK(queue_grows)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {4}})
    ->Complexity(benchmark::o1);
BENCHMARK(demand_changes)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {1}})
    ->Complexity();
BENCHMARK(demand_changes)
    ->ArgNames({"quotas", "depth"})
    ->ArgsProduct({{10, 100, 1000, 10'000, 100'000}, {4}})
    ->Complexity();

/// Rounded to gangs of 1 to 16 GPUs.
void rounded_to_gangs(benchmark::State& state) {
  const allot_bench::world<1> w{state.range(0), 4};
  std::vector<allot::resources<>> demand(w.l.tree().slots());
  std::vector<allot::resources<>> gang(demand.size());
  for (const quota_id x : w.l.tree().top_down()) demand[x.index()] = w.l.own_usage(x);
  for (std::size_t i = 0; i < gang.size(); ++i) gang[i][0] = gpus(std::int64_t{1} << (i % 5));
  allot::division<> shares;
  shares.update(w.l, demand);
  allot::whole_gangs<> gangs{w.l};
  for ([[maybe_unused]] auto _ : state) {
    gangs.update(demand, shares, gang);
    benchmark::DoNotOptimize(gangs.own(w.walk.front())[0].in_milli());
  }
  report(state);
}
BENCHMARK(rounded_to_gangs)->ArgName("quotas")->RangeMultiplier(10)->Range(10, 100'000);

/// Capped and uncapped shares of all.
void armada_shares(benchmark::State& state) {
  std::vector<allot::share_claim> claims;
  for (std::int64_t i = 0; i < state.range(0); ++i) claims.push_back({gpus(i * 7 % 16), 1000 + i % 3 * 500});
  allot::adjusted_shares shares;
  for ([[maybe_unused]] auto _ : state) {
    shares.update(gpus(6 * state.range(0)), claims);
    benchmark::DoNotOptimize(shares.shares().data());
  }
  report(state);
}
BENCHMARK(armada_shares)->ArgName("queues")->RangeMultiplier(10)->Range(10, 100'000);

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
