// SPDX-License-Identifier: BSL-1.0
//
// What the governor says of itself to those who are called at night.
#include "../src/slurm_governor.hpp"
#include "../src/words.hpp"
#include "fake_slurm.hpp"
#include "governor/src/page.hpp"
#include "governor/src/status.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace slurm_tests;

TEST_CASE("reports: what is released and not started, what fails, and what a reload takes over") {
  auto reading = parse_config(R"({"quotas": [{"name": "org"},
    {"name": "a", "parent": "org", "nominal": {"gpu": 16}}], "slurm": {"grace_s": 0, "start_s": 20}})",
                              "test");
  REQUIRE(reading.value);
  fake_slurm slurm;
  slurm.add_nodes(2, 8);
  std::vector<std::string> log;
  slurm_surroundings around;
  around.log = [&](const std::string& line) { log.push_back(line); };
  slurm_governor it{*reading.value, slurm, std::move(around), false};
  const auto ticks = [&](int n) {
    for (int i = 0; i < n; ++i) {
      slurm.advance(1);
      it.tick({slurm.now * 1000, slurm.now * 1000});
    }
  };
  const auto lines = [&](const std::string& part) {
    return std::count_if(log.begin(), log.end(),
                         [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  const job_key runs = slurm.submit("a", 1, 8, 1000);
  ticks(3);
  REQUIRE(slurm.jobs.at(runs).is.state == run_state::running);
  CHECK(lines(" release job=1 user=ana account=a gpus=8 quota=a ") == 1);

  const job_key stuck = slurm.submit("a", 1, 8, 1000);
  slurm.advance(1);
  it.tick({slurm.now * 1000, slurm.now * 1000});
  slurm.jobs.at(stuck).pinned = {"nowhere"};
  slurm.jobs.at(stuck).is.why_pending = "Resources";
  ticks(10);
  snapshot s = it.snapshot_view();
  CHECK(s.quotas[1].running == 1);
  CHECK(s.quotas[1].released == 1);
  const auto at = std::find_if(s.jobs.begin(), s.jobs.end(), [](const auto& j) { return j.id == "2"; });
  REQUIRE(at != s.jobs.end());
  CHECK(at->host_reason == "Resources");
  CHECK(s.now - at->since == 10'000);
  ticks(15);
  s = it.snapshot_view();
  CHECK(s.since_start.failed_starts == 1);
  CHECK(s.backing_off == 1);
  CHECK(s.quotas[1].released == 0);

  const auto adopted = s.since_start.adopted;
  it.reconfigure(*reading.value);
  ticks(2);
  CHECK(lines(" adopt ") == 0);
  CHECK(it.snapshot_view().since_start.adopted == adopted);
  it.note_refused_config({"quota a: no", "quota b: no"});
  s = it.snapshot_view();
  CHECK(s.since_start.reloads_refused == 1);
  CHECK(status_text(s, {.width = 200}).find("is in force: quota a: no (and 1 more)\n") != std::string::npos);
  CHECK(page_of(s).find("quota a: no (and 1 more)</p>") != std::string::npos);
  const auto read = read_status(status_json(s), words);
  REQUIRE(read);
  CHECK(read->refused_config == s.refused_config);
  it.reconfigure(*reading.value);
  CHECK(it.snapshot_view().refused_config.empty());
}
