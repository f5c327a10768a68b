// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/supply.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/law_oracle.hpp"
#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::limit;
using allot::quantity;
using allot::quota_spec;
using allot::supplies_of;
using allot::supply;

namespace {

std::vector<supply> supplies(std::vector<quota_spec<>> specs) {
  std::vector<supply> result;
  for (const auto& s : supplies_of(allot::quota_tree<>{std::move(specs)})) result.push_back(s[0]);
  return result;
}

}  // namespace

TEST_CASE("supply: an additive quota's nominal is a pool beside its children's") {
  const auto s =
      supplies({{.name = "cohort", .nominal = gpus(2)},
                {.name = "a", .parent = "cohort", .nominal = gpus(6)},
                {.name = "b", .parent = "cohort", .nominal = gpus(5), .lend = limit::at_most(gpus(1))}});
  CHECK(s[0].own_pool == gpus(2));
  CHECK(s[0].total == gpus(2 + 6 + 1));
  CHECK(s[0].children_own == gpus(11));
  CHECK(s[1].kept == quantity{});
  CHECK(s[2].kept == gpus(4));
}

TEST_CASE("supply: an inclusive quota's nominal contains its children's") {
  const auto s = supplies({{.name = "quota1", .nominal = gpus(128), .inclusive = true},
                           {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
                           {.name = "quota1.2", .parent = "quota1", .nominal = gpus(60)}});
  CHECK(s[0].own_pool == gpus(20));
  CHECK(s[0].total == gpus(128));
}

TEST_CASE("supply: what a grandchild keeps is taken off once") {
  const auto s = supplies({{.name = "root", .nominal = gpus(128), .inclusive = true},
                           {.name = "department", .parent = "root", .nominal = gpus(80), .inclusive = true},
                           {.name = "team", .parent = "department", .nominal = gpus(30), .is_static = true}});
  CHECK(s[0].own_pool == gpus(48));
  CHECK(s[1].own_pool == gpus(50));
  CHECK(s[2].kept == gpus(30));
  CHECK(s[1].total == gpus(50));
  CHECK(s[0].total == gpus(98));
}

TEST_CASE("supply: a static quota neither lends nor borrows, elsewhere limits follow the nominal") {
  const auto s = supplies({{.name = "root"},
                           {.name = "a", .parent = "root", .nominal = gpus(10), .is_static = true},
                           {.name = "b",
                            .parent = "root",
                            .nominal = gpus(10),
                            .lend = limit::percent(30),
                            .borrow = limit::percent(250)}});
  CHECK(s[1].lend == quantity{});
  CHECK(s[1].borrow == quantity{});
  CHECK(s[2].lend == gpus(3));
  CHECK(s[2].borrow == gpus(25));
  CHECK(s[2].kept == gpus(7));
}

TEST_CASE("supply: agrees with the recursive definition on random trees") {
  allot_test::for_each_seed(2000, [](allot_test::random_source& random) {
    const auto specs = allot_test::random_quotas<3>(random);
    const allot_test::law_oracle<3> law{specs};
    const auto found = supplies_of(allot::quota_tree<3>{specs});
    for (std::size_t x = 0; x < specs.size(); ++x) {
      for (std::size_t d = 0; d < 3; ++d) {
        CAPTURE(specs[x].name);
        CAPTURE(d);
        const supply& s = found[x][d];
        CHECK(s.total == law.as_quantity(law.supply(x, d)));
        if (s.own_pool != quantity::lowest()) CHECK(s.own_pool == law.as_quantity(law.own_pool(x, d)));
        CHECK(s.lend == law.as_quantity(law.lend(x, d)));
        CHECK(s.borrow == law.as_quantity(law.borrow(x, d)));
        const allot_test::big kept = law.supply(x, d) - law.lend(x, d);
        CHECK(s.kept == law.as_quantity(kept > 0 ? kept : 0));
      }
    }
  });
}
