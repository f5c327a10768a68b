// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology/topology_gang.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "random_source.hpp"

namespace {

namespace gpu = allot::gpu;
using allot_bench::random_source;
using gpu::gang_group;
using gpu::node_id;

constexpr std::size_t spine = 0;
constexpr std::size_t leaf = 1;
constexpr std::size_t rack = 2;

/// Nodes of eight GPUs, 16 in a rack, 8 racks to a leaf, 8 leaves to a spine.
gpu::cluster make_cluster(std::size_t nodes) {
  std::vector<gpu::node_spec> specs;
  for (std::size_t n = 0; n < nodes; n += 16) {
    const std::string r = std::to_string(n / 16);
    gpu::node_spec s;
    s.name = "rack" + r;
    s.count = 16;
    s.gpus = 8;
    s.labels = {{"spine", std::to_string(n / 1024)}, {"leaf", std::to_string(n / 128)}, {"rack", r}};
    specs.push_back(std::move(s));
  }
  return gpu::build_cluster(std::move(specs)).value();
}

/// A topology and the free GPUs of its nodes: half of them free, the others with some GPUs used.
struct world {
  gpu::topology t;
  std::vector<std::uint32_t> free;
  gpu::node_classes classes;

  explicit world(std::size_t nodes)
      : t(gpu::topology_from_labels(make_cluster(nodes), {"spine", "leaf", "rack"}).value()),
        free(nodes),
        classes(t, 9) {
    random_source random;
    for (std::size_t n = 0; n < nodes; ++n) {
      free[n] = random.below(2) == 0 ? 8 : static_cast<std::uint32_t>(random.below(8));
      classes.set(node_id{n}, free[n]);
    }
  }
};

/// The pods that fit on a node with so many free GPUs.
std::vector<std::uint32_t> pods_of(std::uint32_t gpus_each) {
  std::vector<std::uint32_t> pods;
  for (std::uint32_t f = 0; f <= 8; ++f) pods.push_back(f / gpus_each);
  return pods;
}

void plan(benchmark::State& state, gpu::gang_request request, std::uint32_t gpus_each) {
  const world w{static_cast<std::size_t>(state.range(0))};
  const std::vector<std::uint32_t> pods = pods_of(gpus_each);
  const gpu::class_rooms rooms{w.classes, pods};
  gpu::gang_planner planner{w.t};
  std::uint64_t sum = 0;
  for (auto _ : state) {
    const gpu::gang_place p = planner.plan(rooms, request);
    if (!p.found) return state.SkipWithError("no place");
    sum += p.shares.size();
  }
  benchmark::DoNotOptimize(sum);
  state.counters["nodes"] = static_cast<double>(sum) / static_cast<double>(state.iterations());
}

/// 64 pods of a node each: in one spine, in as few leaves and racks as possible.
void topology_512_gpus(benchmark::State& state) {
  const gang_group g{64, 64};
  plan(state, {{&g, 1}, spine, leaf}, 8);
}
/// The same without levels: each is tried, from the node up.
void topology_512_gpus_anywhere(benchmark::State& state) {
  const gang_group g{64, 64};
  plan(state, {{&g, 1}, {}, {}}, 8);
}
/// Eight pods that one node holds: nodes are looked at until they fill one.
void topology_8_gpus(benchmark::State& state) {
  const gang_group g{8, 8};
  plan(state, {{&g, 1}, rack, {}}, 1);
}
/// Sixteen groups of two nodes, each in one rack, together in one leaf.
void topology_sub_groups(benchmark::State& state) {
  const std::vector<gang_group> groups(16, gang_group{2, 2, rack});
  plan(state, {groups, leaf, leaf}, 8);
}

void topology_refuse(benchmark::State& state) {
  const world w{static_cast<std::size_t>(state.range(0))};
  const std::vector<std::uint32_t> pods = pods_of(8);
  const gpu::class_rooms rooms{w.classes, pods};
  gpu::gang_planner planner{w.t};
  const gang_group g{17, 17};
  bool found = false;
  for (auto _ : state) found |= planner.plan(rooms, {{&g, 1}, rack, {}}).found;
  if (found) state.SkipWithError("there was a place");
}

/// What a host pays for the index when a node changes.
void topology_change_a_node(benchmark::State& state) {
  world w{static_cast<std::size_t>(state.range(0))};
  std::size_t n = 0;
  for (auto _ : state) {
    w.classes.set(node_id{n}, static_cast<std::uint32_t>(n % 9));
    n = (n + 7919) % w.free.size();
  }
}

/// A shape for which nothing is kept: its room on every node is read first.
void topology_read_and_plan(benchmark::State& state) {
  const world w{static_cast<std::size_t>(state.range(0))};
  gpu::node_rooms rooms{w.t};
  gpu::gang_planner planner{w.t};
  const gang_group g{64, 64};
  for (auto _ : state) {
    rooms.read([&](node_id n) { return w.free[n.index()] / 8; });
    if (!planner.plan(rooms, {{&g, 1}, spine, leaf}).found) return state.SkipWithError("no place");
  }
}

BENCHMARK(topology_512_gpus)->Arg(1024)->Arg(10'000);
BENCHMARK(topology_512_gpus_anywhere)->Arg(10'000);
BENCHMARK(topology_8_gpus)->Arg(10'000);
BENCHMARK(topology_sub_groups)->Arg(10'000);
BENCHMARK(topology_refuse)->Arg(10'000);
BENCHMARK(topology_change_a_node)->Arg(10'000);
BENCHMARK(topology_read_and_plan)->Arg(10'000);

}  // namespace
