// SPDX-License-Identifier: BSL-1.0
// The configuration, the journal, and the lines of the log.
#include "../src/config.hpp"
#include "../src/journal.hpp"
#include "governor/src/log.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_directory.hpp"

using namespace allot_slurm;

namespace {

[[nodiscard]] std::string with(const std::string& slurm, const std::string& more = "") {
  return R"({"quotas": [{"name": "org"}, {"name": "a", "parent": "org", "nominal": {"gpu": 4}}], "slurm": {)" +
         slurm + "}" + more + "}";
}
[[nodiscard]] std::string problem_of(const std::string& text) {
  const auto reading = parse_config(text, "f.json");
  CHECK(!reading.value);
  return reading.problems.empty() ? "" : reading.problems.front();
}

[[nodiscard]] memory some_memory() {
  memory m;
  m.leaving = {{{{1}, 10}, 12345}, {{{2, 7}, 11}, 0}};
  m.backoffs = {{{{6}, 15}, 99, 3}};
  saved_state& state = m.state.emplace();
  state.units.resize(2);
  state.units[0].id = allot::job_id{0};
  state.units[0].state = allot::job_state::evicting;
  state.units[0].what = {{1}, 10};
  state.units[0].where = {{"n1", 8, 4}, {"n2", 2, 0}};
  state.units[1].id = allot::job_id{1, 2};
  state.units[1].state = allot::job_state::nominated;
  state.units[1].what = {{2, 7}, 11};
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

TEST_CASE("config: defaults and all that can be set") {
  const auto plain = parse_config(with(""), "f.json");
  REQUIRE(plain.value);
  CHECK(plain.value->slurm.places_jobs);
  CHECK(plain.value->slurm.poll_ms == 1000);
  CHECK(plain.value->quotas.policy_name == "standard");
  const auto all =
      parse_config(with(R"("partitions": ["x", "y"], "nodes": "slurm", "poll_s": 0.25, "grace_s": 0,
      "signal": "USR1", "directory": "/d", "accounts": {"bio": "a"}, "qos": {"high": 10}, // a comment
      "comments_per_tick": 0,)"),
                   "f.json");
  REQUIRE(all.value);
  const slurm_options& o = all.value->slurm;
  CHECK(!o.places_jobs);
  CHECK(o.poll_ms == 250);
  CHECK(o.grace_ms == 0);
  CHECK(o.signal == 10);
  CHECK(o.qos.at("high") == 10);
  CHECK(all.value->governs("x"));
  CHECK(all.value->governs("main,y"));
  CHECK(!all.value->governs("main"));
  CHECK(all.value->quota_of("bio") == 1U);
  CHECK(all.value->quota_of("root/lab/a") == 1U);
  CHECK(!all.value->quota_of("lab"));
}

TEST_CASE("config: what is wrong is said with its place") {
  CHECK(problem_of("{").find("f.json") == 0);
  CHECK(problem_of(with(R"("poll_s": "1")")) == "f.json: /slurm/poll_s: expected seconds, from 0.05 to 3600");
  CHECK(problem_of(with(R"("nodes": "both")")).find("/slurm/nodes: expected \"allot\" or \"slurm\"") !=
        std::string::npos);
  CHECK(problem_of(with(R"("pages": "x")")) == "f.json: /slurm/pages: there is no such key");
  CHECK(problem_of(with(R"("accounts": {"x": "none"})")).find("there is no quota \"none\"") !=
        std::string::npos);
  CHECK(problem_of(with("", R"(, "jobs": [])")).find("/jobs") != std::string::npos);
  CHECK(problem_of(R"({"quotas": []})").find("at least one quota") != std::string::npos);
  CHECK(problem_of(R"({"resources": ["tape"], "quotas": [{"name": "a"}]})")
            .find("nothing that is read from Slurm") != std::string::npos);
  CHECK(problem_of(R"({"quotas": [{"name": "a", "parent": "b"}]})").find("/quotas/0/parent") !=
        std::string::npos);
}

TEST_CASE("config: what differs is said in one line") {
  const auto read = [](const std::string& quotas) {
    auto reading = parse_config("{\"quotas\": [" + quotas + "]}", "f.json");
    REQUIRE(reading.value);
    return std::move(*reading.value);
  };
  const config before = read(R"({"name": "a", "nominal": {"gpu": 4}}, {"name": "b"})");
  CHECK(changes_between(before, before) == "nothing");
  CHECK(changes_between(before, read(R"({"name": "a", "nominal": {"gpu": 6}}, {"name": "c"})")) ==
        "b is gone; a gpu 4 -> 6; c is new");
  CHECK(
      changes_between(before, read(R"({"name": "a", "weight": 2, "nominal": {"gpu": 4}}, {"name": "b"})")) ==
      "settings other than nominal amounts");
}

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
