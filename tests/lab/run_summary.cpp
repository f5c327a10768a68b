// SPDX-License-Identifier: BSL-1.0
#include "lab/report/run_summary.hpp"

#include "lab/io/errors.hpp"
#include "lab/io/number_text.hpp"
#include "lab/report/report.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using allot::lab::figure_kind;
using allot::lab::kind_of;
using allot::lab::parse_summary;
using allot::lab::plain_number;
using allot::lab::relative_difference;
using allot::lab::shown;

TEST_CASE("run_summary: all numbers, under their paths") {
  allot::lab::errors found;
  const auto run = parse_summary("a", "a/summary.json", R"({
    "format": "allot-summary/1", "policy": "pai", "seed": 7, "input_hash": "ab", "decision_hash": "cd",
    "stopped": {"reason": "max_queue", "at_s": 12.5}, "queue_s": {"mean": 3.25, "p50": null},
    "brand_new": {"deep": {"er": -1e3}}, "list": [1, 2],
    "tenants": {"a/b": {"queue_s": {"mean": 5}, "lost_gpu_h": 2}, "c": {"queue_s": {"mean": 4}}, "d": {}}})",
                                 found);
  REQUIRE_MESSAGE(run, found.to_string());
  CHECK(run->policy == "pai");
  CHECK(run->seed == 7);
  CHECK(run->input.hash == "ab");
  CHECK(run->decision_hash == "cd");
  CHECK(run->stopped == "max_queue");
  CHECK(run->find("queue_s/mean") == 3.25);
  CHECK_FALSE(run->find("queue_s/p50"));
  CHECK(run->find("brand_new/deep/er") == -1000);
  CHECK(run->find("stopped/at_s") == 12.5);
  CHECK(run->find("tenants/a~1b/lost_gpu_h") == 2);
  CHECK(run->find("worst_tenant/queue_s/mean") == 5);
  CHECK_FALSE(run->find("worst_tenant/jct_s/mean"));
  CHECK_FALSE(run->find("seed"));
  CHECK_FALSE(run->find("list"));
  CHECK(run->version.empty());
  CHECK(allot::lab::tenant_of("tenants/a~1b/lost_gpu_h") == "a/b");
  CHECK(allot::lab::tenant_of("jobs/total").empty());
}

TEST_CASE("run_summary: the whole policy, where the file has it") {
  allot::lab::errors found;
  const auto run = parse_summary("a", "a/summary.json", R"json({
    "format": "allot-summary/1", "policy": "standard", "policy_name": "standard (guard none)",
    "policy_set": {"guard": "none"}, "version": "0.2.0", "seed": 7})json",
                                 found);
  REQUIRE_MESSAGE(run, found.to_string());
  CHECK(run->policy == "standard (guard none)");
  CHECK(run->version == "0.2.0");
  CHECK(run->figures.empty());
}

