// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/decide.hpp"

#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/io/json_reader.hpp"
#include "tests/lab/scenarios.hpp"
#include "tests/support/seeds.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;

namespace {

/// A decision as lines: "admit b2 borrows 3 on n-0", "evict c1 for d1: reclaim", "reserve d1 after c1",
/// "hold b3: borrow_limit at team-b, 1 gpu short: text", "refuse x: access: text".
lines decided(const lab::scenario& s, std::size_t rounds = 1) {
  lab::errors found;
  const auto d = lab::decide(s, rounds, found);
  REQUIRE_MESSAGE(d, found.to_string());
  std::vector<std::string> all{"rounds " + std::to_string(d->rounds)};
  const auto listed = [](const std::vector<std::string_view>& names) {
    std::string text;
    for (const auto n : names) text.append(" ").append(n);
    return text;
  };
  for (const auto& a : d->admit) {
    std::string line = "admit " + std::string{a.id};
    if (a.borrows[0] != quantity{}) line += " borrows " + to_string(a.borrows[0]);
    all.push_back(line + (a.nodes.empty() ? "" : " on" + listed(a.nodes)));
  }
  for (const auto& e : d->evict) {
    all.push_back("evict " + std::string{e.id} + " for " + std::string{e.beneficiary} + ": " +
                  std::string{e.reason});
  }
  for (const auto& r : d->reserve)
    all.push_back("reserve " + std::string{r.id} + " after" + listed(r.waits_for));
  for (const auto& h : d->pending) {
    std::string line = "hold " + std::string{h.id} + ": " + h.reason + " at " + h.at;
    if (h.resource) line += ", " + to_string(h.short_by) + ' ' + std::string{*h.resource} + " short";
    all.push_back(line + ": " + h.text);
  }
  for (const auto& r : d->refuse)
    all.push_back("refuse " + std::string{r.id} + ": " + r.reason + ": " + r.text);
  return lines{std::move(all)};
}
lines decided(const std::string& members, std::size_t rounds = 1, std::optional<std::string> policy = {}) {
  return decided(parse_valid(members, std::move(policy)), rounds);
}

std::string hyperpod_example(const std::string& lend, const std::string& borrow) {
  return R"("quotas": [{"name": "all"},
      {"name": "team-a", "parent": "all", "nominal": {"gpu": 6}, "lend": )" +
         lend + R"(},
      {"name": "team-b", "parent": "all", "nominal": {"gpu": 5}, "borrow": )" +
         borrow + R"(}],
    "jobs": [{"id": "a1", "quota": "team-a", "request": {"gpu": 2}, "state": "running"},
             {"id": "b1", "quota": "team-b", "request": {"gpu": 4}, "state": "running"},
             {"id": "b2", "quota": "team-b", "request": {"gpu": 4}}])";
}

const std::string two_nodes = R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8}]}, )";

}  // namespace

TEST_CASE("decide: KAI charges GPU memory by the node on which it runs") {
  // Half of the large GPU, though it would be all of the small one: with it, w remains within 1.5.
  const std::string members = R"("cluster": {"nodes": [{"name": "small", "gpus": 1, "gpu_memory_mib": 8000},
                                        {"name": "large", "gpus": 1, "gpu_memory_mib": 16000}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 1}, "borrow": {"gpu": 0.5}}],
      "jobs": [{"id": "m", "quota": "q", "gpu_memory_mib": 8000, "request": {}, "submit_s": 0,
                "state": "running", "nodes": ["large"]},
               {"id": "w", "quota": "q", "request": {"gpu": 1}, "submit_s": 1}])";
  CHECK(decided(members, 1, "runai") == lines{"rounds 1", "admit w borrows 0.5 on small"});
  // While pending, its amount is that on the smallest GPU, unrounded.
  const std::string waits = R"("cluster": {"nodes": [{"name": "n", "gpus": 2, "gpu_memory_mib": 16384}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 2}}],
      "jobs": [{"id": "m", "quota": "q", "gpu_memory_mib": 5000, "request": {}, "submit_s": 0},
               {"id": "gone", "quota": "q", "request": {"gpu": 1}, "submit_s": 0, "state": "evicting",
                "nodes": ["n"]}])";
  lab::errors found;
  const auto d = lab::decide(parse_valid(waits, "runai"), 1, found);
  REQUIRE(d);
  REQUIRE(d->quotas.size() == 1);
  CHECK(d->quotas[0].entitled[0] == quantity::milli(307));  // of 16300 MiB; an evicted job is no demand
}

TEST_CASE(
    "decide: under runai a job gets the first of its flavors that works, each set of unlike pods its own") {
  const auto with = [](const std::string& jobs) {
    return decided(R"("resources": ["h100/gpu", "a100/gpu"], "cluster": {"nodes": [
        {"name": "h", "gpus": 8, "gpu_model": "H100"}, {"name": "a", "gpus": 8, "gpu_model": "A100"}]},
      "quotas": [{"name": "q", "nominal": {"h100/gpu": 8, "a100/gpu": 8}}], "jobs": [)" +
                       jobs + "]",
                   1, "runai");
  };
  const std::string has = R"({"id": "r", "quota": "q", "request": {"h100/gpu": 6}, "state": "running"}, )";
  CHECK(with(has + R"({"id": "w", "quota": "q", "request": {"gpu": 4}, "flavors": ["h100", "a100"]})") ==
        lines{"rounds 1", "admit w on a"});
  CHECK(with(has + R"({"id": "w", "quota": "q", "pod_sets": [
          {"request": {"gpu": 2}, "flavors": ["h100", "a100"]},
          {"request": {"gpu": 8}, "flavors": ["h100", "a100"]}]})") == lines{"rounds 1", "admit w on h a"});
  // What it evicts is of the flavor that it gets.
  CHECK(with(R"({"id": "r", "quota": "q", "request": {"h100/gpu": 6}, "state": "running",
                "preemptible": false},
               {"id": "s", "quota": "q", "request": {"a100/gpu": 6}, "state": "running"},
               {"id": "w", "quota": "q", "request": {"gpu": 4}, "flavors": ["h100", "a100"],
                "priority": 1})") == lines{"rounds 1", "evict s for w: priority", "reserve w after s"});
}

