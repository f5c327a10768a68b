// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "lab/decide/decide.hpp"
#include "lab/scenario/explain.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"
#include "tests/lab/scenarios.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

const std::string machines = R"("cluster": {"nodes": [
  {"name": "big", "count": 2, "gpus": 8, "gpu_model": "H100", "gpu_memory_mib": 81559, "cpu_milli": 64000,
   "memory_mib": 500000, "pod_slots": 4},
  {"name": "old", "gpus": 4, "gpu_model": "T4", "gpu_memory_mib": 15109},
  {"name": "cpu", "gpus": 0, "cpu_milli": 16000}]}, )";
const std::string nodes = machines + R"("quotas": [{"name": "q", "nominal": "cluster"}], )";

/// The demand of the only job.
gpu::pod_request pod_request_of(const std::string& job, const std::string& resources = R"(["gpu"])") {
  const auto s =
      parse_valid(nodes + R"("resources": )" + resources + R"(, "jobs": [{"id": "j", )" + job + "}]");
  return s.jobs.front().pod_request;
}
quantity charged(const std::string& job) {
  const auto s = parse_valid(nodes + R"("jobs": [{"id": "j", )" + job + "}]");
  return s.jobs.front().request[0];
}
lines problems_of_job(const std::string& job, const std::string& before = nodes) {
  return problems_of(before + R"("jobs": [{"id": "j", )" + job + "}]");
}

}  // namespace

TEST_CASE("nodes may have no GPUs, and a limit of pod slots") {
  const auto s = parse_valid(nodes + R"("jobs": [])");
  CHECK(s.nodes[0].pod_slots == 4);
  CHECK(s.nodes[1].pod_slots == 0);
  CHECK(s.nodes[2].gpus == 0);
  CHECK(problems_of(R"("cluster": {"nodes": [{"name": "n", "gpus": -1}]})") ==
        lines{"/cluster/nodes/0/gpus: expected a whole number from 0 to 64, found -1"});
  CHECK(problems_of(R"("cluster": {"nodes": [{"name": "n", "gpus": 1, "pod_slots": 1000000001}]})") ==
        lines{"/cluster/nodes/0/pod_slots: expected a whole number from 0 to 1000000000, found 1000000001"});
}

TEST_CASE("a job, or each of its pod sets, lists the pools of nodes that it may run on") {
  const std::string pools = R"("cluster": {"nodes": [{"name": "a", "gpus": 8, "pool": "x"},
      {"name": "b", "gpus": 8, "pool": "y"}, {"name": "c", "gpus": 8}]},
      "quotas": [{"name": "all", "nominal": "cluster"}, {"name": "some", "nominal": {"gpu": 8}, "node_pools": ["x", "y"]}], )";
  const auto nodes_of = [&](const std::string& job) {
    lab::errors found;
    const auto s = parse_valid(pools + R"("jobs": [{"id": "j", )" + job + "}]");
    const auto d = lab::decide(s, 1, found);
    REQUIRE_MESSAGE(d, found.to_string());
    std::string text;
    for (const auto& a : d->admit) {
      for (const auto& pod : a.nodes) text += pod[0];
    }
    return text;
  };
  CHECK(nodes_of(R"("quota": "all", "request": {"gpu": 8}, "node_pools": ["y"])") == "b");
  CHECK(nodes_of(R"("quota": "all", "request": {"gpu": 8}, "pods": 2, "node_pools": ["y", ""])").size() == 2);
  // Those of its quota besides.
  CHECK(nodes_of(R"("quota": "some", "request": {"gpu": 8}, "node_pools": ["y", ""])") == "b");
  CHECK(nodes_of(R"("quota": "some", "request": {"gpu": 8}, "node_pools": [""])").empty());
  CHECK(nodes_of(R"("quota": "all", "request": {"gpu": 8}, "node_pools": [])").empty());
  CHECK(nodes_of(R"("quota": "all", "pod_sets": [{"request": {"gpu": 8}, "node_pools": ["y"]},
      {"request": {"gpu": 8}, "node_pools": ["x"]}])") == "ba");
  // A running job stays where it is.
  CHECK(nodes_of(
            R"("quota": "all", "request": {"gpu": 8}, "node_pools": [], "state": "running", "nodes": ["a"])")
            .empty());
  CHECK(problems_of_job(R"("quota": "all", "request": {"gpu": 1}, "node_pools": ["z", 1])", pools) ==
        lines{R"(/jobs/0/node_pools/0: no node is in a pool "z")",
              "/jobs/0/node_pools/1: expected a string, found 1"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "node_pools": ["z"])", R"("quotas": [{"name": "q"}], )") ==
        lines{"/jobs/0/node_pools: there is no cluster whose pools these could be"});
  CHECK(problems_of_job(R"("quota": "all", "node_pools": ["x"], "pod_sets": [{"request": {"gpu": 1}}])",
                        pools) ==
        lines{"/jobs/0/node_pools: each of the pod_sets says that (expected it there)"});
}

