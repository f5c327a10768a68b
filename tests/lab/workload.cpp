// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/named_policy.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/scenario/scenario.hpp"
#include "lab/scenario/workload.hpp"
#include "tests/lab/scenarios.hpp"
#include "tests/lab/scratch.hpp"

using namespace allot;
using allot_test::lines;
using allot_test::parse_valid;
using allot_test::scratch;

namespace {

std::vector<std::string> names(const std::vector<std::string_view>& ids) {
  return {ids.begin(), ids.end()};
}

/// Without what the lab sets where the cycle can: a minute.
queue_settings but_for_horizon(queue_settings s) {
  s.ready_horizon = queue_settings{}.ready_horizon;
  return s;
}

lines told(const lab::errors& found) {
  std::vector<std::string> all;
  for (const auto& e : found.kept()) {
    const std::string file = std::filesystem::path{e.file}.filename().string();
    all.push_back(file + ": " + e.place + ": " + e.text);
  }
  return lines{std::move(all)};
}

const std::string format = R"("format": "allot-scenario/1")";

}  // namespace

TEST_CASE("jobs of scenario and trace become one list, by submission, then id") {
  const scratch files;
  files.put(
      "sub/jobs.csv",
      "job_id,submit_s,duration_s,gpus,tenant,pods,user\n10,5,60,16,a,,ana\n9,5,60,2,b,2,\n1,7,1,0.5,a,,\n");
  lab::errors found;
  lab::scenario_source source;
  source.file = files.put("s.json", "{" + format + R"(, "trace": {"file": "sub/jobs.csv"},
    "cluster": {"nodes": [{"name": "n", "count": 4, "gpus": 8, "pool": "p"}, {"name": "m", "gpus": 1}]},
    "quotas": [{"name": "r"}, {"name": "a", "parent": "r", "node_pools": ["p"]}, {"name": "b", "parent": "r"}],
    "jobs": [{"id": "x", "quota": "b", "request": {"gpu": 1}, "submit_s": 5, "priority": 3},
             {"id": "0", "quota": "b", "request": {"gpu": 3}, "pods": 2, "submit_s": 6}]})");
  const auto s = lab::read_scenario(source, found);
  REQUIRE_MESSAGE(s, found.to_string());
  CHECK(s->trace_file == files.path_of("sub/jobs.csv"));
  const auto w = lab::make_workload<1>(*s);
  CHECK(names(w.ids) == std::vector<std::string>{"9", "10", "x", "0", "1"});
  REQUIRE(w.setup.jobs.size() == 5);
  CHECK(w.origins[0].traced == 1);
  CHECK(w.origins[2].entry == 0);
  CHECK(!w.origins[2].traced);
  CHECK(w.setup.jobs[0].quota == quota_id{2});
  CHECK(w.setup.jobs[0].pod_request == gpu::pod_request{.gpus = gpus(1), .pods = 2});
  CHECK(w.setup.jobs[0].request[0] == gpus(2));
  CHECK(w.setup.jobs[1].pod_request == gpu::pod_request{.gpus = gpus(16), .total = true, .pools = 1});
  CHECK(w.setup.jobs[2].priority == 3);
  CHECK(w.setup.jobs[3].request[0] == gpus(6));
  CHECK(w.setup.jobs[4].submit == 7000);
  CHECK(w.setup.where.has_nodes());
  CHECK(w.refused.empty());
}

TEST_CASE("the fingerprint covers the bytes of scenario, trace and nodes") {
  const scratch files;
  const std::string trace = files.put("t.csv", "job_id,submit_s,duration_s,gpus\n1,0,1,1\n");
  const std::string other = files.put("u.csv", "job_id,submit_s,duration_s,gpus\n1,0,1,2\n");
  const auto hash = [](lab::scenario_source source) {
    lab::errors found;
    const auto s = lab::read_scenario(source, found);
    REQUIRE_MESSAGE(s, found.to_string());
    return s->input.hex();
  };
  lab::scenario_source source{.nodes = "2x8", .trace = trace};
  const std::string first = hash(source);
  CHECK(hash(source) == first);
  source.policy = "fifo";
  CHECK(hash(source) == first);
  source.nodes = "2x9";
  CHECK(hash(source) != first);
  source.nodes = "2x8";
  source.trace = other;
  CHECK(hash(source) != first);
}

