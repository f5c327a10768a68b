// SPDX-License-Identifier: BSL-1.0
#include "lab/report/result_files.hpp"

#include "lab/io/json_reader.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/report/distributions.hpp"
#include "lab/report/replay_headline.hpp"
#include "lab/report/report.hpp"

#include <allot/lab/csv.hpp>
#include <allot/lab/text_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/lab/scenarios.hpp"
#include "tests/lab/scratch.hpp"

using namespace allot_test;
namespace report = allot::lab::report;

namespace {

namespace fs = std::filesystem;

/// Names that every format must escape.
constexpr const char* awkward = R"json(
  "cluster": {"nodes": [{"name": "n,1", "gpus": 4}, {"name": "n;\"2\"", "gpus": 4}]},
  "quotas": [{"name": "all"},
             {"name": "a,\"b\" </script><b>&", "parent": "all", "nominal": {"gpu": 4}, "access": {"users": ["u"]}},
             {"name": "c", "parent": "all", "nominal": {"gpu": 4}}],
  "jobs": [{"id": "j,\"1\"<i>", "quota": "c", "request": {"gpu": 8}, "total": true, "user": "v", "duration_s": 100},
           {"id": "half", "quota": "c", "request": {"gpu": 0.5}, "user": "v", "submit_s": 10, "duration_s": 2.5},
           {"id": "no", "quota": "a,\"b\" </script><b>&", "request": {"gpu": 1}, "user": "v", "submit_s": 11},
           {"id": "yes", "quota": "a,\"b\" </script><b>&", "request": {"gpu": 4}, "user": "u", "submit_s": 20,
            "duration_s": 30}])json";

struct replayed {
  lab::scenario given;
  lab::replay_result result;
  std::string tenants;
  std::string events;

  replayed(const scratch& in, std::string members, const lab::measuring& measured = {})
      : given(parse_valid(members)) {
    result.measured = measured;
    result.policy = given.policy.preset;
    result.cluster = given.cluster ? &*given.cluster : nullptr;
    for (const auto& q : given.quotas) result.quotas.push_back({q.spec.name, {}, {}});
    for (std::size_t x = 1; x < given.quotas.size(); ++x) result.quotas[x].parent = allot::quota_id{0};
    lab::output_file tenants_file{in.path_of("tenants")};
    lab::output_file events_file{in.path_of("events")};
    const auto stop = lab::with_dimensions(given.resources.size(), [&](auto n) {
      return lab::run_replay<decltype(n)::value>(given, {tenants_file, &events_file}, result);
    });
    CHECK(stop.problems.empty());
    CHECK(tenants_file.close().empty());
    CHECK(events_file.close().empty());
    tenants = in.read("tenants");
    events = in.read("events");
    lab::explain_refusals(result);
  }
};

/// The rows of a CSV text, which must all have as many fields as the first.
std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  allot::lab::csv_reader reader{allot::lab::string_source{csv}};
  using outcome = decltype(reader)::outcome;
  for (outcome o = reader.next(); o != outcome::end; o = reader.next()) {
    REQUIRE(o == outcome::record);
    rows.emplace_back();
    for (std::size_t i = 0; i < reader.size(); ++i) rows.back().emplace_back(reader.text(i));
    CHECK(rows.back().size() == rows.front().size());
  }
  return rows;
}

lab::json_document parsed(const std::string& json) {
  lab::errors found;
  auto document = lab::json_document::parse("json", json, found);
  REQUIRE_MESSAGE(document, found.to_string());
  REQUIRE(found.empty());
  return std::move(*document);
}

}  // namespace

