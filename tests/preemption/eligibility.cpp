// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/eligibility.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"
#include "tests/support/yield_oracle.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::may_preempt;
using allot::owns_request;
using allot::preempt_reclaim;
using allot::preempt_within;
using allot::quota_id;
using allot::reclaimable_dimensions;
using allot::relation;
using allot::running_job;
using allot_test::random_source;

namespace {

constexpr std::array<bool, 1> all{true};

running_job<> running(std::int64_t priority, std::int64_t submitted = 0) {
  running_job<> j;
  j.priority = priority;
  j.submitted = submitted;
  return j;
}

/// root { dept of 4 { a of 4, b }, other of 4 }, all additive.
ledger<> departments() {
  return ledger<>{allot::build_quota_tree<1>({{.name = "root"},
                                              {.name = "dept", .parent = "root", .nominal = gpus(4)},
                                              {.name = "a", .parent = "dept", .nominal = gpus(4)},
                                              {.name = "b", .parent = "dept"},
                                              {.name = "other", .parent = "root", .nominal = gpus(4)}})
                      .value()};
}
const quota_id root{0}, dept{1}, a{2}, b{3};

}  // namespace

TEST_CASE("eligibility: the rules within a quota") {
  beneficiary<1> asks;
  asks.priority = 5;
  asks.submitted = 100;
  const auto may = [&](preempt_within rule, const running_job<>& j) {
    asks.may.within = rule;
    return may_preempt(asks, j, relation::same_quota);
  };
  for (const auto& j : {running(4), running(5, 200), running(6)}) CHECK_FALSE(may(preempt_within::never, j));
  CHECK(may(preempt_within::lower_priority, running(4)));
  CHECK_FALSE(may(preempt_within::lower_priority, running(5, 200)));
  CHECK_FALSE(may(preempt_within::lower_priority, running(6, 200)));
  CHECK(may(preempt_within::lower_or_newer_equal, running(4)));
  CHECK(may(preempt_within::lower_or_newer_equal, running(5, 101)));
  // Strictly newer, or two jobs submitted together would evict one another.
  CHECK_FALSE(may(preempt_within::lower_or_newer_equal, running(5, 100)));
  CHECK_FALSE(may(preempt_within::lower_or_newer_equal, running(6, 200)));
}

TEST_CASE("eligibility: the rules for borrowers and descendants") {
  beneficiary<1> asks;
  asks.priority = 5;
  const auto may = [&](preempt_reclaim rule, std::int64_t priority) {
    asks.may.reclaim = rule;
    return may_preempt(asks, running(priority), relation::borrower);
  };
  CHECK_FALSE(may(preempt_reclaim::never, 4));
  CHECK(may(preempt_reclaim::lower_priority, 4));
  CHECK_FALSE(may(preempt_reclaim::lower_priority, 5));
  CHECK(may(preempt_reclaim::any, 6));
  CHECK_FALSE(may_preempt(asks, running(0), relation::descendant));
  asks.may.children = true;
  CHECK(may_preempt(asks, running(9), relation::descendant));
}

TEST_CASE("eligibility: the rules among borrowers") {
  beneficiary<1> asks;
  asks.priority = 5;
  const auto rival = [&](allot::preempt_rivals rule, std::int64_t priority) {
    asks.may.rivals = rule;
    return may_preempt(asks, running(priority), relation::rival);
  };
  CHECK_FALSE(rival(allot::preempt_rivals::never, 4));
  CHECK(rival(allot::preempt_rivals::lower_priority, 4));
  CHECK_FALSE(rival(allot::preempt_rivals::lower_priority, 5));
  CHECK(rival(allot::preempt_rivals::any, 6));
  const auto borrower = [&](std::int64_t priority) {
    return may_preempt(asks, running(priority), relation::borrower_while_borrowing);
  };
  CHECK_FALSE(borrower(4));
  asks.may.borrow = allot::preempt_borrow::lower_priority;
  CHECK(borrower(4));
  CHECK_FALSE(borrower(5));
  asks.may.borrow_max_priority = 3;
  CHECK(borrower(3));
  CHECK_FALSE(borrower(4));
  asks.may.reclaim = preempt_reclaim::never;
  CHECK_FALSE(borrower(3));
  // These rules never make a job preempt itself.
  for (const relation how : {relation::consolidation, relation::resized, relation::time_limit}) {
    CHECK_FALSE(may_preempt(asks, running(0), how));
  }
}

