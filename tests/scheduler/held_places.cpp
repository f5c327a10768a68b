// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/detail/held_places.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/seeds.hpp"

namespace {

struct without_order {
  std::uint32_t number = 0;
  friend bool operator==(const without_order&, const without_order&) = default;
};
using dense = allot::recycled_id<struct place_tag>;
using ordered = std::uint32_t;

template <class Place>
Place place_of(std::uint32_t number) {
  // Ids of the library that are reused, each time with the next generation.
  if constexpr (allot::detail::is_dense_id<Place>) return Place{number % 8, number / 8};
  if constexpr (!allot::detail::is_dense_id<Place>) return Place{number};
}

}  // namespace

TEST_CASE_TEMPLATE("held_places: knows what was inserted and not erased", Place, dense, ordered,
                   without_order) {
  allot_test::for_each_seed(50, [](allot_test::random_source& random) {
    allot::detail::held_places<Place> held;
    std::vector<std::uint32_t> expected;
    for (int step = 0; step < 200; ++step) {
      const auto number = static_cast<std::uint32_t>(random.below(24));
      const auto at = std::find(expected.begin(), expected.end(), number);
      if (random.one_in(2)) {
        held.erase(place_of<Place>(number));
        if (at != expected.end()) expected.erase(at);
      } else if (std::none_of(expected.begin(), expected.end(),
                              [&](std::uint32_t other) { return other % 8 == number % 8; })) {
        held.insert(place_of<Place>(number));
        expected.push_back(number);
      }
      for (std::uint32_t n = 0; n < 30; ++n) {
        const bool is_held = std::find(expected.begin(), expected.end(), n) != expected.end();
        REQUIRE(held.contains(place_of<Place>(n)) == is_held);
      }
    }
  });
}

TEST_CASE("held_places: none is no place") {
  allot::detail::held_places<dense> held;
  held.insert(dense::none());
  CHECK_FALSE(held.contains(dense::none()));
  held.erase(dense::none());
  held.erase(dense{1'000'000});
  CHECK_FALSE(held.contains(dense{1'000'000}));
}

TEST_CASE_TEMPLATE("held_places: equal places are counted where they are no ids", Place, ordered,
                   without_order) {
  allot::detail::held_places<Place> held;
  held.insert(Place{3});
  held.insert(Place{3});
  held.erase(Place{3});
  CHECK(held.contains(Place{3}));
  held.erase(Place{3});
  CHECK_FALSE(held.contains(Place{3}));
}
