// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/explain_job.hpp"

#include <allot/systems/by_name/catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/io/json_reader.hpp"
#include "tests/lab/scenarios.hpp"
#include "tests/support/seeds.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;

namespace {

std::string told(const std::string& members, const std::string& job, std::size_t rounds = 1,
                 std::optional<std::string> policy = {}) {
  const auto s = parse_valid(members, std::move(policy));
  lab::errors found;
  const auto story = lab::explain_job(s, job, rounds, found);
  REQUIRE_MESSAGE(story, found.to_string());
  // Whatever the text, it is also JSON.
  CHECK(lab::json_document::parse("explanation", lab::to_json(*story, s), found));
  return "\n" + lab::to_text(*story, s);
}

const std::string two_nodes = R"("cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 8}]}, )";
/// HyperPod's example: b2 needs 4 and team-b has 1 left.
const std::string team_b_waits = R"("quotas": [{"name": "all"},
      {"name": "team-a", "parent": "all", "nominal": {"gpu": 6}},
      {"name": "team-b", "parent": "all", "nominal": {"gpu": 5}, "borrow": {"gpu": 2}}],
    "jobs": [{"id": "a1", "quota": "team-a", "request": {"gpu": 2}, "state": "running"},
             {"id": "b1", "quota": "team-b", "request": {"gpu": 4}, "state": "running"},
             {"id": "b2", "quota": "team-b", "request": {"gpu": 4}}])";

}  // namespace

TEST_CASE("a job at a borrow limit: whose limit, what would admit it, and the shares") {
  CHECK(told(team_b_waits, "b2") == R"(
b2 (team-b) waits: team-b may borrow 2 gpu and borrows 0; with this job it would be 3.
  It asks for 4 gpu.
It would be admitted if
  - team-b might borrow 1 gpu more
  - team-b had 1 gpu more
  - b1 were not there (b1 has no lower priority)
The shares of gpu:
            owns  uses  is owed  borrows  weight  borrowed share
  team-a       6     2        2        0       1           0.000
  team-b *     5     4        7        0       1           0.000
)");
  // If no quota borrows, only more of its own helps.
  CHECK(told(team_b_waits, "b2", 1, "static_quotas") == R"(
b2 (team-b) waits: team-b has 5 gpu, uses 4 and may not borrow.
  It asks for 4 gpu.
  Also: all has 0 gpu for all and 0 are in use.
It would be admitted if
  - team-b had 3 gpu more
  - b1 were not there (b1 has no lower priority)
The shares of gpu:
            owns  uses  is owed  borrows  weight  borrowed share
  team-a       6     2        2        0       1           0.000
  team-b *     5     4        5        0       1           0.000
)");
}

TEST_CASE("a job with a reservation: when it starts, and what that rests on") {
  CHECK(told(R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "head": "reserve"}],
    "jobs": [{"id": "1", "request": {"gpu": 3}, "state": "running", "duration_s": 500, "estimate_s": 100},
             {"id": "2", "request": {"gpu": 2}, "submit_s": 50, "duration_s": 9}])",
             "2") == R"(
2 (q) waits: q has 4 gpu for all and 3 are in use.
  It asks for 2 gpu.
  It starts by day 0, 00:01:40 at the latest, when 1 ends, if all jobs end as estimated.
It would be admitted if
  - q had 1 gpu more
  - 1 were not there (1 has no lower priority)
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  q *     4     3        4        0       1           0.000
)");
}

TEST_CASE("a job that waits rather than preempt: what it spares, and what would happen otherwise") {
  CHECK(told(R"("quotas": [{"name": "r"},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}, "head": "reserve", "wait_if_loss_percent": 100},
      {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 16}, "state": "running", "start_s": 1,
              "duration_s": 500, "estimate_s": 100},
             {"id": "a1", "quota": "a", "request": {"gpu": 8}, "submit_s": 90, "duration_s": 9}])",
             "a1") == R"(
a1 (a) waits: r has 16 gpu for all and 16 are in use; others could yield, but they would lose too much work for the wait that it saves.
  It asks for 8 gpu.
  It starts by day 0, 00:01:41 at the latest, when b1 ends, if all jobs end as estimated.
