// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/adjusted_shares.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
      adjusted_shares other;
      other.update(capacity, greedy);
      // Except for rounding: one is rounded to the nearest, the other down.
      const std::int64_t difference = other.shares()[i].capped.in_milli() - all[i].uncapped.in_milli();
      CHECK(difference >= -1);
      CHECK(difference <= 1 + static_cast<std::int64_t>(claims.size()));
    }
    CHECK(given == std::min(capacity, wanted));
  });
}

TEST_CASE("adjusted_shares: refuses a weight of zero") {
  adjusted_shares shares;
  const std::vector<share_claim> claims{{gpus(1), 0}};
  CHECK_THROWS(shares.update(gpus(1), claims));
}
