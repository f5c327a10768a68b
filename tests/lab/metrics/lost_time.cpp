// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/lost_time.hpp>
#include <allot/sim/detail/job_progress.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::instant;
using allot::wide;
using allot::lab::lost_time;
using allot::sim::job_progress;
using allot_test::random_source;

TEST_CASE("lost_time: the restart at the beginning of a run and the work at its end") {
  lost_time all;
  lost_time early{{std::numeric_limits<instant>::min(), 110}};
  lost_time late{{150, 1'000}};
  for (lost_time* l : {&all, &early, &late}) l->begin(3, 1, 100, 2);
  // A run of 100 with 2 pods: the first 20 were a restart and the last 30 are lost.
  CHECK(all.end(1, 200, 20, 2 * 50).in_window == 2 * 50);
  CHECK(early.end(1, 200, 20, 2 * 50).in_window == 2 * 10);
  CHECK(late.end(1, 200, 20, 2 * 50).in_window == 2 * 30);
  // The next run loses nothing more.
  all.begin(3, 1, 300, 2);
  CHECK(all.pods(1) == 2);
  CHECK(all.end(1, 400, 0, 2 * 50).in_window == 0);
  // And one more that ends during its restart.
  all.begin(3, 1, 500, 1);
  CHECK(all.end(1, 505, 20, 2 * 50 + 5).in_window == 5);
}

TEST_CASE("lost_time: a run that had more pods for a while") {
  // 1 pod for 10, 4 for 10, 2 for 10; 30 pod-milliseconds are lost: the last 20, and 10 of the 40 before.
  const auto lost_in = [](allot::lab::time_window w) {
    lost_time l{w};
    l.begin(1, 0, 0, 1);
    l.resize(0, 10, 4);
    l.resize(0, 20, 2);
    return l.end(0, 30, 0, 30).in_window;
  };
  CHECK(lost_in({}) == 30);
  CHECK(lost_in({20, 100}) == 20);
  // 2 whole milliseconds of 4 pods, and 2 pods of the one before.
  CHECK(lost_in({18, 20}) == 8);
  CHECK(lost_in({17, 18}) == 2);
  CHECK(lost_in({0, 17}) == 0);
}

TEST_CASE("lost_time: what was done before the measuring began, and a run that goes on") {
  lost_time l{{0, 1'000}};
  l.begin_measuring(180);
  l.begin(1, 0, 100, 2);
  const lost_time::amount lost = l.end(0, 200, 0, 2 * 30);
  CHECK(lost.in_window == 2 * 30);
  CHECK(lost.since_begin == 2 * 20);
  // Of a restart of 20, what is counted up to the last change of the pods.
  l.begin(1, 0, 300, 2);
  CHECK(l.so_far(0, 20).in_window == 0);
  l.resize(0, 310, 3);
  CHECK(l.so_far(0, 20).in_window == 2 * 10);
  l.resize(0, 400, 1);
  CHECK(l.so_far(0, 20).in_window == 2 * 10 + 3 * 10);
}

TEST_CASE("lost_time: in sum what job_progress counts, and windows that divide the time divide it") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const auto pods = static_cast<std::uint32_t>(random.between(1, 5));
    const instant restart = random.between(0, 20);
    std::optional<instant> checkpoint;
    if (!random.one_in(3)) checkpoint = random.between(0, 40);
    job_progress work{100'000, pods};
    const instant cut = random.between(0, 600);
    lost_time all;
    lost_time before{{std::numeric_limits<instant>::min(), cut}};
    lost_time after{{cut, std::numeric_limits<instant>::max()}};
    const auto each = [&](auto act) { act(all), act(before), act(after); };
    wide sum = 0;
    wide parts = 0;
    instant now = random.between(0, 50);
    for (std::int64_t runs = random.between(1, 5), i = 0; i < runs; ++i) {
      auto k = static_cast<std::uint32_t>(random.between(1, pods));
      const instant idle = i == 0 ? 0 : restart;
      work.begin(now, k, idle);
      each([&](lost_time& l) { l.begin(1, 0, now, k); });
      for (std::int64_t changes = random.between(0, 3); changes > 0; --changes) {
        now += random.between(0, 40);
        k = static_cast<std::uint32_t>(random.between(1, pods));
        work.resize(now, k);
        each([&](lost_time& l) { l.resize(0, now, k); });
      }
      now += random.between(0, 60);
      work.cut_short(now, checkpoint);
      sum += all.end(0, now, idle, work.lost()).in_window;
      parts += before.end(0, now, idle, work.lost()).in_window;
      const lost_time::amount later = after.end(0, now, idle, work.lost());
      CHECK(later.since_begin == later.in_window);
      parts += later.in_window;
      now += random.between(0, 30);
    }
    CHECK(sum == static_cast<wide>(work.lost()));
    CHECK(parts == sum);
  });
}
