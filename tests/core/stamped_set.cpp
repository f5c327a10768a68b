// SPDX-License-Identifier: BSL-1.0
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>

#include "tests/support/seeds.hpp"

using allot::quota_id;
using allot::stamped_set;

TEST_CASE("stamped_set: it holds what a std::set holds, however often it is emptied") {
  allot_test::for_each_seed(20, [](allot_test::random_source& random) {
    stamped_set<quota_id> fast;
    std::set<std::size_t> slow;
    for (int i = 0; i < 500; ++i) {
      const std::size_t x = random.below(20);
      if (random.one_in(20)) {
        fast.clear();
        slow.clear();
      } else if (random.one_in(3)) {
        fast.erase(quota_id{x});
        slow.erase(x);
      } else {
        fast.insert(quota_id{x});
        slow.insert(x);
      }
      const std::size_t asked = random.below(25);
      REQUIRE(fast.contains(quota_id{asked}) == (slow.count(asked) == 1));
    }
  });
}
