// SPDX-License-Identifier: BSL-1.0
#include "lab/io/number_text.hpp"

#include <allot/lab/trace.hpp>

#include <doctest/doctest.h>

namespace lab = allot::lab;
using lab::day;
using lab::hour;
using lab::second;

TEST_CASE("number_text: numbers for people") {
  CHECK(lab::grouped(0) == "0");
  CHECK(lab::grouped(999) == "999");
  CHECK(lab::grouped(53'069) == "53,069");
  CHECK(lab::grouped(1'234'567) == "1,234,567");
  CHECK(lab::rounded(1'234'567, 1) == "1,234.6");
  CHECK(lab::rounded(999'950, 1) == "1,000.0");
  CHECK(lab::rounded(1'499, 0) == "1");
  CHECK(lab::rounded(-1'500, 0) == "-2");
  CHECK(lab::rounded(-400, 0) == "0");
  CHECK(lab::rounded(5, 3) == "0.005");
  CHECK(lab::percent(629'677) == "62.97 %");
  CHECK(lab::human_time(0) == "0 s");
  CHECK(lab::human_time(1'500) == "1.5 s");
  CHECK(lab::human_time(119'000) == "119 s");
  CHECK(lab::human_time(120'000) == "2 min");
  CHECK(lab::human_time(7'200'000) == "2.0 h");
  CHECK(lab::human_time(172'800'000) == "2.0 d");
}

TEST_CASE("number_text: points in time") {
  CHECK(lab::human_instant(0) == "day 0, 00:00");
  CHECK(lab::human_instant(2 * day + 3 * hour + 59 * second) == "day 2, 03:00");
  CHECK(lab::human_instant(1'234 * day) == "day 1,234, 00:00");
}
