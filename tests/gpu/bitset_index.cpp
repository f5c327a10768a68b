// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/detail/bitset_index.hpp>

#include <doctest/doctest.h>
#include <tests/support/count_allocations.hpp>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <set>

using allot::gpu::bitset_index;

TEST_CASE("bitset_index: is an ordered set of small integers") {
  // Sizes near one word, and near one word of each of the next levels.
  for (const std::size_t bound : {1U, 2U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 90000U, 262144U, 262145U}) {
    CAPTURE(bound);
    allot_test::for_each_seed(3, [&](allot_test::random_source& random) {
      bitset_index index{bound};
      std::set<std::size_t> model;
      for (int step = 0; step < 2000; ++step) {
        const std::size_t i = random.one_in(8) ? bound - 1 : random.below(bound);
        if (random.one_in(2)) {
          index.insert(i);
          model.insert(i);
        } else {
          const std::size_t from = random.one_in(2) ? i : index.next(i);
          const std::size_t gone = from == bitset_index::none ? i : from;
          index.erase(gone);
          model.erase(gone);
        }
        REQUIRE(index.contains(i) == model.contains(i));
        const std::size_t from = random.below(bound + 2);
        const auto expected = model.lower_bound(from);
        REQUIRE(index.next(from) == (expected == model.end() ? bitset_index::none : *expected));
      }
    });
  }
}

TEST_CASE("bitset_index: next walks all members in order") {
  bitset_index index{100'000};
  std::set<std::size_t> model;
  allot_test::random_source random{7};
  for (int i = 0; i < 500; ++i) {
    const std::size_t member = random.below(index.bound());
    index.insert(member);
    model.insert(member);
  }
  std::set<std::size_t> walked;
  for (std::size_t i = index.next(0); i != bitset_index::none; i = index.next(i + 1)) walked.insert(i);
  CHECK(walked == model);
}

TEST_CASE("bitset_index: erasing what was inserted restores it, and nothing allocates") {
  bitset_index index{1'000'000};
  index.insert(3);
  const bitset_index before = index;
  const std::size_t allocations = allot_test::allocations_in([&] {
    for (std::size_t i = 5; i < index.bound(); i += 997) index.insert(i);
    for (std::size_t i = 5; i < index.bound(); i += 997) index.erase(i);
  });
  CHECK(allocations == 0);
  CHECK(index == before);
  index.insert(4);
  CHECK_FALSE(index == before);
}

TEST_CASE("bitset_index: empty, and out of bounds") {
  bitset_index nothing;
  CHECK(nothing.next(0) == bitset_index::none);
  CHECK(bitset_index{0}.next(0) == bitset_index::none);
  bitset_index index{10};
  CHECK(index.next(0) == bitset_index::none);
  CHECK(index.next(10) == bitset_index::none);
  CHECK_THROWS_AS(index.insert(10), allot_test::assertion_failed);
  CHECK_THROWS_AS(index.erase(10), allot_test::assertion_failed);
}
