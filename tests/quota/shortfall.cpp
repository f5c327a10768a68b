// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/quota/shortfall.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/words.hpp"

using allot::binding_shortfall;
using allot::bound;
using allot::capacity_kind;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot::shortfall;

namespace {

template <std::size_t N>
std::vector<shortfall> shortfalls(const ledger<N>& l, quota_id x, const resources<N>& request,
                                  capacity_kind in) {
  std::vector<shortfall> found;
  allot::for_each_shortfall(l, x, request, in, [&](const shortfall& s) { found.push_back(s); });
  return found;
}

/// Grants what the shortfalls report as missing. A quota that has used its supply and may not borrow can be
/// given either: a larger nominal quota or, unless it is static, permission to borrow.
template <std::size_t N>
std::vector<quota_spec<N>> granted(const ledger<N>& l, const std::vector<shortfall>& missing,
                                   bool lend_nominal) {
  const auto now = l.tree().specs();
  std::vector<quota_spec<N>> specs(now.begin(), now.end());
  std::vector<resources<N>> raise(specs.size());
  for (const shortfall& s : missing) {
    quota_spec<N>& spec = specs[s.quota.index()];
    const bool as_limit =
        s.kind == bound::borrow_limit || (s.kind == bound::nominal && lend_nominal && !spec.is_static);
    if (as_limit) {
      spec.borrow[s.dimension] = limit::at_most(l.supply_of(s.quota, s.dimension).borrow + s.missing);
    } else {
      // Both lanes may ask for more of the same nominal quota; the larger amount satisfies both.
      quantity& most = raise[s.quota.index()][s.dimension];
      most = std::max(most, s.missing);
    }
  }
  // An inclusive parent's nominal quota contains its children's, so it grows by as much.
  const auto order = l.tree().top_down();
  std::vector<resources<N>> carried(specs.size());
  for (auto x = order.rbegin(); x != order.rend(); ++x) {
    quota_spec<N>& spec = specs[x->index()];
    for (std::size_t d = 0; d < N; ++d) {
      quantity below;
      for (const quota_id c : l.tree().children(*x)) below += carried[c.index()][d];
      quantity& more = raise[x->index()][d];
      if (spec.inclusive) more = std::max(more, below);
      spec.nominal[d] += more;
      carried[x->index()][d] = spec.inclusive ? more : more + below;
    }
  }
  return specs;
}

template <std::size_t N>
void granting_admits(allot_test::random_source& random) {
  allot_test::quota_shape shape;
  // Percentages would follow the nominal quota, and the granted amount would no longer be the missing one.
  shape.percent = random.one_in(2);
  ledger<N> l{allot::build_quota_tree(allot_test::random_quotas<N>(random, shape)).value()};
  const auto request = [&] {
    resources<N> r;
    for (std::size_t d = 0; d < N; ++d) {
      if (!random.one_in(3)) r[d] = allot_test::detail::random_amount(random);
    }
    return r;
  };
  for (int i = 0; i < 8; ++i) {
    const quota_id x = random.pick(l.tree().top_down());
    const resources<N> amount = request();
    l.charge(x, amount, random.one_in(3) ? capacity_kind::guaranteed : capacity_kind::any);
  }
  const quota_id x = random.pick(l.tree().top_down());
  const resources<N> wanted = request();
  const capacity_kind in = random.one_in(2) ? capacity_kind::guaranteed : capacity_kind::any;
  const auto missing = shortfalls(l, x, wanted, in);
  CHECK(missing.empty() == l.fits(x, wanted, in));

  const auto worst = binding_shortfall(l, x, wanted, in);
  CHECK(worst.has_value() == !missing.empty());
  for (const shortfall& s : missing) {
    CHECK(s.missing > quantity{});
    CHECK(s.missing <= worst->missing);
  }

  // Whatever others do: with nothing in use.
  const auto lasting = allot::lasting_shortfall(l, x, wanted, in);
  CHECK(lasting == binding_shortfall(ledger<N>{l.tree()}, x, wanted, in));
  bool is_above = false;
  for (std::size_t d = 0; d < N; ++d) {
    is_above = is_above || (wanted[d] > quantity{} && wanted[d] > l.potential(x, d, in));
  }
  CHECK(lasting.has_value() == is_above);
  if (lasting) CHECK(worst->missing >= lasting->missing);
  if (missing.empty()) return;
  for (const bool lend_nominal : {false, true}) {
    CAPTURE(lend_nominal);
    const auto specs = granted(l, missing, lend_nominal);
    CHECK(allot::build_quota_tree(specs));
    ledger<N> more = l;
    more.replace_tree(allot::quota_tree<N>{specs});
    CHECK(more.fits(x, wanted, in));
  }
}

}  // namespace

