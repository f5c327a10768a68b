// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/detail/job_progress.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/seeds.hpp"
#include "tests/support/throwing_assert.hpp"

using allot::instant;
using allot::sim::job_progress;
using allot_test::for_each_seed;
using allot_test::random_source;

TEST_CASE("job_progress: with k of n pods it progresses at the rate k/n and ends when all work is done") {
  job_progress p{100, 4};
  CHECK(p.left() == 400);
  p.begin(1000, 4);
  CHECK(p.end() == 1100);
  p.resize(1050, 2);
  CHECK(p.left() == 200);
  CHECK(p.end() == 1150);
  p.resize(1060, 3);
  // 180 pod-milliseconds over 3 pods.
  CHECK(p.end() == 1120);
  p.resize(1061, 2);
  // 177 over 2 is not an integer: the first millisecond by which it is done.
  CHECK(p.end() == 1061 + 89);
  p.stop(1150);
  CHECK(p.left() == 0);
  CHECK(p.lost() == 0);
  CHECK(p.pods() == 0);
}

TEST_CASE("job_progress: what is not saved is lost, of all pods, and pods that leave lose nothing") {
  job_progress p{100, 2};
  p.begin(0, 1);
  p.resize(30, 2);
  p.resize(40, 1);
  // 30 + 20 + 5 of work; a checkpoint after every 20 ms of the whole job, that is, after every 40.
  CHECK(p.cut_short(45, 20) == 15);
  CHECK(p.left() == 160);
  CHECK(p.lost() == 15);
  p.begin(100, 2);
  CHECK(p.end() == 180);
  // 50 of work: the second checkpoint has not been reached.
  CHECK(p.cut_short(105, 20) == 10);
  CHECK(p.left() == 160);
  CHECK(p.lost() == 25);
}

TEST_CASE("job_progress: without checkpoints all is lost, with the checkpoint 0 nothing") {
  job_progress never{100, 1};
  never.begin(0, 1);
  CHECK(never.cut_short(99, std::nullopt) == 99);
  CHECK(never.left() == 100);
  job_progress always{100, 1};
  always.begin(0, 1);
  CHECK(always.cut_short(99, 0) == 0);
  CHECK(always.left() == 1);
}

TEST_CASE("job_progress: a restart costs the time that it takes, on all pods held meanwhile") {
  job_progress p{100, 2};
  p.begin(0, 2, 10);
  CHECK(p.end() == 110);
  p.resize(4, 1);
  CHECK(p.lost() == 8);
  CHECK(p.end() == 210);
  CHECK(p.cut_short(6, 0) == 0);
  CHECK(p.lost() == 10);
  p.begin(6, 2, 10);
  p.stop(116);
  CHECK(p.lost() == 30);
}

TEST_CASE("job_progress: a job that is stopped for good loses no work") {
  job_progress p{100, 1};
  p.begin(0, 1);
  p.stop(40);
  CHECK(p.left() == 60);
  CHECK(p.lost() == 0);
  CHECK_THROWS_AS(p.stop(50), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(p.cut_short(50, 0)), allot_test::assertion_failed);
}

TEST_CASE("job_progress: a job without work ends when it has restarted") {
  job_progress p{0, 3};
  p.begin(5, 1, 2);
  CHECK(p.end() == 7);
  p.stop(7);
  CHECK(p.left() == 0);
}

TEST_CASE(
    "job_progress: at another speed the same work takes another time, and ends at the first millisecond") {
  job_progress p{100, 2};
  p.begin(0, 2);
  p.pace(0, 300, std::nullopt);
  // 200 of work, 0.6 in a millisecond.
  CHECK(p.end() == 334);
  p.pace(101, 1500, std::nullopt);
  // 60.6 are done, 3 in a millisecond.
  CHECK(p.left() == 140);
  CHECK(p.done(101) == 60);
  CHECK(p.end() == 101 + 47);
  p.resize(102, 1);
  CHECK(p.end() == 102 + 91);
  p.stop(193);
  CHECK(p.left() == 0);
  CHECK(p.held(193) == 2 * 102 + 91);
  CHECK(p.lost() == 0);
}

