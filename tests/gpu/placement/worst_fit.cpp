// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/worst_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::pod_location;
using gpu::worst_fit;

TEST_CASE("worst_fit: the node of which most is free, then the lowest") {
  gpu::free_index index{allot_test::equal_nodes(3, 4)};
  const worst_fit choose;
  CHECK(choose(index, {2}) == pod_location{node_id{0}, 0b11});
  index.occupy({{node_id{0}, 0b1}, 100});
  CHECK(choose(index, {2}) == pod_location{node_id{1}, 0b11});
  index.occupy({{node_id{1}, 0b1}});
  index.occupy({{node_id{2}, 0b1}, 500});
  // 3.9, 3 and 3.5 GPUs are free.
  CHECK(choose(index, {0})->node == node_id{0});
  CHECK(choose(index, {3}) == pod_location{node_id{0}, 0b1110});
  CHECK_FALSE(choose(index, {4}));
}

TEST_CASE("worst_fit: a fraction has the device of which most is free, one without a wait first") {
  gpu::free_index index{allot_test::equal_nodes(1, 4)};
  const worst_fit choose;
  index.occupy({{node_id{0}, 0b1}, 100});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{0}, 0b10});
  index.hold({{node_id{0}, 0b10}});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{0}, 0b100});
  CHECK(choose(index, {3, 500}) == pod_location{node_id{0}, 0b1110});
  CHECK(choose(index, {4, 500}) == pod_location{node_id{0}, 0b1111});
  index.occupy({{node_id{0}, 0b1110}});
  CHECK(choose(index, {1, 900}) == pod_location{node_id{0}, 0b1});
  CHECK_FALSE(choose(index, {1, 901}));
}
