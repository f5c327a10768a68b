// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::contender;
using allot::division;
using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::lowest_saturation;
using allot::lowest_total_share;
using allot::quota_id;
using allot::resources;
using allot::subtree_usage;

static_assert(allot::quota_order<lowest_total_share<2>, 2>);
static_assert(allot::quota_order<lowest_saturation<1, division<1>>, 1>);

namespace {

const quota_id root{0}, a{1}, b{2}, a1{3};

}  // namespace

TEST_CASE("total_share: the classic of dominant resource fairness, 9 CPUs and 18 GB") {
  // Tasks of 1 CPU and 4 GB against 3 CPUs and 1 GB: three of the first, two of the second.
  ledger<2> l{allot::build_quota_tree<2>({{.name = "root", .nominal = {gpus(9), gpus(18)}},
                                          {.name = "a", .parent = "root"},
                                          {.name = "b", .parent = "root"}})
                  .value()};
  subtree_usage<2> sums{l};
  allot::tournament<2, lowest_total_share<2>> turns{{{&sums}, {gpus(9), gpus(18)}}};
  turns.reset(l.tree());
  const resources<2> tasks[] = {{}, {gpus(1), gpus(4)}, {gpus(3), gpus(1)}};
  std::int64_t count[] = {0, 0, 0};
  for (const quota_id x : {a, b}) turns.enter(l, x, tasks[x.index()], {});
  for (quota_id x; (x = turns.best(l.tree()));) {
    if (!l.fits(x, tasks[x.index()])) {
      turns.leave(l, x);
      continue;
    }
    l.charge(x, tasks[x.index()]);
    sums.charge(l.tree(), x, tasks[x.index()]);
    ++count[x.index()];
    turns.enter(l, x, tasks[x.index()], {});
  }
  CHECK(count[a.index()] == 3);
  CHECK(count[b.index()] == 2);
}

TEST_CASE("total_share: owned usage counts too, by weight, weight zero is last, among themselves by use") {
  ledger<> l{allot::build_quota_tree<1>(
                 {{.name = "root", .nominal = gpus(90)},
                  {.name = "a", .parent = "root", .nominal = gpus(50), .weight = fair_weight::whole(3)},
                  {.name = "b", .parent = "root", .weight = fair_weight::whole(1)},
                  {.name = "a1", .parent = "a", .nominal = gpus(9), .lend = allot::limit::none()},
                  {.name = "y", .parent = "root", .weight = fair_weight::whole(0)},
                  {.name = "z", .parent = "root", .weight = fair_weight::whole(0)}})
                 .value()};
  const quota_id y{4}, z{5};
  l.charge(a1, gpus(9));
  l.charge(b, gpus(2));
  l.charge(y, gpus(2));
  l.charge(z, gpus(1));
  const subtree_usage<1> sums{l};
  const lowest_total_share<1> order{{&sums}, gpus(100)};
  const auto key = [&](quota_id x) { return order(l, contender<1>{x, false}); };
  // a draws nothing on what it lends, for a1 keeps its 9; but it uses them: 9 / 3 against 2.
  CHECK((key(b) < key(a)));
  l.charge(b, gpus(1));
  const subtree_usage<1> later{l};
  const lowest_total_share<1> after{{&later}, gpus(100)};
  CHECK((after(l, contender<1>{b, false}) == after(l, contender<1>{a, false})));
  CHECK((key(a) < key(y)));
  CHECK((key(z) < key(y)));
  CHECK(key(y).weighted.is_infinite());
  // Including the request of the whole job.
  const lowest_total_share<1> with_job{{&sums, true}, gpus(100)};
  const contender<1> asks{a, false, gpus(0), {}, a1, gpus(3)};
  CHECK((with_job(l, asks).weighted == allot::ratio{4, 100}));
  CHECK((with_job(l, contender<1>{a, true, gpus(3), {}, a, gpus(3)}).weighted == allot::ratio{1, 100}));
  // What has no limit does not matter.
  const lowest_total_share<1> unlimited{{&sums}, resources<1>{allot::quantity::unlimited()}};
  CHECK(unlimited(l, contender<1>{a, false}).weighted.is_zero());
}

TEST_CASE("total_share: saturation is usage over entitlement, usage without entitlement comes last") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(12), .inclusive = true},
                                         {.name = "a", .parent = "root", .nominal = gpus(8)},
                                         {.name = "b", .parent = "root", .nominal = gpus(4)}})
                 .value()};
  division<> shares;
  shares.update(l, std::vector<resources<>>{gpus(1), gpus(9), gpus(9)});
  l.charge(a, gpus(5));
  l.charge(b, gpus(3));
  subtree_usage<1> sums{l};
  const lowest_saturation<1, division<>> order{{&sums}, &shares};
  const auto key = [&](quota_id x) { return order(l, contender<1>{x, x == root}); };
  CHECK((key(a).weighted == allot::ratio{5, 8}));
  CHECK((key(a) < key(b)));
  CHECK(key(root).weighted.is_zero());
  l.charge(root, gpus(1));
  CHECK(key(root).weighted.is_infinite());
  CHECK((key(b) < key(root)));
}

TEST_CASE("total_share: a tournament by entitlements, with new keys when they change") {
  allot_test::for_each_seed(150, [](allot_test::random_source& random) {
    using order = lowest_saturation<1, division<>>;
    ledger<> l{allot::quota_tree<>{allot_test::random_quotas<1>(random, {.one_unlimited_in = 0})}};
    subtree_usage<1> sums{l};
    division<> shares;
    std::vector<resources<>> demand(l.tree().slots());
    shares.update(l, demand);
    allot::tournament<1, order> kept{order{{&sums}, &shares}};
    kept.reset(l.tree());
    std::vector<bool> waits(demand.size());
    const auto enter = [&](allot::tournament<1, order>& t, std::size_t i) {
      const quota_id x{i};
      if (waits[i]) {
        t.enter(l, x, gpus(1), {0, 0, i});
      } else {
        t.leave(l, x);
      }
    };
    for (int i = 0; i < 20; ++i) {
      const std::size_t x = random.below(demand.size());
      waits[x] = !random.one_in(4);
      const resources<> used = gpus(random.between(0, 5));
      l.charge(quota_id{x}, used);
      sums.charge(l.tree(), quota_id{x}, used);
      demand[x] = l.own_usage(quota_id{x}) + resources<>{gpus(random.between(0, 9))};
      shares.change_demand(l, quota_id{x}, demand[x]);
      enter(kept, x);
      kept.refresh_all(l);
      allot::tournament<1, order> anew{kept.order()};
      anew.reset(l.tree());
      for (std::size_t q = 0; q < demand.size(); ++q) enter(anew, q);
      REQUIRE(kept.best(l.tree()) == anew.best(l.tree()));
    }
  });
}