TEST_CASE("jobs are placed in the pools that their quota prefers, and last in those of others") {
  const auto nodes_of = [](const std::string& prefers) {
    lab::errors found;
    const auto s = parse_valid(R"("cluster": {"nodes": [{"name": "a", "gpus": 8, "pool": "x"},
      {"name": "b", "gpus": 8, "pool": "y"}, {"name": "c", "gpus": 8}]},
      "quotas": [{"name": "all", "nominal": "cluster"}, {"name": "one", "parent": "all"},
                 {"name": "two", "parent": "all", "preferred_node_pools": ["x"]},
                 {"name": "three", "parent": "all")" +
                               prefers + R"(}],
      "jobs": [{"id": "1", "quota": "one", "request": {"gpu": 2}}, {"id": "2", "quota": "two", "request": {"gpu": 2}},
               {"id": "3", "quota": "three", "request": {"gpu": 2}, "pods": 5}])");
    const auto d = lab::decide(s, 1, found);
    REQUIRE_MESSAGE(d, found.to_string());
    std::map<std::string, std::string> where;
    for (const auto& a : d->admit) {
      for (const auto& pod : a.nodes) where[std::string{a.id}] += pod[0];
    }
    return where;
  };
  using places = std::map<std::string, std::string>;
  CHECK(nodes_of(R"(, "preferred_node_pools": ["y"])") == places{{"1", "c"}, {"2", "a"}, {"3", "bbbbc"}});
  CHECK(nodes_of("") == places{{"1", "b"}, {"2", "a"}, {"3", "bbbcc"}});
}

TEST_CASE("a job lists the GPU models that it may run on") {
  CHECK(pod_request_of(R"("request": {"gpu": 1})").models == gpu::all_models);
  CHECK(pod_request_of(R"("request": {"gpu": 1}, "gpu_model": "t4")").models == 0b010);
  CHECK(pod_request_of(R"("request": {"gpu": 1}, "gpu_model": ["T4", "H100"])").models == 0b011);
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_model": "H10")") ==
        lines{R"(/jobs/0/gpu_model: no node has the GPU model "H10" (did you mean "H100"?))"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_model": ["T4", "B200"])") ==
        lines{R"(/jobs/0/gpu_model/1: no node has the GPU model "B200")"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_model": [])") ==
        lines{"/jobs/0/gpu_model: expected at least one GPU model"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_model": 4)") ==
        lines{"/jobs/0/gpu_model: expected the name of a GPU model or a list of them, found 4"});
  // Without nodes there is nothing to compare it with.
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_model": "H10")", R"("quotas": [{"name": "q"}], )") ==
        lines{});
}

