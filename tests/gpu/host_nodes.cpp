// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/host_nodes.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/lifetime_alignment.hpp>

#include <doctest/doctest.h>

namespace gpu = allot::gpu;
using allot::gpus;
using gpu::node_id;

TEST_CASE("host_nodes: what a host may change in an inventory") {
  gpu::basic_inventory<gpu::lifetime_alignment> i{
      gpu::build_cluster({{.name = "n", .count = 2, .gpus = 4}}).value()};
  gpu::host_nodes nodes{i};
  const auto at = i.place({.gpus = gpus(4)});
  REQUIRE(at);
  CHECK(nodes.close(node_id{1}));
  CHECK(i.is_closed(node_id{1}));
  CHECK_FALSE(i.could_place({.gpus = gpus(1)}));
  CHECK(nodes.reopen(node_id{1}));
  CHECK(i.could_place({.gpus = gpus(1)}));
  CHECK_FALSE(nodes.close(node_id{2}));
  CHECK_FALSE(nodes.reopen(node_id{2}));
  CHECK(nodes.expect_end(*at, 70));
  CHECK(i.pods(*at).begin()->end == 70);
  i.release(*at);
  CHECK_FALSE(nodes.expect_end(*at, 80));
}
