// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/replay_files.hpp>

#include "lab/io/errors.hpp"

#include <doctest/doctest.h>
#include <tests/lab/scratch.hpp>

#include <filesystem>
#include <string>

namespace lab = allot::lab;

TEST_CASE("replay_files: a trace and nodes are enough for a summary, tables and a report") {
  const allot_test::scratch dir;
  const std::string trace =
      dir.put("jobs.csv", "job_id,submit_s,duration_s,tenant,gpus\n1,0,100,a,4\n2,5,10,b,4\n");
  const std::string out = dir.path_of("out");
  CHECK(lab::replay_to_files({.trace = trace, .nodes = "1x4", .policy = "fifo"}, out) == 0);
  for (const char* file : {"summary.json", "jobs.csv", "tenants.csv", "report.html"}) {
    CAPTURE(file);
    CHECK(std::filesystem::file_size(dir.path_of(std::string{"out/"} + file)) > 0);
  }
  CHECK(dir.read("out/summary.json").find("\"fifo\"") != std::string::npos);
  // An existing file is replaced only if requested.
  CHECK(lab::replay_to_files({.trace = trace, .nodes = "1x4"}, out) == lab::bad_input_status);
  CHECK(lab::replay_to_files({.trace = trace, .nodes = "1x4"}, out, true) == 0);
  CHECK(dir.read("out/summary.json").find("\"standard\"") != std::string::npos);
}

TEST_CASE("replay_files: problems are reported, and nothing is written") {
  const allot_test::scratch dir;
  const std::string out = dir.path_of("out");
  CHECK(lab::replay_to_files({}, out) == lab::bad_input_status);
  CHECK(lab::replay_to_files({.nodes = "1x4"}, out) == lab::bad_input_status);
  CHECK(lab::replay_to_files({.trace = dir.path_of("none.csv"), .nodes = "1x4"}, out) ==
        lab::bad_input_status);
  CHECK_FALSE(std::filesystem::exists(out));
}
