// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/vector_best_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cmath>
#include <cstdint>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;
using gpu::vector_best_fit_score;

namespace {

pod_shape pod(std::uint32_t devices, std::uint32_t milli, std::int64_t cpu_milli) {
  return {devices, milli, gpu::all_pools, gpu::all_models, cpu_milli};
}

}  // namespace

TEST_CASE("vector_best_fit_score: what is left of CPU and GPUs, half for half") {
  const gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 8, .cpu_milli = 128'000}}).value()};
  const vector_best_fit_score score;
  CHECK(score(index, node_id{0}, pod(0, 1000, 0)) == 0);
  CHECK(score(index, node_id{0}, pod(8, 1000, 0)) == 50);
  CHECK(score(index, node_id{0}, pod(8, 1000, 128'000)) == 100);
  // 100 - 43.75 - 45.3125.
  CHECK(score(index, node_id{0}, pod(1, 1000, 12'000)) == 10);
}

TEST_CASE("vector_best_fit: the node with the least of both left, ties within a percent to the lowest") {
  gpu::free_index index{gpu::build_cluster({{.name = "a", .gpus = 4, .cpu_milli = 96'000},
                                            {.name = "b", .gpus = 4, .cpu_milli = 32'000},
                                            {.name = "c", .gpus = 4, .cpu_milli = 31'000}})
                            .value()};
  const gpu::vector_best_fit choose;
  CHECK(choose(index, pod(1, 1000, 4000)) == pod_location{node_id{1}, 0b1});
  index.occupy({{node_id{2}, 0}, 1000, 2000});
  CHECK(choose(index, pod(1, 1000, 4000)) == pod_location{node_id{2}, 0b1});
  index.occupy({{node_id{0}, 0b1110}});
  CHECK(choose(index, pod(1, 1000, 0)) == pod_location{node_id{2}, 0b1});
  index.occupy({{node_id{0}, 0}, 1000, 60'000});
  CHECK(choose(index, pod(1, 1000, 0)) == pod_location{node_id{0}, 0b1});
}

TEST_CASE("vector_best_fit_score: the formula in floating point, where that is not on the edge") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const gpu::vector_best_fit policy;
    for (int i = 0; i < 60; ++i) {
      world.change(random, policy);
      const node_id n{random.below(world.index.layout().size())};
      const gpu::node_type& type = world.index.layout().type_of(n);
      const auto here = type.shape_on(allot_test::random_shape(random));
      if (!here || !world.index.has_room(n, *here)) continue;
      const double cpu = type.counts_cpu()
                             ? static_cast<double>(world.index.hosts().free_cpu_milli(n) - here->cpu_milli)
                             : 0;
      const double gpus = static_cast<double>(type.gpus) -
                          static_cast<double>(world.index.used(n).in_milli()) / 1000 -
                          here->devices * here->milli / 1000.0;
      const double exact = 100 * (1 - cpu / 128'000 / 2 - gpus / 8 / 2);
      if (std::abs(exact - std::round(exact)) < 1e-6) continue;
      REQUIRE(policy.score()(world.index, n, *here) == static_cast<int>(exact));
    }
  });
}