It would be admitted if
  - jobs of a preempted whatever is lost
  - r had 8 gpu more
  - b1 were not there
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  a *     8     0        8        0       1           0.000
  b       8    16        8        8       1           0.500
)");
}

TEST_CASE("while victims leave for one job, another is told what leaves, for whom, and whether it is held") {
  const std::string members = R"("quotas": [{"name": "co"},
      {"name": "a", "parent": "co", "nominal": {"gpu": 4}, "preempt": {"reclaim": "any"}},
      {"name": "b", "parent": "co"}, {"name": "c", "parent": "co"}],
    "jobs": [{"id": "loan", "quota": "b", "request": {"gpu": 3}, "state": "running"},
             {"id": "own", "quota": "a", "request": {"gpu": 4}, "submit_s": 10},
             {"id": "other", "quota": "c", "request": {"gpu": 2}, "submit_s": 20},
             {"id": "small", "quota": "c", "request": {"gpu": 1}, "submit_s": 30, "priority": 1}])";
  const auto first_line = [&](const char* job, const char* policy) {
    const std::string text = told(members, job, 1, policy);
    return text.substr(1, text.find('\n', 1) - 1);
  };
  for (const char* policy : {"kueue", "kueue_fair", "runai"}) {
    CAPTURE(policy);
    CHECK(
        first_line("other", policy) ==
        "other (c) waits: co has 4 gpu for all and 3 are in use; loan, which is being evicted for own, still "
        "uses 3 gpu there.");
    CHECK(first_line("small", policy) ==
          "small (c) waits: there is room for it unless own, for which loan is being evicted, goes first.");
    CHECK(told(members, "other", 1, policy).find("Also: ") == std::string::npos);
  }
  CHECK(first_line("other", "standard") ==
        "other (c) waits: co has 4 gpu for all and 4 are in use or held; own, which waits for loan to go, "
        "holds 4 "
        "gpu there.");
  const auto leaving = [&](const char* policy) {
    lab::errors found;
    const auto s = parse_valid(members, policy);
    const std::string text = lab::to_json(*lab::explain_job(s, "other", 1, found), s);
    const std::size_t at = text.find("\"leaving\": ");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('}', at) + 1 - at);
  };
  CHECK(leaving("kueue") == R"("leaving": {
    "job": "loan",
    "for": "own",
    "others": 0,
    "amount": 3,
    "held": false
  })");
  CHECK(leaving("standard") == R"("leaving": {
    "job": "loan",
    "for": "own",
    "others": 0,
    "amount": 4,
    "held": true
  })");
  // Nothing leaves: it is not said.
  CHECK(told(team_b_waits, "b2").find("evicted") == std::string::npos);
}

TEST_CASE("which jobs may preempt it says the priorities that may, and nobody whose range it is not in") {
  const auto yields = [](const std::string& root, const std::string& owner) {
    const std::string text =
        told(R"("quotas": [{"name": "r", "nominal": {"gpu": 8}, "inclusive": true, "preempt": {)" + root +
                 R"(}}, {"name": "a", "parent": "r", "nominal": {"gpu": 8}, "preempt": {)" + owner +
                 R"(}}, {"name": "b", "parent": "r", "preempt": {"within": "never"}}],
      "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 8}, "state": "running", "priority": 3}])",
             "b1");
    const std::size_t begin = text.find("It may have to yield to ");
    return begin == std::string::npos ? "" : text.substr(begin + 24, text.find('\n', begin) - begin - 24);
  };
  CHECK(yields("", R"("reclaim": {"policy": "any", "max_priority": 2})").empty());
  CHECK(yields("", R"("reclaim": {"policy": "any", "max_priority": 3, "preempting": {"max_priority": 9}})") ==
        "jobs of a of a priority of at most 9, which lends to b.");
  CHECK(
      yields(
          R"("children": {"policy": "lower_priority", "preempting": {"min_priority": 7, "max_priority": 9}})",
          R"("reclaim": "never")") ==
      "jobs of r of a priority above 3 and at least 7 and at most 9, which is above it.");
  CHECK(yields(R"("children": {"policy": "any", "min_priority": 4})", R"("reclaim": "never")").empty());
}

