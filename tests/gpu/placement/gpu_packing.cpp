// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/gpu_packing.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::packing_score;
using gpu::pod_location;

TEST_CASE("packing_score: shared devices, then free ones of a used node, then an unused node") {
  gpu::free_index index{allot_test::equal_nodes(2, 8)};
  const packing_score score;
  const node_id n{0};
  CHECK(score(index, n, {2}) == 25);
  CHECK(score(index, n, {1, 500}) == 25);
  index.occupy({{n, 0b1}, 300});
  // 70 percent of the device are free.
  CHECK(score(index, n, {1, 500}) == 93);
  CHECK(score(index, n, {1, 701}) == 49);
  CHECK(score(index, n, {3}) == 47);
  CHECK(score(index, n, {7}) == 43);
  index.occupy({{n, 0b1}, 655});
  // 4.5 percent, and a tenth of that rounds to nothing.
  CHECK(score(index, n, {1, 45}) == 100);
  // Two devices: 95 and 100 percent would be a free one.
  index.occupy({{n, 0b10}, 50});
  CHECK(score(index, n, {1, 500}) == 91);
  CHECK(score(index, n, {2, 45}) == 91);
  CHECK(score(index, n, {2, 500}) == 49);
  CHECK(score(index, n, {0}) == 0);
  CHECK(score(index, node_id{1}, {0}) == 0);
}

TEST_CASE("packing_score: the bounds of large nodes") {
  gpu::free_index index{allot_test::equal_nodes(1, 64)};
  const packing_score score;
  CHECK(score(index, node_id{0}, {1}) == 64);
  index.occupy({{node_id{0}, 0b1}});
  CHECK(score(index, node_id{0}, {40}) == 33);
  for (std::uint64_t d = 1; d < 60; ++d) index.occupy({{node_id{0}, std::uint64_t{1} << d}, 1});
  CHECK(score(index, node_id{0}, {59, 500}) == 50);
}

TEST_CASE("gpu_packing: it opens a node only when it must") {
  gpu::free_index index{allot_test::equal_nodes(3, 4)};
  const gpu::gpu_packing choose;
  index.occupy({{node_id{1}, 0b1}});
  index.occupy({{node_id{2}, 0b1}, 500});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{2}, 0b1});
  CHECK(choose(index, {1, 501}) == pod_location{node_id{1}, 0b10});
  CHECK(choose(index, {3}) == pod_location{node_id{1}, 0b1110});
  CHECK(choose(index, {4}) == pod_location{node_id{0}, 0b1111});
}