TEST_CASE("without quotas every tenant gets one, below a root that owns the cluster") {
  const scratch files;
  const std::string trace =
      files.put("t.csv", "job_id,submit_s,duration_s,gpus,tenant\n1,0,1,1,cluster\n2,0,1,1,b\n3,0,1,1,\n");
  lab::errors found;
  const auto s = lab::read_scenario({.nodes = "2x8", .trace = trace, .policy = "fifo"}, found);
  REQUIRE_MESSAGE(s, found.to_string());
  REQUIRE(s->quotas.size() == 3);
  CHECK(s->quotas[0].spec.name == "(cluster)");
  CHECK(s->quotas[0].spec.nominal[0] == gpus(16));
  CHECK(s->quotas[1].spec.name == "cluster");
  CHECK(s->quotas[1].spec.parent == "(cluster)");
  const auto w = lab::make_workload<1>(*s);
  CHECK(w.setup.jobs[0].quota == quota_id{1});
  CHECK(w.setup.jobs[1].quota == quota_id{2});
  CHECK(w.setup.jobs[2].quota == quota_id{0});
  CHECK(w.setup.settings.size() == 3);
  CHECK(w.setup.settings[0].head == queue_head::strict);
}

TEST_CASE("a trace that does not suit the scenario") {
  const scratch files;
  lab::scenario_source source;
  source.file = files.put("s.json", "{" + format + R"(, "quotas": [{"name": "a"}, {"name": "b"}],
      "jobs": [{"id": "7", "quota": "a", "request": {"gpu": 1}}]})");
  const auto problems = [&](const std::string& csv) {
    source.trace = files.put("t.csv", csv);
    lab::errors found;
    CHECK(!lab::read_scenario(source, found));
    return told(found);
  };
  CHECK(
      problems("job_id,submit_s,duration_s,gpus,tenant,pods,min_pods\n"
               "1,0,1,1,a,1,1\n2,0,1,1,z,,\n3,0,1,1.5,b,,\n4,0,1,1,,,\n5,0,1,1,z,,\n6,0,1,8,b,4,2\n7,0,1,1,"
               "b,,\n") ==
      lines{
          "s.json: /jobs/0/id: there is a job \"7\" in the trace " + files.path_of("t.csv") + " too",
          "t.csv: line 4, column 7 (gpus): job 3: 1.5 GPUs can't be had (expected whole GPUs, or a "
          "fraction of one)",
          "t.csv: line 5, column 9 (tenant): job 4: the job has no tenant (expected the name of a quota)",
          "t.csv: line 3, column 9 (tenant): job 2: the tenant \"z\" is not a quota of the scenario; and so "
          "in 1 more"});
  CHECK(problems("job_id,submit_s,duration_s\n1,0,1\n") ==
        lines{"t.csv: line 1, column 1 (gpus): this column is required, and the header row lacks it",
              "t.csv: : there may be more: the rest was not read"});
  CHECK(problems("job_id,submit_s,duration_s,gpus,tenant\n1,0,1,one,a\n2,-1,1,1,a\n") ==
        lines{"t.csv: line 2, column 7 (gpus): expected a number of GPUs, found \"one\"",
              "t.csv: line 3, column 3 (submit_s): expected at least 0, found \"-1\""});
  source.trace = files.path_of("none.csv");
  lab::errors found;
  CHECK(!lab::read_scenario(source, found));
  CHECK(told(found) == lines{"none.csv: : No such file or directory (expected a CSV file)"});
  files.put("sub/file", "");
  source.file = files.path_of("sub");
  found = {};
  CHECK(!lab::read_scenario(source, found));
  CHECK(told(found) == lines{"sub: : Is a directory (expected a scenario)"});
}

