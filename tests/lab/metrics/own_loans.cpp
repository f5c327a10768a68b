// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/own_loans.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::quantity;
using allot::quota_id;
using allot::resources;

namespace {

/// Jobs start and end; after each step the amounts must be those of a loan book, and the quotas whose amounts
/// have changed must be named.
template <std::size_t N>
void follow(random_source& random) {
  quota_shape shape;
  shape.most_quotas = 10;
  shape.one_unlimited_in = random.one_in(4) ? 8 : 0;
  allot::ledger<N> l{allot::build_quota_tree(random_quotas<N>(random, shape)).value()};
  const std::size_t slots = l.tree().slots();
  allot::lab::own_loans<N> fast;
  fast.reset(l);
  allot::loan_book<N> before{l};
  for (int step = 0; step < 40; ++step) {
    const quota_id x{random.below(slots)};
    resources<N> r;
    for (std::size_t d = 0; d < N; ++d) r[d] = quantity::milli(random.between(0, 9000));
    if (random.one_in(3)) r = l.own_usage(x);
    // What fills a tree, or empties it, is where the rule changes.
    const bool fills = random.one_in(3);
    for (std::size_t d = 0; d < N && fills; ++d) {
      const quantity left = l.headroom(x, d);
      r[d] = left.is_bounded() ? std::max(quantity{}, left) : quantity{};
    }
    if (!fills && random.one_in(2)) {
      for (std::size_t d = 0; d < N; ++d) r[d] = std::min(r[d], l.own_usage(x, d));
      l.release(x, r);
    } else if (l.can_count(x, r)) {
      l.charge(x, r);
    }
    fast.note(l, x);
    std::set<quota_id> named;
    fast.settle(l, allot::per_dimension<bool, N>{true}, [&](quota_id y) { named.insert(y); });
    const allot::loan_book<N> slow{l};
    for (std::size_t i = 0; i < slots; ++i) {
      const quota_id y{i};
      for (std::size_t d = 0; d < N; ++d) {
        REQUIRE(fast.of(y, d).lent == slow.lent(y, d));
        REQUIRE(fast.of(y, d).borrowed == slow.borrowed(y, d));
        const bool is_same =
            slow.lent(y, d) == before.lent(y, d) && slow.borrowed(y, d) == before.borrowed(y, d);
        REQUIRE((is_same || named.count(y) != 0));
      }
    }
    before = slow;
  }
}

}  // namespace

TEST_CASE("own_loans: the amounts of a loan book, however usage changes") {
  for_each_seed(300, [](random_source& random) {
    follow<1>(random);
    follow<2>(random);
  });
}
