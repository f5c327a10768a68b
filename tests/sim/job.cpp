// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/places.hpp>

#include <doctest/doctest.h>

#include <array>

using allot::gpus;
using allot::quota_id;
using allot::sim::job;
using allot::sim::workload_view;

static_assert(allot::identified_view<workload_view<1>> && allot::timed_view<workload_view<1>>);
static_assert(allot::preemptible_view<workload_view<3>> && allot::duration_view<workload_view<3>>);
static_assert(allot::placed_view<workload_view<1>, allot::sim::places>);
static_assert(allot::dimensions<workload_view<3>> == 3);
static_assert(allot::elastic_view<workload_view<1>> && allot::flavored_view<workload_view<1>>);
static_assert(allot::time_limited_view<workload_view<1>> && allot::checkpointed_view<workload_view<1>>);
static_assert(allot::estimated_view<workload_view<1>>);

TEST_CASE("job: the view shows a job by its number, in one queue or in its own") {
  const std::array<job<1>, 2> jobs{
      job<1>{.quota = quota_id{3}, .request = gpus(2), .submit = 10, .duration = 60, .estimate = 90},
      job<1>{.quota = quota_id{4}, .request = gpus(1), .priority = 5, .preemptible = false, .submit = 20}};
  const workload_view<1> own{jobs};
  CHECK(own.quota(0) == quota_id{3});
  CHECK(own.quota(1) == quota_id{4});
  CHECK(own.request(0) == allot::resources<1>{gpus(2)});
  CHECK(own.duration(0) == 60);
  CHECK(own.estimate(0) == 90);
  CHECK(own.estimate(1) == 0);
  CHECK(own.submitted(1) == 20);
  CHECK(own.priority(1) == 5);
  CHECK(own.preemptible(0));
  CHECK_FALSE(own.preemptible(1));
  CHECK(own.id(1) == 1);
  const workload_view<1> single{jobs, true};
  CHECK(single.quota(0) == quota_id{0});
  CHECK(single.quota(1) == quota_id{0});
}

TEST_CASE("job: a minimum below its pods makes it elastic, a total counts as one pod") {
  job<1> j{.pod_request = {gpus(1), 6}};
  CHECK(j.fewest_pods() == 6);
  j.min_pods = 2;
  CHECK(j.fewest_pods() == 2);
  j.min_pods = 9;
  CHECK(j.fewest_pods() == 6);
  const job<1> total{.pod_request = {gpus(6), 1, true}, .min_pods = 3};
  CHECK(total.pods() == 1);
  CHECK(total.fewest_pods() == 1);
}

TEST_CASE("job: the request of some pods of a job, and where they may run") {
  using r = allot::resources<2>;
  std::array<job<2>, 2> jobs;
  jobs[0].request = r{allot::quantity::milli(10), gpus(0)};
  jobs[0].pod_request = {gpus(2), 4, false, 0b0111};
  jobs[0].min_pods = 2;
  jobs[0].flavors = 1;
  jobs[1].request = r{gpus(8), gpus(0)};
  jobs[1].pod_request = {gpus(8), 1, true};
  std::array<allot::sim::flavor_set<2>, 1> sets;
  const std::array<r, 2> options = {r{gpus(0), gpus(2)}, r{gpus(3), gpus(0)}};
  sets[0].menu.add_group(options);
  sets[0].pools = {0b1010, 0b0001};
  const workload_view<2> view{jobs, false, sets};
  CHECK(view.request(0, 4) == jobs[0].request);
  CHECK(view.request(0, 3) == r{allot::quantity::milli(6), gpus(0)});
  CHECK(view.flavors(0, 3).request({1}) == r{gpus(9), gpus(0)});
  // The needed pods and the others are counted separately, whatever remains of the whole.
  CHECK(view.amount(0, 4, {0}) == r{allot::quantity::milli(8), gpus(8)});
  CHECK(view.pod(0, {1}) == r{allot::quantity::milli(3002), gpus(0)});
  CHECK(view.pod_request(0, 3, {0}).room_key() == allot::gpu::pod_request{gpus(2), 3, false, 0b0010});
  CHECK(view.pod_request(0, 1, {1}).room_key() == allot::gpu::pod_request{gpus(2), 1, false, 0b0001});
  CHECK(view.amount(1, 1, {}) == jobs[1].request);
  CHECK(view.pod_request(1, 1, {}).room_key() == jobs[1].pod_request);
  CHECK(view.flavors(1, 1).empty());
}