TEST_CASE("result files: awkward names survive in every file") {
  const scratch in;
  const replayed r{in, awkward};
  const std::string quota = R"(a,"b" </script><b>&)";

  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  REQUIRE(jobs.size() == 5);
  // j has 8 of 8 GPUs from 0 on, is evicted for yes at 20 and continues at 50; half waits for it.
  CHECK(jobs[1][0] == R"(j,"1"<i>)");
  CHECK(jobs[1][7] == "1");
  CHECK(jobs[2][0] == "half");
  CHECK(jobs[3] == std::vector<std::string>{"no", quota, "11", "", "", "0", "", "0", "0", "", "refused",
                                            "access", "0", "0", "", "0", "0", "0", ""});
  CHECK(jobs[4][0] == "yes");
  CHECK(jobs[4][1] == quota);
  CHECK(jobs[4][9] == "n,1");
  CHECK(jobs[1][9] == R"(n,1;n;"2")");

  bool quota_is_there = false;
  for (const auto& row : rows_of(r.tenants)) quota_is_there = quota_is_there || row[1] == quota;
  CHECK(quota_is_there);
  bool eviction_is_there = false;
  for (const auto& row : rows_of(r.events)) {
    eviction_is_there =
        eviction_is_there || (row[1] == "evicted" && row[2] == R"(j,"1"<i>)" && row[5] == "yes");
  }
  CHECK(eviction_is_there);

  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  const auto tenants = summary.root().find("tenants");
  REQUIRE(tenants);
  CHECK(tenants->find(quota));
  CHECK(tenants->find("all"));

  const auto trace = parsed(in.written([&](auto& f) { lab::write_chrome_trace(f, r.result); }));
  const auto trace_events = trace.root().find("traceEvents");
  REQUIRE(trace_events);
  std::size_t slices = 0;
  trace_events->for_each([&](lab::json_value e) {
    if (e.find("ph")->text() == "X") ++slices;
  });
  std::size_t devices = 0;
  for (const auto& run : r.result.log.runs()) {
    for (const auto& pod : r.result.log.pods(run)) {
      devices += static_cast<std::size_t>(__builtin_popcountll(pod.where.devices));
    }
  }
  CHECK(slices == devices);

  const std::string html = in.written([&](auto& f) { lab::write_report(f, r.result); });
  CHECK(html.find("a,&quot;b&quot; &lt;/script&gt;&lt;b&gt;&amp;") != std::string::npos);
  CHECK(html.find("</script><b>") == std::string::npos);
  CHECK(html.find("<i>j") == std::string::npos);
  const std::string begin = "id=data>";
  const std::size_t at = html.find(begin) + begin.size();
  const auto data = parsed(html.substr(at, html.find("</script>", at) - at));
  const auto used = data.root().find("used");
  REQUIRE(used);
  std::size_t layers = 0;
  used->for_each([&](lab::json_value) { ++layers; });
  CHECK(layers == 2);
}

TEST_CASE("result files: jobs refused by an access rule are counted and explained") {
  const scratch in;
  const replayed r{in, awkward};
  CHECK(r.result.figures.of.jobs.total == 4);
  CHECK(r.result.figures.of.jobs.refused == 1);
  CHECK(r.result.figures.quotas[1].of.jobs.refused == 1);
  const std::string told = lab::warnings(r.result);
  CHECK(told.find("1 job refused:\n  no: ") == 0);
}

TEST_CASE("result files: unknown values are null or empty, not zero") {
  const scratch in;
  const replayed r{in, R"("quotas": [{"name": "q", "nominal": {"gpu": 1}}],
                          "jobs": [{"id": "j", "request": {"gpu": 2}, "duration_s": 5}])"};
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  CHECK(summary.root().find("jct_s")->find("mean")->is() == lab::json_document::kind::null);
  CHECK(summary.root().find("max_wait_s")->text() == "0");
  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  CHECK(jobs[1] == std::vector<std::string>{"j", "q", "0", "", "", "0", "", "0", "0", "", "waiting", "", "2",
                                            "5", "", "0", "0", "0", ""});
  CHECK(lab::warnings(r.result).find("1 job never finished: nothing would ever make room for it:\n") == 0);
  // Nothing ever happened that could be drawn.
  const std::string html = in.written([&](auto& f) { lab::write_report(f, r.result); });
  CHECK(html.find("<svg") == std::string::npos);
}

TEST_CASE("result files: nothing is said of fairness where nobody wanted anything") {
  const scratch in;
  const replayed r{in, R"("quotas": [{"name": "q", "nominal": {"gpu": 1}}],
                          "jobs": [{"id": "j", "quota": "q", "request": {"gpu": 0}, "duration_s": 5}])"};
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  CHECK(summary.root().find("jain")->is() == lab::json_document::kind::null);
  CHECK(lab::headline(r.result).find("Jain –, 0.0 GPU-h short") != std::string::npos);
  const std::string html = in.written([&](auto& f) { lab::write_report(f, r.result); });
  CHECK(html.find("Fairness (Jain)</dt><dd><b>–</b>") != std::string::npos);
}

