// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/own_loans.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::quantity;
using allot::quota_id;
using allot::resources;

namespace {

/// The difference of two amounts, or times.
template <class T>
[[nodiscard]] T apart(T a, T b) {
  return a < b ? b - a : a - b;
}

/// Jobs start and end; after each step the amounts must be those of a loan book, but for its rounding, and
/// the integrals the sums of the amounts.
template <std::size_t N>
void follow(random_source& random) {
  quota_shape shape;
  shape.most_quotas = 10;
  shape.one_unlimited_in = random.one_in(4) ? 8 : 0;
  allot::ledger<N> l{allot::build_quota_tree(random_quotas<N>(random, shape)).value()};
  const std::size_t slots = l.tree().slots();
  allot::lab::own_loans<N> fast;
  allot::instant now = 0;
  fast.reset(l, now);
  struct sums {
    allot::wide lent = 0;
    allot::wide borrowed = 0;
  };
  std::vector<sums> of(slots * N);
  allot::wide all = 0;
  allot::instant passed = 0;
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
    random.one_in(10) ? fast.reset(l, now) : fast.note(l, x, now);

    const allot::loan_book<N> slow{l};
    // Each quota above rounds once.
    const auto rounding = static_cast<std::int64_t>(slots);
    const auto span = static_cast<allot::instant>(random.between(0, 100'000));
    for (std::size_t i = 0; i < slots; ++i) {
      const quota_id y{i};
      for (std::size_t d = 0; d < N; ++d) {
        const std::int64_t lent = fast.lent(y, d);
        const std::int64_t borrowed = fast.borrowed(y, d);
        REQUIRE(apart(lent, slow.lent(y, d).in_milli()) <= rounding);
        REQUIRE(apart(borrowed, slow.borrowed(y, d).in_milli()) <= rounding);
        REQUIRE((fast.lends(y, d) || lent == 0));
        REQUIRE((!fast.lends(y, d) || slow.lent(y, d) > quantity{} || lent <= rounding));
        // What is not rounded in the book is not here.
        if (l.is_sound()) REQUIRE(borrowed == slow.borrowed(y, d).in_milli());
        of[i * N + d].lent += static_cast<allot::wide>(lent) * static_cast<allot::wide>(span);
        of[i * N + d].borrowed += static_cast<allot::wide>(borrowed) * static_cast<allot::wide>(span);
        all += static_cast<allot::wide>(slow.lent(y, d).in_milli()) * static_cast<allot::wide>(span);
      }
    }
    now += span;
    passed += span;
    REQUIRE(fast.lent_time(now) == all);
    for (std::size_t i = 0; i < slots; ++i) {
      for (std::size_t d = 0; d < N; ++d) {
        const quota_id y{i};
        // Half a unit for each step, and what the clocks round.
        const auto most = static_cast<allot::wide>(passed / 2 + 2);
        REQUIRE(apart(fast.lent_time(y, d, now), of[i * N + d].lent) <= most);
        REQUIRE(apart(fast.borrowed_time(y, d, now), of[i * N + d].borrowed) <= most);
      }
    }
  }
}

}  // namespace

TEST_CASE("own_loans: the amounts of a loan book, and their integrals, however usage changes") {
  for_each_seed(300, [](random_source& random) {
    follow<1>(random);
    follow<2>(random);
  });
}

TEST_CASE(
    "own_loans: a third of a GPU, lent for three hours, is a GPU-hour to the milli-GPU and millisecond") {
  std::vector<allot::quota_spec<1>> quotas;
  for (const char* name : {"a", "b", "c", "d"}) {
    allot::quota_spec<1> q;
    q.name = name;
    q.parent = "all";
    q.nominal = allot::gpus(name[0] == 'd' ? 0 : 1);
    quotas.push_back(q);
  }
  quotas.push_back({.name = "all"});
  allot::ledger<1> l{allot::build_quota_tree(quotas).value()};
  allot::lab::own_loans<1> loans;
  loans.reset(l, 0);
  const quota_id d = l.tree().find("d");
  l.charge(d, allot::gpus(1));
  loans.note(l, d, 0);
  constexpr allot::instant hour = 3'600'000;
  for (const char* name : {"a", "b", "c"}) {
    const quota_id x = l.tree().find(name);
    CHECK(loans.lent(x, 0) == 333);
    CHECK(loans.lends(x, 0));
    CHECK(loans.lent_time(x, 0, 3 * hour) == allot::wide{1000} * hour);
  }
  CHECK(loans.borrowed_time(d, 0, 3 * hour) == allot::wide{3000} * hour);
}
