// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/lab/named_policy.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/lab/scenarios.hpp"
#include "tests/support/print.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

/// Two teams below a root.
const std::string teams = R"("quotas": [{"name": "root"},
    {"name": "a", "parent": "root", "nominal": {"gpu": 6}},
    {"name": "b", "parent": "root", "nominal": {"gpu": 5}}])";
const std::string nodes =
    R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8, "gpu_model": "H100", "pool": "train",
                             "cpu_milli": 64000, "memory_mib": 1024},
                            {"name": "m", "gpus": 4, "gpu_model": "A100"}]})";

}  // namespace

TEST_CASE("a scenario with every key") {
  const auto s = parse_valid(R"(
    "resources": ["gpu", "cpu"],
    "policy": {"preset": "standard", "set": {"queue_order": "fifo", "seed": 7, "placement": "best_fit"}},
    "x-note": {"anything": [1, 2]},)" +
                             nodes + R"(,
    "quotas": [
      {"name": "root", "nominal": "cluster", "inclusive": true, "overcommit": true, "x-owner": "ops"},
      {"name": "t", "parent": "root", "nominal": {"gpu": 4.5, "cpu": "unlimited"}, "lend": {"gpu": 2},
       "borrow": {"percent": 500}, "weight": {"gpu": 2.125}, "priority": -3, "order": "priority", "head": "strict",
       "preempt": {"within": "never", "reclaim": "lower_priority", "children": true,
                   "borrow": {"policy": "lower_priority", "max_priority": 4294967295}},
       "flavor_choice": {"when_can_borrow": "try_next", "when_can_preempt": "preempt"},
       "min_runtime_s": {"preempt": 60, "reclaim": 0.5}, "borrow_backoff_s": {"first": 600, "longest": 7200},
       "ready_horizon_s": 1.5, "preempt_after_s": 2.5, "node_pools": ["train"], "preferred_node_pools": ["train"],
       "time_limit_s": {"interactive": 28800, "x-note": "anything"},
       "access": {"roles": ["r"], "users": ["ana"], "anyone": false}},
      {"name": "s", "parent": "root", "static": true, "lend": "none", "borrow": "all", "weight": 0}],
    "jobs": [{"id": "j", "quota": "t", "request": {"gpu": 2, "cpu": 0.5}, "pods": 3, "min_pods": 3, "total": false,
              "flavors": [], "priority": -3000000000, "class": "train", "preemptible": false, "user": "ana", "roles": ["r"],
              "submit_s": 1.5, "ready_s": 1.75, "duration_s": 60, "deadline_s": 90, "estimate_s": 45, "checkpoint_s": 10, "restart_s": 0.25,
              "state": "running", "start_s": 2, "nodes": ["n-0", "n-0", "n-1"], "devices": [[0, 1], [2, 3], [4, 7]]}],
    "events": [{"at_s": 5, "cancel": {"job": "j"}}])");
  CHECK(s.resources == std::vector<std::string>{"gpu", "cpu"});
  CHECK(s.policy.preset == "standard");
  CHECK(s.policy.order == queue_order::fifo);
  CHECK(s.policy.seed == 7);
  REQUIRE(s.cluster);
  CHECK(s.cluster->gpus() == gpus(20));

  REQUIRE(s.quotas.size() == 3);
  const auto& root = s.quotas[0].spec;
  CHECK(root.nominal[0] == gpus(20));
  CHECK(root.nominal[1] == quantity::whole(128));
  CHECK(root.inclusive);
  CHECK(root.overcommit);
  const auto& t = s.quotas[1];
  CHECK(t.spec.nominal[0] == quantity::milli(4500));
  CHECK(t.spec.nominal[1].is_unlimited());
  CHECK(t.spec.nominal[2] == quantity{});
  CHECK(t.spec.lend[0] == limit::at_most(gpus(2)));
  CHECK(t.spec.lend[1] == limit::all());
  CHECK(t.spec.borrow[0] == limit::percent(500));
  CHECK(t.spec.weight[0] == fair_weight::milli(2125));
  CHECK(t.spec.weight[1] == fair_weight::whole(1));
  const queue_settings settings = t.settings({});
  CHECK(settings.order == queue_order::priority);
  CHECK(settings.head == queue_head::strict);
  CHECK(settings.preempt.within == preempt_within::never);
  CHECK(settings.preempt.reclaim == preempt_reclaim::lower_priority);
  CHECK(settings.preempt.children);
  CHECK(settings.preempt.borrow == preempt_borrow::lower_priority);
  CHECK(settings.preempt.borrow_max_priority == 4'294'967'295);
  CHECK(settings.min_runtime == runtime_guarantee{60000, 500});
  CHECK(settings.borrow_backoff == allot::backoff_times{600'000, 7'200'000});
  CHECK(settings.ready_horizon == 1'500);
  CHECK(settings.preempt_after == 2'500);
  CHECK(lab::settings_of(s)[2].ready_horizon == 60'000);
  CHECK(settings.flavors == flavor_choice{flavor_step::try_next, flavor_step::stay});
  CHECK(t.spec.priority == -3);
  CHECK(t.time_limits.size() == 1);
  CHECK(t.time_limit("interactive") == 28800000);
  CHECK(t.time_limit("train") == 0);
  CHECK(t.listed == std::array<bool, lab::max_resources>{true, true});
  CHECK(t.pools == 1);
  CHECK(t.preferred_pools == 1);
  REQUIRE(t.access);
  CHECK(t.access->users == std::vector<std::string>{"ana"});
  CHECK(s.quotas[2].spec.is_static);
  CHECK(s.quotas[2].spec.lend[0] == limit::none());
  CHECK(s.quotas[2].spec.weight[0] == fair_weight::whole(0));

  REQUIRE(s.jobs.size() == 1);
  const lab::job_entry& j = s.jobs[0];
  CHECK(j.quota == quota_id{1});
  CHECK(j.request[0] == gpus(6));
  CHECK(j.request[1] == quantity::milli(1500));
  CHECK(j.pod_request == gpu::pod_request{.gpus = gpus(2), .pods = 3, .pools = 1, .cpu_milli = 500});
  CHECK(j.priority == -3'000'000'000);
  CHECK(!j.preemptible);
  CHECK(j.submit == 1500);
  CHECK(j.ready == 1750);
  CHECK(j.duration == 60000);
  CHECK(j.checkpoint == 10000);
  CHECK(j.deadline == 90000);
  CHECK(j.estimate == 45);
  CHECK(j.restart == 250);
  CHECK(j.phase == lab::job_phase::running);
  CHECK(j.start == 2000);
  REQUIRE(j.locations.size() == 3);
  CHECK(j.locations[2] == gpu::pod_location{gpu::node_id{1}, 0b10010000});
  REQUIRE(s.events.size() == 1);
  CHECK(std::get<std::string>(s.events[0].what) == "j");
}

TEST_CASE("omitted keys have their defaults") {
  const auto s = parse_valid(R"("quotas": [{"name": "q"}], "jobs": [{"id": "j", "request": {}}])");
  CHECK(s.resources == std::vector<std::string>{"gpu"});
  CHECK(s.policy.preset == "standard");
  CHECK(!s.cluster);
  CHECK(s.quotas[0].spec == quota_spec<lab::max_resources>{.name = "q"});
  CHECK(s.quotas[0].settings({}) == queue_settings{});
  CHECK(!s.quotas[0].access);
  CHECK(s.jobs[0].quota == quota_id{0});
  CHECK(s.jobs[0].pod_request == gpu::pod_request{});
  CHECK(s.jobs[0].preemptible);
  CHECK(!s.jobs[0].checkpoint);
}

TEST_CASE("the command line overrides the file") {
  lab::errors found;
  lab::scenario_source source{.file = "s.json", .nodes = "3x4", .policy = "fifo"};
  const auto s = lab::parse_scenario(R"({"format": "allot-scenario/1", )" + nodes + "}", source, found);
  REQUIRE_MESSAGE(s, found.to_string());
  CHECK(s->policy.preset == "fifo");
  CHECK(s->cluster->size() == 3);
  CHECK(s->cluster->gpus() == gpus(12));
  CHECK(s->cluster->name(gpu::node_id{2}) == "node-2");

  source.nodes = "3x";
  source.policy = "fastest";
  CHECK(!lab::parse_scenario(R"({"format": "allot-scenario/1"})", source, found));
  REQUIRE(found.size() == 2);
  CHECK(found.kept()[0].file == "--policy");
  CHECK(found.kept()[1].file == "--nodes");
  for (const char* wrong : {"", "x", "16", "16x0", "16x65", "0x8", "16x8x", "-1x8", "16X8", "9999999999x8"}) {
    lab::errors here;
    CHECK(!lab::parse_scenario(R"({"format": "allot-scenario/1"})",
                               lab::scenario_source{.file = "s.json", .nodes = wrong}, here));
    CHECK(here.size() == 1);
  }
}

TEST_CASE("quotas that do not form a tree") {
  CHECK(problems_of(R"("quotas": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "c"},
                                  {"name": "c", "parent": "a"}])") ==
        lines{"/quotas/0/parent: the parents form a cycle: a -> b -> c -> a"});
  CHECK(problems_of(R"("quotas": [{"name": "a"}, {"name": "b", "parent": "zebra"}])") ==
        lines{"/quotas/1/parent: b names the parent zebra, which does not exist"});
  CHECK(problems_of(
            R"("quotas": [{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "a", "parent": "z"}])") ==
        lines{"/quotas/2/name: there is more than one quota named a",
              "/quotas/3/name: there is more than one quota named a",
              "/quotas/3/parent: a names the parent z, which does not exist"});
  CHECK(problems_of(R"("quotas": [{"name": ""}, {"parent": "a"}])") ==
        lines{"/quotas/1: the key \"name\" is missing",
              "/quotas/1/parent:  names the parent a, which does not exist"});
  CHECK(problems_of(R"("quotas": [{"name": ""}])") == lines{"/quotas/0/name: a quota needs a name"});
}

TEST_CASE("children that are given more than an inclusive parent has") {
  const std::string over =
      R"("quotas": [{"name": "x"}, {"name": "root", "nominal": {"gpu": 8}, "inclusive": true},
      {"name": "a", "parent": "root", "nominal": {"gpu": 6}}, {"name": "b", "parent": "root", "nominal": {"gpu": 3}}])";
  CHECK(problems_of(over) ==
        lines{"/quotas/1/nominal: the children of root are given 9, more than the 8 it has"});
  SUBCASE("and overcommit is not set by a preset that makes every parent inclusive") {
    const std::string additive = R"("quotas": [{"name": "root", "nominal": {"gpu": 8}},
        {"name": "a", "parent": "root", "nominal": {"gpu": 9}}])";
    parse_valid(additive);
    CHECK(
        problems_of(additive, "pai") ==
        lines{
            "/quotas/0/nominal: the children of root are given 9, more than the 8 it has (as the preset pai "
            "sees it)"});
    parse_valid(additive, "fifo");
  }
  SUBCASE("the dimension is named when there are several") {
    CHECK(problems_of(R"("resources": ["gpu", "cpu"],
        "quotas": [{"name": "root", "nominal": {"gpu": 8, "cpu": 8}, "inclusive": true},
                   {"name": "a", "parent": "root", "nominal": {"gpu": 6, "cpu": 9}}])") ==
          lines{"/quotas/0/nominal: the children of root are given 9, more than the 8 it has (cpu)"});
  }
}

TEST_CASE("invalid amounts") {
  const auto nominal = [](const std::string& json) {
    return problems_of(R"("quotas": [{"name": "q"}, {"name": "r", "nominal": )" + json + "}]");
  };
  CHECK(nominal(R"({"gpu": -1})") ==
        lines{"/quotas/1/nominal/gpu: expected a number that is not negative, found -1"});
  CHECK(nominal(R"({"gpu": 0.0001})") ==
        lines{"/quotas/1/nominal/gpu: expected a number with at most three decimals, found 0.0001"});
  CHECK(nominal(R"({"gpu": 1e15})") ==
        lines{"/quotas/1/nominal/gpu: expected a number up to 1000000000000, found 1e15"});
  CHECK(nominal(R"({"gpu": "much"})") ==
        lines{"/quotas/1/nominal/gpu: expected a number or \"unlimited\", found \"much\""});
  CHECK(nominal(R"({"gpu": null})") == lines{"/quotas/1/nominal/gpu: expected a number, found null"});
  CHECK(nominal(R"({"gpus": 4})") ==
        lines{"/quotas/1/nominal/gpus: unknown key \"gpus\" (did you mean \"gpu\"?)"});
  CHECK(nominal("4") ==
        lines{"/quotas/1/nominal: expected amounts by resource, as in {\"gpu\": 1}, found 4"});
  CHECK(
      nominal(R"("all")") ==
      lines{"/quotas/1/nominal: expected amounts by resource, \"unlimited\" or \"cluster\", found \"all\""});
  CHECK(nominal(R"("cluster")") ==
        lines{"/quotas/1/nominal: there is no cluster whose nodes this could be (expected amounts)"});
}

TEST_CASE("a root may own all that the nodes have, if they state how much") {
  CHECK(
      problems_of(nodes +
                  R"(, "quotas": [{"name": "r"}, {"name": "q", "parent": "r", "nominal": "cluster"}])") ==
      lines{
          "/quotas/1/nominal: only a root can have \"cluster\", all that the nodes have (expected amounts)"});
  CHECK(problems_of(nodes + R"(, "resources": ["gpu", "licence"],
                              "quotas": [{"name": "r", "nominal": "cluster"}])") ==
        lines{"/quotas/0/nominal: the nodes do not say how much licence they have (expected an amount)"});
  const auto s =
      parse_valid(nodes + R"(, "resources": ["gpu", "h100/gpu", "a100/gpu", "memory_mib", "licence"],
      "quotas": [{"name": "r", "nominal": {"gpu": "cluster", "h100/gpu": "cluster", "a100/gpu": "cluster",
                                           "memory_mib": "cluster", "licence": 3}}])");
  CHECK(s.quotas[0].spec.nominal == lab::amounts{gpus(20), gpus(16), gpus(4), quantity::whole(2048),
                                                 quantity::whole(3), quantity{}, quantity{}, quantity{}});
}

TEST_CASE("invalid limits, weights and words") {
  const auto with = [](const std::string& member) {
    return problems_of(R"("quotas": [{"name": "q", )" + member + "}]");
  };
  CHECK(with(R"("lend": "some")") == lines{"/quotas/0/lend: expected \"all\" or \"none\", found \"some\""});
  CHECK(with(R"("lend": 4)") == lines{"/quotas/0/lend: expected \"all\" or \"none\", found 4"});
  CHECK(with(R"("borrow": {"percent": -5})") ==
        lines{"/quotas/0/borrow/percent: expected a whole number from 0 to 1000000000, found -5"});
  CHECK(with(R"("borrow": {"percent": 50, "gpu": 1})") ==
        lines{"/quotas/0/borrow/gpu: unknown key \"gpu\" (expected \"percent\")"});
  CHECK(with(R"("borrow": {"gpu": -2})") ==
        lines{"/quotas/0/borrow/gpu: expected a number that is not negative, found -2"});
  CHECK(with(R"("weight": -1)") ==
        lines{"/quotas/0/weight: expected a number that is not negative, found -1"});
  CHECK(with(R"("weight": 0.00001)") ==
        lines{"/quotas/0/weight: expected a number with at most three decimals, found 0.00001"});
  CHECK(with(R"("order": "lifo")") ==
        lines{"/quotas/0/order: expected \"priority\" or \"fifo\", found \"lifo\""});
  CHECK(with(R"("preempt": {"withn": "never"})") ==
        lines{"/quotas/0/preempt/withn: unknown key \"withn\" (did you mean \"within\"?)"});
  CHECK(with(R"("inclusive": "yes")") == lines{"/quotas/0/inclusive: expected true or false, found \"yes\""});
  CHECK(with(R"("nominal": {"gpu": 1}, "nominal": {"gpu": 2})") ==
        lines{"/quotas/0/nominal: the key is there twice"});
  CHECK(with(R"("parent": "")") ==
        lines{"/quotas/0/parent: expected the name of a quota (a root has no \"parent\"), found \"\""});
}

TEST_CASE("what priorities preempt which, for those who reclaim and for parents") {
  const auto preempt = [](const std::string& member, bool lower_by_default = false) {
    queue_settings otherwise;
    otherwise.preempt.children_lower_priority = lower_by_default;
    const auto s = parse_valid(R"("quotas": [{"name": "q", "preempt": {)" + member + "}}]");
    return s.quotas[0].settings(otherwise).preempt;
  };
  const auto reclaims = preempt(R"("reclaim": {"policy": "lower_priority", "max_priority": 4,
                                               "preempting": {"min_priority": 7, "max_priority": 9}})");
  CHECK(reclaims.reclaim == preempt_reclaim::lower_priority);
  CHECK(reclaims.reclaim_priorities.preempting == allot::priority_range{7, 9});
  CHECK(reclaims.reclaim_priorities.preempted == allot::priority_range{.most = 4});
  CHECK(reclaims.children_priorities == allot::priority_bounds{});
  const auto takes = preempt(R"("children": {"policy": "any", "min_priority": 2})", true);
  CHECK(takes.children);
  CHECK_FALSE(takes.children_lower_priority);
  CHECK(takes.children_priorities.preempted == allot::priority_range{.least = 2});
  CHECK(preempt(R"("children": "lower_priority")").children_lower_priority);
  CHECK_FALSE(preempt(R"("children": "never")").children);
  // As the preset has it.
  CHECK(preempt(R"("children": true)", true).children_lower_priority);
  CHECK_FALSE(preempt(R"("children": true)").children_lower_priority);
}

