// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/topology_room.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using gpu::class_rooms;
using gpu::domain_id;
using gpu::node_classes;
using gpu::node_id;
using gpu::node_rooms;
using gpu::topology;

static_assert(gpu::topology_rooms<node_rooms>);
static_assert(gpu::topology_rooms<class_rooms>);

namespace {

template <class Rooms>
void check_rooms(const topology& t, const Rooms& rooms, const std::vector<std::uint32_t>& of_node) {
  std::uint64_t total = 0;
  std::uint64_t most = 0;
  for (const node_id n : t.nodes()) {
    REQUIRE(rooms.room_at(t.position(n)) == of_node[n.index()]);
    total += of_node[n.index()];
    most = std::max<std::uint64_t>(most, of_node[n.index()]);
  }
  REQUIRE(rooms.total() == total);
  REQUIRE(rooms.most_on_a_node() >= most);
  if (most < 64) REQUIRE(rooms.most_on_a_node() == most);
  for (const domain_id d : t.domains()) {
    std::uint64_t sum = 0;
    for (const node_id n : t.nodes(d)) sum += of_node[n.index()];
    REQUIRE(rooms.room(d) == sum);
  }
}

}  // namespace

TEST_CASE("topology_room: what is kept node by node agrees with a scan") {
  allot_test::for_each_seed(150, [](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    // A class is the number of free GPUs; a pod of the shape wants three of them.
    std::vector<std::uint32_t> free(c.nodes.size());
    const std::vector<std::uint32_t> pods{0, 0, 0, 1, 1, 1, 2, 2, 2};
    node_rooms kept{t};
    node_classes classes{t, 9};
    const class_rooms counted{classes, pods};
    for (int step = 0; step < 20; ++step) {
      const node_id n{random.below(c.nodes.size())};
      free[n.index()] = static_cast<std::uint32_t>(random.below(9));
      classes.set(n, free[n.index()]);
      kept.set(n, pods[free[n.index()]]);
      std::vector<std::uint32_t> rooms;
      for (const std::uint32_t f : free) rooms.push_back(f / 3);
      check_rooms(t, kept, rooms);
      check_rooms(t, counted, rooms);
      check_rooms(t, node_rooms{t, [&](node_id x) { return rooms[x.index()]; }}, rooms);
    }
    for (const domain_id d : t.domains()) {
      for (std::uint32_t f = 0; f < 9; ++f) {
        const auto has = [&](node_id n) { return free[n.index()] == f; };
        REQUIRE(classes.counts(d)[f] == std::count_if(t.nodes(d).begin(), t.nodes(d).end(), has));
      }
    }
    REQUIRE(kept.room(t.nodes()[0]) == kept.room_at(0));
    // Pods that need almost nothing.
    std::vector<std::uint32_t> rooms(c.nodes.size());
    for (std::uint32_t& r : rooms)
      r = static_cast<std::uint32_t>(random.below(random.one_in(2) ? 66 : 4'000'000'000));
    kept.read([&](node_id x) { return rooms[x.index()]; });
    check_rooms(t, kept, rooms);
  });
}

TEST_CASE("topology_room: changes and readings do not allocate") {
  allot_test::random_source random{3};
  const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random, 12, false);
  const topology t = gpu::topology_from_labels(c.nodes, c.levels).value();
  node_rooms kept{t};
  node_classes classes{t, 9};
  CHECK(allot_test::allocations_in([&] {
          kept.set(node_id{0}, 5);
          kept.read([](node_id n) { return n.index() % 4; });
          classes.set(node_id{0}, 8);
        }) == 0);
}

TEST_CASE("topology_room: broken preconditions") {
  const topology t{{}, {}, 2};
  CHECK_THROWS_AS((node_classes{t, 0}), allot_test::assertion_failed);
  node_classes classes{t, 2};
  CHECK_THROWS_AS(classes.set(node_id{0}, 2), allot_test::assertion_failed);
  const std::vector<std::uint32_t> pods{1, 2, 3};
  CHECK_THROWS_AS((class_rooms{classes, pods}), allot_test::assertion_failed);
  node_rooms rooms{t};
  CHECK_THROWS_AS(rooms.set(node_id{2}, 1), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(rooms.room(domain_id{0})), allot_test::assertion_failed);
}