TEST_CASE("decide: KAI charges unlike pods each for its GPU memory, or for the GPUs it asks for") {
  const auto with = [](const std::string& nodes, const std::string& asked) {
    return decided(R"("cluster": {"nodes": [{"name": "small", "gpus": 2, "gpu_memory_mib": 8000},
                                            {"name": "large", "gpus": 2, "gpu_memory_mib": 16000}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 2}, "borrow": {"gpu": 0.5}}],
      "jobs": [{"id": "m", "quota": "q", "submit_s": 0, "state": "running", "nodes": [)" +
                       nodes + R"(], "pod_sets": [
                  {"gpu_memory_mib": 8000, "request": {}, "pods": 2, "min_pods": 1},
                  {"request": {"gpu": 1}}]},
               {"id": "w", "quota": "q", "request": {"gpu": )" +
                       asked + "}, \"submit_s\": 1}]",
                   1, "runai");
  };
  // Half of a large GPU and a whole one; the pod that is to come would be half of one more.
  CHECK(with(R"("large", "large")", "1") == lines{"rounds 1", "admit w borrows 0.5 on small"});
  CHECK(with(R"("large", "large", "large")", "0.5") == lines{"rounds 1", "admit w borrows 0.5 on small"});
  // All of a small one.
  const auto starts = [](const lines& all) {
    return std::any_of(all.all.begin(), all.all.end(),
                       [](const std::string& line) { return line.find("admit w") == 0; });
  };
  CHECK_FALSE(starts(with(R"("large", "large", "small")", "0.1")));
  CHECK_FALSE(starts(with(R"("small", "large", "large")", "0.1")));
}

TEST_CASE("decide: what KAI charges for GPU memory may be more than there is") {
  const std::string members = R"("cluster": {"nodes": [{"name": "n", "gpus": 1, "gpu_memory_mib": 10000}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 2}}],
      "jobs": [{"id": "m", "quota": "q", "gpu_memory_mib": 5005, "request": {}, "submit_s": 0,
                "state": "running", "nodes": ["n"]},
               {"id": "w", "quota": "q", "gpu_memory_mib": 4990, "request": {}, "submit_s": 1}])";
  // 51 and 50 percent.
  CHECK(decided(members, 1, "runai") == lines{"rounds 1", "admit w on n"});
}

TEST_CASE("decide: KAI charges all parts that a pod has of several GPUs") {
  const auto account = [](const std::string& gpus, const std::string& job) {
    const std::string members = R"("cluster": {"nodes": [{"name": "n", "gpus": )" + gpus +
                                R"(, "gpu_memory_mib": 16384}]},
        "quotas": [{"name": "q", "nominal": {"gpu": 4}}],
        "jobs": [{"id": "j", "quota": "q", "devices_per_pod": 2, "pods": 2, )" +
                                job + "}]";
    lab::errors found;
    const auto d = lab::decide(parse_valid(members, "runai"), 1, found);
    REQUIRE(d);
    return d->quotas.front();
  };
  const std::string fractions = R"("request": {"gpu": 1.2})";
  const std::string memory = R"("request": {}, "gpu_memory_mib": 5000)";
  CHECK(account("4", fractions).used[0] == quantity::milli(2400));
  CHECK(account("4", memory).used[0] == quantity::milli(4 * 310));  // 31 %, rounded up, of 16300 MiB
  // On a node of one GPU they wait.
  CHECK(account("1", fractions).entitled[0] == quantity::milli(2400));
  CHECK(account("1", memory).entitled[0] == quantity::milli(4 * 307));
}

TEST_CASE("decide: under KAI a job that is larger than the cluster waits") {
  const std::string members = R"("cluster": {"nodes": [{"name": "n", "gpus": 2}]},
      "quotas": [{"name": "q", "nominal": {"gpu": 2}}],
      "jobs": [{"id": "big", "quota": "q", "request": {"gpu": 3}, "submit_s": 0}])";
  lab::errors found;
  const auto d = lab::decide(parse_valid(members, "runai"), 1, found);
  REQUIRE(d);
  CHECK(d->refuse.empty());
  CHECK(d->pending.size() == 1);
}

TEST_CASE("HyperPod's example: a job borrows what another team leaves idle") {
  CHECK(decided(hyperpod_example(R"("all")", R"("all")")) == lines{"rounds 1", "admit b2 borrows 3"});
  CHECK(decided(hyperpod_example(R"("none")", R"("all")")) ==
        lines{"rounds 1", "hold b2: capacity at all, 3 gpu short: all has 5 gpu for all and 4 are in use"});
  CHECK(decided(hyperpod_example(R"("all")", R"({"percent": 40})")) ==
        lines{"rounds 1",
              "hold b2: borrow_limit at team-b, 1 gpu short: team-b may borrow 2 gpu and borrows 0; with "
              "this job it "
              "would be 3"});
  CHECK(decided(hyperpod_example(R"("all")", R"("none")")) ==
        lines{"rounds 1",
              "hold b2: nominal at team-b, 3 gpu short: team-b has 5 gpu, uses 4 and may not borrow"});
}

TEST_CASE("a quota at its borrow limit") {
  CHECK(decided(R"("quotas": [{"name": "all"}, {"name": "team-a", "parent": "all", "nominal": {"gpu": 6}},
      {"name": "team-b", "parent": "all", "nominal": {"gpu": 2}, "borrow": {"gpu": 2}}],
    "jobs": [{"id": "b1", "quota": "team-b", "request": {"gpu": 4}, "state": "running"},
             {"id": "b10", "quota": "team-b", "request": {"gpu": 1}},
             {"id": "b9", "quota": "team-b", "request": {"gpu": 1}}])") ==
        lines{"rounds 1",
              "hold b10: borrow_limit at team-b, 1 gpu short: team-b may borrow 2 gpu and borrows 2",
              "hold b9: borrow_limit at team-b, 1 gpu short: team-b may borrow 2 gpu and borrows 2"});
}

TEST_CASE("a reclaim: nominated in the first round, admitted in the second") {
  const std::string members =
      two_nodes + R"("quotas": [{"name": "r", "nominal": "cluster", "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}}, {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 8}, "state": "running", "start_s": 1, "nodes": ["n-0"]},
             {"id": "b2", "quota": "b", "request": {"gpu": 4}, "state": "running", "start_s": 2, "nodes": ["n-1"]},
             {"id": "b3", "quota": "b", "request": {"gpu": 4}, "state": "running", "start_s": 3, "nodes": ["n-1"]},
             {"id": "a1", "quota": "a", "request": {"gpu": 4}, "submit_s": 5}])";
  CHECK(decided(members) == lines{"rounds 1", "evict b3 for a1: reclaim", "reserve a1 after b3"});
  const lines quiet{"rounds 2", "admit a1 on n-1", "evict b3 for a1: reclaim", "reserve a1 after b3",
                    "hold b3: capacity at r, 4 gpu short: r has 16 gpu for all and 16 are in use"};
  CHECK(decided(members, 2) == quiet);
  CHECK(decided(members, 100) == quiet);
}

TEST_CASE("a beneficiary waits for a job that is already being evicted") {
  const std::string members = two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "old", "request": {"gpu": 8}, "pods": 2, "state": "evicting", "submit_s": 9},
             {"id": "new", "request": {"gpu": 8}, "submit_s": 1}])";
  CHECK(decided(members) == lines{"rounds 1", "reserve new after old"});
  CHECK(decided(members, 9) ==
        lines{"rounds 2", "admit new on n-0", "reserve new after old",
              "hold old: capacity at q, 8 gpu short: q has 16 gpu for all and 8 are in use"});
}

