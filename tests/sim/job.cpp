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

TEST_CASE("job: what an eviction leaves of its work") {
  CHECK(job<1>{}.saved(1000) == 0);
  CHECK(job<1>{.checkpoint = 0}.saved(1234) == 1234);
  CHECK(job<1>{.checkpoint = 300}.saved(899) == 600);
  CHECK(job<1>{.checkpoint = 300}.saved(900) == 900);
  CHECK(job<1>{.checkpoint = 300}.saved(299) == 0);
}

TEST_CASE("job: the view shows a job by its number, in one queue or in its own") {
  const std::array<job<1>, 2> jobs{
      job<1>{.quota = quota_id{3}, .request = gpus(2), .submit = 10, .duration = 60},
      job<1>{.quota = quota_id{4}, .request = gpus(1), .priority = 5, .preemptible = false, .submit = 20}};
  const workload_view<1> own{jobs};
  CHECK(own.quota(0) == quota_id{3});
  CHECK(own.quota(1) == quota_id{4});
  CHECK(own.request(0) == allot::resources<1>{gpus(2)});
  CHECK(own.duration(0) == 60);
  CHECK(own.submitted(1) == 20);
  CHECK(own.priority(1) == 5);
  CHECK(own.preemptible(0));
  CHECK_FALSE(own.preemptible(1));
  CHECK(own.id(1) == 1);
  const workload_view<1> single{jobs, true};
  CHECK(single.quota(0) == quota_id{0});
  CHECK(single.quota(1) == quota_id{0});
}