TEST_CASE("CPU and memory of pods: from the job, or from its request") {
  const std::string three = R"(["gpu", "cpu", "memory_mib"])";
  gpu::pod_request d = pod_request_of(R"("request": {"gpu": 1}, "cpu_milli": 4000, "memory_mib": 1024)");
  CHECK(d.cpu_milli == 4000);
  CHECK(d.memory_mib == 1024);
  d = pod_request_of(R"("request": {"gpu": 1, "cpu": 1.5, "memory_mib": 0.001}, "pods": 3)", three);
  CHECK(d.cpu_milli == 1500);
  CHECK(d.memory_mib == 1);
  CHECK(pod_request_of(R"("request": {"gpu": 1, "cpu": 4}, "cpu_milli": 4000)", three).cpu_milli == 4000);
  const auto of_flavor = parse_valid(machines + R"("resources": ["gpu", "spot/cpu"],
                   "quotas": [{"name": "q", "nominal": {"gpu": 20, "spot/cpu": 64}}],
                   "jobs": [{"id": "j", "request": {"gpu": 1, "spot/cpu": 4}}])");
  CHECK(of_flavor.jobs.front().pod_request.cpu_milli == 4000);
  CHECK(pod_request_of(R"("request": {"gpu": 1}, "cpu_milli": 5)", three).cpu_milli == 5);
  CHECK(problems_of(nodes + R"("resources": ["gpu", "cpu"],
                   "jobs": [{"id": "j", "request": {"cpu": 4}, "cpu_milli": 3999}])") ==
        lines{"/jobs/0/cpu_milli: expected 4000, as the request has it, found 3999"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "memory_mib": -1)") ==
        lines{"/jobs/0/memory_mib: expected a whole number from 0 to 1000000000000, found -1"});
  CHECK(problems_of_job(R"("cpu_milli": 1)") == lines{R"(/jobs/0: the key "request" is missing)"});
}

TEST_CASE("fractions of several devices are equal parts of the request") {
  const gpu::pod_request d = pod_request_of(R"("request": {"gpu": 1.2}, "devices_per_pod": 2)");
  CHECK(d.gpus == quantity::milli(600));
  CHECK(d.devices == 2);
  CHECK(charged(R"("request": {"gpu": 1.2}, "devices_per_pod": 2, "pods": 3)") == quantity::milli(3600));
  CHECK(pod_request_of(R"("request": {"gpu": 4}, "devices_per_pod": 1)").gpus == gpus(4));
  const std::string expected =
      "/jobs/0/request: expected gpu as 3 equal fractions (to a thousandth), one of each of the 3 "
      "devices_per_pod, found ";
  for (const char* amount : {"3", "0.5", "0"}) {
    CHECK(problems_of_job(R"("request": {"gpu": )" + std::string{amount} + R"(}, "devices_per_pod": 3)") ==
          lines{expected + amount});
  }
  CHECK(problems_of_job(R"("request": {"gpu": 0.5}, "devices_per_pod": 0)") ==
        lines{"/jobs/0/devices_per_pod: expected a whole number from 1 to 64, found 0"});
}

TEST_CASE("GPU memory is charged as the largest portion of any node where it fits") {
  // 8000 of 81,500: 9.8 %; of 15,100: 53 %.
  gpu::pod_request d = pod_request_of(R"("request": {}, "gpu_memory_mib": 8000)");
  CHECK(d.gpu_memory_mib == 8000);
  CHECK(d.gpus == quantity{});
  CHECK(charged(R"("request": {}, "gpu_memory_mib": 8000)") == quantity::milli(530));
  CHECK(charged(R"("request": {}, "gpu_memory_mib": 8000, "gpu_model": "H100")") == quantity::milli(100));
  CHECK(charged(R"("request": {}, "gpu_memory_mib": 20000, "devices_per_pod": 2, "pods": 2)") ==
        quantity::milli(1000));
  CHECK(charged(R"("request": {}, "gpu_memory_mib": 100000)") == gpus(1));
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "gpu_memory_mib": 8000)") ==
        lines{"/jobs/0/request: expected no gpu beside gpu_memory_mib, found 1"});
  CHECK(problems_of_job(R"("request": {}, "gpu_memory_mib": 8000)", R"("quotas": [{"name": "q"}], )") ==
        lines{"/jobs/0/request: what part of a GPU gpu_memory_mib is can't be told without a cluster"});
  CHECK(problems_of_job(R"("request": {}, "gpu_memory_mib": 0)") ==
        lines{"/jobs/0/gpu_memory_mib: expected a whole number from 1 to 1000000000, found 0"});
}

