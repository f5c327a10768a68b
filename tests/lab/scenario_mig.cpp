// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/mig/mig_request.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "lab/decide/decide.hpp"
#include "lab/scenario/scenario.hpp"
#include "tests/lab/scenarios.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

const std::string machines = R"("cluster": {"nodes": [
  {"name": "whole", "gpus": 4, "gpu_model": "A100-SXM4-40GB"},
  {"name": "small", "gpus": 1, "gpu_model": "A100-SXM4-40GB", "mig": true},
  {"name": "large", "gpus": 1, "gpu_model": "A100-SXM4-80GB", "mig": true}]}, )";
const std::string nodes = machines + R"("quotas": [{"name": "q", "nominal": "cluster"}], )";

std::string job(const std::string& id, const std::string& more) {
  return R"({"id": ")" + id + R"(", )" + more + "}";
}
lab::job_entry read(const std::string& more) {
  return parse_valid(nodes + R"("jobs": [)" + job("j", more) + "]").jobs.front();
}
lines problems_of_job(const std::string& more, const std::string& before = nodes) {
  return problems_of(before + R"("jobs": [)" + job("j", more) + "]");
}
/// A decision, with the scenario that owns its texts.
struct decided {
  std::unique_ptr<lab::scenario> of;
  lab::decision d;
};
decided decide(const std::string& jobs) {
  lab::errors found;
  auto s = std::make_unique<lab::scenario>(parse_valid(nodes + R"("jobs": [)" + jobs + "]"));
  auto d = lab::decide(*s, 1, found);
  REQUIRE_MESSAGE(d, found.to_string());
  return {std::move(s), std::move(*d)};
}

}  // namespace

TEST_CASE("scenario MIG: an instance for each pod, charged as the part of a GPU that it is") {
  const auto one = read(R"("request": {}, "mig": "1g.5gb")");
  CHECK(gpu::name_of(one.pod_request.mig) == "1g.5gb");
  CHECK(one.pod_request.gpus == quantity{});
  CHECK(one.request[0] == quantity::milli(125));
  const auto more = read(R"("request": {"gpu": 0.5}, "mig": {"3g.20gb": 1}, "pods": 2)");
  CHECK(gpu::name_of(more.pod_request.mig) == "3g.20gb");
  CHECK(more.pod_request.gpus == quantity{});
  CHECK(more.request[0] == quantity::whole(1));
  // An eighth of the GPU of 80 GB, a quarter of that of 40 GB: the largest fraction that it may be.
  CHECK(read(R"("request": {}, "mig": "1g.10gb")").request[0] == quantity::milli(250));
  CHECK(read(R"("request": {}, "mig": "1g.10gb", "gpu_model": "A100-SXM4-80GB")").request[0] ==
        quantity::milli(125));
  CHECK(gpu::name_of(read(R"("request": {}, "mig": "mig-1g.5gb.me")").pod_request.mig) == "1g.5gb+me");
}

TEST_CASE("scenario MIG: instances go to GPUs in MIG mode, whole GPUs to the others") {
  const auto made =
      decide(job("a", R"("request": {}, "mig": "3g.20gb", "pods": 2)") + ", " +
             job("b", R"("request": {}, "mig": "7g.40gb")") + ", " + job("c", R"("request": {"gpu": 4})") +
             ", " + job("d", R"("request": {"gpu": 1})"));
  REQUIRE(made.d.admit.size() == 2);
  CHECK(made.d.admit[0].id == "a");
  CHECK(made.d.admit[0].nodes == std::vector<std::string_view>{"small", "small"});
  CHECK(made.d.admit[1].nodes == std::vector<std::string_view>{"whole"});
  REQUIRE(made.d.pending.size() == 2);
  CHECK(made.d.pending[0].id == "b");
  CHECK(made.d.pending[1].id == "d");
}

TEST_CASE("scenario MIG: a running job keeps its instance") {
  const auto made =
      decide(job("old", R"("request": {}, "mig": "4g.20gb", "state": "running", "nodes": ["small"],
                                      "devices": [[0]])") +
             ", " + job("new", R"("request": {}, "mig": "4g.20gb")") + ", " +
             job("fits", R"("request": {}, "mig": "3g.20gb")"));
  REQUIRE(made.d.admit.size() == 1);
  CHECK(made.d.admit[0].id == "fits");
  REQUIRE(made.d.pending.size() == 1);
  CHECK(made.d.pending[0].id == "new");
}

