// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/subtree_usage.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quota_id;
using allot::resources;
using allot::subtree_usage;

TEST_CASE("subtree_usage: is the ledger's, kept up to date or built again") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    allot::ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(random)}};
    subtree_usage<2> sums{l};
    for (int i = 0; i < 40; ++i) {
      const quota_id x{random.below(l.tree().slots())};
      const resources<2> request{gpus(random.between(0, 5)), gpus(random.between(0, 5))};
      if (random.one_in(3) && allot::all_at_most(request, l.own_usage(x))) {
        l.release(x, request);
        sums.release(l.tree(), x, request);
      } else {
        l.charge(x, request);
        sums.charge(l.tree(), x, request);
      }
    }
    const subtree_usage<2> anew{l};
    for (const quota_id x : l.tree().top_down()) {
      CHECK(sums.of(x) == l.total_usage(x));
      CHECK(anew.of(x) == l.total_usage(x));
    }
  });
}

TEST_CASE("subtree_usage: an unknown quota has no usage") {
  const allot::ledger<> l{allot::quota_tree<>{{{.name = "a"}}}};
  const subtree_usage<> sums{l};
  for (const quota_id x : {quota_id{1}, quota_id::none()}) {
    CHECK(sums.of(x) == resources<>{});
    CHECK(subtree_usage<>{}.of(x) == resources<>{});
  }
}
