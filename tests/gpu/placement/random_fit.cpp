// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/random_fit.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/inventory.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot_test::random_source;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;
using gpu::random_fit;

TEST_CASE("random_fit: some node with room, if there is one, and devices with room") {
  allot_test::for_each_seed(40, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    const random_fit policy{random(), random.one_in(2) ? 3 : gpu::shapes_remembered};
    for (int i = 0; i < 150; ++i) {
      world.change(random, policy);
      const pod_shape pod = allot_test::random_shape(random);
      bool has_room = false;
      for (std::size_t n = 0; n < world.index.layout().size(); ++n) {
        const auto here = world.index.layout().type_of(node_id{n}).shape_on(pod);
        has_room = has_room ||
                   (here && !world.index.is_closed(node_id{n}) && world.index.has_room(node_id{n}, *here));
      }
      const auto where = policy(world.index, pod);
      REQUIRE(where.has_value() == has_room);
      if (!where) continue;
      REQUIRE_FALSE(world.index.is_closed(where->node));
      REQUIRE(world.index.layout().type_of(where->node).shape_on(pod));
      REQUIRE(world.index.fits(*where, pod));
    }
  });
}

TEST_CASE("random_fit: each node and each device is as likely as the others") {
  gpu::free_index index{gpu::build_cluster({{.name = "n", .count = 5, .gpus = 4}}).value()};
  index.occupy({{node_id{2}, 0b1111}});
  index.occupy({{node_id{3}, 0b0011}, 600});
  std::map<std::pair<std::size_t, std::uint64_t>, int> count;
  constexpr int draws = 16'000;
  for (int seed = 0; seed < draws; ++seed) {
    const auto where = random_fit{static_cast<std::uint64_t>(seed)}(index, {1, 500});
    REQUIRE(where);
    ++count[{where->node.index(), where->devices}];
  }
  // Three nodes with four devices and one with two that have room: 1/16 and 1/8.
  CHECK(count.size() == 14);
  for (const auto& drawn : count) {
    const std::size_t node = drawn.first.first;
    const int expected = node == 3 ? draws / 8 : draws / 16;
    CAPTURE(node);
    CHECK(drawn.second > expected * 85 / 100);
    CHECK(drawn.second < expected * 115 / 100);
  }
}

TEST_CASE("random_fit: the same seed and state give the same place, whatever came in between") {
  const gpu::cluster layout = gpu::build_cluster({{.name = "n", .count = 100, .gpus = 8}}).value();
  gpu::basic_inventory<random_fit> a{layout, random_fit{42}};
  gpu::basic_inventory<random_fit> b{layout, random_fit{42}};
  const gpu::pod_request d{.gpus = allot::gpus(1)};
  bool all_on_one = true;
  for (int i = 0; i < 50; ++i) {
    const auto before = b.save();
    for (int k = 0; k < i % 4; ++k) static_cast<void>(b.place({.gpus = allot::gpus(2)}));
    b.rollback(before);
    const auto x = a.place(d);
    const auto y = b.place(d);
    REQUIRE(x);
    REQUIRE(y);
    CHECK(a.pods(*x) == b.pods(*y));
    all_on_one = all_on_one && (*a.pods(*x).begin()).where.node == node_id{0};
  }
  CHECK_FALSE(all_on_one);
}

TEST_CASE("random_fit: these seeds mean these places, on every machine") {
  const gpu::free_index index{gpu::build_cluster({{.name = "n", .count = 1000, .gpus = 8}}).value()};
  std::vector<std::size_t> nodes;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) nodes.push_back(random_fit{seed}(index, {1})->node.index());
  CHECK(nodes == std::vector<std::size_t>{715, 968, 417, 111});
}
