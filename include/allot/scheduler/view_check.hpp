// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace detail {

/// The names of what a view may have and need not.
struct optional_names {
  int submitted, id, preemptible, duration, pods, min_pods, flavors, time_limit, checkpoint, restart,
      capacity;
};

/// In this class such a name is ambiguous exactly when the view has a member of that name, of whatever kind:
/// overloaded, static, private or a template. From a final class nothing can be derived.
template <class View>
struct view_and_names : View, optional_names {};
template <class View>
requires std::is_final_v<View>
struct view_and_names<View> : optional_names {
};

// Whether the view has a function of that name for a job, const or not.
#define ALLOT_VIEW_CALLS(name)                                               \
  (                                                                          \
      requires(View & view, typename View::job & job) { view.name(job); } || \
      requires(View & view, typename View::job & job, std::uint32_t pods) { view.name(job, pods); })

// has_NAME: whether the view has a member of that name at all; a final one whether it is seen by its use.
#define ALLOT_VIEW_MAY_HAVE(name)  \
  template <class View>            \
  concept has_##name = !requires { \
    &view_and_names<View>::name;   \
  }                                \
  || requires {                    \
    &View::name;                   \
  }                                \
  || ALLOT_VIEW_CALLS(name)

ALLOT_VIEW_MAY_HAVE(submitted);
ALLOT_VIEW_MAY_HAVE(id);
ALLOT_VIEW_MAY_HAVE(preemptible);
ALLOT_VIEW_MAY_HAVE(duration);
ALLOT_VIEW_MAY_HAVE(pods);
ALLOT_VIEW_MAY_HAVE(min_pods);
ALLOT_VIEW_MAY_HAVE(flavors);
ALLOT_VIEW_MAY_HAVE(time_limit);
ALLOT_VIEW_MAY_HAVE(checkpoint);
ALLOT_VIEW_MAY_HAVE(restart);
ALLOT_VIEW_MAY_HAVE(capacity);