TEST_CASE("a reclaim, explained from both sides") {
  const std::string members =
      two_nodes + R"("quotas": [{"name": "r", "nominal": "cluster", "inclusive": true},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}}, {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 8}, "state": "running", "start_s": 1, "nodes": ["n-0"]},
             {"id": "b2", "quota": "b", "request": {"gpu": 4}, "state": "running", "start_s": 2, "nodes": ["n-1"]},
             {"id": "b3", "quota": "b", "request": {"gpu": 4}, "state": "running", "start_s": 3, "nodes": ["n-1"]},
             {"id": "a1", "quota": "a", "request": {"gpu": 4}, "submit_s": 5}])";
  const std::string before = R"(The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
)";
  CHECK(told(members, "a1") == R"(
a1 (a) is next: it starts when b3 has gone.
  It asks for 4 gpu.
)" + before + R"(  a *     8     0        4        0       1           0.000
  b       8    16       12        8       1           0.500
)");
  CHECK(told(members, "b3") == R"(
b3 (b) is evicted for a1: b uses more than it owns, and a takes back what it lent.
  It has 4 gpu.
  Before that, b owned 8 gpu, used 16 gpu and had a borrowed share of 0.500;
  a owned 8 gpu, used nothing and had a borrowed share of 0.000.
)" + before + R"(  a       8     0        4        0       1           0.000
  b *     8    16       12        8       1           0.500
)");
  CHECK(told(members, "b2") == R"(
b2 (b) runs on n-1.
  It has 4 gpu.
  b uses more than it owns: 8 gpu of a.
  It may have to yield to jobs of b of a priority above 0; jobs of a, which lends to b.
)" + before + R"(  a       8     0        4        0       1           0.000
  b *     8    16       12        8       1           0.500
)");
  // Afterwards.
  CHECK(told(members, "a1", 3) == R"(
a1 (a) starts on n-1.
  It has 4 gpu.
  Evicted for it: b3.
  a uses only what it owns.
  It may have to yield to jobs of a of a priority above 0.
)" + before + R"(  a *     8     4        4        0       1           0.000
  b       8    12       12        4       1           0.250
)");
  CHECK(told(members, "b3", 3) == R"(
b3 (b) waits: r has 16 gpu for all and 16 are in use.
  It asks for 4 gpu.
  Also: 4 gpu are asked for and 0 are free.
It would be admitted if
  - r had 4 gpu more, and there was 1 more node of 8 GPUs (it would not have had to go)
  - b2 were not there (it would not have had to go; b2 has no lower priority)
)" + before + R"(  a       8     4        4        0       1           0.000
  b *     8    12       12        4       1           0.250
)");
}

TEST_CASE("a missing place, and what is missing") {
  CHECK(told(two_nodes + R"("quotas": [{"name": "q", "nominal": "cluster"}], "jobs": [
      {"id": "1", "request": {"gpu": 1}, "state": "running", "nodes": ["n-0"]},
      {"id": "2", "request": {"gpu": 3}, "state": "running", "nodes": ["n-1"]},
      {"id": "3", "request": {"gpu": 8}}])",
             "3") == R"(
3 (q) waits: 12 gpu are free, but not together: it has one pod, and the largest block is 7.
  It asks for 8 gpu.
It would be admitted if
  - there was 1 more node of 8 GPUs
  - 1 were not there (1 has no lower priority)
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  q *    16     4       12        0       1           0.000
)");
}

TEST_CASE("a job behind the head of a strict queue, and one that can't be preempted") {
  const std::string strict = R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "head": "strict"}],
    "jobs": [{"id": "1", "request": {"gpu": 3}, "state": "running"}, {"id": "2", "request": {"gpu": 2}},
             {"id": "3", "request": {"gpu": 1}}])";
  CHECK(told(strict, "3") == R"(
3 (q) waits: an earlier job of q does not fit, and no other may pass it.
  It asks for 1 gpu.
  It waits behind 2.
It would be admitted if
  - 2 were not before it
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  q *     4     3        4        0       1           0.000
)");
  const std::string firm = R"("quotas": [{"name": "r"}, {"name": "a", "parent": "r", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "r", "nominal": {"gpu": 4}}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 5}, "preemptible": false}])";
  CHECK(told(firm, "1") == R"(
1 (a) waits: 1 can't be preempted, so it may only use what a owns, and of that 4 gpu are left.
  It asks for 5 gpu; it can't be preempted.
It would be admitted if
  - a had 1 gpu more
  - 1 might be preempted
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  a *     4     0        5        0       1           0.000
  b       4     0        0        0       1           0.000
)");
}

