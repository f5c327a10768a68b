// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/quotas_file.hpp>

#include <doctest/doctest.h>

using namespace allot;
using namespace allot::lab;

namespace {

[[nodiscard]] std::string first_problem(std::string_view text) {
  const auto reading = parse_quotas_file(text, "host.json", "host");
  CHECK(!reading);
  return reading.problems.empty() ? "" : reading.problems.front();
}

}  // namespace

TEST_CASE("quotas_file: quotas, policy and resources as a scenario has them") {
  const auto reading = parse_quotas_file(R"({
    "format": "allot-scenario/1",
    "resources": ["gpu", "cpu"],
    "policy": {"preset": "standard", "reservations": 2, "set": {"placement": "fgd", "seed": 7}},
    "quotas": [
      {"name": "org", "nominal": {"gpu": 8, "cpu": "unlimited"}},
      {"name": "a", "parent": "org", "nominal": {"gpu": 4}, "head": "strict", "access": {"roles": ["x"]}},
      // The host's own.
      {"name": "b", "parent": "org", "weight": 2},
    ],
    "host": {"anything": [1, 2]}
  })",
                                         "host.json", "host");
  for (const std::string& p : reading.problems) MESSAGE(p);
  REQUIRE(reading);
  const quotas_file& file = *reading.value;
  CHECK(file.resources == std::vector<std::string>{"gpu", "cpu"});
  CHECK(file.policy.name == "standard");
  CHECK(file.policy.defaults().reservations == 2);
  CHECK(file.policy_name.find("placement fgd") != std::string::npos);
  CHECK(file.placement == gpu::placement_name::fgd);
  CHECK(file.seed == 7);
  REQUIRE(file.quotas.size() == 3);
  CHECK(file.quotas[0].spec.nominal[0] == gpus(8));
  CHECK(file.quotas[0].spec.nominal[1].is_unlimited());
  CHECK(file.quotas[1].settings.head == queue_head::strict);
  REQUIRE(file.quotas[1].access);
  CHECK(file.quotas[1].access->roles == std::vector<std::string>{"x"});
  CHECK(file.quotas[2].settings.head == queue_head::reserve);
  CHECK(!file.quotas[2].access);
}

TEST_CASE("quotas_file: every problem has its place") {
  CHECK(first_problem("[]").find("host.json: ") == 0);
  CHECK(first_problem("{").find("host.json: line 1") == 0);
  CHECK(first_problem("{}").find("quotas") != std::string::npos);
  CHECK(first_problem(R"({"quotas": []})") == "host.json: /quotas: expected at least one quota");
  CHECK(first_problem(R"({"format": "other/1", "quotas": [{"name": "a"}]})").find("/format") !=
        std::string::npos);
  CHECK(first_problem(R"({"quotas": [{"name": "a", "parent": "b"}]})").find("/quotas/0/parent") !=
        std::string::npos);
  CHECK(first_problem(R"({"quotas": [{"name": "a", "time_limit_s": {"x": 1}}]})")
            .find("/quotas/0/time_limit_s") != std::string::npos);
  // What only a simulation has.
  CHECK(first_problem(R"({"quotas": [{"name": "a"}], "jobs": []})").find("/jobs") != std::string::npos);
  // Another host's key.
  CHECK(first_problem(R"({"quotas": [{"name": "a"}], "guest": {}})").find("/guest") != std::string::npos);
}