TEST_CASE("job_progress: work is saved by work, and its time is lost, whatever the speed") {
  job_progress p{100, 2};
  p.begin(0, 2, 10);
  p.pace(0, 500, 20);
  // From 10 on one a millisecond; 40 of work are saved at 50, and then ten milliseconds of two pods are lost.
  CHECK(p.cut_short(60, 20) == 20);
  CHECK(p.left() == 160);
  CHECK(p.lost() == 20 + 20);
  p.begin(100, 2);
  p.pace(100, 2000, 20);
  p.pace(105, 250, 20);
  // 20 at four a millisecond, and 10 at a half: 30 in 5 + 20 milliseconds.
  CHECK(p.cut_short(125, 20) == 2 * 25);
  CHECK(p.left() == 160);
}

TEST_CASE("job_progress: a run that is first paced later has saved what it saved") {
  job_progress p{100, 1};
  p.begin(0, 1);
  p.pace(45, 500, 20);
  CHECK(p.cut_short(51, 20) == 5 + 6);
  CHECK(p.left() == 60);
  job_progress other{100, 1};
  other.begin(0, 1);
  other.pace(45, 500, std::nullopt);
  CHECK(other.cut_short(51, std::nullopt) == 51);
  CHECK(other.left() == 100);
}

namespace {

void compare_with_count(bool at_random_speeds) {
  for_each_seed(500, [&](random_source& random) {
    const auto n = static_cast<std::uint32_t>(random.between(1, 5));
    const instant duration = random.between(0, 60);
    std::optional<instant> checkpoint;
    if (!random.one_in(4)) checkpoint = random.between(0, 20);
    const std::int64_t unit = checkpoint ? *checkpoint * n * 1000 : 0;
    job_progress p{duration, n};
    // In thousandths of work.
    const std::int64_t work = duration * n * 1000;
    std::int64_t done = 0;
    std::int64_t kept = 0;
    std::int64_t held = 0;
    instant now = random.between(0, 10);
    const auto any_speed = [&] {
      constexpr allot::sim::speed some[] = {1, 250, 333, 999, 1000, 1001, 1500, 7000};
      return at_random_speeds ? random.pick(some) : allot::sim::nominal_speed;
    };
    for (int run = 0; run < 6; ++run) {
      auto pods = static_cast<std::uint32_t>(random.between(1, n));
      instant restart = random.between(0, 5);
      allot::sim::speed rate = any_speed();
      const std::int64_t lost_before = p.lost();
      // Of this run: restarts; and, in thousandths, what was held since work was saved.
      std::int64_t idle = 0;
      std::int64_t unsaved = 0;
      p.begin(now, pods, restart);
      if (at_random_speeds) p.pace(now, rate, checkpoint);
      for (bool runs = true; runs;) {
        const instant until = now + random.between(0, 15);
        bool is_done = done == work && restart == 0;
        while (now < until && !is_done) {
          held += pods;
          if (restart > 0) {
            --restart;
            idle += pods;
          } else {
            const std::int64_t before = done;
            done = std::min<std::int64_t>(work, done + std::int64_t{pods} * rate);
            unsaved += std::int64_t{pods} * 1000;
            if (unit > 0 && done / unit != before / unit) unsaved = done % unit * 1000 / rate / 1000 * 1000;
          }
          ++now;
          is_done = done == work && restart == 0;
        }
        REQUIRE(p.held(now) == held);
        REQUIRE(p.done(now) == done / 1000);
        if (is_done) {
          REQUIRE(p.end() == now);
          p.stop(now);
          REQUIRE(p.left() == 0);
          REQUIRE(p.lost() == lost_before + idle);
          return;
        }
        REQUIRE(p.end() > now);
        runs = !random.one_in(3);
        if (!runs) break;
        if (random.one_in(2)) p.resize(now, pods = static_cast<std::uint32_t>(random.between(1, n)));
        if (at_random_speeds && random.one_in(2)) p.pace(now, rate = any_speed(), checkpoint);
      }
      const std::int64_t before = done;
      if (!checkpoint) {
        done = 0;
      } else if (unit > 0) {
        done = kept = std::max(kept, done / unit * unit);
      }
      const std::int64_t lost = checkpoint && unit == 0 ? 0 : unsaved / 1000;
      if (!at_random_speeds) REQUIRE(lost == (before - done) / 1000);
      REQUIRE(p.cut_short(now, checkpoint) == lost);
      REQUIRE(p.lost() == lost_before + idle + lost);
      REQUIRE(p.left() == (work - done + 999) / 1000);
    }
  });
}

}  // namespace

TEST_CASE("job_progress: agrees with a count of every millisecond of every pod") {
  compare_with_count(false);
}

TEST_CASE("job_progress: with random speeds, agrees with a count of every millisecond of every pod") {
  compare_with_count(true);
}