TEST_CASE("explains every choice of flavors, the remedy is for the one that lacks least") {
  const std::string members = R"("resources": ["h100/gpu", "a100/gpu"],
    "cluster": {"nodes": [{"name": "h", "gpus": 8, "gpu_model": "H100"},
                          {"name": "a", "count": 2, "gpus": 8, "gpu_model": "A100"}]},
    "quotas": [{"name": "r"}, {"name": "t", "parent": "r", "nominal": {"h100/gpu": 8, "a100/gpu": 4}}],
    "jobs": [{"id": "0", "quota": "t", "request": {"h100/gpu": 4}, "state": "running"},
             {"id": "1", "quota": "t", "request": {"gpu": 8}, "flavors": ["h100", "a100"]}])";
  CHECK(told(members, "1") == R"(
1 (t) waits: r has 8 h100/gpu for all and 4 are in use.
  It asks for 8 h100/gpu (gpu as h100).
  With gpu as h100: 8 gpu are asked for and 4 are free.
  With gpu as a100: r has 4 a100/gpu for all and 0 are in use.
It would be admitted if
  - r had 4 a100/gpu more
The shares of h100/gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  t *     8     4        8        0       1           0.000
)");
}

TEST_CASE("an elastic job that has to shrink") {
  CHECK(told(R"("quotas": [{"name": "r"}, {"name": "a", "parent": "r", "nominal": {"gpu": 4}},
      {"name": "b", "parent": "r", "nominal": {"gpu": 8}}],
    "jobs": [{"id": "e", "quota": "a", "request": {"gpu": 1}, "pods": 12, "min_pods": 2, "state": "running",
              "running_pods": 10}, {"id": "b1", "quota": "b", "request": {"gpu": 8}}])",
             "e") == R"(
e (a) runs.
  It has 10 gpu with 10 of at most 12 pods.
  6 of its pods have to go for b1: a uses more than it owns, and b takes back what it lent.
  Before that, a owned 4 gpu, used 10 gpu and had a borrowed share of 0.500;
  b owned 8 gpu, used nothing and had a borrowed share of 0.000.
  a uses more than it owns: 6 gpu of b.
  It may have to yield to jobs of a of a priority above 0; jobs of b, which lends to a.
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  a *     4    10        4        6       1           0.500
  b       8     0        8        0       1           0.000
)");
}

TEST_CASE("refused and unknown jobs") {
  const std::string members =
      R"("quotas": [{"name": "q", "nominal": {"gpu": 4}, "access": {"users": ["ana"]}}],
    "jobs": [{"id": "first", "request": {"gpu": 3}, "user": "ben"}])";
  CHECK(told(members, "first") ==
        "\nfirst (q) is refused: ben may not submit to q: it admits the users ana.\n");
  const auto s = parse_valid(members);
  lab::errors found;
  CHECK(!lab::explain_job(s, "firs", 1, found));
  CHECK(found.to_string() == "s.json: there is no job \"firs\" (did you mean \"first\"?)\n");
}

TEST_CASE("fair share, explained by its rule and shares") {
  const std::string members = R"("policy": {"preset": "standard", "set": {"guard": "final_share"}},
    "quotas": [{"name": "r", "nominal": {"gpu": 8}}, {"name": "a", "parent": "r"}, {"name": "b", "parent": "r"}],
    "jobs": [{"id": "a1", "quota": "a", "request": {"gpu": 4}, "state": "running", "start_s": 1},
             {"id": "a2", "quota": "a", "request": {"gpu": 4}, "state": "running", "start_s": 2},
             {"id": "b1", "quota": "b", "request": {"gpu": 4}, "submit_s": 3},
             {"id": "b2", "quota": "b", "request": {"gpu": 4}, "submit_s": 4}])";
  CHECK(told(members, "a2") == R"(
a2 (a) is evicted for b1: both borrow, and a has more of the surplus than b.
  It has 4 gpu.
  That is fair: b would have a share of 0.500, and a still has 0.500.
  Before that, a owned nothing, used 8 gpu and had a borrowed share of 1.000;
  b owned nothing, used nothing and had a borrowed share of 0.000.
The shares of gpu:
       owns  uses  is owed  borrows  weight  borrowed share
  a *     0     8        4        8       1           1.000
  b       0     0        4        0       1           0.000
)");
  CHECK(told(members, "b2", 9)
            .find("but not yet if r had 4 gpu more: a2 would have it, and then r has 12 gpu for all and 12 "
                  "are in use") != std::string::npos);
}

