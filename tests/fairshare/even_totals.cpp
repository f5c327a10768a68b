// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/even_totals.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fairshare/rules.hpp"

using allot::claimant;
using allot::even_totals_by_weight;
using allot::gpus;
using allot::most_under_served_first;
using allot::quantity;
using allot_test::granted_by;

namespace {

using amounts = std::vector<std::int64_t>;

claimant of_quota(std::int64_t owned, std::int64_t has, std::int64_t wants) {
  claimant c{{}, gpus(wants), 1000, gpus(has)};
  c.guaranteed = c.owned = gpus(owned);
  return c;
}

/// By the definition: one thousandth at a time to the quota that has least.
template <class Measure>
amounts thousandth_by_thousandth(std::int64_t surplus, const std::vector<claimant>& claimants,
                                 Measure measure) {
  amounts granted;
  for (const claimant& c : claimants) granted.push_back(c.granted.in_milli());
  for (const bool of_zero : {false, true}) {
    for (; surplus > 0; --surplus) {
      std::size_t best = claimants.size();
      const auto by = [&](std::size_t i) { return of_zero ? 1 : measure(claimants[i]); };
      const auto total = [&](std::size_t i) { return 2 * (granted[i] + claimants[i].kept.in_milli()) + 1; };
      for (std::size_t i = 0; i < claimants.size(); ++i) {
        if ((measure(claimants[i]) == 0) != of_zero || granted[i] >= claimants[i].wants.in_milli()) continue;
        if (best == claimants.size() || total(i) * by(best) < total(best) * by(i)) best = i;
      }
      if (best == claimants.size()) break;
      ++granted[best];
    }
  }
  return granted;
}

}  // namespace

static_assert(allot::surplus_rule<most_under_served_first>);

TEST_CASE("even_totals: the most underserved are filled first, then all rise together") {
  // a has half of its quota, b all of it, c three quarters.
  const std::vector<claimant> claimants{of_quota(8, 4, 99), of_quota(8, 8, 99), of_quota(16, 12, 99)};
  most_under_served_first rule;
  CHECK(granted_by(rule, 2'000, claimants) == amounts{6'000, 8'000, 12'000});
  CHECK(granted_by(rule, 5'000, claimants) == amounts{7'000, 8'000, 14'000});
  CHECK(granted_by(rule, 8'000, claimants) == amounts{8'000, 8'000, 16'000});
  CHECK(granted_by(rule, 16'000, claimants) == amounts{10'000, 10'000, 20'000});
}

TEST_CASE("even_totals: a claimant that owns nothing gets what the others leave") {
  const std::vector<claimant> claimants{of_quota(0, 0, 9), of_quota(4, 4, 8), of_quota(0, 0, 9)};
  most_under_served_first rule;
  CHECK(granted_by(rule, 4'000, claimants) == amounts{0, 8'000, 0});
  CHECK(granted_by(rule, 10'000, claimants) == amounts{3'000, 8'000, 3'000});
}

TEST_CASE("even_totals: agrees with the definition, thousandth by thousandth") {
  allot_test::for_each_seed(3000, [](allot_test::random_source& random) {
    const auto claimants = allot_test::random_claimants(random);
    const std::int64_t surplus = random.between(0, 200);
    CHECK(granted_by(most_under_served_first{}, surplus, claimants) ==
          thousandth_by_thousandth(surplus, claimants, allot::by_owned{}));
    CHECK(granted_by(even_totals_by_weight{}, surplus, claimants) ==
          thousandth_by_thousandth(surplus, claimants, allot::by_weight{}));
  });
}

TEST_CASE("even_totals: grants the whole surplus, monotonically, and ignores unmet wants") {
  allot_test::check_law_of_conservation(most_under_served_first{});
  allot_test::check_law_of_conservation(even_totals_by_weight{});
  allot_test::check_ignores_unmet_wants(most_under_served_first{});
}

TEST_CASE("even_totals: without prior grants even_totals_by_weight is proportional to weight") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    auto claimants = allot_test::random_claimants(random);
    for (claimant& c : claimants) c.granted = c.kept = quantity{};
    const std::int64_t surplus = random.between(0, 200);
    CHECK(granted_by(even_totals_by_weight{}, surplus, claimants) ==
          granted_by(allot::proportional_to_weight{}, surplus, claimants));
  });
}

TEST_CASE("even_totals: amounts of any realistic size") {
  const quantity much = quantity::milli(std::int64_t{1} << 58);
  std::vector<claimant> claimants(3, claimant{{}, much, std::int64_t{1} << 40, quantity::milli(5)});
  claimants[2].granted = quantity::milli(std::int64_t{1} << 57);
  const auto granted = granted_by(even_totals_by_weight{}, std::int64_t{1} << 57, claimants);
  CHECK(granted[0] == (std::int64_t{1} << 56) + 5);
  CHECK(granted[1] == (std::int64_t{1} << 56) + 5);
  CHECK(granted[2] == std::int64_t{1} << 57);
}
