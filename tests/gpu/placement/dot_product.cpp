// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/dot_product.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cmath>
#include <cstdint>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::dot_product_score;
using gpu::node_id;
using gpu::pod_shape;

namespace {

pod_shape pod(std::uint32_t devices, std::uint32_t milli, std::int64_t cpu_milli) {
  return {devices, milli, gpu::all_pools, gpu::all_models, cpu_milli};
}

}  // namespace

TEST_CASE("dot_product_score: 100 less half the sum of products, in percent") {
  const gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 8, .cpu_milli = 128'000}}).value()};
  const dot_product_score score;
  const node_id n{0};
  CHECK(score(index, n, pod(0, 1000, 0)) == 100);
  // All of one, all of both, half of both.
  CHECK(score(index, n, pod(8, 1000, 0)) == 50);
  CHECK(score(index, n, pod(8, 1000, 128'000)) == 0);
  CHECK(score(index, n, pod(4, 1000, 64'000)) == 50);
  // 1/8 of all GPUs: 93.75.
  CHECK(score(index, n, pod(1, 1000, 0)) == 93);
  CHECK(score(index, n, pod(1, 480, 0)) == 97);
}

TEST_CASE("dot_product_score: hosts beyond the largest, and some whose CPU is not counted") {
  const gpu::free_index index{
      gpu::build_cluster({{.name = "a", .gpus = 16, .cpu_milli = 256'000}, {.name = "b", .gpus = 8}})
          .value()};
  const dot_product_score score;
  CHECK(score(index, node_id{0}, pod(8, 1000, 0)) == 0);
  // A product of 3: 100 - 150; of 4 and more: none.
  CHECK(score(index, node_id{0}, pod(8, 1000, 64'000)) == -50);
  CHECK(score(index, node_id{0}, pod(8, 1000, 128'000)) == 0);
  CHECK(score(index, node_id{0}, pod(0, 1000, 256'000)) == 0);
  CHECK(score(index, node_id{1}, pod(8, 1000, 64'000)) == 50);
}

TEST_CASE("dot_product_score: the formula in floating point, where that is not on the edge") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const gpu::dot_product policy;
    for (int i = 0; i < 60; ++i) {
      world.change(random, policy);
      const pod_shape shape = allot_test::random_shape(random);
      const node_id n{random.below(world.index.layout().size())};
      const gpu::node_type& type = world.index.layout().type_of(n);
      const auto here = type.shape_on(shape);
      if (!here || !world.index.has_room(n, *here)) continue;
      const double cpu = type.counts_cpu() ? static_cast<double>(world.index.hosts().free_cpu_milli(n)) : 0;
      const double gpus =
          static_cast<double>(type.gpus) - static_cast<double>(world.index.used(n).in_milli()) / 1000;
      const double product = cpu / 128'000 * static_cast<double>(here->cpu_milli) / 128'000 +
                             gpus / 8 * (here->devices * here->milli / 1000.0) / 8;
      const double exact = 100 * (1 - product / 2);
      if (product > 3.99 || std::abs(exact - std::round(exact)) < 1e-6) continue;
      REQUIRE(policy.score()(world.index, n, *here) == static_cast<int>(exact));
    }
  });
}
