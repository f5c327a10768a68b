// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/free_index.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpu = allot::gpu;
using allot::gpus;
using allot::quantity;
using gpu::free_index;
using gpu::node_id;
using gpu::placed_pod;

namespace {

placed_pod pod(std::size_t node, std::uint64_t devices, std::uint32_t milli = 1000) {
  return {{node_id{node}, devices}, milli};
}

/// The indexes of one node type, checked by a look at every device.
void check_against_scan(const free_index& index, std::size_t type) {
  using candidate = free_index::candidate;
  const gpu::node_type& t = index.layout().types()[type];
  std::vector<candidate> by_free;
  std::vector<candidate> by_gap;
  for (const node_id n : t.nodes) {
    std::uint32_t free = 0;
    for (std::uint32_t d = 0; d < t.gpus; ++d) {
      const auto used = static_cast<std::uint32_t>(index.used(n, d).in_milli());
      const bool is_free = (index.free_devices(n) >> d & 1U) != 0;
      REQUIRE(is_free == (used == 0));
      if (used == 0) ++free;
      if (used != 0 && used != 1000) by_gap.push_back({1000 - used, n});
    }
    REQUIRE((t.gpus == 64 ? 0 : index.free_devices(n) >> t.gpus) == 0);
    if (index.is_closed(n)) {
      by_gap.erase(
          std::remove_if(by_gap.begin(), by_gap.end(), [n](const candidate& c) { return c.node == n; }),
          by_gap.end());
    } else {
      by_free.push_back({free, n});
    }
  }
  const auto first = [](const std::vector<candidate>& all, std::uint32_t at_least) {
    std::optional<candidate> best;
    for (const candidate& c : all) {
      if (c.level >= at_least && (!best || c < *best)) best = c;
    }
    return best;
  };
  const auto count = [](const std::vector<candidate>& all, std::uint32_t level) {
    return static_cast<std::uint64_t>(
        std::count_if(all.begin(), all.end(), [level](const candidate& c) { return c.level == level; }));
  };
  for (std::uint32_t g = 0; g <= t.gpus + 1; ++g) {
    REQUIRE(index.fewest_free(type, g) == first(by_free, g));
    REQUIRE(index.nodes_with_free(type, g) == count(by_free, g));
  }
  for (std::uint32_t gap = 1; gap < 1000; gap += 7) {
    REQUIRE(index.smallest_gap(type, gap) == first(by_gap, gap));
    REQUIRE(index.devices_with_gap(type, gap) == count(by_gap, gap));
  }
  for (const candidate& c : by_gap) {
    REQUIRE(index.smallest_gap(type, c.level) == first(by_gap, c.level));
    REQUIRE(index.devices_with_gap(type, c.level) == count(by_gap, c.level));
  }
}

/// A pod that fits somewhere, on devices chosen without any rule.
std::optional<placed_pod> random_pod(allot_test::random_source& random, const free_index& index) {
  const node_id n{random.below(index.layout().size())};
  const std::uint32_t count = index.layout().gpus(n);
  gpu::pod_shape shape;
  shape.cpu_milli = random.one_in(2) ? random.between(0, 5000) : 0;
  shape.memory_mib = random.one_in(2) ? random.between(0, 1000) : 0;
  std::uint64_t devices = index.free_devices(n) & random();
  if (count > 0 && random.one_in(2)) {
    shape.milli =
        static_cast<std::uint32_t>(random.one_in(3) ? random.between(1, 999) : 125 * random.between(1, 7));
    devices = std::uint64_t{1} << random.below(count);
    if (random.one_in(3)) devices |= std::uint64_t{1} << random.below(count);
  }
  shape.devices = static_cast<std::uint32_t>(std::popcount(devices));
  if (!index.fits({n, devices}, shape)) return std::nullopt;
  return index.placed({n, devices}, shape);
}

}  // namespace

