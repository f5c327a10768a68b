// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/division.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/systems/by_name/selectable_surplus.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/random_quotas.hpp"
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
    check(surplus_name::parent_peer, allot::parent_as_peer{});
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
  for (const std::optional<rounding_name> exact : {std::optional{rounding_name::none}, {}}) {
    CHECK(chosen(surplus_name::weight, exact, gpus(8), three) ==
          amounts{quantity::milli(2667), quantity::milli(2667), quantity::milli(2666)});
  }
}

TEST_CASE("selectable_surplus: the rounding that is chosen is that of every rule that rounds") {
  std::vector<claimant> two(2);
  for (std::size_t i = 0; i < 2; ++i) {
    two[i] = {.quota = allot::quota_id{i}, .wants = gpus(9), .weight = 1000, .owned = gpus(1)};
  }
  const quantity half = quantity::milli(500);
  const quantity three_quarters = quantity::milli(750);
  using amounts = std::vector<quantity>;
  for (const surplus_name name :
       {surplus_name::weight, surplus_name::quota, surplus_name::priority, surplus_name::decayed_usage,
        surplus_name::parent_peer, surplus_name::capped}) {
    CAPTURE(allot::to_string(name));
    const quantity surplus = gpus(1) + half;
    CHECK(chosen(name, std::nullopt, surplus, two) == amounts{three_quarters, three_quarters});
    CHECK(chosen(name, rounding_name::none, surplus, two) == amounts{three_quarters, three_quarters});
    CHECK(chosen(name, rounding_name::webster, surplus, two) == amounts{gpus(1), half});
    CHECK(chosen(name, rounding_name::largest_remainders, surplus, two) == amounts{gpus(1), half});
    // By 6 : 6 : 2 the two roundings differ.
    std::vector<claimant> three(3);
    for (std::size_t i = 0; i < 3; ++i) {
      three[i] = {.quota = allot::quota_id{i}, .wants = gpus(99), .weight = i < 2 ? 6 : 2};
      three[i].owned = gpus(three[i].weight);
    }
    CHECK(chosen(name, rounding_name::webster, gpus(10), three) == amounts{gpus(5), gpus(4), gpus(1)});
    CHECK(chosen(name, rounding_name::largest_remainders, gpus(10), three) ==
          amounts{gpus(4), gpus(4), gpus(2)});
  }
}

TEST_CASE("selectable_surplus: nothing is lost, whatever the rule and the rounding (law 6)") {
  allot_test::for_each_seed(60, [](random_source& random) {
    const auto specs = allot_test::random_quotas<1>(random, {.one_unlimited_in = 0});
    std::vector<allot::resources<>> demand(specs.size());
    for (auto& d : demand) {
      d[0] = random.one_in(3) ? quantity{} : quantity::milli(250 * random.between(0, 100));
    }
    for (std::size_t rule = 0; rule < 8; ++rule) {
      for (const std::optional<rounding_name> rounding :
           {std::optional<rounding_name>{}, std::optional{rounding_name::none},
            std::optional{rounding_name::webster}, std::optional{rounding_name::largest_remainders}}) {
        named_parts parts;
        parts.surplus = static_cast<surplus_name>(rule);
        parts.rounding = rounding;
        CAPTURE(allot::to_string(*parts.surplus));
        CAPTURE((rounding ? allot::to_string(*rounding) : "not chosen"));
        allot::ledger<> l{allot::build_quota_tree<1>(specs).value()};
        allot::division<1, selectable_surplus> shares{selectable_surplus{parts}};
        shares.update(l, demand);
        for (const allot::quota_id x : l.tree().top_down()) {
          CHECK(shares.own(x)[0] >= quantity{});
          CHECK(shares.own(x)[0] <= demand[x.index()][0]);
          l.charge(x, shares.own(x));
        }
        CHECK(l.is_sound());
        for (const allot::quota_id x : l.tree().top_down()) {
          if (shares.own(x)[0] < demand[x.index()][0]) CHECK(l.headroom(x, 0) <= quantity{});
        }
      }
    }
  });
}
