// SPDX-License-Identifier: BSL-1.0
#include "lab/io/time_text.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using allot::lab::clock_time;
using allot::lab::read_time;
using allot::lab::time_text;

TEST_CASE("time_text: seconds, and times with units") {
  CHECK(read_time("0") == 0);
  CHECK(read_time("90") == 90'000);
  CHECK(read_time("0.5") == 500);
  CHECK(read_time("0.001") == 1);
  CHECK(read_time("3d") == 3 * 86'400'000LL);
  CHECK(read_time("12h30m") == 45'000'000);
  CHECK(read_time("1.5h") == 5'400'000);
  CHECK(read_time("1d2h3m4s5ms") == 93'784'005);
  CHECK(read_time("2m") == 120'000);
  CHECK(read_time("250ms") == 250);
  CHECK(read_time("1000000000000") == 1'000'000'000'000'000);
  // A third of a day is not exact in thousandths, a fifth of a minute is.
  CHECK(read_time("0.2m") == 12'000);
}

TEST_CASE("time_text: what is refused") {
  for (const char* text : {"",
                           "-1",
                           "-3d",
                           "3x",
                           "d",
                           "3 d",
                           " 3",
                           "3d ",
                           "h3",
                           "1h2h",
                           "2s1m",
                           "1e3",
                           "1,5h",
                           "3.d",
                           ".5",
                           "0.0001",
                           "0.5ms",
                           "1000000000001",
                           "99999999999999999999",
                           "20000000d",
                           "nan",
                           "inf",
                           "3dd",
                           "1d-2h"}) {
    CAPTURE(text);
    CHECK_FALSE(read_time(text));
  }
}

TEST_CASE("time_text: a point in time for a person") {
  CHECK(clock_time(0) == "day 0, 00:00:00");
  CHECK(clock_time(3 * 86'400'000LL + 45'000'000) == "day 3, 12:30:00");
  CHECK(clock_time(86'399'999) == "day 0, 23:59:59.999");
}

TEST_CASE("time_text: a span can be read again") {
  CHECK(time_text(0) == "0s");
  CHECK(time_text(90'000) == "1m30s");
  CHECK(time_text(45'000'000) == "12h30m");
  CHECK(time_text(93'784'005) == "1d2h3m4s5ms");
  for (const allot::instant span : {1LL, 999LL, 60'000LL, 3'599'999LL, 86'400'000LL, 999'999'999'999'999LL}) {
    CHECK(read_time(time_text(span)) == span);
  }
}