TEST_CASE("a higher priority of the same quota is served first and may evict") {
  const std::string members = R"("quotas": [{"name": "q", "nominal": {"gpu": 4}}],
    "jobs": [{"id": "low", "request": {"gpu": 4}, "state": "running"},
             {"id": "high", "request": {"gpu": 4}, "priority": 1}])";
  CHECK(decided(members) == lines{"rounds 1", "evict low for high: priority", "reserve high after low"});
  CHECK(decided(R"("policy": {"preset": "standard", "set": {"queue_order": "fifo"}},
    "quotas": [{"name": "q", "nominal": {"gpu": 4}, "preempt": {"within": "never"}},
               {"name": "p", "nominal": {"gpu": 4}, "order": "priority"}],
    "jobs": [{"id": "1", "quota": "q", "request": {"gpu": 4}}, {"id": "2", "quota": "q", "request": {"gpu": 4}, "priority": 1},
             {"id": "3", "quota": "p", "request": {"gpu": 4}}, {"id": "4", "quota": "p", "request": {"gpu": 4}, "priority": 1}])") ==
        lines{"rounds 1", "admit 4", "admit 1",
              "hold 2: capacity at q, 4 gpu short: q has 4 gpu for all and 4 are in use",
              "hold 3: capacity at p, 4 gpu short: p has 4 gpu for all and 4 are in use"});
}

TEST_CASE("a non-preemptible job gets no borrowed GPUs") {
  CHECK(decided(R"("quotas": [{"name": "r"}, {"name": "a", "parent": "r", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "r", "nominal": {"gpu": 4}}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 1}, "preemptible": false, "state": "running"},
             {"id": "2", "quota": "a", "request": {"gpu": 5}, "preemptible": false}])") ==
        lines{"rounds 1",
              "hold 2: guarantee at a, 2 gpu short: 2 can't be preempted, so it may only use what a owns, "
              "and of that 3 "
              "gpu are left"});
}

TEST_CASE("a strict head blocks the queue, and the others wait behind it") {
  const std::string members = R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "head": "strict"}],
    "jobs": [{"id": "1", "request": {"gpu": 3}, "state": "running"}, {"id": "2", "request": {"gpu": 2}},
             {"id": "3", "request": {"gpu": 1}}])";
  CHECK(decided(members) ==
        lines{"rounds 1", "hold 2: capacity at q, 1 gpu short: q has 4 gpu for all and 3 are in use",
              "hold 3: behind_head at q: an earlier job of q does not fit, and no other may pass it"});
}

TEST_CASE("a job with a reservation: when it starts, and after which") {
  const auto members = [](const std::string& quota, const std::string& estimate) {
    return R"("quotas": [{"name": "q", "nominal": {"gpu": 4})" + quota + R"(}],
    "jobs": [{"id": "1", "request": {"gpu": 3}, "state": "running", "start_s": 20)" +
           estimate + R"(},
             {"id": "2", "request": {"gpu": 2}, "submit_s": 50, "duration_s": 9}, {"id": "3", "request": {"gpu": 2}}])";
  };
  const auto promised = [&](const std::string& quota, const std::string& estimate) {
    const auto s = parse_valid(members(quota, estimate));
    lab::errors found;
    const auto d = lab::decide(s, 1, found);
    REQUIRE_MESSAGE(d, found.to_string());
    REQUIRE(d->pending.size() == 2);
    const std::string json = lab::to_json(*d, s);
    const std::size_t at = json.find("\"promise\": ");
    if (!d->pending[0].reservation) {
      CHECK(at == std::string::npos);
      return std::string{};
    }
    REQUIRE(at != std::string::npos);
    return json.substr(at, json.find('}', at) + 1 - at);
  };
  CHECK(
      promised(R"(, "head": "reserve")", R"(, "duration_s": 500, "estimate_s": 100)") ==
      R"("promise": {"start_s": 120, "first_start_s": 120, "after": "1", "borrows": false, "gathers": false, )"
      R"("cause": null, "nodes": [], "text": "it starts by day 0, 00:02:00 at the latest, when 1 ends, if all )"
      R"(jobs end as estimated"})");
  CHECK(promised(R"(, "head": "reserve")", "") == "");
  CHECK(promised("", R"(, "duration_s": 500, "estimate_s": 100)") != "");
  CHECK(promised(R"(, "head": "best_effort")", R"(, "duration_s": 500, "estimate_s": 100)") == "");
  CHECK(
      promised(R"(, "head": "reserve", "gather": {"longest_s": 3600, "percent": 60})", "") ==
      R"("promise": {"start_s": 3650, "first_start_s": 3650, "after": null, "borrows": true, "gathers": true, )"
      R"("cause": null, "nodes": [], "text": "it gathers: it is not known when the jobs in its way end, but later ones )"
      R"(leave it their room, until it gives up at day 0, 01:00:50"})");
  CHECK(promised(R"(, "head": "reserve", "gather": {"longest_s": 3600, "percent": 49})", "") == "");
}

TEST_CASE("a job that its quotas never allow is told apart") {
  const auto s = parse_valid(R"("quotas": [{"name": "all"},
      {"name": "a", "parent": "all", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "all", "nominal": {"gpu": 4}, "borrow": {"gpu": 2}}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 3}, "state": "running"},
             {"id": "2", "quota": "b", "request": {"gpu": 7}}, {"id": "3", "quota": "b", "request": {"gpu": 6}}])");
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  REQUIRE(d->pending.size() == 2);
  CHECK(
      d->pending[0].never ==
      "b can never have more than 6 of the 7 gpu, whatever others do; its borrow limit must be raised by 1");
  CHECK(d->pending[1].never.empty());
  const std::string json = lab::to_json(*d, s);
  const std::size_t at = json.find("\"never\": \"b can never have");
  CHECK(at != std::string::npos);
  CHECK(json.find("\"never\"", at + 1) == std::string::npos);
}

TEST_CASE("a job with a reservation: on which nodes, as things stand") {
  const auto s = parse_valid(R"("cluster": {"nodes": [{"name": "n", "count": 4, "gpus": 8}]},
    "quotas": [{"name": "q", "nominal": "cluster", "head": "reserve"}],
    "jobs": [{"id": "0", "request": {"gpu": 4}, "state": "running", "nodes": ["n-0"]},
             {"id": "1", "request": {"gpu": 8}, "pods": 3, "state": "running", "nodes": ["n-1", "n-2", "n-3"],
              "duration_s": 500, "estimate_s": 100},
             {"id": "2", "request": {"gpu": 7}, "pods": 3, "submit_s": 50, "duration_s": 9}])");
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  REQUIRE(d->pending.size() == 1);
  REQUIRE(d->pending[0].reservation);
  CHECK(d->pending[0].reservation->nodes == std::vector<std::string_view>{"n-1", "n-2", "n-3"});
  CHECK(d->pending[0].reservation->text ==
        "it starts by day 0, 00:01:40 at the latest, when 1 ends, if all jobs end as estimated; as things "
        "stand, on n-1 to n-3");
  CHECK(lab::to_json(*d, s).find(R"("nodes": ["n-1", "n-2", "n-3"], "text": "it starts by)") !=
        std::string::npos);
}