TEST_CASE("scenario MIG: nodes that are refused") {
  CHECK(
      problems_of(
          R"("cluster": {"nodes": [{"name": "n", "gpus": 4, "gpu_model": "T4", "mig": true}]}, "jobs": [])") ==
      lines{
          "/cluster/nodes/0/mig: the GPUs of n can't be in MIG mode: expected A30, A100, H100, H200 or B200, "
          "for A100 and H100 with the memory, found T4"});
  CHECK(problems_of(R"("cluster": {"nodes": [{"name": "n", "gpus": 4, "mig": true}]}, "jobs": [])") ==
        lines{"/cluster/nodes/0/mig: the GPUs of n can't be in MIG mode: they have no model"});
  CHECK(problems_of(R"("cluster": {"nodes": [{"name": "n", "gpus": 4, "mig": "yes"}]}, "jobs": [])") ==
        lines{R"(/cluster/nodes/0/mig: expected true or false, found "yes")"});
}

TEST_CASE("scenario MIG: requests that are refused") {
  const std::string offered =
      "(expected one of A100-40GB: 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb; "
      "A100-80GB: "
      "1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb)";
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.6gb")") ==
        lines{"/jobs/0/mig: no GPU offers the MIG profile \"1g.6gb\" " + offered});
  CHECK(problems_of_job(R"("request": {}, "mig": "tiny")") ==
        lines{"/jobs/0/mig: no GPU offers the MIG profile \"tiny\" " + offered});
  const std::string whole =
      R"("cluster": {"nodes": [{"name": "n", "gpus": 4, "gpu_model": "A100-SXM4-40GB"}]}, )"
      R"("quotas": [{"name": "q", "nominal": "cluster"}], )";
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb")", whole) ==
        lines{"/jobs/0/mig: no GPU offers the MIG profile \"1g.5gb\" (no node is in MIG mode)"});
  CHECK(problems_of_job(R"("request": {"gpu": 1}, "mig": "1g.5gb")") ==
        lines{"/jobs/0/request: expected no gpu, or 0.125 as the instance 1g.5gb is, found 1"});
  CHECK(problems_of_job(R"("request": {}, "mig": {"1g.5gb": 2})") ==
        lines{"/jobs/0/mig/1g.5gb: a pod has one instance: expected 1, and as many \"pods\"; found 2"});
  CHECK(problems_of_job(R"("request": {}, "mig": {"1g.5gb": 1, "3g.20gb": 1})") ==
        lines{"/jobs/0/mig: a pod has one instance: expected one profile, found 2"});
  CHECK(problems_of_job(R"("request": {}, "mig": 1)") ==
        lines{"/jobs/0/mig: expected the name of a MIG profile, as in \"1g.5gb\", found 1"});
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb", "gpu_memory_mib": 5000)") ==
        lines{"/jobs/0/mig: expected no gpu_memory_mib beside mig"});
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb", "devices_per_pod": 2)") ==
        lines{"/jobs/0/mig: an instance is of one GPU (expected no devices_per_pod beside mig)"});
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb", "total": true)") ==
        lines{"/jobs/0/mig: each pod has an instance (expected no \"total\")"});
  const std::string none = R"("quotas": [{"name": "q", "nominal": {"gpu": 1}}], )";
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb")", none) ==
        lines{"/jobs/0/request: what part of a GPU an instance is can't be told without a cluster (expected "
              "it as "
              "gpu in the request)"});
  CHECK(problems_of_job(R"("request": {"gpu": 0.125}, "mig": "1g.5gb")", none) == lines{});
  CHECK(problems_of_job(R"("request": {}, "mig": "1g.5gb")",
                        machines + R"("resources": ["a100/gpu"], "quotas": [{"name": "q"}], )") ==
        lines{"/jobs/0/request: GPUs are counted by flavor: expected 0.125 gpu of one, as the instance is"});
}