TEST_CASE("free_index: indexes agree with a scan, and every change has an exact inverse") {
  allot_test::for_each_seed(60, [](allot_test::random_source& random) {
    free_index index{allot_test::random_cluster(random)};
    struct step {
      enum class kind : std::uint8_t { occupied, held, closed, opened } what;
      placed_pod pod;
      free_index before;
    };
    using kind = step::kind;
    std::vector<step> done;
    for (int i = 0; i < 60; ++i) {
      const auto p = random_pod(random, index);
      if (random.one_in(8)) {
        const node_id n{random.below(index.layout().size())};
        done.push_back({index.is_closed(n) ? kind::opened : kind::closed, {{n}}, index});
        index.is_closed(n) ? index.open(n) : index.close(n);
      } else if (p && !random.one_in(3)) {
        done.push_back({random.one_in(4) ? kind::held : kind::occupied, *p, index});
        done.back().what == kind::held ? index.hold(*p) : index.occupy(*p);
      } else if (!done.empty()) {
        const step& last = done.back();
        if (last.what == kind::occupied) index.leave(last.pod);
        if (last.what == kind::held) index.let_go(last.pod);
        if (last.what == kind::closed) index.open(last.pod.where.node);
        if (last.what == kind::opened) index.close(last.pod.where.node);
        REQUIRE(index == last.before);
        done.pop_back();
      }
      for (std::size_t t = 0; t < index.layout().types().size(); ++t) check_against_scan(index, t);
    }
  });
}

TEST_CASE("free_index: which devices a pod would have on a node") {
  free_index index{allot_test::equal_nodes(1, 8)};
  const node_id n{0};
  CHECK(index.choose_devices(n, {0}) == 0U);
  CHECK(index.choose_devices(n, {3}) == 0b111U);
  CHECK(index.choose_devices(n, {8}) == 0xFFU);
  CHECK_FALSE(index.choose_devices(n, {9}));

  SUBCASE("whole GPUs: devices that are not held come first") {
    index.occupy(pod(0, 0b10));
    index.hold(pod(0, 0b1001));
    CHECK(index.choose_devices(n, {2}) == 0b10100U);
    CHECK(index.choose_devices(n, {5}) == 0b11110100U);
    CHECK(index.choose_devices(n, {6}) == 0b11110101U);
    CHECK(index.choose_devices(n, {7}) == 0b11111101U);
  }
  SUBCASE("a fraction: the smallest gap that suffices, else a free device") {
    index.occupy(pod(0, 0b001, 500));
    index.occupy(pod(0, 0b010, 700));
    index.occupy(pod(0, 0b100, 500));
    CHECK(index.choose_devices(n, {1, 300}) == 0b010U);
    CHECK(index.choose_devices(n, {1, 301}) == 0b001U);
    CHECK(index.choose_devices(n, {1, 501}) == 0b1000U);
    // Of two equal gaps, the one in which it can start at once.
    index.hold(pod(0, 0b001, 400));
    CHECK(index.choose_devices(n, {1, 400}) == 0b100U);
    // It is no worse if it fits beside what is held.
    CHECK(index.choose_devices(n, {1, 301}) == 0b100U);
    index.let_go(pod(0, 0b001, 400));
    index.hold(pod(0, 0b001, 100));
    CHECK(index.choose_devices(n, {1, 400}) == 0b001U);
  }
  SUBCASE("an unused device for a fraction: one that is not held") {
    index.hold(pod(0, 0b1));
    CHECK(index.choose_devices(n, {1, 300}) == 0b10U);
  }
}

TEST_CASE("free_index: a shared device is neither free nor full") {
  free_index index{allot_test::equal_nodes(1, 2)};
  index.occupy(pod(0, 0b1, 1));
  CHECK(index.free_devices(node_id{0}) == 0b10);
  CHECK_FALSE(index.fits({node_id{0}, 0b11}, {2}));
  CHECK_FALSE(index.fits({node_id{0}, 0b01}, {1}));
  CHECK(index.fits({node_id{0}, 0b01}, {1, 999}));
  CHECK(index.used_in(gpu::all_pools) == quantity::milli(1));
  CHECK(index.free_in(gpu::all_pools) == quantity::milli(1999));
  index.occupy(pod(0, 0b1, 999));
  CHECK_FALSE(index.fits({node_id{0}, 0b01}, {1, 1}));
  CHECK(index.used(node_id{0}, 0) == gpus(1));
  CHECK(index.used(node_id{0}) == gpus(1));
  CHECK_FALSE(index.smallest_gap(0, 1));
}

