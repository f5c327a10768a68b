// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/borrowed_share.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/law_oracle.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::borrowed_share;
using allot::contender;
using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::ratio;
using allot::resources;
using allot::share_of;
using allot_test::random_source;

namespace {

template <std::size_t N = 1>
ledger<N> make_ledger(std::vector<allot::quota_spec<N>> specs) {
  return ledger<N>{allot::build_quota_tree<N>(std::move(specs)).value()};
}

const quota_id pool{0}, a{1}, b{2};

/// `pool` of 90 and two quotas of 10 and 0.
ledger<> pool_of_100(fair_weight weight_of_a = fair_weight::whole(1),
                     fair_weight weight_of_b = fair_weight::whole(1)) {
  return make_ledger({{.name = "pool", .nominal = gpus(90)},
                      {.name = "a", .parent = "pool", .nominal = gpus(10), .weight = weight_of_a},
                      {.name = "b", .parent = "pool", .weight = weight_of_b}});
}

}  // namespace

TEST_CASE("borrowed_share: borrowed over lendable, with the request") {
  ledger<> l = pool_of_100();
  l.charge(a, gpus(12));
  const auto s = share_of(l, contender<1>{a, false, gpus(3)});
  CHECK(s.borrows);
  CHECK((s.unweighted == ratio{5, 100}));
  CHECK((s.weighted == ratio{5, 100}));
  CHECK_FALSE(share_of(l, contender<1>{b}).borrows);
  CHECK(share_of(l, contender<1>{b}).weighted.is_zero());
}

TEST_CASE("borrowed_share: up to its own a quota borrows nothing, and a root never does") {
  ledger<> l = pool_of_100();
  l.charge(a, gpus(4));
  CHECK_FALSE(share_of(l, contender<1>{a, false, gpus(6)}).borrows);
  CHECK(share_of(l, contender<1>{a, false, gpus(6)}).weighted.is_zero());
  l.charge(pool, gpus(500));
  CHECK_FALSE(share_of(l, contender<1>{pool, false, gpus(6)}).borrows);
  CHECK(share_of(l, contender<1>{pool, false, gpus(6)}).weighted.is_zero());
  // Its own jobs do, of its children.
  CHECK(share_of(l, contender<1>{pool, true, gpus(6)}).borrows);
}

TEST_CASE("borrowed_share: a tiny loan counts, however much could be lent (Kueue #6617)") {
  // 501 of 500 thousandths, of more than a million GPUs: in thousandths of the lendable it is nothing.
  ledger<> l = make_ledger(
      {{.name = "pool", .nominal = gpus(1'000'000)},
       {.name = "a", .parent = "pool", .nominal = quantity::milli(500)},
       {.name = "b", .parent = "pool", .nominal = quantity::milli(500), .weight = fair_weight::whole(300)}});
  for (const quota_id x : {a, b}) l.charge(x, quantity::milli(500));
  const auto of = [&](quota_id x, std::int64_t request) {
    return share_of(l, contender<1>{x, false, quantity::milli(request)});
  };
  CHECK(of(a, 1).borrows);
  CHECK_FALSE(of(a, 1).weighted.is_zero());
  CHECK((of(a, 1) > of(a, 0)));
  CHECK((of(a, 2) > of(a, 1)));
  // Weight 300: a three-hundredth of the same share.
  CHECK_FALSE(of(b, 1).weighted.is_zero());
  CHECK((of(b, 299) < of(a, 1)));
  CHECK((of(b, 300) == of(a, 1)));
  CHECK((of(b, 301) > of(a, 1)));
}

TEST_CASE("borrowed_share: nothing could be lent, yet it borrows (Kueue #6925)") {
  // An overcommitted quota has less than it promised; what is used beyond its capacity is borrowed from no
  // quota.
  ledger<> l = make_ledger({{.name = "pool"}, {.name = "a", .parent = "pool"}});
  l.charge(a, gpus(1));
  const auto s = share_of(l, contender<1>{a, false, gpus(1)});
  CHECK(s.borrows);
  CHECK(s.weighted.is_zero());
}

