// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lab/decide/decide.hpp"
#include "tests/lab/scenarios.hpp"
#include "tests/support/seeds.hpp"

using namespace allot;

namespace {

const std::string members =
    R"("resources": ["gpu", "h100/gpu", "cpu"], "policy": {"preset": "standard", "set": {}},
  "cluster": {"topology": ["k"],
              "nodes": [{"name": "n", "count": 2, "gpus": 8, "gpu_model": "H100", "cpu_milli": 64000, "pool": "p",
                         "labels": {"k": "1"}},
                        {"name": "m", "gpus": 4, "labels": {"k": "2"}},
                        {"name": "i", "gpus": 2, "gpu_model": "A30", "mig": true, "labels": {"k": "2"}}]},
  "quotas": [{"name": "r", "nominal": "cluster", "inclusive": true, "preempt": {"children": true}},
             {"name": "a", "parent": "r", "nominal": {"gpu": 8, "h100/gpu": 8}, "lend": {"gpu": 4}, "weight": 0.5,
              "preempt": {"reclaim": {"policy": "any", "min_priority": -1, "preempting": {"max_priority": 2}}, "borrow": {"policy": "lower_priority", "max_priority": 1}}, "time_limit_s": {"i": 2},
              "min_runtime_s": {"preempt": 1}, "borrow_backoff_s": {"first": 1, "longest": 2}, "head": "reserve", "gather": {"longest_s": 60, "percent": 30}, "flavor_choice": {"when_can_borrow": "try_next"}},
             {"name": "b", "parent": "r", "nominal": {"gpu": 8}, "borrow": {"percent": 50}, "static": false},
             {"name": "c", "parent": "a", "nominal": {"gpu": 1}, "head": "strict", "node_pools": ["p"]}],
  "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 1}, "pods": 2, "state": "running", "nodes": ["n-0", "m"],
            "devices": [[0], [3]]},
           {"id": "2", "quota": "b", "request": {"gpu": 0.5}, "state": "evicting", "nodes": ["n-1"]},
           {"id": "3", "quota": "c", "request": {"h100/gpu": 8}, "total": true, "priority": 1, "preemptible": false},
           {"id": "5", "quota": "b", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "state": "running", "running_pods": 3},
           {"id": "6", "quota": "a", "request": {"gpu": 2, "cpu": 1}, "flavors": ["h100", "p"], "pods": 2, "min_pods": 1},
           {"id": "7", "quota": "a", "request": {"gpu": 2, "cpu": 1}, "class": "i", "checkpoint_s": 9, "restart_s": 1,
            "flavors": [{"resources": ["cpu"], "flavors": ["p"]}, {"resources": ["gpu"], "flavors": ["h100"]}]},
           {"id": "8", "quota": "b", "request": {"gpu": 0.25}, "mig": "1g.6gb", "pods": 2, "deadline_s": 9},
           {"id": "9", "quota": "b", "request": {"gpu": 4}, "pods": 2, "topology": {"required": "k", "preferred": "node"}},
           {"id": "4", "quota": "r", "request": {"gpu": 4, "cpu": 2}, "user": "ana", "roles": ["x"], "submit_s": 2.5}],
  "events": [{"at_s": 1, "resize": {"quota": "a", "nominal": {"gpu": 6}}}, {"at_s": 2, "add_quota": {"name": "d"}},
             {"at_s": 3, "move_quota": {"quota": "d", "parent": "b"}}, {"at_s": 4, "remove_quota": {"quota": "d"}},
             {"at_s": 5, "reweight": {"quota": "b", "weight": 2}}, {"at_s": 6, "cancel": {"job": "4"}},
             {"at_s": 7, "announced_s": 2, "node_down": {"node": "m"}}, {"at_s": 8, "drain": {"node": "n-0"}}])";

/// The tokens of the text: words in quotes, numbers, and single characters.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') end = text.find('"', i + 1) + 1;
    const auto is_number = [&](std::size_t k) {
      return k < text.size() && (text[k] == '.' || ('0' <= text[k] && text[k] <= '9'));
    };
    if (is_number(i)) {
      while (is_number(end)) ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

}  // namespace

TEST_CASE("any input gives a decision or an error") {
  const std::vector<std::string> whole = tokens_of(members);
  const std::vector<std::string> odd{
      "-1",          "0",           "1e12",    "0.0001",  "64",          "null",
      "true",        "{}",          "[]",      "\"\"",    "\"all\"",     "\"unlimited\"",
      "\"cluster\"", "\"running\"", "1000000", "\"x-y\"", "999999999999"};
  std::size_t decisions = 0;
  allot_test::for_each_seed(1500, [&](auto& random) {
    std::vector<std::string> tokens = whole;
    for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(tokens.size());
      switch (random.below(4)) {
        case 0:
          tokens[at] = random.pick(odd);
          break;
        case 1:
          tokens[at] = tokens[random.below(tokens.size())];
          break;
        case 2:
          tokens[at].clear();
          break;
        default:
          // Most meaningful tokens are words or numbers: replaces one of these by another.
          for (std::size_t i = at; i < tokens.size(); ++i) {
            if (tokens[i].size() < 2) continue;
            std::size_t other = random.below(whole.size());
            while (whole[other].size() < 2) other = random.below(whole.size());
            tokens[i] = whole[other];
            break;
          }
      }
    }
    std::string text;
    for (const std::string& t : tokens) text += t;
    INFO(text);
    lab::errors found;
    const auto s = allot_test::parse(text, found);
    REQUIRE(s.has_value() == found.empty());
    if (!s) return;
    const auto d = lab::decide(*s, 4, found);
    CHECK(d.has_value() == found.empty());
    if (d) ++decisions;
  });
  if (allot_test::all_cases_run()) CHECK(decisions > 50);
}
