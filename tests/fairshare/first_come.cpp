// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/first_come.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fairshare/rules.hpp"

using allot::claimant;
using allot::first_come;
using allot::gpus;
using allot::quantity;
using allot_test::granted_by;

namespace {

claimant who(quantity wants, quantity used, std::int64_t since) {
  claimant c{{}, wants, 1000};
  c.used = used;
  c.since = since;
  return c;
}
using amounts = std::vector<std::int64_t>;

}  // namespace

static_assert(allot::surplus_rule<first_come>);

TEST_CASE("first_come: users of the surplus keep it, then the first to wait gets it, whatever the weights") {
  const std::vector<claimant> claimants{who(gpus(8), gpus(0), 1), who(gpus(8), gpus(5), 9),
                                        who(gpus(8), gpus(0), 0)};
  CHECK(granted_by(first_come{}, 5'000, claimants) == amounts{0, 5'000, 0});
  CHECK(granted_by(first_come{}, 9'000, claimants) == amounts{0, 5'000, 4'000});
  CHECK(granted_by(first_come{}, 15'000, claimants) == amounts{2'000, 5'000, 8'000});
  CHECK(granted_by(first_come{}, 23'000, claimants) == amounts{8'000, 7'000, 8'000});
}

TEST_CASE("first_come: when less is left than is used, the last to come loses it") {
  const std::vector<claimant> claimants{who(gpus(8), gpus(4), 2), who(gpus(8), gpus(4), 1),
                                        who(gpus(8), gpus(4), 2)};
  CHECK(granted_by(first_come{}, 9'000, claimants) == amounts{4'000, 4'000, 1'000});
  CHECK(granted_by(first_come{}, 6'000, claimants) == amounts{2'000, 4'000, 0});
}

TEST_CASE("first_come: grants the whole surplus, and more surplus reduces no grant") {
  allot_test::check_law_of_conservation(first_come{});
}

TEST_CASE("first_come: no claimant gets more while an earlier one could use it") {
  allot_test::for_each_seed(1000, [](allot_test::random_source& random) {
    const auto claimants = allot_test::random_claimants(random);
    const std::int64_t surplus = random.between(0, 120);
    const auto granted = granted_by(first_come{}, surplus, claimants);
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      for (std::size_t j = 0; j < claimants.size(); ++j) {
        const claimant& a = claimants[i];
        const claimant& b = claimants[j];
        if (!(a.since != b.since ? a.since < b.since : i < j)) continue;
        // b got something that it does not use now. Then no quota lacks what it uses, and a does not lack
        // what it waits for.
        const std::int64_t b_had = b.granted.in_milli();
        const std::int64_t b_keeps = std::max(b_had, std::min(b.used, b.wants).in_milli());
        if (granted[j] > b_keeps) CHECK(granted[i] == a.wants.in_milli());
        if (granted[j] > b_had) CHECK(granted[i] >= std::min(a.used, a.wants).in_milli());
      }
    }
  });
}