TEST_CASE("borrowed_share: only requested dimensions make a borrower, but all loans count") {
  auto l =
      make_ledger<2>({{.name = "pool", .nominal = {gpus(10), gpus(10)}}, {.name = "a", .parent = "pool"}});
  l.charge(a, {gpus(0), gpus(5)});
  const auto s = share_of(l, contender<2>{a, false, {gpus(0), gpus(0)}});
  CHECK_FALSE(s.borrows);
  CHECK((s.weighted == ratio{1, 2}));
  // The dimension in which most is borrowed is decisive.
  CHECK((share_of(l, contender<2>{a, false, {gpus(6), gpus(0)}}).weighted == ratio{6, 10}));
  CHECK((share_of(l, contender<2>{a, false, {gpus(4), gpus(0)}}).weighted == ratio{5, 10}));
}

TEST_CASE("borrowed_share: borrowers of weight zero come last, among themselves by what they borrow") {
  ledger<> l = pool_of_100(fair_weight::whole(0), fair_weight::whole(0));
  CHECK(share_of(l, contender<1>{a, false, gpus(11)}).weighted.is_infinite());
  CHECK((share_of(l, contender<1>{a, false, gpus(11)}) < share_of(l, contender<1>{b, false, gpus(2)})));
  CHECK((share_of(l, contender<1>{a, false, gpus(12)}) == share_of(l, contender<1>{b, false, gpus(2)})));
  // Within its nominal quota it borrows nothing, whatever its weight.
  CHECK(share_of(l, contender<1>{a, false, gpus(10)}).weighted.is_zero());
  ledger<> weighted = pool_of_100(fair_weight::whole(0), fair_weight::milli(1));
  CHECK((share_of(weighted, contender<1>{b, false, gpus(90)}) <
         share_of(weighted, contender<1>{a, false, gpus(11)})));
}

TEST_CASE("borrowed_share: no size of amount or weight overflows") {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  ledger<> l = make_ledger({{.name = "pool", .nominal = quantity::milli(most)},
                            {.name = "a", .parent = "pool", .weight = fair_weight::milli(most)},
                            {.name = "b", .parent = "pool", .weight = fair_weight::milli(most - 1)}});
  const auto of = [&](quota_id x, std::int64_t request) {
    return share_of(l, contender<1>{x, false, quantity::milli(request)});
  };
  CHECK((of(a, most - 1) < of(a, most)));
  CHECK((of(a, most) < of(b, most)));
  CHECK((of(a, 1) < of(b, 1)));
  CHECK((of(a, 2) > of(b, 1)));
}

TEST_CASE("borrowed_share: agrees with the definition on random trees") {
  allot_test::for_each_seed(800, [](random_source& random) {
    auto specs = allot_test::random_quotas<2>(random, {.one_unlimited_in = 0});
    allot_test::law_oracle<2> law{specs};
    ledger<2> l{allot::quota_tree<2>{specs}};
    for (const quota_id x : l.tree().top_down()) {
      for (std::size_t d = 0; d < 2; ++d) {
        resources<2> used{quantity{}};
        used[d] = quantity::milli(random.between(0, 9000));
        l.charge(x, used);
        law.add(x.index(), d, used[d].in_milli(), allot::capacity_kind::any);
      }
    }
    for (const quota_id x : l.tree().top_down()) {
      for (const bool own_jobs : {false, true}) {
        const quota_id lender = own_jobs ? x : l.tree().parent(x);
        const resources<2> request{quantity::milli(random.between(0, 3000)),
                                   quantity::milli(random.one_in(2) ? 0 : random.between(0, 3000))};
        bool borrows = false;
        ratio weighted;
        for (std::size_t d = 0; d < 2 && lender; ++d) {
          const auto has = own_jobs ? law.own_pool(x.index(), d) : law.balance(x.index(), d);
          const auto after =
              has - (own_jobs ? law.used(x.index(), d) : 0) - allot_test::big{request[d].in_milli()};
          if (after >= 0) continue;
          borrows = borrows || request[d] > quantity{};
          const quantity lendable = l.potential(lender, d);
          if (lendable <= quantity{}) continue;
          const auto weight = static_cast<allot::wide>(l.tree().spec(x).weight[d].in_milli());
          weighted = std::max(weighted, ratio{static_cast<allot::wide>(-after) * 1000,
                                              static_cast<allot::wide>(lendable.in_milli()) * weight});
        }
        const borrowed_share s = share_of(l, contender<2>{x, own_jobs, request});
        CHECK(s.borrows == borrows);
        CHECK((s.weighted == weighted));
      }
    }
  });
}