TEST_CASE("result files: jobs.csv has a column of the estimates, if there are any") {
  const scratch in;
  const replayed r{in, R"json(
    "cluster": {"nodes": [{"name": "n", "gpus": 2}]},
    "quotas": [{"name": "q", "nominal": {"gpu": 2}, "access": {"users": ["ana"]}}],
    "jobs": [{"id": "j", "user": "ana", "request": {"gpu": 2}, "duration_s": 5, "estimate_s": 60},
             {"id": "k", "user": "ana", "request": {"gpu": 2}, "duration_s": 5},
             {"id": "l", "user": "eve", "request": {"gpu": 2}, "duration_s": 5, "estimate_s": 4}])json"};
  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  CHECK(jobs[0][18] == "estimate_s");
  CHECK(jobs[0].size() == 20);
  CHECK(jobs[1][18] == "60");
  CHECK(jobs[2][18].empty());
  CHECK(jobs[3][10] == "refused");
  CHECK(jobs[3][18] == "4");
  for (const auto& row : jobs) CHECK(row.size() == jobs[0].size());
}

TEST_CASE("result files: elastic pods, interrupted runs, and jobs that ran from the start") {
  const scratch in;
  // The two elastic pods of `wide` are lost with a node; `late` is placed where the others were.
  const replayed r{in, R"json(
    "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 2}]},
    "quotas": [{"name": "q", "nominal": {"gpu": 4}, "time_limit_s": {"interactive": 10}}],
    "jobs": [{"id": "wide", "request": {"gpu": 1}, "pods": 4, "min_pods": 2, "duration_s": 100,
              "state": "running", "start_s": 5, "nodes": ["n-0", "n-0", "n-1"]},
             {"id": "shell", "class": "interactive", "request": {"gpu": 1}, "submit_s": 300, "duration_s": 50}],
    "events": [{"at_s": 50, "node_down": {"node": "n-1"}}])json"};
  const auto events = rows_of(r.events);
  std::vector<std::string> told;
  for (const auto& e : events) {
    std::string line = e[0];
    for (std::size_t i = 1; i < e.size(); ++i) line.append(e[i].empty() ? 0 : 1, ' ').append(e[i]);
    told.push_back(std::move(line));
  }
  CHECK(told == std::vector<std::string>{
                    "time_s event job_id quota nodes for reason lost_s", "5 submitted wide q",
                    "5 started wide q n-0", "5 grew wide q n-1", "5 grew wide q n-1",
                    "50 shrank wide q node_down 0", "50 shrank wide q node_down 0", "160 finished wide q",
                    "300 submitted shell q", "300 started shell q n-0", "310 evicted shell q time_limit 0"});
  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  CHECK(jobs[1] == std::vector<std::string>{"wide", "q", "0", "5", "160", "5", "160", "0", "0", "n-0",
                                            "completed", "", "4", "100", "", "0", "0", "0", ""});
  CHECK(jobs[2][10] == "time_limit");
  CHECK(jobs[2][6].empty());
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  CHECK(summary.root().find("jobs")->find("time_limit")->text() == "1");
  CHECK(summary.root().find("preemptions")->text() == "0");
  CHECK(summary.root().find("pods_given_up")->text() == "2");
  CHECK(summary.root().find("livelocks")->text() == "0");
  CHECK(lab::headline(r.result).find("1 at their time limit") != std::string::npos);
}

