// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/guard.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using allot::beneficiary;
using allot::donor;
using allot::ledger;

static_assert(allot::victim_guard<allot::eligible_is_fair, 1>);
static_assert(allot::victim_guard<allot::eligible_is_fair, 4>);
static_assert(std::is_empty_v<allot::eligible_is_fair>);
/// Says something else than yes or no.
struct undecided {
  int operator()(const ledger<1>&, const beneficiary<1>&, const donor<1>&) const { return 1; }
};
static_assert(!allot::victim_guard<undecided, 1>);
/// Remembers whom it has seen, so that it may judge the same case twice in two ways (KAI v0.7.1).
struct forgetful {
  bool operator()(const ledger<1>&, const beneficiary<1>&, const donor<1>&) { return seen = !seen; }
  bool seen = false;
};
static_assert(!allot::victim_guard<forgetful, 1>);

TEST_CASE("guard: eligible_is_fair adds no test of its own") {
  const ledger<> l{allot::build_quota_tree<1>({{.name = "q"}}).value()};
  CHECK(allot::eligible_is_fair{}(l, beneficiary<1>{}, donor<1>{}));
}
