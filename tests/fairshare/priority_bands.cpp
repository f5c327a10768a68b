// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/priority_bands.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fairshare/rules.hpp"

using allot::claimant;
using allot::gpus;
using allot::priority_bands;
using allot::proportional_to_weight;
using allot::quantity;
using allot::webster;
using allot_test::granted_by;

namespace {

claimant in_band(std::int32_t priority, quantity wants, std::int64_t weight = 1000) {
  claimant c{{}, wants, weight};
  c.priority = priority;
  return c;
}
using amounts = std::vector<std::int64_t>;

}  // namespace

static_assert(allot::surplus_rule<priority_bands<>>);

TEST_CASE("priority_bands: the highest band has all it wants before the next has anything") {
  const std::vector<claimant> claimants{in_band(0, gpus(9)), in_band(5, gpus(6), 2000), in_band(5, gpus(6)),
                                        in_band(-1, gpus(9))};
  priority_bands<> rule;
  CHECK(granted_by(rule, 9'000, claimants) == amounts{0, 6'000, 3'000, 0});
  CHECK(granted_by(rule, 14'000, claimants) == amounts{2'000, 6'000, 6'000, 0});
  CHECK(granted_by(rule, 40'000, claimants) == amounts{9'000, 6'000, 6'000, 9'000});
}

TEST_CASE("priority_bands: no rounding lets a lower band overtake (KAI's trap 21)") {
  for (const quantity unit : {quantity::milli(1), gpus(1)}) {
    priority_bands<> rule{proportional_to_weight{webster{unit}}};
    const auto one_gpu =
        granted_by(rule, 1'000, {in_band(1, gpus(1)), in_band(1, gpus(1)), in_band(0, gpus(1))});
    CHECK(one_gpu[0] + one_gpu[1] == 1'000);
    CHECK(one_gpu[2] == 0);
    std::vector<claimant> ten(10, in_band(1, gpus(128)));
    ten.back().priority = 0;
    const auto granted = granted_by(rule, 128'000, ten);
    CHECK(granted.back() == 0);
    std::int64_t sum = 0;
    for (const std::int64_t g : granted) sum += g;
    CHECK(sum == 128'000);
  }
}

TEST_CASE("priority_bands: the remainder of a unit does not go to a lower band") {
  priority_bands<> rule{proportional_to_weight{webster{gpus(2)}}};
  const std::vector<claimant> claimants{in_band(1, gpus(8)), in_band(0, gpus(1))};
  CHECK(granted_by(rule, 5'000, claimants) == amounts{5'000, 0});
  CHECK(granted_by(rule, 9'000, claimants) == amounts{8'000, 1'000});
  using rounded_down = allot::proportional<allot::by_weight, allot::rounded_down>;
  priority_bands<rounded_down> leaves{rounded_down{allot::rounded_down{gpus(2)}}};
  CHECK(granted_by(leaves, 5'000, claimants) == amounts{4'000, 0});
}

TEST_CASE("priority_bands: grants the whole surplus, and more surplus reduces no grant") {
  allot_test::check_law_of_conservation(priority_bands<>{});
  allot_test::check_ignores_unmet_wants(priority_bands<>{});
}

TEST_CASE("priority_bands: strict, and within a band as its rule") {
  allot_test::for_each_seed(800, [](allot_test::random_source& random) {
    const auto claimants = allot_test::random_claimants(random);
    const std::int64_t surplus = random.between(0, 150);
    const auto granted = granted_by(priority_bands<>{}, surplus, claimants);
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      if (granted[i] == claimants[i].wants.in_milli()) continue;
      for (std::size_t j = 0; j < claimants.size(); ++j) {
        if (claimants[j].priority < claimants[i].priority)
          CHECK(granted[j] == claimants[j].granted.in_milli());
      }
    }
    std::vector<claimant> band;
    std::int64_t given = 0;
    amounts of_band;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      if (claimants[i].priority != 1) continue;
      band.push_back(claimants[i]);
      of_band.push_back(granted[i]);
      given += granted[i] - claimants[i].granted.in_milli();
    }
    CHECK(granted_by(proportional_to_weight{}, given, band) == of_band);
  });
}
