// SPDX-License-Identifier: BSL-1.0
#include <allot/scheduler/customization.hpp>

#include <allot/allot.hpp>

#include <cstdint>
#include <optional>

// Each default in the header's table satisfies the concept beside it and claims no more than that.
namespace {

struct least {
  using job = int;
  allot::quota_id quota(job) const;
  allot::resources<> request(job) const;
  int priority(job) const;
};
static_assert(allot::job_view<least> && !allot::timed_view<least> && !allot::identified_view<least> &&
              !allot::preemptible_view<least> && !allot::duration_view<least> &&
              !allot::time_limited_view<least> && !allot::estimated_view<least> &&
              !allot::checkpointed_view<least> && !allot::elastic_view<least> &&
              !allot::flavored_view<least> && !allot::capacity_view<least>);

static_assert(allot::placement<allot::no_placement> && !allot::revocable_placement<allot::no_placement>);

using parts = allot::standard::policies_type;
using session = allot::session<least, allot::no_placement>;
static_assert(allot::quota_order<parts::quota_order_type, 1>);
static_assert(allot::job_order<parts::job_order_type, least> && allot::priority_order<parts::job_order_type>);
static_assert(allot::job_order<allot::by_settings, least> && !allot::job_order<allot::shortest_first, least>);
static_assert(!allot::priority_order<allot::shortest_first>);
static_assert(allot::victim_order<parts::victim_order_type, 1>);
static_assert(allot::victim_guard<parts::guard_type, 1> && !allot::staged_guard<parts::guard_type> &&
              !allot::monotone_guard<parts::guard_type>);
static_assert(allot::staged_guard<allot::final_then_initial_share> && allot::rival_guard<allot::final_share>);
static_assert(allot::victim_protection<parts::protection_type, 1>);

using cycle = parts::cycle<session>;
static_assert(allot::scheduling_cycle<cycle, session> && !allot::explaining_cycle<cycle, session> &&
              allot::reserving_cycle<cycle> && !allot::dividing_cycle<cycle> &&
              !allot::announcing_cycle<cycle, session> && !allot::waking_cycle<cycle, session>);

template <class Answer>
struct waking : cycle {
  Answer wakes_at(const session&) const;
};
struct waking_without_session : cycle {
  std::optional<allot::instant> wakes_at() const;
};
static_assert(allot::waking_cycle<waking<std::optional<allot::instant>>, session>);
static_assert(!allot::waking_cycle<waking<allot::instant>, session> &&
              !allot::waking_cycle<waking<std::optional<int>>, session> &&
              !allot::waking_cycle<waking_without_session, session>);
// It is seen that these were meant to be one.
static_assert(!allot::detail::has_wakes_at<cycle> && allot::detail::has_wakes_at<waking<allot::instant>> &&
              allot::detail::has_wakes_at<waking_without_session>);

static_assert(allot::preset<allot::standard>);
static_assert(allot::surplus_rule<allot::proportional_to_weight>);

}  // namespace