TEST_CASE("a job that could preempt, but whose victims would lose too much") {
  const auto members = [](const std::string& percent) {
    return R"("quotas": [{"name": "r"},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}, "head": "reserve", "wait_if_loss_percent": )" +
           percent + R"(}, {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 16}, "state": "running", "start_s": 1,
              "duration_s": 500, "estimate_s": 100},
             {"id": "a1", "quota": "a", "request": {"gpu": 8}, "submit_s": 90, "duration_s": 9}])";
  };
  CHECK(
      decided(members("100")) ==
      lines{
          "rounds 1",
          "hold a1: lost_work at r, 8 gpu short: r has 16 gpu for all and 16 are in use; others could yield, "
          "but they would lose too much work for the wait that it saves"});
  CHECK(decided(members("0")) == lines{"rounds 1", "evict b1 for a1: reclaim", "reserve a1 after b1"});
}

TEST_CASE("a job that has to wait before others are evicted for it") {
  const auto members = [](const std::string& policy, const std::string& wait) {
    return "\"policy\": \"" + policy +
           R"(", "quotas": [{"name": "r", "nominal": {"gpu": 16}, "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}, "preempt": {"reclaim": "any"}, "preempt_after_s": )" +
           wait + R"(}, {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 16}, "state": "running", "start_s": 1,
              "duration_s": 500},
             {"id": "a1", "quota": "a", "request": {"gpu": 8}, "submit_s": 90, "duration_s": 9}])";
  };
  for (const std::string policy : {"standard", "pai", "hyperpod", "kueue", "runai"}) {
    CAPTURE(policy);
    const auto waits = decided(members(policy, "60")).all;
    REQUIRE(waits.size() == 2);
    CHECK(waits[1].find("hold a1: preempts_later at ") == 0);
    CHECK(waits[1].find("; no other job is evicted for it before day 0, 00:02:30") != std::string::npos);
    CHECK(decided(members(policy, "0")).all[1].find("evict b1 for a1") == 0);
  }
}

TEST_CASE("a job that is not ready, and one that would have to be evicted for it") {
  const auto members = [](const std::string& ready) {
    return R"("quotas": [{"name": "r"},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}, "head": "best_effort"},
      {"name": "b", "parent": "r", "nominal": {"gpu": 8}, "head": "best_effort"}],
    "jobs": [{"id": "a1", "quota": "a", "request": {"gpu": 8}, "duration_s": 9, "ready_s": )" +
           ready + R"(}, {"id": "b1", "quota": "b", "request": {"gpu": 16}, "duration_s": 500}])";
  };
  CHECK(decided(members("1000")) == lines{"rounds 1", "admit b1 borrows 8",
                                          "hold a1: not_ready at a: it is not ready before day 0, 00:16:40"});
  CHECK(decided(members("50")) ==
        lines{"rounds 1", "hold a1: not_ready at a: it is not ready before day 0, 00:00:50",
              "hold b1: behind_head at b: a1 of a is ready soon, and would take it back"});
}

TEST_CASE("the preset fifo ignores quotas: one queue over the whole cluster, blocked by its head") {
  const std::string members = two_nodes + R"("quotas": [{"name": "a", "nominal": {"gpu": 1}}, {"name": "b"}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 8}, "submit_s": 1},
             {"id": "2", "quota": "b", "request": {"gpu": 1}, "submit_s": 2, "duration_s": 9},
             {"id": "3", "quota": "b", "request": {"gpu": 8}, "submit_s": 3, "duration_s": 5},
             {"id": "4", "quota": "a", "request": {"gpu": 1}, "submit_s": 4, "duration_s": 7}])";
  CHECK(decided(members, 1, "fifo") ==
        lines{"rounds 1", "admit 1 on n-0", "admit 2 on n-1",
              "hold 3: full at cluster, 1 gpu short: 8 gpu are asked for and 7 are free",
              "hold 4: behind_head at a: an earlier job of cluster does not fit, and no other may pass it"});
  CHECK(decided(members, 1, "sjf") ==
        lines{"rounds 1", "admit 1 on n-0", "admit 3 on n-1",
              "hold 2: full at cluster, 1 gpu short: 1 gpu are asked for and 0 are free",
              "hold 4: full at cluster, 1 gpu short: 1 gpu are asked for and 0 are free"});
}

TEST_CASE("static quotas lend nothing, whatever their limits say") {
  CHECK(decided(hyperpod_example(R"("all")", R"("all")"), 1, "static_quotas") ==
        lines{"rounds 1",
              "hold b2: nominal at team-b, 3 gpu short: team-b has 5 gpu, uses 4 and may not borrow"});
}