TEST_CASE("invalid rules of preemption, flavors and time") {
  const auto quota = [](const std::string& member) {
    return problems_of(R"("quotas": [{"name": "q", )" + member + "}]");
  };
  CHECK(quota(R"("priority": 1.5)") ==
        lines{"/quotas/0/priority: expected a whole number from -2147483647 to 2147483647, found 1.5"});
  CHECK(quota(R"("preempt": {"borrow": {"max_priority": 100}})") ==
        lines{"/quotas/0/preempt/borrow: the key \"policy\" is missing"});
  CHECK(
      quota(R"("preempt": {"reclaim": {"max_priority": 4}, "children": "lower"})") ==
      lines{
          "/quotas/0/preempt/reclaim: the key \"policy\" is missing",
          "/quotas/0/preempt/children: expected \"never\", \"lower_priority\" or \"any\", found \"lower\""});
  CHECK(quota(R"("preempt": {"reclaim": {"policy": "any", "min_priority": 5, "max_priority": 4}})") ==
        lines{"/quotas/0/preempt/reclaim/max_priority: less than min_priority: no job has such a priority"});
  CHECK(quota(R"("preempt": {"children": {"policy": "any", "preempting": {"priority": 4}}})") ==
        lines{"/quotas/0/preempt/children/preempting/priority: unknown key \"priority\" (expected "
              "\"min_priority\" or "
              "\"max_priority\")"});
  CHECK(quota(R"("preempt": {"borrow": {"policy": "any"}})") ==
        lines{"/quotas/0/preempt/borrow/policy: expected \"never\" or \"lower_priority\", found \"any\""});
  CHECK(quota(R"("flavor_choice": {"when_can_borrow": "preempt"})") ==
        lines{"/quotas/0/flavor_choice/when_can_borrow: expected \"borrow\" or \"try_next\", found "
              "\"preempt\""});
  CHECK(quota(R"("min_runtime_s": {"preempt": -60})") ==
        lines{"/quotas/0/min_runtime_s/preempt: expected a number that is not negative, found -60"});
  CHECK(quota(R"("borrow_backoff_s": {"first": 60})") ==
        lines{"/quotas/0/borrow_backoff_s: the key \"longest\" is missing"});
  CHECK(quota(R"("min_runtime_s": {"reclam": 60})") ==
        lines{"/quotas/0/min_runtime_s/reclam: unknown key \"reclam\" (did you mean \"reclaim\"?)"});
  CHECK(quota(R"("gather": {"longest_s": -1})") ==
        lines{"/quotas/0/gather/longest_s: expected a number that is not negative, found -1"});
  CHECK(quota(R"("head": "reserve", "gather": {"percent": 101})") ==
        lines{"/quotas/0/gather/percent: expected a whole number from 1 to 100, found 101"});
  CHECK(quota(R"("gather": {"longest": 60})") ==
        lines{"/quotas/0/gather/longest: unknown key \"longest\" (did you mean \"longest_s\"?)"});
  CHECK(quota(R"("gather": {"longest_s": 60})") ==
        lines{"/quotas/0/gather: q: only a queue with reservations gathers: set head to reserve"});
  CHECK(quota(R"("gather": {"percent": 30})") ==
        lines{"/quotas/0/gather/percent: q: this bounds what jobs gather, and none does: set gather.longest, "
              "too"});
  CHECK(quota(R"("backfill_preemptible": true)") ==
        lines{"/quotas/0/backfill_preemptible: \"backfill_preemptible\" is no more: jobs without an estimate "
              "wait "
              "where they would delay a reservation; leave it out, or give them estimates"});
  CHECK(
      quota(R"("head": "strict", "strict_after_s": 60)") ==
      lines{"/quotas/0/strict_after_s: q: no job passes another in a strict queue: leave it out, or set head "
            "to best_effort or reserve"});
  CHECK(quota(R"("preempt_after_s": 60, "preempt": {"within": "never", "reclaim": "never"})") ==
        lines{"/quotas/0/preempt_after_s: q: its jobs can preempt nothing, however long they wait: set "
              "preempt"});
  CHECK(quota(R"("borrow_backoff_s": {"first": 60, "longest": 6})") ==
        lines{"/quotas/0/borrow_backoff_s: q: the first backoff is longer than the longest"});
  for (const std::string preset : {"kueue", "kueue_fair", "runai"}) {
    CHECK(problems_of(R"("policy": ")" + preset + R"(", "quotas": [{"name": "q", "head": "reserve",
        "borrow_backoff_s": {"first": 1, "longest": 1}}])") ==
          lines{"/quotas/0/head: the cycle of these policies makes no reservations with a time",
                "/quotas/0/borrow_backoff_s: the cycle of these policies does not keep quotas from borrowing "
                "after a reclaim"});
  }
  CHECK(quota(R"("time_limit_s": {"interactive": 0})") ==
        lines{"/quotas/0/time_limit_s/interactive: expected a time above 0, found 0"});
  CHECK(quota(R"("node_pools": ["train"])") ==
        lines{"/quotas/0/node_pools: there is no cluster whose pools these could be"});
  CHECK(quota(R"("preferred_node_pools": ["train"])") ==
        lines{"/quotas/0/preferred_node_pools: there is no cluster whose pools these could be"});
}

