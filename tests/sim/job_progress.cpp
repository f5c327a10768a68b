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

TEST_CASE("job_progress: agrees with a count of every millisecond of every pod") {
  for_each_seed(500, [](random_source& random) {
    const auto n = static_cast<std::uint32_t>(random.between(1, 5));
    const instant duration = random.between(0, 60);
    std::optional<instant> checkpoint;
    if (!random.one_in(4)) checkpoint = random.between(0, 20);
    job_progress p{duration, n};
    const instant work = duration * n;
    instant done = 0;
    instant kept = 0;
    instant lost = 0;
    instant now = random.between(0, 10);
    for (int run = 0; run < 6; ++run) {
      auto pods = static_cast<std::uint32_t>(random.between(1, n));
      instant restart = random.between(0, 5);
      p.begin(now, pods, restart);
      for (bool runs = true; runs;) {
        const instant until = now + random.between(0, 15);
        bool is_done = done == work && restart == 0;
        while (now < until && !is_done) {
          if (restart > 0) {
            --restart;
            lost += pods;
          } else {
            done = std::min<instant>(work, done + pods);
          }
          ++now;
          is_done = done == work && restart == 0;
        }
        if (is_done) {
          REQUIRE(p.end() == now);
          p.stop(now);
          REQUIRE(p.left() == 0);
          REQUIRE(p.lost() == lost);
          return;
        }
        REQUIRE(p.end() > now);
        runs = !random.one_in(3);
        if (runs) {
          pods = static_cast<std::uint32_t>(random.between(1, n));
          p.resize(now, pods);
        }
      }
      instant saved = 0;
      if (checkpoint) {
        for (instant w = 0; w <= done; ++w) {
          if (*checkpoint == 0 || w % (*checkpoint * n) == 0) saved = w;
        }
      }
      kept = std::max(kept, saved);
      REQUIRE(p.cut_short(now, checkpoint) == done - kept);
      lost += done - kept;
      done = kept;
      REQUIRE(p.left() == work - done);
      REQUIRE(p.lost() == lost);
    }
  });
}