TEST_CASE("under pai no job preempts one whose priority is not lower, or not in the range") {
  const auto members = [](const std::string& root, const std::string& q1, const std::string& jobs) {
    return R"("policy": "pai", "quotas": [{"name": "root", "nominal": {"gpu": 8}, "preempt": {)" + root +
           R"(}}, {"name": "q1", "parent": "root", "nominal": {"gpu": 4}, "preempt": {)" + q1 +
           R"(}}, {"name": "q2", "parent": "root", "nominal": {"gpu": 4}}], "jobs": [)" + jobs + "]";
  };
  const auto loan = [](const std::string& priority) {
    return R"({"id": "loan", "quota": "q2", "request": {"gpu": 8}, "state": "running", "priority": )" +
           priority +
           R"(}, {"id": "own", "quota": "q1", "request": {"gpu": 4}, "priority": 7, "submit_s": 9})";
  };
  const auto reclaims = [&](const std::string& q1, const std::string& priority) {
    return decided(members("", q1, loan(priority))).all[1].find("evict loan for own") == 0;
  };
  CHECK_FALSE(reclaims("", "9"));
  CHECK_FALSE(reclaims("", "7"));
  CHECK(reclaims("", "6"));
  CHECK(reclaims(R"("reclaim": "any")", "9"));
  CHECK_FALSE(reclaims(R"("reclaim": {"policy": "lower_priority", "max_priority": 4})", "5"));
  CHECK(reclaims(R"("reclaim": {"policy": "lower_priority", "max_priority": 4})", "4"));
  CHECK_FALSE(reclaims(R"("reclaim": {"policy": "lower_priority", "preempting": {"min_priority": 8}})", "4"));
  const auto takes = [&](const std::string& children) {
    const std::string below =
        R"({"id": "c9", "quota": "q1", "request": {"gpu": 4}, "state": "running", "priority": 9},
           {"id": "c5", "quota": "q2", "request": {"gpu": 4}, "state": "running", "priority": 5, "start_s": 1},
           {"id": "parent", "quota": "root", "request": {"gpu": )";
    const auto all = [&](const std::string& gpus) {
      const auto lines = decided(members(R"("children": )" + children, "",
                                         below + gpus + R"(}, "priority": 7, "submit_s": 10})"))
                             .all;
      return std::count_if(lines.begin(), lines.end(),
                           [](const std::string& l) { return l.find("evict ") == 0; });
    };
    return std::pair{all("4"), all("8")};
  };
  CHECK(takes("true") == std::pair<std::ptrdiff_t, std::ptrdiff_t>{1, 0});
  CHECK(takes(R"("any")") == std::pair<std::ptrdiff_t, std::ptrdiff_t>{1, 2});
  CHECK(takes(R"({"policy": "lower_priority", "min_priority": 1, "max_priority": 4})") ==
        std::pair<std::ptrdiff_t, std::ptrdiff_t>{0, 0});
}

TEST_CASE("a parent takes from its children what they use within their own, if it may") {
  const auto members = [](const std::string& children) {
    return two_nodes +
           R"("policy": "pai", "quotas": [{"name": "quota1", "nominal": "cluster", "preempt": {"children": )" +
           children + R"(}},
      {"name": "quota1.1", "parent": "quota1", "nominal": {"gpu": 8}}, {"name": "quota1.2", "parent": "quota1", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b", "quota": "quota1.1", "request": {"gpu": 8}, "state": "running", "start_s": 1},
             {"id": "c", "quota": "quota1.2", "request": {"gpu": 8}, "state": "running", "start_s": 2},
             {"id": "a", "quota": "quota1", "request": {"gpu": 8}, "priority": 1, "submit_s": 5}])";
  };
  CHECK(decided(members("true"), 5) ==
        lines{"rounds 2", "admit a borrows 8 on n-1", "evict c for a: children", "reserve a after c",
              "hold c: capacity at quota1, 8 gpu short: quota1 has 16 gpu for all and 16 are in use"});
  CHECK(decided(members("false"), 5) ==
        lines{"rounds 1",
              "hold a: capacity at quota1, 8 gpu short: quota1 has 16 gpu for all and 16 are in use"});
}

TEST_CASE("a user without access to a quota is refused with the reason") {
  CHECK(
      decided(
          R"("quotas": [{"name": "quota1.1", "nominal": {"gpu": 8}, "access": {"roles": ["b-member"], "users": ["ana"]}}],
    "jobs": [{"id": "1", "request": {"gpu": 1}, "user": "zoe", "roles": ["c-member"]},
             {"id": "2", "request": {"gpu": 1}, "user": "ben", "roles": ["b-member"]},
             {"id": "3", "request": {"gpu": 1}, "user": "ana"}, {"id": "4", "request": {"gpu": 1}},
             {"id": "5", "request": {"gpu": 1}, "user": "zoe", "state": "running"}])") ==
      lines{"rounds 1", "admit 2", "admit 3",
            "refuse 1: access: zoe (roles: c-member) may not submit to quota1.1: it admits the roles "
            "b-member and the "
            "users ana",
            "refuse 4: access: a user without a name may not submit to quota1.1: it admits the roles "
            "b-member and the "
            "users ana"});
}

TEST_CASE("a job of whole GPUs is refused where all are cut into instances, and is not called large") {
  const std::string members = R"("cluster": {"nodes": [{"name": "n", "gpus": 8, "gpu_model": "A100",
      "gpu_memory_mib": 40960, "mig": true}]}, "quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "request": {"gpu": 1}}])";
  CHECK(decided(members) ==
        lines{"rounds 1",
              "refuse 1: too_large_for_any_node: no node could hold a pod of it, even if it were empty"});
}

TEST_CASE("a job that could never fit is refused") {
  CHECK(decided(two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "request": {"gpu": 9}}, {"id": "2", "request": {"gpu": 8}, "pods": 3},
             {"id": "3", "request": {"gpu": 17}, "total": true}, {"id": "4", "request": {"gpu": 16}, "total": true}])") ==
        lines{"rounds 1", "admit 4 on n-0 n-1",
              "refuse 1: too_large_for_any_node: no node could hold a pod of it, even if it were empty",
              "refuse 2: larger_than_cluster: 24 gpu are asked for, and the nodes that it may run on have 16",
              "refuse 3: larger_than_cluster: 17 gpu are asked for, and the nodes that it may run on have "
              "16"});
}

TEST_CASE("GPUs that are free, but not together") {
  CHECK(decided(two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"]},
             {"id": "2", "request": {"gpu": 3}, "state": "running", "nodes": ["n-1"]}, {"id": "3", "request": {"gpu": 8}},
             {"id": "4", "request": {"gpu": 5}, "pods": 2, "submit_s": 1}])") ==
        lines{"rounds 1", "admit 4 on n-1 n-0",
              "hold 3: capacity at q, 6 gpu short: q has 16 gpu for all and 14 are in use"});
  CHECK(decided(two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"]},
             {"id": "2", "request": {"gpu": 3}, "state": "running", "nodes": ["n-1"]}, {"id": "3", "request": {"gpu": 8}},
             {"id": "4", "request": {"gpu": 6}, "pods": 2, "submit_s": 1}])") ==
        lines{"rounds 1",
              "hold 3: fragmented at cluster, 8 gpu short: 12 gpu are free, but not together: it has one "
              "pod, and the "
              "largest block is 7",
              "hold 4: fragmented at cluster, 6 gpu short: 12 gpu are free, but not together: of its 2 pods "
              "1 have room, "
              "and the largest block is 7"});
}

TEST_CASE("running jobs are placed where the scenario says, others where there is room") {
  const std::string members = two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "request": {"gpu": 4}, "state": "running"},
             {"id": "2", "request": {"gpu": 4}, "state": "running", "nodes": ["n-0"]},
             {"id": "3", "request": {"gpu": 0.5}, "state": "running", "nodes": ["n-0"], "devices": [[0]]},
             {"id": "4", "request": {"gpu": 0.5}, "state": "running", "nodes": ["n-0"], "devices": [[0]]},
             {"id": "5", "request": {"gpu": 3}, "state": "running", "nodes": ["n-0"]},
             {"id": "6", "request": {"gpu": 4}}, {"id": "7", "request": {"gpu": 0.5}}])";
  CHECK(decided(members) ==
        lines{"rounds 1", "admit 6 on n-1",
              "hold 7: capacity at q, 0.5 gpu short: q has 16 gpu for all and 16 are in use"});
}

