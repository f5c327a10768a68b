// SPDX-License-Identifier: BSL-1.0
// Jobs whose pods differ, in a scenario.
#include "lab/decide/check.hpp"
#include "lab/decide/decide.hpp"
#include "lab/decide/explain_job.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/lab/trace_csv.hpp>

#include <doctest/doctest.h>
#include <tests/lab/scenarios.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

/// Two racks of three nodes with eight GPUs; one GPU model in each.
const std::string racks = R"("cluster": {"topology": ["rack"], "nodes": [
    {"name": "a", "count": 3, "gpus": 8, "gpu_model": "H100", "labels": {"rack": "1"}},
    {"name": "b", "count": 3, "gpus": 8, "gpu_model": "A100", "labels": {"rack": "2"}}]}, )";
const std::string quotas = R"("quotas": [{"name": "q", "nominal": "cluster"}], )";

std::string service(const std::string& more = R"(, "topology": {"required": "rack"})") {
  return R"({"id": "chat", "pod_sets": [
      {"name": "router", "request": {"gpu": 0}},
      {"name": "prefill", "request": {"gpu": 2}, "pods": 4, "min_pods": 2},
      {"name": "decode", "request": {"gpu": 4}, "pods": 3, "min_pods": 1}])" +
         more + "}";
}
lines problems_of_sets(const std::string& sets, const std::string& more = {}) {
  return problems_of(racks + quotas + R"("jobs": [{"id": "j", "pod_sets": )" + sets + more + "}]");
}
struct decided {
  std::unique_ptr<lab::scenario> of;
  lab::decision d;
};
decided decide(const std::string& resources, const std::string& jobs) {
  lab::errors found;
  auto s = std::make_unique<lab::scenario>(parse_valid(resources + R"("jobs": [)" + jobs + "]"));
  auto d = lab::decide(*s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  return {std::move(s), std::move(*d)};
}

}  // namespace

TEST_CASE("scenario_pod_sets: it starts in one rack, and has all its pods if there is room") {
  const decided made = decide(racks + quotas, service());
  REQUIRE(made.d.admit.size() >= 1);
  CHECK(made.d.admit[0].id == "chat");
  REQUIRE(made.d.admit[0].nodes.size() == 8);
  for (const auto& node : made.d.admit[0].nodes) CHECK(node[0] == made.d.admit[0].nodes[0][0]);
}

TEST_CASE(
    "scenario_pod_sets: a running one stands where its nodes say, by set, then in the order of growth") {
  const decided made = decide(
      racks + quotas,
      service(R"(, "topology": {"required": "rack"}, "state": "running", "running_pods": 6,
                 "nodes": ["b-0", "b-0", "b-0", "b-1", "b-1", "b-2"])") +
          R"(, {"id": "full", "request": {"gpu": 8}, "pods": 4}, {"id": "fits", "request": {"gpu": 8}, "pods": 3})");
  const auto admits = [&](const std::string& id) {
    return std::any_of(made.d.admit.begin(), made.d.admit.end(), [&](const auto& a) { return a.id == id; });
  };
  CHECK_FALSE(admits("full"));
  CHECK(admits("fits"));
}

TEST_CASE("scenario_pod_sets: each set has a flavor of its own") {
  const std::string counted = R"("resources": ["h100/gpu", "a100/gpu"], )" + racks +
                              R"("quotas": [{"name": "q", "nominal": {"h100/gpu": 24, "a100/gpu": 8}}], )";
  const decided made = decide(counted, R"({"id": "j", "pod_sets": [
      {"name": "x", "request": {"gpu": 8}, "pods": 3, "flavors": ["a100", "h100"]},
      {"name": "y", "request": {"gpu": 8}, "flavors": ["a100", "h100"]}]})");
  REQUIRE(made.d.admit.size() == 1);
  std::vector<std::string> nodes{made.d.admit[0].nodes.begin(), made.d.admit[0].nodes.end()};
  REQUIRE(nodes.size() == 4);
  // Of x's 24 there are only 8 of its first flavor.
  for (int i = 0; i < 3; ++i) CHECK(nodes[static_cast<std::size_t>(i)][0] == 'a');
  CHECK(nodes[3][0] == 'b');
}

