// SPDX-License-Identifier: BSL-1.0
#include "../src/config.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_slurm;

namespace {

[[nodiscard]] std::string with(const std::string& slurm, const std::string& more = "") {
  return R"({"quotas": [{"name": "org"}, {"name": "a", "parent": "org", "nominal": {"gpu": 4}}], "slurm": {)" +
         slurm + "}" + more + "}";
}
[[nodiscard]] std::string problem_of(const std::string& text) {
  const auto reading = parse_config(text, "f.json");
  CHECK(!reading.value);
  return reading.problems.empty() ? "" : reading.problems.front();
}

}  // namespace

TEST_CASE("config: defaults and all that can be set") {
  const auto plain = parse_config(with(""), "f.json");
  REQUIRE(plain.value);
  CHECK(plain.value->slurm.places_jobs);
  CHECK(plain.value->slurm.poll_ms == 1000);
  CHECK(plain.value->quotas.policy_name == "standard");
  const auto all =
      parse_config(with(R"("partitions": ["x", "y"], "nodes": "slurm", "poll_s": 0.25, "grace_s": 0,
      "signal": "USR1", "directory": "/d", "accounts": {"bio": "a"}, "qos": {"high": 10}, // a comment
      "comments_per_tick": 0,)"),
                   "f.json");
  REQUIRE(all.value);
  const slurm_options& o = all.value->slurm;
  CHECK(!o.places_jobs);
  CHECK(o.poll_ms == 250);
  CHECK(o.grace_ms == 0);
  CHECK(o.signal == 10);
  CHECK(o.qos.at("high") == 10);
  CHECK(all.value->governs("x"));
  CHECK(all.value->governs("main,y"));
  CHECK(!all.value->governs("main"));
  CHECK(all.value->quota_of("bio") == 1U);
  CHECK(all.value->quota_of("root/lab/a") == 1U);
  CHECK(!all.value->quota_of("lab"));
}

TEST_CASE("config: what is wrong is said with its place") {
  CHECK(problem_of("{").find("f.json") == 0);
  CHECK(problem_of(with(R"("poll_s": "1")")) == "f.json: /slurm/poll_s: expected seconds, from 0.05 to 3600");
  CHECK(problem_of(with(R"("nodes": "both")")).find("/slurm/nodes: expected \"allot\" or \"slurm\"") !=
        std::string::npos);
  CHECK(problem_of(with(R"("pages": "x")")) == "f.json: /slurm/pages: there is no such key");
  CHECK(problem_of(with(R"("accounts": {"x": "none"})")).find("there is no quota \"none\"") !=
        std::string::npos);
  CHECK(problem_of(with("", R"(, "jobs": [])")).find("/jobs") != std::string::npos);
  CHECK(problem_of(R"({"quotas": []})").find("at least one quota") != std::string::npos);
  CHECK(problem_of(R"({"resources": ["tape"], "quotas": [{"name": "a"}]})")
            .find("nothing that is read from Slurm") != std::string::npos);
  CHECK(problem_of(R"({"quotas": [{"name": "a", "parent": "b"}]})").find("/quotas/0/parent") !=
        std::string::npos);
}

TEST_CASE("config: what differs is said in one line") {
  const auto read = [](const std::string& quotas) {
    auto reading = parse_config("{\"quotas\": [" + quotas + "]}", "f.json");
    REQUIRE(reading.value);
    return std::move(*reading.value);
  };
  const config before = read(R"({"name": "a", "nominal": {"gpu": 4}}, {"name": "b"})");
  CHECK(changes_between(before, before) == "nothing");
  CHECK(changes_between(before, read(R"({"name": "a", "nominal": {"gpu": 6}}, {"name": "c"})")) ==
        "b is gone; a gpu 4 -> 6; c is new");
  CHECK(
      changes_between(before, read(R"({"name": "a", "weight": 2, "nominal": {"gpu": 4}}, {"name": "b"})")) ==
      "settings other than nominal amounts");
}
