// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/timestamp.hpp>

#include <doctest/doctest.h>

#include <ctime>
#include <string>

#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::instant;

TEST_CASE("parse_timestamp: the formats of traces and Kubernetes") {
  CHECK(parse_timestamp("1970-01-01") == 0);
  CHECK(parse_timestamp("1970-01-01 00:00:01") == 1'000);
  CHECK(parse_timestamp("1969-12-31T23:59:59Z") == -1'000);
  CHECK(parse_timestamp("2017-10-09 07:01:55") == 1'507'532'515'000);
  CHECK(parse_timestamp("2023-03-01 00:18:22+08:00") == parse_timestamp("2023-02-28 16:18:22"));
  CHECK(parse_timestamp("2023-03-01T00:18:22-0130") == parse_timestamp("2023-03-01 01:48:22Z"));
  CHECK(parse_timestamp("2024-05-06T07:08:09.123456Z") == *parse_timestamp("2024-05-06 07:08:09") + 123);
  CHECK(parse_timestamp("2024-05-06T07:08:09.5Z") == *parse_timestamp("2024-05-06 07:08:09") + 500);
  CHECK(parse_timestamp("2024-05-06 07:08") == parse_timestamp("2024-05-06 07:08:00"));
  CHECK(parse_timestamp("2016-12-31 23:59:60") == parse_timestamp("2017-01-01"));
  CHECK(parse_timestamp("2020-02-29"));
}

TEST_CASE("parse_timestamp: what is refused") {
  for (const char* text : {"",
                           "2020",
                           "2020-13-01",
                           "2020-00-01",
                           "2020-01-00",
                           "2020-01-32",
                           "2021-02-29",
                           "2100-02-29",
                           "20-01-01",
                           "2020-1-1",
                           "2020-01-01 24:00:00",
                           "2020-01-01 00:60:00",
                           "2020-01-01 00:00:61",
                           "2020-01-01 00:00:00 ",
                           " 2020-01-01",
                           "2020-01-01 00:00:00+",
                           "2020-01-01 00:00:00+24:00",
                           "2020-01-01 00:00:00.",
                           "2020-01-01x00:00:00",
                           "2020-01-01 00:00:00ZZ",
                           "2020-01-01 0:00:00",
                           "None",
                           "1e18",
                           "-020-01-01",
                           "2020-01-01 00:00:00+08:"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(parse_timestamp(text));
  }
}

TEST_CASE("to_timestamp: the calendar of the C library, and back") {
  CHECK(to_timestamp(0) == "1970-01-01 00:00:00");
  CHECK(to_timestamp(-1) == "1969-12-31 23:59:59.999");
  allot_test::for_each_seed(2'000, [](allot_test::random_source& random) {
    // Years 1 to 9998.
    const instant t = random.between(-62'135'596'800, 253'370'764'800) * 1'000;
    const std::time_t seconds = t / 1'000;
    std::tm parts{};
    REQUIRE(gmtime_r(&seconds, &parts) != nullptr);
    char text[64];
    REQUIRE(std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", parts.tm_year + 1900,
                          parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec) > 0);
    CHECK(to_timestamp(t) == text);
    CHECK(parse_timestamp(text) == t);
    const instant fine = t + random.between(0, 999);
    CHECK(parse_timestamp(to_timestamp(fine)) == fine);
  });
}
