// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/order.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::best_job_first;
using allot::contender;
using allot::fair_weight;
using allot::gpus;
using allot::quota_id;
using allot::within_nominal_then_borrowed_share;

static_assert(allot::quota_order<within_nominal_then_borrowed_share, 1>);
static_assert(allot::quota_order<within_nominal_then_borrowed_share, 4>);
static_assert(allot::quota_order<best_job_first, 1>);
// An order that changes while it is asked, or returns something without an order, is not accepted.
struct forgetful {
  int operator()(const allot::ledger<1>&, const contender<1>&) { return ++asked; }
  int asked = 0;
};
static_assert(!allot::quota_order<forgetful, 1>);
struct unordered {
  struct key {};
  key operator()(const allot::ledger<1>&, const contender<1>&) const { return {}; }
};
static_assert(!allot::quota_order<unordered, 1>);

namespace {

const quota_id a{1}, b{2};

allot::ledger<> two_of_10(fair_weight weight_of_b = fair_weight::whole(1)) {
  return allot::ledger<>{allot::build_quota_tree<1>(
                             {{.name = "pool"},
                              {.name = "a", .parent = "pool", .nominal = gpus(10)},
                              {.name = "b", .parent = "pool", .nominal = gpus(10), .weight = weight_of_b}})
                             .value()};
}

}  // namespace

TEST_CASE("order: a quota within its nominal comes before a better job of one that borrows") {
  allot::ledger<> l = two_of_10();
  l.charge(a, gpus(9));
  const within_nominal_then_borrowed_share order;
  const contender<1> borrowing{a, false, gpus(2), {-100, 0, 0}};
  const contender<1> within{b, false, gpus(10), {0, 99, 99}};
  CHECK((order(l, within) < order(l, borrowing)));
  CHECK((best_job_first{}(l, borrowing) < best_job_first{}(l, within)));
}

TEST_CASE("order: among borrowers the lowest weighted share comes first, then the best job") {
  allot::ledger<> l = two_of_10(fair_weight::whole(3));
  l.charge(a, gpus(10));
  l.charge(b, gpus(10));
  const within_nominal_then_borrowed_share order;
  const auto key = [&](quota_id x, int request, std::int64_t rank = 0) {
    return order(l, contender<1>{x, false, gpus(request), {rank, 0, 0}});
  };
  CHECK((key(b, 2) < key(a, 1)));
  CHECK((key(b, 4) > key(a, 1)));
  CHECK((key(b, 3, 1) > key(a, 1, 0)));
  CHECK((key(b, 3, 0) < key(a, 1, 1)));
}

TEST_CASE("order: a borrower that requests nothing contested counts as within its own") {
  allot::ledger<2> l{
      allot::build_quota_tree<2>({{.name = "pool", .nominal = {gpus(9), gpus(9)}},
                                  {.name = "a", .parent = "pool", .nominal = {gpus(2), gpus(0)}},
                                  {.name = "b", .parent = "pool"}})
          .value()};
  l.charge(a, {gpus(0), gpus(8)});
  const within_nominal_then_borrowed_share order;
  const contender<2> asks_what_it_owns{a, false, {gpus(2), gpus(0)}};
  const contender<2> borrows{b, false, {gpus(1), gpus(0)}};
  CHECK((order(l, asks_what_it_owns) < order(l, borrows)));
}

TEST_CASE("order: within nominal, by priority, by submission, and one after the other") {
  allot::ledger<> l{
      allot::build_quota_tree<1>({{.name = "pool", .nominal = gpus(20)},
                                  {.name = "a", .parent = "pool", .nominal = gpus(10), .priority = 5},
                                  {.name = "b", .parent = "pool", .nominal = gpus(10), .priority = -5},
                                  {.name = "c", .parent = "pool", .nominal = gpus(10), .priority = 5}})
          .value()};
  l.charge(a, gpus(8));
  const quota_id c{3};
  const contender<1> from_a{a, false, gpus(3), {-9, 5, 1}};
  const contender<1> from_b{b, false, gpus(3), {0, 7, 2}};
  const contender<1> from_c{c, false, gpus(3), {0, 6, 3}};
  const allot::within_nominal_first within;
  CHECK((within(l, from_b) < within(l, from_a)));
  CHECK(within(l, from_b) == within(l, from_c));
  CHECK_FALSE(within(l, contender<1>{a, false, gpus(2), {}}));
  // A quota that is over already but requests none of that dimension blocks no other.
  l.charge(a, gpus(4));
  CHECK_FALSE(within(l, contender<1>{a, false, gpus(0), {}}));
  const allot::highest_priority_first priority;
  CHECK((priority(l, from_a) < priority(l, from_b)));
  CHECK(priority(l, from_a) == priority(l, from_c));
  const allot::submission_first submission;
  CHECK((submission(l, from_a) < submission(l, from_c)));
  CHECK((submission(l, from_c) < submission(l, from_b)));
  using all =
      allot::lexicographic<allot::within_nominal_first, allot::highest_priority_first, best_job_first>;
  static_assert(allot::quota_order<all, 1>);
  const all order;
  CHECK((order(l, from_c) < order(l, from_b)));
  CHECK((order(l, from_b) < order(l, from_a)));
  const allot::lexicographic reversed{priority, within};
  CHECK((reversed(l, from_c) < reversed(l, from_a)));
  CHECK((reversed(l, from_a) < reversed(l, from_b)));
}

TEST_CASE("order: keys are a strict total order") {
  allot_test::for_each_seed(60, [](allot_test::random_source& random) {
    auto specs = allot_test::random_quotas<2>(random);
    for (auto& s : specs) {
      if (random.one_in(3)) s.weight = {fair_weight::whole(0), fair_weight::milli(random.between(0, 2))};
    }
    allot::ledger<2> l{allot::quota_tree<2>{specs}};
    for (const quota_id x : l.tree().top_down()) l.charge(x, {gpus(random.between(0, 9)), gpus(2)});
    std::vector<within_nominal_then_borrowed_share::key> keys;
    for (const quota_id x : l.tree().top_down()) {
      for (int i = 0; i < 2; ++i) {
        const contender<2> c{x,
                             random.one_in(3),
                             {gpus(random.between(0, 3)), gpus(random.between(0, 1))},
                             {random.between(0, 1), random.between(0, 1), random.below(2)}};
        keys.push_back(within_nominal_then_borrowed_share{}(l, c));
      }
    }
    for (const auto& x : keys) {
      CHECK((x == x));
      for (const auto& y : keys) {
        CHECK((x < y) + (y < x) + (x == y) == 1);
        for (const auto& z : keys) {
          if (x < y && y < z) REQUIRE((x < z));
          if (x == y && y == z) REQUIRE((x == z));
        }
      }
    }
  });
}