namespace {

/// The preset under the options of a policy.
template <class P>
P preset_of(const std::string& policy) {
  auto chosen = parse_valid("\"policy\": {" + policy + "}").policy.policy();
  REQUIRE(chosen.has_value());
  std::optional<P> found;
  chosen->preset()->visit([&](const auto& p) {
    if constexpr (std::is_same_v<decltype(p), const P&>) found = p;
  });
  return found.value();
}

}  // namespace

TEST_CASE("a policy: a preset, what is set of its parts, and its options") {
  const auto s =
      parse_valid(R"("policy": {"preset": "standard", "set": {"surplus": "capped", "rounding": "none",
      "queue_order": "fair_tree", "victim_order": "lost_work", "guard": "final_then_initial",
      "placement": "best_fit", "seed": 3}})");
  CHECK(s.policy.parts.surplus == surplus_name::capped);
  CHECK(s.policy.parts.rounding == rounding_name::none);
  CHECK(s.policy.parts.queue_order == quota_order_name::fair_tree);
  CHECK(s.policy.parts.victim_order == victim_order_name::lost_work);
  CHECK(s.policy.parts.guard == guard_name::final_then_initial);
  CHECK(!s.policy.order);
  CHECK(s.policy.seed == 3);

  const auto k = preset_of<allot::kueue>(
      R"("preset": "kueue", "preserve_scan_progress": false, "recompute_overlaps": false)");
  CHECK_FALSE(k.preserve_scan_progress);
  CHECK_FALSE(k.recompute_overlaps);
  const auto f = preset_of<allot::kueue_fair>(
      R"("preset": "kueue_fair", "float_shares": true, "strategies": ["initial_share"])");
  CHECK(f.float_shares);
  CHECK(f.preserve_scan_progress);
  CHECK(f.recompute_overlaps);
  CHECK(f.strategies == allot::fair_strategies::initial_share);
  CHECK(f.resource_of == std::vector<std::uint8_t>{0});
  const auto r = preset_of<allot::runai>(
      R"("preset": "runai", "k": 0.5, "half_life_s": 60, "window_s": 3600, "round_s": 360, "saturation_multiplier": 1.5,
         "float_sums": false)");
  CHECK_FALSE(r.float_sums);
  CHECK(r.k == 500);
  CHECK(r.half_life == 60'000);
  CHECK(r.window == 3'600'000);
  CHECK(r.period == 360'000);
  CHECK(r.saturation_multiplier == 1500);
  CHECK(r.share_units == std::vector<std::int64_t>{1000});
  const auto as_kai = preset_of<allot::runai>(R"("preset": "runai", "k": 1)");
  CHECK(as_kai.window == 7 * 24 * 3'600'000);
  CHECK(as_kai.period == 1000);
  const auto h = preset_of<allot::hyperpod>(R"("preset": "hyperpod", "idle": "fcfs", "tasks": "fcfs")");
  CHECK(h.idle == allot::hyperpod_idle::fcfs);
  CHECK(h.tasks == allot::hyperpod_tasks::fcfs);
  const auto e =
      preset_of<allot::easy>(R"("preset": "easy", "reservations": "all", "backfill": "shortest_estimate")");
  CHECK(e.reservations == allot::reserve_all);
  CHECK(e.backfill == allot::backfill_order::shortest_estimate);

  const auto policy = [](const std::string& json) { return problems_of("\"policy\": " + json); };
  CHECK(policy(R"({"preset": "kueue_fair", "float_shares": 1})") ==
        lines{"/policy/float_shares: expected true or false, found 1"});
  CHECK(policy(R"({"preset": "kueue", "float_shares": true})") ==
        lines{"/policy/float_shares: \"float_shares\" is an option of the preset kueue_fair, not of kueue"});
  CHECK(policy(R"({"preset": "runai", "round_s": 0.5})") ==
        lines{"/policy/round_s: expected at least 1, found 0.5"});
  CHECK(policy(R"("standart")") ==
        lines{"/policy: there is no preset \"standart\" (did you mean \"standard\"?)"});
  CHECK(policy("1") == lines{"/policy: expected the name of a preset or an object, found 1"});
  CHECK(policy(R"({"preset": "standard", "k": 1, "set": {"guard": "none", "gard": 1}})") ==
        lines{"/policy/set/gard: unknown key \"gard\" (did you mean \"guard\"?)",
              "/policy/k: \"k\" is an option of the preset runai, not of standard"});
  CHECK(policy(R"({"preset": "standard", "set": {"guard": "good", "rounding": 1, "seed": -1}})") ==
        lines{"/policy/set/rounding: expected \"webster\", \"largest_remainder\" or \"none\", found 1",
              "/policy/set/guard: expected \"none\", \"final_share\", \"initial_share\", "
              "\"final_then_initial\" or \"saturation\", found \"good\"",
              "/policy/set/seed: expected a whole number from 0 to 1000000000000, found -1"});
  CHECK(policy(R"({"preset": "fifo", "set": {"guard": "none", "placement": "best_fit"}})") ==
        lines{"/policy/set/guard: the preset fifo has its own guard, which can't be set"});
}

TEST_CASE("invalid nodes") {
  const auto cluster = [](const std::string& all) {
    return problems_of(R"("cluster": {"nodes": [)" + all + "]}");
  };
  CHECK(cluster("") == lines{"/cluster/nodes: expected at least one node"});
  CHECK(cluster(R"({"name": "n", "gpus": -1})") ==
        lines{"/cluster/nodes/0/gpus: expected a whole number from 0 to 64, found -1"});
  CHECK(cluster(R"({"name": "n", "gpus": 8, "count": 1.5})") ==
        lines{"/cluster/nodes/0/count: expected a whole number from 1 to 1048576, found 1.5"});
  CHECK(cluster(R"({"gpus": 8})") == lines{"/cluster/nodes/0: the key \"name\" is missing"});
  CHECK(cluster(R"({"name": "n", "gpus": 8}, {"name": "n", "gpus": 4})") ==
        lines{"/cluster/nodes/1/name: there is more than one node named n"});
  CHECK(
      cluster(
          R"({"name": "n-2", "gpus": 8}, {"name": "m", "gpus": 8}, {"name": "n", "gpus": 4, "count": 3})") ==
      lines{"/cluster/nodes/2/name: there is more than one node named n-2"});
  CHECK(cluster(R"({"name": "", "gpus": 8})") == lines{"/cluster/nodes/0/name: a node needs a name"});
  CHECK(cluster(R"({"name": "n", "gpus": 8, "labels": {"rack": 7}})") ==
        lines{"/cluster/nodes/0/labels/rack: expected a string, found 7"});
  // One error, not one more for every quota that refers to the nodes.
  CHECK(problems_of(R"("cluster": {"nodes": [{"name": "n", "gpus": 99}]},
                       "quotas": [{"name": "r", "nominal": "cluster", "node_pools": ["p"]}])") ==
        lines{"/cluster/nodes/0/gpus: expected a whole number from 0 to 64, found 99"});
  CHECK(problems_of(nodes + R"(, "quotas": [{"name": "r", "node_pools": ["trian"]}])") ==
        lines{"/quotas/0/node_pools/0: no node is in a pool \"trian\""});
  CHECK(problems_of(nodes + R"(, "quotas": [{"name": "r", "preferred_node_pools": []}])") ==
        lines{"/quotas/0/preferred_node_pools: expected at least one pool"});
  CHECK(
      problems_of(
          R"("cluster": {"nodes": [{"name": "a", "gpus": 8, "pool": "x"}, {"name": "b", "gpus": 8, "pool": "y"}]},
                       "quotas": [{"name": "r", "node_pools": ["x"], "preferred_node_pools": ["x", "y"]}])") ==
      lines{"/quotas/0/preferred_node_pools: its jobs may not run in all of these: see its \"node_pools\""});
}

TEST_CASE("invalid jobs") {
  const auto job = [](const std::string& members) {
    return problems_of(nodes + ", " + teams + R"(, "jobs": [{"id": "j", )" + members + "}]");
  };
  CHECK(job(R"("quota": "bb", "request": {"gpu": 1})") ==
        lines{"/jobs/0/quota: there is no quota \"bb\" (did you mean \"b\"?)"});
  CHECK(job(R"("request": {"gpu": 1})") == lines{"/jobs/0: the key \"quota\" is missing"});
  CHECK(job(R"("quota": "a")") == lines{"/jobs/0: the key \"request\" is missing"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1.5})") ==
        lines{"/jobs/0/request: 1.5 GPUs can't be had (expected whole GPUs, or a fraction of one)"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 0.0005})") ==
        lines{"/jobs/0/request/gpu: expected a number with at most three decimals, found 0.0005"});
  CHECK(job(R"("quota": "a", "request": {"gpu": "unlimited"})") ==
        lines{"/jobs/0/request/gpu: expected a number, found \"unlimited\""});
  CHECK(job(R"("quota": "a", "request": {"tpu": 1})") ==
        lines{"/jobs/0/request/tpu: unknown key \"tpu\" (did you mean \"gpu\"?)"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1}, "pods": 0)") ==
        lines{"/jobs/0/pods: expected a whole number from 1 to 1000000, found 0"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1}, "pods": 4, "min_pods": 5)") ==
        lines{"/jobs/0/min_pods: expected a whole number from 1 to 4, found 5"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 9}, "pods": 2, "total": true)") ==
        lines{"/jobs/0/pods: a total is split over as few nodes as its size needs (expected no \"pods\")"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1}, "flavors": ["b200"])") ==
        lines{"/jobs/0/flavors/0: no quota counts the flavor \"b200\" and no node has it"});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1}, "state": "done")") ==
        lines{"/jobs/0/state: expected \"pending\", \"running\" or \"evicting\", found \"done\""});
  CHECK(job(R"("quota": "a", "request": {"gpu": 1}, "submit_s": -1)") ==
        lines{"/jobs/0/submit_s: expected a number that is not negative, found -1"});
  CHECK(problems_of(teams + R"(, "jobs": [{"id": "j", "quota": "a", "request": {}}, {"id": "", "quota": "a",
                               "request": {}}, {"id": "j", "quota": "b", "request": {}}])") ==
        lines{"/jobs/1/id: a job needs an id", "/jobs/2/id: there is more than one job \"j\""});
  CHECK(problems_of(teams +
                    R"(, "jobs": [{"id": "j", "quota": "a", "request": {"gpu": 1e12}, "pods": 1000000}])") ==
        lines{"/jobs/0/request: all pods together ask for more than can be counted",
              "/jobs: all jobs together ask for more than can be counted"});
}

