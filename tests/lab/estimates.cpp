// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/estimates.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <allot/lab/generate.hpp>
#include <allot/lab/trace_csv_writer.hpp>

using namespace allot::lab;
using allot::instant;

namespace {

constexpr std::int64_t most_seconds = 1'000'000'000'000;

/// Durations from 2 ms to two weeks.
std::vector<instant> some_durations(std::size_t n) {
  random_stream random{7};
  std::vector<instant> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(draw_log_uniform(random, 2, 14 * day));
  return all;
}

std::int64_t whole_seconds(instant duration) {
  return std::max<std::int64_t>(1, (duration + 999) / 1000);
}

}  // namespace

TEST_CASE("find_estimate_model: finds every name, and no other") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < estimate_models.size(); ++i) {
    names.insert(estimate_models[i].name);
    CHECK_FALSE(estimate_models[i].summary.empty());
    const auto found = find_estimate_model(estimate_models[i].name);
    REQUIRE(found);
    CHECK(static_cast<std::size_t>(*found) == i);
    CHECK(name_of(*found) == estimate_models[i].name);
  }
  CHECK(names.size() == estimate_models.size());
  CHECK(find_estimate_model("tsafrir") == estimate_model::tsafrir);
  CHECK_FALSE(find_estimate_model("Exact"));
  CHECK_FALSE(find_estimate_model(""));
}

TEST_CASE("estimator: exact estimates are the duration in whole seconds, at least one") {
  estimator exact{estimate_model::exact, 1};
  CHECK(exact(0) == 1);
  CHECK(exact(1) == 1);
  CHECK(exact(1000) == 1);
  CHECK(exact(1001) == 2);
  CHECK(exact(3600 * second) == 3600);
  CHECK(exact(most_seconds * second) == most_seconds);
  estimator doubled{estimate_model::doubled, 1};
  CHECK(doubled(0) == 2);
  CHECK(doubled(1500) == 4);
  CHECK(doubled(most_seconds * second) == most_seconds);
  estimator none{estimate_model::none, 1};
  CHECK(none(3600 * second) == 0);
}

TEST_CASE("estimator: estimates lie between the duration and ten times that") {
  for (const estimate_model model :
       {estimate_model::exact, estimate_model::doubled, estimate_model::f_model, estimate_model::tsafrir}) {
    estimator draw{model, 3};
    std::int64_t least_times = std::numeric_limits<std::int64_t>::max();
    std::int64_t most_times = 0;
    for (const instant duration : some_durations(20'000)) {
      const std::int64_t seconds = whole_seconds(duration);
      const std::int64_t said = draw(duration);
      CHECK(said >= seconds);
      CHECK(said <= std::max<std::int64_t>(10 * seconds, model == estimate_model::tsafrir ? 300 : 1));
      if (seconds < 3600) continue;
      least_times = std::min(least_times, said * 10 / seconds);
      most_times = std::max(most_times, said * 10 / seconds);
    }
    CHECK(least_times <= (model == estimate_model::doubled ? 20 : 11));
    CHECK((most_times >= 95) == is_random(model));
    CHECK(draw(most_seconds * second) == most_seconds);
  }
}

TEST_CASE("estimator: Tsafrir's model: multiples of five minutes, 20 values for nine tenths of the jobs") {
  const auto& popular = popular_estimates();
  CHECK(std::is_sorted(popular.begin(), popular.end()));
  CHECK(std::set<std::int64_t>(popular.begin(), popular.end()).size() == 20);
  estimator draw{estimate_model::tsafrir, 11};
  std::size_t round = 0;
  std::set<std::int64_t> given;
  const std::vector<instant> durations = some_durations(50'000);
  for (const instant duration : durations) {
    const std::int64_t said = draw(duration);
    CHECK(said % 300 == 0);
    given.insert(said);
    round += std::binary_search(popular.begin(), popular.end(), said) ? 1U : 0U;
  }
  CHECK(round * 10 >= durations.size() * 9);
  CHECK(round < durations.size());
  // All of the popular ones, and others.
  for (const std::int64_t p : popular) CHECK(given.count(p) == 1);
  CHECK(given.size() > 100);
  // Beyond the popular ones there are only multiples of five minutes.
  CHECK(draw(60 * day) % 300 == 0);
  CHECK(draw(60 * day) >= 60 * 86'400);
}

TEST_CASE("estimator: the same seed gives the same estimates, another seed gives others") {
  for (const estimate_model model : {estimate_model::f_model, estimate_model::tsafrir}) {
    estimator a{model, 5};
    estimator b{model, 5};
    estimator c{model, 6};
    std::size_t different = 0;
    for (const instant duration : some_durations(1000)) {
      const std::int64_t said = a(duration);
      CHECK(b(duration) == said);
      different += c(duration) != said ? 1U : 0U;
    }
    CHECK(different > 100);
  }
  // The same on every machine.
  estimator draw{estimate_model::tsafrir, 1};
  std::vector<std::int64_t> first;
  for (int i = 0; i < 6; ++i) first.push_back(draw(2 * hour));
  CHECK(first == std::vector<std::int64_t>{64'800, 14'400, 10'800, 58'500, 43'200, 24'000});
}

TEST_CASE("set_estimates: nothing else of a workload changes") {
  const trace plain = generate_uniform({.jobs = 200});
  trace with = plain;
  set_estimates(with, estimate_model::f_model, 1);
  std::set<std::int64_t> given;
  for (const trace_job& j : with.jobs) given.insert(j.estimate);
  CHECK(given.size() > 100);
  CHECK(given.count(0) == 0);
  set_estimates(with, estimate_model::exact, 1);
  for (const trace_job& j : with.jobs) CHECK(j.estimate == whole_seconds(j.duration));
  set_estimates(with, estimate_model::none, 1);
  CHECK(to_csv(with) == to_csv(plain));
}
