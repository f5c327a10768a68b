// SPDX-License-Identifier: BSL-1.0
// A copy of a scheduler is a different object that decides alike, under every preset and with parts by name.
#include <allot/sim/places.hpp>
#include <allot/systems/by_name/any_preset.hpp>

#include <doctest/doctest.h>

#include "tests/support/copies.hpp"
#include "tests/support/explained_changes.hpp"

using allot::any_preset;

namespace {

void check(const any_preset& preset) {
  allot_test::check_copies<allot::sim::places>(preset);
}

}  // namespace

TEST_CASE("copies: under every preset, by name") {
  allot::for_each_preset([](auto preset) { check(any_preset{preset}); });
}
TEST_CASE("copies: what explain_change says comes of a change, under every preset") {
  allot::for_each_preset([](auto preset) {
    auto said = allot_test::check_explained_changes<allot::sim::places>(any_preset{preset}, 6);
    CHECK_MESSAGE((said["started"] > 0 || !allot_test::all_cases_run()), preset.name);
  });
}
TEST_CASE("copies: under presets with options that remember") {
  check(any_preset{allot::runai{.k = 1000, .half_life = 50, .window = 500}});
  check(any_preset{
      allot::standard{.first_backoff = 3, .longest_backoff = 20, .gather = 20, .strict_after = 30}});
}
TEST_CASE("copies: with parts that are chosen by name") {
  any_preset preset{allot::standard{}};
  for (const auto order : {allot::quota_order_name::saturation, allot::quota_order_name::fair_tree}) {
    REQUIRE(preset.choose({.queue_order = order, .guard = allot::guard_name::saturation, .half_life = 50}));
    check(preset);
  }
}
