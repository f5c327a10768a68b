// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/gang_assignment.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/gang_oracle.hpp>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using gpu::gang_group;
using gpu::node_id;
using gpu::node_rooms;
using gpu::topology;
using gpu::detail::gang_assignment;
using gpu::detail::gang_region;

namespace {

constexpr std::size_t none = topology::part::no_parent;

/// Two racks of two nodes, and a node outside.
topology two_racks() {
  return {{"rack"}, {{"a", none, {node_id{0}, node_id{1}}}, {"b", none, {node_id{2}, node_id{3}}}}, 5};
}

}  // namespace

TEST_CASE("gang_assignment: regions and what lies in them") {
  const topology t = two_racks();
  const gang_region all{};
  const gang_region b{gang_region::domain, 1};
  const gang_region last{gang_region::node, 4};
  CHECK(level_of(t, b) == 0);
  CHECK(level_of(t, last) == 1);
  CHECK(positions(t, all) == std::pair<std::size_t, std::size_t>{0, 5});
  CHECK(positions(t, b) == std::pair<std::size_t, std::size_t>{2, 4});
  CHECK(positions(t, last) == std::pair<std::size_t, std::size_t>{4, 5});
  CHECK(domains_in(t, all, 0).size() == 2);
  CHECK(domains_in(t, b, 0).size() == 1);
  CHECK(is_inner(t, {1, 1, 0}, all));
  CHECK_FALSE(is_inner(t, {1, 1, 0}, b));
  CHECK(is_inner(t, {1, 1, 1}, b));
  CHECK_FALSE(is_inner(t, {1, 1, 1}, last));
  CHECK_FALSE(is_inner(t, {1, 1}, all));
  const node_rooms rooms{t, [](node_id n) { return n.index() + 1; }};
  CHECK(room_of(rooms, all) == 15);
  CHECK(room_of(rooms, b) == 7);
  CHECK(room_of(rooms, last) == 5);
}

TEST_CASE("gang_assignment: the first choice may have to be taken back") {
  const topology t = two_racks();
  const std::vector<std::uint32_t> room{3, 1, 2, 2, 0};
  const node_rooms rooms{t, [&](node_id n) { return room[n.index()]; }};
  gang_assignment a{t};
  a.begin(100);
  // If the node of 3 is used for the larger group, no rack of 4 but the other one is left.
  const std::vector<gang_group> groups{{4, 4, 0}, {3, 3, 1}};
  REQUIRE(a.assign(rooms, groups, 7, gang_region{}));
  CHECK(a.at(0) == gang_region{gang_region::domain, 1});
  CHECK(a.at(1) == gang_region{gang_region::node, 0});
  CHECK(a.inner().size() == 2);
  CHECK(a.left(gpu::domain_id{1}) == 0);
  // The fullest node that fits one pod is in rack a, where it would be in the way of the four.
  const std::vector<gang_group> other{{4, 4, 0}, {2, 2, 1}, {1, 1, 1}};
  REQUIRE(a.assign(rooms, other, 7, gang_region{}));
  CHECK(a.at(0) == gang_region{gang_region::domain, 0});
  CHECK(a.at(1) == gang_region{gang_region::node, 2});
  CHECK(a.at(2) == gang_region{gang_region::node, 3});
  CHECK_FALSE(a.gave_up());
}

TEST_CASE("gang_assignment: groups grow in order, as far as no other one needs the room") {
  const topology t = two_racks();
  const std::vector<std::uint32_t> room{4, 4, 3, 0, 6};
  const node_rooms rooms{t, [&](node_id n) { return room[n.index()]; }};
  gang_assignment a{t};
  a.begin(100);
  const std::vector<gang_group> groups{{20, 2, 1}, {20, 5, 0}, {20, 1}};
  REQUIRE(a.assign(rooms, groups, 8, gang_region{}));
  CHECK(a.at(0) == gang_region{gang_region::node, 2});
  CHECK(a.size(0) == 3);
  CHECK(a.at(1) == gang_region{gang_region::domain, 0});
  CHECK(a.size(1) == 8);
  CHECK(a.size(2) == 6);
}

TEST_CASE("gang_assignment: an assignment is found exactly when trying everything finds one") {
  int possible = 0;
  int impossible = 0;
  allot_test::for_each_seed(1500, [&](allot_test::random_source& random) {
    const allot_test::labelled_cluster c = allot_test::random_labelled_cluster(random, 7);
    const topology t = gpu::topology_from_labels(c.nodes, c.levels, {.allow_outside = true}).value();
    std::vector<std::uint32_t> free;
    for (std::size_t n = 0; n < c.nodes.size(); ++n)
      free.push_back(static_cast<std::uint32_t>(random.below(5)));
    const node_rooms rooms{t, [&](node_id n) { return free[n.index()]; }};
    std::vector<gang_group> groups(1 + random.below(4));
    std::uint64_t needed = 0;
    for (gang_group& g : groups) {
      g.min_pods = g.pods = 1 + random.below(4);
      if (!random.one_in(4)) g.level = random.below(t.node_level() + 1);
      needed += g.min_pods;
    }
    if (needed > rooms.total()) return;
    gang_assignment a{t};
    a.begin(1'000'000);
    const allot_test::gang_oracle oracle{c, free};
    const bool fits = oracle.fits(oracle.everything, {}, groups);
    REQUIRE(a.assign(rooms, groups, needed, gang_region{}) == fits);
    ++(fits ? possible : impossible);
    if (!fits) REQUIRE(a.stuck() < groups.size());
    // Nothing of a failed search remains.
    const std::vector<gang_group> one{{1, 1, t.node_level()}};
    REQUIRE(a.assign(rooms, one, 1, gang_region{}));
  });
  CHECK(possible + impossible > 0);
}

TEST_CASE("gang_assignment: the budget") {
  const topology t = two_racks();
  const node_rooms rooms{t, [](node_id) { return 2; }};
  gang_assignment a{t};
  const std::vector<gang_group> groups(3, gang_group{2, 2, 1});
  a.begin(2);
  CHECK_FALSE(a.assign(rooms, groups, 6, gang_region{}));
  CHECK(a.gave_up());
  CHECK(a.stuck() == 2);
  a.refill(3);
  CHECK(a.assign(rooms, groups, 6, gang_region{}));
  CHECK(a.gave_up());
  a.begin(3);
  CHECK_FALSE(a.gave_up());
}
