// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/lost_work.hpp>
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::cheapest_lost_work;
using allot::gpus;
using allot::ledger;
using allot::lost_work;
using allot::quota_id;
using allot::running_job;

static_assert(allot::victim_order<cheapest_lost_work, 1>);
static_assert(allot::orders_within_quota<cheapest_lost_work, 3>);
static_assert(!allot::orders_within_quota<allot::lowest_priority_then_newest, 1>);

namespace {

running_job<> job(std::int64_t started, std::int64_t checkpoint, std::int64_t restart, int request = 1) {
  running_job<> j;
  j.quota = quota_id{1};
  j.started = started;
  j.checkpoint = checkpoint;
  j.restart = restart;
  j.request = gpus(request);
  return j;
}
bool is(allot::wide cost, std::int64_t expected) {
  return cost == static_cast<allot::wide>(expected);
}

struct anywhere {
  void take_off(const running_job<>&) {}
  void put_back(const running_job<>&) {}
  [[nodiscard]] bool could_place() const { return true; }
};

}  // namespace

TEST_CASE("work_at_stake: what an eviction costs just before the next checkpoint, at most") {
  using allot::work_at_stake;
  CHECK(is(work_at_stake(job(100, 25, 7, 8), 100), 8 * 32'000));
  CHECK(is(work_at_stake(job(100, 25, 7, 8), 174), 8 * 32'000));
  // A job that saves nothing loses what it has done.
  CHECK(is(work_at_stake(job(100, 0, 7), 160), 67'000));
  CHECK(work_at_stake(job(100, 0, 7), 160) == lost_work(job(100, 0, 7), 160));
}

TEST_CASE("lost_work: the time since the last checkpoint plus the restart, on all GPUs") {
  CHECK(is(lost_work(job(100, 0, 0), 160), 60'000));
  CHECK(is(lost_work(job(100, 25, 0), 160), 10'000));
  CHECK(is(lost_work(job(100, 25, 0), 174), 24'000));
  CHECK(is(lost_work(job(100, 25, 0), 175), 0));
  CHECK(is(lost_work(job(100, 25, 7, 8), 160), 8 * 17'000));
  // Started at the same instant, or with a start in the future.
  CHECK(is(lost_work(job(100, 25, 7), 100), 7'000));
  CHECK(is(lost_work(job(100, 0, 0), 50), 0));
  running_job<3> flavored;
  flavored.request = {gpus(64), gpus(2), gpus(1)};
  CHECK(is(lost_work(flavored, 10, 1, 2), 30'000));
  CHECK(is(lost_work(flavored, 10, 2, 9), 10'000));
}

TEST_CASE("lost_work: does not overflow") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  running_job<> j = job(0, 0, most - 1);
  j.request[0] = allot::quantity::milli(most - 1);
  CHECK(lost_work(j, most) > static_cast<allot::wide>(most));
}

TEST_CASE("cheapest_lost_work: a job that has just saved its work yields before one that is about to") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "B", .parent = "root"},
                                         {.name = "A", .parent = "root", .nominal = gpus(8)}})
                 .value()};
  allot::running_index<> running;
  running.resize(3);
  std::vector<running_job<>> jobs{job(0, 100, 0), job(1, 100, 0), job(2, 0, 0), job(50, 100, 30)};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = allot::job_id{i};
    jobs[i].order = i;
    jobs[i].priority = i == 2 ? -1 : 0;
    l.charge(jobs[i].quota, jobs[i].request);
    running.insert(jobs[i]);
  }
  l.charge(quota_id{2}, gpus(4));
  allot::victim_search<1, cheapest_lost_work, allot::eligible_is_fair> find;
  const auto order_at = [&](allot::instant now) {
    allot::beneficiary<1> b{quota_id{2}, gpus(4)};
    b.now = now;
    anywhere world;
    const auto before = l.save();
    REQUIRE(find.run(l, running, b, world) == allot::search_outcome::found);
    l.rollback(before);
    std::vector<std::size_t> result;
    for (const auto& v : find.victims()) result.push_back(v.job.id.index());
    return result;
  };
  using numbers = std::vector<std::size_t>;
  // The lowest priority first, whatever the cost.
  CHECK(order_at(100) == numbers{2, 0, 3, 1});  // 0, 80, 99
  CHECK(order_at(101) == numbers{2, 1, 0, 3});  // 0, 1, 81
  CHECK(order_at(150) == numbers{2, 3, 1, 0});  // 30, 49, 50
}

TEST_CASE("cheapest_lost_work: the order within a quota agrees with the key") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    const ledger<> l{allot::build_quota_tree<1>({{.name = "r"}, {.name = "q", .parent = "r"}}).value()};
    const cheapest_lost_work order;
    const allot::instant now = random.between(0, 50);
    std::vector<running_job<>> jobs;
    for (std::size_t i = 0; i < 8; ++i) {
      jobs.push_back(job(random.between(0, 20), random.between(0, 3), random.between(0, 3)));
      jobs.back().priority = random.between(0, 1);
      jobs.back().elastic = random.one_in(2);
      jobs.back().order = i;
    }
    for (const auto& x : jobs) {
      for (const auto& y : jobs) {
        const bool before = order.within_quota(x, y, now);
        CHECK(before + order.within_quota(y, x, now) == (x.order == y.order ? 0 : 1));
        const allot::victim_candidate<1> dx{quota_id{1}, allot::relation::borrower, x, x.request, now};
        const allot::victim_candidate<1> dy{quota_id{1}, allot::relation::borrower, y, y.request, now};
        CHECK((order(l, dx) < order(l, dy)) == before);
        for (const auto& z : jobs) {
          if (before && order.within_quota(y, z, now)) REQUIRE(order.within_quota(x, z, now));
        }
      }
    }
  });
}
