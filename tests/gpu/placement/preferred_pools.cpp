// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/preferred_pools.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/placement/lifetime_alignment.hpp>
#include <tests/gpu/random_hosts.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot_test::random_source;
using gpu::node_id;
using gpu::pod_shape;
using gpu::preferred_pools;

namespace {

/// Four nodes of four GPUs: one of the pool of owner 1, one of that of owner 2, two of nobody's.
[[nodiscard]] gpu::cluster four_nodes() {
  return gpu::build_cluster({{.name = "common", .count = 2, .gpus = 4, .pool = "common"},
                             {.name = "a", .gpus = 4, .pool = "a"},
                             {.name = "b", .gpus = 4, .pool = "b"}})
      .value();
}
constexpr std::uint64_t pool_a = 0b010;
constexpr std::uint64_t pool_b = 0b100;

using inventory = gpu::basic_inventory<preferred_pools<>>;
[[nodiscard]] inventory owned_nodes() {
  return inventory{four_nodes(), preferred_pools<>{{0, pool_a, pool_b}}};
}
/// The nodes of its pods; none if it has no place.
[[nodiscard]] std::vector<std::size_t> place(inventory& in, const gpu::pod_request& r) {
  std::vector<std::size_t> all;
  if (const auto at = in.place(r)) {
    for (const auto& pod : in.pods(*at)) all.push_back(pod.where.node.index());
  }
  return all;
}

}  // namespace

TEST_CASE("preferred_pools: an owner's own, then those of nobody, then those of others") {
  inventory nodes = owned_nodes();
  const auto place_as = [&](std::uint32_t owner) { return place(nodes, {.gpus = gpus(4), .owner = owner}); };
  CHECK(place_as(2) == std::vector<std::size_t>{3});
  CHECK(place_as(2) == std::vector<std::size_t>{0});
  CHECK(place_as(0) == std::vector<std::size_t>{1});
  CHECK(place_as(7) == std::vector<std::size_t>{2});
  CHECK(place_as(1).empty());
}

TEST_CASE("preferred_pools: each pod of a gang by itself, and only where its request may be") {
  inventory nodes = owned_nodes();
  CHECK(place(nodes, {.gpus = gpus(2), .pods = 3, .owner = 1}) == std::vector<std::size_t>{2, 2, 0});
  CHECK(place(nodes, {.gpus = gpus(1), .pools = pool_a | pool_b, .owner = 1}) == std::vector<std::size_t>{3});
}

TEST_CASE("preferred_pools: a place wherever there is room, of the first kind of pools that has any") {
  allot_test::for_each_seed(60, [](random_source& random) {
    allot_test::living_cluster world{allot_test::random_hosts(random)};
    allot::vector<std::uint64_t> preferred;
    std::uint64_t of_nobody = gpu::all_pools;
    for (int i = 0; i < 3; ++i) {
      preferred.push_back(random.below(4));
      of_nobody &= ~preferred.back();
    }
    const preferred_pools<gpu::any_placement> policy{
        preferred, {static_cast<gpu::placement_name>(random.below(8)), world.index.layout()}};
    CHECK(policy.finds_all_room());
    const auto has_room = [&](const pod_shape& pod, std::uint64_t pools) {
      pod_shape in = pod;
      in.pools &= pools;
      for (std::size_t n = 0; n < world.index.layout().size(); ++n) {
        const auto here = world.index.layout().type_of(node_id{n}).shape_on(in);
        if (here && !world.index.is_closed(node_id{n}) && world.index.has_room(node_id{n}, *here))
          return true;
      }
      return false;
    };
    for (int i = 0; i < 150; ++i) {
      world.change(random, policy);
      pod_shape pod = allot_test::random_shape(random);
      pod.owner = static_cast<std::uint32_t>(random.below(5));
      const auto at = policy(world.index, pod);
      REQUIRE(at.has_value() == has_room(pod, gpu::all_pools));
      if (!at) continue;
      REQUIRE_FALSE(world.index.is_closed(at->node));
      REQUIRE(world.index.fits(*at, pod));
      const auto is_in = [&](std::uint64_t pools) {
        return world.index.layout().type_of(at->node).is_in(pools);
      };
      const std::uint64_t own = pod.owner < 3 ? preferred[pod.owner] : 0;
      if (has_room(pod, own)) {
        REQUIRE(is_in(own));
      } else if (has_room(pod, of_nobody)) {
        REQUIRE(is_in(of_nobody));
      }
    }
  });
}

TEST_CASE("preferred_pools: what it says of itself is said of the policy in them") {
  CHECK_FALSE(preferred_pools<>{}.uses_ends());
  CHECK(preferred_pools{{}, gpu::lifetime_alignment{}}.uses_ends());
  const auto nowhere = [](const gpu::free_index&, const pod_shape&) -> std::optional<gpu::pod_location> {
    return std::nullopt;
  };
  CHECK_FALSE(preferred_pools{{}, nowhere}.finds_all_room());
  CHECK(gpu::any_placement{preferred_pools<>{}}.finds_all_room());
  CHECK_FALSE(gpu::any_placement{nowhere}.finds_all_room());
}

TEST_CASE("preferred_pools: an owner makes no difference to whether there is room") {
  CHECK(gpu::pod_request{.gpus = gpus(1), .owner = 4}.room_key() == gpu::pod_request{.gpus = gpus(1)});
  CHECK(gpu::pod_request{.gpus = gpus(1), .owner = 4}.runs_as({.gpus = gpus(1), .owner = 2}));
  CHECK(gpu::split({.gpus = gpus(1), .owner = 4}, 8)->each.owner == 4);
  const gpu::pod_set sets[] = {{.each = {.gpus = gpus(1)}}, {.each = {.gpus = gpus(2)}}};
  gpu::pod_request of_sets{.pods = 2, .owner = 3, .sets = {sets, 2}};
  CHECK(sets[1].of(1, of_sets).owner == 3);
}