TEST_CASE("running jobs without a valid place") {
  const auto job = [](const std::string& members) {
    return problems_of(nodes + ", " + teams + R"(, "jobs": [{"id": "j", "quota": "a", "state": "running", )" +
                       members + "}]");
  };
  CHECK(job(R"("request": {"gpu": 1}, "nodes": ["n-7"])") ==
        lines{"/jobs/0/nodes/0: there is no node \"n-7\""});
  CHECK(job(R"("request": {"gpu": 1}, "pods": 2, "nodes": ["n-0"])") ==
        lines{"/jobs/0/nodes: expected a node for each of the 2 pods, found 1"});
  CHECK(job(R"("request": {"gpu": 1}, "nodes": ["n-0"], "devices": [[8]])") ==
        lines{"/jobs/0/devices/0/0: expected a whole number from 0 to 7, found 8"});
  CHECK(job(R"("request": {"gpu": 2}, "nodes": ["n-0"], "devices": [[3, 3]])") ==
        lines{"/jobs/0/devices/0/1: the device is there twice"});
  CHECK(job(R"("request": {"gpu": 1}, "nodes": ["n-0"], "devices": [[0], [1]])") ==
        lines{"/jobs/0/devices/1: there is no node for the pod that has these devices"});
  CHECK(job(R"("request": {"gpu": 1}, "pods": 2, "nodes": ["n-0", "n-1"], "devices": [[0]])") ==
        lines{"/jobs/0/devices: expected the devices of 2 pods, found 1"});
}

