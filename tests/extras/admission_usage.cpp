// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/admission_usage.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using allot::admission_usage;
using allot::admission_usage_settings;
using allot::fair_weight;
using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::ratio;
using allot::resources;

namespace {

const quota_id a{0}, b{1};

admission_usage<> of_two(allot::instant half_life, allot::instant interval) {
  admission_usage<> usage{admission_usage_settings<>{half_life, interval}};
  usage.resize(2, 0);
  return usage;
}

}  // namespace

TEST_CASE("admission_usage: a tick moves usage towards the current usage, by half in a half-life") {
  auto usage = of_two(60, 60);
  usage.tick(a, resources<>{gpus(8)}, 60);
  CHECK(usage.used(a, 0) == gpus(4));
  usage.tick(a, resources<>{gpus(8)}, 120);
  CHECK(usage.used(a, 0) == gpus(6));
  usage.tick(a, resources<>{gpus(0)}, 240);
  CHECK(usage.used(a, 0) == quantity::milli(1'500));
  // Half a half-life: 1 - 0.7071.
  usage.tick(b, resources<>{gpus(10)}, 30);
  CHECK(usage.used(b, 0) == quantity::milli(2'929));
}

TEST_CASE("admission_usage: without a half-life usage is reset, and there is no penalty") {
  auto usage = of_two(0, 60);
  usage.tick(a, resources<>{gpus(8)}, 60);
  CHECK(usage.used(a, 0) == gpus(0));
  usage.enter(a, 1, resources<>{gpus(8)});
  CHECK(usage.score(a, fair_weight::whole(1)) == ratio{});
  usage.admit(1, 70);
  CHECK(usage.score(a, fair_weight::whole(1)) == ratio{});
}

TEST_CASE(
    "admission_usage: the penalty of a job counts at once, once, and becomes usage when it is admitted") {
  auto usage = of_two(60, 60);
  usage.tick(a, resources<>{gpus(8)}, 60);
  usage.enter(a, 7, resources<>{gpus(2)});
  usage.enter(a, 7, resources<>{gpus(2)});
  const ratio five_gpus{allot::wide{5'000'000} << 32U, 1000};
  CHECK((usage.score(a, fair_weight::whole(1)) == five_gpus));
  CHECK(usage.used(a, 0) == gpus(4));
  usage.admit(7, 120);
  CHECK(usage.used(a, 0) == gpus(3));
  usage.admit(7, 120);
  CHECK(usage.used(a, 0) == gpus(3));
  // Another one that is withdrawn leaves nothing behind.
  const ratio before = usage.score(a, fair_weight::whole(1));
  usage.enter(a, 8, resources<>{gpus(2)});
  CHECK((usage.score(a, fair_weight::whole(1)) > before));
  usage.withdraw(8);
  CHECK((usage.score(a, fair_weight::whole(1)) == before));
}

TEST_CASE("admission_usage: a burst before the first tick is seen (Kueue #5933)") {
  auto usage = of_two(600, 60);
  for (std::uint64_t job = 0; job < 5; ++job) usage.enter(a, job, resources<>{gpus(1)});
  CHECK((usage.score(b, fair_weight::whole(1)) < usage.score(a, fair_weight::whole(1))));
}

TEST_CASE("admission_usage: score is by weight and resource weight, and zero weight is last") {
  admission_usage<2> usage{admission_usage_settings<2>{1, 1, {std::int64_t{1000}, std::int64_t{500}}}};
  usage.resize(2, 0);
  usage.tick(a, {gpus(2), gpus(4)}, 1);
  usage.tick(b, {gpus(2), gpus(0)}, 1);
  CHECK((usage.score(a, fair_weight::whole(2)) == usage.score(b, fair_weight::whole(1))));
  CHECK((usage.score(a, fair_weight::whole(1)) > usage.score(b, fair_weight::whole(1))));
  // Also for one that has used nothing (#13481), and for one below zero.
  admission_usage<2> fresh;
  fresh.resize(1, 0);
  CHECK(fresh.score(a, fair_weight::whole(0)).is_infinite());
  CHECK(fresh.score(a, fair_weight::milli(-5)).is_infinite());
  CHECK((fresh.score(a, fair_weight::milli(1)) < fresh.score(a, fair_weight::whole(0))));
}

TEST_CASE("admission_usage: usage far below a thousandth is not cut away at each tick (#12671)") {
  auto usage = of_two(100'000, 1);
  for (allot::instant now = 1; now <= 100'000; ++now) usage.tick(a, resources<>{quantity::milli(10)}, now);
  CHECK(usage.used(a, 0) == quantity::milli(5));
}

TEST_CASE("admission_usage: as an order") {
  const allot::ledger<> l{allot::build_quota_tree<1>({{.name = "a", .weight = fair_weight::whole(2)},
                                                      {.name = "b", .weight = fair_weight::whole(0)}})
                              .value()};
  auto usage = of_two(60, 60);
  usage.tick(a, resources<>{gpus(8)}, 60);
  const allot::lowest_admission_score_first<1> order{&usage};
  static_assert(allot::quota_order<allot::lowest_admission_score_first<1>, 1>);
  const allot::contender<1> from_a{a, false, gpus(1), {5, 0, 0}};
  const allot::contender<1> from_b{b, false, gpus(1), {0, 0, 0}};
  CHECK((order(l, from_a) < order(l, from_b)));
  CHECK((order(l, from_a).first == usage.score(a, fair_weight::whole(2))));
}

TEST_CASE("admission_usage: an unknown quota has no usage and comes last") {
  const auto usage = of_two(60, 60);
  for (const quota_id x : {quota_id{2}, quota_id::none()}) {
    CHECK(usage.used(x, 0) == quantity{});
    CHECK(usage.score(x, fair_weight::whole(1)).is_infinite());
  }
  CHECK(usage.used(a, 1) == quantity{});
}