TEST_CASE("scenario_pod_sets: pods that run have the flavors of their nodes, set by set") {
  const std::string start = R"("resources": ["h100/gpu", "a100/gpu"], "cluster": {"nodes": [
      {"name": "h", "gpus": 4, "gpu_model": "H100"}, {"name": "a", "gpus": 4, "gpu_model": "A100"}]},
      "quotas": [{"name": "q", "nominal": {"h100/gpu": 4, "a100/gpu": 4}}], )";
  const decided made =
      decide(start, R"({"id": "j", "state": "running", "start_s": 0, "nodes": ["a", "h", "h"],
      "pod_sets": [{"request": {"gpu": 1}, "flavors": ["h100", "a100"]},
                   {"request": {"gpu": 2}, "pods": 2, "flavors": ["h100", "a100"]}]},
      {"id": "k", "request": {"a100/gpu": 3}})");
  REQUIRE(made.d.admit.size() == 1);
  CHECK(made.d.admit[0].id == "k");
}

TEST_CASE("scenario_pod_sets: a flavor may say no more than where a set may be") {
  const decided made = decide(R"("cluster": {"nodes": [{"name": "h", "gpus": 4, "pool": "fast"},
      {"name": "c", "gpus": 4, "pool": "slow"}]}, "quotas": [{"name": "q", "nominal": "cluster"}], )",
                              R"({"id": "j", "pod_sets": [{"request": {"gpu": 1}, "flavors": ["slow"]},
                                                          {"request": {"gpu": 2}, "flavors": ["fast"]}]})");
  REQUIRE(made.d.admit.size() == 1);
  REQUIRE(made.d.admit[0].nodes.size() == 2);
  CHECK(made.d.admit[0].nodes[0][0] == 'c');
  CHECK(made.d.admit[0].nodes[1][0] == 'h');
}

TEST_CASE("scenario_pod_sets: slices and pods that are apart") {
  const decided made = decide(racks + quotas, R"({"id": "j", "pod_sets": [
      {"request": {"gpu": 1}, "pods": 4, "spread": {"pods": 2, "level": "rack"}}]})");
  REQUIRE(made.d.admit.size() == 1);
  std::size_t in_a = 0;
  for (const auto& node : made.d.admit[0].nodes) in_a += node[0] == 'a' ? 1U : 0U;
  CHECK(in_a == 2);
}

TEST_CASE("scenario_pod_sets: the minimum of a semi-preemptible job is safe") {
  const std::string two =
      R"("quotas": [{"name": "all"}, {"name": "q", "parent": "all", "nominal": {"gpu": 24}},
      {"name": "r", "parent": "all", "nominal": {"gpu": 24}, "preempt": {"reclaim": "any"}}], )";
  const std::string owner = R"(, {"id": "owner", "quota": "r", "request": {"gpu": 8}, "pods": 3})";
  const auto evicted = [&](const std::string& job) {
    const decided made =
        decide(racks + two, R"({"id": "train", "quota": "q", "state": "running", )" + job + "}" + owner);
    std::uint64_t pods = 0;
    for (const auto& e : made.d.evict) pods += e.pods;
    return pods;
  };
  const std::string alike = R"("request": {"gpu": 8}, "pods": 6, "min_pods": 2, "preemptible": false)";
  CHECK(evicted(alike) == 0);
  CHECK(evicted(alike + R"(, "semi_preemptible": true)") == 3);
  const auto sets = [](const std::string& job, const std::string& first, const std::string& second) {
    return R"("pod_sets": [{"request": {"gpu": 4}, "pods": 6, "min_pods": 1)" + first +
           R"(}, {"request": {"gpu": 4}, "pods": 6, "min_pods": 1)" + second + R"(}], "preemptible": false)" +
           job;
  };
  const std::string semi = R"(, "semi_preemptible": true)";
  CHECK(evicted(sets(semi, "", "")) == 6);
  CHECK(evicted(sets("", semi, "")) == 0);
  CHECK(evicted(sets(semi, R"(, "semi_preemptible": false)", "")) == 0);
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}, "semi_preemptible": true}])") ==
        lines{"/jobs/0/pod_sets/0/semi_preemptible: the job may be preempted as a whole (expected "
              "\"preemptible\": false beside it)"});
}

