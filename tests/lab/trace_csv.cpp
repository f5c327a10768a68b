// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace_csv.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/traces.hpp"

using namespace allot::lab;
using allot::quantity;

namespace {

const std::string plain_header = "job_id,submit_s,duration_s,gpus\n";

/// Every problem of a text, a line each.
std::string problems_of(const std::string& text, const trace_csv_limits& limits = {}) {
  const trace_reading reading = parse_trace_csv(text, limits);
  CHECK(reading.value.jobs.empty() == !reading.problems.empty());
  std::string all;
  for (const text_problem& p : reading.problems) all += to_string(p) + '\n';
  return all;
}

/// The only problem of one value in one column, beside a valid job.
std::string problem_with(const std::string& column, const std::string& value) {
  return problems_of("job_id,submit_s,duration_s,gpus," + column + "\n1,0,1,8," + value + "\n");
}

}  // namespace

TEST_CASE("read_trace_csv: the required columns, in any order") {
  const trace_reading reading =
      parse_trace_csv("gpus,duration_s,job_id,submit_s\n0.5,61.25,a1,0\n2,1,a2,100.001\n");
  REQUIRE(reading);
  CHECK_FALSE(reading.stopped);
  const trace& t = reading.value;
  REQUIRE(t.jobs.size() == 2);
  CHECK(t.ids[t.jobs[0].id] == "a1");
  CHECK(t.jobs[0].gpus == quantity::milli(500));
  CHECK(t.jobs[0].duration == 61'250);
  CHECK(t.jobs[0].tenant.is_none());
  CHECK(t.jobs[0].preemptible);
  CHECK(t.jobs[0].pods == 0);
  CHECK_FALSE(t.jobs[0].checkpoint);
  CHECK_FALSE(t.jobs[0].deadline);
  CHECK(t.jobs[1].submit == 100'001);
  CHECK(t.jobs[1].id.index() == 1);
}

TEST_CASE("read_trace_csv: every optional column, and tags") {
  const trace_reading reading = parse_trace_csv(
      "job_id,submit_s,duration_s,gpus,tenant,pods,min_pods,priority,class,preemptible,gpu_model,cpu_milli,"
      "memory_mib,user,checkpoint_s,restart_s,deadline_s,estimate_s,ready_s,color,\n"
      "j,1,2,3,team-a,2,1,-5,inference,False,H100,8000,1024.0,ana,600,30.5,90,3600,45.5,\"dark, red\",x\n"
      "k,1,2,3,,,,,,,,,,,,,,,,,\n");
  REQUIRE(reading);
  const trace& t = reading.value;
  const trace_job& j = t.jobs[0];
  CHECK(t.tenants[j.tenant] == "team-a");
  CHECK(j.pods == 2);
  CHECK(j.min_pods == 1);
  CHECK(j.priority == -5);
  CHECK(t.words[j.job_class] == "inference");
  CHECK_FALSE(j.preemptible);
  CHECK(t.words[j.gpu_model] == "H100");
  CHECK(j.cpu_milli == 8'000);
  CHECK(j.memory_mib == 1'024);
  CHECK(t.words[j.user] == "ana");
  CHECK(j.checkpoint == 600'000);
  CHECK(j.restart == 30'500);
  CHECK(j.deadline == 90'000);
  CHECK(j.estimate == 3'600);
  CHECK(j.ready == 45'500);
  CHECK(t.tag_columns == std::vector<std::string>{"color", ""});
  CHECK(t.tag(j, 0) == "dark, red");
  CHECK(t.tag(j, 1) == "x");
  const trace_job& k = t.jobs[1];
  CHECK(k.tenant.is_none());
  CHECK(k.preemptible);
  CHECK(k.priority == 0);
  CHECK(k.estimate == 0);
  CHECK(k.ready == 0);
  CHECK_FALSE(k.checkpoint);
  CHECK(t.tag(k, 0).empty());
}

TEST_CASE("read_trace_csv: a header row alone is an empty trace, an empty text is an error") {
  CHECK(parse_trace_csv(plain_header));
  CHECK(parse_trace_csv("job_id,submit_s,duration_s,gpus"));
  for (const char* empty : {"", "\n\n", "\xEF\xBB\xBF"}) {
    CHECK(
        problems_of(empty) ==
        "line 1, column 1: the text is empty: expected a header row with job_id,submit_s,duration_s,gpus\n");
  }
}

TEST_CASE("read_trace_csv: problems of the header row") {
  CHECK(problems_of("job_id,submit,duration_s\n1,2,3\n") ==
        "line 1, column 1 (submit_s): this column is required, and the header row lacks it\n"
        "line 1, column 1 (gpus): this column is required, and the header row lacks it\n");
  CHECK(problems_of("job_id,submit_s,gpus,duration_s,gpus,x,x\n") ==
        "line 1, column 33 (gpus): this column is there twice\n"
        "line 1, column 40 (x): this column is there twice\n");
  CHECK(problems_of("Philly trace\n" + plain_header).substr(0, 26) == "line 1, column 1 (job_id):");
}

TEST_CASE("read_trace_csv: an estimate is whole seconds above zero, and may be shorter than the job runs") {
  CHECK(parse_trace_csv("job_id,submit_s,duration_s,gpus,estimate_s\na,0,60,1,59\n").value.jobs[0].estimate ==
        59);
  CHECK(
      parse_trace_csv("job_id,submit_s,duration_s,gpus,estimate_s\na,0,60,1,60.0\n").value.jobs[0].estimate ==
      60);
  const std::string place = "line 2, column 9 (estimate_s): ";
  CHECK(problem_with("estimate_s", "0") == place + "expected at least 1, found \"0\"\n");
  CHECK(problem_with("estimate_s", "-1") == place + "expected at least 1, found \"-1\"\n");
  CHECK(problem_with("estimate_s", "1.5") == place + "expected a whole number, found \"1.5\"\n");
  CHECK(problem_with("estimate_s", "1h") == place + "expected a whole number, found \"1h\"\n");
  CHECK(problem_with("estimate_s", "1000000000001") ==
        place + "expected at most 1000000000000, found \"1000000000001\"\n");
}

TEST_CASE("read_trace_csv: numbers that are malformed, too small, too large or too fine") {
  const auto problem = [](const std::string& row) { return problems_of(plain_header + row + "\n"); };
  CHECK(problem("1,x,1,1") == "line 2, column 3 (submit_s): expected a number of seconds, found \"x\"\n");
  CHECK(problem("1,0,-1,1") == "line 2, column 5 (duration_s): expected at least 0, found \"-1\"\n");
  CHECK(problem("1,0,nan,1") ==
        "line 2, column 5 (duration_s): expected a number of seconds, found \"nan\"\n");
  CHECK(problem("1,0,inf,1") ==
        "line 2, column 5 (duration_s): expected a number of seconds, found \"inf\"\n");
  CHECK(problem("1,0,1e3,1") ==
        "line 2, column 5 (duration_s): expected a number of seconds, found \"1e3\"\n");
  CHECK(problem("1,0, 1,1") == "line 2, column 5 (duration_s): expected a number of seconds, found \" 1\"\n");
  CHECK(problem("1,0.0001,1,1") ==
        "line 2, column 3 (submit_s): expected a number of seconds with at most three decimals, found "
        "\"0.0001\"\n");
  CHECK(problem("1,0,1000000000000000000,1") ==
        "line 2, column 5 (duration_s): expected at most 1000000000000, found \"1000000000000000000\"\n");
  CHECK(problem("1,0,1,1000000000000.001") ==
        "line 2, column 7 (gpus): expected at most 1000000000000, found \"1000000000000.001\"\n");
  CHECK(problem("1,0,1,-99999999999999999999") ==
        "line 2, column 7 (gpus): expected at least 0, found \"-99999999999999999999\"\n");
  CHECK(problem("1,,1,1") == "line 2, column 3 (submit_s): expected a number of seconds, found nothing\n");
  CHECK(problem("1,0,1,1\n2,0,\"a\n" + std::string(60, 'b') + "\",1") ==
        "line 3, column 5 (duration_s): expected a number of seconds, found \"a?" + std::string(38, 'b') +
            "...\"\n");
  CHECK(problem_with("priority", "1000000000000001") ==
        "line 2, column 9 (priority): expected at most 1000000000000000, found \"1000000000000001\"\n");
  CHECK(problem_with("priority", "-1000000000000000").empty());
  CHECK(problem_with("priority", "0.5") ==
        "line 2, column 9 (priority): expected a whole number, found \"0.5\"\n");
  CHECK(problem_with("cpu_milli", "-1") ==
        "line 2, column 9 (cpu_milli): expected at least 0, found \"-1\"\n");
}

TEST_CASE("read_trace_csv: pods, flags and deadlines that make no sense") {
  CHECK(problem_with("pods", "0") == "line 2, column 9 (pods): expected at least 1, found \"0\"\n");
  CHECK(problem_with("pods", "3") ==
        "line 2, column 9 (pods): the GPUs of the job can't be split evenly over 3 pods (to a thousandth)\n");
  CHECK(problem_with("pods", "16").empty());
  CHECK(problem_with("min_pods", "1") ==
        "line 2, column 9 (min_pods): min_pods means nothing without pods\n");
  CHECK(problem_with("pods,min_pods", "4,5") ==
        "line 2, column 11 (min_pods): expected at most the 4 of pods, found \"5\"\n");
  CHECK(problem_with("preemptible", "yes") ==
        "line 2, column 9 (preemptible): expected true or false, found \"yes\"\n");
  CHECK(problems_of("job_id,submit_s,duration_s,gpus,deadline_s\n1,100,1,1,99.9\n") ==
        "line 2, column 11 (deadline_s): expected a point in time, as submit_s is one, and not before it\n");
}

TEST_CASE("read_trace_csv: ids are required and unique") {
  CHECK(problems_of(plain_header + "1,0,1,1\n2,0,1,1\n\n1,5,1,1\n") ==
        "line 5, column 1 (job_id): the job id \"1\" was given before, on line 2\n");
  CHECK(problems_of(plain_header + ",0,1,1\n,0,1,1\n") ==
        "line 2, column 1 (job_id): expected the id of a job, found nothing\n"
        "line 3, column 1 (job_id): expected the id of a job, found nothing\n");
  CHECK(problems_of(plain_header + "1,0,1,1\n01,0,1,1\n").empty());
}

TEST_CASE("read_trace_csv: too few and too many fields") {
  CHECK(problems_of(plain_header + "1,0,1\n2,0,1,1,9,9\n3\n") ==
        "line 2, column 5: expected 4 fields, as in the header row, found 3\n"
        "line 3, column 9: expected 4 fields, as in the header row, found 6\n"
        "line 4, column 1: expected 4 fields, as in the header row, found 1\n");
}

TEST_CASE("read_trace_csv: malformed CSV ends the reading") {
  const trace_reading reading = parse_trace_csv(plain_header + "x,0,z,1\n2,\"0,1,1\n3,0,1,1\n");
  REQUIRE(reading.problems.size() == 2);
  CHECK(to_string(reading.problems[1]) == "line 3, column 3: this quote is never closed");
  CHECK(reading.stopped);
  const std::string long_line = plain_header + "1,0,1,1\n2," + std::string(3'000'000, '7') + ",1,1\n";
  CHECK(problems_of(long_line) == "line 3, column 1: the record is longer than 1048576 bytes\n");
}

TEST_CASE("read_trace_csv: a bad number far down is reported with its place") {
  std::string text = plain_header;
  for (int line = 2; line <= 50'000; ++line) {
    text += std::to_string(line) + (line == 40'001 ? ",12,3x,1\n" : ",12,34,1\n");
  }
  CHECK(problems_of(text) ==
        "line 40001, column 10 (duration_s): expected a number of seconds, found \"3x\"\n");
}

TEST_CASE("read_trace_csv: stops at the limit of problems") {
  std::string text = plain_header;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + ",x,y,z\n";
  trace_reading reading = parse_trace_csv(text);
  CHECK(reading.problems.size() == 20);
  CHECK(reading.stopped);
  trace_csv_limits limits;
  limits.problems = 4;
  reading = parse_trace_csv(text, limits);
  CHECK(reading.problems.size() == 4);
  CHECK(reading.problems.back().place == text_place{3, 3});
  limits.problems = 150;
  reading = parse_trace_csv(text, limits);
  CHECK(reading.problems.size() == 150);
  CHECK(reading.problems.back().place == text_place{51, 8});
}

TEST_CASE("read_trace_csv: from a stream") {
  std::istringstream good{plain_header + "1,0,1,1\n"};
  CHECK(read_trace_csv(good).value.jobs.size() == 1);
  std::ifstream never_open{"/nowhere/at/all"};
  const trace_reading reading = read_trace_csv(never_open);
  REQUIRE(reading.problems.size() == 1);
  CHECK(to_string(reading.problems[0]) == "line 1, column 1: the text can't be read any further");
  std::ifstream directory{"/"};
  CHECK_FALSE(read_trace_csv(directory));
}

TEST_CASE("read_trace_csv: any damage to a file gives a trace or a place in the file") {
  const std::string good =
      "job_id,submit_s,duration_s,gpus,tenant,pods,min_pods,priority,preemptible,deadline_s,note\n"
      "1,0,10,1,a,1,1,0,true,100,\"x \"\"y\"\", z\"\r\n"
      "2,0.5,20,2,a,,,-1,false,,\n"
      "3,1,30.125,16,b,2,1,7,true,500,\"two\nlines\"\n";
  REQUIRE(parse_trace_csv(good));
  allot_test::for_each_seed(5'000, [&good](allot_test::random_source& random) {
    std::string text = good;
    for (std::size_t i = 0, n = 1 + random.below(4); i < n && !text.empty(); ++i) {
      const std::size_t at = random.below(text.size());
      const std::size_t length = std::min(text.size() - at, random.below(12));
      switch (random.below(6)) {
        case 0:
          text[at] = random.pick(std::string_view{",\"\r\n-.0ex\xff"});
          break;
        case 1:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, text.substr(at, length));
          break;
        case 4:
          text.insert(at, 1, random.pick(std::string_view{",\"\r\n9"}));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    CAPTURE(text);
    const trace_reading reading = parse_trace_csv(text);
    CHECK(reading.problems.size() <= 20);
    CHECK((reading || reading.value.jobs.empty()));
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const text_problem& p : reading.problems) {
      CHECK(p.place.line >= 1);
      CHECK(p.place.line <= lines);
      CHECK(p.place.column >= 1);
      CHECK(p.place.column <= text.size() + 1);
      CHECK_FALSE(p.text.empty());
    }
    CHECK(reading.value.tags.size() == reading.value.jobs.size() * reading.value.tag_columns.size());
    for (const trace_job& job : reading.value.jobs) {
      CHECK(job.submit >= 0);
      CHECK(job.duration >= 0);
      CHECK(job.gpus >= quantity{});
      CHECK(job.min_pods <= job.pods);
      CHECK_FALSE(reading.value.ids[job.id].empty());
    }
  });
}

TEST_CASE("read_trace_csv: philly128, the real trace") {
  const auto path = allot_test::find_trace("philly128/jobs.csv");
  if (!path) {
    MESSAGE("skipped: no philly128/jobs.csv (set ALLOT_TRACES to the directory of the traces)");
    return;
  }
  std::ifstream file{*path, std::ios::binary};
  const trace_reading reading = read_trace_csv(file);
  REQUIRE(reading);
  const trace& t = reading.value;
  CHECK(t.jobs.size() == 53'069);
  CHECK(t.tenants.size() == 3);
  CHECK(t.tag_columns.empty());
  CHECK(std::is_sorted(t.jobs.begin(), t.jobs.end(),
                       [](const trace_job& a, const trace_job& b) { return a.submit < b.submit; }));
  // As published: 97 % of the jobs use one GPU, none more than 24; on average 45.0 + 33.1 + 15.9 GPUs
  // over 61 days.
  std::map<std::string_view, double> gpu_days;
  quantity largest;
  std::size_t single = 0;
  for (const trace_job& job : t.jobs) {
    largest = std::max(largest, job.gpus);
    single += job.gpus == allot::gpus(1) ? 1U : 0U;
    gpu_days[t.tenants[job.tenant]] += static_cast<double>(job.gpus.in_milli() / 1000) *
                                       static_cast<double>(job.duration) / static_cast<double>(day);
  }
  CHECK(largest == allot::gpus(24));
  CHECK(static_cast<double>(single) / 53'069 == doctest::Approx(0.97).epsilon(0.005));
  std::multiset<double> averages;
  for (const auto& [tenant, total] : gpu_days) averages.insert(total / 61);
  auto average = averages.begin();
  for (const double expected : {15.9, 33.1, 45.0})
    CHECK(*average++ == doctest::Approx(expected).epsilon(0.02));
}

TEST_CASE("read_trace_csv: a row for each pod set of a job") {
  const trace_reading reading = parse_trace_csv(
      "job_id,submit_s,duration_s,gpus,pod_set,pods,min_pods,gpu_model,cpu_milli,tenant\n"
      "a,0,60,0,head,,,,500,x\n"
      "b,5,60,2,,2,,,,x\n"
      "a,0,60,16,workers,4,2,H100,4000,x\n"
      "c,6,60,4,only,2,,A100,,x\n");
  REQUIRE(reading);
  const trace& t = reading.value;
  REQUIRE(t.jobs.size() == 3);
  const trace_job& a = t.jobs[0];
  REQUIRE(t.sets_of(a).size() == 2);
  CHECK(a.gpus == quantity::whole(16));
  CHECK(a.pods == 5);
  CHECK(a.min_pods == 3);
  CHECK(a.cpu_milli == 4'500);
  CHECK(a.gpu_model.is_none());
  CHECK(t.words[t.sets_of(a)[0].name] == "head");
  CHECK(t.sets_of(a)[0].pods == 1);
  CHECK(t.words[t.sets_of(a)[1].gpu_model] == "H100");
  CHECK(t.sets_of(a)[1].min_pods == 2);
  CHECK(t.sets_of(t.jobs[1]).empty());
  // A single set is a gang as any other.
  CHECK_FALSE(t.jobs[2].is_unlike());
  CHECK(t.jobs[2].pods == 2);
  CHECK(t.words[t.jobs[2].gpu_model] == "A100");
}

TEST_CASE("read_trace_csv: what is wrong with pod sets") {
  const std::string header = "job_id,submit_s,duration_s,gpus,pod_set,pods,class\n";
  CHECK(
      problems_of(header + "a,0,60,1,x,,\na,0,61,1,y,,t\n") ==
      "line 3, column 5 (duration_s): expected the same in all rows of the job, as on line 2, found \"61\"\n"
      "line 3, column 13 (class): expected the same in all rows of the job, as on line 2, found \"t\"\n");
  CHECK(problems_of(header + "a,0,60,1,,,\na,0,60,1,y,,\n") ==
        "line 3, column 1 (job_id): the job id \"a\" was given before, on line 2, without a pod_set\n");
  CHECK(problems_of(header + "a,0,60,1,x,,\na,0,60,1,,,\n") ==
        "line 3, column 1 (job_id): the job id \"a\" was given before, on line 2\n");
  CHECK(problems_of(header + "a,0,60,1,x,,\nb,0,1,1,,,\na,0,60,1,x,,\n") ==
        "line 4, column 10 (pod_set): the job has more than one pod set \"x\"\n");
  CHECK(problems_of(header + "a,0,60,1,x,3,\n").find("can't be split evenly over 3 pods") !=
        std::string::npos);
  std::string many = header;
  for (int i = 0; i < 17; ++i) many += "a,0,60,1,s" + std::to_string(i) + ",,\n";
  CHECK(problems_of(many) == "line 18, column 10 (pod_set): a job has at most 16 pod sets\n");
  // In the order of the file, whatever the jobs, and no more than are wanted.
  const std::string twice = header + "a,0,60,1,x,,\nb,0,60,1,x,,\nb,0,60,1,x,,\na,0,60,1,x,,\n";
  const std::string first = "line 4, column 10 (pod_set): the job has more than one pod set \"x\"\n";
  CHECK(problems_of(twice) ==
        first + "line 5, column 10 (pod_set): the job has more than one pod set \"x\"\n");
  CHECK(problems_of(twice, {.problems = 1}) == first);
}
