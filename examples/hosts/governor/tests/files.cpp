// SPDX-License-Identifier: BSL-1.0
// The journal, the orders of operators, and the lines of the log.
#include "governor/src/journal.hpp"
#include "governor/src/log.hpp"
#include "governor/src/replace_file.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/scratch_directory.hpp"

using namespace allot_governor;

namespace {

[[nodiscard]] memory some_memory() {
  memory m;
  m.leaving = {{{"1", "10"}, 12345}, {{"2_7", "11"}, 0}};
  m.backoffs = {{{"6", "15"}, 99, 3, "spent"}};
  saved_state& state = m.state.emplace();
  state.units.resize(2);
  state.units[0].id = allot::job_id{0};
  state.units[0].state = allot::job_state::evicting;
  state.units[0].what = {"1", "10"};
  state.units[0].where = {{"n1", 8, 4}, {"n2", 2, 0}};
  state.units[1].id = allot::job_id{1, 2};
  state.units[1].state = allot::job_state::nominated;
  state.units[1].what = {"lab/b", "8e1f-11"};
  state.units[1].where = {{"n1", 8, 4}};
  state.memory.most_jobs = 2;
  state.memory.quotas = {"org", "vision"};
  state.memory.leaving = {{allot::job_id{0}, allot::job_id{1, 2}}};
  state.memory.nominated = {allot::job_id{1, 2}};
  state.memory.backoffs = {{allot::quota_id{1}, 0, 3000, 4000, 2}};
  state.memory.of_cycle.past_usage = {0, 18'446'744'073'709'551'615U};
  return m;
}

}  // namespace

TEST_CASE("journal: what is written is read") {
  const memory m = some_memory();
  const auto reading = parse_journal(journal_text(m, "c", 1000), "c", 2000);
  CHECK(reading.problem == "");
  REQUIRE(reading.value);
  CHECK(*reading.value == m);
}

TEST_CASE("journal: one of an earlier version is refused in a sentence") {
  // Of revision e632b45.
  const std::string line =
      R"({"format":"allot-slurm-journal/1","cluster":"c","written":1000,"leaving":[],"reserved":[],"announced":[],)"
      R"("promised":[],"backoffs":[],"reclaimed":[],"past_usage":[]})";
  const auto reading = parse_journal(line + "\n8be771aa7393856e\n", "c", 2000);
  CHECK_FALSE(reading.value);
  CHECK(reading.problem.find("allot-slurm-journal/1") != std::string::npos);
}

TEST_CASE("journal: one of allot-slurm from before there was one form for all hosts is read") {
  // Of revision 21163500.
  const std::string line =
      R"({"format":"allot-slurm-journal/2","cluster":"c","written":1000,"leaving":[{"job":"1","su)"
      R"(bmitted":10,"warned":12345},{"job":"2_7","submitted":11,"warned":0}],"backoffs":[{"job":)"
      R"("6","submitted":15,"until":99,"failures":3,"had_victims":false,"spent":false,"impossible)"
      R"(":false,"needs":0},{"job":"7","submitted":16,"until":98,"failures":2,"had_victims":true,)"
      R"("spent":false,"impossible":true,"needs":1},{"job":"8","submitted":17,"until":97,"failure)"
      R"(s":1,"had_victims":false,"spent":true,"impossible":false,"needs":2}],"state":"allot-stat)"
      R"(e 1\nmemory quotas=\"org\"\nunit id=0.0 state=evicting what=\"2_7@11\" where=\"n1:8:4 n2)"
      R"(:2:0\"\nend\n"})";
  const auto reading = parse_journal(line + "\n424d6151c7cf263b\n", "c", 2000);
  CHECK(reading.problem == "");
  REQUIRE(reading.value);
  const memory& m = *reading.value;
  CHECK(m.leaving == std::vector<memory::leaving_job>{{{"1", "10"}, 12345}, {{"2_7", "11"}, 0}});
  CHECK(m.backoffs == std::vector<memory::backoff>{{{"6", "15"}, 99, 3, ""},
                                                   {{"7", "16"}, 98, 2, "had_victims,impossible,needs_time"},
                                                   {{"8", "17"}, 97, 1, "spent,needs_somebody"}});
  REQUIRE(m.state);
  REQUIRE(m.state->units.size() == 1);
  CHECK(m.state->units[0].what == job_identity{"2_7", "11"});
}

TEST_CASE("journal: damaged, stale or of another cluster") {
  const std::string text = journal_text(some_memory(), "c", 1000);
  CHECK(parse_journal(text, "other", 2000).problem == "it is of the cluster c");
  CHECK(parse_journal(text, "c", 1000 + 25 * 3'600'000).problem == "it is more than a day old");
  CHECK(parse_journal(text, "c", 1000 - 25 * 3'600'000).problem == "it is from the future");
  for (std::size_t n = 0; n < text.size(); ++n) {
    std::string damaged = text;
    damaged[n] ^= 1;
    CHECK(!parse_journal(damaged, "c", 2000).value);
    CHECK(!parse_journal(text.substr(0, n), "c", 2000).value);
  }
}

TEST_CASE("journal: a file is replaced as a whole, and no link is followed") {
  const allot_test::scratch_directory in_scratch;
  const std::string& directory = in_scratch.path;
  const std::string path = directory + "/file";
  const auto text_of = [](const std::string& name) {
    std::ifstream in{name};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  CHECK(replace_file(path, "one") == "");
  CHECK(text_of(path) == "one");
  REQUIRE(symlink((directory + "/victim").c_str(), (path + ".new").c_str()) == 0);
  CHECK(replace_file(path, "two") == "");
  CHECK(text_of(path) == "two");
  CHECK(!std::ifstream{directory + "/victim"});
  CHECK(replace_file(directory + "/no/such", "x").find("can't create") == 0);
  CHECK(std::remove(path.c_str()) == 0);
  // Nothing else was left there.
  CHECK(std::filesystem::is_empty(directory));
}

TEST_CASE("log: a line stays a line, whatever users write") {
  CHECK(escaped("plain-1.2/3") == "plain-1.2/3");
  CHECK(escaped("two words") == "\"two words\"");
  CHECK(escaped("a\nb\x1b[31m\"\\\x7f\xc3\xa4") == R"("a\x0ab\x1b[31m\"\\\x7f\xc3\xa4")");
  std::vector<std::string> lines;
  decision_log log{[&](const std::string& line) { lines.push_back(line); }};
  log("hold", {{"job", "1"}, {"user", "x\nrelease job=2"}, {"why", ""}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().find('\n') == std::string::npos);
  CHECK(lines.front().find(R"( hold job=1 user="x\x0arelease job=2")") != std::string::npos);
  CHECK(lines.front().find("why") == std::string::npos);
}