TEST_CASE("a traced job takes GPUs of its model where these are counted apart, or any") {
  const scratch files;
  files.put("t.csv",
            "job_id,submit_s,duration_s,gpus,tenant,gpu_model,pods,min_pods,class\n"
            "1,0,1,8,q,H100,4,2,interactive\n2,0,1,2,q,,,,\n3,0,1,2,q,V100,,,train\n");
  const auto workload = [&](const std::string& resources) {
    lab::errors found;
    lab::scenario_source source;
    source.file =
        files.put("s.json", "{" + format + R"(, "trace": {"file": "t.csv"}, "resources": )" + resources +
                                R"(, "cluster": {"nodes": [{"name": "a", "gpus": 8, "gpu_model": "A100"},
        {"name": "h", "gpus": 8, "gpu_model": "H100"}]},
        "quotas": [{"name": "q", "time_limit_s": {"interactive": 60}}]})");
    const auto s = lab::read_scenario(source, found);
    REQUIRE_MESSAGE(s, found.to_string());
    return lab::make_workload<lab::max_resources>(*s);
  };
  const auto apart = workload(R"(["h100/gpu", "a100/gpu"])");
  REQUIRE(apart.setup.flavor_sets.size() == 2);
  CHECK(apart.setup.jobs[0].flavors == 1);
  CHECK(apart.setup.jobs[0].min_pods == 2);
  CHECK(apart.setup.jobs[0].time_limit == 60000);
  CHECK(apart.setup.jobs[2].time_limit == 0);
  CHECK(apart.setup.jobs[0].request == resources<lab::max_resources>{});
  // Of one pod.
  CHECK(apart.setup.flavor_sets[0].menu.options(0).size() == 1);
  CHECK(apart.setup.flavor_sets[0].menu.options(0)[0][0] == gpus(2));
  CHECK(apart.setup.flavor_sets[0].pools == std::vector<std::uint64_t>{0b10});
  CHECK(apart.setup.jobs[1].flavors == 2);
  CHECK(apart.setup.jobs[2].flavors == 2);
  CHECK(apart.setup.flavor_sets[1].menu.options(0)[1][1] == gpus(2));
  CHECK(apart.setup.flavor_sets[1].pools == std::vector<std::uint64_t>{0b10, 0b01});

  // Where "gpu" counts all of them, only those of a counted model are distinguished.
  const auto together = workload(R"(["gpu", "h100/gpu"])");
  CHECK(together.setup.jobs[0].flavors == 1);
  CHECK(together.setup.jobs[0].request[0] == gpus(8));
  CHECK(together.setup.jobs[1].flavors == 0);
  CHECK(together.setup.jobs[2].flavors == 0);
}

TEST_CASE("a traced model that no node has is an error, unless no node has a model") {
  const scratch files;
  files.put("t.csv", "job_id,submit_s,duration_s,gpus,gpu_model\n1,0,1,1,a100\n2,0,1,1,V100\n3,0,1,1,V100\n");
  const auto problems = [&](const std::string& model, std::optional<std::string> nodes = {}) {
    lab::errors found;
    lab::scenario_source source;
    source.file =
        files.put("s.json", "{" + format + R"(, "trace": {"file": "t.csv"}, "quotas": [{"name": "q"}],
        "cluster": {"nodes": [{"name": "a", "gpus": 8)" +
                                model + "}]}}");
    source.nodes = std::move(nodes);
    const auto s = lab::read_scenario(source, found);
    CHECK(s.has_value() == found.empty());
    return told(found);
  };
  CHECK(problems(R"(, "gpu_model": "A100")") == lines{"t.csv: line 3, column 9 (gpu_model): job 2: no node "
                                                      "has the GPU model \"V100\"; and so in 1 more"});
  CHECK(problems("") == lines{});
  CHECK(problems(R"(, "gpu_model": "A100")", "4x8") == lines{});
}

TEST_CASE("in the presets of Kueue a leaf may only use the flavors that it lists") {
  const std::string members = R"("resources": ["cpu", "h100/gpu", "a100/gpu"], "quotas": [{"name": "r"},
      {"name": "a", "parent": "r", "nominal": {"h100/gpu": 0}}, {"name": "b", "parent": "r", "nominal": "unlimited"}])";
  auto s = parse_valid(members);
  const auto borrow = [&](std::size_t quota, std::size_t d) {
    return lab::make_workload<lab::max_resources>(s).setup.quotas.spec(quota_id{quota}).borrow[d];
  };
  CHECK(borrow(1, 2) == limit::all());
  s.policy.preset = "kueue";
  CHECK(borrow(1, 1) == limit::all());
  CHECK(borrow(1, 2) == limit::none());
  CHECK(borrow(1, 0) == limit::all());
  CHECK(borrow(0, 2) == limit::all());
  CHECK(borrow(2, 2) == limit::all());
}

