// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/metrics/detail/entitlements.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using namespace allot_test;
using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::resources;

namespace {

template <std::size_t N>
resources<N> random_request(random_source& random) {
  resources<N> r;
  for (std::size_t d = 0; d < N; ++d) {
    if (random.one_in(3)) continue;
    r[d] = random.one_in(4) ? quantity::milli(random.between(1, 999)) : gpus(random.between(1, 8));
  }
  return r;
}

/// Jobs are submitted and end, start or do not; after each step the entitlements must be those of a division.
template <std::size_t N>
void follow(random_source& random) {
  allot::ledger<N> accounts{allot::build_quota_tree(random_quotas<N>(random, {.most_quotas = 8})).value()};
  const std::size_t slots = accounts.tree().slots();
  std::vector<resources<N>> demand(slots);
  struct job {
    quota_id quota;
    resources<N> request;
    bool runs;
  };
  std::vector<job> jobs;
  allot::lab::entitlements<N> fast;
  allot::division<N> slow;
  for (int step = 0; step < 60; ++step) {
    for (std::size_t i = random.below(3); i > 0; --i) {
      if (!jobs.empty() && random.one_in(3)) {
        const std::size_t at = random.below(jobs.size());
        const job gone = jobs[at];
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
        if (gone.runs) accounts.release(gone.quota, gone.request);
        demand[gone.quota.index()] -= gone.request;
        fast.note(gone.quota, gone.request, false);
      } else {
        const job come{quota_id{random.below(slots)}, random_request<N>(random), false};
        jobs.push_back(come);
        demand[come.quota.index()] += come.request;
        fast.note(come.quota, come.request, true);
      }
    }
    for (job& j : jobs) {
      if (j.runs || !accounts.fits(j.quota, j.request) || random.one_in(4)) continue;
      accounts.charge(j.quota, j.request);
      j.runs = true;
    }
    const bool none_waits = std::all_of(jobs.begin(), jobs.end(), [](const job& j) { return j.runs; });
    fast.update(accounts, demand, none_waits, step == 0);
    slow.update(accounts, demand);
    for (std::size_t x = 0; x < slots; ++x) {
      const quota_id q{x};
      REQUIRE((fast.is_demand_met() ? accounts.own_usage(q) : fast.own(q)) == slow.own(q));
    }
  }
}

}  // namespace

TEST_CASE("entitlements: always those of a division of the present demand") {
  for_each_seed(300, [](random_source& random) { follow<1>(random); });
}

TEST_CASE("entitlements: the same in three dimensions") {
  for_each_seed(100, [](random_source& random) { follow<3>(random); });
}

TEST_CASE("entitlements: divides again after a change of the tree") {
  std::vector<allot::quota_spec<1>> specs(2);
  specs[0].name = "a";
  specs[1].name = "b";
  specs[1].parent = "a";
  specs[1].nominal = resources<1>{gpus(4)};
  allot::ledger<1> accounts{allot::build_quota_tree(specs).value()};
  const std::vector<resources<1>> demand = {resources<1>{}, resources<1>{gpus(9)}};
  allot::lab::entitlements<1> e;
  e.update(accounts, demand, false, true);
  CHECK(e.own(quota_id{1})[0] == gpus(4));
  REQUIRE(
      allot::apply(accounts, allot::resize_quota<1>{.quota = quota_id{1}, .nominal = resources<1>{gpus(6)}}));
  e.update(accounts, demand, false, true);
  CHECK(e.own(quota_id{1})[0] == gpus(6));
}
