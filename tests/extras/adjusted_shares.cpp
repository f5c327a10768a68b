// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/adjusted_shares.hpp>
#include <allot/fairshare/rounding.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::adjusted_shares;
using allot::gpus;
using allot::quantity;
using allot::share_claim;

TEST_CASE("adjusted_shares: unwanted capacity goes to the others") {
  adjusted_shares shares;
  const std::vector<share_claim> claims{{gpus(10)}, {gpus(100)}, {gpus(100), 2000}};
  shares.update(gpus(80), claims);
  const auto s = shares.shares();
  CHECK((s[0].fair == gpus(20) && s[1].fair == gpus(20) && s[2].fair == gpus(40)));
  CHECK((s[0].capped == gpus(10) && s[1].capped == quantity::milli(23'333)));
  CHECK(s[2].capped == quantity::milli(46'667));
  // The first would have its 20 if it wanted them; the others already have all they can get.
  CHECK((s[0].uncapped == gpus(20) && s[1].uncapped == s[1].capped && s[2].uncapped == s[2].capped));
}

TEST_CASE("adjusted_shares: a queue without demand could still claim its part") {
  adjusted_shares shares;
  const std::vector<share_claim> claims{{gpus(0)}, {gpus(3)}, {gpus(1)}};
  shares.update(gpus(10), claims);
  CHECK((shares.shares()[0].capped == gpus(0) && shares.shares()[0].uncapped == gpus(6)));
  CHECK((shares.shares()[1].capped == gpus(3) && shares.shares()[1].uncapped == gpus(9)));
  shares.update(gpus(10), {});
  CHECK(shares.shares().empty());
}

TEST_CASE("adjusted_shares: conserved, and each uncapped share is a division of its own") {
  allot_test::for_each_seed(2000, [](allot_test::random_source& random) {
    std::vector<share_claim> claims(1 + random.below(8));
    const std::int64_t largest = random.one_in(2) ? 30 : 3000;
    for (share_claim& c : claims) {
      c = {quantity::milli(random.one_in(4) ? 0 : random.between(0, largest)),
           random.one_in(2) ? random.between(1, 3) : random.between(1, 3000)};
    }
    const quantity capacity = quantity::milli(random.between(0, 4 * largest));
    adjusted_shares shares;
    shares.update(capacity, claims);
    const std::vector<allot::adjusted_share> all(shares.shares().begin(), shares.shares().end());
    quantity given, wanted;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      CHECK(all[i].capped <= claims[i].wants);
      CHECK(all[i].uncapped >= all[i].capped);
      CHECK(all[i].uncapped >= std::min(all[i].fair, capacity));
      given += all[i].capped;
      wanted += claims[i].wants;
      auto greedy = claims;
      greedy[i].wants = quantity::milli(1'000'000'000);
      // The same division, rounded down.
      std::vector<allot::portion> portions;
      for (std::size_t j = 0; j < greedy.size(); ++j) {
        portions.push_back({greedy[j].wants.in_milli(), static_cast<allot::wide>(greedy[j].weight), j});
      }
      allot::rounded_down{}(capacity.in_milli(), portions);
      for (const allot::portion& p : portions) {
        if (p.place == i) CHECK(all[i].uncapped == std::max(all[i].capped, quantity::milli(p.given)));
      }
      // And rounded to the nearest, where all n shares are rounded at one level. If that gives this one more
      // than a half above its exact part, the level is above the exact one, so each of the others is less
      // than a half below its own; they make up for it, so it is less than (n - 1) / 2 above. In the same way
      // it is less than that below. Rounding down takes less than 1.
      adjusted_shares other;
      other.update(capacity, greedy);
      const std::int64_t difference = other.shares()[i].capped.in_milli() - all[i].uncapped.in_milli();
      const auto n = static_cast<std::int64_t>(claims.size());
      CHECK(difference >= -(n - 2) / 2);
      CHECK(difference <= n / 2);
    }
    CHECK(given == std::min(capacity, wanted));
  });
}

TEST_CASE("adjusted_shares: a large share makes up for the rounding of all others") {
  std::vector<share_claim> claims(8, share_claim{quantity::milli(5000), 1});
  const auto uncapped_and_granted = [&](std::int64_t capacity) {
    adjusted_shares shares;
    claims[0] = {quantity{}, 3000};
    shares.update(quantity::milli(capacity), claims);
    const std::int64_t uncapped = shares.shares()[0].uncapped.in_milli();
    claims[0].wants = gpus(100);
    shares.update(quantity::milli(capacity), claims);
    return std::pair{uncapped, shares.shares()[0].capped.in_milli()};
  };
  // The seven others' exact parts are 0.51, and rounded up; this one's is 1530.4.
  CHECK(uncapped_and_granted(1534) == std::pair<std::int64_t, std::int64_t>{1530, 1527});
  // 0.49, and rounded down; 1469.6.
  CHECK(uncapped_and_granted(1473) == std::pair<std::int64_t, std::int64_t>{1469, 1473});
}

TEST_CASE("adjusted_shares: refuses a weight of zero") {
  adjusted_shares shares;
  const std::vector<share_claim> claims{{gpus(1), 0}};
  CHECK_THROWS(shares.update(gpus(1), claims));
}