TEST_CASE("scenario_pod_sets: what is wrong with them") {
  CHECK(problems_of_sets("[]") == lines{"/jobs/0/pod_sets: expected at least one pod set"});
  CHECK(problems_of_sets(R"([{"pods": 2}])") == lines{"/jobs/0/pod_sets/0: the key \"request\" is missing"});
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}}])", R"(, "pods": 3)") ==
        lines{"/jobs/0/pods: each of the pod_sets says that (expected it there)"});
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}, "total": true}])") ==
        lines{"/jobs/0/pod_sets/0/total: a pod set consists of pods (expected no \"total\")"});
  CHECK(
      problems_of_sets(
          R"([{"request": {"gpu": 1}, "pods": 4, "min_pods": 2, "slice": {"pods": 2, "level": "rack"}}])") ==
      lines{"/jobs/0/pod_sets/0/slice: a pod that comes later would not know where the others are (expected "
            "no min_pods)"});
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}, "slice": {"pods": 1, "level": "row"}}])").all.size() ==
        1);
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}, "spread": {"pods": 1}}])") ==
        lines{"/jobs/0/pod_sets/0/spread: the key \"level\" is missing"});
  // One set that needs nothing of its own is a job as any other.
  const lab::scenario s = parse_valid(
      racks + quotas +
      R"("jobs": [{"id": "j", "pod_sets": [{"request": {"gpu": 2}, "pods": 3, "min_pods": 1}]}])");
  CHECK(s.jobs[0].sets.empty());
  CHECK(s.jobs[0].pod_request.pods == 3);
  CHECK(s.jobs[0].min_pods == 1);
  CHECK(s.jobs[0].request[0] == quantity::whole(6));
}

TEST_CASE("scenario_pod_sets: a decision names the pods, the flavors and the nodes of each set") {
  const std::string counted = R"("resources": ["h100/gpu", "a100/gpu"], )" + racks +
                              R"("quotas": [{"name": "q", "nominal": {"h100/gpu": 24, "a100/gpu": 8}}], )";
  const decided made = decide(counted, R"({"id": "j", "pod_sets": [
      {"name": "head", "request": {}},
      {"name": "workers", "request": {"gpu": 8}, "pods": 3, "min_pods": 1, "flavors": ["h100"]},
      {"request": {"a100/gpu": 8}}]})");
  const std::string json = lab::to_json(made.d, *made.of);
  CHECK_MESSAGE(
      json.find(
          R"({"name": "workers", "pods": 3, "flavors": {"gpu": "h100"}, "nodes": ["a-0", "a-1", "a-2"]})") !=
          std::string::npos,
      json);
  CHECK(json.find(R"({"name": "3", "pods": 1, "flavors": {"gpu": "a100"}, "nodes": ["b-)") !=
        std::string::npos);
  // One flavor for all there is not.
  CHECK(json.find(R"("pods": 5, "flavors": {}, "nodes")") != std::string::npos);
  // It is said where all have the same.
  const decided alike =
      decide(counted, R"({"id": "j", "pod_sets": [{"request": {"gpu": 8}, "flavors": ["h100"]},
      {"request": {"h100/gpu": 8}}, {"request": {}}]})");
  CHECK(lab::to_json(alike.d, *alike.of).find(R"("pods": 3, "flavors": {"gpu": "h100"}, "nodes")") !=
        std::string::npos);
}

TEST_CASE("scenario_pod_sets: an eviction says of which sets the pods are") {
  const decided made =
      decide(racks + R"("quotas": [{"name": "r", "nominal": "cluster", "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}}, {"name": "b", "parent": "r", "nominal": {"gpu": 40}}], )",
             R"({"id": "old", "quota": "a", "state": "running", "running_pods": 6, "pod_sets": [
      {"name": "x", "request": {"gpu": 8}}, {"name": "y", "request": {"gpu": 8}, "pods": 5, "min_pods": 1}]},
      {"id": "new", "quota": "b", "request": {"gpu": 8}, "pods": 3})");
  REQUIRE(made.d.evict.size() == 1);
  const std::string json = lab::to_json(made.d, *made.of);
  CHECK_MESSAGE(json.find(R"("pod_sets": [{"name": "y", "pods": 3}])") != std::string::npos, json);
}

