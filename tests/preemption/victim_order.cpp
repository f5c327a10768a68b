// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::lowest_priority_then_highest_share;
using allot::lowest_priority_then_newest;
using allot::quota_id;
using allot::relation;
using allot::running_job;
using allot::victim_candidate;
using allot_test::random_source;

static_assert(allot::victim_order<lowest_priority_then_highest_share, 1>);
static_assert(allot::victim_order<lowest_priority_then_highest_share, 3>);
static_assert(allot::victim_order<lowest_priority_then_newest, 1>);
static_assert(allot::victim_order<lowest_priority_then_newest, 3>);

namespace {

const quota_id a{1}, b{2}, inner{3}, below{4};

ledger<> make_ledger() {
  return ledger<>{allot::build_quota_tree<1>(
                      {{.name = "pool", .nominal = gpus(80)},
                       {.name = "a", .parent = "pool", .nominal = gpus(10)},
                       {.name = "b", .parent = "pool", .nominal = gpus(10), .weight = fair_weight::whole(2)},
                       {.name = "inner", .parent = "pool", .nominal = gpus(10), .inclusive = true},
                       {.name = "below", .parent = "inner", .nominal = gpus(6)}})
                      .value()};
}

victim_candidate<1> giving(quota_id x, std::int64_t priority, std::int64_t started,
                           relation how = relation::borrower) {
  victim_candidate<1> d{x, how, {}};
  d.next.quota = x;
  d.next.priority = priority;
  d.next.started = started;
  return d;
}

}  // namespace

TEST_CASE("victim_order: other quotas before the beneficiary's own, whatever the priority") {
  const ledger<> l = make_ledger();
  const auto own = giving(a, -5, 9, relation::same_quota);
  const auto other = giving(b, 5, 0);
  CHECK((lowest_priority_then_highest_share{}(l, other) < lowest_priority_then_highest_share{}(l, own)));
  CHECK((lowest_priority_then_newest{}(l, other) < lowest_priority_then_newest{}(l, own)));
}

TEST_CASE("victim_order: lowest priority, then the highest weighted share, then newest") {
  ledger<> l = make_ledger();
  const lowest_priority_then_highest_share order;
  l.charge(a, gpus(14));
  l.charge(b, gpus(16));
  CHECK((order(l, giving(a, 1, 0)) < order(l, giving(b, 2, 5))));
  CHECK((order(l, giving(b, 1, 0)) < order(l, giving(a, 2, 5))));
  // 4 of a weigh more than 6 of b, whose weight is 2; 9 do not.
  CHECK((order(l, giving(a, 1, 0)) < order(l, giving(b, 1, 5))));
  l.charge(b, gpus(3));
  CHECK((order(l, giving(b, 1, 0)) < order(l, giving(a, 1, 5))));
  // Equal shares: first the quota that uses more of its own, then the newest.
  l.release(b, gpus(1));
  CHECK((order(l, giving(b, 1, 4)) < order(l, giving(a, 1, 5))));
  l.release(a, gpus(14));
  l.release(b, gpus(18));
  CHECK((order(l, giving(a, 1, 5)) < order(l, giving(b, 1, 4))));
  CHECK((order(l, giving(b, 1, 5)) < order(l, giving(a, 1, 4))));
}

TEST_CASE("victim_order: quotas within their nominal yield in proportion to their usage") {
  ledger<> l = make_ledger();
  const lowest_priority_then_highest_share order;
  const auto first = [&] {
    return order(l, giving(a, 0, 0, relation::descendant)) <
                   order(l, giving(below, 0, 0, relation::descendant))
               ? a
               : below;
  };
  l.charge(a, gpus(5));
  l.charge(below, gpus(2));
  CHECK(first() == a);  // 5 of 10, 2 of 6
  l.charge(below, gpus(2));
  CHECK(first() == below);
  // A borrower precedes a quota that uses all of its own.
  l.charge(below, gpus(2));
  l.charge(a, gpus(6));
  CHECK(first() == a);
}

