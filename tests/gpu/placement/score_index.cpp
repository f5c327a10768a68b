// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/placement/detail/score_index.hpp>

#include <doctest/doctest.h>
#include <tests/support/seeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using allot_test::random_source;
using scores = allot::gpu::score_index<std::int8_t>;

namespace {

std::optional<std::size_t> best_by_scan(const std::vector<std::int8_t>& of) {
  const auto best = std::max_element(of.begin(), of.end());
  if (best == of.end() || *best == scores::none) return std::nullopt;
  return static_cast<std::size_t>(best - of.begin());
}

}  // namespace

TEST_CASE("score_index: without nodes, and without one that has room, there is no best") {
  CHECK_FALSE(scores{}.best());
  scores index;
  index.assign(0, [](std::size_t) { return std::int8_t{1}; });
  CHECK_FALSE(index.best());
  index.assign(40, [](std::size_t) { return scores::none; });
  CHECK_FALSE(index.best());
  CHECK(index.nodes() == 40);
}

TEST_CASE("score_index: the highest score, then the lowest node, as a scan finds it") {
  allot_test::for_each_seed(60, [](random_source& random) {
    const std::size_t sizes[] = {1, 15, 16, 17, 255, 256, 257, 4097};
    std::vector<std::int8_t> of(random.one_in(2) ? random.pick(sizes) : 1 + random.below(600));
    const auto any = [&] {
      return random.one_in(3) ? scores::none : static_cast<std::int8_t>(random.between(-127, -120));
    };
    for (std::int8_t& s : of) s = any();
    scores index;
    // What it held before does not matter.
    index.assign(random.below(500), [](std::size_t) { return std::int8_t{127}; });
    index.assign(of.size(), [&](std::size_t n) { return of[n]; });
    REQUIRE(index.best() == best_by_scan(of));
    for (int i = 0; i < 200; ++i) {
      const std::size_t n = random.below(of.size());
      of[n] = random.one_in(4) ? static_cast<std::int8_t>(random.between(-127, 127)) : any();
      index.set(n, of[n]);
      REQUIRE(index.score(n) == of[n]);
      REQUIRE(index.best() == best_by_scan(of));
    }
  });
}
