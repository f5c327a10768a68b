// SPDX-License-Identifier: BSL-1.0
// What a scheduler says first of a view, a placement or policies that are not right; see view.cpp.
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/scheduler/any_policies.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

struct jobs {
  using job = const int*;
#ifdef quota_is_missing
  // allot: the view must have `allot::quota_id quota(const job&) const`
#else
  allot::quota_id quota(job) const;
#endif
#ifdef request_is_missing
  // allot: the view must have `allot::resources<N> request(const job&) const`
#elif defined request_is_an_int
  // allot: the view must have `allot::resources<N> request(const job&) const`
  int request(job) const;
#else
  allot::resources<> request(job) const;
#endif
#ifdef priority_is_an_unsigned_long
  // allot: the view must have `std::int64_t priority(const job&) const`
  std::uint64_t priority(job) const;
#else
  std::int64_t priority(job) const;
#endif
#ifdef preemptible_is_an_int
  // allot: the view's preemptible must be `bool preemptible(const job&) const`
  int preemptible(job) const;
#elif defined preemptible_of_a_set_is_an_int
  // allot: with preemptible(job, set) the view must have `bool preemptible(const job&, allot::pod_set_id set)
  bool preemptible(job) const;
  int preemptible(job, allot::pod_set_id) const;
#elif defined request_by_pods_is_missing
  // allot: with pods and min_pods the view must have `allot::resources<N> request(const job&, std::uint32_t
  std::uint32_t pods(job) const;
  std::uint32_t min_pods(job) const;
#elif defined request_of_a_set_is_missing
  // allot: with pod_sets the view must have `std::uint32_t pod_sets(const job&) const`, pods, min_pods
  std::uint32_t pods(job) const;
  std::uint32_t min_pods(job) const;
  allot::resources<> request(job, std::uint32_t) const;
  std::uint32_t pod_sets(job) const;
#endif
};

struct on_nodes {
  using pod_request = int;
  using allocation = int;
  std::optional<allocation> place(pod_request);
  void release(allocation) noexcept;
  void vacate(allocation) noexcept;
  void reoccupy(allocation) noexcept;
  bool ready(allocation) const;
  bool could_ever_fit(pod_request) const;
  int why_not(pod_request) const;
#ifndef placement_has_no_savepoints
  allot::savepoint save();
  void rollback(allot::savepoint) noexcept;
  void commit(allot::savepoint) noexcept;
#endif
};

/// Takes anything and says nothing that counts: the wrong shape of each part.
struct anything {
  template <class... Args>
  const char* operator()(const Args&...) const;
};
struct not_callable {};
struct of_fractions {
  double operator()(const jobs&, jobs::job, const allot::queue_settings&) const;
};
struct of_unsigned_longs {
  std::uint64_t operator()(const jobs&, jobs::job, const allot::queue_settings&) const;
};
struct unordered {
  struct key {};
  template <class Ledger, class Contender>
  key operator()(const Ledger&, const Contender&) const;
};
template <class Session>
struct cycle_that_wakes : allot::policies<>::cycle<Session> {
  using allot::policies<>::cycle<Session>::cycle;
#ifdef wakes_at_of_a_cycle_takes_nothing
  // allot: the cycle's wakes_at must be `std::optional<allot::instant> wakes_at(const Session&) const`
  std::optional<allot::instant> wakes_at() const;
#elif defined wakes_at_of_a_cycle_is_never_none
  // allot: the cycle's wakes_at must be `std::optional<allot::instant> wakes_at(const Session&) const`
  allot::instant wakes_at(const Session&) const;
#elif defined wakes_at_of_a_cycle_is_not_const
  // allot: the cycle's wakes_at must be `std::optional<allot::instant> wakes_at(const Session&) const`
  std::optional<allot::instant> wakes_at(const Session&);
#elif defined wakes_at_of_an_erased_cycle_takes_nothing
  // allot: the cycle's wakes_at must be `std::optional<allot::instant> wakes_at(const Session&) const`
  std::optional<allot::instant> wakes_at() const;
#else
  std::optional<allot::instant> wakes_at(const Session&) const;
#endif
};
struct waking_policies : allot::policies<> {
  template <class Session>
  using cycle = cycle_that_wakes<Session>;
};
struct incomplete_policies {
  template <class Session>
  using cycle = allot::policies<>::cycle<Session>;
#ifdef policies_have_no_jobs
  // allot: policies must have `jobs`, the order of the jobs of one quota
  allot::capacity_kind not_preemptible = allot::capacity_kind::any;
#else
  allot::by_settings jobs;
#endif
};

