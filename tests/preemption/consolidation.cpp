// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/consolidation.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::consolidation_search;
using allot::gpus;
using allot::job_id;
using allot::running_job;
using allot::search_outcome;
using allot_test::random_source;

namespace {

/// Machines with free GPUs; a job runs on one of them, and moves to the first other one with room.
struct machines {
  std::vector<std::int64_t> free;
  std::vector<std::size_t> where;
  std::int64_t wanted;
  std::vector<std::size_t> origin = where;

  void take_off(const running_job<>& j) { free[where[j.id.index()]] += size(j); }
  void put_back(const running_job<>& j) { stand(j, origin[j.id.index()]); }
  bool place_elsewhere(const running_job<>& j) {
    for (std::size_t m = 0; m < free.size(); ++m) {
      if (m == origin[j.id.index()] || free[m] < size(j)) continue;
      stand(j, m);
      return true;
    }
    return false;
  }
  [[nodiscard]] bool could_place() const {
    for (const std::int64_t f : free) {
      if (f >= wanted) return true;
    }
    return false;
  }
  void stand(const running_job<>& j, std::size_t m) {
    where[j.id.index()] = m;
    free[m] -= size(j);
  }
  static std::int64_t size(const running_job<>& j) { return j.request[0].in_milli() / 1000; }
};
static_assert(allot::replacing_world<machines, 1>);

std::vector<running_job<>> jobs_of(const std::vector<int>& sizes) {
  std::vector<running_job<>> jobs(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    jobs[i].id = job_id{i};
    jobs[i].request = gpus(sizes[i]);
  }
  return jobs;
}

}  // namespace

TEST_CASE("consolidation: two half-used machines make room for a whole one") {
  const auto jobs = jobs_of({4, 4});
  machines world{{4, 4}, {0, 1}, 8};
  consolidation_search<1> search;
  CHECK(search.run(jobs, world) == search_outcome::found);
  REQUIRE(search.moves().size() == 1);
  CHECK(search.moves()[0].job.id == job_id{0});
  CHECK(search.moves()[0].how == allot::relation::consolidation);
  CHECK(world.could_place());
  CHECK(world.where == std::vector<std::size_t>{1, 1});
}

TEST_CASE("consolidation: fails if a moved job would have no place") {
  const auto jobs = jobs_of({4, 6});
  machines world{{4, 2}, {0, 1}, 8};
  consolidation_search<1> search;
  CHECK(search.run(jobs, world) == search_outcome::not_proven);
  machines small{{3, 2}, {0, 1}, 9};
  CHECK(search.run(jobs, small) == search_outcome::impossible);
}

TEST_CASE("consolidation: a job that turns out not to be in the way stays") {
  const auto jobs = jobs_of({1, 4});
  machines world{{7, 4, 4}, {0, 1, 0}, 8};
  consolidation_search<1> search;
  CHECK(search.run(jobs, world) == search_outcome::found);
  CHECK(search.moves().size() == 1);
  machines other{{2, 4, 4}, {0, 1}, 8};
  CHECK(search.run(jobs, other) == search_outcome::found);
  REQUIRE(search.moves().size() == 1);
  CHECK(search.moves()[0].job.id == job_id{1});
  CHECK(other.where[0] == 0);
}

TEST_CASE("consolidation: bounds the number of moves") {
  const auto jobs = jobs_of({1, 1, 1, 1});
  const machines world{{4, 4, 4, 4}, {0, 0, 0, 0}, 8};
  machines one = world;
  CHECK(consolidation_search<1>{3}.run(jobs, one) == search_outcome::not_proven);
  machines two = world;
  CHECK(consolidation_search<1>{4}.run(jobs, two) == search_outcome::found);
}

TEST_CASE("consolidation: every job keeps a place, no machine is overfull, every move is needed") {
  std::size_t found = 0;
  allot_test::for_each_seed(3000, [&](random_source& random) {
    const std::size_t count = 2 + random.below(4);
    machines world{std::vector<std::int64_t>(count, 8), {}, random.between(1, 8)};
    std::vector<int> sizes;
    for (int i = 0; i < 12; ++i) {
      const auto size = random.between(1, 5);
      const std::size_t m = random.below(count);
      if (world.free[m] < size) continue;
      world.free[m] -= size;
      world.where.push_back(m);
      sizes.push_back(static_cast<int>(size));
    }
    world.origin = world.where;
    if (world.could_place()) return;
    const auto jobs = jobs_of(sizes);
    const machines before = world;
    consolidation_search<1> search{8};
    if (search.run(jobs, world) != search_outcome::found) return;
    ++found;
    CHECK(world.could_place());
    std::vector<std::int64_t> free(count, 8);
    for (std::size_t i = 0; i < sizes.size(); ++i) free[world.where[i]] -= sizes[i];
    CHECK(free == world.free);
    for (const std::int64_t f : free) CHECK(f >= 0);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) moved += world.where[i] != before.where[i] ? 1U : 0U;
    CHECK(moved == search.moves().size());
  });
  if (allot_test::all_cases_run()) CHECK(found > 100);
}
