// SPDX-License-Identifier: BSL-1.0
#include <allot/core/resources.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::per_dimension;
using allot::quantity;
using allot::resources;

namespace {

// In one dimension an amount converts to a vector; in several this must be explicit. Weights and the like
// convert implicitly.
static_assert(std::convertible_to<quantity, resources<1>>);
static_assert(!std::convertible_to<quantity, resources<3>>);
static_assert(std::constructible_from<resources<3>, quantity>);
static_assert(std::convertible_to<int, per_dimension<int, 3>>);
// Numbers convert where the values are of a class that numbers convert to: one, or one for each dimension.
struct level {
  constexpr level() = default;
  constexpr level(int number) : value(number) {}
  int value = 0;
};
static_assert(std::convertible_to<int, per_dimension<level, 3>>);
static_assert(per_dimension<level, 3>{4}[2].value == 4);
static_assert(per_dimension<level, 2>{4, 5}[1].value == 5);
static_assert(!std::constructible_from<per_dimension<level, 3>, int, int>);
// Plain numbers and wrong counts of amounts have an error that says so: see tests/compile_fail/quota.cpp.
static_assert(!std::convertible_to<quantity, resources<2>>);
static_assert(resources<2>{allot::gpus(1), {}} == resources<2>{allot::gpus(1), quantity{}});
static_assert(resources<3>{{}, allot::gpus(1), {}} == resources<3>{quantity{}, allot::gpus(1), quantity{}});
static_assert(std::is_trivially_copyable_v<resources<4>> && sizeof(resources<4>) == 32);
static_assert(resources<2>::size() == 2);

template <std::size_t N>
resources<N> small_amounts(allot_test::random_source& random) {
  resources<N> r;
  for (std::size_t d = 0; d < N; ++d) r[d] = quantity::milli(random.between(-3, 3));
  return r;
}

template <std::size_t N>
void check_against_each_dimension(allot_test::random_source& random) {
  const resources<N> a = small_amounts<N>(random);
  const resources<N> b = small_amounts<N>(random);
  const std::int64_t n = random.between(-5, 5);
  const resources<N> sum = a + b;
  const resources<N> difference = a - b;
  const resources<N> product = a * n;
  bool at_most = true;
  bool valid = true;
  for (std::size_t d = 0; d < N; ++d) {
    CHECK(sum[d] == a[d] + b[d]);
    CHECK(difference[d] == a[d] - b[d]);
    CHECK(product[d] == a[d] * n);
    at_most = at_most && a[d] <= b[d];
    valid = valid && a[d].in_milli() >= 0;
  }
  CHECK(all_at_most(a, b) == at_most);
  CHECK(is_valid_request(a) == valid);
  resources<N> assigned = a;
  CHECK((assigned += b) == sum);
  CHECK((assigned -= b) == a);
}

}  // namespace

TEST_CASE("resources: every operation is that of each dimension") {
  allot_test::for_each_seed(2'000, [](allot_test::random_source& random) {
    check_against_each_dimension<1>(random);
    check_against_each_dimension<2>(random);
    check_against_each_dimension<5>(random);
  });
}

TEST_CASE("resources: a default is zero, one value fills, several stand in order") {
  const resources<3> zero;
  for (const quantity q : zero) CHECK(q == quantity{});
  const resources<3> every{gpus(2)};
  for (const quantity q : every) CHECK(q == gpus(2));
  const resources<3> listed{gpus(1), gpus(2), gpus(3)};
  CHECK(listed[0] == gpus(1));
  CHECK(listed[1] == gpus(2));
  CHECK(listed[2] == gpus(3));
}

TEST_CASE("resources: at most means in every dimension, not in dictionary order") {
  const resources<2> a{gpus(1), gpus(9)};
  const resources<2> b{gpus(2), gpus(0)};
  CHECK(a < b);
  CHECK_FALSE(all_at_most(a, b));
  CHECK_FALSE(all_at_most(b, a));
  CHECK(all_at_most(a, a));
}

TEST_CASE("resources: a negative, unlimited or overflowed amount is not a valid request") {
  CHECK(is_valid_request(resources<2>{}));
  CHECK_FALSE(is_valid_request(resources<2>{gpus(1), quantity::milli(-1)}));
  CHECK_FALSE(is_valid_request(resources<2>{quantity::unlimited(), gpus(1)}));
  CHECK_FALSE(is_valid_request(resources<2>{gpus(1), quantity::lowest()}));
  const resources<2> huge{quantity::milli(INT64_MAX / 2), gpus(1)};
  CHECK(is_valid_request(huge));
  CHECK_FALSE(is_valid_request(huge * 3));
}

TEST_CASE("exact_sum: a sum that was too large is exact again after subtraction") {
  const resources<2> huge{quantity::milli(INT64_MAX - 1), gpus(1)};
  allot::exact_sum<2> sum;
  for (int i = 0; i < 3; ++i) sum += huge;
  CHECK(sum.amount() == resources<2>{quantity::unlimited(), gpus(3)});
  sum -= huge;
  sum -= huge;
  CHECK(sum.amount() == huge);
  sum -= huge;
  sum -= huge;
  sum -= huge;
  CHECK(sum.amount() == resources<2>{quantity::lowest(), gpus(-2)});
  for (int i = 0; i < 3; ++i) sum.add(0, huge[0]);
  CHECK(sum.amount(0) == huge[0]);
  sum.add(1, gpus(5));
  CHECK(sum.amount(1) == gpus(3));
}
