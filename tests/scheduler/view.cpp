// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ratio>
#include <string>

// Not in an unnamed namespace: clang would warn about the archetype's unused members.
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
  allot::no_placement::pod_request pod_request(const job&) const { return {}; }
};
static_assert(allot::job_view<most>);
static_assert(allot::timed_view<most>);
static_assert(allot::identified_view<most>);
static_assert(allot::preemptible_view<most>);
static_assert(allot::duration_view<most>);
static_assert(allot::placed_view<most, allot::no_placement>);

// A view may return references to its own tables, and jobs may be passed by value.
struct by_reference {
  using job = const int*;
  resources<> asked;
  quota_id quota(job) const { return {}; }
  const resources<>& request(job) const { return asked; }
  const short& priority(job) const { return level; }
  short level = 0;
};
static_assert(allot::job_view<by_reference>);
static_assert(allot::dimensions<by_reference> == 1);

// Times may be std::chrono types: durations that convert without loss, time points of one clock, and no
// mixture of the two.
struct by_clock : least {
  using time_point = std::chrono::sys_seconds;
  std::chrono::sys_days submitted(const job&) const { return {}; }
  std::chrono::hours duration(const job&) const { return {}; }
  const std::chrono::seconds& estimate(const job&) const { return span; }
  std::chrono::minutes time_limit(const job&) const { return {}; }
  std::chrono::days checkpoint(const job&) const { return {}; }
  std::chrono::seconds restart(const job&) const { return {}; }
  std::chrono::seconds span;
};
static_assert(allot::clocked_view<by_clock> && !allot::clocked_view<most>);
static_assert(allot::timed_view<by_clock> && allot::duration_view<by_clock> &&
              allot::estimated_view<by_clock> && allot::time_limited_view<by_clock> &&
              allot::checkpointed_view<by_clock>);
static_assert(allot::ticks<by_clock>(std::chrono::minutes{5}) == 300);
struct milliseconds_under_a_clock_of_seconds : by_clock {
  std::chrono::milliseconds duration(const job&) const { return {}; }
  std::chrono::seconds submitted(const job&) const { return {}; }
};
static_assert(!allot::duration_view<milliseconds_under_a_clock_of_seconds> &&
              !allot::timed_view<milliseconds_under_a_clock_of_seconds>);
/// std::chrono converts these.
struct counts_in_unsigned : by_clock {
  using days = std::chrono::duration<std::uint64_t, std::ratio<86400>>;
  std::chrono::sys_time<days> submitted(const job&) const { return {}; }
  days duration(const job&) const { return {}; }
  std::chrono::duration<std::uint32_t> estimate(const job&) const { return {}; }
};
static_assert(!allot::timed_view<counts_in_unsigned> && !allot::duration_view<counts_in_unsigned> &&
              allot::estimated_view<counts_in_unsigned>);

// Counterexamples: each lacks one thing.
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
/// An amount, but with the wrong number of dimensions.
struct request_by_count {
  using job = int;
  quota_id quota(int) const { return {}; }
  int request(int) const { return 0; }
  int priority(int) const { return 0; }
};
/// Can't be called through a const reference.
struct changing {
  using job = int;
  quota_id quota(int) { return {}; }
  resources<> request(int) const { return {}; }
  int priority(int) const { return 0; }
};
/// A job must be a value: the library stores it.
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
static_assert(!allot::job_view<request_by_count>);
static_assert(!allot::job_view<changing>);
static_assert(!allot::job_view<unique_jobs>);
static_assert(!allot::job_view<not_copyable>);
static_assert(!allot::job_view<int>);

/// A member with nearly the right return type does not satisfy the concept.
struct maybe_preemptible : least {
  int preemptible(const job&) const { return 1; }
};
static_assert(!allot::preemptible_view<maybe_preemptible>);

/// All the pods, but without the request of a given number of them.
struct with_pods : least {
  int pods(const job&) const { return 4; }
  std::uint32_t min_pods(const job&) const { return 2; }
};
template <std::size_t N>
struct with_request_by_pods : with_pods {
  using least::request;
  resources<N> request(const job&, std::uint32_t) const { return {}; }
};
static_assert(!allot::elastic_view<with_pods>);
static_assert(allot::elastic_view<with_request_by_pods<3>>);
static_assert(!allot::elastic_view<with_request_by_pods<2>>);

