// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"
#include "tests/lab/scenarios.hpp"
#include "tests/lab/scratch.hpp"

namespace lab = allot::lab;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

const std::string world = R"("cluster": {"nodes": [{"name": "v", "gpus": 4, "gpu_model": "V100"},
    {"name": "k", "gpus": 4, "gpu_model": "K80"}]}, "quotas": [{"name": "q", "nominal": {"gpu": 8}}], )";

}  // namespace

TEST_CASE("speeds of a scenario: by GPU model and pods, the first entry that is for a job") {
  const auto s = parse_valid(world + R"("speeds": [
      {"class": ["train", "tune"], "gpu_model": {"k80": 0.25}, "pods": {"4": 3.5, "1": 1}},
      {"gpu_model": {"V100": 2}}],
    "jobs": [{"id": "a", "request": {"gpu": 1}, "class": "tune"}, {"id": "b", "request": {"gpu": 1}}])");
  REQUIRE(s.speeds.size() == 2);
  const auto v100 = s.cluster->find_model("V100").value();
  const auto k80 = s.cluster->find_model("K80").value();
  CHECK(s.speeds[0].of.by_model[k80] == 250);
  CHECK(s.speeds[0].of.by_model[v100] == 0);
  CHECK(s.speeds[1].of.by_model[v100] == 2000);
  CHECK(s.speeds[0].of.by_pods[0] == std::pair<std::uint32_t, allot::sim::speed>{1, 1000});
  CHECK(s.speeds[0].of.by_pods[1] == std::pair<std::uint32_t, allot::sim::speed>{4, 3500});
  const auto w = lab::make_workload<1>(s);
  REQUIRE(w.speeds);
  CHECK(w.speeds->kind_of(0)->by_model[k80] == 250);
  CHECK(w.speeds->kind_of(1)->by_model[v100] == 2000);
  CHECK_FALSE(lab::make_workload<1>(parse_valid(world + R"("jobs": [])")).speeds);
}

TEST_CASE("speeds of a scenario: jobs of a trace are told by their tags as well") {
  const allot_test::scratch dir;
  const std::string trace = dir.put("t.csv",
                                    "job_id,submit_s,duration_s,gpus,model_name\n"
                                    "1,0,100,1,bert\n2,0,100,1,resnet\n3,0,100,1,\n");
  const std::string members = world + R"("trace": {"file": ")" + trace + R"("}, "speeds": [
      {"tags": {"model_name": "resnet"}, "gpu_model": {"K80": 0.5}},
      {"tags": {"model_name": ["bert", "gpt"]}, "gpu_model": {"K80": 0.1}}])";
  const auto w = lab::make_workload<1>(parse_valid(members));
  REQUIRE(w.speeds);
  CHECK(w.speeds->kind_of(0)->by_model.back() == 100);
  CHECK(w.speeds->kind_of(1)->by_model.back() == 500);
  CHECK(w.speeds->kind_of(2) == nullptr);
  CHECK(problems_of(world + R"("trace": {"file": ")" + trace + R"("}, "speeds": [
      {"tags": {"model_nam": "x"}, "pods": {"1": 1}}])") ==
        lines{"/speeds/0/tags/model_nam: the trace has no column of tags \"model_nam\" (did you mean "
              "\"model_name\"?)"});
}