TEST_CASE("explains every job under every preset") {
  const std::string members = two_nodes + R"("quotas": [
      {"name": "r", "nominal": "cluster", "inclusive": true, "preempt": {"children": true}},
      {"name": "a", "parent": "r", "nominal": {"gpu": 8}}, {"name": "b", "parent": "r", "borrow": {"gpu": 2}},
      {"name": "c", "parent": "r", "nominal": {"gpu": 8}, "head": "strict", "access": {"users": ["ana"]}}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 2}, "pods": 4, "min_pods": 2, "state": "running"},
             {"id": "2", "quota": "c", "request": {"gpu": 7}, "state": "running"},
             {"id": "3", "quota": "b", "request": {"gpu": 8}, "submit_s": 1},
             {"id": "4", "quota": "b", "request": {"gpu": 4}, "submit_s": 2, "preemptible": false},
             {"id": "5", "quota": "c", "request": {"gpu": 9}, "total": true, "user": "ana", "submit_s": 3},
             {"id": "6", "quota": "c", "request": {"gpu": 1}, "user": "ana", "submit_s": 4},
             {"id": "7", "quota": "c", "request": {"gpu": 1}, "submit_s": 4},
             {"id": "8", "quota": "r", "request": {"gpu": 8}, "submit_s": 5},
             {"id": "9", "quota": "a", "request": {"gpu": 0.5}, "state": "evicting", "submit_s": 5}])";
  for_each_preset([&](auto p) {
    INFO(std::string{p.name});
    for (char job = '1'; job <= '9'; ++job) {
      for (const std::size_t rounds : {1U, 6U}) {
        const std::string text = told(members, std::string(1, job), rounds, std::string{p.name});
        CHECK(text.find(job) == 1);
        CHECK(text.back() == '\n');
      }
    }
  });
}

TEST_CASE("the remedies do admit the job") {
  // Law 9: each remedy of a pending job was checked by a new decision, so here it is enough that some remedy
  // is found.
  const auto s = parse_valid(team_b_waits);
  lab::errors found;
  const auto story = lab::explain_job(s, "b2", 1, found);
  REQUIRE(story);
  REQUIRE(story->remedies.size() == 3);
  for (const auto& r : story->remedies) CHECK(r.admits);
  REQUIRE(story->lacks.size() == 1);
  CHECK(story->lacks[0].limit == "borrow_limit");
  CHECK(story->lacks[0].at == "team-b");
  CHECK(story->lacks[0].short_by == gpus(1));
}

TEST_CASE("a job that uses what its department owns is not said to borrow") {
  const std::string text = told(R"("quotas": [{"name": "all"},
      {"name": "department", "parent": "all", "nominal": {"gpu": 4}}, {"name": "team", "parent": "department"},
      {"name": "other", "parent": "all"}, {"name": "own", "parent": "other", "nominal": {"gpu": 5}}],
    "jobs": [{"id": "1", "quota": "other", "request": {"gpu": 7}, "priority": 1, "state": "running"},
             {"id": "2", "quota": "team", "request": {"gpu": 2}, "state": "running"},
             {"id": "3", "quota": "own", "request": {"gpu": 2}}])",
                                "3");
  CHECK(text.find("- 2 were not there (2 uses only what department owns)") != std::string::npos);
}

