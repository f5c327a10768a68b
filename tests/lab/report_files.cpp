// SPDX-License-Identifier: BSL-1.0
// Whole files that the report, its drawings, the trace for Perfetto and the comparison are.
#include "lab/io/json_reader.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"
#include "lab/sweep/compare_page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
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

/// A replay of a scenario, and its result.
struct replayed {
  lab::scenario given;
  lab::replay_result result;

  replayed(const scratch& in, const std::string& members) : given(parse_valid(members)) {
    result.policy = given.policy.preset;
    result.resources = given.resources;
    result.scenario_file = "a <scenario>.json";
    result.cluster = given.cluster ? &*given.cluster : nullptr;
    for (const auto& q : given.quotas) result.quotas.push_back({q.spec.name, {}, {}});
    for (std::size_t x = 1; x < given.quotas.size(); ++x) result.quotas[x].parent = allot::quota_id{0};
    static_cast<void>(in.written([&](lab::output_file& tenants) {
      const auto stop = lab::with_dimensions(given.resources.size(), [&](auto n) {
        return lab::run_replay<decltype(n)::value>(given, {tenants, nullptr}, result);
      });
      CHECK(stop.problems.empty());
      CHECK(stop.found.empty());
    }));
  }
};

/// Of two teams, `b` borrows and must give back; two halves share a GPU.
constexpr const char* two_teams = R"json(
  "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 2}]},
  "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 2}},
             {"name": "b", "parent": "all", "nominal": {"gpu": 2}}],
  "jobs": [{"id": "b1", "quota": "b", "request": {"gpu": 2}, "duration_s": 100},
           {"id": "b2", "quota": "b", "request": {"gpu": 2}, "duration_s": 100, "submit_s": 1},
           {"id": "a1", "quota": "a", "request": {"gpu": 1}, "duration_s": 30, "submit_s": 10},
           {"id": "a2", "quota": "a", "request": {"gpu": 0.5}, "duration_s": 10, "submit_s": 11},
           {"id": "a3", "quota": "a", "request": {"gpu": 0.5}, "duration_s": 10, "submit_s": 12}])json";

lab::json_document parsed(const std::string& json) {
  lab::errors found;
  auto document = lab::json_document::parse("json", json, found);
  REQUIRE_MESSAGE(document, found.to_string());
  REQUIRE_MESSAGE(found.empty(), found.to_string());
  return std::move(*document);
}

std::vector<std::string> texts_of(const lab::json_value& list) {
  std::vector<std::string> texts;
  list.for_each([&](lab::json_value v) { texts.emplace_back(v.is_array() ? "list" : v.text()); });
  return texts;
}

lab::json_document data_of(const std::string& html) {
  const std::string begin = "id=data>";
  const std::size_t at = html.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  return parsed(html.substr(from, html.find("</script>", from) - from));
}

