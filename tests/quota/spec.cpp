// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/spec.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <type_traits>

#include "tests/support/print.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::limit;
using allot::quantity;
using allot::quota_spec;

namespace {

// Four GPUs must not become four of everything.
static_assert(std::convertible_to<quantity, allot::resources<1>>);
static_assert(!std::convertible_to<quantity, allot::resources<2>>);
// A single limit or weight applies to all dimensions.
static_assert(std::convertible_to<limit, allot::limits<2>>);
static_assert(std::convertible_to<fair_weight, allot::weights<2>>);
static_assert(std::is_aggregate_v<quota_spec<2>>);

}  // namespace

TEST_CASE("spec: no restrictions by default") {
  const quota_spec<2> s;
  for (std::size_t d = 0; d < 2; ++d) {
    CHECK(s.nominal[d] == quantity{});
    CHECK(s.lend[d] == limit::all());
    CHECK(s.borrow[d] == limit::all());
    CHECK(s.weight[d] == fair_weight::whole(1));
  }
  CHECK_FALSE(s.is_static);
  CHECK_FALSE(s.inclusive);
  CHECK_FALSE(s.overcommit);
}

TEST_CASE("spec: specifications are equal when every field is") {
  const quota_spec<1> s{.name = "a", .parent = "root", .nominal = gpus(4)};
  quota_spec<1> t = s;
  CHECK(s == t);
  t.borrow = limit::percent(40);
  CHECK(s != t);
  t = s;
  t.weight = fair_weight::milli(999);
  CHECK(s != t);
}
