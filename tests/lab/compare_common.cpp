// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare_common.hpp"

#include "lab/io/errors.hpp"
#include "lab/report/run_summary.hpp"
#include "tests/lab/scratch.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab = allot::lab;
using lab::same_jobs;

namespace {

lab::run_group side(const std::string& name, std::uint64_t seed, int completed, int unstarted,
                    const std::string& directory = {}) {
  lab::errors found;
  auto run = lab::parse_summary(name, "s.json",
                                R"({"format": "allot-summary/1", "seed": )" + std::to_string(seed) +
                                    R"(, "jobs": {"total": 10, "completed": )" + std::to_string(completed) +
                                    R"(}, "unstarted": )" + std::to_string(unstarted) + "}",
                                found);
  REQUIRE_MESSAGE(run, found.to_string());
  run->directory = directory;
  return {name, {std::move(*run)}};
}

lab::other_jobs jobs_of(const allot::vector<lab::run_group>& groups) {
  std::vector<const lab::run_group*> sides;
  for (const lab::run_group& g : groups) sides.push_back(&g);
  return lab::other_jobs_of(sides);
}

}  // namespace

TEST_CASE("compare_common: which figures are means over other jobs") {
  const auto all = jobs_of({side("a", 1, 10, 0), side("b", 1, 10, 0)});
  CHECK(all.completed == same_jobs::yes);
  CHECK(all.mark_of("jct_s/mean").empty());
  const auto other = jobs_of({side("a", 1, 9, 0), side("b", 2, 8, 0)});
  CHECK(other.completed == same_jobs::no);
  CHECK(other.started == same_jobs::yes);
  for (const char* name :
       {"jct_s/mean", "tenants/t/jct_s/p99", "wait_s/mean", "worst_tenant/jct_s/mean", "slowdown/max"}) {
    CHECK(other.mark_of(name) == " *");
  }
  for (const char* name : {"queue_s/mean", "waited_s/total", "common/jct_s/mean", "max_wait_s", "jain"}) {
    CHECK(other.mark_of(name).empty());
  }
  const auto perhaps = jobs_of({side("a", 1, 9, 1), side("b", 1, 9, 0)});
  CHECK(perhaps.completed == same_jobs::perhaps);
  CHECK(perhaps.started == same_jobs::no);
  CHECK(perhaps.mark_of("queue_s/p50") == " *");
  // Configurations of other sets ran other jobs anyway.
  allot::vector<lab::run_group> sets = {side("a", 1, 9, 0), side("b", 1, 8, 0)};
  sets.back().set = "another";
  CHECK(jobs_of(sets).completed == same_jobs::yes);
}

TEST_CASE("compare_common: the figures of the jobs that all sides completed") {
  const allot_test::scratch in;
  const std::string head = "job_id,submit_s,start_s,end_s,wait_s,state\n";
  in.put("a/jobs.csv", head + "1,0,1,11,1,completed\n2,5,6,16,1,completed\n3,0,,,9,waiting\n");
  in.put("b/jobs.csv", head + "3,0,0,9,0,completed\n2,5,9,25,4,completed\n1,0,1,,1,running\n");
  allot::vector<lab::run_group> groups = {side("a", 1, 2, 1, in.path_of("a")),
                                          side("b", 2, 2, 0, in.path_of("b"))};
  lab::errors found;
  lab::add_common_figures(groups, found);
  REQUIRE_MESSAGE(found.empty(), found.to_string());
  for (const lab::run_group& g : groups) CHECK(g.runs.front().find("common/jobs") == 1);
  CHECK(groups[0].runs.front().find("common/jct_s/mean") == 11);
  CHECK(groups[1].runs.front().find("common/jct_s/mean") == 20);
  CHECK(groups[0].runs.front().find("common/queue_s/mean") == 1);
  CHECK(groups[1].runs.front().find("common/wait_s/p99") == 4);
  const std::vector<const lab::run_group*> sides = {&groups[0], &groups[1]};
  const std::string remark = lab::remark_on_jobs(lab::other_jobs_of(sides), sides);
  CHECK(remark.find("Completed: a 2, b 2; never started: a 1, b 0.") != std::string::npos);
  CHECK(remark.find("--common") == std::string::npos);

  in.put("c/jobs.csv", "job_id,state\n");
  allot::vector<lab::run_group> wrong = {side("c", 1, 2, 1, in.path_of("c")),
                                         side("d", 1, 2, 1, in.path_of("nowhere"))};
  lab::add_common_figures(wrong, found);
  CHECK(found.to_string().find("the column submit_s is missing") != std::string::npos);
  // A row that can't be read is not left out in silence.
  in.put("e/jobs.csv", head + "1,0,1,11,1,completed\n2,5,soon,16,1,completed\n");
  in.put("f/jobs.csv", head + "1,0,1,11\n");
  for (const char* run : {"e", "f"}) {
    allot::vector<lab::run_group> bad = {side(run, 1, 2, 0, in.path_of(run))};
    lab::errors said;
    lab::add_common_figures(bad, said);
    CHECK(said.to_string().find(*run == 'e' ? "line 3, column 5 (start_s)" : "line 2") != std::string::npos);
  }
}