TEST_CASE("result files: classes, sizes, windows and why jobs wait") {
  const scratch in;
  // a has 5 of two nodes' 8 GPUs and b 3: a's third job has no quota for 10 s, b's no place for 3 together.
  constexpr const char* text = R"json(
    "policy": "static_quotas", "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]},
    "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 5}},
               {"name": "b", "parent": "all", "nominal": {"gpu": 3}}],
    "jobs": [{"id": "1", "quota": "a", "class": "train", "request": {"gpu": 3}, "duration_s": 10},
             {"id": "2", "quota": "a", "class": "train", "request": {"gpu": 2}, "duration_s": 10},
             {"id": "3", "quota": "a", "class": "no, \"yes\"", "request": {"gpu": 1}, "duration_s": 1},
             {"id": "4", "quota": "b", "request": {"gpu": 3}, "duration_s": 1}])json";
  const replayed r{in, text};
  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  CHECK(std::vector<std::string>{jobs[0].begin() + 14, jobs[0].begin() + 18} ==
        std::vector<std::string>{"class", "fair_share_wait_s", "fragmentation_wait_s", "capacity_wait_s"});
  CHECK(std::vector<std::string>{jobs[3].begin() + 14, jobs[3].begin() + 18} ==
        std::vector<std::string>{R"(no, "yes")", "10", "0", "0"});
  CHECK(std::vector<std::string>{jobs[4].begin() + 14, jobs[4].begin() + 18} ==
        std::vector<std::string>{"", "0", "10", "0"});
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  const auto number = [&](std::initializer_list<const char*> path) {
    std::optional<lab::json_value> at = summary.root();
    for (const char* key : path) {
      REQUIRE(at);
      at = at->find(key);
    }
    REQUIRE(at);
    return std::string{at->text()};
  };
  CHECK(number({"waited_s", "total"}) == "20");
  CHECK(number({"waited_s", "fair_share"}) == "10");
  CHECK(number({"waited_s", "fragmentation"}) == "10");
  CHECK(number({"waited_s", "capacity"}) == "0");
  CHECK(number({"waited_s", "order"}) == "0");
  CHECK(number({"tenants", "b", "waited_s", "fragmentation"}) == "10");
  CHECK(number({"classes", "train", "jobs", "total"}) == "2");
  CHECK(number({"classes", "no, \"yes\"", "queue_s", "max"}) == "10");
  CHECK(number({"classes", "", "queue_s", "p50"}) == "10");
  CHECK(number({"sizes", "2-4", "jobs", "total"}) == "3");
  CHECK(number({"sizes", "1", "slowdown", "max"}) == "1.1");
  CHECK(number({"window", "to_s"}) == "11");
  CHECK(number({"window", "jobs"}) == "4");
  CHECK(number({"grace_s"}) == "60");
  CHECK(number({"largest_gang", "min"}) == "2");
  // 2 GPUs of one node and 1 of the other for 10 s, then all but 4 for 1.
  CHECK(number({"stranded_gpu_h"}) == "0.008");
  CHECK(number({"deadlines", "jobs"}) == "0");
  CHECK(summary.root().find("deadlines")->find("attainment")->is() == lab::json_document::kind::null);
  CHECK_FALSE(summary.root().find("isolated"));
  CHECK(lab::headline(r.result).find("50.00 % for fair share, 50.00 % by fragmentation") !=
        std::string::npos);
}

TEST_CASE("result files: under runai past use makes tenants take turns, though nothing happens") {
  const auto preemptions = [](const std::string& round) {
    const scratch in;
    const replayed r{
        in, R"json("policy": {"preset": "runai", "k": 1, "half_life_s": 128, "window_s": 256)json" + round +
                R"json(}, "cluster": {"nodes": [{"name": "n", "gpus": 16}]},
      "quotas": [{"name": "root", "nominal": "cluster", "inclusive": true},
                 {"name": "d", "parent": "root", "nominal": {"gpu": 0}},
                 {"name": "q1", "parent": "d"}, {"name": "q2", "parent": "d"}],
      "jobs": [{"id": "1", "quota": "q1", "request": {"gpu": 16}, "duration_s": 512, "checkpoint_s": 0},
               {"id": "2", "quota": "q2", "request": {"gpu": 16}, "duration_s": 512, "checkpoint_s": 0}])json"};
    const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
    CHECK(summary.root().find("jobs")->find("completed")->text() == "2");
    CHECK(summary.root().find("window")->find("to_s")->text() == "1024");
    CHECK(summary.root().find("events")->text() == "4");
    return std::string{summary.root().find("preemptions")->text()};
  };
  CHECK(preemptions("") == "6");
  CHECK(preemptions(R"(, "round_s": 300)") == "2");
  CHECK(preemptions(R"(, "round_s": 600)") == "0");
}

