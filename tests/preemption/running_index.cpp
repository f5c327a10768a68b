// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/running_index.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using allot::job_id;
using allot::quota_id;
using allot::running_job;
using allot_test::random_source;

namespace {

/// Few values, so that every key ties now and then; only `order` never does.
running_job<> random_job(random_source& random, std::size_t i) {
  running_job<> j;
  j.id = job_id{i};
  j.quota = quota_id{random.below(3)};
  j.priority = random.between(-1, 1);
  j.started = random.between(0, 2);
  j.submitted = random.between(0, 2);
  j.order = 1000 - i;
  j.elastic = random.one_in(3);
  if (j.elastic) j.core = job_id{random.below(6)};
  j.request = allot::gpus(random.between(1, 8));
  return j;
}

/// Lowest priority, elastic pods, newest start, latest submission, largest number.
bool yields_first(const running_job<>& a, const running_job<>& b) {
  return std::tuple{a.priority, !a.elastic, -a.started, -a.submitted, ~a.order} <
         std::tuple{b.priority, !b.elastic, -b.started, -b.submitted, ~b.order};
}

}  // namespace

TEST_CASE("running_index: lowest priority, elastic pods, newest start, latest in the queue") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const running_job<> a = random_job(random, 1);
    const running_job<> b = random_job(random, 2);
    CHECK((compare_as_victims(a, b) < 0) == yields_first(a, b));
    CHECK((compare_as_victims(b, a) < 0) == yields_first(b, a));
    CHECK(compare_as_victims(a, a) == std::strong_ordering::equal);
  });
}

TEST_CASE("running_index: keeps each quota's jobs in eviction order, the next one last") {
  allot_test::for_each_seed(200, [](random_source& random) {
    allot::running_index<> index;
    index.resize(3);
    std::vector<running_job<>> jobs;
    for (std::size_t i = 0; i < 120; ++i) {
      if (!jobs.empty() && random.one_in(3)) {
        const std::size_t at = random.below(jobs.size());
        index.erase(jobs[at]);
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        jobs.push_back(random_job(random, i));
        index.insert(jobs.back());
      }
      const quota_id x{random.below(3)};
      std::vector<running_job<>> expected;
      std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(expected),
                   [&](const running_job<>& j) { return j.quota == x; });
      std::sort(expected.begin(), expected.end(),
                [](const auto& a, const auto& b) { return yields_first(b, a); });
      const auto found = index.jobs_of(x);
      REQUIRE(found.size() == expected.size());
      running_job<> core = random_job(random, random.below(6));
      core.quota = x;
      core.elastic = false;
      std::vector<job_id> units;
      for (std::size_t k = expected.size(); k-- > 0;) {
        const auto& unit = expected[k];
        if (unit.elastic && unit.core == core.id && unit.priority == core.priority) units.push_back(unit.id);
      }
      std::vector<job_id> visited;
      index.for_each_elastic_pod(core, [&](const running_job<>& unit) { visited.push_back(unit.id); });
      REQUIRE(visited == units);
      for (std::size_t k = 0; k < found.size(); ++k) REQUIRE(found[k].id == expected[k].id);
    }
  });
}

TEST_CASE("running_index: an elastic pod has no elastic pods") {
  allot::running_index<> index;
  index.resize(1);
  running_job<> unit;
  unit.id = job_id{1};
  unit.quota = quota_id{0};
  unit.elastic = true;
  unit.core = job_id{1};
  index.insert(unit);
  std::size_t visits = 0;
  index.for_each_elastic_pod(unit, [&](const running_job<>&) { ++visits; });
  CHECK(visits == 0);
}

TEST_CASE("running_index: grows with the tree and keeps what it has") {
  allot::running_index<> index;
  index.resize(1);
  running_job<> j;
  j.quota = quota_id{0};
  index.insert(j);
  index.resize(5);
  CHECK(index.jobs_of(quota_id{0}).size() == 1);
  CHECK(index.jobs_of(quota_id{4}).empty());
}

TEST_CASE("running_index: erasing an absent job is a broken precondition") {
  allot::running_index<> index;
  index.resize(1);
  running_job<> j;
  j.id = job_id{1};
  j.quota = quota_id{0};
  CHECK_THROWS_AS(index.erase(j), allot_test::assertion_failed);
  index.insert(j);
  running_job<> other = j;
  other.id = job_id{2};
  CHECK_THROWS_AS(index.erase(other), allot_test::assertion_failed);
  other = j;
  other.started = 5;
  CHECK_THROWS_AS(index.erase(other), allot_test::assertion_failed);
  index.erase(j);
  CHECK(index.jobs_of(quota_id{0}).empty());
}

TEST_CASE("running_index: does not allocate below its largest size so far") {
  random_source random{3};
  allot::running_index<> index;
  index.resize(3);
  std::vector<running_job<>> jobs;
  for (std::size_t i = 0; i < 100; ++i) jobs.push_back(random_job(random, i));
  const auto fill_and_empty = [&] {
    for (const auto& j : jobs) index.insert(j);
    for (const auto& j : jobs) index.erase(j);
  };
  fill_and_empty();
  CHECK(allot_test::allocations_in(fill_and_empty) == 0);
}

TEST_CASE("running_index: a follower gets each change once") {
  allot::running_index<> index;
  index.resize(1);
  running_job<> j;
  j.quota = quota_id{0};
  j.id = job_id{7};
  index.insert(j);
  std::vector<bool> told;
  const auto take = [&] {
    told.clear();
    index.take_changes([&](const auto& c) {
      CHECK(c.id == job_id{7});
      CHECK(c.quota == quota_id{0});
      told.push_back(c.comes);
    });
    return told;
  };
  CHECK(take().empty());
  index.follow();
  index.erase(j);
  index.insert(j);
  CHECK(take() == std::vector<bool>{false, true});
  CHECK(take().empty());
  CHECK(index.elastic_count(quota_id{0}) == 0);
}
