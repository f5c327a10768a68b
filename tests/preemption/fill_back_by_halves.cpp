// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/fill_back_by_halves.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/seeds.hpp"

using allot_test::random_source;

namespace {

/// A set is good when enough of each of a few kinds is released; a larger set is good as well.
struct heap_of_things {
  std::vector<std::vector<std::int64_t>> worth;
  std::vector<std::int64_t> enough;
  std::vector<bool> gone;
  std::size_t asked = 0;

  bool good() {
    ++asked;
    for (std::size_t k = 0; k < enough.size(); ++k) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < gone.size(); ++i) sum += gone[i] ? worth[k][i] : 0;
      if (sum < enough[k]) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("fill_back_by_halves: equals giving back one by one, last first") {
  allot_test::for_each_seed(5000, [](random_source& random) {
    heap_of_things h;
    const std::size_t n = random.below(40);
    h.gone.assign(n, true);
    for (std::size_t k = 0, kinds = 1 + random.below(3); k < kinds; ++k) {
      std::int64_t all = 0;
      h.worth.emplace_back();
      for (std::size_t i = 0; i < n; ++i) {
        h.worth[k].push_back(random.between(0, 3));
        all += h.worth[k][i];
      }
      h.enough.push_back(random.between(0, all));
    }
    heap_of_things one_by_one = h;
    for (std::size_t i = n; i-- > 0;) {
      one_by_one.gone[i] = false;
      if (!one_by_one.good()) one_by_one.gone[i] = true;
    }
    h.asked = 0;
    allot::detail::fill_back_by_halves(
        0, n,
        [&](std::size_t i) {
          CHECK(h.gone[i]);
          h.gone[i] = false;
        },
        [&](std::size_t i) {
          CHECK_FALSE(h.gone[i]);
          h.gone[i] = true;
        },
        [&] { return h.good(); });
    CHECK(h.gone == one_by_one.gone);
  });
}

TEST_CASE("fill_back_by_halves: few tests when few of many are needed") {
  heap_of_things h;
  h.gone.assign(1024, true);
  h.worth.emplace_back(1024, 0);
  h.worth[0][17] = h.worth[0][800] = h.worth[0][801] = 1;
  h.enough = {3};
  allot::detail::fill_back_by_halves(
      0, 1024, [&](std::size_t i) { h.gone[i] = false; }, [&](std::size_t i) { h.gone[i] = true; },
      [&] { return h.good(); });
  CHECK(std::count(h.gone.begin(), h.gone.end(), true) == 3);
  CHECK(h.asked < 3 * 2 * 11);
}
