// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/figures.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/placement/best_fit.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_test::random_source;
using gpu::gpu_usage;
using gpu::node_id;

namespace {

gpu::free_index two_pools() {
  return gpu::free_index{
      gpu::build_cluster({{.name = "a", .count = 2, .gpus = 4, .gpu_model = "A", .pool = "p"},
                          {.name = "b", .gpus = 8, .gpu_model = "B", .cpu_milli = 8000, .pool = "q"}})
          .value()};
}

}  // namespace

TEST_CASE("figures: capacity is used, closed or idle, of a node, a model, a pool and all") {
  gpu::free_index index = two_pools();
  index.occupy({{node_id{0}, 0b1}, 500});
  index.occupy({{node_id{1}, 0b11}});
  index.close(node_id{1});
  CHECK(gpu::usage_of(index, node_id{0}) == gpu_usage{gpus(4), quantity::milli(500), {}});
  CHECK(gpu::usage_of(index, node_id{1}) == gpu_usage{gpus(4), gpus(2), gpus(2)});
  CHECK(gpu::usage_of(index, node_id{1}).idle() == gpus(0));
  const gpu_usage of_a{gpus(8), quantity::milli(2500), gpus(2)};
  const gpu_usage of_b{gpus(8), {}, {}};
  CHECK(gpu::usage_by_model(index) == std::vector<gpu_usage>{of_a, of_b});
  CHECK(gpu::usage_by_pool(index) == std::vector<gpu_usage>{of_a, of_b});
  CHECK(gpu::usage_in(index) == gpu_usage{gpus(16), quantity::milli(2500), gpus(2)});
  CHECK(gpu::usage_in(index).idle() == quantity::milli(11'500));
  CHECK(of_a.millionths_used() == 312'500);
  CHECK(gpu_usage{}.millionths_used() == 0);
}

TEST_CASE("figures: usage is the sum over the nodes") {
  allot_test::for_each_seed(20, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    for (int i = 0; i < 100; ++i) world.change(random, gpu::best_fit{});
    const gpu::cluster& layout = world.index.layout();
    std::vector<gpu_usage> by_model(layout.models().size());
    std::vector<gpu_usage> by_pool(layout.pools().size());
    const auto add = [](gpu_usage& to, const gpu_usage& u) {
      to = {to.capacity + u.capacity, to.used + u.used, to.closed + u.closed};
    };
    for (std::size_t n = 0; n < layout.size(); ++n) {
      const gpu_usage u = gpu::usage_of(world.index, node_id{n});
      add(by_model[layout.type_of(node_id{n}).model], u);
      add(by_pool[layout.type_of(node_id{n}).pool], u);
    }
    CHECK(gpu::usage_by_model(world.index) == by_model);
    CHECK(gpu::usage_by_pool(world.index) == by_pool);
  });
}

TEST_CASE("figures: the largest gang is as many as can be placed") {
  allot_test::for_each_seed(30, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    for (int i = 0; i < 60; ++i) world.change(random, gpu::best_fit{});
    gpu::pod_shape pod = allot_test::random_shape(random);
    if (pod.is_fraction()) pod.devices = 1;
    if (pod.devices == 0) pod.devices = 1;
    const std::uint64_t gang = gpu::largest_gang(world.index, pod);
    CHECK(gpu::largest_gang(world.index, pod, 3) == std::min<std::uint64_t>(gang, 3));
    std::uint64_t placed = 0;
    while (const auto where = gpu::best_fit{}(world.index, pod)) {
      world.index.occupy(world.index.placed(*where, pod));
      ++placed;
    }
    CHECK(placed == gang);
  });
}

TEST_CASE("figures: GPUs are stranded for a job while enough are idle for it, but it has no place") {
  gpu::free_index index = two_pools();
  const gpu::pod_request five{.gpus = gpus(5), .pools = 0b01};
  // Never: no such node.
  CHECK(gpu::stranded_for(index, five) == gpus(0));
  const gpu::pod_request four{.gpus = gpus(4), .pools = 0b01};
  CHECK(gpu::stranded_for(index, four) == gpus(0));
  index.occupy({{node_id{0}, 0b1}});
  index.occupy({{node_id{1}, 0b1}});
  CHECK(gpu::stranded_for(index, four) == gpus(6));
  index.occupy({{node_id{0}, 0b1110}});
  // Three are fewer than four.
  CHECK(gpu::stranded_for(index, four) == gpus(0));
  const gpu::pod_request with_cpu{.gpus = gpus(1), .pools = 0b10, .cpu_milli = 6000};
  CHECK(gpu::stranded_for(index, with_cpu) == gpus(0));
  index.occupy({{node_id{2}, 0b1}, 1000, 4000});
  CHECK(gpu::stranded_for(index, with_cpu) == gpus(7));
}