TEST_CASE("result files: how tenants fare alone") {
  const scratch in;
  // In one queue b waits for a's 6 GPUs; on its half it would not wait, and a's first job could not run on a
  // half.
  constexpr const char* text = R"json(
    "policy": "fifo", "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]},
    "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 4}},
               {"name": "b", "parent": "all", "nominal": {"gpu": 3}, "weight": 1},
               {"name": "idle", "parent": "all", "nominal": {"gpu": 1}, "weight": 7}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 6}, "total": true, "duration_s": 60},
             {"id": "2", "quota": "a", "request": {"gpu": 1}, "submit_s": 1, "duration_s": 10},
             {"id": "3", "quota": "b", "request": {"gpu": 3}, "submit_s": 10, "duration_s": 20}])json";
  const replayed r{in, text, {.isolated = true}};
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  const auto isolated = summary.root().find("isolated");
  REQUIRE(isolated);
  CHECK(isolated->find("sharing_anomaly_s")->text() == "50");
  CHECK(isolated->find("of")->text() == "b");
  const auto of_a = isolated->find("tenants")->find("a");
  REQUIRE(of_a);
  CHECK(of_a->find("on_quota")->find("gpus")->text() == "4");
  CHECK(of_a->find("on_quota")->find("jobs")->text() == "1");
  CHECK(of_a->find("on_quota")->find("too_large")->text() == "1");
  CHECK(of_a->find("on_quota")->find("sharing_anomaly_s")->text() == "0");
  const auto of_b = isolated->find("tenants")->find("b");
  REQUIRE(of_b);
  CHECK(of_b->find("on_quota")->find("gpus")->text() == "3");
  CHECK(of_b->find("on_quota")->find("queue_shared_s")->text() == "50");
  CHECK(of_b->find("on_quota")->find("queue_alone_s")->text() == "0");
  // The share of a quota without jobs is given to the others: each has a half.
  CHECK(of_b->find("on_share")->find("gpus")->text() == "4");
  // 70 s instead of 20.
  CHECK(of_b->find("on_share")->find("finish_time_fairness")->find("max")->text() == "3.5");
  CHECK(isolated->find("finish_time_fairness")->find("jobs")->text() == "2");
  CHECK(isolated->find("finish_time_fairness")->find("mean")->text() == "2.25");
  CHECK(isolated->find("finish_time_fairness")->find("above_1.05")->text() == "0.5");
  CHECK_FALSE(isolated->find("tenants")->find("idle"));
  const std::string head = lab::headline(r.result);
  CHECK(head.find("b waits 50 s more than alone on its quota") != std::string::npos);
  CHECK(head.find("rho 2.25 on average, 3.50 at most, 50.00 % above 1.05") != std::string::npos);
}

TEST_CASE("result files: the finish-time fairness of jobs with 1/N of the cluster, and distributions") {
  const scratch in;
  const replayed r{in, R"json(
    "policy": "fifo", "cluster": {"nodes": [{"name": "n", "gpus": 4}]}, "quotas": [{"name": "q", "nominal": "cluster"}],
    "jobs": [{"id": "1", "quota": "q", "request": {"gpu": 4}, "duration_s": 100},
             {"id": "2", "quota": "q", "request": {"gpu": 4}, "duration_s": 100},
             {"id": "3", "quota": "q", "request": {"gpu": 5}, "submit_s": 300, "duration_s": 100},
             {"id": "4", "quota": "q", "request": {"gpu": 1}, "submit_s": 400, "duration_s": 100}])json"};
  // With a half of the cluster the first would have taken 200 s. While the second is there, its share is 2
  // GPUs for 100 s and 4 for another 100: on average one in 1.5, with which it would have taken 150 s. The
  // last has all it wants.
  const auto jobs = rows_of(in.written([&](auto& f) { lab::write_jobs(f, r.result); }));
  CHECK(jobs[0].back() == "finish_time_fairness");
  CHECK(jobs[1].back() == "0.5");
  CHECK(jobs[2].back() == "1.333333");
  CHECK(jobs[3].back().empty());
  CHECK(jobs[4].back() == "1");
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  for (const auto of : {summary.root(), *summary.root().find("tenants")->find("q")}) {
    const auto fairness = of.find("finish_time_fairness");
    REQUIRE(fairness);
    CHECK(fairness->find("jobs")->text() == "3");
    CHECK(fairness->find("mean")->text() == "0.944444");
    CHECK(fairness->find("max")->text() == "1.333333");
    CHECK(fairness->find("above_1")->text() == "0.333333");
    CHECK(fairness->find("above_1.05")->text() == "0.333333");
  }
  const auto rows = rows_of(in.written([&](auto& f) { lab::write_distributions(f, r.result); }));
  const std::vector<std::string> names = {"percent", "queue_s",  "wait_s",
                                          "jct_s",   "slowdown", "finish_time_fairness"};
  CHECK(rows[0] == names);
  REQUIRE(rows.size() == 1 + 99 + 11);
  CHECK(rows[1] == std::vector<std::string>{"0", "0", "0", "100", "1", "0.5"});
  CHECK(rows[67] == std::vector<std::string>{"66", "0", "0", "100", "1", "1"});
  CHECK(rows[68] == std::vector<std::string>{"67", "100", "100", "200", "2", "1.333333"});
  CHECK(rows[101][0] == "99.1");
  CHECK(rows.back() == std::vector<std::string>{"100", "100", "100", "200", "2", "1.333333"});
  CHECK(lab::headline(r.result).find("wait in all") != std::string::npos);
}

