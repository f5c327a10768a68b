// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/protection.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "tests/support/words.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::ledger;
using allot::quota_id;
using allot::relation;
using allot::runtime_guarantee;
using allot::runtime_source;
using allot::search_progress;
using allot::victim_candidate;

namespace {

struct table {
  std::vector<runtime_guarantee> of;
  const runtime_guarantee& operator()(quota_id x) const { return of[x.index()]; }
};
using minimum = allot::minimum_runtime<table>;
static_assert(allot::victim_protection<allot::unprotected, 1>);
static_assert(allot::victim_protection<minimum, 2>);
static_assert(allot::victim_protection<allot::any_protection<allot::unprotected, minimum>, 1>);

const quota_id d1{1}, a{3}, b{4}, c{5}, alone{6};

ledger<> tree() {
  return ledger<>{allot::build_quota_tree<1>({{.name = "root"},
                                              {.name = "d1", .parent = "root"},
                                              {.name = "d2", .parent = "root"},
                                              {.name = "a", .parent = "d1"},
                                              {.name = "b", .parent = "d1"},
                                              {.name = "c", .parent = "d2"},
                                              {.name = "alone"}})
                      .value()};
}
bool keeps(const minimum& m, quota_id from, quota_id whom, allot::instant ran, bool elastic = false) {
  beneficiary<1> who{from, gpus(1)};
  who.now = 1000;
  victim_candidate<1> d{whom, relation::borrower};
  d.next.quota = whom;
  d.next.started = 1000 - ran;
  d.next.elastic = elastic;
  return m(tree(), who, d, search_progress<1>{});
}

}  // namespace

TEST_CASE("protection: minimum runtime of the victim's quota, to the instant") {
  const minimum m{{{{}, {}, {}, {.preempt = 10, .reclaim = 20}, {}, {}, {}}}, runtime_source::leaf};
  CHECK(keeps(m, b, a, 19));
  CHECK_FALSE(keeps(m, b, a, 20));
  CHECK(keeps(m, a, a, 9));
  CHECK_FALSE(keeps(m, a, a, 10));
  CHECK_FALSE(keeps(m, a, b, 0));
  CHECK_FALSE(keeps(m, b, a, 0, true));
}

TEST_CASE("protection: a quota without a guarantee inherits its parent's") {
  const minimum m{{{{.preempt = 5}, {.reclaim = 30}, {}, {}, {}, {}, {}}}, runtime_source::leaf};
  CHECK(keeps(m, b, a, 29));
  CHECK(keeps(m, c, a, 29));
  CHECK_FALSE(keeps(m, a, c, 0));
  CHECK(keeps(m, a, a, 4));
  CHECK_FALSE(keeps(m, a, a, 5));
}

TEST_CASE("protection: with common_ancestor a department's guarantee counts outside it, a team's inside") {
  const minimum m{
      {{{}, {.reclaim = 30}, {}, {.preempt = 7, .reclaim = 60}, {.reclaim = 10}, {.reclaim = 5}, {}}}};
  CHECK_FALSE(keeps(m, c, a, 30));
  CHECK(keeps(m, c, a, 29));
  CHECK(keeps(m, c, b, 29));
  CHECK(keeps(m, b, a, 59));
  CHECK_FALSE(keeps(m, a, b, 10));
  CHECK_FALSE(keeps(m, a, c, 0));
  CHECK(keeps(m, a, a, 6));
  // Below the beneficiary: its child. In another tree: that tree's root.
  CHECK(keeps(m, d1, a, 59));
  CHECK_FALSE(keeps(m, alone, a, 0));
}

TEST_CASE("protection: any of several protects") {
  const minimum m{{{{}, {}, {}, {.reclaim = 20}, {}, {}, {}}}};
  const allot::any_protection both{allot::unprotected{}, m};
  beneficiary<1> who{b, gpus(1)};
  victim_candidate<1> d{a, relation::borrower};
  d.next.quota = a;
  CHECK(both(tree(), who, d, search_progress<1>{}));
  who.now = 20;
  CHECK_FALSE(both(tree(), who, d, search_progress<1>{}));
}

TEST_CASE("protection: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::runtime_source>(2));
}
