// SPDX-License-Identifier: BSL-1.0
// What the ledger costs a decision: headroom, fits, charge, release and rollback at random leaves. Every
// benchmark takes (quotas, depth of the leaves: a root has depth 0). `per_op` is the time of one call.
#include <allot/quota/ledger.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "random_ledger.hpp"

namespace {

using allot::quantity;
using allot::quota_id;
using allot::resources;
using allot_bench::walk_length;
using allot_bench::world;

void report(benchmark::State& state, std::size_t ops, std::int64_t checksum) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(ops), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["checksum"] = static_cast<double>(static_cast<std::uint64_t>(checksum) % 1'000'003);
}

template <std::size_t N>
void headroom(benchmark::State& state) {
  const world<N> w{state.range(0), state.range(1)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) checksum += w.l.headroom(x)[N - 1].in_milli();
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

/// Which leaf comes next depends on the last answer, so that the processor can't work on two at a time.
template <std::size_t N>
void headroom_in_turn(benchmark::State& state) {
  const world<N> w{state.range(0), state.range(1)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < w.walk.size(); ++i) {
      const std::int64_t room = w.l.headroom(w.walk[at])[N - 1].in_milli();
      checksum += room;
      at = (at + 1 + (room < 0 ? 1U : 0U)) & (walk_length - 1);
    }
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

template <std::size_t N>
void fits(benchmark::State& state) {
  const world<N> w{state.range(0), state.range(1)};
  const resources<N> request{quantity::whole(4)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) checksum += w.l.fits(x, request) ? 1 : 0;
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

/// Times only the charges, or only the releases; each batch undoes the last.
template <std::size_t N>
void one_way(benchmark::State& state, bool time_charges) {
  world<N> w{state.range(0), state.range(1)};
  const resources<N> request{quantity::whole(1)};
  using clock = std::chrono::steady_clock;
  for ([[maybe_unused]] auto _ : state) {
    const auto start = clock::now();
    for (const quota_id x : w.walk) w.l.charge(x, request);
    const auto middle = clock::now();
    // In the same order, so that the leaves are as cold as they were.
    for (const quota_id x : w.walk) w.l.release(x, request);
    const auto end = clock::now();
    state.SetIterationTime(
        std::chrono::duration<double>(time_charges ? middle - start : end - middle).count());
  }
  std::int64_t checksum = 0;
  for (const quota_id x : w.walk) checksum += w.l.headroom(x)[N - 1].in_milli();
  report(state, w.walk.size(), checksum);
}
template <std::size_t N>
void charge(benchmark::State& state) {
  one_way<N>(state, true);
}
template <std::size_t N>
void release(benchmark::State& state) {
  one_way<N>(state, false);
}

/// A tentative charge: savepoint, charge, rollback.
template <std::size_t N>
void charge_and_rollback(benchmark::State& state) {
  world<N> w{state.range(0), state.range(1)};
  w.l.reserve(1);
  const resources<N> request{quantity::whole(1)};
  std::int64_t checksum = 0;
  for ([[maybe_unused]] auto _ : state) {
    checksum = 0;
    for (const quota_id x : w.walk) {
      const allot::savepoint s = w.l.save();
      w.l.charge(x, request);
      checksum += w.l.balance(x, N - 1).in_milli();
      w.l.rollback(s);
    }
    benchmark::DoNotOptimize(checksum);
  }
  report(state, w.walk.size(), checksum);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"quotas", "depth"});
  for (const std::int64_t depth : {1, 2, 3, 4, 5, 6}) b->Args({1000, depth});
  for (const std::int64_t quotas : {10, 100, 10'000, 100'000}) b->Args({quotas, 4});
  b->Unit(benchmark::kMillisecond);
}

BENCHMARK(headroom<1>)->Apply(shapes);
BENCHMARK(headroom<4>)->Apply(shapes);
BENCHMARK(headroom_in_turn<1>)->Apply(shapes);
BENCHMARK(headroom_in_turn<4>)->Apply(shapes);
BENCHMARK(fits<1>)->Apply(shapes);
BENCHMARK(fits<4>)->Apply(shapes);
BENCHMARK(charge<1>)->Apply(shapes)->UseManualTime();
BENCHMARK(charge<4>)->Apply(shapes)->UseManualTime();
BENCHMARK(release<1>)->Apply(shapes)->UseManualTime();
BENCHMARK(release<4>)->Apply(shapes)->UseManualTime();
BENCHMARK(charge_and_rollback<1>)->Apply(shapes);
BENCHMARK(charge_and_rollback<4>)->Apply(shapes);

}  // namespace
