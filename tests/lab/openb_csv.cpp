// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/openb_csv.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/traces.hpp"

using namespace allot::lab;

namespace {

const std::string node_header = "sn,cpu_milli,memory_mib,gpu,model\n";
const std::string pod_header =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\n";

template <class Value>
std::string told(const openb_reading<Value>& reading) {
  CHECK((reading.values.empty() || reading.problems.empty()));
  std::string all;
  for (const text_problem& p : reading.problems) all += to_string(p) + '\n';
  return all;
}
std::string node_problems(const std::string& rows) {
  return told(read_openb_nodes(node_header + rows));
}
std::string pod_problems(const std::string& rows) {
  return told(read_openb_pods(pod_header + rows));
}

}  // namespace

TEST_CASE("read_openb_nodes: nodes in file order, columns in any order") {
  const auto reading = read_openb_nodes(
      "model,rack,gpu,sn,memory_mib,cpu_milli\nP100,r1,2,openb-node-0000,262144,64000\n,,0,cpu-only,1024,"
      "8000\n");
  REQUIRE(reading);
  CHECK_FALSE(reading.stopped);
  REQUIRE(reading.values.size() == 2);
  CHECK(reading.values[0] == openb_node{"openb-node-0000", 64'000, 262'144, 2, "P100"});
  CHECK(reading.values[1] == openb_node{"cpu-only", 8'000, 1'024, 0, ""});
}

TEST_CASE("read_openb_nodes: problems, with their place") {
  CHECK(
      told(read_openb_nodes("")) ==
      "line 1, column 1: the text is empty: expected a header row with sn,cpu_milli,memory_mib,gpu,model\n");
  CHECK(told(read_openb_nodes("sn,cpu_milli,memory_mib,gpu\n")) ==
        "line 1, column 1 (model): this column is required, and the header row lacks it\n");
  CHECK(node_problems("a,1,1,2,\nb,1.5,-1,x,T4\n,1,1,0,\na,1,1,1,T4\n") ==
        "line 2, column 9 (model): expected the model of its GPUs, found nothing\n"
        "line 3, column 3 (cpu_milli): expected a whole number, found \"1.5\"\n"
        "line 3, column 7 (memory_mib): expected at least 0, found \"-1\"\n"
        "line 3, column 10 (gpu): expected a whole number, found \"x\"\n"
        "line 4, column 1 (sn): expected the name of a node, found nothing\n"
        "line 5, column 1 (sn): the name \"a\" was given before, on line 2\n");
  CHECK(node_problems("a,1000000000000000000,1,1000001,T4\n") ==
        "line 2, column 3 (cpu_milli): expected at most 1000000000000, found \"1000000000000000000\"\n"
        "line 2, column 25 (gpu): expected at most 1000000, found \"1000001\"\n");
  CHECK(node_problems("a,1,1,2,\"T4\n") == "line 2, column 9: this quote is never closed\n");
}

TEST_CASE("read_openb_pods: all columns, and only those that every list has") {
  const auto reading =
      read_openb_pods(pod_header +
                      "openb-pod-0001,6000,12288,1,460,V100M16|V100M32,LS,Running,427061,12902960,427065\r\n"
                      "openb-pod-0002,6000,12288,0,0,,BE,Pending,5,9,\r\n");
  REQUIRE(reading);
  openb_pod pod{"openb-pod-0001", 6'000,   12'288,     1,      460, {"V100M16", "V100M32"}, "LS",
                "Running",        427'061, 12'902'960, 427'065};
  REQUIRE(reading.values.size() == 2);
  CHECK(reading.values[0] == pod);
  pod = {"openb-pod-0002", 6'000, 12'288, 0, 0, {}, "BE", "Pending", 5, 9, {}};
  CHECK(reading.values[1] == pod);

  std::istringstream stream{"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,12000,16384,8,1000\n"};
  const auto shorter = read_openb_pods(stream);
  REQUIRE(shorter);
  pod = {"p", 12'000, 16'384, 8, 1000, {}, "", "", {}, {}, {}};
  REQUIRE(shorter.values.size() == 1);
  CHECK(shorter.values[0] == pod);
}