TEST_CASE("resources") {
  CHECK(problems_of(R"("resources": [])") == lines{"/resources: expected at least one resource"});
  CHECK(problems_of(R"("resources": ["gpu", "gpu"])") ==
        lines{"/resources/1: the resource \"gpu\" is there twice"});
  CHECK(problems_of(R"("resources": ["gpu", ""])") ==
        lines{"/resources/1: expected the name of a resource, found \"\""});
  CHECK(problems_of(R"("resources": ["1", "2", "3", "4", "5", "6", "7", "8", "9"])") ==
        lines{"/resources: there are 9 resources: this program can count 8"});
  CHECK(problems_of(R"("resources": "gpu")") == lines{"/resources: expected an array, found \"gpu\""});
}

TEST_CASE("GPUs of a model are on nodes of that model, in any case of letters") {
  const auto s =
      parse_valid(nodes + R"(, "resources": ["gpu", "h100/gpu", "a100/gpu"], "quotas": [{"name": "q"}],
      "jobs": [{"id": "1", "request": {"a100/gpu": 2}}, {"id": "2", "request": {"h100/gpu": 2, "gpu": 2}},
               {"id": "3", "request": {"gpu": 2}}])");
  // The pools are those of the nodes, in their order.
  CHECK(s.jobs[0].pod_request.pools == 0b10);
  CHECK(s.jobs[0].pod_request.gpus == gpus(2));
  CHECK(s.jobs[1].pod_request.pools == 0b01);
  CHECK(s.jobs[1].pod_request.gpus == gpus(2));
  CHECK(s.jobs[2].pod_request.pools == gpu::all_pools);
  CHECK(problems_of(nodes + R"(, "resources": ["gpu", "h100/gpu", "a100/gpu"],
                              "jobs": [{"id": "1", "request": {"a100/gpu": 2, "h100/gpu": 2}}])") ==
        lines{"/jobs/0/request: one pod can't have GPUs of two models (h100 and a100)"});
  CHECK(
      problems_of(
          R"("resources": ["gpu", "h100/gpu"], "jobs": [{"id": "1", "request": {"gpu": 3, "h100/gpu": 2}}])") ==
      lines{"/jobs/0/request: of the 3 gpu a model is named for 2 (expected none, or all)"});
}

