// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/detail/victim_groups.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::possible_victims;
using allot::quota_id;
using allot::detail::victim_groups;
using allot_test::random_source;

namespace {

std::set<std::uint32_t> groups_of(const victim_groups& g, const possible_victims& these) {
  std::set<std::uint32_t> found;
  g.for_each(these, [&](std::uint32_t group) { CHECK(found.insert(group).second); });
  return found;
}

}  // namespace

TEST_CASE("victim_groups: one for each quota and priority with jobs") {
  victim_groups g;
  g.resize(2);
  const std::uint32_t low = g.add(quota_id{0}, -5);
  const std::uint32_t high = g.add(quota_id{0}, 7);
  const std::uint32_t other = g.add(quota_id{1}, 7);
  const std::uint32_t middle = g.add(quota_id{0}, 0);
  CHECK(std::set{low, high, other, middle} == std::set<std::uint32_t>{0, 1, 2, 3});
  CHECK(g.add(quota_id{0}, 7) == high);
  CHECK(groups_of(g, {quota_id{0}, 6}) == std::set{low, middle});
  CHECK(groups_of(g, {quota_id{0}, -6}).empty());
  CHECK(groups_of(g, {quota_id{0}}) == std::set{low, middle, high});
  CHECK(g.remove(quota_id{0}, 7) == high);
  CHECK(g.remove(quota_id{0}, -5) == low);
  CHECK(groups_of(g, {quota_id{0}}) == std::set{middle, high});
  CHECK(g.remove(quota_id{0}, 7) == high);
  CHECK(groups_of(g, {quota_id{0}}) == std::set{middle});
  CHECK(groups_of(g, {quota_id{1}}) == std::set{other});
}

TEST_CASE("victim_groups: few groups however many priorities, and no job is missing") {
  allot_test::for_each_seed(300, [](random_source& random) {
    victim_groups g;
    const std::size_t quotas = 1 + random.below(3);
    g.resize(quotas);
    const std::int64_t span = random.pick(std::vector<std::int64_t>{2, 7, 30, 2'000'000'000});
    struct known {
      quota_id quota;
      std::int64_t priority;
      std::uint32_t group;
    };
    std::vector<known> there;
    std::set<std::uint32_t> numbers;
    for (int step = 0; step < 200; ++step) {
      if (!there.empty() && random.one_in(3)) {
        const std::size_t i = random.below(there.size());
        // A job stays in its group when other jobs are added and removed.
        REQUIRE(g.remove(there[i].quota, there[i].priority) == there[i].group);
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        known k{quota_id{random.below(quotas)}, random.between(-span, span), 0};
        k.group = g.add(k.quota, k.priority);
        numbers.insert(k.group);
        there.push_back(k);
      }
      const possible_victims these{quota_id{random.below(quotas)}, random.between(-span - 1, span + 1)};
      const auto found = groups_of(g, these);
      for (const known& k : there) {
        const bool is_meant = k.quota == these.quota && k.priority <= these.highest_priority;
        if (is_meant) REQUIRE(found.count(k.group) == 1);
        if (k.quota != these.quota) REQUIRE(found.count(k.group) == 0);
      }
    }
    CHECK(numbers.size() <= quotas * victim_groups::most_of_quota);
    CHECK(*numbers.rbegin() + 1 == numbers.size());
  });
}
