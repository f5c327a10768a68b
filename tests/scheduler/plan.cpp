// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/inventory.hpp>
#include <allot/scheduler/plan.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <optional>

#include "tests/support/words.hpp"

namespace {

struct jobs {
  using job = int;
  allot::quota_id quota(job) const { return {}; }
  allot::resources<2> request(job) const { return {}; }
  int priority(job) const { return 0; }
};
using quota_plan = allot::plan<jobs, allot::no_placement>;
using placed_plan = allot::plan<jobs, allot::gpu::inventory>;

static_assert(quota_plan::n == 2);
static_assert(std::same_as<decltype(placed_plan::admission::where), allot::gpu::allocation_id>);
// A placement explains refusals in its own words.
static_assert(
    std::same_as<decltype(placed_plan::pending_job::placement), std::optional<allot::gpu::unplaceable>>);

}  // namespace

TEST_CASE("plan: pending jobs are no decisions") {
  quota_plan p;
  CHECK(p.empty());
  p.pending.emplace_back();
  CHECK(p.empty());
  SUBCASE("an admission") {
    p.admissions.emplace_back();
  }
  SUBCASE("an eviction") {
    p.evictions.emplace_back();
  }
  SUBCASE("a withdrawal") {
    p.withdrawn.emplace_back();
  }
  SUBCASE("a job that should have left") {
    p.overdue.emplace_back();
  }
  SUBCASE("a nomination") {
    p.nominations.emplace_back();
  }
  CHECK_FALSE(p.empty());
  p.clear();
  CHECK(p.empty());
  CHECK(p.pending.empty());
}

TEST_CASE("plan: every enumerator has a name") {
  CHECK(allot_test::has_words<allot::pending_reason>(11));
}
