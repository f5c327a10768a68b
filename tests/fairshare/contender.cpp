// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/contender.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::account_of;
using allot::contender;
using allot::gpus;
using allot::limit;
using allot::quantity;
using allot::quota_id;

TEST_CASE("contender: a child counts with its whole subtree, own jobs with the quota's own pool") {
  allot::ledger<> l{allot::build_quota_tree<1>(
                        {{.name = "all", .nominal = gpus(20), .inclusive = true},
                         {.name = "a", .parent = "all", .nominal = gpus(8)},
                         {.name = "b", .parent = "all", .nominal = gpus(6), .lend = limit::at_most(gpus(2))}})
                        .value()};
  const quota_id all{0}, b{2};
  l.charge(all, gpus(3));
  l.charge(b, gpus(5));

  const auto own = account_of(l, contender<1>{all, true}, 0);
  CHECK(own.supply == gpus(20 - 8 - 6));
  CHECK(own.used == gpus(3));

  // Of b's 6, 4 can't be lent: they are not part of the tree's capacity.
  const auto whole = account_of(l, contender<1>{all}, 0);
  CHECK(whole.supply == gpus(20 - 4));
  CHECK(whole.used == gpus(3 + 1));
}

TEST_CASE("contender: a leaf is its own jobs") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    allot::ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(random)}};
    for (const quota_id x : l.tree().top_down()) {
      l.charge(x, {gpus(random.between(0, 9)), gpus(random.between(0, 9))});
    }
    for (const quota_id x : l.tree().top_down()) {
      for (std::size_t d = 0; d < 2; ++d) {
        const auto subtree = account_of(l, contender<2>{x}, d);
        const auto own = account_of(l, contender<2>{x, true}, d);
        CHECK(own.used == l.own_usage(x, d));
        if (!l.tree().children(x).empty()) continue;
        CHECK(own.supply == subtree.supply);
        CHECK(own.used == subtree.used);
      }
    }
  });
}