TEST_CASE("scenario_pod_sets: what blocks a job names the first set that lacks it") {
  const auto told = [](const std::string& resources, const std::string& jobs) {
    const decided made = decide(resources, jobs);
    return lab::to_json(made.d, *made.of);
  };
  const std::string refused = told(racks + quotas, R"({"id": "j", "pod_sets": [
      {"name": "head", "request": {"gpu": 1}}, {"name": "workers", "request": {"gpu": 8}, "pods": 7}]})");
  CHECK_MESSAGE(
      refused.find("\"pod set workers: 56 gpu are asked for, and the nodes that it may run on have 48\"") !=
          std::string::npos,
      refused);
  // Pods that do not fit though there are as many GPUs.
  const std::string apart = told(racks + quotas, R"({"id": "j", "pod_sets": [
      {"name": "head", "request": {"gpu": 1}}, {"name": "workers", "request": {"gpu": 5}, "pods": 7}]})");
  CHECK_MESSAGE(
      apart.find(
          "\"pod set workers: its 7 pods would not fit, were the nodes that it may run on empty (35 gpu "
          "are asked for, and these have 48)\"") != std::string::npos,
      apart);
  // Neither set is too large, and what runs is not why it is refused.
  const std::string together =
      told(racks + quotas, R"({"id": "r", "request": {"gpu": 8}, "pods": 5, "state": "running"},
      {"id": "j", "pod_sets": [{"request": {"gpu": 8}, "pods": 4}, {"request": {"gpu": 8}, "pods": 3}]})");
  CHECK_MESSAGE(together.find(R"("reason": "sets_never_together")") != std::string::npos, together);
  const std::string full =
      told(racks + quotas,
           R"({"id": "r", "request": {"gpu": 8}, "pods": 5, "state": "running"}, {"id": "j", "pod_sets": [
      {"name": "head", "request": {"gpu": 8}}, {"name": "workers", "request": {"gpu": 8}, "pods": 2}]})");
  CHECK_MESSAGE(full.find(R"("pod_set": "workers", "text": "pod set workers: q has 48 gpu for all)") !=
                    std::string::npos,
                full);
  const std::string unlimited = R"("quotas": [{"name": "q", "nominal": "unlimited"}], )";
  const std::string no_room =
      told(racks + unlimited,
           R"({"id": "r", "request": {"gpu": 8}, "pods": 5, "state": "running"}, {"id": "j", "pod_sets": [
      {"name": "head", "request": {"gpu": 8}}, {"name": "workers", "request": {"gpu": 8}, "pods": 2}]})");
  CHECK_MESSAGE(
      no_room.find(
          R"("short_by": 8, "pod_set": "workers", "text": "pod set workers: 16 gpu are asked for and 8 are free")") !=
          std::string::npos,
      no_room);
}

TEST_CASE("scenario_pod_sets: an explanation has the pods by set, and the set that lacks something") {
  lab::errors found;
  const auto s = parse_valid(racks + R"("quotas": [{"name": "q", "nominal": {"gpu": 30}}], "jobs": [)" +
                             service(R"(, "topology": {"required": "rack"}, "state": "running")") +
                             R"(, {"id": "more", "pod_sets": [{"name": "x", "request": {"gpu": 1}, "pods": 2},
      {"name": "y", "request": {"gpu": 8}, "spread": {"pods": 1, "level": "rack"}, "pods": 2}]}])");
  const auto runs = lab::explain_job(s, "chat", 1, found);
  REQUIRE_MESSAGE(runs, found.to_string());
  const std::string text = lab::to_text(*runs, s);
  CHECK_MESSAGE(text.find("It has 20 gpu with 8 pods, all in one rack.\n  Of pod set router: 1 pod, on ") !=
                    std::string::npos,
                text);
  CHECK(text.find("  Of pod set prefill: 4 pods, on ") != std::string::npos);
  CHECK(lab::to_json(*runs, s).find(R"({"name": "router", "pods": 1, "flavors": {}, "nodes": [")") !=
        std::string::npos);
  const auto waits = lab::explain_job(s, "more", 1, found);
  REQUIRE_MESSAGE(waits, found.to_string());
  CHECK_MESSAGE(
      lab::to_text(*waits, s).find("more (q) waits: pod set y: q has 30 gpu for all and 20 are in use.\n") !=
          std::string::npos,
      lab::to_text(*waits, s));
  CHECK(lab::to_text(*waits, s).find(", those of y at most 1 in one rack.") != std::string::npos);
  CHECK(lab::to_json(*waits, s).find(R"("pod_set": "y")") != std::string::npos);
}

