// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/gpu_clustering.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

namespace gpu = allot::gpu;
using gpu::clustering_score;
using gpu::node_id;
using gpu::pod_location;

TEST_CASE("clustering_score: the same kind only, among others, no pod at all, other kinds only") {
  gpu::free_index index{allot_test::equal_nodes(1, 8)};
  const clustering_score score;
  const node_id n{0};
  CHECK(score(index, n, {1}) == 25);
  CHECK(score(index, n, {1, 500}) == 25);
  index.occupy({{n, 0b1}});
  // An eighth of 25 is 3.125.
  CHECK(score(index, n, {1}) == 78);
  CHECK(score(index, n, {2}) == 3);
  CHECK(score(index, n, {1, 500}) == 3);
  index.occupy({{n, 0b110}});
  CHECK(score(index, n, {1}) == 59);
  CHECK(score(index, n, {2}) == 59);
  CHECK(score(index, n, {3}) == 9);
  index.occupy({{n, 0b1000}, 500});
  CHECK(score(index, n, {1, 100}) == 60);
  CHECK(score(index, n, {0}) == 0);
}

TEST_CASE("clustering_score: eight GPUs are the whole, so a small node counts as used") {
  gpu::free_index small{allot_test::equal_nodes(1, 2)};
  CHECK(clustering_score{}(small, node_id{0}, {1}) == 43);
  gpu::free_index large{allot_test::equal_nodes(1, 64)};
  CHECK(clustering_score{}(large, node_id{0}, {1}) == -150);
}

TEST_CASE("gpu_clustering: like to like") {
  gpu::free_index index{allot_test::equal_nodes(4, 8)};
  const gpu::gpu_clustering choose;
  index.occupy({{node_id{1}, 0b11}});
  index.occupy({{node_id{2}, 0b1}, 500});
  CHECK(choose(index, {2}) == pod_location{node_id{1}, 0b1100});
  CHECK(choose(index, {1, 600}) == pod_location{node_id{2}, 0b10});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{2}, 0b1});
  CHECK(choose(index, {1}) == pod_location{node_id{0}, 0b1});
}
