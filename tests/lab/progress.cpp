// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/progress.hpp"

#include <doctest/doctest.h>

#include <chrono>

using allot::lab::progress_text;
using allot::lab::shown_span;
using allot::lab::simulated_so_far;
using std::chrono::milliseconds;

namespace {

constexpr allot::instant day = 86'400'000;

}  // namespace

TEST_CASE("progress: rate and time left") {
  CHECK(progress_text({12 * day, 53'069, 26'534, 1'620'000, {}}, milliseconds{2000}) ==
        "day 12, 26,534 of 53,069 jobs done, 810,000 events/s, 0:02 left");
  // The larger progress of the two: by jobs, or by time.
  CHECK(progress_text({9 * day, 1000, 100, 500, 10 * day}, milliseconds{9000}) ==
        "day 9 of 10, 100 of 1,000 jobs done, 55 events/s, 0:01 left");
  CHECK(progress_text({day, 1000, 1, 500, {}}, milliseconds{1000}) ==
        "day 1, 1 of 1,000 jobs done, 500 events/s");
  CHECK(progress_text({0, 0, 0, 0, {}}, milliseconds{0}) == "day 0, 0 of 0 jobs done");
  CHECK(progress_text({day, 10, 10, 20, {}}, milliseconds{1000}) ==
        "day 1, 10 of 10 jobs done, 20 events/s, 0:00 left");
}

TEST_CASE("progress: spans") {
  CHECK(shown_span(milliseconds{0}) == "0:00");
  CHECK(shown_span(milliseconds{1}) == "0:01");
  CHECK(shown_span(milliseconds{61'000}) == "1:01");
  CHECK(shown_span(milliseconds{3'723'000}) == "1:02:03");
}

TEST_CASE("progress: shows nothing unless the output is a terminal") {
  allot::lab::status_line line{false};
  CHECK_FALSE(line.is_shown());
  CHECK_FALSE(line.is_due());
}