TEST_CASE("of jobs that borrow less than all of them use, the one beyond that is not said to borrow") {
  const std::string text = told(R"("cluster": {"nodes": [{"name": "n", "count": 1, "gpus": 4}]},
    "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 3}},
      {"name": "b", "parent": "all", "nominal": {"gpu": 3}}],
    "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 2}, "state": "running", "nodes": ["n-0"]},
             {"id": "b2", "quota": "b", "request": {"gpu": 2}, "state": "running", "nodes": ["n-0"]},
             {"id": "a1", "quota": "a", "request": {"gpu": 3}}])",
                                "a1");
  INFO(text);
  CHECK(text.find("b1 and b2 were not there (b2 uses only what b owns)") != std::string::npos);
}

namespace {

/// Full nodes, or none and a full tree, and a job that waits, "w".
struct full_world {
  struct job {
    std::string id;
    std::string rest;
  };
  std::string policy;
  std::size_t resources = 1;
  std::string cluster;
  /// What the root contains where it is inclusive.
  std::array<std::int64_t, 3> owned_together{};
  std::vector<std::array<std::int64_t, 3>> owns;
  std::vector<int> parents;
  std::vector<job> jobs;
  std::size_t team = 0;

  explicit full_world(allot_test::random_source& random) {
    constexpr std::int64_t per_node = 4;
    policy = random.pick(std::array{"standard", "standard", "pai", "hyperpod"});
    resources = 1 + random.below(3);
    const std::size_t nodes = random.one_in(2) ? 1 + random.below(3) : 0;
    if (nodes > 0) {
      cluster =
          R"("cluster": {"nodes": [{"name": "n", "count": )" + std::to_string(nodes) + R"(, "gpus": 4}]}, )";
    }
    owns.resize(static_cast<std::size_t>(random.between(2, 4)));
    std::array<std::int64_t, 3> left{};
    for (std::size_t t = 0; t < owns.size(); ++t) {
      const bool is_inner = policy == "standard" && t > 0 && random.one_in(4);
      parents.push_back(is_inner ? static_cast<int>(random.below(t)) : -1);
      for (std::size_t d = 0; d < resources; ++d) {
        owns[t][d] = random.between(0, 5);
        left[d] += owns[t][d];
      }
    }
    owned_together = left;
    std::vector<std::int64_t> free(nodes, per_node);
    for (int fails = 0; fails < 4;) {
      const bool elastic = random.one_in(5);
      const std::int64_t pods = elastic || random.one_in(4) ? 2 : 1;
      std::array<std::int64_t, 3> each{random.between(1, 3)};
      for (std::size_t d = 1; d < resources; ++d) each[d] = random.between(0, 2);
      bool fits = true;
      for (std::size_t d = 0; d < resources; ++d) fits = fits && each[d] * pods <= left[d];
      std::string at;
      std::vector<std::int64_t> then = free;
      for (std::int64_t p = 0; p < pods && nodes > 0; ++p) {
        std::size_t n = 0;
        while (n < nodes && then[n] < each[0]) ++n;
        fits = fits && n < nodes;
        if (!fits) break;
        then[n] -= each[0];
        at += (p == 0 ? "\"n-" : ", \"n-") + std::to_string(n) + '"';
      }
      if (!fits) {
        ++fails;
        continue;
      }
      free = then;
      for (std::size_t d = 0; d < resources; ++d) left[d] -= each[d] * pods;
      std::string rest = asked(random.below(owns.size()), each, pods, random.between(0, 1));
      rest += R"(, "state": "running", "start_s": )" + std::to_string(jobs.size());
      if (nodes > 0) rest += R"(, "nodes": [)" + at + ']';
      if (elastic) rest += R"(, "min_pods": 1)";
      if (random.one_in(8)) rest += R"(, "preemptible": false)";
      jobs.push_back({"j" + std::to_string(jobs.size()), rest});
    }
    team = random.below(owns.size());
    std::array<std::int64_t, 3> each{random.between(1, 4)};
    for (std::size_t d = 1; d < resources; ++d) each[d] = random.between(0, 2);
    const std::int64_t pods = nodes > 0 && random.one_in(2) ? std::int64_t{2} : 1;
    jobs.push_back({"w", asked(team, each, pods, random.between(0, 2)) + R"(, "submit_s": 100)"});
  }
  [[nodiscard]] std::string asked(std::size_t of, const std::array<std::int64_t, 3>& each, std::int64_t pods,
                                  std::int64_t priority) const {
    return R"("quota": "t)" + std::to_string(of) + R"(", "request": )" + amounts(each) + R"(, "pods": )" +
           std::to_string(pods) + R"(, "priority": )" + std::to_string(priority);
  }
  [[nodiscard]] std::string amounts(const std::array<std::int64_t, 3>& of) const {
    const char* const names[] = {"gpu", "cpu", "nic"};
    std::string text = "{";
    for (std::size_t d = 0; d < resources; ++d) {
      text += (d == 0 ? "\"" : ", \"") + std::string{names[d]} + "\": " + std::to_string(of[d]);
    }
    return text + '}';
  }
  /// Without these jobs; if not `preempts`, w may preempt nobody.
  [[nodiscard]] std::string text(const std::vector<std::string>& without = {}, bool preempts = true) const {
    const char* const named[] = {R"("gpu")", R"("gpu", "cpu")", R"("gpu", "cpu", "nic")"};
    std::string all = R"("resources": [)" + std::string{named[resources - 1]} + "], " + cluster +
                      R"("quotas": [{"name": "all")";
    if (policy != "standard") all += R"(, "nominal": )" + amounts(owned_together);
    all += '}';
    for (std::size_t t = 0; t < owns.size(); ++t) {
      all += R"(, {"name": "t)" + std::to_string(t) + R"(", "parent": ")" +
             (parents[t] < 0 ? "all" : "t" + std::to_string(parents[t])) + R"(", "nominal": )" +
             amounts(owns[t]);
      if (t == team && !preempts) all += R"(, "preempt": {"within": "never", "reclaim": "never"})";
      all += '}';
    }
    all += R"(], "jobs": [)";
    bool first = true;
    for (const job& j : jobs) {
      if (std::find(without.begin(), without.end(), j.id) != without.end()) continue;
      if (!first) all += ", ";
      first = false;
      all += R"({"id": ")" + j.id + R"(", )" + j.rest + '}';
    }
    return all + ']';
  }
};

