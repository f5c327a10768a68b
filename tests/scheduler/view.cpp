// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

// Not unnamed: clang would warn that nobody uses what an archetype has.
namespace view_archetypes {

using allot::quota_id;
using allot::resources;

/// Exactly what is required and no more: an archetype.
struct least {
  using job = int;
  quota_id quota(const job&) const { return quota_id{0}; }
  resources<3> request(const job&) const { return {}; }
  std::int8_t priority(const job&) const { return 0; }
};
static_assert(allot::job_view<least>);
static_assert(allot::dimensions<least> == 3);
static_assert(!allot::timed_view<least>);
static_assert(!allot::identified_view<least>);
static_assert(!allot::preemptible_view<least>);
static_assert(!allot::duration_view<least>);
static_assert(!allot::placed_view<least, allot::no_placement>);

struct most : least {
  std::int32_t submitted(const job&) const { return 0; }
  std::uint32_t id(const job&) const { return 0; }
  bool preemptible(const job&) const { return true; }
  std::int64_t duration(const job&) const { return 0; }
  allot::no_placement::demand demand(const job&) const { return {}; }
};
static_assert(allot::job_view<most>);
static_assert(allot::timed_view<most>);
static_assert(allot::identified_view<most>);
static_assert(allot::preemptible_view<most>);
static_assert(allot::duration_view<most>);
static_assert(allot::placed_view<most, allot::no_placement>);

// A view may hand out its own tables, and jobs may be passed by value.
struct by_reference {
  using job = const int*;
  resources<> asked;
  quota_id quota(job) const { return {}; }
  const resources<>& request(job) const { return asked; }
  long priority(job) const { return 0; }
};
static_assert(allot::job_view<by_reference>);
static_assert(allot::dimensions<by_reference> == 1);

// What is no view: each lacks one thing.
struct without_job {
  quota_id quota(int) const { return {}; }
  resources<> request(int) const { return {}; }
  int priority(int) const { return 0; }
};
struct without_request {
  using job = int;
  quota_id quota(int) const { return {}; }
  int priority(int) const { return 0; }
};
struct quota_by_number {
  using job = int;
  int quota(int) const { return 0; }
  resources<> request(int) const { return {}; }
  int priority(int) const { return 0; }
};
struct priority_by_name {
  using job = int;
  quota_id quota(int) const { return {}; }
  resources<> request(int) const { return {}; }
  const char* priority(int) const { return "high"; }
};
/// Can't be asked through a const reference.
struct changing {
  using job = int;
  quota_id quota(int) { return {}; }
  resources<> request(int) const { return {}; }
  int priority(int) const { return 0; }
};
/// A job must be a value: the library keeps it.
struct unique_jobs {
  using job = std::unique_ptr<int>;
  quota_id quota(const job&) const { return {}; }
  resources<> request(const job&) const { return {}; }
  int priority(const job&) const { return 0; }
};
struct not_copyable : least {
  std::unique_ptr<int> table;
};
static_assert(!allot::job_view<without_job>);
static_assert(!allot::job_view<without_request>);
static_assert(!allot::job_view<quota_by_number>);
static_assert(!allot::job_view<priority_by_name>);
static_assert(!allot::job_view<changing>);
static_assert(!allot::job_view<unique_jobs>);
static_assert(!allot::job_view<not_copyable>);
static_assert(!allot::job_view<int>);

/// A word that is nearly right is not taken for something else.
struct maybe_preemptible : least {
  int preemptible(const job&) const { return 1; }
};
static_assert(!allot::preemptible_view<maybe_preemptible>);

}  // namespace view_archetypes

TEST_CASE("view: an archetype answers") {
  const view_archetypes::most view;
  CHECK(view.quota(1) == allot::quota_id{0});
  CHECK(view.request(1) == allot::resources<3>{});
}
