// SPDX-License-Identifier: BSL-1.0
#include "../src/slurm_governor.hpp"
#include "fake_slurm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

using namespace slurm_tests;

TEST_CASE("orders: what an operator starts is not held again, and counts when it runs") {
  for (const bool restarts : {false, true}) {
    auto reading = parse_config(R"({"quotas": [{"name": "org"},
      {"name": "a", "parent": "org", "nominal": {"gpu": 8}}], "slurm": {"grace_s": 0}})",
                                "test");
    REQUIRE(reading.value);
    fake_slurm slurm;
    slurm.add_nodes(2, 8);
    std::vector<std::string> log;
    std::unique_ptr<slurm_governor> it;
    const auto begin = [&] {
      slurm_surroundings around;
      around.log = [&](const std::string& line) { log.push_back(line); };
      slurm.start_polling_again();
      it = std::make_unique<slurm_governor>(*reading.value, slurm, std::move(around), false);
    };
    const auto ticks = [&](int n) {
      for (int i = 0; i < n; ++i) {
        slurm.advance(1);
        it->tick({slurm.now * 1000, slurm.now * 1000});
      }
    };
    begin();
    const job_key first = slurm.submit("a", 1, 8, 1000);
    ticks(3);
    REQUIRE(slurm.jobs.at(first).is.state == run_state::running);
    // Without a quota it never starts by itself.
    const job_key k = slurm.submit("a", 1, 8, 1000, false);
    ticks(5);
    REQUIRE(slurm.jobs.at(k).is.is_held);
    // Slurm has no room for it at first.
    slurm.nodes[1].is_open = false;
    it->start(to_string(k), "root");
    if (restarts) begin();
    ticks(5);
    CHECK_FALSE(slurm.jobs.at(k).is.is_held);
    CHECK(slurm.jobs.at(k).is.admin_comment == "allot: started by force by root");
    slurm.nodes[1].is_open = true;
    ticks(5);
    CHECK(slurm.jobs.at(k).is.state == run_state::running);
    const snapshot s = it->snapshot_view();
    CHECK(s.since_start.held_again == 0);
    CHECK(s.since_start.ran_unasked == 0);
    CHECK(s.quotas[1].used[0] == allot::quantity::whole(16));
    if (!restarts) {
      CHECK(std::any_of(log.begin(), log.end(), [](const std::string& line) {
        return line.find(" start job=2 user=ana account=a by=root ") != std::string::npos;
      }));
    }
    it->start(to_string(k), "root");
    CHECK(log.back().find("failed=\"it does not wait\"") != std::string::npos);
  }
}
