// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/gpu/topology_inventory.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_topology.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using allot_test::random_source;
using gpu::allocation_id;
using inventory = gpu::topology_inventory;
using gpu::node_id;
using gpu::obstacle;
using gpu::pod_request;

namespace {

/// This many leaves of this many racks of two nodes with 8 GPUs; levels leaf 0, rack 1, node 2.
inventory fabric(int leaves, int racks) {
  std::vector<gpu::node_spec> specs;
  for (int l = 0; l < leaves; ++l) {
    for (int r = 0; r < racks; ++r) {
      gpu::node_spec s;
      s.name = "n" + std::to_string(l) + "-" + std::to_string(r);
      s.count = 2;
      s.gpus = 8;
      s.labels = {{"leaf", "leaf" + std::to_string(l)}, {"rack", "rack" + std::to_string(r)}};
      specs.push_back(std::move(s));
    }
  }
  const gpu::cluster layout = gpu::build_cluster(std::move(specs)).value();
  const std::vector<std::string> levels{"leaf", "rack"};
  return inventory{layout, gpu::topology_from_labels(layout, levels).value()};
}

pod_request gang(std::uint32_t pods, std::uint8_t required, std::uint8_t preferred = gpu::any_level) {
  pod_request d;
  d.gpus = gpus(8);
  d.pods = pods;
  d.required_level = required;
  d.preferred_level = preferred;
  return d;
}

std::set<std::size_t> nodes_of(const inventory& in, allocation_id a) {
  std::set<std::size_t> nodes;
  in.for_each_node(a, [&](std::size_t n) { nodes.insert(n); });
  return nodes;
}

}  // namespace

TEST_CASE("topology_inventory: a gang is placed in one domain of the required level, the fullest with room") {
  inventory in = fabric(2, 2);
  // One node of the second leaf is in use, so it is the fuller one.
  REQUIRE(in.place_at({gpus(8)}, std::array{gpu::pod_location{node_id{4}, 0}}));
  const auto a = in.place(gang(3, 0));
  REQUIRE(a);
  CHECK(nodes_of(in, *a) == std::set<std::size_t>{5, 6, 7});
  CHECK_FALSE(in.place(gang(5, 0)));
  const gpu::unplaceable why = in.why_not(gang(5, 0));
  CHECK(why.reason == obstacle::larger_than_any_domain);
  // Even where nothing is placed.
  CHECK(why.pods_with_room == 4);
  CHECK(why.level == 0);
  CHECK(why.best_domain == gpu::domain_id{0});
  CHECK_FALSE(in.could_ever_fit(gang(5, 0)));
  CHECK(in.could_ever_fit(gang(4, 0)));
  CHECK(in.place(gang(4, 0)).has_value());
}

TEST_CASE("topology_inventory: room enough, but not in one domain") {
  inventory in = fabric(2, 2);
  REQUIRE(in.place_at({gpus(8)}, std::array{gpu::pod_location{node_id{0}, 0}}));
  REQUIRE(in.place_at({gpus(8)}, std::array{gpu::pod_location{node_id{4}, 0}}));
  CHECK(in.place(gang(4, gpu::any_level)).has_value());
  in = fabric(2, 2);
  REQUIRE(in.place_at({gpus(8)}, std::array{gpu::pod_location{node_id{0}, 0}}));
  REQUIRE(in.place_at({gpus(8)}, std::array{gpu::pod_location{node_id{4}, 0}}));
  CHECK_FALSE(in.place(gang(4, 0)));
  const gpu::unplaceable why = in.why_not(gang(4, 0));
  CHECK(why.reason == obstacle::no_domain_has_room);
  CHECK(why.pods == 4);
  CHECK(why.pods_with_room == 3);
  CHECK(why.level == 0);
  CHECK(why.best_domain == gpu::domain_id{0});
  CHECK(why.best_node.is_none());
  CHECK_FALSE(why.is_never());
}