TEST_CASE("scenario_pod_sets: under Kueue an explanation counts the pods that a job was given") {
  lab::errors found;
  const auto s = parse_valid(R"("policy": "kueue", "quotas": [{"name": "q", "nominal": {"gpu": 5}}],
      "jobs": [{"id": "j", "request": {"gpu": 1}, "pods": 8, "min_pods": 2}])");
  const auto story = lab::explain_job(s, "j", 1, found);
  REQUIRE_MESSAGE(story, found.to_string());
  CHECK(story->pods == 5);
  CHECK(story->request[0] == quantity::whole(5));
}

TEST_CASE("decide: what is said of a job that can never run is said of one choice of flavors") {
  const decided made = decide(R"("resources": ["h100/gpu", "a100/gpu"],
      "quotas": [{"name": "q", "nominal": {"h100/gpu": 4, "a100/gpu": 6}}], )",
                              R"({"id": "j", "request": {"gpu": 8}, "flavors": ["h100", "a100"]})");
  REQUIRE(made.d.pending.size() == 1);
  CHECK(
      made.d.pending[0].never ==
      "q can never have more than 6 of the 8 a100/gpu, whatever others do; its nominal must be raised by 2");
}

TEST_CASE("check: jobs that can never run, and such as stand where they would not be placed") {
  const auto doubts = [](const std::string& resources, const std::string& jobs) {
    lab::errors found;
    const auto s = parse_valid(resources + R"("jobs": [)" + jobs + "]");
    std::string text = lab::describe_doubts(s, found);
    CHECK_MESSAGE(found.empty(), found.to_string());
    return text;
  };
  CHECK(doubts(racks + quotas, service()).empty());
  CHECK(doubts(racks + R"("quotas": [{"name": "q", "nominal": {"gpu": 10}}], )",
               R"({"id": "a", "pod_sets": [{"request": {"gpu": 4}}, {"request": {"gpu": 4}, "pods": 2}]},
                  {"id": "b", "request": {"gpu": 8}, "pods": 7})") ==
        "jobs to look at:\n"
        "  b can never run: 56 gpu are asked for, and the nodes that it may run on have 48\n"
        "  a can never run as the quotas are: q can never have more than 10 of the 12 gpu, whatever others "
        "do; its "
        "nominal must be raised by 2\n");
  const std::string runs = R"(, "state": "running", "nodes": ["a-0", "a-1", "b-0"]})";
  const auto sets = [&](const std::string& of_y, const std::string& of_job = "") {
    return R"({"id": "j")" + of_job + R"(, "pod_sets": [{"name": "x", "request": {"gpu": 1}},
        {"name": "y", "request": {"gpu": 1}, "pods": 2)" +
           of_y + "}]" + runs;
  };
  const std::string begin = "jobs to look at:\n  j runs where it would not be placed: ";
  CHECK(doubts(racks + quotas, sets(R"(, "topology": {"required": "rack"})")) ==
        begin + "the pods of its pod set y must be in one rack, and are in 2\n");
  CHECK(doubts(racks + quotas, sets(R"(, "slice": {"pods": 2, "level": "rack"})")) ==
        begin + "every 2 of the pods of its pod set y must be in one rack\n");
  CHECK(doubts(racks + quotas, sets(R"(, "spread": {"pods": 1, "level": "node"})")).empty());
  CHECK(doubts(racks + quotas, sets("", R"(, "topology": {"required": "rack"})")) ==
        begin + "its pods must be in one rack, and are in 2\n");
  CHECK(doubts(racks + quotas, R"({"id": "j", "pod_sets": [{"name": "x", "request": {"gpu": 1}, "pods": 3,
        "spread": {"pods": 1, "level": "rack"}}])" +
                                   runs) ==
        begin + "of the pods of its pod set x at most 1 may be in one rack, and 2 are\n");
}

