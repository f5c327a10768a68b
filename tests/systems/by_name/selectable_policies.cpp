// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/by_name/any_preset.hpp>
#include <allot/systems/by_name/selectable_policies.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/seeds.hpp"

using allot::any_preset;
using allot::fair_weight;
using allot::gpus;
using allot::guard_name;
using allot::named_parts;
using allot::quota_order_name;
using allot::victim_order_name;
using allot_test::preset_host;
using allot_test::random_source;

namespace {

any_preset standard_with(const named_parts& parts) {
  any_preset preset{allot::standard{}};
  CHECK(preset.choose(parts));
  return preset;
}

/// Two teams that own nothing, below a root of 8; a is older than b.
std::vector<allot::quota_spec<1>> two_teams() {
  return {{.name = "all", .nominal = gpus(8)},
          {.name = "a", .parent = "all", .weight = fair_weight::whole(1)},
          {.name = "b", .parent = "all", .weight = fair_weight::whole(3), .priority = 1}};
}

/// The order of admission when two jobs of each are pending and there is room for all but one.
std::string turns(quota_order_name order) {
  named_parts o;
  o.queue_order = order;
  preset_host<any_preset> h{two_teams(), standard_with(o)};
  h.submit("a0", "a", 2);
  h.submit("b0", "b", 2);
  h.settle();
  h.submit("a1", "a", 1);
  h.submit("b1", "b", 1);
  h.submit("a2", "a", 1, {.priority = 5});
  h.submit("b2", "b", 1);
  return h.settle();
}

}  // namespace

TEST_CASE("selectable: the parts of standard, by name, decide as standard does") {
  allot_test::for_each_seed(50, [](random_source& random) {
    named_parts o;
    o.queue_order = quota_order_name::borrowed_share;
    o.victim_order = victim_order_name::priority_share;
    o.guard = guard_name::none;
    preset_host<any_preset> chosen{two_teams(), standard_with(o)};
    // Parts chosen by name make no reservations.
    preset_host<allot::standard> standard{two_teams(), allot::standard{.reservations = 0}};
    for (int i = 0; i < 40; ++i) {
      const std::string name = std::to_string(i);
      const std::string team = random.one_in(2) ? "a" : "b";
      const int size = static_cast<int>(random.between(1, 4));
      const int priority = static_cast<int>(random.below(3));
      chosen.submit(name, team, size, {.priority = priority});
      standard.submit(name, team, size, {.priority = priority});
      CHECK(chosen.settle() == standard.settle());
    }
  });
}

TEST_CASE("selectable: each order has its own first") {
  // a has 2 and b has 2, b at three times the weight.
  CHECK(turns(quota_order_name::borrowed_share) == "+b1 +b2 +a2 +a1");
  CHECK(turns(quota_order_name::dominant_share) == "+b1 +b2 +a2 +a1");
  CHECK(turns(quota_order_name::priority) == "+b1 +b2 +a2 +a1");
  CHECK(turns(quota_order_name::submission) == "+b1 +a2 +a1 +b2");
  CHECK(turns(quota_order_name::best_job) == "+a2 +a1 +b1 +b2");
  CHECK(turns(quota_order_name::under_nominal) == "+a2 +a1 +b1 +b2");
}

TEST_CASE("selectable: by saturation the quota with the smallest part of its entitlement is first") {
  named_parts o;
  o.queue_order = quota_order_name::saturation;
  preset_host<any_preset> h{two_teams(), standard_with(o)};
  for (int i = 0; i < 8; ++i) {
    h.submit("a" + std::to_string(i), "a", 1);
    h.submit("b" + std::to_string(i), "b", 1);
  }
  // Entitled to 2 and 6; each GPU goes to the team with the smaller part of its entitlement.
  h.settle();
  CHECK(h.used("a") == 2);
  CHECK(h.used("b") == 6);
}

TEST_CASE("selectable: by Fair Tree past usage counts long after it has ended") {
  named_parts o;
  o.queue_order = quota_order_name::fair_tree;
  preset_host<any_preset> h{two_teams(), standard_with(o)};
  h.submit("b0", "b", 8);
  CHECK(h.settle() == "+b0");
  h.submit("b1", "b", 8);
  h.submit("a1", "a", 8);
  CHECK(h.settle().empty());
  h.finish("b0");
  CHECK(h.settle() == "+a1");
}

TEST_CASE("selectable: with a guard borrowers share by the chosen rule") {
  for (const auto& [guard, left] : std::vector<std::pair<guard_name, int>>{
           {guard_name::none, 8}, {guard_name::final_share, 2}, {guard_name::saturation, 2}}) {
    named_parts o;
    o.guard = guard;
    preset_host<any_preset> h{two_teams(), standard_with(o)};
    for (int i = 0; i < 8; ++i) h.submit("a" + std::to_string(i), "a", 1);
    h.settle();
    for (int i = 0; i < 8; ++i) h.submit("b" + std::to_string(i), "b", 1);
    h.settle();
    CHECK(h.used("a") == left);
    CHECK(h.used("b") == 8 - left);
    CHECK(h.settle().empty());
  }
}

TEST_CASE("selectable: a preset with parts of another kind keeps them") {
  any_preset kueue{allot::kueue{}};
  CHECK_FALSE(kueue.takes_parts);
  CHECK_FALSE(kueue.choose({.queue_order = quota_order_name::best_job}));
  CHECK_FALSE(kueue.judges_rivals().value_or(false));
  // A surplus rule alone changes no decision.
  CHECK(kueue.choose({.surplus = allot::surplus_name::quota}));
}
