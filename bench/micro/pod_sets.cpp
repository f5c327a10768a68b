// SPDX-License-Identifier: BSL-1.0
// Jobs whose pods differ, in planted worlds: nodes on which other jobs left just the room for one, so that a
// place exists. `found` is the part of them that was found; the others were given up.
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "random_source.hpp"

namespace {

namespace gpu = allot::gpu;
using allot::gpus;
using allot_bench::random_source;

struct planted {
  gpu::topology_inventory in;
  std::vector<gpu::pod_set> sets;
  gpu::pod_request request{};
};

/// Three sets whose pods are spread at random over nodes of eight GPUs and 64 cores; what they leave is
/// taken, but for `spare` percent of the nodes.
planted plant(random_source& random, std::size_t nodes, std::uint32_t pods, std::size_t spare) {
  std::vector<gpu::node_spec> specs(1);
  specs[0].name = "n";
  specs[0].count = static_cast<std::int64_t>(nodes);
  specs[0].gpus = 8;
  specs[0].cpu_milli = 64'000;
  planted w{gpu::topology_inventory{gpu::build_cluster(std::move(specs)).value()}, {}};
  std::vector<std::int64_t> gpus_left(nodes, 8), cpu_left(nodes, 64'000);
  constexpr std::int64_t sizes[] = {1, 2, 4};
  for (std::size_t s = 0; s < 3; ++s) {
    gpu::pod_set set;
    set.each.gpus = gpus(sizes[s]);
    set.each.cpu_milli = static_cast<std::int64_t>(1 + random.below(12)) * 1000;
    set.pods = 0;
    for (std::uint32_t tries = 0; tries < pods; ++tries) {
      const std::size_t n = random.below(nodes);
      if (gpus_left[n] < sizes[s] || cpu_left[n] < set.each.cpu_milli) continue;
      gpus_left[n] -= sizes[s];
      cpu_left[n] -= set.each.cpu_milli;
      ++set.pods;
    }
    if (set.pods > 0) w.sets.push_back(set);
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    if (random.below(100) < spare) continue;
    const gpu::pod_location there{gpu::node_id{n}};
    const gpu::pod_request rest{.gpus = gpus(gpus_left[n]), .cpu_milli = cpu_left[n]};
    static_cast<void>(w.in.place_at(rest, {&there, 1}));
  }
  w.request.pods = 0;
  for (const gpu::pod_set& s : w.sets) w.request.pods += s.pods;
  return w;
}

void place_planted(benchmark::State& state) {
  random_source random;
  std::size_t found = 0;
  std::size_t all = 0;
  for (auto _ : state) {
    state.PauseTiming();
    planted w = plant(random, static_cast<std::size_t>(state.range(0)),
                      static_cast<std::uint32_t>(state.range(1)), static_cast<std::size_t>(state.range(2)));
    w.request.sets = {w.sets.data(), static_cast<std::uint32_t>(w.sets.size())};
    state.ResumeTiming();
    const auto at = w.in.place(w.request);
    found += at ? 1U : 0U;
    ++all;
  }
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(all);
}
BENCHMARK(place_planted)
    ->ArgNames({"nodes", "pods_a_set", "spare_percent"})
    ->Iterations(300)
    ->Unit(benchmark::kMicrosecond)
    ->Args({6, 4, 0})
    ->Args({16, 8, 0})
    ->Args({16, 8, 10})
    ->Args({64, 20, 0})
    ->Args({64, 20, 10})
    ->Args({256, 100, 0})
    ->Args({256, 100, 10})
    ->Args({256, 100, 30});

}  // namespace
