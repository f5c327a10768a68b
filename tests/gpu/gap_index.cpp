// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/gap_index.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::gap_index;
using gpu::node_id;

namespace {

/// Nodes of one type, their usage, which of them are closed, and the index that follows them.
struct indexed {
  indexed(std::int64_t nodes, std::int64_t gpus)
      : layout(allot_test::equal_nodes(nodes, gpus)),
        use(layout),
        closed(layout.size()),
        index(layout.types().front()) {}

  [[nodiscard]] const gpu::node_type& type() const { return layout.types().front(); }

  void set(std::size_t n, std::uint32_t device, std::uint32_t used) {
    const std::uint32_t before = use.set_used(node_id{n}, device, used);
    if (closed[n]) return;
    if (before % 1000 != 0) erase(n, 1000 - before);
    if (used % 1000 != 0) index.insert(n, 1000 - used);
  }
  void close_or_open(std::size_t n) {
    closed[n] = !closed[n];
    for (std::uint32_t d = 0; d < type().gpus; ++d) {
      const std::uint32_t gap = use.gap(node_id{n}, d);
      if (gap % 1000 == 0) continue;
      closed[n] ? erase(n, gap) : index.insert(n, gap);
    }
  }
  void erase(std::size_t n, std::uint32_t gap) {
    index.erase(type(), use, n, gap, [this](node_id other) { return !closed[other.index()]; });
  }

  gpu::cluster layout;
  gpu::device_use use;
  std::vector<bool> closed;
  gap_index index;
};

void check_against_scan(const indexed& i, std::uint32_t at_least, std::size_t but) {
  std::optional<std::pair<std::uint32_t, std::size_t>> best;
  std::uint64_t exactly = 0;
  for (std::size_t n = 0; n < i.layout.size(); ++n) {
    if (i.closed[n]) continue;
    for (std::uint32_t d = 0; d < i.type().gpus; ++d) {
      const std::uint32_t gap = i.use.gap(node_id{n}, d);
      if (gap == 1000 || gap == 0) continue;
      if (gap == at_least) ++exactly;
      const std::pair here{gap, n};
      if (gap >= at_least && n != but && (!best || here < *best)) best = here;
    }
  }
  const auto is_good = [&](node_id n) { return !i.closed[n.index()] && n != node_id{but}; };
  const auto found = i.index.smallest(i.type(), i.use, at_least, is_good);
  REQUIRE(found.has_value() == best.has_value());
  if (best) REQUIRE(std::pair{found->gap, found->node.index()} == *best);
  REQUIRE(i.index.devices_with(at_least) == exactly);
}

}  // namespace

TEST_CASE("gap_index: the smallest gap that suffices, the lowest node") {
  indexed i{20, 2};
  i.set(17, 1, 600);
  i.set(9, 0, 600);
  i.set(3, 0, 100);
  const auto any = [](node_id) { return true; };
  CHECK(i.index.smallest(i.type(), i.use, 1, any)->gap == 400);
  CHECK(i.index.smallest(i.type(), i.use, 400, any)->node == node_id{9});
  CHECK(i.index.smallest(i.type(), i.use, 401, any)->node == node_id{3});
  CHECK_FALSE(i.index.smallest(i.type(), i.use, 901, any));
  CHECK_FALSE(i.index.smallest(i.type(), i.use, 1000, any));
  CHECK_FALSE(i.index.smallest(i.type(), i.use, 4000, any));
  CHECK(i.index.smallest(i.type(), i.use, 1, [](node_id n) { return n != node_id{9}; })->node == node_id{17});
  CHECK(i.index.devices_with(400) == 2);
  CHECK(i.index.devices_with(1000) == 0);
  CHECK(i.index.devices_with(5000) == 0);
}

TEST_CASE("gap_index: two devices with one gap, of one node, of one block and of two") {
  indexed i{9, 2};
  const auto any = [](node_id) { return true; };
  for (const auto& [n, d] : {std::pair{0U, 0U}, {0U, 1U}, {7U, 0U}, {8U, 1U}}) i.set(n, d, 300);
  i.set(0, 0, 0);
  CHECK(i.index.smallest(i.type(), i.use, 1, any)->node == node_id{0});
  i.set(0, 1, 1000);
  CHECK(i.index.smallest(i.type(), i.use, 1, any)->node == node_id{7});
  i.close_or_open(7);
  const auto is_open = [&](node_id n) { return !i.closed[n.index()]; };
  CHECK(i.index.smallest(i.type(), i.use, 1, is_open)->node == node_id{8});
  i.close_or_open(8);
  CHECK_FALSE(i.index.smallest(i.type(), i.use, 1, is_open));
  CHECK(i.index == gap_index{i.type()});
}

TEST_CASE("gap_index: agrees with a scan, and changes have exact inverses") {
  allot_test::for_each_seed(80, [](allot_test::random_source& random) {
    indexed i{random.between(1, 40), random.between(1, 8)};
    struct step {
      std::size_t node;
      std::uint32_t device;
      std::optional<std::uint32_t> used;
      gap_index before;
    };
    std::vector<step> done;
    for (int k = 0; k < 80; ++k) {
      if (!done.empty() && random.one_in(3)) {
        const step& last = done.back();
        last.used ? i.set(last.node, last.device, *last.used) : i.close_or_open(last.node);
        REQUIRE(i.index == last.before);
        done.pop_back();
      } else {
        const std::size_t n = random.below(i.layout.size());
        const auto d = static_cast<std::uint32_t>(random.below(i.type().gpus));
        if (random.one_in(6)) {
          done.push_back({n, d, std::nullopt, i.index});
          i.close_or_open(n);
        } else {
          done.push_back({n, d, i.use.used(node_id{n}, d), i.index});
          const std::int64_t used = random.one_in(2) ? 200 * random.between(0, 5) : random.between(0, 1000);
          i.set(n, d, static_cast<std::uint32_t>(used));
        }
      }
      check_against_scan(i, static_cast<std::uint32_t>(200 * random.between(1, 4)), random.below(40));
      check_against_scan(i, static_cast<std::uint32_t>(random.between(1, 999)), random.below(40));
    }
  });
}

TEST_CASE("gap_index: nothing allocates") {
  indexed i{100, 8};
  CHECK(allot_test::allocations_in([&] {
          for (std::uint32_t n = 0; n < 100; ++n) i.set(n, n % 8, n * 7);
          static_cast<void>(i.index.smallest(i.type(), i.use, 5, [](node_id) { return false; }));
          for (std::uint32_t n = 0; n < 100; ++n) i.set(n, n % 8, 0);
        }) == 0);
}