TEST_CASE("eligibility: what is left when a borrower yields") {
  ledger<> l = departments();
  l.charge(b, gpus(8));
  l.charge(a, gpus(3));
  // dept owns 8 with a, and uses 11.
  CHECK(allot::keeps_its_own(l, b, root, gpus(3), all));
  CHECK_FALSE(allot::keeps_its_own(l, b, root, {gpus(4)}, all));
  CHECK(allot::keeps_its_own(l, b, dept, {gpus(8)}, all));
  CHECK(allot::keeps_its_own(l, b, root, gpus(4), {false}));
  CHECK(allot::uses_any(gpus(4), all));
  CHECK_FALSE(allot::keeps_its_own(l, a, dept, {gpus(1)}, all));
  // Its own jobs count against its own pool.
  l.charge(dept, gpus(3));
  CHECK_FALSE(allot::keeps_its_own(l, dept, root, {gpus(1)}, all));
}

TEST_CASE("eligibility: contested is what does not fit, or all that is requested if a place is missing") {
  allot::ledger<3> l{
      allot::build_quota_tree<3>({{.name = "q", .nominal = {gpus(4), gpus(4), gpus(4)}}}).value()};
  l.charge(quota_id{0}, {gpus(3), gpus(1), gpus(9)});
  beneficiary<3> asks{quota_id{0}, {gpus(2), gpus(2), gpus(0)}};
  // An overused dimension that is not requested is not contested (Kueue #2524).
  CHECK(contested_dimensions(l, asks) == std::array{true, false, false});
  asks.request = {gpus(1), gpus(2), gpus(0)};
  CHECK(contested_dimensions(l, asks) == std::array{true, true, false});
  asks.request[2] = gpus(1);
  CHECK(contested_dimensions(l, asks) == std::array{false, false, true});
}

TEST_CASE("eligibility: a quota owns a request that its own supply has left, and so does all above it") {
  ledger<> l = departments();
  l.charge(a, gpus(1));
  beneficiary<1> asks{a, gpus(3)};
  CHECK(owns_request(l, asks, a, all));
  CHECK(owns_request(l, asks, dept, all));
  asks.request = gpus(4);
  CHECK_FALSE(owns_request(l, asks, a, all));
  CHECK(owns_request(l, asks, dept, all));
  asks.request = gpus(8);
  CHECK_FALSE(owns_request(l, asks, dept, all));
  // b has nothing; its department has.
  asks = {b, gpus(7)};
  CHECK_FALSE(owns_request(l, asks, b, all));
  CHECK(owns_request(l, asks, dept, all));
}

TEST_CASE("eligibility: an inner quota may reclaim its own pool, whatever its children use of it") {
  ledger<> l = departments();
  l.charge(b, gpus(8));
  const beneficiary<1> asks{dept, gpus(4)};
  CHECK(owns_request(l, asks, quota_id::none(), all));
  CHECK(owns_request(l, asks, dept, all));
  CHECK_FALSE(owns_request(l, beneficiary<1>{dept, gpus(5)}, quota_id::none(), all));
  l.release(b, gpus(8));
  // The idle pools of children are not its own, but they are all the department's.
  CHECK_FALSE(owns_request(l, beneficiary<1>{dept, gpus(8)}, quota_id::none(), all));
  CHECK(owns_request(l, beneficiary<1>{dept, gpus(8)}, dept, all));
}

TEST_CASE("eligibility: a quota covered by its ancestor owes nothing beyond it") {
  ledger<> l = departments();
  l.charge(b, gpus(8));
  CHECK(reclaimable_dimensions(l, b, dept, all) == all);
  CHECK(reclaimable_dimensions(l, b, root, all) == std::array{false});
  l.charge(a, gpus(1));
  CHECK(reclaimable_dimensions(l, b, root, all) == all);
  CHECK(reclaimable_dimensions(l, a, root, all) == std::array{false});
  CHECK(reclaimable_dimensions(l, b, root, {false}) == std::array{false});
}

