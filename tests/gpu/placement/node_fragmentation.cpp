// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/detail/node_fragmentation.hpp>

#include <allot/gpu/placement/best_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::node_fragmentation;
using gpu::node_id;
using gpu::pod_shape;
using gpu::typical_pods;

namespace {

pod_shape pod(std::uint32_t devices, std::uint32_t milli, std::int64_t cpu_milli = 0,
              std::uint64_t models = gpu::all_models) {
  return {devices, milli, gpu::all_pools, models, cpu_milli};
}

std::vector<std::uint32_t> gaps_of(const gpu::gap_list& list) {
  return {list.values().begin(), list.values().end()};
}

/// The definition, pod by pod.
std::int64_t by_definition(const gpu::free_index& index, node_id n, const typical_pods& typical) {
  const gpu::node_type& type = index.layout().type_of(n);
  std::int64_t f = 0;
  for (const gpu::typical_pod& p : typical.pods()) {
    std::int64_t all = 0;
    std::int64_t too_small = 0;
    std::uint32_t suffice = 0;
    const auto here = type.shape_on(p.pod);
    for (std::uint32_t d = 0; d < type.gpus; ++d) {
      const std::int64_t gap = 1000 - index.used(n, d).in_milli();
      all += gap;
      if (here && gap >= here->milli) ++suffice;
      if (here && gap < here->milli) too_small += gap;
    }
    const bool has_cpu = !type.counts_cpu() || (here && here->cpu_milli <= index.hosts().free_cpu_milli(n));
    const bool runs = here && here->devices > 0 && suffice >= here->devices && has_cpu;
    f += p.weight * (runs ? too_small : all);
  }
  return f;
}

}  // namespace

TEST_CASE("gap_list: what is free, the largest first") {
  gpu::gap_list list;
  for (const std::uint32_t gap : {300U, 1000U, 0U, 500U, 300U}) list.add(gap);
  CHECK(gaps_of(list) == std::vector<std::uint32_t>{1000, 500, 300, 300});
  list.replace(300, 100);
  CHECK(gaps_of(list) == std::vector<std::uint32_t>{1000, 500, 300, 100});
  list.replace(1000, 400);
  CHECK(gaps_of(list) == std::vector<std::uint32_t>{500, 400, 300, 100});
  list.replace(400, 0);
  CHECK(gaps_of(list) == std::vector<std::uint32_t>{500, 300, 100});
}

TEST_CASE("node_fragmentation: all is a fragment for a pod that can't run, else what is too small for it") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 4, .gpu_model = "A", .cpu_milli = 8000},
                                            {.name = "m", .gpus = 1, .gpu_model = "B"}})
                            .value()};
  const node_id n{0};
  index.occupy({{n, 0b0001}, 400, 6000});
  index.occupy({{n, 0b0010}, 700});
  index.occupy({{n, 0b0100}});
  // 600, 300 and 1000 are free, and 2000 of the CPU.
  const auto f = [&](const pod_shape& p) {
    return node_fragmentation{index.layout(), typical_pods{{{p, 1}}}}.of(index, n);
  };
  CHECK(f(pod(1, 300)) == 0);
  CHECK(f(pod(1, 500)) == 300);
  CHECK(f(pod(1, 601)) == 900);
  CHECK(f(pod(1, 1000)) == 900);
  CHECK(f(pod(2, 1000)) == 1900);
  CHECK(f(pod(2, 600)) == 300);
  CHECK(f(pod(8, 1000)) == 1900);
  // Not the CPU, not the model, no GPUs at all.
  CHECK(f(pod(1, 500, 2000)) == 300);
  CHECK(f(pod(1, 500, 2001)) == 1900);
  CHECK(f(pod(1, 500, 0, 0b10)) == 1900);
  CHECK(f(pod(0, 1000)) == 1900);
  CHECK(f(pod(0, 1000, 9000)) == 1900);
}

TEST_CASE("node_fragmentation: the mean over the pods, by weight") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 2}}).value()};
  index.occupy({{node_id{0}, 0b01}, 500});
  // Half of the pods fit (F = 0.5 for whole GPUs), a quarter needs two GPUs (1.5), a quarter fits anywhere.
  const node_fragmentation f{index.layout(), typical_pods{{{{1}, 2}, {{2}, 1}, {{1, 500}, 1}}}};
  CHECK(f.weight() == 4);
  CHECK(f.of(index, node_id{0}) == 2 * 500 + 1500);
}

TEST_CASE("node_fragmentation: without typical pods nothing is a fragment, and nothing on a full node") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 2}}).value()};
  CHECK(node_fragmentation{index.layout(), {}}.of(index, node_id{0}) == 0);
  index.occupy({{node_id{0}, 0b11}});
  CHECK(node_fragmentation{index.layout(), typical_pods{{{{8}, 5}}}}.of(index, node_id{0}) == 0);
}

TEST_CASE("node_fragmentation: the definition, on random nodes") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    std::vector<gpu::typical_pod> pods(random.below(20));
    for (gpu::typical_pod& p : pods) p = {allot_test::random_shape(random), random.between(1, 9)};
    const typical_pods typical{pods};
    const node_fragmentation f{world.index.layout(), typical};
    const gpu::best_fit policy;
    for (int i = 0; i < 100; ++i) {
      world.change(random, policy);
      const node_id n{random.below(world.index.layout().size())};
      REQUIRE(f.of(world.index, n) == by_definition(world.index, n, typical));
    }
  });
}