using placement = allot::no_placement;
using by_share = allot::within_nominal_then_borrowed_share;
using by_priority = allot::lowest_priority_then_highest_share;

#ifdef placement_has_no_savepoints
// allot: the placement must have `savepoint save()`, where savepoint is a movable type
using chosen = allot::scheduler<jobs, on_nodes>;
#elif defined placement_is_a_number
// allot: the placement must have a type `pod_request`, default constructible, copyable and comparable by ==
using chosen = allot::scheduler<jobs, int>;
#elif defined demand_is_missing
// allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`
using chosen = allot::scheduler<jobs, on_nodes>;
#elif defined policies_stand_where_the_placement_goes
// allot: policies, or a preset, were given in place of the placement
using chosen = allot::scheduler<jobs, allot::policies<> >;
#elif defined preset_stands_where_the_placement_goes
// allot: policies, or a preset, were given in place of the placement
using chosen = allot::scheduler<jobs, allot::kueue_fair>;
#elif defined preset_stands_where_policies_go
// allot: this is a preset, not the policies of one: write allot::make_scheduler(preset, view, quotas,
using chosen = allot::scheduler<jobs, placement, allot::kueue_fair>;
#elif defined policies_are_a_number
// allot: these are not policies, which have a template `cycle<Session>`: write allot::policies<...>, or the
using chosen = allot::scheduler<jobs, placement, int>;
#elif defined policies_are_a_lambda
// allot: these are not policies, which have a template `cycle<Session>`: write allot::policies<...>, or the
using chosen = allot::scheduler<jobs, placement, decltype([] {})>;
#elif defined option_is_no_option
// allot: an option of policies is no_second_pass, consolidation<N> with N > 0, eviction_after_resize or
using chosen = allot::policies<by_share, allot::by_settings, by_priority, allot::eligible_is_fair,
                               allot::unprotected, allot::second_pass>;
constexpr std::size_t budget = chosen{}.search_budget;
#elif defined option_moves_nobody
// allot: an option of policies is no_second_pass, consolidation<N> with N > 0, eviction_after_resize or
using chosen = allot::policies<by_share, allot::by_settings, by_priority, allot::eligible_is_fair,
                               allot::unprotected, allot::consolidation<0> >;
constexpr std::size_t budget = chosen{}.search_budget;
#elif defined option_is_given_twice
// allot: policies have the option consolidation once
using chosen = allot::policies<by_share, allot::by_settings, by_priority, allot::eligible_is_fair,
                               allot::unprotected, allot::consolidation<4>, allot::consolidation<8> >;
constexpr std::size_t budget = chosen{}.search_budget;
#elif defined policies_are_one_part
// allot: these are not policies, which have a template `cycle<Session>`: write allot::policies<...>, or the
using chosen = allot::scheduler<jobs, placement, allot::by_settings>;
#elif defined policies_have_no_jobs
using chosen = allot::scheduler<jobs, placement, incomplete_policies>;
#elif defined policies_have_no_capacity_kind
// allot: policies must have `allot::capacity_kind not_preemptible`
using chosen = allot::scheduler<jobs, placement, incomplete_policies>;
#elif defined quota_order_has_unordered_keys
// allot: the quota order must take (const ledger<N>&, const contender<N>&), return an ordered key
using chosen = allot::scheduler<jobs, placement, allot::policies<unordered> >;
#elif defined job_order_is_not_callable
// allot: the job order must take (view, job, queue_settings) and return an integer
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, not_callable> >;
#elif defined job_order_is_a_fraction
// allot: the job order must take (view, job, queue_settings) and return an integer
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, of_fractions> >;
#elif defined job_order_is_an_unsigned_long
// allot: the job order must take (view, job, queue_settings) and return an integer that fits into
// std::int64_t
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, of_unsigned_longs> >;
#elif defined job_order_needs_a_duration
// shortest_first needs a view with duration(job)
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, allot::shortest_first> >;
#elif defined victim_order_is_a_job_order
// allot: the victim order must take (const ledger<N>&, const victim_candidate<N>&) and return an ordered key
using chosen =
    allot::scheduler<jobs, placement, allot::policies<by_share, allot::by_settings, allot::by_settings> >;
