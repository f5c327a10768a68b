// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/own_surplus.hpp>

#include <doctest/doctest.h>
#include <allot/presets/standard.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/presets/host.hpp"
#include "tests/support/seeds.hpp"

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

TEST_CASE("own_surplus: one that resumes decides as the one that goes on") {
  std::size_t evictions = 0;
  allot_test::for_each_seed(100, [&](allot_test::random_source& random) {
    const std::vector<allot::quota_spec<1>> teams{{.name = "all", .nominal = allot::gpus(8)},
                                                  {.name = "a", .parent = "all"},
                                                  {.name = "b", .parent = "all", .nominal = allot::gpus(3)},
                                                  {.name = "c", .parent = "all"}};
    const auto fresh = [&] {
      return allot::make_scheduler(last_served_first{}, allot_test::preset_view{}, teams).value();
    };
    auto s = fresh();
    std::deque<allot_test::preset_job> jobs;
    std::vector<allot::job_id> ids;
    const auto decided = [&](auto& by, allot::instant now) {
      const auto& plan = by.step(now);
      std::string text;
      for (const auto& e : plan.evictions) text += " -" + e.what->name + ">" + by.what(e.beneficiary)->name;
      for (const auto& a : plan.admissions) text += " +" + a.what->name;
      for (const auto& p : plan.nominations) text += " ~" + p.what->name;
      return text;
    };
    for (allot::instant now = 1; now < 40; ++now) {
      jobs.push_back({std::to_string(now), s.tree().top_down()[1 + random.below(3)],
                      static_cast<int>(random.between(1, 4)), static_cast<int>(random.below(3)), now, 9,
                      !random.one_in(4)});
      ids.push_back(s.submit(&jobs.back()));
      for (const allot::job_id id : ids) {
        const auto is = s.state(id);
        if (is == allot::job_state::running && random.one_in(6)) s.finished(id);
        if (is == allot::job_state::evicting && random.one_in(2)) s.evicted(id);
      }
      auto resumed = fresh();
      REQUIRE(resumed.resume(s.state()));
      const std::string goes_on = decided(s, now);
      REQUIRE(decided(resumed, now) == goes_on);
      if (goes_on.find('-') != std::string::npos) ++evictions;
    }
  });
  CHECK((evictions > 100 || !allot_test::all_cases_run()));
}
