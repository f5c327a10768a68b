// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_times.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <allot/lab/timestamp.hpp>
#include <allot/lab/trace.hpp>
#include "tests/support/seeds.hpp"

using namespace allot::lab;

TEST_CASE("parse_in_unit: numbers with any decimals and exponents, rounded once") {
  CHECK(parse_in_unit("0", {}) == 0);
  CHECK(parse_in_unit("12", {}) == 12'000);
  CHECK(parse_in_unit("12.", {}) == 12'000);
  CHECK(parse_in_unit(".5", {}) == 500);
  CHECK(parse_in_unit("0.0005", {}) == 1);
  CHECK(parse_in_unit("0.00049999999999999999999999999999", {}) == 0);
  CHECK(parse_in_unit("66.123456789", {}) == 66'123);
  CHECK(parse_in_unit("1.5e+05", {}) == 150'000'000);
  CHECK(parse_in_unit("15E-1", {}) == 1'500);
  CHECK(parse_in_unit("0e9999", {}) == 0);
  CHECK(parse_in_unit("1e-9999", {}) == 0);
  CHECK(parse_in_unit("00000000000000000000000000000000000000001", {}) == 1'000);
  CHECK(parse_in_unit("1000000000000", {}) == 1'000'000'000'000'000);
  CHECK(parse_in_unit("1000000000000.1", {}) == std::nullopt);
  CHECK(parse_in_unit("1e13", {}) == std::nullopt);
  CHECK(parse_in_unit("1e9999", {}) == std::nullopt);
  CHECK(parse_in_unit(std::string(400, '9'), {}) == std::nullopt);
  for (const char* wrong :
       {"", ".", "-1", "+1", "1,5", "1 ", " 1", "1e", "1e+", "1e1.5", "0x1", "nan", "1.2.3"}) {
    CHECK_MESSAGE(parse_in_unit(wrong, {}) == std::nullopt, wrong);
  }
  // Bytes as MiB, percents as GPUs.
  CHECK(parse_in_unit("1073741824", {1000, 1'048'576}) == 1'024'000);
  CHECK(parse_in_unit("1048576000000000000", {1000, 1'048'576}) == 1'000'000'000'000'000);
  CHECK(parse_in_unit("37.5", {10, 1}) == 375);
}

TEST_CASE("unit_of_time: names, multiples, and what is refused") {
  const auto thousandths = [](const char* text) {
    const auto unit = unit_of_time(text);
    return unit ? parse_in_unit("3", *unit) : std::nullopt;
  };
  CHECK(thousandths("s") == 3'000);
  CHECK(thousandths("ms") == 3);
  CHECK(thousandths("m") == 180'000);
  CHECK(thousandths("h") == 3 * hour);
  CHECK(thousandths("d") == 3 * day);
  CHECK(thousandths("40ms") == 120);
  CHECK(thousandths("0.5h") == 90 * minute);
  CHECK(parse_in_unit("1234567", *unit_of_time("us")) == 1'235);
  CHECK(parse_in_unit("1499999", *unit_of_time("ns")) == 1);
  for (const char* wrong : {"", "min", "S", "5", "0s", "h2", "date", "-1s"}) {
    CHECK_MESSAGE(!unit_of_time(wrong), wrong);
  }
}

TEST_CASE("parse_clock_span: spans as Slurm writes them") {
  CHECK(parse_clock_span("02:30:00") == 150 * minute);
  CHECK(parse_clock_span("1-02:30:00") == day + 150 * minute);
  CHECK(parse_clock_span("1-02:30") == day + 150 * minute);
  CHECK(parse_clock_span("7-0") == 7 * day);
  CHECK(parse_clock_span("05:10") == 310 * second);
  CHECK(parse_clock_span("90") == 90 * minute);
  CHECK(parse_clock_span("00:01:02.345") == 62'345);
  CHECK(parse_clock_span("100:00:00") == 100 * hour);
  for (const char* wrong :
       {"", "-", "1-", ":", "1:", "1:2:3:4", "a", "1h", "-1", "UNLIMITED", "1-2-3", "1.5"}) {
    CHECK_MESSAGE(!parse_clock_span(wrong), wrong);
  }
}

TEST_CASE("parse_by_format: dates in the order of a format") {
  const auto at = [](const char* text) { return parse_timestamp(text); };
  CHECK(parse_by_format("09.10.2017 07:01", "%d.%m.%Y %H:%M") == at("2017-10-09 07:01:00"));
  CHECK(parse_by_format("2017-10-09T07:01:55", "%FT%T") == at("2017-10-09 07:01:55"));
  CHECK(parse_by_format("9/Oct/2017:07:01:55", "%d/%b/%Y:%T") == at("2017-10-09 07:01:55"));
  CHECK(parse_by_format("20171009", "%Y%m%d") == at("2017-10-09"));
  CHECK(parse_by_format("07:01:55.25", "%T.%f") == at("1970-01-01 07:01:55.25"));
  CHECK(parse_by_format("50% 2020", "50%% %Y") == at("2020-01-01"));
  for (const char* wrong : {"", "09.10.2017", "09.10.2017 07:01 ", "31.02.2017 07:01", "09.13.2017 07:01",
                            "09.10.2017 24:01", "9.x.2017 07:01"}) {
    CHECK_MESSAGE(!parse_by_format(wrong, "%d.%m.%Y %H:%M"), wrong);
  }
  CHECK(is_time_format("%Y-%m-%d %H:%M:%S.%f"));
  for (const char* wrong : {"", "date", "%", "%q", "%%", "%Y-%"})
    CHECK_MESSAGE(!is_time_format(wrong), wrong);
  // Any instant, written and read.
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    const allot::instant t = random.between(0, 4'000'000'000) * second;
    std::string text = to_timestamp(t);
    CHECK(parse_by_format(text, "%F %T") == t);
  });
}