namespace {

const std::string flavored = R"("resources": ["cpu", "h100/gpu", "a100/gpu", "spot/cpu"],
    "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8, "gpu_model": "H100", "pool": "p"},
                          {"name": "m", "gpus": 4, "gpu_model": "A100", "pool": "p"},
                          {"name": "l", "gpus": 4, "gpu_model": "A100", "labels": {"life": "spot"}}]},
    "quotas": [{"name": "q"}], )";

}  // namespace

TEST_CASE("flavors: what a job takes of each, and where its nodes are") {
  const auto s = parse_valid(flavored + R"("jobs": [
      {"id": "1", "request": {"gpu": 8, "cpu": 4}, "pods": 3, "min_pods": 2, "flavors": ["a100", "h100"]},
      {"id": "2", "request": {"cpu": 0.5}, "flavors": ["p", "spot"]},
      {"id": "3", "request": {"gpu": 2, "cpu": 1},
       "flavors": [{"resources": ["cpu"], "flavors": ["spot"]}, {"resources": ["gpu"], "flavors": ["h100"]}]},
      {"id": "4", "request": {"a100/gpu": 2}, "flavors": ["p"]}])");
  // Three kinds of nodes: n, m and l.
  const lab::job_entry& first = s.jobs[0];
  CHECK(first.request[0] == quantity::whole(12));
  CHECK(first.request[1] == quantity{});
  CHECK(first.pod_request == gpu::pod_request{.gpus = gpus(8), .pods = 3, .cpu_milli = 4000});
  CHECK(first.min_pods == 2);
  REQUIRE(first.flavors.size() == 1);
  CHECK(first.flavors[0].resources == std::vector<std::string>{"gpu"});
  REQUIRE(first.flavors[0].options.size() == 2);
  CHECK(first.flavors[0].options[0].name == "a100");
  CHECK(first.flavors[0].options[0].request == lab::amounts{quantity{}, quantity{}, gpus(8), quantity{},
                                                            quantity{}, quantity{}, quantity{}, quantity{}});
  CHECK(first.flavors[0].options[0].pools == 0b110);
  CHECK(first.flavors[0].options[1].request[1] == gpus(8));
  CHECK(first.flavors[0].options[1].pools == 0b001);
  // A flavor that no quota counts selects nodes: by the pool, or by a label.
  REQUIRE(s.jobs[1].flavors.size() == 1);
  CHECK(s.jobs[1].flavors[0].options[0].pools == 0b011);
  CHECK(s.jobs[1].flavors[0].options[0].request == lab::amounts{});
  CHECK(s.jobs[1].flavors[0].options[1].pools == 0b100);
  CHECK(s.jobs[1].flavors[0].options[1].request[3] == quantity::milli(500));
  REQUIRE(s.jobs[2].flavors.size() == 2);
  CHECK(s.jobs[2].flavors[1].options[0].request[1] == gpus(2));
  CHECK(s.jobs[3].pod_request.pools == 0b110);
  CHECK(s.jobs[3].flavors[0].options[0].pools == 0b011);

  const auto w = lab::make_workload<lab::max_resources>(s);
  REQUIRE(w.setup.flavor_sets.size() == 4);
  CHECK(w.setup.jobs[0].flavors == 1);
  CHECK(w.setup.jobs[0].min_pods == 2);
  CHECK(w.setup.flavor_sets[0].menu.options(0)[0][2] == gpus(8));
  CHECK(w.setup.flavor_sets[0].pools == std::vector<std::uint64_t>{0b110, 0b001});
  // Of several groups, that of the GPUs determines where the pods are placed.
  CHECK(w.setup.flavor_sets[2].placed_group == 1);
  CHECK(w.setup.flavor_sets[2].pools == std::vector<std::uint64_t>{0b001});
}

