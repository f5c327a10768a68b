// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/node_spec.hpp>

#include <doctest/doctest.h>
#include <tests/gpu/random_cluster.hpp>
#include <tests/support/seeds.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
using gpu::node_spec;

namespace {

constexpr std::array<std::int64_t node_spec::*, 4> amounts = {
    &node_spec::gpu_memory_mib, &node_spec::cpu_milli, &node_spec::memory_mib, &node_spec::pod_slots};

node_spec named(const std::string& name) {
  return {.name = name, .gpus = 2};
}

}  // namespace

TEST_CASE("node_spec: empty by default") {
  const node_spec s;
  for (const auto amount : amounts) CHECK(s.*amount == 0);
  CHECK(s.gpus == 0);
  CHECK_FALSE(s.count);
  CHECK(s.gpu_model.empty());
  CHECK(s.pool.empty());
  CHECK(s.labels.empty());
}

TEST_CASE("node_spec: amounts go from 0 to max_host_amount") {
  for (const auto amount : amounts) {
    node_spec s = named("n");
    s.*amount = gpu::max_host_amount;
    CHECK(gpu::build_cluster({s}));
    for (const std::int64_t wrong :
         {gpu::max_host_amount + 1, std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
      s.*amount = wrong;
      const auto built = gpu::build_cluster({s});
      REQUIRE(built.problems().size() == 1);
      CHECK(built.problems()[0].code ==
            (wrong < 0 ? allot::problem_code::negative : allot::problem_code::out_of_range));
      CHECK(built.problems()[0].text.find(std::to_string(wrong)) != std::string::npos);
    }
  }
}

TEST_CASE("node_spec: the largest amount is counted") {
  node_spec s = named("n");
  s.cpu_milli = s.memory_mib = s.pod_slots = gpu::max_host_amount;
  const gpu::cluster large = gpu::build_cluster({s}).value();
  const gpu::node_type& type = large.types().front();
  CHECK((type.counts_cpu() && type.counts_memory() && type.counts_slots()));
  gpu::pod_shape pod;
  pod.cpu_milli = gpu::max_host_amount;
  CHECK(type.shape_on(pod));
  ++pod.cpu_milli;
  CHECK_FALSE(type.shape_on(pod));
  CHECK(gpu::build_cluster({named("n")}).value().types().front().shape_on(pod));
}

TEST_CASE("node_spec: nodes are of one type when placement can't tell them apart") {
  const auto types = [](const node_spec& other) {
    return gpu::build_cluster({named("a"), other}).value().types().size();
  };
  CHECK(types(named("b")) == 1);
  for (const auto amount : amounts) {
    node_spec b = named("b");
    b.*amount = 7;
    CHECK(types(b) == 2);
  }
  node_spec b = named("b");
  b.labels = {{"rack", "r1"}};
  CHECK(types(b) == 1);
  b.gpu_model = "A100";
  CHECK(types(b) == 2);
}

TEST_CASE("node_spec: GPU models are numbered as they are first mentioned, at most 64 of them") {
  std::vector<node_spec> specs;
  for (int i = 0; i < 64; ++i) {
    specs.push_back(named("n" + std::to_string(i)));
    specs.back().gpu_model = "model " + std::to_string(i);
  }
  const gpu::cluster c = gpu::build_cluster(specs).value();
  CHECK(c.models().size() == 64);
  CHECK(c.find_model("model 63") == 63U);
  CHECK_FALSE(c.find_model("model 64"));
  CHECK_FALSE(c.find_model(""));
  CHECK(c.largest_node(gpu::all_pools, 0) == 0);
  CHECK(c.gpus_in(gpu::all_pools, 0b101) == allot::gpus(4));
  specs.push_back(named("x"));
  specs.push_back(named("y"));
  specs.back().gpu_model = "and another";
  const auto built = gpu::build_cluster(specs);
  REQUIRE(built.problems().size() == 1);
  CHECK(built.problems()[0].field == "gpu_model");
  CHECK(built.problems()[0].subject == "x");
}

TEST_CASE("node_spec: a cluster returns the specification of every node") {
  allot_test::for_each_seed(50, [](allot_test::random_source& random) {
    std::vector<node_spec> specs(1 + random.below(5));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      specs[i] = allot_test::random_node(random);
      specs[i].name = std::to_string(i);
    }
    const gpu::cluster c = gpu::build_cluster(specs).value();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const gpu::node_id n = c.find(std::to_string(i)).value();
      REQUIRE(c.spec(n) == specs[i]);
      const gpu::node_type& type = c.type_of(n);
      REQUIRE(type.counts_cpu() == (specs[i].cpu_milli != 0));
      REQUIRE(type.counts_memory() == (specs[i].memory_mib != 0));
      REQUIRE(type.counts_slots() == (specs[i].pod_slots != 0));
      REQUIRE(c.models()[type.model] == specs[i].gpu_model);
      REQUIRE(type.gpu_memory_mib == specs[i].gpu_memory_mib);
    }
  });
}