TEST_CASE("running jobs that do not fit on their nodes") {
  const auto problems = [](const std::string& jobs) {
    lab::errors found;
    const auto s =
        parse_valid(two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}], "jobs": [)" + jobs + "]");
    CHECK(!lab::decide(s, 1, found));
    std::vector<std::string> all;
    for (const auto& e : found.kept()) all.push_back(e.place + ": " + e.text);
    return lines{std::move(all)};
  };
  CHECK(problems(R"({"id": "1", "request": {"gpu": 8}, "state": "running", "nodes": ["n-0"]},
                    {"id": "2", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"]})") ==
        lines{"/jobs/1/nodes: the running job does not fit there (expected GPUs that no other job has)"});
  CHECK(
      problems(R"({"id": "2", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"], "devices": [[1]]},
                    {"id": "1", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"], "devices": [[1]]})") ==
      lines{"/jobs/0/devices: the running job does not fit there (expected GPUs that no other job has)"});
  CHECK(
      problems(
          R"({"id": "1", "request": {"gpu": 2}, "state": "running", "nodes": ["n-0"], "devices": [[1]]})") ==
      lines{"/jobs/0/devices: the running job does not fit there (expected GPUs that no other job has)"});
  CHECK(problems(R"({"id": "1", "request": {"gpu": 8}, "pods": 3, "state": "evicting"})") ==
        lines{"/jobs/0: the running job has no place: 24 gpu are asked for, and the nodes that it may "
              "run on have 16"});
}

TEST_CASE("jobs are placed in the pools of their quota and on nodes of their model") {
  CHECK(
      decided(R"("resources": ["h100/gpu", "a100/gpu"],
    "cluster": {"nodes": [{"name": "a", "gpus": 8, "gpu_model": "A100", "pool": "x"},
                          {"name": "h", "gpus": 8, "gpu_model": "H100", "pool": "x"},
                          {"name": "i", "gpus": 8, "gpu_model": "H100", "pool": "y"}]},
    "quotas": [{"name": "q", "nominal": "cluster", "node_pools": ["y"]}, {"name": "p", "nominal": "cluster"}],
    "jobs": [{"id": "1", "quota": "p", "request": {"a100/gpu": 8}}, {"id": "2", "quota": "q", "request": {"h100/gpu": 8}},
             {"id": "3", "quota": "p", "request": {"h100/gpu": 8}}, {"id": "4", "quota": "q", "request": {"a100/gpu": 1}}])") ==
      lines{"rounds 1", "admit 1 on a", "admit 2 on i", "admit 3 on h",
            "refuse 4: pool_has_no_such_node: none of the nodes that it may run on could hold a pod of it"});
}

TEST_CASE("an elastic job starts small and grows, its elastic pods yield first, in one row") {
  const std::string members =
      two_nodes + R"("quotas": [{"name": "r", "nominal": "cluster", "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 4}}, {"name": "b", "parent": "r", "nominal": {"gpu": 12}}],
    "jobs": [{"id": "e", "quota": "a", "request": {"gpu": 2}, "pods": 8, "min_pods": 2, "state": "running",
              "nodes": ["n-0", "n-0", "n-0", "n-0", "n-1"]},
             {"id": "b1", "quota": "b", "request": {"gpu": 8}, "state": "pending"}])";
  const auto s = parse_valid(members);
  lab::errors found;
  const auto d = lab::decide(s, 4, found);
  REQUIRE_MESSAGE(d, found.to_string());
  REQUIRE(d->evict.size() >= 1);
  CHECK(d->evict[0].id == "e");
  // One of the three that it has beyond its two; the places of the other two do not help.
  CHECK(d->evict[0].pods == 1);
  CHECK(d->evict[0].reason == "reclaim");
  CHECK(d->admit.back().id == "b1");
}

TEST_CASE("pods of one job are admitted as one row, and evicted as one") {
  const auto s = parse_valid(R"("quotas": [{"name": "r"}, {"name": "a", "parent": "r", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "e", "quota": "a", "request": {"gpu": 1}, "pods": 10, "min_pods": 2, "submit_s": 0}])");
  lab::errors found;
  const auto first = lab::decide(s, 1, found);
  REQUIRE(first);
  REQUIRE(first->admit.size() == 1);
  CHECK(first->admit[0].pods == 10);
  CHECK(first->admit[0].borrows[0] == gpus(6));
  CHECK(first->quotas[1].used[0] == gpus(10));
  CHECK(first->pending.empty());

  const auto grown =
      parse_valid(R"("quotas": [{"name": "r"}, {"name": "a", "parent": "r", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "e", "quota": "a", "request": {"gpu": 1}, "pods": 10, "min_pods": 2, "state": "running"},
             {"id": "b1", "quota": "b", "request": {"gpu": 8}}])");
  const auto d = lab::decide(grown, 1, found);
  REQUIRE(d);
  REQUIRE(d->evict.size() == 1);
  CHECK(d->evict[0].id == "e");
  CHECK(d->evict[0].pods == 6);
  CHECK(d->evict[0].beneficiary == "b1");
  REQUIRE(d->reserve.size() == 1);
  CHECK(d->reserve[0].waits_for == std::vector<std::string_view>{"e"});
  const auto after = lab::decide(grown, 5, found);
  REQUIRE(after);
  CHECK(after->quotas[1].used[0] == gpus(4));
  CHECK(after->quotas[2].used[0] == gpus(8));
}

TEST_CASE("an evicted elastic job is evicted whole, a running one may lack pods") {
  const std::string members = R"("quotas": [{"name": "q", "nominal": {"gpu": 6}}],
    "jobs": [{"id": "low", "request": {"gpu": 1}, "pods": 6, "min_pods": 2, "state": "running", "running_pods": 4},
             {"id": "high", "request": {"gpu": 6}, "priority": 1}])";
  const auto s = parse_valid(members);
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE(d);
  std::uint64_t pods = 0;
  for (const auto& e : d->evict) pods += e.pods;
  CHECK(pods == 4);
  CHECK(decided(members, 3) ==
        lines{"rounds 2", "admit high", "evict low for high: priority", "reserve high after low",
              "hold low: capacity at q, 2 gpu short: q has 6 gpu for all and 6 are in use"});
}