TEST_CASE("invalid flavors") {
  const auto job = [](const std::string& members) {
    return problems_of(flavored + R"("jobs": [{"id": "j", )" + members + "}]");
  };
  CHECK(job(R"("request": {"gpu": 1})") ==
        lines{"/jobs/0/request/gpu: \"gpu\" is counted by flavor (expected \"h100/gpu\" or \"a100/gpu\", or "
              "\"flavors\" to choose from)"});
  CHECK(job(R"("request": {"gpu": 1}, "flavors": ["h100", "b200"])") ==
        lines{"/jobs/0/flavors/1: there is no resource \"b200/gpu\" (expected \"h100\" or \"a100\")"});
  CHECK(job(R"("request": {"gpu": 1}, "flavors": ["h100", "h100"])") ==
        lines{"/jobs/0/flavors/1: the flavor is there twice"});
  CHECK(job(R"("request": {"gpu": 1}, "flavors": "h100")") ==
        lines{"/jobs/0/flavors: expected an array, found \"h100\""});
  CHECK(job(R"("request": {"cpu": 1}, "flavors": ["moon"])") ==
        lines{"/jobs/0/flavors/0: no quota counts the flavor \"moon\" and no node has it"});
  CHECK(job(R"("request": {"gpu": 1, "cpu": 1}, "flavors": [{"resources": ["cpu"], "flavors": ["spot"]}])") ==
        lines{"/jobs/0/flavors: no group has the resource \"gpu\", which is counted by flavor"});
  CHECK(job(R"("request": {"gpu": 1}, "flavors": [{"resources": ["cpu"], "flavors": ["spot"]},
               {"resources": ["gpu", "gpu"], "flavors": ["h100"], "flavor": 1}])") ==
        lines{"/jobs/0/flavors/0/resources/0: the request does not ask for \"cpu\"",
              "/jobs/0/flavors/1/resources/1: the resource \"gpu\" is there twice",
              "/jobs/0/flavors/1/flavor: unknown key \"flavor\" (did you mean \"flavors\"?)"});
  CHECK(
      job(R"("request": {"gpu": 1}, "flavors": ["h100", {"resources": ["gpu"], "flavors": ["h100"]}])") ==
      lines{"/jobs/0/flavors: expected the names of flavors, or groups of resources with theirs, not both"});
}

TEST_CASE("a flavor that no node has exists in the quotas only") {
  const auto s =
      parse_valid(nodes + R"(, "resources": ["reserved/gpu", "h100/gpu"], "quotas": [{"name": "q"}],
      "jobs": [{"id": "1", "request": {"reserved/gpu": 2}}, {"id": "2", "request": {"h100/gpu": 2}}])");
  CHECK(s.jobs[0].pod_request.pools == gpu::all_pools);
  CHECK(s.jobs[1].pod_request.pools == 0b01);
  CHECK(
      problems_of(nodes +
                  R"(, "resources": ["reserved/gpu"], "quotas": [{"name": "q", "nominal": "cluster"}])") ==
      lines{"/quotas/0/nominal: the nodes do not say how much reserved/gpu they have (expected an amount)"});
}

TEST_CASE("a running elastic job has a node for each pod that runs") {
  const auto s = parse_valid(nodes + R"(, "quotas": [{"name": "q"}], "jobs": [
      {"id": "1", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "state": "running", "nodes": ["n-0", "n-1", "m"]},
      {"id": "2", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "state": "running", "running_pods": 3},
      {"id": "3", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "state": "running"}])");
  CHECK(s.jobs[0].running_pods == 3);
  CHECK(s.jobs[1].running_pods == 3);
  CHECK(s.jobs[2].running_pods == 4);
  const auto job = [](const std::string& members) {
    return problems_of(nodes +
                       R"(, "quotas": [{"name": "q"}], "jobs": [{"id": "j", "request": {"gpu": 1}, "pods": 4,
        "min_pods": 2, "state": "running", )" +
                       members + "}]");
  };
  CHECK(job(R"("nodes": ["n-0"])") ==
        lines{"/jobs/0/nodes: expected a node for each of the 2 to 4 pods, found 1"});
  CHECK(job(R"("running_pods": 2, "nodes": ["n-0"])") ==
        lines{"/jobs/0/nodes: expected a node for each of the 2 pods, found 1"});
  CHECK(job(R"("running_pods": 5)") ==
        lines{"/jobs/0/running_pods: expected a whole number from 2 to 4, found 5"});
}

TEST_CASE("events change the quotas in the order of time") {
  const auto s = parse_valid(teams + R"(,
      "jobs": [{"id": "j", "quota": "c", "request": {"gpu": 1}, "submit_s": 100}],
      "events": [{"at_s": 30, "remove_quota": {"quota": "b"}},
                 {"at_s": 10, "add_quota": {"name": "c", "parent": "root", "nominal": {"gpu": 1}}},
                 {"at_s": 20, "resize": {"quota": "c", "nominal": {"gpu": 2}, "borrow": "none"}},
                 {"at_s": 20, "move_quota": {"quota": "b", "parent": "c"}},
                 {"at_s": 40, "reweight": {"quota": "c", "weight": 0.5}},
                 {"at_s": 40, "move_quota": {"quota": "c"}}])");
  CHECK(s.initial_quotas == 3);
  REQUIRE(s.quotas.size() == 4);
  CHECK(s.quotas[3].spec.name == "c");
  CHECK(s.jobs[0].quota == quota_id{3});
  REQUIRE(s.events.size() == 6);
  using change = quota_change<lab::max_resources>;
  const auto change_of = [&](std::size_t i) { return std::get<change>(s.events[i].what); };
  CHECK(s.events[0].at == 10000);
  CHECK(std::get<add_quota<lab::max_resources>>(change_of(0)).spec.name == "c");
  const auto resize = std::get<resize_quota<lab::max_resources>>(change_of(1));
  CHECK(resize.quota == quota_id{3});
  CHECK((*resize.nominal)[0] == gpus(2));
  CHECK((*resize.borrow)[0] == limit::none());
  CHECK(!resize.lend);
  CHECK(std::get<move_quota>(change_of(2)).new_parent == quota_id{3});
  CHECK(std::get<remove_quota>(change_of(3)).quota == quota_id{2});
  CHECK(std::get<reweight_quota<lab::max_resources>>(change_of(4)).weight[0] == fair_weight::milli(500));
  CHECK(!std::get<move_quota>(change_of(5)).new_parent);
}

