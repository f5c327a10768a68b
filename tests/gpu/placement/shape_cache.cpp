// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/detail/shape_cache.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::free_index;
using gpu::node_id;

namespace {

/// Node values, as they were given.
struct values {
  std::vector<std::int64_t> of_node;

  template <class Value>
  void assign(std::size_t nodes, Value value) {
    of_node.clear();
    for (std::size_t n = 0; n < nodes; ++n) of_node.push_back(value(n));
  }
  void set(std::size_t n, std::int64_t value) { of_node[n] = value; }
};

gpu::pod_shape shape(std::uint32_t devices) {
  gpu::pod_shape pod;
  pod.devices = devices;
  return pod;
}

/// Returns the free GPUs of a node times the devices of the shape, and counts how many nodes were evaluated.
struct reader {
  gpu::shape_cache<values> cache;
  std::size_t looks = 0;

  const std::vector<std::int64_t>& operator()(const free_index& from, std::uint32_t devices) {
    looks = 0;
    return cache
        .look(from, shape(devices),
              [&](node_id n) {
                ++looks;
                return std::int64_t{from.devices().free_count(n)} * devices;
              })
        .of_node;
  }
};

}  // namespace

TEST_CASE("shape_cache: values are always current") {
  allot_test::for_each_seed(60, [](allot_test::random_source& random) {
    free_index first{allot_test::equal_nodes(random.between(1, 20), 8)};
    free_index second{allot_test::equal_nodes(random.between(1, 20), 8)};
    reader read{gpu::shape_cache<values>{1 + random.below(3)}, 0};
    for (int i = 0; i < 200; ++i) {
      free_index& index = random.one_in(8) ? second : first;
      if (random.one_in(20)) index = free_index{index};
      for (std::size_t changes = random.below(4); changes > 0; --changes) {
        const node_id n{random.below(index.layout().size())};
        if (const std::uint64_t free = index.free_devices(n); free != 0 && random.one_in(2)) {
          index.occupy({{n, free & (~free + 1)}});
        } else if (free != 0xFF) {
          const std::uint64_t used = 0xFF & ~free;
          index.leave({{n, used & (~used + 1)}});
        }
      }
      const auto devices = static_cast<std::uint32_t>(random.between(1, 4));
      const std::vector<std::int64_t>& now = read(index, devices);
      REQUIRE(now.size() == index.layout().size());
      for (std::size_t n = 0; n < now.size(); ++n) {
        REQUIRE(now[n] == std::int64_t{index.devices().free_count(node_id{n})} * devices);
      }
      REQUIRE(read.cache.size() <= read.cache.most_shapes());
    }
  });
}

TEST_CASE("shape_cache: looks at all nodes once, then at those that changed") {
  free_index index{allot_test::equal_nodes(100, 8)};
  reader read{gpu::shape_cache<values>{2}, 0};
  read(index, 1);
  CHECK(read.looks == 100);
  read(index, 1);
  CHECK(read.looks == 0);
  index.occupy({{node_id{7}, 1}});
  index.leave({{node_id{7}, 1}});
  read(index, 1);
  CHECK(read.looks == 0);  // It was undone right away.
  index.occupy({{node_id{7}, 1}});
  index.occupy({{node_id{9}, 1}});
  read(index, 1);
  CHECK(read.looks == 2);
  read(index, 2);
  CHECK(read.looks == 100);

  SUBCASE("the least recently used shape is dropped") {
    read(index, 1);
    read(index, 3);
    CHECK(read.cache.size() == 2);
    read(index, 1);
    CHECK(read.looks == 0);
    read(index, 2);
    CHECK(read.looks == 100);
  }
  SUBCASE("a copy is empty, and dropped shapes are recomputed") {
    reader copy = read;
    CHECK(copy.cache.size() == 0);
    copy(index, 1);
    CHECK(copy.looks == 100);
    read.cache.forget();
    read(index, 1);
    CHECK(read.looks == 100);
  }
}