TEST_CASE("run_summary: a figure is rounded once, as in the headline and the report") {
  for (const std::int64_t millionths : {629'749, 629'750, 973'499, 973'500, 974'499, 1, 0, 1'000'000}) {
    const double value = static_cast<double>(millionths) / 1e6;
    CHECK(shown(value, figure_kind::rate) == allot::lab::percent(millionths));
    CHECK(shown(value, figure_kind::index) == allot::lab::report::index_text(millionths, 3));
  }
  CHECK(shown(0.629749, figure_kind::rate) == "62.97 %");
  CHECK(shown(0.9735, figure_kind::index) == "0.974");
  CHECK(allot::lab::report::index_text(973'499, 3) == "0.973");
  CHECK(allot::lab::report::index_text(2'254'999, 2) == "2.25");
  CHECK(allot::lab::report::index_text(2'255'000, 2) == "2.26");
}

TEST_CASE("run_summary: a file that is not a summary is reported, with the place") {
  const auto problem = [](const char* text) {
    allot::lab::errors found;
    CHECK_FALSE(parse_summary("a", "a.json", text, found));
    return found.to_string();
  };
  CHECK(problem(R"({"format": "allot-scenario/1"})").find("a.json: /format: expected \"allot-summary/1\"") ==
        0);
  CHECK(problem("[]").find("a.json: /format: ") == 0);
  CHECK(problem("{").find("a.json: line 1, column ") == 0);
  allot::lab::errors found;
  CHECK_FALSE(allot::lab::read_summary("x", "nowhere.json", found));
  CHECK(found.to_string().find("nowhere.json: No such file") == 0);
}

TEST_CASE("run_summary: what two runs share") {
  using allot::lab::shared_by;
  using allot::lab::shared_input;
  const auto run = [](const char* input, const char* jobs) { return allot::lab::run_input{input, jobs}; };
  CHECK(shared_by(run("a", "j"), run("a", "j")) == shared_input::all);
  CHECK(shared_by(run("a", "j"), run("b", "j")) == shared_input::jobs);
  CHECK(shared_by(run("a", "j"), run("b", "k")) == shared_input::none);
  // Not every summary says which jobs ran.
  CHECK(shared_by(run("a", ""), run("a", "")) == shared_input::all);
  CHECK(shared_by(run("a", ""), run("b", "")) == shared_input::none);
}

TEST_CASE("run_summary: remarks on runs of other inputs") {
  using allot::lab::remark_on;
  using allot::lab::shared_input;
  CHECK(remark_on(shared_input::all, "one").empty());
  CHECK(remark_on(shared_input::jobs, "one") == "ran the jobs of one on other nodes or under other quotas.");
  CHECK(remark_on(shared_input::none, "one") ==
        "ran other jobs than one: their differences are not those of policies.");
}

TEST_CASE("run_summary: the part of the run that is measured") {
  const auto measured = [](const std::string& text) {
    allot::lab::errors found;
    const auto run =
        parse_summary("a", "a.json", R"({"format": "allot-summary/1", "seed": 1)" + text + "}", found);
    REQUIRE_MESSAGE(run, found.to_string());
    CHECK(run->figures.empty());
    return run->measured;
  };
  CHECK(measured("").empty());
  CHECK(measured(R"(, "measured": {})").empty());
  CHECK(measured(R"(, "measured": {"window": "0,3600", "warm_up": "60", "no_drain": "true"})") ==
        "from 0s to 1h, without the first 1m, up to the last submission");
  CHECK(measured(R"(, "measured": {"warm_up": "long"})").empty());
  using allot::lab::measured_part;
  using allot::lab::remark_on_window;
  CHECK(measured_part("") == "the whole run");
  CHECK(measured_part("up to 1h") == "up to 1h");
  CHECK(remark_on_window("up to 1h", "up to 1h", "one").empty());
  CHECK(remark_on_window("up to 1h", "the whole run", "one") ==
        "measures another part of its run (up to 1h) than one (the whole run): their figures are of other "
        "times "
        "and jobs.");
}

TEST_CASE("run_summary: the name of a tenant may have a slash") {
  for (const char* tenant : {"a", "a/b", "a~b", "~1", "/", "a~", "~0/~1"}) {
    const std::string name = allot::lab::figure_of_tenant(tenant, "queue_s/mean");
    CHECK(allot::lab::tenant_of(name) == tenant);
    CHECK(kind_of(name) == figure_kind::time);
  }
  CHECK(allot::lab::figure_of_tenant("a/b", "preemptions") == "tenants/a~1b/preemptions");
  CHECK(allot::lab::tenant_of("queue_s/mean").empty());
  CHECK(allot::lab::tenant_of("tenants/a").empty());
}

TEST_CASE("run_summary: the kind of a figure follows from its name") {
  CHECK(kind_of("queue_s/mean") == figure_kind::time);
  CHECK(kind_of("tenants/x_s/jobs/total") == figure_kind::count);
  CHECK(kind_of("tenants/a/lost_gpu_h") == figure_kind::gpu_hours);
  CHECK(kind_of("allocation_rate") == figure_kind::rate);
  CHECK(kind_of("jain") == figure_kind::index);
  CHECK(kind_of("end_s") == figure_kind::time);
  CHECK(kind_of("preemptions_by/reclaim") == figure_kind::count);
  CHECK(kind_of("something/else") == figure_kind::plain);
}

TEST_CASE("run_summary: values and differences for people") {
  CHECK(shown(0.62974, figure_kind::rate) == "62.97 %");
  CHECK(shown(7200, figure_kind::time) == "2.0 h");
  CHECK(shown(1234, figure_kind::count) == "1,234");
  CHECK(shown(1234.5, figure_kind::count) == "1,234.5");
  CHECK(shown(0.98765, figure_kind::index) == "0.988");
  CHECK(relative_difference(0, 5, figure_kind::time) == "=");
  CHECK(relative_difference(50, 200, figure_kind::time) == "+25.0 %");
  CHECK(relative_difference(-50, 200, figure_kind::count) == "-25.0 %");
  CHECK(relative_difference(0.05, 0.6, figure_kind::rate) == "+5.00 pt");
  CHECK(relative_difference(-0.05, 0.6, figure_kind::rate) == "-5.00 pt");
  CHECK(relative_difference(3800, 200, figure_kind::time) == "x20.0");
  CHECK(relative_difference(10, 0, figure_kind::count).empty());
  CHECK(relative_difference(-600, 100, figure_kind::time) == "-10 min");
  CHECK(relative_difference(600, -100, figure_kind::time) == "+10 min");
  CHECK(plain_number(1.5) == "1.5");
  CHECK(plain_number(-0.0000001) == "0");
  CHECK(plain_number(123456789) == "123456789");
  CHECK(plain_number(1.0 / 3) == "0.333333");
}
