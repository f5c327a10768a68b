// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/best_fit.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::best_fit;
using gpu::free_index;
using gpu::node_id;
using gpu::pod_location;
using gpu::pod_shape;

namespace {

/// This many whole GPUs used, node by node, the lowest devices first.
free_index with_used(gpu::cluster layout, const std::vector<std::uint32_t>& used) {
  free_index index{std::move(layout)};
  for (std::size_t n = 0; n < used.size(); ++n) {
    index.occupy({{node_id{n}, (std::uint64_t{1} << used[n]) - 1}});
  }
  return index;
}

gpu::cluster nodes_in_pools(const std::vector<std::pair<std::int64_t, std::string>>& nodes) {
  std::vector<gpu::node_spec> specs;
  for (const auto& [gpus, pool] : nodes) {
    specs.emplace_back();
    specs.back().name = "n" + std::to_string(specs.size());
    specs.back().gpus = gpus;
    specs.back().pool = pool;
  }
  return gpu::build_cluster(specs).value();
}

void occupy(free_index& index, std::size_t node, std::uint64_t devices, std::uint32_t milli) {
  index.occupy({{node_id{node}, devices}, milli});
}

}  // namespace

TEST_CASE("best_fit: the node with the fewest free GPUs that suffice, then the lowest") {
  const free_index index = with_used(allot_test::equal_nodes(5, 8), {0, 5, 4, 5, 8});
  const best_fit choose;
  CHECK(choose(index, {1}) == pod_location{node_id{1}, 0b100000});
  CHECK(choose(index, {3}) == pod_location{node_id{1}, 0b11100000});
  CHECK(choose(index, {4}) == pod_location{node_id{2}, 0b11110000});
  CHECK(choose(index, {5}) == pod_location{node_id{0}, 0b11111});
  CHECK(choose(index, {8}) == pod_location{node_id{0}, 0xFF});
  CHECK_FALSE(choose(index, {9}));
}

TEST_CASE("best_fit: the size of a node does not matter, nor the order of the types") {
  const free_index index = with_used(nodes_in_pools({{8, ""}, {4, ""}, {8, ""}, {2, ""}}), {0, 2, 6, 0});
  const best_fit choose;
  CHECK(choose(index, {2})->node == node_id{1});
  CHECK(choose(index, {3})->node == node_id{0});
  const free_index others = with_used(nodes_in_pools({{8, ""}, {4, ""}, {8, ""}, {2, ""}}), {0, 3, 6, 0});
  CHECK(choose(others, {2})->node == node_id{2});
}

TEST_CASE("best_fit: only nodes of acceptable pools") {
  const free_index index = with_used(nodes_in_pools({{4, "a"}, {2, "b"}, {8, "c"}}), {0, 0, 0});
  const best_fit choose;
  CHECK(choose(index, {1})->node == node_id{1});
  CHECK(choose(index, {1, 1000, 0b101})->node == node_id{0});
  CHECK(choose(index, {1, 1000, 0b100})->node == node_id{2});
  CHECK(choose(index, {1, 500, 0b100})->node == node_id{2});
  CHECK_FALSE(choose(index, {4, 1000, 0b010}));
  CHECK_FALSE(choose(index, {0, 1000, 0b1000}));
}

TEST_CASE("best_fit: a pod without GPUs goes to the fullest node, then the lowest") {
  const free_index index = with_used(allot_test::equal_nodes(4, 8), {0, 7, 8, 8});
  CHECK(best_fit{}(index, {0}) == pod_location{node_id{2}, 0});
}

TEST_CASE("best_fit: a fraction fills the smallest gap that suffices") {
  free_index index{allot_test::equal_nodes(3, 4)};
  const best_fit choose;
  occupy(index, 1, 0b0010, 500);
  occupy(index, 2, 0b0001, 700);
  occupy(index, 2, 0b1000, 700);
  CHECK(choose(index, {1, 300}) == pod_location{node_id{2}, 0b0001});
  CHECK(choose(index, {1, 400}) == pod_location{node_id{1}, 0b0010});
  CHECK(choose(index, {1, 500}) == pod_location{node_id{1}, 0b0010});
  // No shared device suffices: a fresh device on the node with the fewest free.
  CHECK(choose(index, {1, 501}) == pod_location{node_id{2}, 0b0010});
  occupy(index, 0, 0b0100, 500);
  CHECK(choose(index, {1, 500}) == pod_location{node_id{0}, 0b0100});
}

TEST_CASE("best_fit: no fraction on a GPU that is used whole, no whole GPU on a shared one") {
  free_index index = with_used(allot_test::equal_nodes(2, 2), {2, 1});
  const best_fit choose;
  CHECK(choose(index, {1, 1}) == pod_location{node_id{1}, 0b10});
  occupy(index, 1, 0b10, 1);
  CHECK_FALSE(choose(index, {1}));
  CHECK(choose(index, {1, 999}) == pod_location{node_id{1}, 0b10});
  occupy(index, 1, 0b10, 999);
  CHECK_FALSE(choose(index, {1, 1}));
}

TEST_CASE("best_fit: what is held does not change the node, only the devices") {
  free_index index = with_used(allot_test::equal_nodes(2, 4), {0, 2});
  index.hold({{node_id{1}, 0b1100}});
  CHECK(best_fit{}(index, {1}) == pod_location{node_id{1}, 0b0100});
  index.let_go({{node_id{1}, 0b0100}});
  index.hold({{node_id{1}, 0b0001}});
  index.let_go({{node_id{1}, 0b0001}});
  CHECK(best_fit{}(index, {1}) == pod_location{node_id{1}, 0b0100});
  index.hold({{node_id{1}, 0b0100}});
  index.let_go({{node_id{1}, 0b1000}});
  CHECK(best_fit{}(index, {1}) == pod_location{node_id{1}, 0b1000});
}