TEST_CASE("a job takes the first of its flavors that fits, on nodes of that flavor") {
  const std::string members = R"("resources": ["h100/gpu", "a100/gpu"],
    "cluster": {"nodes": [{"name": "h", "gpus": 8, "gpu_model": "H100"}, {"name": "a", "gpus": 8, "gpu_model": "A100"}]},
    "quotas": [{"name": "r"}, {"name": "t", "parent": "r", "nominal": {"h100/gpu": 8, "a100/gpu": 8}},
               {"name": "u", "parent": "r", "flavor_choice": {"when_can_borrow": "try_next"}}],
    "jobs": [{"id": "0", "quota": "t", "request": {"gpu": 4}, "flavors": ["h100"], "state": "running"},
             {"id": "1", "quota": "t", "request": {"gpu": 8}, "flavors": ["h100", "a100"]},
             {"id": "2", "quota": "t", "request": {"gpu": 4}, "flavors": ["h100", "a100"]}])";
  const auto s = parse_valid(members);
  lab::errors found;
  const auto d = lab::decide(s, 3, found);
  REQUIRE_MESSAGE(d, found.to_string());
  REQUIRE(d->admit.size() == 2);
  CHECK(d->admit[0].id == "1");
  CHECK(d->admit[0].flavors[0].resource == "gpu");
  CHECK(d->admit[0].flavors[0].flavor == "a100");
  CHECK(d->admit[0].nodes == std::vector<std::string_view>{"a"});
  CHECK(d->admit[1].flavors[0].flavor == "h100");
  CHECK(d->admit[1].nodes == std::vector<std::string_view>{"h"});
  CHECK(d->quotas[1].used[0] == gpus(8));
  CHECK(d->quotas[1].used[1] == gpus(8));
  CHECK(lab::to_json(*d, s).find(R"("flavors": {"gpu": "a100"})") != std::string::npos);
}

TEST_CASE("a running job has the first of its flavors that fits where it runs") {
  const auto s = parse_valid(R"("resources": ["h100/gpu", "a100/gpu"],
    "cluster": {"nodes": [{"name": "h", "gpus": 8, "gpu_model": "H100"}, {"name": "a", "gpus": 8, "gpu_model": "A100"}]},
    "quotas": [{"name": "t", "nominal": {"h100/gpu": 4, "a100/gpu": 8}}],
    "jobs": [{"id": "0", "request": {"gpu": 4}, "flavors": ["h100", "a100"], "state": "running", "nodes": ["a"]},
             {"id": "1", "request": {"gpu": 4}, "flavors": ["h100", "a100"], "state": "running"},
             {"id": "2", "request": {"gpu": 4}, "flavors": ["h100", "a100"], "state": "running"}])");
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  CHECK(d->quotas[0].used[0] == gpus(4));
  CHECK(d->quotas[0].used[1] == gpus(8));
}

TEST_CASE("a chosen guard lets borrowers preempt each other by its rule") {
  const auto s = parse_valid(R"("policy": {"preset": "standard", "set": {"guard": "final_share"}},
    "quotas": [{"name": "r", "nominal": {"gpu": 8}}, {"name": "a", "parent": "r"}, {"name": "b", "parent": "r"}],
    "jobs": [{"id": "a1", "quota": "a", "request": {"gpu": 4}, "state": "running", "start_s": 1},
             {"id": "a2", "quota": "a", "request": {"gpu": 4}, "state": "running", "start_s": 2},
             {"id": "b1", "quota": "b", "request": {"gpu": 4}, "submit_s": 3},
             {"id": "b2", "quota": "b", "request": {"gpu": 4}, "submit_s": 4}])");
  lab::errors found;
  const auto d = lab::decide(s, 9, found);
  REQUIRE(d);
  REQUIRE(d->evict.size() == 1);
  CHECK(d->evict[0].id == "a2");
  CHECK(d->evict[0].beneficiary == "b1");
  CHECK(d->evict[0].why.rule == fairness_rule::final_share);
  CHECK(lab::to_json(*d, s).find(
            R"("reason": "fair_share", "rule": "final_share", "shares": {"for": 0.5, "victim": 0.5}})") !=
        std::string::npos);
}

TEST_CASE("a run at its time limit is ended without a beneficiary") {
  const auto s =
      parse_valid(R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "time_limit_s": {"interactive": 60}}],
    "jobs": [{"id": "1", "request": {"gpu": 1}, "class": "interactive", "state": "running", "start_s": 0},
             {"id": "2", "request": {"gpu": 1}, "class": "train", "state": "running", "start_s": 0},
             {"id": "3", "request": {"gpu": 1}, "class": "interactive", "state": "running", "start_s": 30},
             {"id": "4", "request": {"gpu": 1}, "submit_s": 60}])");
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE(d);
  REQUIRE(d->evict.size() == 1);
  CHECK(d->evict[0].id == "1");
  CHECK(d->evict[0].reason == "time_limit");
  CHECK(d->evict[0].beneficiary.empty());
  CHECK(lab::to_json(*d, s).find(R"("for": null, "reason": "time_limit")") != std::string::npos);
}

TEST_CASE("a job that has not run long enough yet is not asked") {
  const auto members = [](const std::string& start) {
    return R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "min_runtime_s": {"preempt": 100}}],
    "jobs": [{"id": "low", "request": {"gpu": 4}, "state": "running", "start_s": )" +
           start + R"(}, {"id": "high", "request": {"gpu": 4}, "priority": 1, "submit_s": 150}])";
  };
  CHECK(decided(members("0")) == lines{"rounds 1", "evict low for high: priority", "reserve high after low"});
  CHECK(decided(members("100")) ==
        lines{"rounds 1", "hold high: capacity at q, 4 gpu short: q has 4 gpu for all and 4 are in use"});
}

TEST_CASE("eight resources: each is counted") {
  const std::string members = R"("resources": ["gpu", "cpu", "a", "b", "c", "d", "e", "f"],
    "quotas": [{"name": "q", "nominal": {"gpu": 8, "cpu": 8, "a": 8, "b": 8, "c": 8, "d": 8, "e": 8, "f": 3.5}}],
    "jobs": [{"id": "1", "request": {"gpu": 1, "f": 2}}, {"id": "2", "request": {"gpu": 1, "e": 8, "f": 1.75}},
             {"id": "3", "request": {"e": 8}}])";
  CHECK(decided(members) == lines{"rounds 1", "admit 1", "admit 3",
                                  "hold 2: capacity at q, 8 e short: q has 8 e for all and 8 are in use"});
}

TEST_CASE("a job of a quota that is added later is refused") {
  CHECK(decided(R"("quotas": [{"name": "q"}], "jobs": [{"id": "1", "quota": "n", "request": {"gpu": 1}}],
    "events": [{"at_s": 9, "add_quota": {"name": "n"}}])") ==
        lines{"rounds 1", "refuse 1: unknown_quota: n is a quota that an event adds later"});
}

