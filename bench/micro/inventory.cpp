// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>

#include "random_source.hpp"
#endif

namespace {

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_bench::random_source;
using gpu::allocation_id;
using gpu::inventory;
using gpu::pod_request;

/// One type of node with eight GPUs; or six of one to eight in three pools, as real clusters have.
gpu::cluster make_cluster(std::int64_t nodes, bool mixed) {
  std::vector<gpu::node_spec> specs(mixed ? 6 : 1);
  constexpr std::int64_t sizes[] = {8, 4, 1, 8, 2, 8};
  constexpr const char* pools[] = {"a", "a", "b", "b", "c", "c"};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = std::string{"n"} + std::to_string(i);
    specs[i].count = nodes / static_cast<std::int64_t>(specs.size());
    specs[i].gpus = sizes[i];
    specs[i].pool = pools[i];
  }
  return gpu::build_cluster(std::move(specs)).value();
}

pod_request usual_request(random_source& random) {
  const std::size_t kind = random.below(10);
  if (kind < 3) return {quantity::milli(static_cast<std::int64_t>(50 * (1 + random.below(19))))};
  if (kind < 8) return {gpus(1)};
  return {gpus(kind == 8 ? 2 : 4)};
}

/// Three quarters full, with the holes left by jobs that end in any order.
inventory make_busy(std::int64_t nodes, bool mixed, random_source& random) {
  inventory i{make_cluster(nodes, mixed)};
  std::vector<allocation_id> standing;
  while (const auto a = i.place(usual_request(random))) standing.push_back(*a);
  while (i.used() * 4 > i.total() * 3) {
    std::swap(standing[random.below(standing.size())], standing.back());
    i.release(standing.back());
    standing.pop_back();
  }
  return i;
}

void place_and_release(benchmark::State& state, quantity per_pod, bool mixed) {
  random_source random;
  inventory i = make_busy(state.range(0), mixed, random);
  std::size_t sum = 0;
  for (auto _ : state) {
    const auto a = i.place({per_pod});
    if (!a) return state.SkipWithError("no place");
    sum += i.pods(*a).begin()->where.node.index();
    i.release(*a);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void one_gpu(benchmark::State& state) {
  place_and_release(state, gpus(1), false);
}
void one_gpu_mixed(benchmark::State& state) {
  place_and_release(state, gpus(1), true);
}
void fraction(benchmark::State& state) {
  place_and_release(state, quantity::milli(300), false);
}
void fraction_mixed(benchmark::State& state) {
  place_and_release(state, quantity::milli(300), true);
}

/// Jobs come and go, so that each decision meets another state: one placed and one released an iteration.
void churn(benchmark::State& state) {
  random_source random;
  inventory i{make_cluster(state.range(0), false)};
  std::vector<allocation_id> standing;
  while (i.used() * 4 < i.total() * 3) standing.push_back(*i.place(usual_request(random)));
  std::size_t refused = 0;
  for (auto _ : state) {
    std::swap(standing[random.below(standing.size())], standing.back());
    i.release(standing.back());
    standing.pop_back();
    if (const auto a = i.place(usual_request(random))) {
      standing.push_back(*a);
    } else {
      ++refused;
      standing.push_back(*i.place({quantity::milli(0)}));
    }
  }
  state.counters["refused"] = static_cast<double>(refused);
  state.SetItemsProcessed(state.iterations());
}

void refuse(benchmark::State& state) {
  inventory i{make_cluster(state.range(0), false)};
  static_cast<void>(i.place({gpus(1), static_cast<std::uint32_t>(i.total().in_milli() / 1000)}));
  bool placed = false;
  for (auto _ : state) placed |= i.place({gpus(1)}).has_value();
  if (placed) state.SkipWithError("there was a place");
}

void why_not(benchmark::State& state) {
  random_source random;
  inventory i = make_busy(state.range(0), false, random);
  const pod_request gang{gpus(8), 1000};
  for (auto _ : state) benchmark::DoNotOptimize(i.why_not(gang));
}

void gang_of_512_gpus(benchmark::State& state) {
  inventory i{make_cluster(state.range(0), false)};
  for (auto _ : state) {
    const auto a = i.place({gpus(8), 64});
    if (!a) return state.SkipWithError("no place");
    i.release(*a);
  }
}

/// A victim search: some jobs vacate, the beneficiary is tried, and everything is taken back.
void vacate_and_roll_back(benchmark::State& state) {
  inventory i{make_cluster(state.range(0), false)};
  std::vector<allocation_id> standing;
  while (const auto a = i.place({gpus(1)})) standing.push_back(*a);
  bool placed = true;
  for (auto _ : state) {
    const allot::savepoint s = i.save();
    for (std::size_t k = 0; k < 8; ++k) i.vacate(standing[k]);
    placed &= i.place({gpus(8)}).has_value();
    i.rollback(s);
  }
  if (!placed) state.SkipWithError("no place");
}

/// Bytes that malloc has given out; 0 where that is not known.
double bytes_in_use() {
#if defined(__GLIBC__)
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
#else
  return 0;
#endif
}

/// Building an inventory and placing one job on each GPU; and what it then weighs.
void fill(benchmark::State& state) {
  std::size_t placed = 0;
  double bytes = 0;
  double devices = 1;
  for (auto _ : state) {
    const double before = bytes_in_use();
    inventory i{make_cluster(state.range(0), state.range(1) != 0)};
    while (i.place({gpus(1)})) ++placed;
    bytes = bytes_in_use() - before;
    devices = static_cast<double>(i.layout().devices());
  }
  state.counters["bytes_per_gpu"] = bytes / devices;
  state.SetItemsProcessed(static_cast<std::int64_t>(placed));
}

BENCHMARK(one_gpu)->Arg(16)->Arg(1213)->Arg(10'000);
BENCHMARK(one_gpu_mixed)->Arg(1213)->Arg(10'000);
BENCHMARK(fraction)->Arg(16)->Arg(1213)->Arg(10'000);
BENCHMARK(fraction_mixed)->Arg(1213)->Arg(10'000);
BENCHMARK(churn)->Arg(16)->Arg(1213)->Arg(10'000);
BENCHMARK(refuse)->Arg(10'000);
BENCHMARK(why_not)->Arg(10'000);
BENCHMARK(gang_of_512_gpus)->Arg(64)->Arg(10'000);
BENCHMARK(vacate_and_roll_back)->Arg(16)->Arg(10'000);
BENCHMARK(fill)->Args({1213, 1})->Args({10'000, 0})->Args({10'000, 1})->Unit(benchmark::kMillisecond);

}  // namespace
