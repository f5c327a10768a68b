// SPDX-License-Identifier: BSL-1.0
#include <allot/core/ids.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

using allot::job_id;
using allot::quota_id;

// Ids of different tags, and ids and numbers, do not mix.
static_assert(!std::convertible_to<std::size_t, quota_id> && !std::convertible_to<quota_id, std::size_t>);
static_assert(!std::constructible_from<quota_id, job_id> && !std::equality_comparable_with<quota_id, job_id>);
static_assert(!std::convertible_to<quota_id, bool>);
static_assert(sizeof(quota_id) == 4);

TEST_CASE("ids: a default id is the id of nothing") {
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
