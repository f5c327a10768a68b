// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/isolation.hpp>

#include <doctest/doctest.h>

#include <vector>

using allot::lab::finish_time_fairness;
using allot::lab::finish_time_figures;
using allot::lab::shared_and_alone;
using allot::lab::sharing_anomaly;

TEST_CASE("isolation: the sharing anomaly is the difference of the mean delays") {
  const std::vector<shared_and_alone> worse = {{10, 0}, {0, 5}, {100, 4}};
  CHECK(sharing_anomaly(worse).jobs == 3);
  CHECK(sharing_anomaly(worse).mean_shared() == 37);
  CHECK(sharing_anomaly(worse).mean_alone() == 3);
  // 101 / 3, to the nearest.
  CHECK(sharing_anomaly(worse).anomaly() == 34);
  const std::vector<shared_and_alone> better = {{0, 10}, {5, 0}, {4, 100}};
  CHECK(sharing_anomaly(better).anomaly() == -34);
  CHECK(sharing_anomaly({}).anomaly() == 0);
  CHECK(sharing_anomaly({}).jobs == 0);
  // Halves away from zero, on both sides.
  CHECK(sharing_anomaly(std::vector<shared_and_alone>{{1, 0}, {0, 0}}).anomaly() == 1);
  CHECK(sharing_anomaly(std::vector<shared_and_alone>{{0, 1}, {0, 0}}).anomaly() == -1);
}

TEST_CASE("isolation: rho of jobs, worked by hand") {
  const std::vector<shared_and_alone> times = {{100, 200}, {200, 200}, {104, 100},
                                               {105, 100}, {106, 100}, {300, 100}};
  const finish_time_figures f = finish_time_fairness(times);
  CHECK(f.jobs == 6);
  CHECK(f.max == 3'000'000);
  CHECK(f.above_one == 4);
  // Exactly 1.05 is not above it.
  CHECK(f.unfair == 2);
  CHECK(f.sum == 500'000 + 1'000'000 + 1'040'000 + 1'050'000 + 1'060'000 + 3'000'000);
  CHECK(f.mean() == 1'275'000);
  finish_time_figures sum = f;
  sum += finish_time_fairness(std::vector<shared_and_alone>{{500, 100}});
  CHECK(sum.jobs == 7);
  CHECK(sum.max == 5'000'000);
  CHECK(sum.unfair == 3);
  CHECK(finish_time_figures{}.mean() == 0);
}

TEST_CASE("isolation: jobs of zero duration") {
  const finish_time_figures f = finish_time_fairness(std::vector<shared_and_alone>{{0, 0}, {3, 0}});
  CHECK(f.sum == 1'000'000 + 3'000'000);
  CHECK(f.above_one == 1);
}
