// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/pod_kinds.hpp>

#include <doctest/doctest.h>
#include <allot/gpu/free_index.hpp>

#include <cstdint>
#include <vector>

namespace gpu = allot::gpu;
using gpu::node_id;
using gpu::placed_pod;
using gpu::pod_kinds;

TEST_CASE("pod_kinds: pods that share devices, and pods of as many whole GPUs") {
  CHECK(pod_kinds::of(0, 1000) == 0);
  CHECK(pod_kinds::of(1, 999) == 1);
  CHECK(pod_kinds::of(3, 500) == 1);
  CHECK(pod_kinds::of(1, 1000) == 0b10);
  CHECK(pod_kinds::of(4, 1000) == 0b1'0000);
  CHECK(pod_kinds::of(62, 1000) == std::uint64_t{1} << 62U);
  CHECK(pod_kinds::of(64, 1000) == std::uint64_t{1} << 63U);
}

TEST_CASE("pod_kinds: follow the pods") {
  gpu::free_index index{
      gpu::build_cluster({{.name = "n", .count = 2, .gpus = 8}, {.name = "big", .gpus = 64}}).value()};
  const placed_pod pods[] = {
      {{node_id{1}, 0b11}},              // two GPUs
      {{node_id{1}, 0b100}},             // one
      {{node_id{1}, 0b1000}, 400},       // shared
      {{node_id{1}, 0b1000}, 600},       // shared, and full
      {{node_id{1}, 0b11'0000}},         // two again
      {{node_id{2}, ~std::uint64_t{0}}}  // all 64
  };
  const pod_kinds::set after[] = {0b100, 0b110, 0b111, 0b111, 0b111};
  for (int i = 0; i < 5; ++i) {
    index.occupy(pods[i]);
    CHECK(index.kinds(node_id{1}) == after[i]);
  }
  CHECK(index.kinds(node_id{0}) == 0);
  index.occupy(pods[5]);
  CHECK(index.kinds(node_id{2}) == std::uint64_t{1} << 63U);
  index.leave(pods[0]);
  CHECK(index.kinds(node_id{1}) == 0b111);
  index.leave(pods[4]);
  CHECK(index.kinds(node_id{1}) == 0b011);
  index.leave(pods[3]);
  CHECK(index.kinds(node_id{1}) == 0b011);
  index.leave(pods[2]);
  index.leave(pods[1]);
  CHECK(index.kinds(node_id{1}) == 0);
}
