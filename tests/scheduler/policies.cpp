// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/policies.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

using allot::by_settings;
using allot::queue_order;
using allot::queue_settings;
using allot::shortest_first;

struct jobs {
  using job = std::int64_t;  // its priority
  allot::quota_id quota(job) const { return {}; }
  allot::resources<> request(job) const { return {}; }
  std::int64_t priority(job j) const { return j; }
};
struct timed_jobs : jobs {
  std::int64_t duration(job j) const { return 100 - j; }
};

static_assert(allot::job_order<by_settings, jobs>);
static_assert(allot::job_order<shortest_first, timed_jobs>);
static_assert(!allot::job_order<shortest_first, jobs>);
static_assert(!allot::job_order<int, jobs>);
struct by_name {
  const char* operator()(const jobs&, jobs::job, const queue_settings&) const { return ""; }
};
static_assert(!allot::job_order<by_name, jobs>);
template <class Key>
struct by_key {
  Key operator()(const jobs&, jobs::job, const queue_settings&) const { return {}; }
};
static_assert(allot::job_order<by_key<bool>, jobs> && allot::job_order<by_key<std::uint32_t>, jobs>);
// Integer division would truncate, and jobs that differ by less would be equal; the largest would be
// negative.
static_assert(!allot::job_order<by_key<double>, jobs> && !allot::job_order<by_key<std::uint64_t>, jobs>);

static_assert(allot::detail::are_policies_of<allot::policies<>, jobs>());
static_assert(
    allot::detail::are_policies_of<allot::policies<allot::best_job_first, shortest_first>, timed_jobs>());
// Policies without state take no space.
static_assert(sizeof(allot::policies<>) <= 4 * sizeof(std::size_t));

/// Prefers the longest wait per requested thousandth; ignores priorities.
struct of_the_host {
  std::int64_t operator()(const jobs&, jobs::job, const queue_settings&) const { return 0; }
};

}  // namespace

TEST_CASE("policies: the settings of the quota say whether priority ranks its jobs") {
  const jobs view;
  const by_settings order;
  const queue_settings ranked;
  const queue_settings fifo{.order = queue_order::fifo};
  CHECK(order(view, 5, ranked) < order(view, 4, ranked));
  CHECK(order(view, 5, fifo) == order(view, 4, fifo));
  using limits = std::numeric_limits<std::int64_t>;
  CHECK(order(view, limits::min(), ranked) > order(view, limits::min() + 1, ranked));
  CHECK(order(view, limits::min() + 1, ranked) > order(view, 0, ranked));
  CHECK(order(view, 0, ranked) > order(view, limits::max(), ranked));
}

TEST_CASE("policies: shortest first") {
  const timed_jobs view;
  CHECK(shortest_first{}(view, 60, {}) == 40);
  CHECK(shortest_first{}(view, 60, {}) < shortest_first{}(view, 50, {}));
}

TEST_CASE("policies: an order follows priority only if it says so") {
  const queue_settings ranked;
  const queue_settings fifo{.order = queue_order::fifo};
  CHECK(allot::detail::policies_or_default::follows_priority(by_settings{}, ranked));
  CHECK_FALSE(allot::detail::policies_or_default::follows_priority(by_settings{}, fifo));
  CHECK_FALSE(allot::detail::policies_or_default::follows_priority(shortest_first{}, ranked));
  CHECK_FALSE(allot::detail::policies_or_default::follows_priority(of_the_host{}, ranked));
}

TEST_CASE("policies: non-preemptible jobs stay off borrowed capacity unless configured otherwise") {
  CHECK(allot::policies<>{}.not_preemptible == allot::capacity_kind::guaranteed);
}
