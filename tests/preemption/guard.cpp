// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/guard.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>

#include "tests/support/words.hpp"

using allot::arriving_at;
using allot::ask_guard;
using allot::beneficiary;
using allot::fair_weight;
using allot::fairness_rule;
using allot::final_share;
using allot::gpus;
using allot::initial_share;
using allot::ledger;
using allot::quota_id;
using allot::ratio;
using allot::relation;
using allot::resources;
using allot::verdict;
using allot::victim_candidate;

static_assert(allot::victim_guard<allot::eligible_is_fair, 1>);
static_assert(allot::victim_guard<allot::eligible_is_fair, 4>);
static_assert(std::is_empty_v<allot::eligible_is_fair>);
static_assert(allot::victim_guard<final_share, 2>);
static_assert(allot::victim_guard<initial_share, 2>);
static_assert(allot::victim_guard<allot::final_then_initial_share, 2>);
/// Returns something other than yes or no.
struct undecided {
  int operator()(const ledger<1>&, const beneficiary<1>&, const victim_candidate<1>&) const { return 1; }
};
static_assert(!allot::victim_guard<undecided, 1>);
/// Keeps state, so it may judge the same case in two ways (KAI v0.7.1).
struct forgetful {
  bool operator()(const ledger<1>&, const beneficiary<1>&, const victim_candidate<1>&) {
    return seen = !seen;
  }
  bool seen = false;
};
static_assert(!allot::victim_guard<forgetful, 1>);

namespace {

const quota_id root{0}, left{1}, right{2}, l1{3}, l2{4}, r1{5};

/// root of 20 { left { l1 owns 2 and keeps 1, l2 }, right of weight 2 { r1 } }.
ledger<> tree() {
  return ledger<>{
      allot::build_quota_tree<1>(
          {{.name = "root", .nominal = gpus(20)},
           {.name = "left", .parent = "root"},
           {.name = "right", .parent = "root", .weight = fair_weight::whole(2)},
           {.name = "l1", .parent = "left", .nominal = gpus(2), .lend = allot::limit::at_most(gpus(1))},
           {.name = "l2", .parent = "left"},
           {.name = "r1", .parent = "right"}})
          .value()};
}
victim_candidate<1> gives(quota_id x, int gang, relation how = relation::rival) {
  victim_candidate<1> d{x, how};
  d.yields = gpus(gang);
  return d;
}
beneficiary<1> asks(quota_id x, int gang) {
  return {x, gpus(gang)};
}

}  // namespace

TEST_CASE("guard: eligible_is_fair adds no test and never accepts rivals") {
  const ledger<> l = tree();
  for (const relation how :
       {relation::borrower, relation::descendant, relation::same_quota, relation::borrower_while_borrowing}) {
    CHECK(allot::eligible_is_fair{}(l, beneficiary<1>{}, gives(r1, 1, how)));
    CHECK(final_share{}(l, beneficiary<1>{}, gives(r1, 1, how)).fair);
    CHECK(initial_share{}(l, beneficiary<1>{}, gives(r1, 1, how)).fair);
  }
  CHECK_FALSE(allot::eligible_is_fair{}(l, beneficiary<1>{}, gives(r1, 1)));
}