/// Whether every element of an XML text is closed, in the right order.
bool is_balanced(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("report: where jobs ran and why they waited, at any instant") {
  const scratch in;
  const replayed r{in, two_teams};
  const std::string html = in.written([&](auto& f) { lab::write_report(f, r.result); });
  CHECK(html == in.written([&](auto& f) { lab::write_report(f, r.result); }));
  CHECK(html.find("a &lt;scenario&gt;.json") != std::string::npos);

  const auto data = data_of(html);
  const auto member = [&](const char* name) {
    const auto value = data.root().find(name);
    REQUIRE_MESSAGE(value, name);
    return *value;
  };
  CHECK(member("span").text() == "140");
  CHECK(texts_of(member("nodes")) == std::vector<std::string>{"n-0", "2", "n-1", "2"});
  // Jobs in the order in which they are first mentioned: id, layer, GPUs, submission, priority.
  const auto jobs = texts_of(member("jobs"));
  REQUIRE(jobs.size() == 25);
  CHECK(std::vector<std::string>(jobs.begin(), jobs.begin() + 10) ==
        std::vector<std::string>{"b1", "1", "2", "0", "0", "b2", "1", "2", "1", "0"});
  // b2 runs from 1 on, is evicted at 10 and continues at 40, when a1 has ended and what it borrowed is free.
  const auto runs = texts_of(member("runs"));
  REQUIRE(runs.size() == 30);
  CHECK(std::vector<std::string>(runs.begin(), runs.begin() + 10) ==
        std::vector<std::string>{"0", "0", "100", "0", "0:0-1", "1", "1", "10", "0", "1:0-1"});
  CHECK(runs[27] == "140");
  // Its time in the queue has the reason for the wait.
  const auto stays = member("stays");
  CHECK(texts_of(stays) == std::vector<std::string>{"1", "10", "40", "list"});
  const auto reasons = texts_of(member("reasons"));
  REQUIRE_FALSE(reasons.empty());
  CHECK(reasons.front() == "all of all is in use, 1 GPU short");
  CHECK(texts_of(member("stops")).empty());

  // An evicted job is listed, with its beneficiary and the reason, and links to its instant.
  CHECK(html.find("data-at=\"10\">day 0, 00:00</button><td class=t><b class=\"dot q1\"></b>"
                  "<span class=name>b2</span><td>2<td class=t><b class=\"dot q0\"></b>"
                  "<span class=name>a1</span><td class=t>the lender wants it back") != std::string::npos);
}

TEST_CASE("report: without nodes, without time, and with jobs that never ran") {
  const scratch in;
  const replayed quotas_only{in, R"("quotas": [{"name": "q", "nominal": {"gpu": 1}}],
                                    "jobs": [{"id": "runs", "request": {"gpu": 1}, "duration_s": 5},
                                             {"id": "never", "request": {"gpu": 2}, "duration_s": 5}])"};
  const std::string html = in.written([&](auto& f) { lab::write_report(f, quotas_only.result); });
  const auto data = data_of(html);
  CHECK(texts_of(*data.root().find("nodes")).empty());
  CHECK(html.find("Unfinished jobs") != std::string::npos);
  CHECK(html.find("<td class=t>waiting<td class=t>all of q is in use, 1 GPU short") != std::string::npos);
  CHECK(html.find("no job had to make way") != std::string::npos);

  const replayed nothing{in, R"("quotas": [{"name": "q", "nominal": {"gpu": 1}}],
                                "jobs": [{"id": "never", "request": {"gpu": 2}, "duration_s": 5}])"};
  const std::string empty = in.written([&](auto& f) { lab::write_report(f, nothing.result); });
  CHECK(empty.find("id=data>") == std::string::npos);
  CHECK(empty.find("<svg") == std::string::npos);
}

TEST_CASE("report: the charts as separate files") {
  const scratch in;
  std::string gathering = two_teams;
  const std::string b = R"({"name": "b", "parent": "all",)";
  gathering.replace(gathering.find(b), b.size(),
                    b + R"( "head": "reserve", "gather": {"longest_s": 900, "percent": 100},)");
  const replayed r{in, gathering};
  const auto files = lab::standalone_charts(r.result);
  REQUIRE(files.size() == std::size(lab::chart_files));
  for (std::size_t i = 0; i < files.size(); ++i) {
    CAPTURE(lab::chart_files[i]);
    CHECK(files[i].rfind("<svg ", 0) == 0);
    CHECK(is_balanced(files[i]));
    CHECK(files[i].find("NaN") == std::string::npos);
    CHECK(files[i] == lab::standalone_charts(r.result)[i]);
  }
  CHECK_FALSE(is_balanced("<svg><g></svg>"));
}

TEST_CASE("result files: a trace for Perfetto, by time, without overlaps") {
  const scratch in;
  const replayed r{in, two_teams};
  std::string note;
  const auto trace = parsed(in.written([&](auto& f) { note = lab::write_chrome_trace(f, r.result); }));
  CHECK(note.empty());
  CHECK(trace.root().find("otherData")->find("jobs")->text() == "all");
  std::int64_t last = 0;
  std::map<std::pair<std::string, std::string>, std::int64_t> free_from;
  std::map<std::string, int> slices;
  std::vector<std::string> threads;
  trace.root().find("traceEvents")->for_each([&](lab::json_value e) {
    const auto text = [&](const char* key) { return std::string{e.find(key)->text()}; };
    if (text("name") == "thread_name") threads.emplace_back(e.find("args")->find("name")->text());
    if (text("ph") == "M") return;
    const std::int64_t at = std::stoll(text("ts"));
    CHECK(at >= last);
    last = at;
    if (text("ph") != "X") return;
    ++slices[text("name")];
    auto& until = free_from[{text("pid"), text("tid")}];
    CHECK(at >= until);
    until = at + std::stoll(text("dur"));
  });
  // b2 has two runs on two GPUs.
  CHECK(slices == std::map<std::string, int>{{"a1", 1}, {"a2", 1}, {"a3", 1}, {"b1", 2}, {"b2", 4}});
  CHECK(std::count(threads.begin(), threads.end(), "GPU 0, share 2") +
            std::count(threads.begin(), threads.end(), "GPU 1, share 2") ==
        1);

  // Too many jobs for a viewer: those with the most GPU time are kept, and the report says so.
  const auto thinned = parsed(in.written([&](auto& f) { note = lab::write_chrome_trace(f, r.result, 2); }));
  CHECK(note == "the 2 of 5 jobs that had the most GPU time");
  CHECK(thinned.root().find("otherData")->find("jobs")->text() == note);
  slices.clear();
  thinned.root().find("traceEvents")->for_each([&](lab::json_value e) {
    if (e.find("ph")->text() == "X") ++slices[std::string{e.find("name")->text()}];
  });
  CHECK(slices == std::map<std::string, int>{{"b1", 2}, {"b2", 4}});

  // Without nodes the quotas are the processes.
  const replayed quotas_only{in, R"("quotas": [{"name": "q", "nominal": {"gpu": 2}}],
                                    "jobs": [{"id": "x", "request": {"gpu": 1}, "duration_s": 5},
                                             {"id": "y", "request": {"gpu": 1}, "duration_s": 5}])"};
  const auto flat =
      parsed(in.written([&](auto& f) { note = lab::write_chrome_trace(f, quotas_only.result); }));
  std::vector<std::string> tids;
  flat.root().find("traceEvents")->for_each([&](lab::json_value e) {
    if (e.find("ph")->text() == "X") tids.emplace_back(e.find("tid")->text());
  });
  CHECK(tids == std::vector<std::string>{"0", "1000"});
}

TEST_CASE("compare_page: figures side by side, and what is wrong with a run") {
  const scratch in;
  const auto summary = [](const std::string& policy, const std::string& hash, const std::string& rate,
                          const std::string& wait) {
    return R"({"format": "allot-summary/1", "policy": ")" + policy + R"(", "seed": 1, "input_hash": ")" +
           hash + R"(", "decision_hash": "d", "allocation_rate": )" + rate + R"(, "queue_s": {"mean": )" +
           wait + R"(}, "tenants": {"</script>t": {"jobs": {"total": 2}, "queue_s": {"mean": 5}}}})";
  };
  in.put("runs/<b>one/summary.json", summary("fifo", "x", "0.5", "100"));
  in.put("runs/<b>one/tenants.csv",
         "time_s,quota,used,entitled,borrowed,lent,pending\n0,</script>t,1,0,0,0,0\n50,</script>t,2,0,0,0,3\n"
         "100,</script>t,0,0,0,0,0\n");
  in.put("runs/<b>one/jobs.csv", "job_id,submit_s,start_s\n1,0,0\n2,5,65\n3,7,\n");
  in.put("runs/two/summary.json", summary("standard", "y", "0.75", "50"));
  const std::string page = in.path_of("page.html");
  REQUIRE(lab::write_comparison_page({in.path_of("runs/<b>one") + "/", in.path_of("runs/two/summary.json")},
                                     page, false) == 0);
  const std::string html = in.read("page.html");
  CHECK(html.find("<b>one") == std::string::npos);
  CHECK(html.find("&lt;b&gt;one") != std::string::npos);
  CHECK(html.find("</script>t") == std::string::npos);
  CHECK(html.find(
            "<b>two</b> ran other jobs than &lt;b&gt;one: their differences are not those of policies.") !=
        std::string::npos);
  CHECK(html.find("<tr><td>utilisation<td>50.00 %<td class=win>75.00 %<small>+25.00 pt</small>") !=
        std::string::npos);
  CHECK(html.find("<tr><td>wait, mean<td>100 s<td class=win>50 s<small>-50.0 %</small>") !=
        std::string::npos);
  CHECK(html.find("<h2>GPUs in use</h2>") != std::string::npos);
  CHECK(html.find("<h2>How long jobs wait</h2>") != std::string::npos);
  // The page needs nothing else.
  CHECK(html.find("<script src") == std::string::npos);

  // Existing files are not replaced unless requested.
  CHECK(lab::write_comparison_page({in.path_of("runs/two"), in.path_of("runs/two")}, page, false) == 2);
  CHECK(lab::write_comparison_page({in.path_of("runs/two"), in.path_of("runs/two")}, page, true) == 0);
  // Without tables beside the summaries there is nothing to draw.
  CHECK(in.read("page.html").find("<svg") == std::string::npos);

  in.put("bad/summary.json", "{\"format\": \"else\"}");
  const std::string other = in.path_of("other.html");
  CHECK(lab::write_comparison_page({in.path_of("runs/two"), in.path_of("bad")}, other, false) == 2);
  CHECK(lab::write_comparison_page({in.path_of("runs/two"), in.path_of("nowhere")}, other, false) == 2);
  CHECK_FALSE(fs::exists(other));
}
