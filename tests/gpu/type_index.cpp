// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/type_index.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::node_id;

TEST_CASE("type_index: the node with the fewest free GPUs that suffice, agrees with a scan") {
  allot_test::for_each_seed(60, [](allot_test::random_source& random) {
    const gpu::cluster layout = allot_test::equal_nodes(random.between(1, 90), 8);
    const gpu::node_type& type = layout.types()[0];
    gpu::type_index index{type};
    std::vector<std::uint32_t> free(type.nodes.size(), 8);
    for (int i = 0; i < 100; ++i) {
      const std::size_t rank = random.below(free.size());
      index.erase(rank, free[rank]);
      free[rank] = static_cast<std::uint32_t>(random.below(9));
      index.insert(rank, free[rank]);
      const auto at_least = static_cast<std::uint32_t>(random.below(10));
      const std::size_t divisor = 1 + random.below(3);
      const auto is_good = [&](node_id n) { return n.index() % divisor == 0; };
      std::optional<std::pair<std::uint32_t, node_id>> expected;
      std::size_t count = 0;
      for (std::size_t r = 0; r < free.size(); ++r) {
        const std::pair here{free[r], type.nodes[r]};
        if (free[r] == at_least) ++count;
        if (free[r] >= at_least && is_good(here.second) && (!expected || here < *expected)) expected = here;
      }
      REQUIRE(index.fewest_free(type, at_least, is_good) == expected);
      REQUIRE((at_least > 8 ? 0 : index.nodes_with_free[at_least]) == count);
    }
  });
}