TEST_CASE("victim_order: an inner quota is measured by its own jobs, not by its subtree") {
  ledger<> l = make_ledger();
  const lowest_priority_then_highest_share order;
  l.charge(inner, gpus(2));
  l.charge(below, gpus(20));
  const auto before = order(l, giving(inner, 0, 0));
  l.release(below, gpus(20));
  CHECK((order(l, giving(inner, 0, 0)) == before));
  l.charge(inner, gpus(4));
  CHECK((order(l, giving(inner, 0, 0)) < before));
}

TEST_CASE("victim_order: lowest_priority_then_newest ignores shares") {
  ledger<> l = make_ledger();
  const lowest_priority_then_newest order;
  l.charge(a, gpus(50));
  CHECK((order(l, giving(b, 0, 5)) < order(l, giving(a, 0, 4))));
  CHECK((order(l, giving(a, 0, 5)) < order(l, giving(b, 0, 4))));
  CHECK((order(l, giving(b, -1, 0)) < order(l, giving(a, 0, 9))));
}

TEST_CASE("victim_order: with least_at_stake_first the size counts, and the run time of what saves nothing") {
  const ledger<> l = make_ledger();
  const lowest_priority_then_highest_share order{.least_at_stake_first = true};
  const auto running = [](std::int64_t gpus_of, std::int64_t started, std::int64_t checkpoint) {
    auto d = giving(a, 0, started);
    d.next.request = gpus(gpus_of);
    d.next.checkpoint = checkpoint;
    d.now = 1000;
    return d;
  };
  const auto before = [&](const victim_candidate<1>& x, const victim_candidate<1>& y) {
    const bool yes = order(l, x) < order(l, y);
    CHECK(yes == order.within_quota(x.next, y.next, x.now));
    return yes;
  };
  // The smaller one, whatever they lose now; of equal ones the one that loses less.
  CHECK(before(running(1, 901, 50), running(2, 900, 50)));
  CHECK(before(running(2, 900, 50), running(2, 901, 50)));
  // One that saves nothing, if it has just started, but not after hours.
  CHECK(before(running(1, 990, 0), running(1, 900, 50)));
  CHECK(before(running(4, 900, 50), running(1, 0, 0)));
  // A lower priority first, whatever is at stake.
  auto low = running(8, 0, 0);
  low.next.priority = -1;
  CHECK(before(low, running(1, 900, 50)));
}

TEST_CASE("victim_order: keys are a strict total order and depend on the candidate's own usage only") {
  allot_test::for_each_seed(100, [](random_source& random) {
    ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(random, {.most_quotas = 6})}};
    std::vector<victim_candidate<2>> candidates;
    for (std::size_t i = 0; i < 12; ++i) {
      victim_candidate<2> d;
      d.quota = quota_id{random.below(l.tree().slots())};
      d.how = random.pick(std::vector{relation::borrower, relation::descendant, relation::same_quota});
      d.next.priority = random.between(0, 1);
      d.next.started = random.between(0, 1);
      d.next.order = i;
      candidates.push_back(d);
      l.charge(d.quota, {gpus(random.between(0, 9)), gpus(random.between(0, 9))});
    }
    std::vector<lowest_priority_then_highest_share::key_for<2>> keys;
    for (const auto& d : candidates) keys.push_back(lowest_priority_then_highest_share{}(l, d));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t j = 0; j < keys.size(); ++j) {
        CHECK((keys[i] < keys[j]) + (keys[j] < keys[i]) == (i == j ? 0 : 1));
        for (const auto& z : keys) {
          if (keys[i] < keys[j] && keys[j] < z) REQUIRE((keys[i] < z));
        }
      }
    }
    // The key of one candidate does not depend on another.
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      for (const quota_id x : l.tree().top_down()) {
        if (x == candidates[i].quota) continue;
        const auto s = l.save();
        l.charge(x, {gpus(30), gpus(30)});
        CHECK((lowest_priority_then_highest_share{}(l, candidates[i]) == keys[i]));
        l.rollback(s);
      }
    }
  });
}
