// SPDX-License-Identifier: BSL-1.0
#include <allot/sim/detail/job_accounts.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "tests/sim/small_world.hpp"

using namespace allot_test;
using allot::flavor_pick;
using allot::resources;
using allot::sim::job_accounts;

namespace {

/// A gang of 4 that runs with 2, of one of two flavors, a whole job, and one that asks for 10 cores for 3
/// pods, not evenly divisible.
struct three_jobs {
  std::vector<allot::sim::job<2>> jobs;
  std::vector<allot::sim::flavor_set<2>> sets;
  job_accounts<2> accounts;

  three_jobs()
      : jobs(3),
        sets(1),
        accounts(allot::build_quota_tree<2>({{.name = "a", .nominal = {gpus(9), gpus(9)}}}).value(),
                 (fill(), allot::sim::workload_view<2>{jobs, false, sets})) {}

  void fill() {
    const std::vector<resources<2>> options = {{gpus(1), gpus(0)}, {gpus(0), gpus(2)}};
    sets[0].menu.add_group(options);
    for (auto& j : jobs) j.quota = quota_id{0};
    jobs[0].pod_request = {gpus(1), 4};
    jobs[0].min_pods = 2;
    jobs[0].flavors = 1;
    jobs[1].request = {gpus(3), gpus(0)};
    jobs[1].pod_request = {gpus(3), 1, true};
    jobs[2].request = {allot::quantity::milli(10), gpus(0)};
    jobs[2].pod_request = {gpus(0), 3};
    jobs[2].min_pods = 2;
  }
  [[nodiscard]] resources<2> used() const { return accounts.ledger().own_usage(quota_id{0}); }
};

constexpr flavor_pick first{};
constexpr flavor_pick second_flavor{1};

}  // namespace

TEST_CASE("job_accounts: what pods hold, and what the job requests throughout") {
  three_jobs w;
  auto& accounts = w.accounts;
  accounts.come(0);
  accounts.come(1);
  CHECK(accounts.waiting()[0] == 2);
  CHECK(accounts.demand()[0] == resources<2>{gpus(7), gpus(0)});
  CHECK(w.used() == resources<2>{});
  accounts.start(0, first, second_flavor, 2);
  CHECK(accounts.waiting()[0] == 1);
  CHECK(accounts.lacking() == 2);
  CHECK(accounts.demand()[0] == resources<2>{gpus(3), gpus(8)});
  CHECK(w.used() == resources<2>{gpus(0), gpus(4)});
  accounts.grow(0, second_flavor, 0);
  CHECK(w.used() == resources<2>{gpus(0), gpus(6)});
  CHECK(accounts.lacking() == 1);
  accounts.shrink(0, second_flavor, 0);
  accounts.grow(0, second_flavor, 0);
  accounts.start(1, first, first, 1);
  CHECK(w.used() == resources<2>{gpus(3), gpus(6)});
  accounts.go(0, second_flavor, 3);
  CHECK(w.used() == resources<2>{gpus(3), gpus(0)});
  CHECK(accounts.lacking() == 0);
  CHECK(accounts.waiting()[0] == 1);
  accounts.leave(0, second_flavor, 0);
  accounts.leave(1, first, 1);
  CHECK(accounts.waiting()[0] == 0);
  CHECK(accounts.demand()[0] == resources<2>{});
  CHECK(w.used() == resources<2>{});
}

TEST_CASE("job_accounts: pods that can't be divided evenly are counted as they are given") {
  three_jobs w;
  w.accounts.come(2);
  w.accounts.start(2, first, first, 2);
  w.accounts.grow(2, first, 0);
  CHECK(w.used()[0] == allot::quantity::milli(9));
  CHECK(w.accounts.demand()[0][0] == allot::quantity::milli(9));
  w.accounts.leave(2, first, 3);
  CHECK(w.used() == resources<2>{});
  CHECK(w.accounts.demand()[0] == resources<2>{});
}

TEST_CASE("job_accounts: quotas are added and removed") {
  three_jobs w;
  allot::quota_spec<2> c;
  c.name = "c";
  const std::vector<allot::quota_change<2>> addition = {allot::add_quota<2>{c}};
  REQUIRE(w.accounts.apply(addition));
  CHECK(w.accounts.demand().size() == 2);
  CHECK(w.accounts.waiting().size() == 2);
  CHECK_FALSE(w.accounts.apply(addition));
}