TEST_CASE("shortfall: every kind, with the missing amount") {
  const quota_id cohort{0}, a{1}, b{2}, c{3};
  ledger<> l{allot::build_quota_tree<1>(
                 {{.name = "cohort"},
                  {.name = "a", .parent = "cohort", .nominal = gpus(6)},
                  {.name = "b", .parent = "cohort", .nominal = gpus(5), .borrow = limit::percent(40)},
                  {.name = "c", .parent = "cohort", .nominal = gpus(1), .borrow = limit::none()}})
                 .value()};
  l.charge(a, gpus(2));
  l.charge(b, gpus(4));
  const auto all = [&](quota_id x, quantity q, capacity_kind in = capacity_kind::any) {
    return shortfalls(l, x, resources<1>{q}, in);
  };
  CHECK(all(b, gpus(3)).empty());
  CHECK(all(b, gpus(4)) == std::vector{shortfall{b, 0, bound::borrow_limit, gpus(1)}});
  CHECK(all(c, gpus(3)) == std::vector{shortfall{c, 0, bound::nominal, gpus(2)}});
  CHECK(all(a, gpus(7)) == std::vector{shortfall{cohort, 0, bound::capacity, gpus(1)}});
  CHECK(all(a, gpus(7), capacity_kind::guaranteed) ==
        std::vector{shortfall{a, 0, bound::guarantee, gpus(1)},
                    shortfall{cohort, 0, bound::capacity, gpus(1)}});
  CHECK(all(b, gpus(8)) == std::vector{shortfall{b, 0, bound::borrow_limit, gpus(5)},
                                       shortfall{cohort, 0, bound::capacity, gpus(2)}});
  CHECK(binding_shortfall(l, b, gpus(8)) == shortfall{b, 0, bound::borrow_limit, gpus(5)});
  CHECK_FALSE(binding_shortfall(l, b, gpus(3)));
}

TEST_CASE("shortfall: a request that nothing would admit has no shortfall") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "all", .nominal = quantity::unlimited()},
                                         {.name = "team", .parent = "all", .nominal = gpus(1)}})
                 .value()};
  const quota_id team{1};
  for (const quota_id x : {quota_id{2}, quota_id{70'000}, quota_id::none()}) {
    CHECK_FALSE(l.fits(x, gpus(4)));
    CHECK(shortfalls<1>(l, x, gpus(4), capacity_kind::any).empty());
    CHECK_FALSE(binding_shortfall(l, x, gpus(4), capacity_kind::guaranteed));
  }
  for (const quantity q : {gpus(-1), quantity::unlimited(), quantity::lowest()}) {
    CHECK_FALSE(l.fits(team, q));
    CHECK_FALSE(binding_shortfall(l, team, q, capacity_kind::guaranteed));
  }
  l.charge(team, gpus(1));
  const quantity most = quantity::milli(std::numeric_limits<std::int64_t>::max() - 1);
  CHECK_FALSE(l.fits(team, most));
  CHECK_FALSE(binding_shortfall(l, team, most));
}

TEST_CASE("shortfall: of equal shortfalls the one nearest to the job binds") {
  ledger<> l{allot::build_quota_tree<1>(
                 {{.name = "top", .nominal = gpus(4), .inclusive = true},
                  {.name = "leaf", .parent = "top", .nominal = gpus(4), .borrow = limit::none()}})
                 .value()};
  l.charge(quota_id{1}, gpus(4));
  CHECK(binding_shortfall(l, quota_id{1}, gpus(1)) == shortfall{quota_id{1}, 0, bound::nominal, gpus(1)});
}

TEST_CASE("shortfall: law 9: granting exactly what is missing admits the request") {
  allot_test::for_each_seed(4000, granting_admits<1>);
  allot_test::for_each_seed(1000, granting_admits<3>);
}

TEST_CASE("shortfall: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::bound>(4));
}
