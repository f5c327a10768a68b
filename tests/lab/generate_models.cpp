// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/generate_models.hpp>
#include <allot/lab/trace.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

using namespace allot::lab;
using allot::instant;

namespace {

constexpr std::int64_t any_size = 1'000'000'000;
constexpr instant any_time = 1'000 * day;

struct sample {
  std::vector<instant> durations;
  std::map<std::int64_t, std::size_t> sizes;
  double mean_gpus = 0;
  double mean_seconds = 0;

  [[nodiscard]] double seconds_at(double part) const {
    return static_cast<double>(
               durations[static_cast<std::size_t>(part * static_cast<double>(durations.size()))]) /
           1'000;
  }
  [[nodiscard]] double share(std::int64_t gpus_milli) const {
    const auto at = sizes.find(gpus_milli);
    return at == sizes.end() ? 0 : static_cast<double>(at->second) / static_cast<double>(durations.size());
  }
};

sample draw_many(job_model m, std::size_t count, std::int64_t largest = any_size,
                 instant longest = any_time) {
  sample all;
  random_stream random{20'261'121};
  bool fits = true;
  for (std::size_t i = 0; i < count; ++i) {
    const job_shape s = draw_job(random, m, largest, longest);
    fits = fits && s.gpus_milli >= 50 && s.gpus_milli * s.copies <= largest && s.duration >= second &&
           s.duration <= longest;
    all.durations.push_back(s.duration);
    ++all.sizes[s.gpus_milli];
    all.mean_gpus += static_cast<double>(s.gpus_milli) / 1'000 / static_cast<double>(count);
    all.mean_seconds += static_cast<double>(s.duration) / 1'000 / static_cast<double>(count);
  }
  CHECK(fits);
  std::sort(all.durations.begin(), all.durations.end());
  return all;
}

/// Whether `a` equals `b` except for a part of it.
bool is_near(double a, double b, double part) {
  return b * (1 - part) <= a && a <= b * (1 + part);
}

}  // namespace

TEST_CASE("draw_job: Philly's sizes and durations") {
  const sample s = draw_many(job_model::philly, 200'000);
  CHECK(is_near(s.share(1'000), 0.9317, 0.01));
  CHECK(is_near(s.share(8'000), 0.0200, 0.1));
  CHECK(is_near(s.seconds_at(0.5), 1'144, 0.1));
  CHECK(is_near(s.seconds_at(0.75), 2'932, 0.1));
  CHECK(is_near(s.seconds_at(0.9), 11'266, 0.25));
  // Nearly half of the GPU-time is in the jobs of eight GPUs.
  random_stream random{1};
  double eight = 0;
  double all = 0;
  for (int i = 0; i < 200'000; ++i) {
    const job_shape shape = draw_job(random, job_model::philly, any_size, any_time);
    const double work = static_cast<double>(shape.gpus_milli) * static_cast<double>(shape.duration);
    all += work;
    eight += shape.gpus_milli == 8'000 ? work : 0;
  }
  CHECK(is_near(eight / all, 0.48, 0.2));
}

TEST_CASE("draw_job: Helios' averages and median") {
  const sample s = draw_many(job_model::helios, 200'000, any_size, 14 * day);
  CHECK(is_near(s.mean_gpus, 3.72, 0.05));
  CHECK(is_near(s.mean_seconds, 6'652, 0.1));
  CHECK(is_near(s.seconds_at(0.5), 206, 0.1));
  CHECK(s.share(1'000) > 0.5);
}

TEST_CASE("draw_job: openb's parts of GPUs") {
  const sample sensitive = draw_many(job_model::openb_sensitive, 100'000);
  CHECK(is_near(sensitive.share(1'000), 0.825, 0.02));
  CHECK(is_near(sensitive.seconds_at(0.5), 946, 0.1));
  const sample best_effort = draw_many(job_model::openb_best_effort, 100'000);
  CHECK(is_near(best_effort.share(810), 0.428, 0.02));
  CHECK(is_near(best_effort.seconds_at(0.5), 279, 0.1));
  CHECK(is_near(best_effort.seconds_at(0.9), 8'595, 0.15));
}

TEST_CASE("draw_job: services and sessions") {
  random_stream random{3};
  std::map<std::int64_t, int> replicas;
  for (int i = 0; i < 10'000; ++i) {
    const job_shape s = draw_job(random, job_model::inference, 8'000, any_time);
    ++replicas[s.copies];
    CHECK(s.duration >= 3 * hour);
    CHECK(s.duration <= 24 * hour);
  }
  CHECK(replicas.size() == 4);
  CHECK(is_near(replicas[8], 2'000, 0.1));

  const sample sessions = draw_many(job_model::interactive, 100'000);
  // Sessions longer than nine hours were left open by their users.
  const auto worked =
      static_cast<double>(std::upper_bound(sessions.durations.begin(), sessions.durations.end(), 9 * hour) -
                          sessions.durations.begin());
  CHECK(is_near(1 - worked / 100'000, 0.35, 0.05));
  CHECK(is_near(sessions.share(500), 0.20, 0.05));
  CHECK(sessions.durations.back() <= 81 * hour);
}

TEST_CASE("draw_job: never more GPUs or time than there are") {
  for (const job_model m : {job_model::philly, job_model::helios, job_model::openb_sensitive,
                            job_model::openb_best_effort, job_model::inference, job_model::interactive}) {
    CAPTURE(static_cast<int>(m));
    static_cast<void>(draw_many(m, 5'000, 1'000, hour));
    static_cast<void>(draw_many(m, 5'000, 3'000, second));
  }
}

TEST_CASE("rhythm_of: every model has submissions in every hour") {
  for (const job_model m : {job_model::philly, job_model::helios, job_model::openb_sensitive,
                            job_model::openb_best_effort, job_model::inference, job_model::interactive}) {
    for (const std::uint64_t weight : rhythm_of(m).hours) CHECK(weight > 0);
    CHECK(rhythm_of(m).weekend_percent > 0);
  }
  CHECK(rhythm_of(job_model::interactive).weekend_percent == 25);
}