TEST_CASE("a resize of one resource leaves the others as they are at that time") {
  const auto s =
      parse_valid(R"("resources": ["gpu", "cpu"], "quotas": [{"name": "q", "nominal": {"gpu": 4, "cpu": 8}}],
      "events": [{"at_s": 2, "resize": {"quota": "q", "nominal": {"cpu": 9}}},
                 {"at_s": 1, "resize": {"quota": "q", "nominal": {"gpu": 5}}}])");
  const auto nominal = [&](std::size_t i) {
    const auto& c = std::get<quota_change<lab::max_resources>>(s.events[i].what);
    return *std::get<resize_quota<lab::max_resources>>(c).nominal;
  };
  CHECK(nominal(0)[0] == gpus(5));
  CHECK(nominal(0)[1] == quantity::whole(8));
  CHECK(nominal(1)[0] == gpus(5));
  CHECK(nominal(1)[1] == quantity::whole(9));
}

TEST_CASE("two resizes at one time are one transition") {
  const std::string quotas = R"("quotas": [{"name": "r", "nominal": {"gpu": 128}, "inclusive": true},
      {"name": "b", "parent": "r", "nominal": {"gpu": 48}}, {"name": "c", "parent": "r", "nominal": {"gpu": 80}}], )";
  parse_valid(quotas + R"("events": [{"at_s": 9, "resize": {"quota": "b", "nominal": {"gpu": 56}}},
                                     {"at_s": 9, "resize": {"quota": "c", "nominal": {"gpu": 72}}}])");
  CHECK(problems_of(quotas + R"("events": [{"at_s": 9, "resize": {"quota": "b", "nominal": {"gpu": 56}}},
                                           {"at_s": 10, "resize": {"quota": "c", "nominal": {"gpu": 72}}}])") ==
        lines{"/events/0/resize: the children of r are given 136, more than the 128 it has"});
}

TEST_CASE("invalid events") {
  const auto event = [](const std::string& members) {
    return problems_of(teams + R"(, "events": [{"at_s": 1}, {"at_s": 2, )" + members + "}]");
  };
  const std::string nothing =
      "/events/0: nothing happens here (expected resize, add_quota, remove_quota, move_quota, reweight, "
      "cancel, node_down, node_up or drain)";
  CHECK(event(R"("resize": {"quota": "z", "nominal": {}})") ==
        lines{nothing, "/events/1/resize/quota: there is no quota \"z\" at this time"});
  CHECK(event(R"("resize": {"quota": "a"})") ==
        lines{nothing, "/events/1/resize: expected \"nominal\", \"lend\" or \"borrow\""});
  CHECK(event(R"("resize": {"quota": "a", "nominl": {}})") ==
        lines{nothing, "/events/1/resize: expected \"nominal\", \"lend\" or \"borrow\"",
              "/events/1/resize/nominl: unknown key \"nominl\" (did you mean \"nominal\"?)"});
  CHECK(event(R"("add_quota": {"name": "a"})") ==
        lines{nothing, "/events/1/add_quota: there is or was a quota \"a\" (expected a new name)"});
  CHECK(event(R"("add_quota": {"name": "n", "parent": "z"})") ==
        lines{nothing, "/events/1/add_quota: n names the parent z, which does not exist"});
  CHECK(event(R"("add_quota": {"name": "n", "order": "lifo"})") ==
        lines{nothing, "/events/1/add_quota/order: expected \"priority\" or \"fifo\", found \"lifo\""});
  CHECK(event(R"("move_quota": {"quota": "root", "parent": "a"})") ==
        lines{nothing, "/events/1/move_quota: the parents form a cycle: root -> a -> root"});
  CHECK(event(R"("remove_quota": {"quota": "root"})").all.size() == 3);
  CHECK(event(R"("cancel": {"job": "j"})") == lines{nothing, "/events/1/cancel/job: there is no job \"j\""});
  CHECK(event(R"("node_down": {"node": "n"})") ==
        lines{nothing, "/events/1/node_down/node: there is no cluster of which this could be a node"});
  CHECK(event(R"("announced_s": 0, "remove_quota": {"quota": "a"})") ==
        lines{nothing, "/events/1/remove_quota: only resize, node_down and node_up can be announced"});
  CHECK(problems_of(nodes + R"(, "events": [
            {"at_s": 1, "announced_s": 0, "drain": {"node": "n-0"}},
            {"at_s": 1, "announced_s": 2, "node_down": {"node": "n-0"}}])") ==
        lines{"/events/1/announced_s: what is announced is yet to happen (expected a time before at_s)",
              "/events/0/drain: only resize, node_down and node_up can be announced"});
  CHECK(problems_of(nodes +
                    R"(, "events": [{"at_s": 1, "drain": {"node": "n-2"}}, {"at_s": 1, "node_up": {}}])") ==
        lines{"/events/0/drain/node: there is no node \"n-2\"",
              "/events/1/node_up: the key \"node\" is missing"});
  CHECK(event(R"("rezise": {})") ==
        lines{nothing, "/events/1/rezise: unknown key \"rezise\" (did you mean \"resize\"?)"});
  CHECK(event(R"("cancel": {"job": "j"}, "reweight": {"quota": "a", "weight": 1})").all.size() == 2);
  CHECK(problems_of(teams + R"(, "events": [{"cancel": {"job": "j"}}])") ==
        lines{"/events/0: the key \"at_s\" is missing"});
}

TEST_CASE("all problems are reported at once") {
  CHECK(problems_of(R"("policy": "best", "cluster": {"nodes": [{"name": "n", "gpus": -1}]},
      "quotas": [{"name": "a", "nominal": {"gpu": -1}}, {"name": "b", "parent": "z"}],
      "jobs": [{"id": "j", "quota": "q", "request": {"gpu": 0.00001}}], "eventz": [])")
            .all.size() == 7);
}
