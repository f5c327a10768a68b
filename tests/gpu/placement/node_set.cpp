// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/detail/node_set.hpp>

#include <doctest/doctest.h>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <set>

using allot::gpu::node_set;
using allot_test::random_source;

TEST_CASE("node_set: its members, counted from below") {
  allot_test::for_each_seed(40, [](random_source& random) {
    const std::size_t nodes = 1 + random.below(300);
    std::set<std::size_t> members;
    node_set set;
    set.assign(nodes, [&](std::size_t n) {
      if (random.one_in(2)) return false;
      members.insert(n);
      return true;
    });
    for (int i = 0; i < 100; ++i) {
      const std::size_t n = random.below(nodes);
      const bool is_in = random.one_in(2);
      is_in ? static_cast<void>(members.insert(n)) : static_cast<void>(members.erase(n));
      set.set(n, is_in);
      REQUIRE(set.size() == members.size());
    }
    std::size_t k = 0;
    for (const std::size_t n : members) REQUIRE(set.nth(k++) == n);
  });
}
