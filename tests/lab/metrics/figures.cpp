// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/figures.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/support/seeds.hpp"

using allot::wide;
using allot::lab::milli_gpu_hours;
using allot::lab::rate_in_millionths;

TEST_CASE("figures: rates are rounded to the nearest millionth, and are 0 without a base") {
  CHECK(rate_in_millionths(1, 3) == 333'333);
  CHECK(rate_in_millionths(2, 3) == 666'667);
  CHECK(rate_in_millionths(5, 5) == 1'000'000);
  CHECK(rate_in_millionths(0, 5) == 0);
  CHECK(rate_in_millionths(0, 0) == 0);
  // A million GPUs for a century.
  constexpr wide all = wide{1'000'000'000} * 3'155'760'000'000;
  CHECK(rate_in_millionths(all / 4, all) == 250'000);
}

TEST_CASE("figures: GPU time in hours") {
  // One GPU for an hour is 1,000 milli-GPUs times 3,600,000 ms.
  CHECK(milli_gpu_hours(wide{1000} * 3'600'000) == 1000);
  CHECK(milli_gpu_hours(1'799'999) == 0);
  CHECK(milli_gpu_hours(1'800'000) == 1);
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    const std::int64_t gpus = random.between(1, 10'000);
    const std::int64_t hours = random.between(1, 10'000);
    CHECK(milli_gpu_hours(static_cast<wide>(gpus * 1000) * static_cast<wide>(hours * 3'600'000)) ==
          gpus * hours * 1000);
  });
}

TEST_CASE("figures: so many per GPU-hour") {
  using allot::lab::per_gpu_hour_in_millionths;
  constexpr wide gpu_hour = wide{1000} * 3'600'000;
  CHECK(per_gpu_hour_in_millionths(3, 4 * gpu_hour) == 750'000);
  CHECK(per_gpu_hour_in_millionths(2, 3 * gpu_hour) == 666'667);
  CHECK(per_gpu_hour_in_millionths(0, gpu_hour) == 0);
  CHECK(per_gpu_hour_in_millionths(5, 0) == 0);
}

TEST_CASE("figures: the makespan without jobs is 0") {
  CHECK(allot::lab::run_figures{}.makespan() == 0);
  allot::lab::run_figures f;
  f.first_submit = 5;
  CHECK(f.makespan() == 0);
  f.end = 7;
  CHECK(f.makespan() == 2);
}

TEST_CASE("figures: jobs by size") {
  using allot::lab::size_bucket;
  using allot::lab::size_names;
  const auto name = [](std::int64_t milli) { return size_names[size_bucket(milli)]; };
  CHECK(name(0) == "<1");
  CHECK(name(999) == "<1");
  CHECK(name(1'000) == "1");
  CHECK(name(1'500) == "2-4");
  CHECK(name(4'000) == "2-4");
  CHECK(name(8'000) == "5-8");
  CHECK(name(9'000) == "9-16");
  CHECK(name(64'000) == "17-64");
  CHECK(name(65'000) == ">64");
}

TEST_CASE("figures: the parts of the waiting and the largest error") {
  allot::lab::wait_split w;
  w.by = {1, 2, 3, 4};
  CHECK(w.total() == 10);
  CHECK(w[allot::lab::wait_cause::fragmentation] == 2);
  allot::lab::run_figures f;
  CHECK(f.largest_fair_share_error() == 0);
  f.quotas.resize(3);
  f.quotas[1].of.fair_share_error = 7;
  f.quotas[2].of.fair_share_error = 5;
  CHECK(f.largest_fair_share_error() == 7);
}
