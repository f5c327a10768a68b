// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using allot::gpus;
using allot::sim::places;

static_assert(allot::placement<places>);

TEST_CASE("places: without nodes everything can stand, and nothing is remembered") {
  places p;
  CHECK_FALSE(p.has_nodes());
  const auto before = p.save();
  const auto at = p.place({.gpus = gpus(1'000'000), .pods = 7});
  REQUIRE(at.has_value());
  CHECK(p.could_ever_fit({.gpus = gpus(1'000'000)}));
  CHECK(p.ready(*at));
  p.vacate(*at);
  p.reoccupy(*at);
  p.release(*at);
  p.rollback(before);
  p.commit(p.save());
}

TEST_CASE("places: with nodes it is their inventory that answers") {
  places p{allot::gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value()};
  REQUIRE(p.has_nodes());
  CHECK_FALSE(p.could_ever_fit({.gpus = gpus(9)}));
  const auto first = p.place({.gpus = gpus(8)});
  const auto before = p.save();
  const auto second = p.place({.gpus = gpus(8)});
  REQUIRE(second.has_value());
  CHECK_FALSE(p.place({.gpus = gpus(1)}).has_value());
  CHECK(p.why_not({.gpus = gpus(1)}) == p.inventory().why_not({.gpus = gpus(1)}));
  p.rollback(before);
  CHECK(p.inventory().free() == gpus(8));
  p.vacate(*first);
  CHECK(p.inventory().free() == gpus(16));
  const auto third = p.place({.gpus = gpus(16), .total = true});
  REQUIRE(third.has_value());
  CHECK_FALSE(p.ready(*third));
  p.release(*first);
  CHECK(p.ready(*third));
}

TEST_CASE("places: its inventory places as the policy says that it was made with") {
  namespace gpu = allot::gpu;
  const gpu::cluster nodes = gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}}).value();
  const auto node_of_second = [&](gpu::placement_name name) {
    places p{nodes, {name, nodes}};
    static_cast<void>(p.place({.gpus = gpus(1)}));
    std::size_t node = 99;
    p.for_each_node(*p.place({.gpus = gpus(1)}), [&](std::size_t n) { node = n; });
    return node;
  };
  CHECK(node_of_second(gpu::placement_name::best) == 0);
  CHECK(node_of_second(gpu::placement_name::worst) == 1);
}
