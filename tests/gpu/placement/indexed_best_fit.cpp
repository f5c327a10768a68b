// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/indexed_best_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;

TEST_CASE("least_left: what is kept gives the answers of best fit") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const gpu::scored_placement<gpu::least_left> kept;
    for (int i = 0; i < 200; ++i) {
      world.change(random, kept);
      const pod_shape pod = allot_test::random_shape(random);
      REQUIRE(kept(world.index, pod) == gpu::best_fit{}(world.index, pod));
    }
  });
}

TEST_CASE("indexed_best_fit: the answers of best fit, on hosts that are full too") {
  gpu::free_index index{
      gpu::build_cluster({{.name = "n", .count = 300, .gpus = 8, .cpu_milli = 8000}}).value()};
  const gpu::indexed_best_fit choose;
  const pod_shape pod{1, 1000, gpu::all_pools, gpu::all_models, 2000};
  const pod_shape part{1, 500, gpu::all_pools, gpu::all_models, 2000};
  // Four pods per node use up the CPU, and four GPUs stay free.
  for (int i = 0; i < 1190; ++i) {
    const pod_shape& next = i % 3 == 0 ? part : pod;
    const auto where = choose(index, next);
    REQUIRE(where == gpu::best_fit{}(index, next));
    index.occupy(index.placed(*where, next));
  }
  REQUIRE(choose(index, pod) == gpu::best_fit{}(index, pod));
  while (const auto where = choose(index, pod)) index.occupy(index.placed(*where, pod));
  CHECK_FALSE(gpu::best_fit{}(index, pod).has_value());
  CHECK(allot_test::allocations_in([&] { static_cast<void>(choose(index, pod)); }) == 0);
}

TEST_CASE("best_fit: gives up after the given number of nodes") {
  gpu::free_index index{
      gpu::build_cluster({{.name = "n", .count = 5, .gpus = 8, .cpu_milli = 1000}}).value()};
  for (std::size_t n = 0; n < 4; ++n) index.occupy({{node_id{n}, 0b1}, 1000, 1000});
  const pod_shape pod{1, 1000, gpu::all_pools, gpu::all_models, 1000};
  std::size_t looks = 4;
  CHECK_FALSE(gpu::best_fit::choose_within(looks, index, pod).has_value());
  CHECK(looks == 0);
  looks = 5;
  CHECK(gpu::best_fit::choose_within(looks, index, pod) == pod_location{node_id{4}, 0b1});
  CHECK(looks == 1);
}
