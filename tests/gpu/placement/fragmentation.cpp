// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/fragmentation.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/placement/best_fit.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_test::random_source;
using gpu::fragmentation;
using gpu::node_id;
using gpu::typical_pods;

TEST_CASE("fragmentation: of a cluster, in GPUs") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .count = 2, .gpus = 2}}).value()};
  fragmentation f{index.layout(), typical_pods{{{{1}, 1}, {{2}, 1}}}};
  f.look(index);
  CHECK(f.fragments() == gpus(0));
  index.occupy({{node_id{0}, 0b01}});
  f.look(index);
  // On the first node one GPU is idle, which half of the pods can use.
  CHECK(f.fragments() == quantity::milli(500));
  CHECK(f.weighted_fragments(node_id{0}) == 1000);
  CHECK(f.weighted_fragments(node_id{1}) == 0);
  index.close(node_id{0});
  f.look(index);
  CHECK(f.fragments() == gpus(0));
}

TEST_CASE("fragmentation: without typical pods, and without idle GPUs") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .gpus = 1}}).value()};
  fragmentation none{index.layout(), {}};
  fragmentation some{index.layout(), typical_pods{{{{1}, 1}}}};
  index.occupy({{node_id{0}, 0b1}});
  none.look(index);
  some.look(index);
  CHECK(none.fragments() == gpus(0));
  CHECK(some.fragments() == gpus(0));
}

TEST_CASE("fragmentation: kept from change to change, it is the sum over the nodes") {
  allot_test::for_each_seed(30, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    std::vector<gpu::typical_pod> pods(random.below(10));
    for (gpu::typical_pod& p : pods) p = {allot_test::random_shape(random), random.between(1, 9)};
    const typical_pods typical{pods};
    fragmentation kept{world.index.layout(), typical};
    const gpu::node_fragmentation of_node{world.index.layout(), typical};
    const gpu::best_fit policy;
    for (int i = 0; i < 60; ++i) {
      const std::size_t changes = random.one_in(10) ? 300 : random.below(4);
      for (std::size_t k = 0; k < changes; ++k) world.change(random, policy);
      kept.look(world.index);
      std::int64_t sum = 0;
      for (std::size_t n = 0; n < world.index.layout().size(); ++n) {
        if (!world.index.is_closed(node_id{n})) sum += of_node.of(world.index, node_id{n});
      }
      REQUIRE(kept.weighted_fragments() == static_cast<allot::wide>(sum));
      REQUIRE(kept.fragments() <= world.index.free_in(gpu::all_pools));
    }
    CHECK(allot_test::allocations_in([&] { kept.look(world.index); }) == 0);
  });
}
