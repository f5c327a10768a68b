// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/decide/decide.hpp"
#include "lab/scenario/scenario.hpp"
#include "tests/lab/scenarios.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

/// Two blocks of two racks of two nodes with four GPUs; rack names are qualified by their block.
std::string fabric(const std::string& levels) {
  return R"("cluster": {"topology": )" + levels + R"(, "nodes": [
    {"name": "a1", "count": 2, "gpus": 4, "labels": {"block": "a", "rack": "1"}},
    {"name": "a2", "count": 2, "gpus": 4, "labels": {"block": "a", "rack": "2"}},
    {"name": "b1", "count": 2, "gpus": 4, "labels": {"block": "b", "rack": "1"}},
    {"name": "b2", "count": 2, "gpus": 4, "labels": {"block": "b", "rack": "2"}}]}, )";
}
const std::string blocks = fabric(R"(["block", "rack"])");
const std::string quotas = R"("quotas": [{"name": "q", "nominal": "cluster"}], )";

std::string job(const std::string& id, int pods, const std::string& more) {
  return R"({"id": ")" + id + R"(", "request": {"gpu": 4}, "pods": )" + std::to_string(pods) + more + "}";
}
std::string running(const std::string& node) {
  return job("on-" + node, 1, R"(, "state": "running", "nodes": [")" + node + "\"]");
}
std::string required(const std::string& level) {
  return R"(, "topology": {"required": ")" + level + "\"}";
}

/// A decision, with the scenario that owns its texts.
struct decided {
  std::unique_ptr<lab::scenario> of;
  lab::decision d;
};
decided decide(const std::string& jobs) {
  lab::errors found;
  auto s = std::make_unique<lab::scenario>(parse_valid(blocks + quotas + R"("jobs": [)" + jobs + "]"));
  auto d = lab::decide(*s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  return {std::move(s), std::move(*d)};
}
std::vector<std::string> nodes_of(const decided& made, const std::string& id) {
  for (const auto& a : made.d.admit) {
    if (a.id != id) continue;
    std::vector<std::string> nodes{a.nodes.begin(), a.nodes.end()};
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
  return {};
}
lines problems_of_topology(const std::string& levels) {
  return problems_of(fabric(levels) + quotas + R"("jobs": [])");
}
lines problems_of_job(const std::string& topology, const std::string& cluster = blocks,
                      const std::string& more = "") {
  return problems_of(cluster + quotas + R"("jobs": [)" + job("j", 2, more + R"(, "topology": )" + topology) +
                     "]");
}

}  // namespace

TEST_CASE("scenario topology: a gang is placed in one domain of its required level") {
  // Rack a/1 has one free node, the others two; without a topology the fullest nodes would be taken first.
  CHECK(nodes_of(decide(running("a1-0") + ", " + job("j", 2, required("rack"))), "j") ==
        std::vector<std::string>{"a2-0", "a2-1"});
  // The fuller block has room for three.
  CHECK(nodes_of(decide(running("b1-0") + ", " + job("j", 3, required("block"))), "j") ==
        std::vector<std::string>{"b1-1", "b2-0", "b2-1"});
  CHECK(nodes_of(decide(job("j", 1, required("node"))), "j").size() == 1);
}

TEST_CASE("scenario topology: a preferred level may be given up") {
  const std::string preferred = R"(, "topology": {"preferred": "rack"})";
  CHECK(nodes_of(decide(running("a1-0") + ", " + job("j", 2, preferred)), "j") ==
        std::vector<std::string>{"a2-0", "a2-1"});
  CHECK(nodes_of(decide(job("j", 3, preferred)), "j").size() == 3);
  CHECK(nodes_of(decide(job("j", 8, preferred)), "j").size() == 8);
  // All in one block, if possible in one rack.
  const auto made = decide(running("a1-0") + ", " + running("b1-0") + ", " +
                           job("j", 3, R"(, "topology": {"required": "block", "preferred": "rack"})"));
  CHECK(nodes_of(made, "j") == std::vector<std::string>{"a1-1", "a2-0", "a2-1"});
}

TEST_CASE("scenario topology: no domain has room") {
  const auto made = decide(running("a1-0") + ", " + running("b2-1") + ", " + job("j", 4, required("block")));
  REQUIRE(made.d.pending.size() == 1);
  CHECK(made.d.pending[0].reason == "no_domain_has_room");
  CHECK(made.d.pending[0].at == "cluster");
  CHECK(made.d.pending[0].short_by == quantity::whole(4));
  CHECK(made.d.pending[0].text ==
        "its 4 pods must be placed in one block, and the one with most room, block a, has room for 3");
}

TEST_CASE("scenario topology: no domain could ever have room") {
  const auto made = decide(job("j", 3, required("rack")) + ", " + job("k", 2, required("node")));
  REQUIRE(made.d.refuse.size() == 2);
  CHECK(made.d.refuse[0].reason == "larger_than_any_domain");
  CHECK(made.d.refuse[0].text ==
        "its 3 pods must be placed in one rack, and the largest, rack a/1, has room for 2 when it is empty");
  CHECK(made.d.refuse[1].text ==
        "its 2 pods must be placed in one node, and the largest, node a1-0, has room for 1 when it is empty");
}

TEST_CASE("scenario topology: levels are labels that every node has") {
  CHECK(problems_of_topology(R"(["block", "rak"])") ==
        lines{R"(/cluster/topology/1: no node has the label "rak" (did you mean "rack"?))"});
  // Nor is a job reported for it.
  CHECK(problems_of(fabric(R"(["rak"])") + quotas + R"("jobs": [)" + job("j", 2, required("rack")) + "]") ==
        lines{R"(/cluster/topology/0: no node has the label "rak" (did you mean "rack"?))"});
  CHECK(problems_of_topology(R"(["rack", "rack"])") ==
        lines{R"(/cluster/topology/1: the level "rack" is there twice)"});
  CHECK(problems_of_topology(R"(["rack", "node"])") ==
        lines{"/cluster/topology/1: the node itself is the last level always (expected other labels of the "
              "nodes)"});
  CHECK(problems_of_topology("[]") == lines{"/cluster/topology: expected labels of the nodes, the outermost "
                                            "first, as in [\"block\", \"rack\"]"});
  CHECK(problems_of_topology(R"("rack")") == lines{R"(/cluster/topology: expected an array, found "rack")"});
  CHECK(problems_of_topology("[1]") == lines{"/cluster/topology/0: expected a string, found 1"});
  CHECK(
      problems_of(R"("cluster": {"topology": ["rack"], "nodes": [
          {"name": "a", "gpus": 4, "labels": {"rack": "1"}}, {"name": "b", "gpus": 4},
          {"name": "c", "count": 3, "gpus": 4, "labels": {"rack": ""}}]}, "jobs": [])") ==
      lines{
          "/cluster/nodes/1/labels: b has no label \"rack\", so it would be in none of the topology's racks "
          "(expected one, as every node has)",
          "/cluster/nodes/2/labels: c has no label \"rack\", so it would be in none of the topology's racks "
          "(expected one, as every node has)"});
}

