// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/first_come.hpp>
#include <allot/fairshare/surplus.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tests/fairshare/rules.hpp"
#include "tests/support/seeds.hpp"

using allot::claimant;
using allot::quantity;
using allot_test::random_source;

namespace {

std::vector<std::int64_t> divide(std::int64_t surplus, std::vector<claimant> claimants) {
  allot::proportional_to_weight rule;
  rule(quantity::milli(surplus), claimants);
  std::vector<std::int64_t> granted;
  for (const claimant& c : claimants) granted.push_back(c.granted.in_milli());
  return granted;
}

/// The definition: each thousandth goes to the claimant with the least (2 given + 1) / weight among those
/// that still want something, ties to the first; claimants of weight zero get, in turn, what the others
/// leave.
std::vector<std::int64_t> thousandth_by_thousandth(std::int64_t surplus,
                                                   const std::vector<claimant>& claimants) {
  std::vector<std::int64_t> given(claimants.size());
  for (const bool weightless : {false, true}) {
    const auto weight = [&](std::size_t i) { return weightless ? 1 : claimants[i].weight; };
    for (; surplus > 0; --surplus) {
      std::size_t best = claimants.size();
      for (std::size_t i = 0; i < claimants.size(); ++i) {
        const claimant& c = claimants[i];
        if ((c.weight == 0) != weightless || (c.granted + quantity::milli(given[i])) >= c.wants) continue;
        if (best == claimants.size() ||
            (2 * given[i] + 1) * weight(best) < (2 * given[best] + 1) * weight(i)) {
          best = i;
        }
      }
      if (best == claimants.size()) break;
      ++given[best];
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) given[i] += claimants[i].granted.in_milli();
  return given;
}

std::vector<claimant> claimants_with_weights(random_source& random) {
  std::vector<claimant> result(random.below(9));
  // Few different weights produce ties; very different ones make the nearest rounding miss the sum.
  const std::int64_t weights[] = {0, 1, 1, random.between(1, 5), random.between(1, 3000), 1'000'000};
  for (claimant& c : result) {
    c.wants = quantity::milli(random.between(0, random.one_in(3) ? 400 : 30));
    c.granted = quantity::milli(random.one_in(3) ? random.between(0, c.wants.in_milli()) : 0);
    c.weight = random.pick(weights);
  }
  return result;
}

}  // namespace

TEST_CASE("surplus: in proportion to weight, and the full leave the rest to the others") {
  const auto wants = [](std::int64_t q, std::int64_t weight) {
    return claimant{{}, quantity::milli(q), weight};
  };
  CHECK(divide(80, {wants(90, 3000), wants(90, 1000)}) == std::vector<std::int64_t>{60, 20});
  CHECK(divide(80, {wants(96, 2000), wants(112, 1000), wants(24, 1000)}) ==
        std::vector<std::int64_t>{40, 20, 20});
  CHECK(divide(80, {wants(10, 2000), wants(112, 1000), wants(5, 1000)}) ==
        std::vector<std::int64_t>{10, 65, 5});
  CHECK(divide(80, {wants(10, 1), wants(20, 1)}) == std::vector<std::int64_t>{10, 20});
  CHECK(divide(0, {wants(10, 1), wants(20, 1)}) == std::vector<std::int64_t>{0, 0});
  CHECK(divide(80, {}).empty());
}

TEST_CASE("surplus: claimants of weight zero share equally what the others leave") {
  const auto wants = [](std::int64_t q, std::int64_t weight) {
    return claimant{{}, quantity::milli(q), weight};
  };
  CHECK(divide(80, {wants(100, 0), wants(90, 1)}) == std::vector<std::int64_t>{0, 80});
  CHECK(divide(81, {wants(100, 0), wants(30, 1), wants(100, 0)}) == std::vector<std::int64_t>{26, 30, 25});
  CHECK(divide(80, {wants(10, 0), wants(90, 0)}) == std::vector<std::int64_t>{10, 70});
}

TEST_CASE("surplus: ties go to the claimant named first") {
  const auto one = claimant{{}, quantity::milli(10), 1};
  CHECK(divide(1, {one, one, one}) == std::vector<std::int64_t>{1, 0, 0});
  CHECK(divide(5, {one, one, one}) == std::vector<std::int64_t>{2, 2, 1});
}

TEST_CASE("surplus: is what the divisor method gives thousandth by thousandth") {
  allot_test::for_each_seed(4000, [](random_source& random) {
    const auto claimants = claimants_with_weights(random);
    const std::int64_t surplus = random.between(0, random.one_in(2) ? 60 : 900);
    CHECK(divide(surplus, claimants) == thousandth_by_thousandth(surplus, claimants));
  });
}

TEST_CASE("surplus: nothing is lost, and no claimant gets more than it wants") {
  allot_test::for_each_seed(2000, [](random_source& random) {
    std::vector<claimant> claimants(1 + random.below(20));
    quantity wanted;
    for (claimant& c : claimants) {
      c.wants = quantity::milli(random.between(0, 1'000'000'000'000));
      c.weight = random.one_in(8) ? 0 : random.between(1, std::int64_t{1} << random.below(62));
      wanted += c.wants;
    }
    const std::int64_t surplus = random.between(0, 2 * wanted.in_milli());
    const auto granted = divide(surplus, claimants);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < granted.size(); ++i) {
      CHECK(granted[i] >= 0);
      CHECK(granted[i] <= claimants[i].wants.in_milli());
      sum += granted[i];
    }
    CHECK(sum == std::min(surplus, wanted.in_milli()));
  });
}