TEST_CASE("read_openb_pods: problems, with their place") {
  CHECK(pod_problems("a,1,1,1,0,,,,,,\n") ==
        "line 2, column 9 (gpu_milli): expected the part of each GPU, 1 to 1000, found 0\n");
  CHECK(pod_problems("a,1,1,0,500,,,,,,\n") ==
        "line 2, column 9 (gpu_milli): expected 0, because num_gpu is 0, found 500\n");
  CHECK(pod_problems("a,1,1,1,1001,,,,,,\n") ==
        "line 2, column 9 (gpu_milli): expected at most 1000, found \"1001\"\n");
  CHECK(pod_problems("a,1,1,1,nan,,,,,,\n") ==
        "line 2, column 9 (gpu_milli): expected a whole number, found \"nan\"\n");
  for (const char* spec : {"|", "T4|", "|T4", "T4||P100"}) {
    CHECK(pod_problems("a,1,1,1,1000," + std::string{spec} + ",,,,,\n") ==
          "line 2, column 14 (gpu_spec): expected GPU models with a | between two, found \"" +
              std::string{spec} + "\"\n");
  }
  CHECK(pod_problems("a,1,1,0,0,,,,100,99,99\n") ==
        "line 2, column 18 (deletion_time): expected a time that is not before the creation at 100, found "
        "\"99\"\n"
        "line 2, column 21 (scheduled_time): expected a time that is not before the creation at 100, found "
        "\"99\"\n");
  CHECK(pod_problems("a,1,1,0,0,,,,0,0,\nb,1,1\na,1,1,0,0,,,,0,0,\n") ==
        "line 3, column 5: expected 11 fields, as in the header row, found 3\n"
        "line 4, column 1 (name): the name \"a\" was given before, on line 2\n");
}

TEST_CASE("read_openb_pods: reading stops after enough problems") {
  std::string rows;
  for (int i = 0; i < 100; ++i) rows += "p,1,1,x,0,,,,,,\n";
  auto reading = read_openb_pods(pod_header + rows, {1000, 3});
  CHECK(reading.stopped);
  CHECK(reading.problems.size() == 3);
  reading = read_openb_pods(pod_header + "p," + std::string(2000, '1') + ",1,0,0,,,,,,\n", {1000, 3});
  CHECK(reading.stopped);
  CHECK(told(reading) == "line 2, column 1: the record is longer than 1000 bytes\n");
}

TEST_CASE("read_openb: the published files, if present") {
  const auto list = allot_test::find_trace(std::string{"openb/"} + "openb_node_list_gpu_node.csv");
  if (!list) {
    MESSAGE("skipped: no openb trace here");
    return;
  }
  std::ifstream nodes_file{*list, std::ios::binary};
  const auto nodes = read_openb_nodes(nodes_file);
  REQUIRE(nodes);
  CHECK(nodes.values.size() == 1'213);
  std::int64_t gpus = 0;
  std::map<std::string, int> models;
  for (const openb_node& node : nodes.values) {
    gpus += node.gpus;
    ++models[node.model];
  }
  CHECK(gpus == 6'212);
  CHECK(models["G2"] == 549);

  const std::map<std::string, std::size_t> sizes = {{"cpu050", 7'439},
                                                    {"default", 8'152},
                                                    {"gpushare40", 8'152},
                                                    {"gpuspec10", 8'152},
                                                    {"multigpu20", 8'324}};
  for (const auto& list_size : sizes) {
    const std::string& name = list_size.first;
    CAPTURE(name);
    std::ifstream file{allot_test::find_trace("openb/openb_pod_list_" + name + ".csv").value(),
                       std::ios::binary};
    const auto pods = read_openb_pods(file);
    REQUIRE(pods);
    CHECK(pods.values.size() == list_size.second);
    std::size_t choosy = 0;
    for (const openb_pod& pod : pods.values) choosy += pod.gpu_spec.empty() ? 0U : 1U;
    CHECK(choosy == (name == "gpuspec10" ? 732U : 0U));
  }
}