TEST_CASE("guard: what a quota keeps does not count above it") {
  ledger<> l = tree();
  CHECK(arriving_at(l, l1, root, gpus(3)) == resources<1>{gpus(2)});
  CHECK(arriving_at(l, l1, l1, gpus(3)) == resources<1>{gpus(3)});
  l.charge(l1, gpus(3));
  CHECK(arriving_at(l, l1, root, gpus(3)) == resources<1>{gpus(3)});
  CHECK(arriving_at(l, l1, root, -gpus(3)) == resources<1>{-gpus(2)});
  CHECK(arriving_at(l, l2, root, gpus(3)) == resources<1>{gpus(3)});
  // An amount arrives only at quotas on its path.
  for (const quota_id elsewhere : {r1, quota_id{70'000}, quota_id::none()}) {
    CHECK(arriving_at(l, l1, elsewhere, gpus(3)) == resources<1>{});
    CHECK(arriving_at(l, elsewhere, left, gpus(3)) == resources<1>{});
  }
}

TEST_CASE("guard: the sides are the children of the lowest common ancestor, or its own jobs") {
  ledger<> l = tree();
  l.charge(r1, gpus(2));
  const auto apart = sides_of(l, asks(l2, 1), gives(r1, 2));
  CHECK(apart.beneficiary.quota == left);
  CHECK(apart.victim.quota == right);
  CHECK_FALSE(apart.beneficiary.own_jobs);
  CHECK(apart.victim.request == resources<1>{-gpus(2)});
  const auto siblings = sides_of(l, asks(l2, 1), gives(l1, 1));
  CHECK(siblings.beneficiary.quota == l2);
  CHECK(siblings.victim.quota == l1);
  const auto below = sides_of(l, asks(left, 1), gives(l2, 1));
  CHECK(below.beneficiary.quota == left);
  CHECK(below.beneficiary.own_jobs);
  CHECK(below.victim.quota == l2);
}

TEST_CASE("guard: the final and the initial share, by weight") {
  ledger<> l = tree();
  l.charge(r1, gpus(12));
  // left would borrow 4 of the 21 that could be lent; right 12 less 4, at half the weight: equal.
  const verdict even = final_share{}(l, asks(l2, 5), gives(r1, 4));
  CHECK(even.fair);
  CHECK(even.rule == fairness_rule::final_share);
  CHECK(even.beneficiary == even.victim);
  CHECK(even.beneficiary == ratio{4, 21});
  CHECK_FALSE(final_share{}(l, asks(l2, 6), gives(r1, 4)).fair);
  CHECK_FALSE(final_share{}(l, asks(l2, 5), gives(r1, 5)).fair);
  const verdict before = initial_share{}(l, asks(l2, 6), gives(r1, 12));
  CHECK(before.fair);
  CHECK(before.rule == fairness_rule::initial_share);
  CHECK(before.victim == ratio{6, 21});
  CHECK_FALSE(initial_share{}(l, asks(l2, 7), gives(r1, 12)).fair);
}

TEST_CASE("guard: equal shares do not move what does not raise a share") {
  // Both borrow 8 of dimension 1, which is dominant, and compete for dimension 0.
  allot::ledger<2> l{allot::build_quota_tree<2>({{.name = "root", .nominal = {gpus(20), gpus(20)}},
                                                 {.name = "A", .parent = "root"},
                                                 {.name = "B", .parent = "root"}})
                         .value()};
  l.charge(quota_id{1}, {gpus(0), gpus(8)});
  l.charge(quota_id{2}, {gpus(2), gpus(8)});
  const beneficiary<2> b{quota_id{1}, {gpus(1), gpus(0)}};
  victim_candidate<2> d{quota_id{2}, relation::rival};
  d.yields = {gpus(1), gpus(0)};
  CHECK_FALSE(final_share{}(l, b, d).fair);
  l.release(quota_id{1}, {gpus(0), gpus(1)});
  CHECK(final_share{}(l, b, d).fair);
}

TEST_CASE("guard: quotas of weight zero are compared by what they borrow (Kueue #14671)") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(20)},
                                         {.name = "A", .parent = "root", .weight = fair_weight::whole(0)},
                                         {.name = "B", .parent = "root", .weight = fair_weight::whole(0)},
                                         {.name = "C", .parent = "root"}})
                 .value()};
  l.charge(quota_id{2}, gpus(6));
  l.charge(quota_id{3}, gpus(9));
  const verdict v = final_share{}(l, asks(quota_id{1}, 3), gives(quota_id{2}, 3));
  CHECK(v.fair);
  CHECK(v.beneficiary == ratio{3, 20});
  CHECK(v.victim == ratio{3, 20});
  CHECK_FALSE(final_share{}(l, asks(quota_id{1}, 1), gives(quota_id{3}, 1)).fair);
  CHECK_FALSE(initial_share{}(l, asks(quota_id{1}, 1), gives(quota_id{3}, 1)).fair);
  CHECK(initial_share{}(l, asks(quota_id{3}, 1), gives(quota_id{1}, 1)).fair == false);
  CHECK(initial_share{}(l, asks(quota_id{3}, 1), gives(quota_id{2}, 6)).fair);
}

TEST_CASE("guard: guards of every kind return a verdict") {
  ledger<> l = tree();
  l.charge(r1, gpus(12));
  const auto b = asks(l2, 6);
  CHECK(ask_guard<1>(allot::eligible_is_fair{}, l, b, gives(r1, 1, relation::borrower), 0).fair);
  CHECK(ask_guard<1>(final_share{}, l, b, gives(r1, 4), 0).rule == fairness_rule::final_share);
  const allot::final_then_initial_share both;
  CHECK_FALSE(ask_guard<1>(both, l, b, gives(r1, 4), 0).fair);
  CHECK(ask_guard<1>(both, l, b, gives(r1, 4), 1).fair);
}

TEST_CASE("guard: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::fairness_rule>(4));
}
