// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_times.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

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
  // As strftime writes them, with times of twelve hours, padding, names and offsets.
  CHECK(parse_by_format("03/01/26 02:05:09 PM", "%D %r") == at("2026-03-01 14:05:09"));
  CHECK(parse_by_format("12:05 AM, 1 March 2026", "%I:%M %p, %-d %B %Y") == at("2026-03-01 00:05:00"));
  CHECK(parse_by_format("Sun Mar  1 08:09:10 2026", "%c") == at("2026-03-01 08:09:10"));
  CHECK(parse_by_format("Sunday  1. May 99  8:09", "%A %e. %b %y %k:%M") == at("1999-05-01 08:09:00"));
  CHECK(parse_by_format("2024-366 23:59", "%Y-%j %R") == at("2024-12-31 23:59:00"));
  CHECK(parse_by_format("2026-03-01T08:00:00+0530", "%FT%T%z") == at("2026-03-01 02:30:00"));
  CHECK(parse_by_format("2026-03-01T08:00:00-01:00", "%FT%T%z") == at("2026-03-01 09:00:00"));
  CHECK(parse_by_format("2026-03-01 08:00:00 CEST", "%F %T %Z") == at("2026-03-01 08:00:00"));
  CHECK(parse_by_format("1772352000", "%s") == at("2026-03-01 08:00:00"));
  for (const auto& text_and_format :
       {std::pair{"13:05 AM", "%I:%M %p"}, std::pair{"2023-366", "%Y-%j"}, std::pair{"2023-000", "%Y-%j"},
        std::pair{"12:05 XM", "%I:%M %p"}, std::pair{"08:00 0100", "%R %z"}}) {
    const char* const wrong = text_and_format.first;
    CHECK_MESSAGE(!parse_by_format(wrong, text_and_format.second), wrong);
  }
  CHECK(has_year("%D"));
  CHECK(has_year("%s"));
  CHECK_FALSE(has_year("%d %b %H:%M"));
  CHECK_FALSE(has_year("%%Y %m"));
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

TEST_CASE("parse_relative: what Slurm writes relative to the day") {
  const auto at = [](const char* text) { return parse_timestamp(text); };
  // A Sunday.
  const allot::instant today = *at("2026-03-01");
  CHECK(parse_relative("12:26:38", today) == at("2026-03-01 12:26:38"));
  CHECK(parse_relative("Ystday 20:13", today) == at("2026-02-28 20:13:00"));
  CHECK(parse_relative("Tomorr 03:22", today) == at("2026-03-02 03:22:00"));
  CHECK(parse_relative("Sat 02:17", today) == at("2026-03-07 02:17:00"));
  CHECK(parse_relative("18 Jun 13:14", today) == at("2026-06-18 13:14:00"));
  CHECK(parse_relative("9 Jan 2003", today) == at("2003-01-09"));
  for (const char* wrong : {"", "Ystday", "Sat", "Sat 25:00", "31 Feb 10:00", "2026-03-01T10:00:00"}) {
    CHECK_MESSAGE(!parse_relative(wrong, today), wrong);
  }
}
