// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/saturation_guard.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using allot::beneficiary;
using allot::gpus;
using allot::ledger;
using allot::quantity;
using allot::quota_id;
using allot::ratio;
using allot::relation;
using allot::victim_candidate;

namespace {

struct due {
  std::vector<quantity> of;
  quantity operator()(quota_id x, std::size_t) const { return of[x.index()]; }
};
using guard = allot::saturation_guard<due>;
static_assert(allot::victim_guard<guard, 1>);
static_assert(allot::victim_guard<guard, 3>);

const quota_id a{1};

/// A pool of 100 from which all borrow.
ledger<> pool(int use_of_a, int use_of_b) {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(100)},
                                         {.name = "a", .parent = "root"},
                                         {.name = "b", .parent = "root"},
                                         {.name = "b1", .parent = "b"}})
                 .value()};
  l.charge(a, gpus(use_of_a));
  l.charge(quota_id{3}, gpus(use_of_b));
  return l;
}
allot::verdict ask(const guard& g, const ledger<>& l, int request, int gang, relation how = relation::rival) {
  victim_candidate<1> d{quota_id{3}, how};
  d.yields = gpus(gang);
  return g(l, beneficiary<1>{a, gpus(request)}, d);
}

}  // namespace

TEST_CASE("saturation_guard: a quota within its entitlement takes from those over theirs") {
  const guard g{due{{gpus(100), gpus(10), gpus(20), {}}}};
  const auto v = ask(g, pool(4, 25), 6, 8);
  CHECK(v.fair);
  CHECK(v.rule == allot::fairness_rule::saturation);
  CHECK(v.beneficiary == ratio{10, 10});
  CHECK(v.victim == ratio{17, 20});
  // Checked before the eviction, so a gang may take its queue below its due (KAI trap 29).
  CHECK(ask(g, pool(4, 21), 6, 8).fair);
  CHECK_FALSE(ask(g, pool(4, 20), 6, 8).fair);
  CHECK(ask(g, pool(4, 25), 6, 8, relation::borrower).fair);
  CHECK_FALSE(ask(g, pool(4, 20), 6, 8, relation::borrower).fair);
  CHECK(ask(g, pool(4, 20), 6, 8, relation::same_quota).fair);
}

TEST_CASE("saturation_guard: over its entitlement it must stay less saturated than the victim, by a margin") {
  const due entitled{{gpus(100), gpus(10), gpus(20), {}}};
  // 12 of 10 against 26 of 20, 24 of 20.
  CHECK(ask(guard{entitled}, pool(4, 34), 8, 8).fair);
  CHECK_FALSE(ask(guard{entitled}, pool(4, 32), 8, 8).fair);
  CHECK(ask(guard{entitled, 13, 12}, pool(4, 36), 8, 8).fair);
  CHECK_FALSE(ask(guard{entitled, 13, 12}, pool(4, 34), 8, 8).fair);
  CHECK_THROWS_AS((guard{entitled, 1, 2}), allot_test::assertion_failed);
}

TEST_CASE("saturation_guard: a side without entitlement yields, an unlimited one is never saturated") {
  CHECK(ask(guard{due{{gpus(100), gpus(1), {}, {}}}}, pool(4, 1), 8, 1).fair);
  CHECK_FALSE(ask(guard{due{{gpus(100), gpus(1), quantity::unlimited(), {}}}}, pool(4, 90), 8, 1).fair);
  const auto v = ask(guard{due{{gpus(100), quantity::unlimited(), gpus(5), {}}}}, pool(40, 6), 8, 1);
  CHECK(v.fair);
  CHECK(v.beneficiary.is_zero());
}

TEST_CASE(
    "saturation_guard: a third quota that asks for too much blocks none, and none takes back (KAI #374)") {
  // a is due 30, b 30, and c, which uses 60 of the 100, 40; the pool is full. a takes 10 from c, not from b,
  // which is within its due; then c, still over its due, gets nothing back from a.
  ledger<> l{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(100)},
                                         {.name = "a", .parent = "root"},
                                         {.name = "b", .parent = "root"},
                                         {.name = "c", .parent = "root"}})
                 .value()};
  const guard g{due{{gpus(100), gpus(30), gpus(30), gpus(40)}}};
  const quota_id c{3};
  l.charge(a, gpus(20));
  l.charge(quota_id{2}, gpus(20));
  l.charge(c, gpus(60));
  const auto takes = [&](quota_id who, quota_id whom) {
    victim_candidate<1> d{whom, relation::rival};
    d.yields = gpus(10);
    return g(l, beneficiary<1>{who, gpus(10)}, d).fair;
  };
  CHECK(takes(a, c));
  CHECK_FALSE(takes(a, quota_id{2}));
  l.release(c, gpus(10));
  l.charge(a, gpus(10));
  CHECK_FALSE(takes(c, a));
  CHECK_FALSE(takes(a, quota_id{2}));
  // The same question, asked twice, has the same answer (KAI v0.7.1).
  CHECK(takes(quota_id{2}, c));
  CHECK(takes(quota_id{2}, c));
}

TEST_CASE("saturation_guard: excess in a dimension that is not requested does not count (KAI)") {
  allot::ledger<2> l{allot::build_quota_tree<2>({{.name = "root", .nominal = {gpus(100), gpus(100)}},
                                                 {.name = "a", .parent = "root"},
                                                 {.name = "b", .parent = "root"}})
                         .value()};
  const guard g{due{{gpus(100), gpus(10), gpus(10)}}};
  l.charge(quota_id{2}, {gpus(20), gpus(5)});
  victim_candidate<2> d{quota_id{2}, relation::rival};
  d.yields = {gpus(1), gpus(1)};
  CHECK(g(l, beneficiary<2>{a, {gpus(1), gpus(0)}}, d).fair);
  CHECK_FALSE(g(l, beneficiary<2>{a, {gpus(0), gpus(1)}}, d).fair);
  // With both requested, it is over in one.
  CHECK(g(l, beneficiary<2>{a, {gpus(1), gpus(1)}}, d).fair);
}
