// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/cluster.hpp>

#include <doctest/doctest.h>
#include <tests/support/throwing_assert.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using allot::problem;
using allot::problem_code;

namespace {

gpu::node_spec nodes(std::string name, std::optional<std::int64_t> count, std::int64_t gpus,
                     std::string pool = "") {
  gpu::node_spec s;
  s.name = std::move(name);
  s.count = count;
  s.gpus = gpus;
  s.pool = std::move(pool);
  return s;
}

std::vector<problem> problems_of(std::vector<gpu::node_spec> specs) {
  const auto built = gpu::build_cluster(std::move(specs));
  CHECK_FALSE(built);
  return built.problems();
}

void check_only_problem(const gpu::node_spec& s, problem_code code, const std::string& field) {
  CAPTURE(field);
  const auto found = problems_of({s});
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == code);
  CHECK(found[0].subject == s.name);
  CHECK(found[0].field == field);
  CHECK_FALSE(found[0].text.empty());
}

}  // namespace

TEST_CASE("cluster: nodes are numbered in the order of the specification") {
  gpu::node_spec dgx = nodes("dgx", 11, 8, "train");
  dgx.gpu_model = "H100";
  dgx.labels = {{"rack", "r1"}};
  const gpu::cluster c =
      gpu::build_cluster({dgx, nodes("t4", std::nullopt, 1, "serve"), nodes("a", 2, 8, "train")}).value();
  CHECK(c.size() == 14);
  CHECK(c.devices() == 11 * 8 + 1 + 2 * 8);
  CHECK(c.gpus() == allot::gpus(105));
  CHECK(c.name(gpu::node_id{0}) == "dgx-0");
  CHECK(c.name(gpu::node_id{10}) == "dgx-10");
  CHECK(c.name(gpu::node_id{11}) == "t4");
  CHECK(c.name(gpu::node_id{13}) == "a-1");
  CHECK(c.spec(gpu::node_id{3}) == dgx);
  CHECK(c.gpus(gpu::node_id{11}) == 1);
  CHECK(c.position_of(gpu::node_id{12}).first_device == 89);
  for (std::size_t n = 0; n < c.size(); ++n) CHECK(c.find(c.name(gpu::node_id{n})) == gpu::node_id{n});
  CHECK_FALSE(c.find("dgx"));
  CHECK_FALSE(c.find("dgx-11"));
  CHECK_FALSE(c.contains(gpu::node_id{14}));
  for (const gpu::node_id n : {gpu::node_id{14}, gpu::node_id{70'000}, gpu::node_id::none()}) {
    CHECK_FALSE(c.contains(n));
    CHECK(c.name(n).empty());
    CHECK(c.gpus(n) == 0);
    CHECK(c.spec(n).name.empty());
    CHECK_THROWS_AS(static_cast<void>(c.type_of(n)), allot_test::assertion_failed);
  }
}

TEST_CASE("cluster: a count of one also numbers its node") {
  const gpu::cluster c = gpu::build_cluster({nodes("n", 1, 4)}).value();
  CHECK(c.find("n-0"));
  CHECK_FALSE(c.find("n"));
}

TEST_CASE("cluster: nodes of one pool and one size are one type") {
  const gpu::cluster c = gpu::build_cluster({nodes("a", 2, 8, "p"), nodes("b", 1, 4, "p"),
                                             nodes("c", 1, 8, "q"), nodes("d", 1, 8, "p")})
                             .value();
  REQUIRE(c.types().size() == 3);
  CHECK(c.types()[0].nodes == std::vector{gpu::node_id{0}, gpu::node_id{1}, gpu::node_id{4}});
  CHECK(c.position_of(gpu::node_id{4}).rank == 2);
  CHECK(c.pools() == std::vector<std::string>{"p", "q"});
  CHECK(c.find_pool("q") == 1U);
  CHECK_FALSE(c.find_pool(""));
  CHECK(c.gpus_in(0b01) == allot::gpus(28));
  CHECK(c.gpus_in(0b10) == allot::gpus(8));
  CHECK(c.gpus_in(0b100) == allot::gpus(0));
  CHECK(c.largest_node(0b01) == 8);
  CHECK(c.largest_node(0b100) == 0);
}

TEST_CASE("cluster: a cluster may have no nodes") {
  const gpu::cluster c = gpu::build_cluster({}).value();
  CHECK(c == gpu::cluster{});
  CHECK(c.size() == 0);
  CHECK_FALSE(c.find("x"));
}

TEST_CASE("cluster: every invalid field is named") {
  check_only_problem(nodes("", std::nullopt, 8), problem_code::empty_name, "name");
  check_only_problem(nodes("n", 0, 8), problem_code::out_of_range, "count");
  check_only_problem(nodes("n", -1, 8), problem_code::out_of_range, "count");
  check_only_problem(nodes("n", gpu::cluster::max_nodes + 1, 8), problem_code::out_of_range, "count");
  check_only_problem(nodes("n", std::numeric_limits<std::int64_t>::max(), 8), problem_code::out_of_range,
                     "count");
  check_only_problem(nodes("n", 1, 65), problem_code::out_of_range, "gpus");
  check_only_problem(nodes("n", 1, -8), problem_code::out_of_range, "gpus");
  gpu::node_spec s = nodes("n", 1, 8);
  s.gpu_memory_mib = -1;
  check_only_problem(s, problem_code::negative, "gpu_memory_mib");
  s = nodes("n", 1, 8);
  s.cpu_milli = -1;
  check_only_problem(s, problem_code::negative, "cpu_milli");
  s = nodes("n", 1, 8);
  s.memory_mib = -1;
  check_only_problem(s, problem_code::negative, "memory_mib");
  s = nodes("n", 1, 8);
  s.labels = {{"rack", "a"}, {"rack", "b"}};
  check_only_problem(s, problem_code::duplicate_name, "labels");
  s.labels = {{"", "a"}};
  check_only_problem(s, problem_code::empty_name, "labels");
}

TEST_CASE("cluster: names that clash after expansion are reported once per specification") {
  const auto found =
      problems_of({nodes("n", 4, 8), nodes("n-2", std::nullopt, 8), nodes("n", 3, 4), nodes("m", 2, -1)});
  REQUIRE(found.size() == 3);
  CHECK(found[0].field == "gpus");
  CHECK(found[1].code == problem_code::duplicate_name);
  CHECK(found[1].subject == "n-2");
  CHECK(found[2].code == problem_code::duplicate_name);
  CHECK(found[2].subject == "n-0");
  CHECK(found[2].field == "name");
}

TEST_CASE("cluster: all problems at once, and the limits of nodes and pools") {
  gpu::node_spec bad = nodes("", -2, 99);
  bad.cpu_milli = -5;
  CHECK(problems_of({bad, nodes("n", 1, 65)}).size() == 5);

  std::vector<gpu::node_spec> specs;
  for (int i = 0; i < 64; ++i) specs.push_back(nodes("n" + std::to_string(i), 1, 1, std::to_string(i)));
  CHECK(gpu::build_cluster(specs).value().pools().size() == 64);
  specs.push_back(nodes("m", 1, 1, "one too many"));
  specs.push_back(nodes("k", 1, 1, "and another"));
  const auto found = problems_of(specs);
  REQUIRE(found.size() == 1);
  CHECK(found[0].field == "pool");
  CHECK(found[0].subject == "m");

  const std::int64_t half = gpu::cluster::max_nodes / 2;
  CHECK(problems_of({nodes("a", half, 1), nodes("b", half, 1), nodes("c", 1, 1)}).size() == 1);
}
