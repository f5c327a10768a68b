// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/explain_change.hpp"

#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "lab/io/json_reader.hpp"
#include "lab/io/time_text.hpp"
#include "tests/lab/scenarios.hpp"

using namespace allot;
using allot_test::parse_valid;

namespace {

std::string told(const std::string& members, const std::vector<std::string>& changes,
                 std::optional<std::string> policy = {}) {
  const auto s = parse_valid(members, std::move(policy));
  lab::errors found;
  const auto story = lab::explain_changes(s, changes, found);
  if (!story) return "\n" + found.to_string();
  // Whatever the text, it is also JSON.
  CHECK(lab::json_document::parse("change", lab::to_json(*story, changes), found));
  return "\n" + lab::to_text(*story, &lab::clock_time);
}

const std::string two_teams = R"("cluster": {"nodes": [{"name": "n", "count": 3, "gpus": 4}]},
    "quotas": [{"name": "all"},
      {"name": "a", "parent": "all", "nominal": {"gpu": 8}},
      {"name": "b", "parent": "all", "nominal": {"gpu": 4}}],
    "jobs": [{"id": "a1", "quota": "a", "request": {"gpu": 4}, "state": "running", "nodes": ["n-0"]},
             {"id": "b1", "quota": "b", "request": {"gpu": 4}, "state": "running", "nodes": ["n-1"]},
             {"id": "b2", "quota": "b", "request": {"gpu": 4}, "submit_s": 1},
             {"id": "b3", "quota": "b", "request": {"gpu": 4}, "submit_s": 2}])";

}  // namespace

TEST_CASE("explain --if: a quota, a job and a node, one by one and together") {
  CHECK(told(two_teams, {"quota:b:gpu+1"}) == "\nNothing would be otherwise.\n");
  CHECK(told(two_teams, {"quota:a:gpu-4"}) == R"(
These do not start:
  b2 (b)
These wait, and why:
  b2 (b): all has 8 gpu for all and 8 are in use
)");
  CHECK(told(two_teams, {"job:b3:priority=1"}) == R"(
These start:
  b3 (b) on n-2
These do not start:
  b2 (b)
These wait, and why:
  b2 (b): all has 12 gpu for all and 12 are in use
)");
  CHECK(told(two_teams, {"job:b2:gone"}) == R"(
These start:
  b3 (b) on n-2
)");
  CHECK(told(two_teams, {"node:n-0:gone"}) == R"(
These start:
  a1 (a) on n-2
These do not start:
  b2 (b)
These have to go:
  a1 (a)
These wait, and why:
  b2 (b): 4 gpu are asked for and 0 are free
  b3 (b): 4 gpu are asked for and 0 are free
)");
  CHECK(told(two_teams, {"node:n-0:gone", "job:b1:gone"}) == R"(
These start:
  a1 (a) on n-1
These have to go:
  a1 (a)
These wait, and why:
  b3 (b): 4 gpu are asked for and 0 are free
)");
}

TEST_CASE("explain --if: under every preset it is told who starts and who waits") {
  std::string members = two_teams;
  const std::string root = R"({"name": "all"})";
  members.replace(members.find(root), root.size(), R"({"name": "all", "nominal": "cluster"})");
  for_each_preset([&](auto preset) {
    const std::string name{preset.name};
    const auto says = [&](const char* change, const char* what) {
      const std::string text = told(members, {change}, name);
      CHECK_MESSAGE(text.find(what) != std::string::npos,
                    name << ", " << std::string{change} << ": " << text);
    };
    // b2 and b3 borrow.
    const bool lends = name != static_quotas::name;
    says("node:n-2:gone", lends ? "These do not start:\n  b2" : "Nothing");
    says("job:a1:gone", lends ? "These start:\n  b3" : "Nothing");
    says("node:n-1:gone", "These have to go:\n  b1");
  });
}

TEST_CASE("explain --if: what is no change is said, with all that is wrong") {
  const std::vector<std::string> changes = {"b+4",
                                            "quota:c:gpu+4",
                                            "quota:b:cpu+4",
                                            "quota:b:gpu+x",
                                            "quota:b:gpu",
                                            "job:b9:priority=1",
                                            "job:b2:priority=high",
                                            "node:n-7:gone",
                                            "node:n-0:drained"};
  CHECK(told(two_teams, changes) == R"(
b+4: expected quota:NAME:gpu+8, job:NAME:priority=5, job:NAME:gone or node:NAME:gone
quota:c:gpu+4: there is no quota "c"
quota:b:cpu+4: there is no resource "cpu"
quota:b:gpu+x: expected a resource, + or -, and an amount, as in "gpu+8"
quota:b:gpu: expected a resource, + or -, and an amount, as in "gpu+8"
job:b9:priority=1: the scenario itself, without its trace, has no job "b9"
job:b2:priority=high: expected a whole number, as in "priority=5"
node:n-7:gone: there is no node "n-7"
node:n-0:drained: expected node:NAME:gone
)");
  CHECK(told(two_teams, {"job:b9:gone"}) == R"(
job:b9:gone: there is no job "b9"
)");
  CHECK(told(two_teams, {"quota:b:gpu-5"}) == R"(
s.json: /quotas/2/nominal: nominal of b is -1: it can't be negative
)");
}
