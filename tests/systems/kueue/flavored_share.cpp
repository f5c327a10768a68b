// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kueue/detail/flavored_share.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::flavored_shares;
using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::ratio;
using allot::resources;

namespace {

resources<3> amounts(std::int64_t spot, std::int64_t on_demand, std::int64_t gpu) {
  resources<3> r;
  r[0] = quantity::whole(spot);
  r[1] = quantity::whole(on_demand);
  r[2] = quantity::whole(gpu);
  return r;
}
ledger<3> make_ledger(std::vector<allot::quota_spec<3>> specs) {
  return ledger<3>{allot::build_quota_tree<3>(std::move(specs)).value()};
}

/// Two flavors of cpu, one of gpu.
constexpr allot::resource_numbers<3> two_flavors{0, 0, 1};
const quota_id pool{0}, a{1}, b{2};

}  // namespace

TEST_CASE("flavored_share: loans in the flavors of a resource add up, against all its flavors") {
  ledger<3> l = make_ledger({{.name = "pool", .nominal = amounts(10, 20, 10)},
                             {.name = "a", .parent = "pool", .nominal = amounts(10, 0, 0)},
                             {.name = "b", .parent = "pool"}});
  flavored_shares<3> shares{two_flavors};
  shares.reset(l);
  l.charge(a, amounts(12, 5, 2));
  const auto s = shares.share_of(l, a);
  CHECK(s.borrows);
  CHECK((s.unweighted == ratio{2, 10}));  // gpu; of cpu it is 7 of 40
  l.charge(a, amounts(0, 3, 0));
  CHECK((shares.share_of(l, a).unweighted == ratio{10, 40}));
  // Separately, the second flavor would be 8 of 20.
  flavored_shares<3> apart;
  apart.reset(l);
  CHECK((apart.share_of(l, a).unweighted == ratio{8, 20}));
}

TEST_CASE("flavored_share: idle quota in one flavor does not make good a loan in another") {
  ledger<3> l = make_ledger({{.name = "pool", .nominal = amounts(0, 10, 0)},
                             {.name = "a", .parent = "pool", .nominal = amounts(10, 0, 0)},
                             {.name = "b", .parent = "pool"}});
  flavored_shares<3> shares{two_flavors};
  shares.reset(l);
  l.charge(a, amounts(0, 1, 0));
  CHECK((shares.share_of(l, a).unweighted == ratio{1, 20}));
}

TEST_CASE("flavored_share: weight zero") {
  ledger<3> l = make_ledger({{.name = "pool", .nominal = amounts(10, 0, 0)},
                             {.name = "a",
                              .parent = "pool",
                              .lend = allot::limits<3>{limit::at_most({})},
                              .weight = fair_weight::whole(0)},
                             {.name = "b", .parent = "pool"}});
  flavored_shares<3> shares{two_flavors};
  shares.reset(l);
  CHECK_FALSE(shares.share_of(l, a).borrows);
  CHECK(shares.share_of(l, a).weighted.is_zero());
  l.charge(a, amounts(1, 0, 0));
  CHECK(shares.share_of(l, a).weighted.is_infinite());
  CHECK((shares.share_of(l, a).unweighted == ratio{1, 10}));
  l.charge(b, amounts(9, 0, 0));
  CHECK(shares.share_of(l, b) < shares.share_of(l, a));
  // A resource with no capacity adds nothing to a share; a request for it still counts as borrowing (Kueue
  // #6617).
  l.release(a, amounts(1, 0, 0));
  l.charge(a, amounts(0, 0, 1));
  CHECK(shares.share_of(l, a).borrows);
  CHECK(shares.share_of(l, a).weighted.is_zero());
  CHECK_FALSE(shares.share_of(l, pool).borrows);
}

TEST_CASE("flavored_share: own jobs of a quota with children") {
  ledger<3> l = make_ledger({{.name = "pool", .nominal = amounts(10, 0, 0)},
                             {.name = "a", .parent = "pool", .nominal = amounts(10, 0, 0)},
                             {.name = "b", .parent = "pool"}});
  flavored_shares<3> shares{two_flavors};
  shares.reset(l);
  l.charge(pool, amounts(12, 0, 0));
  CHECK((shares.own_share_of(l, pool).unweighted == ratio{2, 20}));
  l.charge(a, amounts(11, 0, 0));
  CHECK(shares.own_share_of(l, a) == shares.share_of(l, a));
}

TEST_CASE("flavored_share: with one flavor per resource it is the plain borrowed share") {
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    ledger<2> l{
        allot::build_quota_tree<2>(allot_test::random_quotas<2>(random, {.one_unlimited_in = 0})).value()};
    flavored_shares<2> shares;
    shares.reset(l);
    for (const quota_id x : l.tree().top_down()) {
      l.charge(x, {quantity::milli(random.between(0, 9000)), quantity::milli(random.between(0, 9000))});
    }
    for (const quota_id x : l.tree().top_down()) {
      const auto known = allot::share_of(l, allot::contender<2>{x, false, {}});
      const auto found = shares.share_of(l, x);
      CHECK(found.weighted == known.weighted);
      CHECK(found.unweighted == known.unweighted);
    }
  });
}
