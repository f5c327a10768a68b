// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/detail/ends_by_group.hpp>

#include <doctest/doctest.h>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

using allot::instant;
using allot::gpu::ends_by_group;
using allot::gpu::node_id;
using allot_test::random_source;

TEST_CASE("ends_by_group: every node is in one group at most, and the first and the latest are found") {
  allot_test::for_each_seed(20, [](random_source& random) {
    const std::size_t nodes = 1 + random.below(random.one_in(3) ? 3 : 300);
    ends_by_group ends;
    ends.reset(4, nodes);
    std::array<std::map<std::size_t, instant>, 4> model;
    for (int step = 0; step < 2000; ++step) {
      const std::size_t n = random.below(nodes);
      for (auto& group : model) group.erase(n);
      if (random.one_in(3)) {
        ends.erase(node_id{n});
      } else {
        const std::size_t group = random.below(4);
        const instant end = random.one_in(8) ? allot::without_end : random.between(-5, 30);
        ends.insert(node_id{n}, group, end);
        model[group][n] = end;
        REQUIRE(ends.end(node_id{n}) == end);
      }
      const std::size_t group = random.below(4);
      std::optional<instant> latest;
      for (const auto& [node, end] : model[group]) latest = std::max(latest.value_or(end), end);
      REQUIRE(ends.latest(group) == latest);
      const std::size_t lowest = random.one_in(2) ? 0 : random.below(nodes + 2);
      const instant at_least = random.between(-6, 31);
      std::optional<node_id> first;
      for (const auto& [node, end] : model[group]) {
        if (!first && node >= lowest && end >= at_least) first = node_id{node};
      }
      REQUIRE(ends.first(group, lowest, at_least) == first);
    }
    ends.reset(4, nodes);
    REQUIRE(ends.latest(0) == std::nullopt);
  });
}

TEST_CASE("ends_by_group: allocates only to have room for more") {
  ends_by_group ends;
  ends.reset(7, 100);
  const std::size_t allocations = allot_test::allocations_in([&] {
    for (std::size_t i = 0; i < 1000; ++i) {
      ends.insert(node_id{i % 100}, i % 7, static_cast<instant>(i * i % 13));
      if (i % 3 == 0) ends.erase(node_id{i % 50});
    }
    ends.reset(5, 80);
  });
  CHECK(allocations == 0);
  CHECK(ends.nodes() == 80);
  CHECK(ends.groups() == 5);
  CHECK_THROWS_AS(ends.insert(node_id{80}, 0, 0), allot_test::assertion_failed);
  CHECK_THROWS_AS(ends.insert(node_id{0}, 5, 0), allot_test::assertion_failed);
  CHECK_THROWS_AS(ends.erase(node_id{80}), allot_test::assertion_failed);
}
