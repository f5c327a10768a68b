// SPDX-License-Identifier: BSL-1.0
#include "governor/src/orders.hpp"

#include "governor/src/metrics.hpp"
#include "governor/src/page.hpp"
#include "governor/src/status.hpp"
#include "snapshots.hpp"

#include <doctest/doctest.h>

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