#elif defined guard_says_no_bool
// allot: the guard must take (const ledger<N>&, const beneficiary<N>&, const victim_candidate<N>&), return
// bool
using chosen =
    allot::scheduler<jobs, placement, allot::policies<by_share, allot::by_settings, by_priority, anything> >;
#elif defined protection_says_no_bool
// allot: the protection must take (const ledger<N>&, const beneficiary<N>&, const victim_candidate<N>&
using chosen = allot::scheduler<
    jobs, placement,
    allot::policies<by_share, allot::by_settings, by_priority, allot::eligible_is_fair, anything> >;
#elif defined judges_rivals_of_a_guard_is_an_int
// allot: the guard's judges_rivals() must be const and return bool
struct counts_rivals : allot::eligible_is_fair {
  int judges_rivals() const;
};
using chosen = allot::scheduler<jobs, placement,
                                allot::policies<by_share, allot::by_settings, by_priority, counts_rivals> >;
#elif defined guard_with_strategies_returns_a_bool
// with strategies > 1 it takes a std::size_t last, and returns a verdict
struct says_too_little {
  static constexpr std::size_t strategies = 2;
  template <std::size_t N>
  bool operator()(const allot::ledger<N>&, const allot::beneficiary<N>&, const allot::victim_candidate<N>&,
                  std::size_t) const;
};
using chosen = allot::scheduler<jobs, placement,
                                allot::policies<by_share, allot::by_settings, by_priority, says_too_little> >;
#elif defined strategies_of_a_guard_are_a_function
// allot: the guard's strategies must be a static constexpr std::size_t
struct has_strategies : allot::eligible_is_fair {
  std::size_t strategies() const;
};
using chosen = allot::scheduler<jobs, placement,
                                allot::policies<by_share, allot::by_settings, by_priority, has_strategies> >;
#elif defined within_quota_is_not_const
// allot: the victim order's within_quota must be const
struct changes : by_priority {
  bool within_quota(const allot::running_job<1>&, const allot::running_job<1>&, allot::instant);
};
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, allot::by_settings, changes> >;
#elif defined within_quota_of_an_order_with_jobs_sees_none
// allot: the victim order's within_quota must be const
struct half_blind {
  template <std::size_t N>
  int operator()(const jobs&, const int*, const allot::ledger<N>&, const allot::victim_candidate<N>&) const;
  template <std::size_t N>
  bool within_quota(const allot::running_job<N>&, const allot::running_job<N>&, allot::instant) const;
};
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, allot::by_settings, half_blind> >;
#elif defined guard_sees_one_job_only
// or take these after (view, beneficiary's job, victim's job)
struct sees_one {
  template <std::size_t N>
  bool operator()(const jobs&, const int*, const allot::ledger<N>&, const allot::beneficiary<N>&,
                  const allot::victim_candidate<N>&) const;
};
using chosen =
    allot::scheduler<jobs, placement, allot::policies<by_share, allot::by_settings, by_priority, sees_one> >;
#elif defined follows_priority_takes_nothing
// allot: the job order's follows_priority must be const, take (const queue_settings&), return bool
struct says_little : allot::by_settings {
  bool follows_priority() const;
};
using chosen = allot::scheduler<jobs, placement, allot::policies<by_share, says_little> >;
#elif defined wakes_at_of_an_erased_cycle_takes_nothing
const allot::any_policies<jobs> chosen{waking_policies{}};
#elif defined wakes_at_of_a_cycle_takes_nothing || defined wakes_at_of_a_cycle_is_never_none || \
    defined wakes_at_of_a_cycle_is_not_const