// KAI-Scheduler's trap of #1369: by memory, too, two jobs of 0.6 GPU do not share one.
TEST_CASE("GPU memory takes part in quota and in placement") {
  lab::errors found;
  const auto s = parse_valid(R"("cluster": {"nodes": [{"name": "n", "gpus": 2, "gpu_memory_mib": 10000}]},
      "quotas": [{"name": "r", "nominal": {"gpu": 1}}],
      "jobs": [{"id": "a", "request": {}, "gpu_memory_mib": 6000, "preemptible": false},
               {"id": "b", "request": {}, "gpu_memory_mib": 6000, "preemptible": false}])");
  const auto d = lab::decide(s, 1, found);
  REQUIRE(d);
  REQUIRE(d->admit.size() == 1);
  CHECK(d->admit.front().id == "a");
  REQUIRE(d->pending.size() == 1);
  CHECK(d->pending.front().id == "b");
}

TEST_CASE("decisions respect models, CPU and pod slots, and name what is missing") {
  lab::errors found;
  const auto s = parse_valid(nodes + R"("jobs": [
      {"id": "a", "request": {"gpu": 1}, "gpu_model": "T4"},
      {"id": "b", "request": {"gpu": 1}, "gpu_model": "H100", "cpu_milli": 60000},
      {"id": "c", "request": {"gpu": 1}, "gpu_model": "H100", "cpu_milli": 60000},
      {"id": "d", "request": {"gpu": 1}, "gpu_model": "H100", "cpu_milli": 60000},
      {"id": "e", "request": {"gpu": 8}, "gpu_model": "T4"},
      {"id": "f", "request": {"gpu": 1}, "cpu_milli": 65000, "memory_mib": 600000, "gpu_model": "H100"},
      {"id": "g", "request": {}, "cpu_milli": 16000}])");
  const auto d = lab::decide(s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  std::string where;
  for (const auto& a : d->admit) where.append(a.id).append(" ").append(a.nodes.front()).append("; ");
  CHECK(where == "a old; b big-0; c big-1; g cpu; ");
  REQUIRE(d->pending.size() == 1);
  CHECK(d->pending.front().id == "d");
  CHECK(d->pending.front().reason == "host_full");
  CHECK(d->pending.front().short_by == gpus(1));
  CHECK(d->pending.front().text ==
        "the GPUs are there, but not the CPU, memory or pod slots beside them: it has one pod");
  REQUIRE(d->refuse.size() == 2);
  CHECK(d->refuse[0].id == "e");
  CHECK(d->refuse[0].reason == "model_has_no_such_node");
  CHECK(d->refuse[0].text == "none of the nodes with a GPU model that it accepts could hold a pod of it");
}

TEST_CASE("traced jobs bring their model, CPU and memory") {
  lab::errors found;
  lab::scenario_source source;
  source.file = "s.json";
  auto s = parse_valid(nodes + R"("jobs": [])");
  s.trace = lab::parse_trace(
      "job_id,submit_s,duration_s,gpus,pods,gpu_model,cpu_milli,memory_mib\n"
      "1,0,1,4,2,h100,7001,10\n2,0,1,9,,,9000,\n3,0,1,1,,T4,,\n",
      "t.csv", found);
  REQUIRE(s.trace);
  const auto w = lab::make_workload<1>(s);
  REQUIRE(w.setup.jobs.size() == 3);
  CHECK(w.setup.jobs[0].pod_request ==
        gpu::pod_request{.gpus = gpus(2), .pods = 2, .models = 0b001, .cpu_milli = 3501, .memory_mib = 5});
  CHECK(w.setup.jobs[1].pod_request == gpu::pod_request{.gpus = gpus(9), .total = true, .cpu_milli = 9000});
  CHECK(w.setup.jobs[2].pod_request == gpu::pod_request{.gpus = gpus(1), .total = true, .models = 0b010});
}
