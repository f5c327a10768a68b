// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/own_surplus.hpp>

#include <doctest/doctest.h>
#include <allot/presets/standard.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/presets/host.hpp"

namespace {

/// The last claimant gets everything it wants, then the one before it.
struct last_first {
  void operator()(allot::quantity surplus, std::span<allot::claimant> claimants) const {
    for (auto c = claimants.rbegin(); c != claimants.rend(); ++c) {
      const allot::quantity more = std::min(surplus, c->wants - c->granted);
      c->granted += more;
      surplus = surplus - more;
    }
  }
};

struct last_served_first : allot::standard {
  static constexpr std::string_view name = "last_served_first";
  using policies_type = allot::divided_by<last_first>;
};
static_assert(allot::preset<last_served_first>);

}  // namespace

TEST_CASE("own_surplus: order and entitlements follow the rule") {
  const std::vector<allot::quota_spec<1>> teams{
      {.name = "all", .nominal = allot::gpus(8)},
      {.name = "a", .parent = "all", .weight = allot::fair_weight::whole(3)},
      {.name = "b", .parent = "all", .weight = allot::fair_weight::whole(1)}};
  allot_test::preset_host<last_served_first> h{teams};
  allot_test::preset_host<allot::standard> standard{teams};
  const auto submit = [](auto& host) {
    for (const char* name : {"a1", "a2", "a3", "b1", "b2"}) {
      host.submit(name, std::string{name[0]}, 2);
    }
    return host.settle();
  };
  // By weight a gets three times as much as b; by the rule b gets everything it wants.
  const std::string by_rule = submit(h);
  CHECK(by_rule.find("b1") != std::string::npos);
  CHECK(by_rule.find("b2") != std::string::npos);
  CHECK(by_rule != submit(standard));
  CHECK(h.scheduler().entitled(h.quota("a")) == allot::resources<1>{allot::gpus(4)});
  CHECK(h.scheduler().entitled(h.quota("b")) == allot::resources<1>{allot::gpus(4)});
  CHECK_FALSE(standard.scheduler().entitled(standard.quota("a")));
}

TEST_CASE("own_surplus: a quota takes from a rival with a larger part of its entitlement") {
  allot_test::preset_host<last_served_first> h{{{.name = "all", .nominal = allot::gpus(8)},
                                                {.name = "a", .parent = "all"},
                                                {.name = "b", .parent = "all"}}};
  for (const char* name : {"a1", "a2", "a3", "a4"}) h.submit(name, "a", 2);
  CHECK(h.settle().find("a4") != std::string::npos);
  h.submit("b1", "b", 2);
  h.submit("b2", "b", 2);
  const std::string taken = h.settle();
  INFO(taken);
  CHECK(taken.find("b1") != std::string::npos);
  CHECK(taken.find("b2") != std::string::npos);
  CHECK(h.settle().empty());
}

TEST_CASE("own_surplus: a copy has entitlements of its own") {
  allot_test::preset_host<last_served_first> h{{{.name = "all", .nominal = allot::gpus(8)},
                                                {.name = "a", .parent = "all"},
                                                {.name = "b", .parent = "all"}}};
  for (const char* name : {"a1", "b1", "b2"}) h.submit(name, std::string{name[0]}, 4);
  auto copy = h.scheduler();
  h.scheduler().cancel(h.id("b1"));
  CHECK(h.settle() == "+a1 +b2");
  copy.step(10);
  CHECK(copy.state(h.id("b1")) == allot::job_state::running);
  CHECK(copy.state(h.id("b2")) == allot::job_state::running);
  CHECK(copy.entitled(h.quota("a")) == allot::resources<1>{});
  CHECK(h.scheduler().entitled(h.quota("a")) == allot::resources<1>{allot::gpus(4)});
}