TEST_CASE("topology_inventory: a preferred level is used if possible") {
  inventory in = fabric(2, 2);
  const auto rack = in.place(gang(2, gpu::any_level, 1));
  REQUIRE(rack);
  CHECK(nodes_of(in, *rack) == std::set<std::size_t>{0, 1});
  const auto leaf = in.place(gang(3, gpu::any_level, 1));
  REQUIRE(leaf);
  CHECK(nodes_of(in, *leaf) == std::set<std::size_t>{4, 5, 6});
  const auto anywhere = in.place(gang(3, gpu::any_level, 1));
  REQUIRE(anywhere);
  CHECK(nodes_of(in, *anywhere) == std::set<std::size_t>{2, 3, 7});
}

TEST_CASE("topology_inventory: pods that share a node, and fractions") {
  inventory in = fabric(1, 2);
  pod_request d = gang(16, 1);
  d.gpus = quantity::milli(500);
  const auto a = in.place(d);
  REQUIRE(a);
  CHECK(nodes_of(in, *a).size() == 1);
  CHECK(in.used() == gpus(8));
  d.pods = 33;
  CHECK(in.why_not(d).reason == obstacle::larger_than_any_domain);
}

TEST_CASE("topology_inventory: a split total has its smaller pod in the same domain") {
  inventory in = fabric(2, 2);
  pod_request d;
  d.gpus = gpus(12);
  d.total = true;
  d.required_level = 1;
  const auto a = in.place(d);
  REQUIRE(a);
  CHECK(nodes_of(in, *a) == std::set<std::size_t>{0, 1});
  CHECK(in.used() == gpus(12));
}

TEST_CASE("topology_inventory: invalid levels, and an inventory without topology") {
  inventory in = fabric(1, 1);
  CHECK_FALSE(in.place(gang(1, 3)));
  CHECK(in.place(gang(1, 2)).has_value());
  // Coarser than required.
  CHECK_FALSE(in.place(gang(1, 1, 0)));
  CHECK(in.why_not(gang(1, 1, 0)).reason == obstacle::invalid_request);
  const auto refuses_levels = [](auto plain) {
    CHECK_FALSE(plain.place(gang(1, 0)));
    CHECK_FALSE(plain.could_ever_fit(gang(1, 0)));
    CHECK(plain.why_not(gang(1, 0)).reason == obstacle::invalid_request);
    CHECK(plain.used() == quantity{});
    CHECK(plain.place(gang(1, gpu::any_level)).has_value());
  };
  CHECK(inventory{in.layout()}.nearness() == nullptr);
  refuses_levels(inventory{in.layout()});
  refuses_levels(gpu::inventory{in.layout()});
}