TEST_CASE("result files: tenants whose share is less than a GPU are told of") {
  const scratch in;
  const replayed r{in,
                   R"json(
    "cluster": {"nodes": [{"name": "n", "gpus": 2}]},
    "quotas": [{"name": "all", "nominal": "cluster"}, {"name": "a", "parent": "all"}, {"name": "b", "parent": "all"},
               {"name": "c", "parent": "all"}],
    "jobs": [{"id": "1", "quota": "a", "request": {"gpu": 1}, "duration_s": 10},
             {"id": "2", "quota": "b", "request": {"gpu": 1}, "duration_s": 10},
             {"id": "3", "quota": "c", "request": {"gpu": 1}, "duration_s": 10}])json",
                   {.isolated = true}};
  const auto summary = parsed(in.written([&](auto& f) { lab::write_summary(f, r.result, 1); }));
  const auto share = summary.root().find("isolated")->find("tenants")->find("a")->find("on_share");
  REQUIRE(share);
  CHECK(share->find("gpus")->text() == "0");
  CHECK(share->find("too_large")->text() == "1");
  CHECK(summary.root().find("finish_time_fairness")->find("jobs")->text() == "3");
  CHECK(lab::warnings(r.result).find("the shares of 3 of the tenants are less than a GPU") !=
        std::string::npos);
}

TEST_CASE("result files: a policy that never came to rest is reported") {
  lab::replay_result r;
  r.policy = "kueue";
  lab::replayed_job& ping = r.jobs.emplace_back();
  ping.id = "ping";
  ping.index = 3;
  r.livelocks = {1, 5'000, 3};
  CHECK(
      lab::warnings(r).find("kueue never came to rest at 1 instant and was stopped there, the first time at "
                            "5 s (ping was evicted again and again)") == 0);
}

TEST_CASE("result files: decimals") {
  CHECK(lab::decimal(1'500) == "1.5");
  CHECK(lab::decimal_of_millionths(629'677) == "0.629677");
  CHECK(lab::decimal_of_millionths(1'000'000) == "1");
  CHECK(lab::decimal_of_millionths(50) == "0.00005");
  CHECK(lab::decimal_of_millionths(2'100'000) == "2.1");
}

TEST_CASE("report: more quotas than colours") {
  lab::replay_result r;
  r.figures.quotas.resize(12);
  for (std::size_t x = 0; x < 12; ++x) {
    r.quotas.push_back({"q" + std::to_string(x), {}, {}});
    r.figures.quotas[x].quota = allot::quota_id{x};
    r.figures.quotas[x].of.allocated = x * 7 % 12;
  }
  const auto layers = report::layers_of(r);
  REQUIRE(layers.size() == report::most_colours + 1);
  CHECK(layers.front().name == "q1");
  CHECK(layers.back().name == "3 others");
  // Those with 1, 2 and 3 hours; the one without jobs is omitted.
  CHECK(layers.back().quotas == std::vector<std::size_t>{2, 7, 9});
  const auto colours = report::colours_of(r, layers);
  CHECK(colours[7] == report::most_colours);
  CHECK(colours[1] == 0);
  // Who lends is seen, also without jobs.
  r.figures.quotas[0].of.lent = 100;
  CHECK(report::layers_of(r).front().name == "q0");
  CHECK(report::layers_of(r).back().quotas == std::vector<std::size_t>{2, 4, 7, 9});
  // Those that were chosen, whatever they have.
  r.figures.quotas[0].of.lent = 0;
  r.chosen = {allot::quota_id{7}, allot::quota_id{0}};
  const auto chosen = report::layers_of(r);
  REQUIRE(chosen.size() == 3);
  CHECK(chosen[0].name == "q0");
  CHECK(chosen[1].name == "q7");
  CHECK(chosen[2].name == "10 others");
  CHECK(report::listed_quotas(r, 3) ==
        std::vector{allot::quota_id{0}, allot::quota_id{5}, allot::quota_id{7}});
}

TEST_CASE("text_table: the first column to the left, the others to the right, by characters") {
  lab::text_table table{{"", "größe", "n"}};
  table.add({"a long name", "1", "22"});
  table.add({"b", "", "3"});
  CHECK(table.text() ==
        "               größe   n\n"
        "  a long name      1  22\n"
        "  b                    3\n");
}