TEST_CASE("node events") {
  const auto s = parse_valid(R"("cluster": {"nodes": [{"name": "n", "count": 3, "gpus": 8}]},
    "events": [{"at_s": 2, "node_up": {"node": "n-1"}}, {"at_s": 1, "node_down": {"node": "n-1"}},
               {"at_s": 3, "drain": {"node": "n-2"}}])");
  const auto w = lab::make_workload<1>(s);
  REQUIRE(w.setup.node_events.size() == 3);
  CHECK(w.setup.node_events[0].at == 1000);
  CHECK(w.setup.node_events[0].what == sim::node_change::down);
  CHECK(w.setup.node_events[0].node == gpu::node_id{1});
  CHECK(w.setup.node_events[1].what == sim::node_change::up);
  CHECK(w.setup.node_events[2].what == sim::node_change::drain);
  CHECK(w.setup.node_events[2].node == gpu::node_id{2});
}

TEST_CASE("settings: the quota's, else the policy's, else the preset's") {
  const auto settings = [](const std::string& policy) {
    const auto s =
        parse_valid(policy + R"("quotas": [{"name": "a"}, {"name": "b", "order": "priority", "head": "strict",
        "preempt": {"within": "lower_or_newer_equal", "children": true}}])");
    return lab::make_workload<1>(s).setup.settings;
  };
  auto all = settings("");
  CHECK(but_for_horizon(all[0]) == queue_settings{});
  CHECK(but_for_horizon(all[1]) ==
        queue_settings{queue_order::priority,
                       queue_head::strict,
                       {preempt_within::lower_or_newer_equal, preempt_reclaim::any, true}});
  all = settings(R"("policy": {"preset": "static_quotas", "set": {"queue_order": "fifo"}}, )");
  CHECK(all[0].order == queue_order::fifo);
  CHECK(all[0].preempt.reclaim == preempt_reclaim::never);
  CHECK(all[1].order == queue_order::priority);
  CHECK(all[1].preempt.reclaim == preempt_reclaim::never);
}

TEST_CASE("refused users are listed separately, cancelled jobs are found by id") {
  const auto s = parse_valid(R"("quotas": [{"name": "a", "access": {"users": ["ana"]}}],
    "jobs": [{"id": "1", "request": {"gpu": 1}, "user": "bob", "submit_s": 3, "duration_s": 60},
             {"id": "2", "request": {"gpu": 1}, "user": "ana", "submit_s": 2}],
    "events": [{"at_s": 1, "cancel": {"job": "1"}}, {"at_s": 2, "cancel": {"job": "2"}},
               {"at_s": 3, "resize": {"quota": "a", "nominal": {"gpu": 4}, "lend": {"gpu": 1}}}])");
  const auto w = lab::make_workload<1>(s);
  CHECK(names(w.ids) == std::vector<std::string>{"2"});
  REQUIRE(w.refused.size() == 1);
  CHECK(w.refused[0].id == "1");
  CHECK(w.refused[0].submit == 3000);
  CHECK(w.refused[0].duration == 60000);
  CHECK(w.refused[0].text == "bob may not submit to a: it admits the users ana");
  REQUIRE(w.setup.cancels.size() == 1);
  CHECK(w.setup.cancels[0].at == 2000);
  CHECK(w.setup.cancels[0].which == 0);
  REQUIRE(w.setup.quota_events.size() == 1);
  const auto& resize = std::get<resize_quota<1>>(w.setup.quota_events[0].change);
  CHECK((*resize.nominal)[0] == gpus(4));
  CHECK((*resize.lend)[0] == limit::at_most(gpus(1)));
  CHECK(!resize.borrow);
}

