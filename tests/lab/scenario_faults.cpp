// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <string>

#include "lab/scenario/scenario.hpp"
#include "tests/lab/scenarios.hpp"

using allot_test::lines;
using allot_test::parse_valid;
using allot_test::problems_of;

namespace {

const std::string quotas = R"("quotas": [{"name": "q", "nominal": {"gpu": 8}}], )";

}  // namespace

TEST_CASE("faults of a scenario: times and shares, and none by default") {
  const auto none = parse_valid(quotas + R"("jobs": [])").faults;
  CHECK(none.start.most == 0);
  CHECK_FALSE(none.delays_evictions());
  const auto f = parse_valid(quotas + R"("faults": {"start_s": [0.5, 60], "eviction_s": 30,
    "failed_starts_percent": 1.5, "failed_evictions_percent": 100, "start_again_after_s": 10,
    "evict_again_after_s": 0, "replace_failed_pods": true, "seed": 7})")
                     .faults;
  CHECK(f.start.least == 500);
  CHECK(f.start.most == 60'000);
  CHECK(f.eviction.least == 30'000);
  CHECK(f.eviction.most == 30'000);
  CHECK(f.failed_starts == 1'500);
  CHECK(f.failed_evictions == 100'000);
  CHECK(f.start_again_after == 10'000);
  CHECK(f.evict_again_after == 0);
  CHECK(f.replaces_failed_pods);
  CHECK(f.seed == 7);
}

TEST_CASE("faults of a scenario: what is wrong with them is said where it is") {
  CHECK(problems_of(quotas + R"("faults": {"start_s": [60, 10], "failed_starts_percent": 101})") ==
        lines{"/faults/start_s: expected a time, or the least and the most",
              "/faults/failed_starts_percent: expected at most 100, found 101"});
}