TEST_CASE("free_index: a closed node is in no index, and reopens in its current state") {
  free_index index{allot_test::equal_nodes(2, 2)};
  index.occupy(pod(0, 0b1, 300));
  index.occupy(pod(1, 0b11));
  const free_index before = index;
  index.close(node_id{0});
  CHECK_FALSE(index.fewest_free(0, 1));
  CHECK_FALSE(index.smallest_gap(0, 1));
  CHECK(index.nodes_with_free(0, 1) == 0);
  CHECK(index.devices_with_gap(0, 700) == 0);
  CHECK(index.free_in(gpu::all_pools) == quantity{});
  CHECK(index.closed_in(gpu::all_pools) == quantity::milli(1700));
  CHECK_THROWS_AS(index.close(node_id{0}), allot_test::assertion_failed);
  // It changes while it is closed.
  index.occupy(pod(0, 0b10));
  index.leave(pod(0, 0b1, 300));
  CHECK(index.closed_in(gpu::all_pools) == gpus(1));
  index.open(node_id{0});
  CHECK(index.fewest_free(0, 1)->node == node_id{0});
  CHECK_FALSE(index.smallest_gap(0, 1));
  index.leave(pod(0, 0b10));
  index.occupy(pod(0, 0b1, 300));
  CHECK(index == before);
}

TEST_CASE("free_index: devices that a node does not have") {
  const free_index index{allot_test::equal_nodes(2, 2)};
  CHECK(index.fits({node_id{0}, 0b11}, {2}));
  CHECK_FALSE(index.fits({node_id{0}, 0b100}, {1}));
  CHECK_FALSE(index.fits({node_id{0}, 0b100}, {1, 500}));
  CHECK_FALSE(index.fits({node_id{0}, 0b1}, {2}));
  CHECK_FALSE(index.fits({node_id{2}, 0b1}, {1}));
  CHECK_FALSE(index.fits({node_id{}, 0b1}, {1}));
  CHECK_THROWS_AS(static_cast<void>(index.used(node_id{0}, 2)), allot_test::assertion_failed);

  const free_index widest{allot_test::equal_nodes(1, 64)};
  CHECK(widest.fits({node_id{0}, ~std::uint64_t{0}}, {64}));
  CHECK(widest.choose_devices(node_id{0}, {64}) == ~std::uint64_t{0});
}

TEST_CASE("free_index: a pod is ready when its devices have room for all that use or hold them") {
  free_index index{allot_test::equal_nodes(1, 2)};
  const placed_pod first = pod(0, 0b1, 600);
  index.hold(first);
  const placed_pod beside = pod(0, 0b1, 400);
  index.occupy(beside);
  CHECK(index.is_ready(beside));
  const placed_pod more = pod(0, 0b1, 1);
  index.occupy(more);
  CHECK_FALSE(index.is_ready(more));
  CHECK(index.is_ready(pod(0, 0b10)));
  index.let_go(first);
  CHECK(index.is_ready(more));
  CHECK(index.held_in(gpu::all_pools) == quantity{});
}

TEST_CASE("free_index: broken preconditions are detected") {
  free_index index{allot_test::equal_nodes(1, 2)};
  index.occupy(pod(0, 0b1));
  CHECK_THROWS_AS(index.occupy(pod(0, 0b1)), allot_test::assertion_failed);
  CHECK_THROWS_AS(index.leave(pod(0, 0b10)), allot_test::assertion_failed);
  CHECK_THROWS_AS(index.let_go(pod(0, 0b10)), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(index.free_devices(node_id{1})), allot_test::assertion_failed);
}

TEST_CASE("free_index: no query and no change allocates") {
  free_index index{allot_test::equal_nodes(100, 8)};
  const std::size_t allocations = allot_test::allocations_in([&] {
    for (std::uint32_t i = 0; i < 100; ++i) {
      index.occupy(pod(i, 0b1, 1 + i));
      index.occupy(pod(i, 0b110));
      index.hold(pod(i, 0b110));
    }
    for (std::uint32_t i = 0; i < 100; ++i) {
      index.leave(pod(i, 0b1, 1 + i));
      static_cast<void>(index.smallest_gap(0, i));
      static_cast<void>(index.choose_devices(node_id{i}, {1, 10}));
    }
  });
  CHECK(allocations == 0);
}
