// SPDX-License-Identifier: BSL-1.0
#include "governor/src/orders.hpp"

#include "../src/governor.hpp"
#include "governor/src/metrics.hpp"
#include "governor/src/page.hpp"
#include "governor/src/status.hpp"
#include "fake_slurm.hpp"
#include "snapshots.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace slurm_tests;

TEST_CASE("orders: spans of time") {
  CHECK(parse_span("90s") == 90'000);
  CHECK(parse_span("30m") == 1'800'000);
  CHECK(parse_span("2h") == 7'200'000);
  CHECK(parse_span("365d") == std::int64_t{365} * 86'400'000);
  for (const char* wrong : {"", "2", "h", "-1h", "0s", "2 h", "2hh", "366d", "9999999999999999999s"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_span(wrong));
  }
}

TEST_CASE("orders: a freeze is read as it was written, and what can't be read freezes") {
  const freeze_order with_all{1000, 2000, "ana", "two\nlines"};
  CHECK(parse_freeze(freeze_text(with_all)) == with_all);
  const freeze_order plain{1000, std::nullopt, "ana", ""};
  CHECK(parse_freeze(freeze_text(plain)) == plain);
  CHECK(parse_freeze("?") == freeze_order{});
  CHECK(sentence(with_all).ends_with(R"( by ana, nobody is evicted: "two\x0alines")"));
}

TEST_CASE("orders: status, page and metrics say that it is frozen") {
  snapshot s = test::sample("lab");
  CHECK(metrics_of(s).find("allot_slurm_frozen 0\n") != std::string::npos);
  s.now -= s.now % 1000;
  s.frozen = {s.now - 1000, s.now + 1000, "ana", "maintenance"};
  CHECK(metrics_of(s).find("allot_slurm_frozen 1\n") != std::string::npos);
  CHECK(status_text(s).find("by ana, nobody is evicted") != std::string::npos);
  CHECK(page_of(s).find("nobody is evicted: maintenance</p>") != std::string::npos);
  const auto read = read_status(status_json(s));
  REQUIRE(read);
  CHECK(read->frozen == s.frozen);
}

TEST_CASE("orders: what an operator starts is not held again, and counts when it runs") {
  for (const bool restarts : {false, true}) {
    auto reading = parse_config(R"({"quotas": [{"name": "org"},
      {"name": "a", "parent": "org", "nominal": {"gpu": 8}}], "slurm": {"grace_s": 0}})",
                                "test");
    REQUIRE(reading.value);
    fake_slurm slurm;
    slurm.add_nodes(2, 8);
    std::vector<std::string> log;
    std::unique_ptr<governor> it;
    const auto begin = [&] {
      surroundings around;
      around.log = [&](const std::string& line) { log.push_back(line); };
      slurm.start_polling_again();
      it = std::make_unique<governor>(*reading.value, slurm, std::move(around), false);
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
    it->start(k, "root");
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
    it->start(k, "root");
    CHECK(log.back().find("failed=\"it does not wait\"") != std::string::npos);
  }
}