// The name of the constant is what clang says before the message.
#define ALLOT_VIEW_MISSPELLS(wrong, right)                                                             \
  {                                                                                                    \
    constexpr bool has_##wrong = !has_##right<View> && ALLOT_VIEW_CALLS(wrong);                        \
    static_assert(!has_##wrong, "allot: the view has a member " #wrong "; the library calls " #right); \
  }

/// True, or an error that says which function nobody would call, for the library has another name for it.
/// Only names that have hardly another meaning count, and only where the right one is missing: a view may
/// have helpers of its own.
template <job_view View>
[[nodiscard]] consteval bool spells_its_members() {
  ALLOT_VIEW_MISSPELLS(submit_time, submitted)
  ALLOT_VIEW_MISSPELLS(submitted_at, submitted)
  ALLOT_VIEW_MISSPELLS(submitted_time, submitted)
  ALLOT_VIEW_MISSPELLS(submission, submitted)
  ALLOT_VIEW_MISSPELLS(submission_time, submitted)
  ALLOT_VIEW_MISSPELLS(arrival_time, submitted)

  ALLOT_VIEW_MISSPELLS(preemptable, preemptible)
  ALLOT_VIEW_MISSPELLS(premptible, preemptible)
  ALLOT_VIEW_MISSPELLS(premptable, preemptible)
  ALLOT_VIEW_MISSPELLS(preemtible, preemptible)
  ALLOT_VIEW_MISSPELLS(pre_emptible, preemptible)
  ALLOT_VIEW_MISSPELLS(is_preemptible, preemptible)
  ALLOT_VIEW_MISSPELLS(is_preemptable, preemptible)
  ALLOT_VIEW_MISSPELLS(isPreemptible, preemptible)
  ALLOT_VIEW_MISSPELLS(not_preemptible, preemptible)
  ALLOT_VIEW_MISSPELLS(non_preemptible, preemptible)
  ALLOT_VIEW_MISSPELLS(can_be_preempted, preemptible)
  ALLOT_VIEW_MISSPELLS(may_be_preempted, preemptible)
  ALLOT_VIEW_MISSPELLS(evictable, preemptible)
  ALLOT_VIEW_MISSPELLS(is_evictable, preemptible)
  ALLOT_VIEW_MISSPELLS(can_be_evicted, preemptible)
  ALLOT_VIEW_MISSPELLS(may_be_evicted, preemptible)

  ALLOT_VIEW_MISSPELLS(runtime, duration)
  ALLOT_VIEW_MISSPELLS(run_time, duration)
  ALLOT_VIEW_MISSPELLS(expected_runtime, duration)
  ALLOT_VIEW_MISSPELLS(expected_duration, duration)
  ALLOT_VIEW_MISSPELLS(estimate, duration)
  ALLOT_VIEW_MISSPELLS(estimated_runtime, duration)
  ALLOT_VIEW_MISSPELLS(estimated_duration, duration)

  // A number of pods alone (`pod_count`) says nothing that `request` does not: without a minimum all pods
  // start together.
  ALLOT_VIEW_MISSPELLS(max_pods, pods)
  ALLOT_VIEW_MISSPELLS(maxPods, pods)
  ALLOT_VIEW_MISSPELLS(maximum_pods, pods)
  ALLOT_VIEW_MISSPELLS(min_pod, min_pods)
  ALLOT_VIEW_MISSPELLS(minPods, min_pods)
  ALLOT_VIEW_MISSPELLS(minimum_pods, min_pods)
  ALLOT_VIEW_MISSPELLS(min_pod_count, min_pods)

  ALLOT_VIEW_MISSPELLS(flavor, flavors)
  ALLOT_VIEW_MISSPELLS(flavour, flavors)
  ALLOT_VIEW_MISSPELLS(flavours, flavors)

  ALLOT_VIEW_MISSPELLS(timelimit, time_limit)
  ALLOT_VIEW_MISSPELLS(timeLimit, time_limit)
  ALLOT_VIEW_MISSPELLS(max_runtime, time_limit)
  ALLOT_VIEW_MISSPELLS(max_run_time, time_limit)
  ALLOT_VIEW_MISSPELLS(max_duration, time_limit)
  ALLOT_VIEW_MISSPELLS(runtime_limit, time_limit)
  ALLOT_VIEW_MISSPELLS(run_time_limit, time_limit)

  ALLOT_VIEW_MISSPELLS(checkpoints, checkpoint)
  ALLOT_VIEW_MISSPELLS(checkpoint_interval, checkpoint)
  ALLOT_VIEW_MISSPELLS(checkpoint_period, checkpoint)
  ALLOT_VIEW_MISSPELLS(restart_cost, restart)
  ALLOT_VIEW_MISSPELLS(restart_time, restart)
  return true;
}

/// True, or an error that says which optional member is not what its name stands for.
template <job_view View>
[[nodiscard]] consteval bool answers_by_its_names() {
  static_assert(timed_view<View> || !has_submitted<View>,
                "allot: the view's submitted must be `allot::instant submitted(const job&) const`");
  static_assert(identified_view<View> || !has_id<View>,
                "allot: the view's id must be `std::uint64_t id(const job&) const`");
  static_assert(preemptible_view<View> || !has_preemptible<View>,
                "allot: the view's preemptible must be `bool preemptible(const job&) const`");
  static_assert(duration_view<View> || !has_duration<View>,
                "allot: the view's duration must be `allot::instant duration(const job&) const`");
  static_assert(time_limited_view<View> || !has_time_limit<View>,
                "allot: the view's time_limit must be `allot::instant time_limit(const job&) const`");
  static_assert(flavored_view<View> || !has_flavors<View>,
                "allot: the view's flavors must be `allot::flavor_menu<N> flavors(const job&, std::uint32_t "
                "pods) const`, N as in request(job)");
  static_assert(
      capacity_view<View> || !has_capacity<View>,
      "allot: the view's capacity must be `allot::resources<N> capacity() const`, N as in request(job)");

  constexpr bool checkpoint_is_right = requires(const View& view, const typename View::job& job) {
    { view.checkpoint(job) } -> integer_for<instant>;
  };
  constexpr bool restart_is_right = requires(const View& view, const typename View::job& job) {
    { view.restart(job) } -> integer_for<instant>;
  };
  static_assert(checkpoint_is_right || !has_checkpoint<View>,
                "allot: the view's checkpoint must be `allot::instant checkpoint(const job&) const`");
  static_assert(restart_is_right || !has_restart<View>,
                "allot: the view's restart must be `allot::instant restart(const job&) const`");
  static_assert(has_checkpoint<View> == has_restart<View>,
                "allot: checkpoint and restart go together: the view must have `allot::instant "
                "checkpoint(const job&) const` and `allot::instant restart(const job&) const`");

  constexpr bool pods_is_right = requires(const View& view, const typename View::job& job) {
    { view.pods(job) } -> integer_for<std::uint32_t>;
  };
  constexpr bool min_pods_is_right = requires(const View& view, const typename View::job& job) {
    { view.min_pods(job) } -> integer_for<std::uint32_t>;
  };
  static_assert(pods_is_right || !has_pods<View>,
                "allot: the view's pods must be `std::uint32_t pods(const job&) const`");
  static_assert(min_pods_is_right || !has_min_pods<View>,
                "allot: the view's min_pods must be `std::uint32_t min_pods(const job&) const`");
  static_assert(has_pods<View> == has_min_pods<View>,
                "allot: pods and min_pods go together: the view must have `std::uint32_t pods(const job&) "
                "const` and `std::uint32_t min_pods(const job&) const`");
  static_assert(elastic_view<View> || !pods_is_right || !min_pods_is_right,
                "allot: with pods and min_pods the view must have `allot::resources<N> request(const job&, "
                "std::uint32_t pods) const`, N as in request(job)");
  return true;
}

#undef ALLOT_VIEW_MISSPELLS
#undef ALLOT_VIEW_MAY_HAVE
#undef ALLOT_VIEW_CALLS

/// True, or an error that says what the placement needs and the view does not show.
template <job_view View, placement Placement>
[[nodiscard]] consteval bool shows_demands() {
  using demand = typename Placement::demand;
  static_assert(placed_view<View, Placement>,
                "allot: with a placement the view must have `Placement::demand demand(const job&) const`");
  constexpr bool by_pods = requires(const View& view, const typename View::job& job, std::uint32_t pods) {
    { view.demand(job, pods) } -> value_for<demand>;
  };
  static_assert(by_pods || flavored_view<View> || !elastic_view<View>,
                "allot: with a placement and min_pods the view must have `Placement::demand demand(const "
                "job&, std::uint32_t pods) const`");
  constexpr bool by_flavors =
      requires(const View& view, const typename View::job& job, std::uint32_t pods, const flavor_pick& pick) {
    { view.demand(job, pods, pick) } -> value_for<demand>;
  };
  static_assert(
      by_flavors || !flavored_view<View>,
      "allot: with a placement and flavors the view must have `Placement::demand demand(const job&, "
      "std::uint32_t pods, const allot::flavor_pick&) const`");
  return true;
}

/// True, or an error that says what is required and the view does not show.
template <class View>
[[nodiscard]] consteval bool shows_jobs() {
  static_assert(std::is_class_v<View> && std::copyable<View>,
                "allot: the view must be a class that can be copied, with `using job = ...` and const member "
                "functions that take a job");
  constexpr bool says_what_a_job_is = requires {
    typename View::job;
  };
  static_assert(
      says_what_a_job_is,
      "allot: the view must say what a job is, by a public `using job = ...` (a pointer, a number)");
  if constexpr (says_what_a_job_is) {
    using job = typename View::job;
    static_assert(std::regular<job>,
                  "allot: the view's job must be default constructible, copyable and comparable by == (a "
                  "pointer, a number)");
    constexpr bool shows_quota = requires(const View& view, const job& j) {
      { view.quota(j) } -> same_value_as<quota_id>;
    };
    static_assert(shows_quota, "allot: the view must have `allot::quota_id quota(const job&) const`");
    constexpr bool shows_request = requires(const View& view, const job& j) {
      { view.request(j) } -> any_amounts;
    };
    static_assert(shows_request, "allot: the view must have `allot::resources<N> request(const job&) const`");
    constexpr bool shows_priority = requires(const View& view, const job& j) {
      { view.priority(j) } -> integer_for<std::int32_t>;
    };
    static_assert(shows_priority, "allot: the view must have `std::int32_t priority(const job&) const`");
  }
  return true;
}

/// True, or an error that says in its first line what the view lacks, or what it has that nobody would call.
/// The concepts alone would say the former in many lines. The latter they would take for a view that wants
/// the default, and evict who may not be evicted.
template <class View, class Placement>
[[nodiscard]] consteval bool is_view() {
  bool all = shows_jobs<View>();
  if constexpr (job_view<View>) {
    all = all && spells_its_members<View>() && answers_by_its_names<View>();
    if constexpr (placement<Placement> && !std::same_as<Placement, no_placement>) {
      all = all && shows_demands<View, Placement>();
    }
  }
  return all;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
