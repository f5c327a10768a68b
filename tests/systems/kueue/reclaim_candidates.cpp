// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kueue/detail/reclaim_candidates.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using allot::candidate;
using allot::gpus;
using allot::job_id;
using allot::quantity;
using allot::quota_id;
using allot::running_job;
using allot::victim;

namespace {

const quota_id own{1}, other{2};

running_job<1> job(std::size_t id, quota_id of, std::int64_t priority, allot::instant since,
                   std::uint64_t order) {
  running_job<1> j;
  j.id = job_id{id};
  j.quota = of;
  j.priority = priority;
  j.started = since;
  j.order = order;
  j.request = gpus(1);
  return j;
}

}  // namespace

TEST_CASE("reclaim_candidates: the order of Kueue's TestCandidatesOrdering") {
  const std::vector<running_job<1>> jobs{
      job(1, own, 10, 5, 1),   // high
      job(2, own, -10, 5, 2),  // low
      job(3, other, 0, 5, 3),  // other
      job(4, own, 0, 5, 4),    // evicted
      job(5, own, 0, 4, 6),    // old-b
      job(6, own, 0, 4, 5),    // old-a
      job(7, own, 0, 6, 7),    // current
  };
  std::vector<candidate<1>> order;
  for (const auto& j : jobs) order.push_back({&j, j.id == job_id{4}});
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return allot::compare_candidates(a, b, own) < 0; });
  std::vector<std::size_t> ids;
  for (const auto& c : order) ids.push_back(c.job->id.index());
  CHECK(ids == std::vector<std::size_t>{4, 3, 2, 7, 6, 5, 1});
}

TEST_CASE("reclaim_candidates: only quotas beyond their own in a contested dimension") {
  allot::ledger<2> l{
      allot::build_quota_tree<2>({{.name = "pool", .nominal = {gpus(9), gpus(9)}},
                                  {.name = "a", .parent = "pool", .nominal = {gpus(2), gpus(2)}}})
          .value()};
  l.charge(own, {gpus(2), gpus(3)});
  CHECK(allot::detail::is_within_supply<2>(l, own, {true, false}));
  CHECK_FALSE(allot::detail::is_within_supply<2>(l, own, {true, true}));
}

TEST_CASE("reclaim_candidates: an unnecessary victim is put back, and the last one takes its position") {
  allot::ledger<> l{allot::build_quota_tree<1>({{.name = "pool"},
                                                {.name = "own", .parent = "pool", .nominal = gpus(6)},
                                                {.name = "other", .parent = "pool"}})
                        .value()};
  std::vector<running_job<1>> jobs;
  for (const std::int64_t size : {1, 1, 1, 3}) {
    jobs.push_back(job(jobs.size(), own, 0, 0, jobs.size()));
    jobs.back().request = gpus(size);
    l.charge(own, gpus(size));
  }
  const allot::beneficiary<1> b{own, gpus(4), allot::capacity_kind::any, 1, 0, {}, 0};
  allot::detail::no_world<1> world;
  allot::detail::kueue_trial<1, allot::detail::no_world<1>> trial{l, world, b};
  allot::vector<victim<1>> victims;
  for (const auto& j : jobs) {
    CHECK_FALSE(trial.fits(true));
    trial.take(j);
    victims.push_back({j, allot::relation::same_quota});
  }
  REQUIRE(trial.fits(true));
  trial.fill_back(victims, true);
  // Of the three small ones the first must be evicted, the others need not be: 3 + 1 make room for 4.
  std::vector<std::size_t> ids;
  for (const auto& v : victims) ids.push_back(v.job.id.index());
  CHECK(ids == std::vector<std::size_t>{0, 3});
  CHECK(l.balance(own, 0) == gpus(4));
  CHECK(trial.fits(false));
}