using chosen = allot::scheduler<jobs, placement, waking_policies>;
#else
using chosen = allot::scheduler<jobs>;
static_assert(sizeof(allot::scheduler<jobs, placement, waking_policies>) > 0);
#endif

#ifdef view_is_deduced
// allot: the view must have `allot::quota_id quota(const job&) const`
struct without_quota {
  using job = int;
  allot::resources<> request(job) const;
  int priority(job) const;
};
int use(const allot::quota_tree<>& tree) {
  allot::scheduler s{without_quota{}, tree};
  return static_cast<int>(s.submit(1).index());
}
#elif defined quota_of_a_whole_preset_is_missing
// allot: the view must have `allot::quota_id quota(const job&) const`
struct without_quota {
  using job = int;
  allot::resources<> request(job) const;
  int priority(job) const;
};
const auto made =
    allot::make_scheduler(allot::kueue_fair{}, without_quota{}, {{.name = "lab"}, {.name = "a"}});
#elif defined preemptible_of_a_whole_preset_is_an_int
// allot: the view's preemptible must be `bool preemptible(const job&) const`
struct near_miss : jobs {
  int preemptible(job) const;
};
const auto made = allot::make_scheduler(allot::kueue_fair{}, near_miss{}, {{.name = "lab"}, {.name = "a"}});
#elif defined placement_of_a_whole_preset_releases_nothing
// allot: the placement must have `void release(const allocation&) noexcept`
struct only_places {
  using pod_request = int;
  using allocation = int;
  std::optional<allocation> place(pod_request);
};
const auto made = allot::make_scheduler(allot::kueue_fair{}, jobs{}, {{.name = "lab"}}, only_places{});
#elif defined preset_is_given_as_placement
// allot: policies, or a preset, were given in place of the placement
const auto made = allot::make_scheduler(allot::kueue_fair{}, jobs{}, {{.name = "lab"}}, allot::pai{});
#elif defined policies_are_of_another_preset
// allot: these are not the policies of this preset: they are of its `policies_type`
const auto made =
    allot::make_scheduler(allot::pai{}, jobs{}, {{.name = "lab"}}, {}, allot::hyperpod{}.policies());
#elif defined quotas_are_of_another_number_of_resources
// allot: the quotas have amounts of another number of resources than the view's request(job)
const auto made = allot::make_scheduler(allot::pai{}, jobs{}, std::vector<allot::quota_spec<2> >{});
#elif defined settings_stand_where_the_preset_goes
// allot: this is not a preset, which has a `static constexpr std::string_view name`
const auto made = allot::make_scheduler(allot::queue_settings{}, jobs{}, {{.name = "lab"}});
#elif defined policies_stand_where_the_preset_goes
// allot: this is not a preset, which has a `static constexpr std::string_view name`
const auto made = allot::make_scheduler(allot::policies<>{}, jobs{}, {{.name = "lab"}});
#elif defined preset_adapts_nothing
// allot: the preset must have `template <std::size_t N> static void adapt(std::vector<quota_spec<N>>&)`
struct of_mine {
  static constexpr std::string_view name = "mine", summary = "";
  static constexpr bool ignores_quotas = false;
  using policies_type = allot::policies<>;
  static allot::queue_settings defaults();
};
const auto made = allot::make_scheduler(of_mine{}, jobs{}, {{.name = "lab"}});
#elif defined preset_needs_a_duration
// shortest_first needs a view with duration(job)
const auto made = allot::make_scheduler(allot::sjf{}, jobs{}, {{.name = "lab"}});
#elif defined view_is_used
// allot: the view's preemptible must be `bool preemptible(const job&) const`
struct near_miss : jobs {
  int preemptible(job) const;
};
std::size_t use(const allot::quota_tree<>& tree) {
  allot::scheduler<near_miss> s{{}, tree};
  s.submit({});
  return s.step(0).evictions.size();
}
#else
static_assert(sizeof(chosen) > 0);
#endif
