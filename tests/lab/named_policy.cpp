// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/named_policy.hpp>

#include "lab/decide/check.hpp"
#include "lab/decide/decide.hpp"
#include "lab/io/errors.hpp"

#include <doctest/doctest.h>
#include <allot/lab/simulators.hpp>
#include <allot/quota/builder.hpp>
#include <tests/lab/own_presets.hpp>
#include <tests/lab/scenarios.hpp>

#include <string>
#include <utility>
#include <vector>

namespace lab = allot::lab;
using allot::gpus;
using allot_test::lines;
using lab::named_policy;

namespace {

/// Registered once in this program.
const named_policy& spreading() {
  static const named_policy added = [] {
    REQUIRE(lab::add_policy(lab::own_policy_of<allot_test::spreading>()).empty());
    return named_policy::find("spreading").value();
  }();
  return added;
}

/// Where two jobs of one GPU are placed on two nodes.
std::vector<std::string> placed(const std::string& policy) {
  const auto s = allot_test::parse_valid(R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 16}}],
      "jobs": [{"id": "a", "request": {"gpu": 1}}, {"id": "b", "request": {"gpu": 1}}], "policy": )" +
                                         policy);
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  std::vector<std::string> nodes;
  for (const auto& a : d->admit) nodes.emplace_back(a.nodes.front());
  return nodes;
}

}  // namespace

TEST_CASE("named_policy: a preset of the library is as any_preset has it") {
  allot::for_each_preset([](auto p) {
    const named_policy policy = named_policy::find(p.name).value();
    const allot::any_preset preset = allot::any_preset::find(p.name).value();
    CHECK(policy.name == preset.name);
    CHECK(policy.summary == preset.summary);
    CHECK(policy.ignores_quotas == preset.ignores_quotas);
    CHECK(policy.takes_parts == preset.takes_parts);
    CHECK(policy.judges_rivals() == preset.judges_rivals());
    CHECK(policy.own() == nullptr);
  });
  CHECK_FALSE(named_policy::find("slurm"));
}

TEST_CASE("named_policy: one that was added is found, listed and read from scenarios") {
  CHECK(spreading().own() != nullptr);
  CHECK(lab::all_policies().back().name == "spreading");
  CHECK(lab::list_policies().find("  spreading      as standard, spread over the nodes\n") !=
        std::string::npos);
  CHECK(placed(R"("spreading")") == std::vector<std::string>{"n-0", "n-1"});
  CHECK(placed(R"("standard")") == std::vector<std::string>{"n-0", "n-0"});
  // Its parts are those of standard, so "set" may replace them.
  CHECK(placed(R"({"preset": "spreading", "set": {"guard": "final_share"}})") ==
        std::vector<std::string>{"n-0", "n-1"});
  named_policy guarded = spreading();
  REQUIRE(guarded.choose({.guard = allot::guard_name::final_share}));
  CHECK(guarded.judges_rivals() == true);
  CHECK(allot_test::problems_of(R"("policy": {"preset": "spreading", "set": {"placement": "best_fit"}})") ==
        lines{"/policy/set/placement: the preset spreading has its own placement, which can't be set"});
  CHECK(allot_test::problems_of(R"("policy": "spreding")") ==
        lines{"/policy: there is no preset \"spreding\" (did you mean \"spreading\"?)"});
}

TEST_CASE("named_policy: the simulator runs it") {
  const auto run = [](const named_policy& policy) {
    allot::sim::setup<1> s{
        .quotas = allot::build_quota_tree<1>({{.name = "all"},
                                              {.name = "a", .parent = "all", .nominal = gpus(4)},
                                              {.name = "b", .parent = "all", .nominal = gpus(4)}})
                      .value(),
        .settings = std::vector<allot::queue_settings>(3, policy.defaults()),
        .where = {},
        .jobs = {}};
    for (std::uint32_t i = 0; i < 12; ++i) {
      allot::sim::job<1> j;
      j.quota = allot::quota_id{1 + i % 2};
      j.request = gpus(1 + i % 5);
      j.submit = (i / 2) * allot::sim::second;
      j.duration = (3 + i % 4) * allot::sim::second;
      s.jobs.push_back(j);
    }
    auto sim = allot::sim::simulator<1>::make(std::move(s), policy);
    REQUIRE(sim);
    allot::lab::metrics<1> watch;
    CHECK(sim.value().run(watch).empty());
    return sim.value().decision_hash().hex();
  };
  CHECK(run(spreading()) == run(named_policy::find("standard").value()));
  CHECK(run(spreading()) != run(named_policy::find("fifo").value()));
}