TEST_CASE("speeds of a scenario: a model may have a column of the trace, in which each job has its own") {
  const allot_test::scratch dir;
  const std::string trace = dir.put("t.csv",
                                    "job_id,submit_s,duration_s,gpus,class,k80\n"
                                    "1,0,100,1,a,0.25\n2,0,100,1,a,\n3,0,100,1,a,0.25\n4,0,100,1,a,1.5\n"
                                    "5,0,100,1,b,fast\n6,0,100,1,c,0\n");
  const auto with = [&](const std::string& job_class, const std::string& column) {
    return world + R"("trace": {"file": ")" + trace + R"("}, "speeds": [{"class": )" + job_class +
           R"(, "gpu_model": {"V100": 2, "K80": ")" + column +
           R"("}}], "jobs": [{"id": "x", "class": "a", "request": {"gpu": 1}}])";
  };
  const auto s = parse_valid(with("\"a\"", "k80"));
  const auto k80 = s.cluster->find_model("K80").value();
  const auto v100 = s.cluster->find_model("V100").value();
  const auto w = lab::make_workload<1>(s);
  REQUIRE(w.speeds);
  std::vector<std::string> seen;
  for (allot::sim::job_index j = 0; j < w.ids.size(); ++j) {
    const allot::sim::workload_view<1> view{.jobs = w.setup.jobs, .tags = w.setup.tags};
    CHECK(view.tag(j, k80) == w.speeds->on_model(j, k80));
    seen.push_back(std::string{w.ids[j]} + ": " + std::to_string(view.tag(j, v100)) + ", " +
                   std::to_string(view.tag(j, k80)));
  }
  CHECK(lines(seen) == lines{"1: 2000, 250", "2: 2000, 1000", "3: 2000, 250", "4: 2000, 1500",
                             "5: 1000, 1000", "6: 1000, 1000", "x: 1000, 1000"});
  CHECK(w.speeds->kind_of(0) == w.speeds->kind_of(2));
  CHECK(problems_of(with("[\"b\", \"c\"]", "k80")) ==
        lines{"/speeds/0/gpu_model: in the column \"k80\" of job \"5\": expected a speed from 0.001 to 1000, "
              "found \"fast\"; and so in 1 more"});
  CHECK(problems_of(with("\"a\"", "k8")) ==
        lines{"/speeds/0/gpu_model/K80: the trace has no column of tags \"k8\" (did you mean \"k80\"?)"});
}

TEST_CASE("speeds of a scenario: by neighbours, and where pods are apart") {
  const auto s = parse_valid(R"("cluster": {"topology": ["rack"], "nodes": [
      {"name": "n", "gpus": 4, "labels": {"rack": "r"}}]}, "quotas": [{"name": "q", "nominal": "cluster"}],
      "speeds": [{"neighbours": [0.9, 0.5], "apart": {"level": "node", "speed": 0.8}}], "jobs": [])");
  const auto& of = s.speeds.front().of;
  CHECK(std::vector<allot::sim::speed>(of.by_neighbours.begin(), of.by_neighbours.end()) ==
        std::vector<allot::sim::speed>{900, 500});
  CHECK(of.level == 1);
  CHECK(of.apart == 800);
}

TEST_CASE("speeds of a scenario: what is wrong with them is said where it is") {
  CHECK(
      problems_of(world + R"("speeds": [
      {"gpu_model": {"K8": 1, "V100": 0}, "pods": {"1": 2, "x": 1, "2": 1001}},
      {"class": "train"}, {"tags": {"a": "b"}, "pods": {"1": 1}}, {"pods": {"1": 1}, "models": {}},
      {"class": [], "neighbours": [0.5, "x"]}, {"apart": {"speed": 0}}, {"apart": {"level": "rack", "speed": 1}}])") ==
      lines{"/speeds/0/gpu_model/K8: no node has the GPU model \"K8\" (did you mean \"K80\"?)",
            "/speeds/0/gpu_model/V100: expected a speed from 0.001 to 1000, found 0",
            "/speeds/0/pods/x: expected a number of pods as the key, found \"x\"",
            "/speeds/0/pods/2: expected a speed from 0.001 to 1000, found 1001",
            "/speeds/0/pods: how many times as fast as with one pod: expected \"1\": 1 as the first",
            "/speeds/1: expected one of \"gpu_model\", \"pods\", \"neighbours\" and \"apart\", or several",
            "/speeds/2/tags/a: only the jobs of a trace have tags",
            "/speeds/3/models: unknown key \"models\" (expected \"class\", \"tags\", \"gpu_model\", "
            "\"pods\", \"neighbours\" or \"apart\")",
            "/speeds/4/class: expected at least one",
            "/speeds/4/neighbours/1: expected a number, found \"x\"",
            "/speeds/5/apart: the key \"level\" is missing",
            "/speeds/5/apart/speed: expected a speed from 0.001 to 1000, found 0",
            "/speeds/6/apart/level: the topology of the cluster has no level \"rack\" (expected \"node\", or "
            "\"topology\" in the cluster)"});
  const std::string no_nodes = R"("quotas": [{"name": "q"}], "speeds": [)";
  CHECK(problems_of(no_nodes + R"({"gpu_model": {"K80": 1}}, {"apart": {"level": "rack", "speed": 1}}])") ==
        lines{"/speeds/0/gpu_model: only nodes have a GPU model (expected a \"cluster\")",
              "/speeds/1/apart/level: only nodes have a topology (expected a \"cluster\")"});
}
