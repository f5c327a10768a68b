// SPDX-License-Identifier: BSL-1.0
#pragma once

// Shared by the tests of surplus rules: random claimants, and the law that a rule keeps (6: conserved).

#include <allot/fairshare/surplus.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/seeds.hpp"

namespace allot_test {

/// What a rule grants, in thousandths.
template <class Rule>
std::vector<std::int64_t> granted_by(Rule&& rule, std::int64_t surplus,
                                     std::vector<allot::claimant> claimants) {
  rule(allot::quantity::milli(surplus), claimants);
  std::vector<std::int64_t> granted;
  for (const allot::claimant& c : claimants) granted.push_back(c.granted.in_milli());
  return granted;
}

/// Amounts of few thousandths, so that every rounding is visible.
inline std::vector<allot::claimant> random_claimants(random_source& random, std::size_t most = 7) {
  using allot::quantity;
  std::vector<allot::claimant> result(1 + random.below(most));
  const std::int64_t weights[] = {0, 1, 1, 2, random.between(1, 5), random.between(1, 3000)};
  for (std::size_t i = 0; i < result.size(); ++i) {
    allot::claimant& c = result[i];
    c.quota = allot::quota_id{i};
    c.wants = quantity::milli(random.between(0, 40));
    c.guaranteed = quantity::milli(random.one_in(3) ? 0 : random.between(0, 12));
    c.granted = std::min(c.guaranteed, c.wants);
    c.kept = quantity::milli(random.one_in(3) ? random.between(0, 6) : 0);
    c.owned = c.guaranteed + c.kept;
    c.weight = random.pick(weights);
    c.used = quantity::milli(random.between(0, 30));
    c.priority = static_cast<std::int32_t>(random.below(3));
    c.since = random.between(0, 3);
    c.past_use = random.one_in(3) ? 0 : random.between(0, 1'000'000'000);
  }
  return result;
}

/// No claimant loses anything or gets more than it wants, and in sum the surplus is given away as far as it
/// is wanted.
template <class Rule>
void check_conserved(Rule&& rule, std::int64_t surplus, const std::vector<allot::claimant>& claimants) {
  const auto granted = granted_by(rule, surplus, claimants);
  std::int64_t given = 0;
  std::int64_t wanted = 0;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    const std::int64_t before = claimants[i].granted.in_milli();
    CHECK(granted[i] >= before);
    CHECK(granted[i] <= claimants[i].wants.in_milli());
    given += granted[i] - before;
    wanted += claimants[i].wants.in_milli() - before;
  }
  CHECK(given == std::min(surplus, wanted));
}

/// A larger surplus takes from no claimant.
template <class Rule>
void check_monotone(Rule&& rule, std::int64_t most, const std::vector<allot::claimant>& claimants) {
  auto before = granted_by(rule, 0, claimants);
  for (std::int64_t surplus = 1; surplus <= most; ++surplus) {
    const auto after = granted_by(rule, surplus, claimants);
    for (std::size_t i = 0; i < claimants.size(); ++i) CHECK(after[i] >= before[i]);
    before = after;
  }
}

/// Law 6, for a rule that promises all of it.
template <class Rule>
void check_law_of_conservation(Rule&& rule, std::size_t cases = 500) {
  for_each_seed(cases, [&](random_source& random) {
    const auto claimants = random_claimants(random);
    check_conserved(rule, random.between(0, 200), claimants);
    if (random.one_in(4)) check_monotone(rule, 120, claimants);
  });
}

/// That a rule which declares so ignores what a claimant wants beyond what it is given.
template <class Rule>
void check_ignores_unmet_wants(Rule&& rule, std::size_t cases = 500) {
  REQUIRE(allot::ignores_unmet_wants(rule));
  for_each_seed(cases, [&](random_source& random) {
    auto claimants = random_claimants(random);
    const std::int64_t surplus = random.between(0, 100);
    const auto before = granted_by(rule, surplus, claimants);
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      if (claimants[i].wants.in_milli() == before[i]) continue;
      claimants[i].wants = allot::quantity::milli(random.between(before[i], 60));
      // What is promised depends on what is wanted; the rule does not cause that.
      claimants[i].wants = std::max(claimants[i].wants, claimants[i].granted);
    }
    CHECK(granted_by(rule, surplus, claimants) == before);
  });
}

}  // namespace allot_test