TEST_CASE("scenario topology: topology constraints that are refused") {
  CHECK(
      problems_of_job(R"({"required": "rak"})") ==
      lines{R"(/jobs/0/topology/required: the topology of the cluster has no level "rak" (expected "block", )"
            R"("rack" or "node"))"});
  const std::string flat = R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]}, )";
  CHECK(
      problems_of_job(R"({"required": "rack"})", flat) ==
      lines{R"(/jobs/0/topology/required: the topology of the cluster has no level "rack" (expected "node", )"
            R"(or "topology" in the cluster))"});
  CHECK(problems_of_job(R"({"required": "node"})", flat) == lines{});
  CHECK(problems_of_job(R"({"required": "rack", "preferred": "block"})") ==
        lines{"/jobs/0/topology/preferred: expected a level that is not coarser than the required one, found "
              "\"block\""});
  CHECK(problems_of_job(R"({"required": "rack", "preferred": "rack"})") == lines{});
  CHECK(problems_of_job("{}") ==
        lines{R"(/jobs/0/topology: expected "required" or "preferred", with a level)"});
  CHECK(problems_of_job(R"({"required": "rack", "spread": "node"})") ==
        lines{R"(/jobs/0/topology/spread: unknown key "spread" (expected "required" or "preferred"))"});
  CHECK(problems_of_job(R"("rack")") == lines{"/jobs/0/topology: expected {\"required\": LEVEL}, "
                                              "{\"preferred\": LEVEL} or both, found \"rack\""});
  CHECK(problems_of_job(R"({"required": 1})") ==
        lines{"/jobs/0/topology/required: expected a string, found 1"});
  CHECK(problems_of_job(R"({"required": "rack"})", blocks, R"(, "min_pods": 1)") == lines{});
  // Without nodes only the quotas count.
  CHECK(problems_of(R"("quotas": [{"name": "q", "nominal": {"gpu": 9}}], "jobs": [)" +
                    job("j", 2, required("rack")) + "]") == lines{});
}