TEST_CASE(
    "eligibility: those below a quota, and those who borrow as all above them do, each after its parent") {
  ledger<> l = departments();
  std::vector<quota_id> seen;
  const auto see = [&](quota_id x) { seen.push_back(x); };
  allot::for_each_descendant(l.tree(), root, see);
  CHECK(seen == std::vector{dept, a, b, quota_id{4}});
  seen.clear();
  allot::for_each_descendant(l.tree(), b, see);
  CHECK(seen.empty());
  // What b borrows is lent by a and owned by dept.
  l.charge(b, gpus(3));
  allot::for_each_borrower(l, dept, all, see);
  CHECK(seen.empty());
  allot::for_each_borrower(l, b, all, see);
  CHECK(seen == std::vector{b});
  // Now other lends, too.
  l.charge(a, gpus(6));
  seen.clear();
  allot::for_each_borrower(l, dept, all, see);
  CHECK(seen == std::vector{dept, a, b});
  seen.clear();
  allot::for_each_borrower(l, dept, {false}, see);
  CHECK(seen.empty());
}

TEST_CASE("eligibility: jobs of an inner quota owe nothing for what only its children borrow") {
  ledger<> l = departments();
  l.charge(dept, gpus(4));
  l.charge(b, gpus(5));
  CHECK(l.balance(dept, 0) < allot::quantity{});
  CHECK(reclaimable_dimensions(l, dept, root, all) == std::array{false});
  CHECK(reclaimable_dimensions(l, b, root, all) == all);
  l.charge(dept, gpus(1));
  CHECK(reclaimable_dimensions(l, dept, root, all) == all);
}

TEST_CASE("eligibility: a loan in one dimension is not one in another") {
  // b borrows dimension 0 from its sibling, a borrows dimension 1 from the other department: nothing of b can
  // be reclaimed from outside the department.
  allot::ledger<2> l{
      allot::build_quota_tree<2>({{.name = "root"},
                                  {.name = "dept", .parent = "root"},
                                  {.name = "a", .parent = "dept", .nominal = {gpus(4), gpus(0)}},
                                  {.name = "b", .parent = "dept", .nominal = {gpus(0), gpus(0)}},
                                  {.name = "other", .parent = "root", .nominal = {gpus(4), gpus(4)}}})
          .value()};
  l.charge(a, {gpus(0), gpus(4)});
  l.charge(b, {gpus(4), gpus(0)});
  CHECK(reclaimable_dimensions(l, b, root, {true, true}) == std::array{false, false});
  CHECK(reclaimable_dimensions(l, b, dept, {true, true}) == std::array{true, false});
  CHECK(reclaimable_dimensions(l, a, root, {true, true}) == std::array{false, true});
}

TEST_CASE("eligibility: agrees with the definitions on random trees") {
  allot_test::for_each_seed(1500, [](random_source& random) {
    // Below an overcommitted quota, guaranteed capacity may be exceeded even when everything is idle.
    const bool overcommit = random.one_in(3);
    ledger<2> l{allot::quota_tree<2>{
        allot_test::random_quotas<2>(random, {.most_quotas = 10, .overcommit = overcommit})}};
    allot_test::yield_oracle<2> oracle{l.tree()};
    const auto& quotas = l.tree().top_down();
    std::vector<running_job<2>> jobs;
    for (int i = 0; i < 12; ++i) {
      running_job<2> j;
      j.quota = random.pick(quotas);
      for (std::size_t d = 0; d < 2; ++d) j.request[d] = gpus(random.between(0, 6));
      // Sometimes over the capacity: a resize may have caused that.
      if (!random.one_in(6) && !l.fits(j.quota, j.request)) continue;
      l.charge(j.quota, j.request);
      oracle.charge(j);
      jobs.push_back(j);
    }
    for (int i = 0; i < 10; ++i) {
      beneficiary<2> asks;
      asks.quota = random.pick(quotas);
      for (std::size_t d = 0; d < 2; ++d) asks.request[d] = gpus(random.between(0, 8));
      asks.in =
          !overcommit && random.one_in(4) ? allot::capacity_kind::guaranteed : allot::capacity_kind::any;
      const auto contested = contested_dimensions(l, asks);
      // When the quota is overused, the ledger lets a request use what its quota keeps (see headroom).
      if (l.is_sound()) CHECK(contested == oracle.contested(asks));
      for (quota_id side = asks.quota; side; side = l.tree().parent(side)) {
        CHECK(owns_request(l, asks, side, contested) == oracle.owns(asks, side, contested));
      }
      CHECK(owns_request(l, asks, quota_id::none(), contested) ==
            oracle.owns(asks, quota_id::none(), contested));
      for (const auto& j : jobs) {
        for (quota_id top = l.tree().parent(j.quota); top; top = l.tree().parent(top)) {
          const auto owed = reclaimable_dimensions(l, j.quota, top, contested);
          bool owes = false;
          for (std::size_t d = 0; d < 2; ++d) owes = owes || (owed[d] && j.request[d] > allot::quantity{});
          CHECK(owes == oracle.owes(j, top, contested));
        }
      }
    }
  });
}

