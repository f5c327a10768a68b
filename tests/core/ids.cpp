// SPDX-License-Identifier: BSL-1.0
#include <allot/core/ids.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

using allot::job_id;
using allot::quota_id;
using thing_id = allot::recycled_id<struct thing_tag>;

// Ids of different tags, and ids and numbers, do not mix.
static_assert(!std::convertible_to<std::size_t, quota_id> && !std::convertible_to<quota_id, std::size_t>);
static_assert(!std::constructible_from<quota_id, job_id> && !std::equality_comparable_with<quota_id, job_id>);
static_assert(!std::convertible_to<quota_id, bool>);
static_assert(sizeof(quota_id) == 4);
static_assert(!std::convertible_to<std::size_t, thing_id> && !std::convertible_to<thing_id, bool>);
static_assert(!std::equality_comparable_with<thing_id, allot::recycled_id<struct other_tag>>);
static_assert(std::regular<thing_id> && sizeof(thing_id) == 8);

TEST_CASE("ids: a default id is none") {
  CHECK(quota_id{}.is_none());
  CHECK(quota_id{} == quota_id::none());
  CHECK_FALSE(quota_id{});
  CHECK(quota_id{0});
  CHECK_FALSE(quota_id{0}.is_none());
}

TEST_CASE("ids: an id keeps its index and is ordered by it, with none last") {
  constexpr std::size_t last = std::numeric_limits<std::uint32_t>::max() - 1;
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}, std::size_t{70'000}, last}) {
    CHECK(quota_id{index}.index() == index);
    CHECK(quota_id{index} < quota_id::none());
  }
  CHECK(quota_id{1} < quota_id{2});
  CHECK(quota_id{2} == quota_id{2});
}

TEST_CASE("ids: an index that is too large is none, and not that of another") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t index :
       {most, most - 1, most / 2 + 1, std::size_t{1} << 32U, (std::size_t{1} << 32U) + 7}) {
    CHECK(quota_id{index} == quota_id::none());
    CHECK(thing_id{index, 3} == thing_id::none());
  }
}

TEST_CASE("ids: recycled ids, none and valid") {
  CHECK(thing_id{}.is_none());
  CHECK(thing_id{} == thing_id::none());
  CHECK_FALSE(thing_id{});
  CHECK(thing_id{0});
  CHECK(thing_id{7}.index() == 7);
  CHECK(thing_id{7}.generation() == 0);
  CHECK(thing_id{7, 3}.generation() == 3);
}

TEST_CASE("ids: a reused index has a new id, and ids are ordered by index first") {
  CHECK(thing_id{1, 0} != thing_id{1, 1});
  CHECK(thing_id{1, 0} < thing_id{1, 1});
  CHECK(thing_id{1, 9} < thing_id{2, 0});
  CHECK(thing_id{std::numeric_limits<std::uint32_t>::max() - 1, 9} < thing_id::none());
}
