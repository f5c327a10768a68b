// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/selectable_surplus.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::claimant;
using allot::gpus;
using allot::named_parts;
using allot::quantity;
using allot::rounding_name;
using allot::selectable_surplus;
using allot::surplus_name;
using allot_test::random_source;

namespace {

std::vector<claimant> random_claimants(random_source& random) {
  std::vector<claimant> all(1 + random.below(6));
  for (std::size_t i = 0; i < all.size(); ++i) {
    claimant& c = all[i];
    c.quota = allot::quota_id{i};
    c.wants = quantity::milli(random.between(0, 20'000));
    c.weight = 1000 * random.between(0, 4);
    c.guaranteed = c.owned = gpus(random.between(0, 6));
    c.used = quantity::milli(random.between(0, 9'000));
    c.priority = static_cast<std::int32_t>(random.below(3));
    c.past_use = random.between(0, 500'000'000);
    c.since = random.between(0, 5);
  }
  return all;
}

template <class Rule>
std::vector<quantity> granted(Rule rule, quantity surplus, std::vector<claimant> claimants) {
  rule(surplus, claimants);
  std::vector<quantity> result;
  for (const claimant& c : claimants) result.push_back(c.granted);
  return result;
}

std::vector<quantity> chosen(surplus_name rule, std::optional<rounding_name> rounding, quantity surplus,
                             const std::vector<claimant>& claimants) {
  named_parts o;
  o.surplus = rule;
  o.rounding = rounding;
  return granted(selectable_surplus{o}, surplus, claimants);
}

}  // namespace

TEST_CASE("selectable_surplus: each name selects its rule") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const auto claimants = random_claimants(random);
    const quantity surplus = quantity::milli(random.between(0, 60'000));
    const auto check = [&](surplus_name name, auto rule) {
      CHECK(chosen(name, std::nullopt, surplus, claimants) == granted(rule, surplus, claimants));
    };
    check(surplus_name::weight, allot::proportional_to_weight{});
    check(surplus_name::capped, allot::proportional_to_weight{});
    check(surplus_name::quota, allot::proportional_to_quota{});
    check(surplus_name::priority, allot::priority_bands<>{});
    check(surplus_name::first_come, allot::first_come{});
    check(surplus_name::decayed_usage, allot::decayed_surplus<>{});
    check(surplus_name::parent_peer, allot::parent_as_peer{allot::longest_unserved{gpus(1)}});
    check(surplus_name::most_under_served, allot::even_totals<allot::by_owned>{});
    CHECK(granted(selectable_surplus{}, surplus, claimants) ==
          granted(allot::proportional_to_weight{}, surplus, claimants));
  });
}

TEST_CASE("selectable_surplus: a rounding that is chosen counts whole GPUs") {
  std::vector<claimant> three(3);
  for (std::size_t i = 0; i < 3; ++i)
    three[i] = {.quota = allot::quota_id{i}, .wants = gpus(9), .weight = 1000};
  using amounts = std::vector<quantity>;
  CHECK(chosen(surplus_name::weight, rounding_name::webster, gpus(8), three) ==
        amounts{gpus(3), gpus(3), gpus(2)});
  CHECK(chosen(surplus_name::weight, rounding_name::largest_remainders, gpus(8), three) ==
        amounts{gpus(3), gpus(3), gpus(2)});
  CHECK(chosen(surplus_name::weight, rounding_name::none, gpus(8), three) ==
        amounts{gpus(2), gpus(2), gpus(2)});
  const auto fine = chosen(surplus_name::weight, std::nullopt, gpus(8), three);
  CHECK(fine[0] + fine[1] + fine[2] == gpus(8));
  CHECK(fine[0] < gpus(3));
}