lab::job_story story_of(const std::string& members, const std::string& policy) {
  const auto s = parse_valid(members, policy);
  lab::errors found;
  auto story = lab::explain_job(s, "w", 1, found);
  REQUIRE_MESSAGE(story, found.to_string());
  return std::move(*story);
}
/// The jobs whose absence is said to admit it; none if nothing of the kind is said.
const lab::job_story::remedy* absence_in(const lab::job_story& story) {
  const auto at = std::find_if(story.remedies.begin(), story.remedies.end(),
                               [](const auto& r) { return r.kind == "evict" && r.admits; });
  return at == story.remedies.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("what is said of other jobs and what the search for victims did agree") {
  using fate = lab::job_story::fate;
  std::size_t nominated = 0;
  std::size_t waiting = 0;
  allot_test::for_each_seed(400, [&](allot_test::random_source& random) {
    const full_world w{random};
    const std::string now = w.text();
    INFO(w.policy << ": " << now);
    const auto story = story_of(now, w.policy);
    const std::vector<std::string> victims{story.victims.begin(), story.victims.end()};
    const auto starts_without = [&](const std::vector<std::string>& these, bool preempts) {
      const fate is = story_of(w.text(these, preempts), w.policy).is;
      return is == fate::starts || (preempts && is == fate::nominated);
    };
    if (story.is == fate::nominated) {
      ++nominated;
      CHECK(!victims.empty());
      CHECK(starts_without(victims, false));
      // Where it preempts nobody, it is said whose absence would admit it.
      const auto before = story_of(w.text({}, false), w.policy);
      REQUIRE(before.is == fate::waits);
      const auto* const named = absence_in(before);
      REQUIRE(named != nullptr);
      CHECK(starts_without({named->jobs.begin(), named->jobs.end()}, false));
      CHECK(!named->remark.empty());
    }
    const auto* const named = absence_in(story);
    if (story.is == fate::waits && named != nullptr) {
      ++waiting;
      CHECK(story.reason != "not_proven");
      CHECK(starts_without({named->jobs.begin(), named->jobs.end()}, true));
      // The search found no victims: why not these, is said.
      CHECK_MESSAGE(!named->remark.empty(), named->text);
    }
  });
  if (!allot_test::all_cases_run()) return;
  CHECK(nominated > 50);
  CHECK(waiting > 50);
}