TEST_CASE("topology_inventory: a gang is placed exactly when a domain has room for it, closed nodes apart") {
  allot_test::for_each_seed(150, [](random_source& random) {
    const allot_test::labelled_cluster labelled = allot_test::random_labelled_cluster(random);
    const auto built = gpu::topology_from_labels(labelled.nodes, labelled.levels, {.allow_outside = true});
    if (!built) return;
    inventory in{labelled.nodes, built.value()};
    const gpu::topology& near = *in.nearness();
    const auto room = [&](node_id n, const pod_request& d) -> std::size_t {
      if (in.is_closed(n)) return 0;
      if (d.gpus >= gpus(1)) {
        return static_cast<std::size_t>(std::popcount(in.index().free_devices(n))) /
               static_cast<std::size_t>(d.gpus.in_milli() / 1000);
      }
      std::size_t sum = 0;
      for (std::uint32_t k = 0; k < 8; ++k) {
        sum += static_cast<std::size_t>((gpus(1) - in.index().used(n, k)).in_milli() / d.gpus.in_milli());
      }
      return sum;
    };
    const auto room_of_level = [&](std::size_t level, const pod_request& d) {
      std::size_t most = 0;
      if (level == near.node_level()) {
        for (const node_id n : near.nodes()) most = std::max(most, room(n, d));
        return most;
      }
      for (const gpu::domain_id x : near.domains_of(level)) {
        std::size_t sum = 0;
        for (const node_id n : near.nodes(x)) sum += room(n, d);
        most = std::max(most, sum);
      }
      return most;
    };
    std::vector<allocation_id> standing;
    for (int i = 0; i < 60; ++i) {
      if (random.one_in(10)) {
        const node_id n{random.below(in.layout().size())};
        in.is_closed(n) ? in.reopen(n) : in.close(n);
      }
      if (!standing.empty() && random.one_in(3)) {
        const std::size_t k = random.below(standing.size());
        in.release(standing[k]);
        standing.erase(standing.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      constexpr std::int64_t sizes[] = {250, 500, 1000, 2000, 4000, 8000};
      pod_request d;
      d.gpus = quantity::milli(random.pick(sizes));
      d.pods = static_cast<std::uint32_t>(random.between(1, 12));
      d.required_level = static_cast<std::uint8_t>(random.below(near.node_level() + 1));
      if (random.one_in(3)) {
        d.preferred_level = static_cast<std::uint8_t>(
            random.between(d.required_level, static_cast<std::int64_t>(near.node_level())));
      }
      if (d.preferred_level != gpu::any_level) CAPTURE(int{d.preferred_level});
      CAPTURE(d.gpus.in_milli());
      CAPTURE(d.pods);
      CAPTURE(int{d.required_level});
      CAPTURE(near.node_level());
      const bool expected = room_of_level(d.required_level, d) >= d.pods;
      const auto why = in.why_not(d);
      CHECK((why.reason == obstacle::none) == expected);
      CHECK(in.obstacle_to(d) == why.reason);
      const inventory before = in;
      CHECK(in.could_place(d) == expected);
      REQUIRE(in == before);
      const allot::savepoint s = in.save();
      const auto a = in.place(d);
      REQUIRE(a.has_value() == expected);
      if (!a || random.one_in(3)) {
        in.rollback(s);
        REQUIRE(in == before);
        continue;
      }
      in.commit(s);
      standing.push_back(*a);
      const std::set<std::size_t> nodes = nodes_of(in, *a);
      const auto together = [&](std::size_t level) {
        if (level == near.node_level()) return nodes.size() == 1;
        std::set<gpu::domain_id> domains;
        for (const std::size_t n : nodes) domains.insert(near.domain_of(node_id{n}, level));
        return domains.size() == 1 && !domains.begin()->is_none();
      };
      CHECK(together(d.required_level));
      inventory could = before;
      for (std::size_t l = d.required_level; l <= near.node_level(); ++l) {
        pod_request finer = d;
        finer.required_level = static_cast<std::uint8_t>(l);
        finer.preferred_level = gpu::any_level;
        const bool is_sought = d.preferred_level == gpu::any_level || l <= d.preferred_level;
        if (!is_sought) continue;
        const auto there = could.place(finer);
        if (!there) continue;
        // A node outside every domain is in none of the required level.
        const node_id first{*nodes_of(could, *there).begin()};
        could.release(*there);
        if (d.required_level < near.node_level() && near.domain_of(first, 0).is_none()) continue;
        CHECK(together(l));
      }
    }
  });
}

TEST_CASE("topology_inventory: copies do not share their workspace") {
  inventory in = fabric(2, 2);
  REQUIRE(in.place(gang(1, 0)));
  inventory copy = in;
  REQUIRE(copy.place(gang(3, 0)));
  CHECK(copy.used() == gpus(32));
  CHECK(in.used() == gpus(8));
  REQUIRE(in.place(gang(4, 0)));
  in = copy;
  CHECK(in.place(gang(4, 0)).has_value());
  CHECK_FALSE(in.place(gang(1, 0)));
  const inventory moved = std::move(in);
  CHECK(moved.why_not(gang(1, 0)).reason == obstacle::full);
}

TEST_CASE("topology_inventory: placing the same few shapes does not allocate") {
  inventory in = fabric(4, 4);
  const auto work = [&] {
    const auto a = in.place(gang(3, 0)).value();
    const auto b = in.place(gang(2, 1)).value();
    in.release(a);
    static_cast<void>(in.why_not(gang(9, 0)));
    static_cast<void>(in.could_ever_fit(gang(8, 0)));
    in.release(b);
  };
  work();
  CHECK(allot_test::allocations_in(work) == 0);
}
