// SPDX-License-Identifier: BSL-1.0
#include "governor/src/orders.hpp"

#include "governor/src/metrics.hpp"
#include "governor/src/page.hpp"
#include "governor/src/status.hpp"
#include "snapshots.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scratch_directory.hpp"

using namespace allot_governor;

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
  CHECK(metrics_of(s).find("allot_acme_frozen 0\n") != std::string::npos);
  s.now -= s.now % 1000;
  s.frozen = {s.now - 1000, s.now + 1000, "ana", "maintenance"};
  CHECK(metrics_of(s).find("allot_acme_frozen 1\n") != std::string::npos);
  CHECK(status_text(s).find("by ana, nobody is evicted") != std::string::npos);
  CHECK(page_of(s).find("nobody is evicted: maintenance</p>") != std::string::npos);
  const auto read = read_status(status_json(s), s.words);
  REQUIRE(read);
  CHECK(read->frozen == s.frozen);
}

TEST_CASE("orders: what is asked for is obeyed once, whatever a job is called") {
  const allot_test::scratch_directory scratch;
  const order_files asked{scratch.path};
  order_files obeyed{scratch.path};
  CHECK(asked.ask(start_order{"team-a/train.new", "ana"}) == "");
  // As an operator does it by hand; and one that is still being written.
  std::ofstream{scratch.path + "/start-123_4"} << "root";
  std::ofstream{scratch.path + "/start-5.new"} << "root";
  auto all = obeyed.take_starts();
  REQUIRE(all.size() == 2);
  if (all.front().job != "123_4") std::swap(all[0], all[1]);
  CHECK(all[0].job == "123_4");
  CHECK(all[0].by == "root");
  CHECK(all[1].job == "team-a/train.new");
  CHECK(all[1].by == "ana");
  CHECK(obeyed.take_starts().empty());

  std::vector<std::string> lines;
  decision_log log{[&](const std::string& line) { lines.push_back(line); }};
  CHECK(!obeyed.read_freeze(log));
  freeze_order order{1000, std::nullopt, "ana", "maintenance"};
  CHECK(asked.ask(order) == "");
  CHECK(obeyed.read_freeze(log));
  CHECK(obeyed.frozen() == order);
  CHECK(!obeyed.read_freeze(log));
  std::string problem = "it is not frozen";
  CHECK(asked.thaw(problem));
  CHECK(obeyed.read_freeze(log));
  CHECK(!obeyed.frozen());
  CHECK(!asked.thaw(problem));
  CHECK(problem == "it is not frozen");
  // It ends by itself.
  order.until = 2000;
  CHECK(asked.ask(order) == "");
  CHECK(!obeyed.read_freeze(log));
  CHECK(!asked.thaw(problem));
  CHECK(lines.size() == 2);
}