TEST_CASE("surplus: one more thousandth reduces no grant") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const auto claimants = claimants_with_weights(random);
    auto before = divide(0, claimants);
    for (std::int64_t surplus = 1; surplus < 300; ++surplus) {
      const auto after = divide(surplus, claimants);
      for (std::size_t i = 0; i < claimants.size(); ++i) CHECK(after[i] >= before[i]);
      before = after;
    }
  });
}

TEST_CASE("surplus: filling a large claimant does not cost the small ones their rounding") {
  // Each of the small ones is nearer to one thousandth than to none, until the large one is full; if it were
  // filled by proportion first, the small ones would pay for it.
  std::vector<claimant> claimants(11, claimant{{}, quantity::milli(100), 1});
  claimants[0] = {{}, quantity::milli(600'000), 1'000'000};
  auto before = divide(599'900, claimants);
  for (std::int64_t surplus = 599'901; surplus < 600'100; ++surplus) {
    const auto after = divide(surplus, claimants);
    for (std::size_t i = 0; i < claimants.size(); ++i) CHECK(after[i] >= before[i]);
    before = after;
  }
}

TEST_CASE("surplus: amounts and weights of any size") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - 1;
  std::vector<claimant> claimants(5, claimant{{}, quantity::milli(most), most});
  claimants[4].weight = 1;
  CHECK(divide(most, claimants) ==
        std::vector<std::int64_t>{most / 4 + 1, most / 4 + 1, most / 4, most / 4, 0});
  claimants.resize(1);
  CHECK(divide(most, claimants) == std::vector<std::int64_t>{most});
}

TEST_CASE("surplus: many equal claimants take a moment, not minutes") {
  // The nearest rounding is off by half a thousandth for each of them.
  std::vector<claimant> claimants(200'000, claimant{{}, quantity::milli(1000), 1000});
  const auto granted = divide(200'000 * 7 + 99'999, claimants);
  CHECK(granted.front() == 8);
  CHECK(granted[99'998] == 8);
  CHECK(granted[99'999] == 7);
  CHECK(granted.back() == 7);
}

TEST_CASE("surplus: in proportion to quota, and equally to those without one") {
  const auto owns = [](std::int64_t owned, std::int64_t wants) {
    claimant c{{}, quantity::milli(wants), 1};
    c.owned = quantity::milli(owned);
    return c;
  };
  allot::proportional_to_quota rule;
  using amounts = std::vector<std::int64_t>;
  CHECK(allot_test::granted_by(rule, 8, {owns(4, 99), owns(2, 99), owns(2, 99)}) == amounts{4, 2, 2});
  CHECK(allot_test::granted_by(rule, 8, {owns(0, 99), owns(2, 3), owns(0, 99)}) == amounts{3, 3, 2});
  allot_test::check_law_of_conservation(allot::proportional_to_quota{});
  allot_test::check_ignores_unmet_wants(allot::proportional_to_quota{});
}

TEST_CASE("surplus: HTCondor's remainders go in turn to the longest unserved") {
  const auto owns = [](std::int64_t owned, std::int64_t since) {
    claimant c{{}, allot::gpus(99), 1};
    c.owned = allot::gpus(owned);
    c.since = since;
    return c;
  };
  allot::parent_as_peer rule{allot::longest_unserved{allot::gpus(1)}};
  using amounts = std::vector<std::int64_t>;
  // 7 by 1 : 2 : 1 is 1.75, 3.5 and 1.75.
  CHECK(allot_test::granted_by(rule, 7'000, {owns(1, 3), owns(2, 2), owns(1, 1)}) ==
        amounts{1'000, 4'000, 2'000});
  CHECK(allot_test::granted_by(rule, 7'000, {owns(1, 1), owns(2, 2), owns(1, 3)}) ==
        amounts{2'000, 4'000, 1'000});
  CHECK_FALSE(allot::ignores_unmet_wants(rule));
}

TEST_CASE("surplus: informed passes data of the host to a rule") {
  const auto asked_at = [](claimant& c) { c.since = c.quota.index() == 2 ? 0 : 1; };
  allot::informed<allot::first_come, decltype(asked_at)> rule{asked_at};
  std::vector<claimant> claimants(3, claimant{{}, quantity::milli(5), 1});
  for (std::size_t i = 0; i < 3; ++i) claimants[i].quota = allot::quota_id{i};
  CHECK(allot_test::granted_by(rule, 8, claimants) == std::vector<std::int64_t>{3, 0, 5});
  CHECK_FALSE(allot::ignores_unmet_wants(rule));
}

TEST_CASE("surplus: HTCondor's is given as a whole, in whole GPUs or not") {
  std::vector<claimant> two(2, claimant{{}, allot::gpus(9), 1});
  for (claimant& c : two) c.owned = allot::gpus(1);
  using amounts = std::vector<std::int64_t>;
  CHECK(allot_test::granted_by(allot::parent_as_peer{}, 1500, two) == amounts{750, 750});
  allot::parent_as_peer in_gpus{allot::longest_unserved{allot::gpus(1)}};
  CHECK(allot_test::granted_by(in_gpus, 1500, two) == amounts{1000, 500});
}

TEST_CASE("surplus: nothing is lost with any rounding but down, and no grant exceeds the want") {
  allot_test::for_each_seed(500, [](random_source& random) {
    const auto claimants = allot_test::random_claimants(random);
    const std::int64_t surplus = random.between(0, 150);
    const quantity unit = quantity::milli(random.between(1, 9));
    const auto check = [&](auto rounding) {
      using type = decltype(rounding);
      allot_test::check_conserved(allot::proportional<allot::by_weight, type>{rounding}, surplus, claimants);
      allot_test::check_conserved(allot::proportional<allot::by_owned, type>{rounding}, surplus, claimants);
    };
    check(allot::webster{unit});
    check(allot::largest_remainder{unit});
    check(allot::longest_unserved{unit});
    allot_test::check_monotone(allot::proportional<allot::by_weight, allot::rounded_down>{}, 60, claimants);
  });
}

TEST_CASE("surplus: equal weights give the max-min optimum") {
  allot_test::for_each_seed(300, [](random_source& random) {
    std::vector<claimant> claimants(3);
    std::int64_t wanted = 0;
    for (claimant& c : claimants) {
      c = {{}, quantity::milli(random.between(0, 12)), 7};
      wanted += c.wants.in_milli();
    }
    const std::int64_t surplus = std::min(wanted, random.between(0, 30));
    std::vector<std::int64_t> best;
    for (std::int64_t x = 0; x <= claimants[0].wants.in_milli(); ++x) {
      for (std::int64_t y = 0; y <= claimants[1].wants.in_milli(); ++y) {
        const std::int64_t z = surplus - x - y;
        if (z < 0 || z > claimants[2].wants.in_milli()) continue;
        std::vector<std::int64_t> way{x, y, z};
        std::sort(way.begin(), way.end());
        best = std::max(best, way);
      }
    }
    auto granted = divide(surplus, claimants);
    std::sort(granted.begin(), granted.end());
    CHECK(granted == best);
  });
}
