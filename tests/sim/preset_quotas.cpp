// SPDX-License-Identifier: BSL-1.0
#include <allot/presets/catalog.hpp>
#include <allot/sim/preset_quotas.hpp>

#include <doctest/doctest.h>

#include <variant>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::sim::change_under;
using allot::sim::quotas_under;

TEST_CASE("preset_quotas: the quotas as the preset makes them") {
  const auto given = allot::build_quota_tree(siblings({4, 2})).value();
  const auto same = quotas_under(allot::standard{}, given);
  REQUIRE(same);
  CHECK(same.value().slots() == 3);
  CHECK(same.value().spec(a).nominal == given.spec(a).nominal);
  const auto fixed = quotas_under(allot::static_quotas{}, given);
  REQUIRE(fixed);
  CHECK(fixed.value().spec(a).is_static);
}

TEST_CASE("preset_quotas: one quota without a bound where quotas do not count") {
  const auto given = allot::build_quota_tree(siblings({4, 2})).value();
  const auto one = quotas_under(allot::fifo{}, given);
  REQUIRE(one);
  CHECK(one.value().slots() == 1);
  CHECK(one.value().spec(quota_id{0}).nominal[0].is_unlimited());
}

TEST_CASE("preset_quotas: what the preset can't make a tree of is told") {
  // PAI reads a parent's number as one that contains its children's.
  const auto given = allot::build_quota_tree(siblings({4, 2})).value();
  const auto none = quotas_under(allot::pai{}, given);
  REQUIRE_FALSE(none);
  CHECK(none.problems().front().code == allot::problem_code::exceeds_parent);
}

TEST_CASE("preset_quotas: a quota that is added is one that the preset decides by") {
  allot::quota_spec<1> c;
  c.name = "c";
  c.parent = "root";
  const allot::quota_change<1> addition = allot::add_quota<1>{c};
  CHECK(std::get<allot::add_quota<1>>(change_under(allot::static_quotas{}, addition)).spec.is_static);
  CHECK_FALSE(std::get<allot::add_quota<1>>(change_under(allot::standard{}, addition)).spec.is_static);
  const allot::quota_change<1> removal = allot::remove_quota{a};
  CHECK(std::get<allot::remove_quota>(change_under(allot::static_quotas{}, removal)).quota == a);
}