TEST_CASE("the JSON, byte for byte") {
  const auto s = parse_valid(two_nodes + R"("resources": ["gpu", "h100/gpu"],
    "quotas": [{"name": "r", "nominal": {"gpu": "cluster", "h100/gpu": "unlimited"}, "inclusive": true},
               {"name": "a", "parent": "r", "nominal": {"gpu": 0.5}, "weight": 0},
               {"name": "b \"q\"", "parent": "r", "nominal": {"gpu": 12}, "access": {"users": ["ana"]}}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 0.75}}, {"id": "2", "quota": "b \"q\"", "request": {"gpu": 1}},
             {"id": "3", "quota": "a", "request": {"gpu": 9}, "total": true, "submit_s": 1, "state": "running"},
             {"id": "4", "quota": "b \"q\"", "user": "ana", "request": {"gpu": 4}, "submit_s": 2, "pods": 3},
             {"id": "5", "quota": "b \"q\"", "user": "ana", "request": {"gpu": 6}, "submit_s": 3}])");
  lab::errors found;
  const auto d = lab::decide(s, 1, found);
  REQUIRE(d);
  CHECK("\n" + lab::to_json(*d, s) == R"(
{
  "format": "allot-decision/1",
  "rounds": 1,
  "admit": [
    {"id": "1", "quota": "a", "pods": 1, "flavors": {}, "nodes": ["n-1"], "borrows": {"gpu": 0.25, "h100/gpu": 0}}
  ],
  "evict": [
    {"id": "3", "quota": "a", "pods": 2, "for": "4", "reason": "reclaim"}
  ],
  "reserve": [
    {"id": "4", "quota": "b \"q\"", "waits_for": ["3"]}
  ],
  "hold": [
    {"id": "5", "quota": "b \"q\"", "reason": "capacity", "at": "r", "resource": "gpu", "short_by": 2.75, "text": "r has 16 gpu for all and 12.75 are in use or held; 4, which waits for 3 to go, holds 12 gpu there", "leaving": {"job": "3", "for": "4", "others": 0, "amount": 12, "held": true}}
  ],
  "refuse": [
    {"id": "2", "quota": "b \"q\"", "reason": "access", "text": "a user without a name may not submit to b \"q\": it admits the users ana"}
  ],
  "quotas": {
    "r": {"used": {"gpu": 9.75, "h100/gpu": 0}, "entitled": {"gpu": 16, "h100/gpu": 0}, "borrowed": {"gpu": 0, "h100/gpu": 0}, "lent": {"gpu": 2.088, "h100/gpu": 0}, "share": 0},
    "a": {"used": {"gpu": 9.75, "h100/gpu": 0}, "entitled": {"gpu": 0.5, "h100/gpu": 0}, "borrowed": {"gpu": 9.25, "h100/gpu": 0}, "lent": {"gpu": 0, "h100/gpu": 0}, "share": null},
    "b \"q\"": {"used": {"gpu": 0, "h100/gpu": 0}, "entitled": {"gpu": 15.5, "h100/gpu": 0}, "borrowed": {"gpu": 0, "h100/gpu": 0}, "lent": {"gpu": 7.162, "h100/gpu": 0}, "share": 0}
  }
}
)");
}

TEST_CASE("the order of the jobs in the file does not matter, in any preset") {
  std::vector<std::string> presets;
  for_each_preset([&](auto p) { presets.emplace_back(p.name); });
  allot_test::for_each_seed(120, [&](auto& random) {
    const std::string preset = random.pick(presets);
    INFO(preset);
    std::vector<std::string> jobs;
    const auto number = [&](std::int64_t low, std::int64_t high) {
      return std::to_string(random.between(low, high));
    };
    for (int i = 0; i < 40; ++i) {
      const std::vector<std::string> quotas{"r", "a", "b", "c"};
      std::string j = R"({"id": ")" + std::to_string(i) + R"(", "quota": ")" + random.pick(quotas) + "\"";
      j += R"(, "request": {"gpu": )" + (random.one_in(4) ? "0." + number(1, 9) : number(1, 8)) + "}";
      if (random.one_in(5)) j += R"(, "pods": )" + number(2, 4) + R"(, "min_pods": )" + number(1, 2);
      j += R"(, "priority": )" + number(0, 2) + R"(, "submit_s": )" + number(0, 3);
      if (random.one_in(10)) j += R"(, "preemptible": false)";
      jobs.push_back(j + "}");
    }
    const auto text = [&] {
      std::string all = R"("cluster": {"nodes": [{"name": "n", "count": 6, "gpus": 8}]},
        "quotas": [{"name": "r", "nominal": "cluster", "inclusive": true, "preempt": {"children": true}},
                   {"name": "a", "parent": "r", "nominal": {"gpu": 24}, "lend": {"gpu": 20}},
                   {"name": "b", "parent": "r", "nominal": {"gpu": 16}, "borrow": {"percent": 50}, "head": "strict"},
                   {"name": "c", "parent": "a", "nominal": {"gpu": 8}, "weight": 2.5}], "jobs": [)";
      for (const std::string& j : jobs) all += j + ",";
      return all + "]";
    };
    const auto outcome = [&] {
      const auto s = parse_valid(text(), preset);
      lab::errors found;
      const auto d = lab::decide(s, 8, found);
      REQUIRE_MESSAGE(d, found.to_string());
      return lab::to_json(*d, s);
    };
    const std::string first = outcome();
    random.shuffle(jobs);
    CHECK(outcome() == first);
    lab::errors found;
    CHECK(lab::json_document::parse("d", first, found));
    CHECK(found.empty());
  });
}

TEST_CASE("decide: what is announced is foreseen, and an error if it can't become of the quotas") {
  const std::string quotas = R"("quotas": [{"name": "r", "nominal": {"gpu": 16}, "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}}, {"name": "b", "parent": "r", "nominal": {"gpu": 8}}], )";
  const std::string job = R"("jobs": [{"id": "j", "quota": "a", "request": {"gpu": 8}, "submit_s": 0,
      "duration_s": 100, "estimate_s": 100}], "events": [)";
  const auto at_50 = [](const char* announced, const char* quota, int gpus) {
    return std::string{R"({"at_s": 50, )"} + announced + R"("resize": {"quota": ")" + quota +
           R"(", "nominal": {"gpu": )" + std::to_string(gpus) + "}}}";
  };
  const char* const known = R"("announced_s": 0, )";
  CHECK(decided(quotas + job + at_50(known, "r", 0) + ", " + at_50(known, "a", 0) + ", " +
                    at_50(known, "b", 0) + "]",
                1, "standard") == lines{"rounds 1",
                                        "hold j: resize at a: a allows it, but will not from day 0, 00:00:50 "
                                        "on, before it would have ended"});

  // The other half of the transition is not announced.
  const lab::scenario s =
      parse_valid(quotas + job + at_50("", "b", 4) + ", " + at_50(known, "a", 12) + "]", "standard");
  lab::errors found;
  CHECK_FALSE(lab::decide(s, 1, found));
  REQUIRE(found.size() == 1);
  CHECK(found.kept()[0].place == "/events/1/resize");
  CHECK(found.kept()[0].text == "the children of r are given 20, more than the 16 it has");
}