template <std::size_t N>
struct with_flavors : least {
  allot::flavor_menu<N> flavors(const job&, std::uint32_t) const { return {}; }
  const resources<N>& capacity() const { return all; }
  resources<N> all;
};
static_assert(allot::flavored_view<with_flavors<3>> && allot::capacity_view<with_flavors<3>>);
static_assert(!allot::flavored_view<with_flavors<1>> && !allot::capacity_view<with_flavors<1>>);

// --- integers
// -------------------------------------------------------------------------------------------------

template <class T, class... Targets>
constexpr bool fits = (allot::detail::integer_for<T, Targets> && ...);
template <class T, class... Targets>
constexpr bool fits_none = (!allot::detail::integer_for<T, Targets> && ...);

static_assert(fits<std::int8_t, std::int32_t, std::int64_t> && fits<const int&, std::int32_t, std::int64_t>);
static_assert(fits<std::uint32_t, std::uint32_t, std::int64_t, std::uint64_t>);
static_assert(fits<std::uint64_t, std::uint64_t> && fits<unsigned long long, std::uint64_t>);
// What would lose values: of the wider type, the largest of the unsigned and the negative of the signed one.
static_assert(fits_none<std::int64_t, std::int32_t, std::uint32_t, std::uint64_t>);
static_assert(fits_none<std::uint32_t, std::int32_t> &&
              fits_none<std::uint64_t, std::int64_t, std::uint32_t>);
static_assert(fits_none<unsigned long, std::int64_t> && fits_none<unsigned long long, std::int64_t>);
__extension__ using widest = __int128;
static_assert(fits_none<widest, std::int64_t, std::uint64_t>);
static_assert(fits_none<std::int8_t, std::uint32_t, std::uint64_t>);
// Where negative values are dealt with.
using allot::detail::count_for;
static_assert(count_for<int, std::uint32_t> && count_for<std::int8_t, std::uint32_t>);
static_assert(count_for<std::uint32_t, std::uint32_t> && count_for<std::uint8_t, std::uint32_t>);
static_assert(count_for<const std::int64_t&, std::uint64_t> && count_for<std::uint64_t, std::uint64_t>);
static_assert(!count_for<std::int64_t, std::uint32_t> && !count_for<widest, std::uint64_t>);
static_assert(!count_for<bool, std::uint32_t> && !count_for<double, std::uint64_t>);
static_assert(fits_none<bool, std::int32_t, std::int64_t> && fits_none<const bool&, std::int32_t>);
static_assert(fits_none<float, std::int32_t, std::int64_t> && fits_none<double, std::int64_t>);
static_assert(fits_none<void, std::int64_t> && fits_none<const char*, std::int64_t>);

enum plain { low };
enum class scoped { low };
enum wide : std::uint64_t { lowest };
static_assert(fits<plain, std::int64_t> && fits<const plain&, std::int64_t>);
static_assert(fits_none<scoped, std::int32_t, std::int64_t> && fits_none<wide, std::int32_t, std::int64_t>);
enum flag : bool { no, yes };
static_assert(fits_none<flag, std::int32_t>);

template <class T>
struct stands_for {
  operator T() const { return {}; }  // NOLINT(google-explicit-constructor)
};
struct stands_for_any {
  template <class T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return {};
  }
};
struct explicit_number {
  explicit operator int() const { return 0; }
};
static_assert(fits<stands_for<short>, std::int32_t> && fits<const stands_for<int>&, std::int32_t>);
static_assert(fits_none<stands_for<std::int64_t>, std::int32_t> && fits_none<stands_for<bool>, std::int32_t>);
static_assert(fits_none<stands_for<std::uint64_t>, std::int64_t> &&
              count_for<stands_for<int>, std::uint32_t>);
static_assert(fits_none<stands_for<double>, std::int32_t, std::int64_t>);
static_assert(fits_none<stands_for_any, std::int32_t> && fits_none<explicit_number, std::int32_t>);

// A demand may be of any type; if it is an integer, the same rule holds.
static_assert(allot::detail::value_for<const char*, std::string>);
static_assert(allot::detail::value_for<short, int> && !allot::detail::value_for<double, int>);
static_assert(!allot::detail::value_for<int, unsigned> && !allot::detail::value_for<unsigned, int>);

}  // namespace view_archetypes

TEST_CASE("view: a minimal view models the concepts") {
  const view_archetypes::most view;
  CHECK(view.quota(1) == allot::quota_id{0});
  CHECK(view.request(1) == allot::resources<3>{});
}