TEST_CASE("scenario_pod_sets: keys of pods stand in the sets, and are not recommended beside them") {
  CHECK(problems_of_sets(R"([{"request": {"gpu": 1}}])", R"(, "cpu_milli": 3)") ==
        lines{"/jobs/0/cpu_milli: each of the pod_sets says that (expected it there)"});
  const lines wrong = problems_of_sets(R"([{"request": {"gpu": 1}}])", R"(, "min_pod": 3, "flavor": 1)");
  REQUIRE(wrong.all.size() == 2);
  for (const std::string& line : wrong.all)
    CHECK_MESSAGE(line.find("did you mean") == std::string::npos, line);
  CHECK(problems_of_sets(R"([{"name": "x", "request": {"gpu": 1}}, {"name": "x", "request": {"gpu": 1}}])") ==
        lines{"/jobs/0/pod_sets/1: there is more than one pod set \"x\""});
}

TEST_CASE("scenario_pod_sets: jobs of a trace have them, too") {
  const auto read = lab::parse_trace_csv(
      "job_id,submit_s,duration_s,gpus,pod_set,pods,gpu_model,tenant\n"
      "j,0,60,0,head,,,q\n"
      "j,0,60,16,fast,2,H100,q\n"
      "j,0,60,16,any,2,,q\n");
  REQUIRE(read);
  const auto decide_on = [&](const std::string& members) {
    lab::errors found;
    lab::scenario_source source;
    source.file = "s.json";
    source.workload = &read.value;
    source.workload_name = "t.csv";
    const auto s = lab::parse_scenario(R"({"format": "allot-scenario/1", )" + members + "}", source, found);
    REQUIRE_MESSAGE(s, found.to_string());
    const auto d = lab::decide(*s, 1, found);
    REQUIRE_MESSAGE(d, found.to_string());
    return lab::to_json(*d, *s);
  };
  const std::string counted =
      decide_on(R"("resources": ["h100/gpu", "a100/gpu"], )" + racks +
                R"("quotas": [{"name": "q", "nominal": {"h100/gpu": 24, "a100/gpu": 24}}])");
  CHECK_MESSAGE(
      counted.find(R"({"name": "head", "pods": 1, "flavors": {}, "nodes": [")") != std::string::npos,
      counted);
  CHECK(counted.find(R"({"name": "fast", "pods": 2, "flavors": {"gpu": "h100"}, "nodes": ["a-)") !=
        std::string::npos);
  CHECK(counted.find(R"({"name": "any", "pods": 2, "flavors": {"gpu": "a100"}, "nodes": ["b-0", "b-1"]})") !=
        std::string::npos);
  const std::string plain = decide_on(racks + R"("quotas": [{"name": "q", "nominal": {"gpu": 20}}])");
  CHECK_MESSAGE(plain.find(R"("pod_set": "any")") != std::string::npos, plain);
}

TEST_CASE("check: a summary counts what pod sets ask for, in the best of their flavors") {
  const auto s = parse_valid(R"("resources": ["h100/gpu", "a100/gpu"], "quotas": [{"name": "q"}],
      "jobs": [{"id": "j", "pod_sets": [{"request": {"gpu": 1}, "pods": 2, "flavors": ["a100", "h100"]},
                                        {"request": {"h100/gpu": 4}}]}])");
  CHECK(lab::summary(s).find("they ask for 4 h100/gpu, 2 a100/gpu") != std::string::npos);
  const auto t =
      lab::parse_trace_csv("job_id,submit_s,duration_s,gpus,pod_set\na,0,1,1,x\na,0,1,2,y\nb,0,1,1,\n");
  REQUIRE(t);
  const std::string text = lab::summary(t.value, "t.csv");
  CHECK_MESSAGE(text.find("2 jobs of 0 tenants") != std::string::npos, text);
  CHECK(text.find("  1 consists of pods that differ\n") != std::string::npos);
}
