// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/first_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::pod_location;

TEST_CASE("first_fit: the lowest node with room, whatever else is there") {
  gpu::free_index index{allot_test::equal_nodes(3, 4)};
  const gpu::first_fit choose;
  index.occupy({{node_id{0}, 0b11}});
  index.occupy({{node_id{2}, 0b1}, 500});
  CHECK(choose(index, {2}) == pod_location{node_id{0}, 0b1100});
  CHECK(choose(index, {3}) == pod_location{node_id{1}, 0b111});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{0}, 0b100});
  index.close(node_id{0});
  CHECK(choose(index, {2}) == pod_location{node_id{1}, 0b11});
  index.close(node_id{1});
  CHECK_FALSE(choose(index, {4}));
  CHECK(choose(index, {0}) == pod_location{node_id{2}, 0});
}