TEST_CASE("the number of dimensions is the smallest that holds the resources") {
  const auto dimensions = [](const std::string& resources) {
    const auto s = parse_valid("\"resources\": " + resources);
    return lab::with_dimensions(s.resources.size(), [](auto n) { return n(); });
  };
  CHECK(dimensions(R"(["gpu"])") == 1);
  CHECK(dimensions(R"(["gpu", "cpu"])") == 8);
  CHECK(dimensions(R"(["1", "2", "3", "4", "5", "6", "7", "8"])") == 8);
}

TEST_CASE("settings: of the policy's, a quota takes those that have an effect there") {
  const auto s = parse_valid(
      R"("policy": {"preset": "standard", "reservations": 2, "gather_s": 60, "strict_after_s": 600,
                 "preempt_after_s": 30},
      "quotas": [{"name": "a"}, {"name": "b", "head": "strict"},
                 {"name": "c", "preempt": {"reclaim": "lower_priority"}},
                 {"name": "d", "preempt": {"within": "never", "reclaim": "never"}}])");
  const auto all = lab::make_workload<1>(s).setup.settings;
  CHECK((all[0].owners_backfill && all[0].strict_after == 600'000 && all[0].gather.longest == 60'000));
  CHECK(but_for_horizon(all[1]) == queue_settings{.head = queue_head::strict, .preempt_after = 30'000});
  CHECK((all[2].preempt_after == 30'000 && all[3].preempt_after == 0));
  CHECK((all[2].strict_after == 600'000 && !all[2].owners_backfill));
  // Where quotas are ignored, so is what they set.
  parse_valid(R"("policy": "fifo", "quotas": [{"name": "a", "wait_if_loss_percent": 100}])");
}

TEST_CASE("settings: standard reserves where a job has an estimate, unless it is told otherwise") {
  const auto head = [](const std::string& estimate, const std::string& policy) {
    const auto s = parse_valid(policy + R"("quotas": [{"name": "a", "nominal": {"gpu": 8}}],
        "jobs": [{"id": "x", "quota": "a", "request": {"gpu": 1}, "submit_s": 0, "duration_s": 10},
                 {"id": "y", "quota": "a", "request": {"gpu": 1}, "submit_s": 0, "duration_s": 10)" +
                               estimate + "}]");
    const queue_settings all = lab::make_workload<1>(s).setup.settings[0];
    CHECK(lab::policy_of(s)->defaults() == but_for_horizon(all));
    return std::pair{all.head, all.reservations};
  };
  const std::pair none{queue_head::best_effort, 1U};
  CHECK(head("", "") == none);
  CHECK(head(R"(, "estimate_s": 20)", "") == std::pair{queue_head::reserve, 3U});
  CHECK(head(R"(, "estimate_s": 20)", R"("policy": {"preset": "standard", "reservations": 0}, )") == none);
  CHECK(head(R"(, "estimate_s": 20)", R"("policy": {"preset": "standard", "set": {"guard": "none"}}, )") ==
        none);
  CHECK(head("", R"("policy": {"preset": "standard", "reservations": 1}, )") ==
        std::pair{queue_head::reserve, 1U});
}