TEST_CASE("eligibility: contested requests, and reclaim while borrowing") {
  using allot::gpus;
  const allot::resources<2> request{gpus(0), gpus(1)};
  CHECK(allot::uses_any<2>(request, {false, true}));
  CHECK_FALSE(allot::uses_any<2>(request, {true, false}));
  CHECK_FALSE(allot::uses_any<2>(request, {false, false}));
  allot::beneficiary<1> asker;
  CHECK_FALSE(allot::asks_others(asker));
  asker.may.rivals = allot::preempt_rivals::lower_priority;
  CHECK(allot::asks_others(asker));
  asker.may = {};
  asker.may.borrow = allot::preempt_borrow::lower_priority;
  CHECK(allot::asks_others(asker));
}

TEST_CASE("eligibility: ranges of priority bound who reclaims, who takes from below, and from which jobs") {
  using allot::relation;
  allot::beneficiary<1> asks;
  asks.may.children = true;
  asks.may.borrow = allot::preempt_borrow::lower_priority;
  const auto victims = [&](relation how, std::int64_t of_priority) {
    asks.priority = of_priority;
    std::string found;
    for (std::int64_t priority = 1; priority <= 9; ++priority) {
      allot::running_job<1> job;
      job.priority = priority;
      if (allot::may_preempt(asks, job, how)) found += std::to_string(priority);
    }
    return found;
  };
  CHECK(victims(relation::descendant, 4) == "123456789");
  asks.may.children_lower_priority = true;
  CHECK(victims(relation::descendant, 4) == "123");
  asks.may.children_priorities = {.preempting = {7, 8}, .preempted = {2, 4}};
  CHECK(victims(relation::descendant, 6).empty());
  CHECK(victims(relation::descendant, 7) == "234");
  CHECK(victims(relation::descendant, 9).empty());
  CHECK(victims(relation::borrower, 5) == "123456789");
  asks.may.reclaim_priorities = {.preempting = {5, 5}, .preempted = {3, 8}};
  CHECK(victims(relation::borrower, 5) == "345678");
  // What may not be reclaimed, may not be taken to borrow it either.
  CHECK(victims(relation::borrower_while_borrowing, 5) == "34");
  CHECK(victims(relation::borrower, 6).empty());
  CHECK(victims(relation::borrower_while_borrowing, 6).empty());
  CHECK(victims(relation::same_quota, 4) == "123");
}

TEST_CASE("eligibility: jobs excluded by priority are never eligible, nor are higher ones") {
  using allot::relation;
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    allot::beneficiary<1> asks;
    asks.may.within = static_cast<allot::preempt_within>(random.below(3));
    asks.may.reclaim = static_cast<allot::preempt_reclaim>(random.below(3));
    asks.may.children = random.one_in(2);
    asks.may.borrow = static_cast<allot::preempt_borrow>(random.below(2));
    asks.may.rivals = static_cast<allot::preempt_rivals>(random.below(3));
    if (random.one_in(2)) asks.may.borrow_max_priority = random.between(-2, 2);
    asks.may.children_lower_priority = random.one_in(2);
    for (allot::priority_bounds* by : {&asks.may.reclaim_priorities, &asks.may.children_priorities}) {
      if (random.one_in(2)) by->preempting.least = random.between(-1, 1);
      if (random.one_in(2)) by->preempting.most = random.between(-1, 1);
      if (random.one_in(2)) by->preempted.most = random.between(-2, 2);
    }
    for (const relation how :
         {relation::borrower, relation::descendant, relation::same_quota, relation::rival,
          relation::borrower_while_borrowing, relation::consolidation}) {
      bool was_ruled_out = false;
      for (std::int64_t priority = -3; priority <= 3; ++priority) {
        const bool is_ruled_out = allot::rules_out(asks, priority, how);
        CHECK((is_ruled_out || !was_ruled_out));
        was_ruled_out = is_ruled_out;
        allot::running_job<1> newest;
        newest.priority = priority;
        newest.submitted = 1;
        CHECK(allot::may_preempt(asks, newest, how) == !is_ruled_out);
      }
    }
  });
}

TEST_CASE("eligibility: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::relation>(8));
}
