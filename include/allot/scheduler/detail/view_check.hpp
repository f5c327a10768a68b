// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/placement.hpp>
#include <allot/scheduler/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace allot {
inline namespace v0 {
namespace detail {

/// The names of a view's optional members.
struct optional_names {
  int submitted, ready_at, id, preemptible, duration, pods, min_pods, flavors, time_limit, estimate,
      checkpoint, restart, capacity;
};

/// In this class such a name is ambiguous exactly if the view has a member of that name, of any kind:
/// overloaded, static, private or a template. A final class can't be derived from.
template <class View>
struct view_and_names : View, optional_names {};
template <class View>
requires std::is_final_v<View>
struct view_and_names<View> : optional_names {
};

// Whether the view has a member of that name at all; for a final view, whether it can be called for a job.

// clang-format off
template <class View>
concept has_submitted = !requires { &view_and_names<View>::submitted; } || requires { &View::submitted; } ||
    requires(View& v, typename View::job& j) { v.submitted(j); };
template <class View>
concept has_ready_at = !requires { &view_and_names<View>::ready_at; } || requires { &View::ready_at; } ||
    requires(View& v, typename View::job& j) { v.ready_at(j); };
template <class View>
concept has_id = !requires { &view_and_names<View>::id; } || requires { &View::id; } ||
    requires(View& v, typename View::job& j) { v.id(j); };
template <class View>
concept has_preemptible = !requires { &view_and_names<View>::preemptible; } || requires { &View::preemptible; } ||
    requires(View& v, typename View::job& j) { v.preemptible(j); };
template <class View>
concept has_duration = !requires { &view_and_names<View>::duration; } || requires { &View::duration; } ||
    requires(View& v, typename View::job& j) { v.duration(j); };
template <class View>
concept has_pods = !requires { &view_and_names<View>::pods; } || requires { &View::pods; } ||
    requires(View& v, typename View::job& j) { v.pods(j); };
template <class View>
concept has_min_pods = !requires { &view_and_names<View>::min_pods; } || requires { &View::min_pods; } ||
    requires(View& v, typename View::job& j) { v.min_pods(j); };
template <class View>
concept has_flavors = !requires { &view_and_names<View>::flavors; } || requires { &View::flavors; } ||
    requires(View& v, typename View::job& j) { v.flavors(j, std::uint32_t{}); };
template <class View>
concept has_time_limit = !requires { &view_and_names<View>::time_limit; } || requires { &View::time_limit; } ||
    requires(View& v, typename View::job& j) { v.time_limit(j); };
template <class View>
concept has_estimate = !requires { &view_and_names<View>::estimate; } || requires { &View::estimate; } ||
    requires(View& v, typename View::job& j) { v.estimate(j); };
template <class View>
concept has_checkpoint = !requires { &view_and_names<View>::checkpoint; } || requires { &View::checkpoint; } ||
    requires(View& v, typename View::job& j) { v.checkpoint(j); };
template <class View>
concept has_restart = !requires { &view_and_names<View>::restart; } || requires { &View::restart; } ||
    requires(View& v, typename View::job& j) { v.restart(j); };
template <class View>
concept has_capacity = !requires { &view_and_names<View>::capacity; } || requires { &View::capacity; } ||
    requires(View& v, typename View::job& j) { v.capacity(); };

// clang-format on

/// True, or an error that names a member that is never called, because the library has another name for it.
/// Only names with hardly any other meaning count, and only if the right one is missing: a view may have
/// helpers of its own.
template <job_view View>
[[nodiscard]] consteval bool check_spelling() {  // NOLINT(readability-function-size): a list
  using job = typename View::job;
  // clang-format off
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submit_time(j); },
                "allot: the view has a member submit_time; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submitted_at(j); },
                "allot: the view has a member submitted_at; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submitted_time(j); },
                "allot: the view has a member submitted_time; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submission(j); },
                "allot: the view has a member submission; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submission_time(j); },
                "allot: the view has a member submission_time; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.arrival_time(j); },
                "allot: the view has a member arrival_time; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submitTime(j); },
                "allot: the view has a member submitTime; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submittedAt(j); },
                "allot: the view has a member submittedAt; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.submissionTime(j); },
                "allot: the view has a member submissionTime; the library calls submitted");
  static_assert(has_submitted<View> || !requires(View& v, job& j) { v.arrivalTime(j); },
                "allot: the view has a member arrivalTime; the library calls submitted");

  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.ready_time(j); },
                "allot: the view has a member ready_time; the library calls ready_at");
  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.readyAt(j); },
                "allot: the view has a member readyAt; the library calls ready_at");
  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.begin_time(j); },
                "allot: the view has a member begin_time; the library calls ready_at");
  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.eligible_at(j); },
                "allot: the view has a member eligible_at; the library calls ready_at");
  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.eligible_time(j); },
                "allot: the view has a member eligible_time; the library calls ready_at");
  static_assert(has_ready_at<View> || !requires(View& v, job& j) { v.not_before(j); },
                "allot: the view has a member not_before; the library calls ready_at");

  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.preemptable(j); },
                "allot: the view has a member preemptable; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.premptible(j); },
                "allot: the view has a member premptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.premptable(j); },
                "allot: the view has a member premptable; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.preemtible(j); },
                "allot: the view has a member preemtible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.pre_emptible(j); },
                "allot: the view has a member pre_emptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.is_preemptible(j); },
                "allot: the view has a member is_preemptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.is_preemptable(j); },
                "allot: the view has a member is_preemptable; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.isPreemptible(j); },
                "allot: the view has a member isPreemptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.not_preemptible(j); },
                "allot: the view has a member not_preemptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.non_preemptible(j); },
                "allot: the view has a member non_preemptible; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.can_be_preempted(j); },
                "allot: the view has a member can_be_preempted; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.may_be_preempted(j); },
                "allot: the view has a member may_be_preempted; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.evictable(j); },
                "allot: the view has a member evictable; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.is_evictable(j); },
                "allot: the view has a member is_evictable; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.can_be_evicted(j); },
                "allot: the view has a member can_be_evicted; the library calls preemptible");
  static_assert(has_preemptible<View> || !requires(View& v, job& j) { v.may_be_evicted(j); },
                "allot: the view has a member may_be_evicted; the library calls preemptible");

  static_assert(has_duration<View> || !requires(View& v, job& j) { v.runtime(j); },
                "allot: the view has a member runtime; the library calls duration");
  static_assert(has_duration<View> || !requires(View& v, job& j) { v.run_time(j); },
                "allot: the view has a member run_time; the library calls duration");
  // A number of pods alone (`pod_count`) adds nothing to `request`: without a minimum all pods start
  // together.
  static_assert(has_pods<View> || !requires(View& v, job& j) { v.max_pods(j); },
                "allot: the view has a member max_pods; the library calls pods");
  static_assert(has_pods<View> || !requires(View& v, job& j) { v.maxPods(j); },
                "allot: the view has a member maxPods; the library calls pods");
  static_assert(has_pods<View> || !requires(View& v, job& j) { v.maximum_pods(j); },
                "allot: the view has a member maximum_pods; the library calls pods");
  static_assert(has_min_pods<View> || !requires(View& v, job& j) { v.min_pod(j); },
                "allot: the view has a member min_pod; the library calls min_pods");
  static_assert(has_min_pods<View> || !requires(View& v, job& j) { v.minPods(j); },
                "allot: the view has a member minPods; the library calls min_pods");
  static_assert(has_min_pods<View> || !requires(View& v, job& j) { v.minimum_pods(j); },
                "allot: the view has a member minimum_pods; the library calls min_pods");
  static_assert(has_min_pods<View> || !requires(View& v, job& j) { v.min_pod_count(j); },
                "allot: the view has a member min_pod_count; the library calls min_pods");

  static_assert(has_flavors<View> || !requires(View& v, job& j) { v.flavor(j, std::uint32_t{}); },
                "allot: the view has a member flavor; the library calls flavors");
  static_assert(has_flavors<View> || !requires(View& v, job& j) { v.flavour(j, std::uint32_t{}); },
                "allot: the view has a member flavour; the library calls flavors");
  static_assert(has_flavors<View> || !requires(View& v, job& j) { v.flavours(j, std::uint32_t{}); },
                "allot: the view has a member flavours; the library calls flavors");

  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.timelimit(j); },
                "allot: the view has a member timelimit; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.timeLimit(j); },
                "allot: the view has a member timeLimit; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.max_runtime(j); },
                "allot: the view has a member max_runtime; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.max_run_time(j); },
                "allot: the view has a member max_run_time; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.max_duration(j); },
                "allot: the view has a member max_duration; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.runtime_limit(j); },
                "allot: the view has a member runtime_limit; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.run_time_limit(j); },
                "allot: the view has a member run_time_limit; the library calls time_limit");

  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimated_runtime(j); },
                "allot: the view has a member estimated_runtime; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimated_run_time(j); },
                "allot: the view has a member estimated_run_time; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimated_duration(j); },
                "allot: the view has a member estimated_duration; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.expected_runtime(j); },
                "allot: the view has a member expected_runtime; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.expected_run_time(j); },
                "allot: the view has a member expected_run_time; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.expected_duration(j); },
                "allot: the view has a member expected_duration; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.runtime_estimate(j); },
                "allot: the view has a member runtime_estimate; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.run_time_estimate(j); },
                "allot: the view has a member run_time_estimate; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimates(j); },
                "allot: the view has a member estimates; the library calls estimate");

  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimatedDuration(j); },
                "allot: the view has a member estimatedDuration; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.estimatedRuntime(j); },
                "allot: the view has a member estimatedRuntime; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.expectedDuration(j); },
                "allot: the view has a member expectedDuration; the library calls estimate");
  static_assert(has_estimate<View> || !requires(View& v, job& j) { v.expectedRuntime(j); },
                "allot: the view has a member expectedRuntime; the library calls estimate");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.maxRuntime(j); },
                "allot: the view has a member maxRuntime; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.maxDuration(j); },
                "allot: the view has a member maxDuration; the library calls time_limit");
  static_assert(has_time_limit<View> || !requires(View& v, job& j) { v.runtimeLimit(j); },
                "allot: the view has a member runtimeLimit; the library calls time_limit");
  static_assert(has_checkpoint<View> || !requires(View& v, job& j) { v.checkpoints(j); },
                "allot: the view has a member checkpoints; the library calls checkpoint");
  static_assert(has_checkpoint<View> || !requires(View& v, job& j) { v.checkpoint_interval(j); },
                "allot: the view has a member checkpoint_interval; the library calls checkpoint");
  static_assert(has_checkpoint<View> || !requires(View& v, job& j) { v.checkpoint_period(j); },
                "allot: the view has a member checkpoint_period; the library calls checkpoint");
  static_assert(has_checkpoint<View> || !requires(View& v, job& j) { v.checkpointInterval(j); },
                "allot: the view has a member checkpointInterval; the library calls checkpoint");
  static_assert(has_restart<View> || !requires(View& v, job& j) { v.restartCost(j); },
                "allot: the view has a member restartCost; the library calls restart");
  static_assert(has_restart<View> || !requires(View& v, job& j) { v.restart_cost(j); },
                "allot: the view has a member restart_cost; the library calls restart");
  static_assert(has_restart<View> || !requires(View& v, job& j) { v.restart_time(j); },
                "allot: the view has a member restart_time; the library calls restart");
  // clang-format on
  return true;
}

/// True, or an error that names an optional member with the wrong signature.
template <job_view View>
[[nodiscard]] consteval bool answers_by_its_names() {
  static_assert(
      clocked_view<View> || !has_time_point<View>,
      "allot: the view's time_point must be a std::chrono::time_point of a signed 64-bit integer, or "
      "a type of that shape");
  static_assert(timed_view<View> || !has_submitted<View>,
                "allot: the view's submitted must be `allot::instant submitted(const job&) const`, or with "
                "`using time_point = ...` return that");
  static_assert(ready_view<View> || !has_ready_at<View>,
                "allot: the view's ready_at must be `allot::instant ready_at(const job&) const`, or with "
                "`using time_point = ...` return that");
  static_assert(identified_view<View> || !has_id<View>,
                "allot: the view's id must be `std::uint64_t id(const job&) const`");
  static_assert(preemptible_view<View> || !has_preemptible<View>,
                "allot: the view's preemptible must be `bool preemptible(const job&) const`");
  static_assert(duration_view<View> || !has_duration<View>,
                "allot: the view's duration must be `allot::instant duration(const job&) const`, or with "
                "`using time_point = ...` return a std::chrono::duration");
  static_assert(time_limited_view<View> || !has_time_limit<View>,
                "allot: the view's time_limit must be `allot::instant time_limit(const job&) const`, or with "
                "`using time_point = ...` return a std::chrono::duration");
  static_assert(estimated_view<View> || !has_estimate<View>,
                "allot: the view's estimate must be `allot::instant estimate(const job&) const`, or with "
                "`using time_point = ...` return a std::chrono::duration");
  static_assert(flavored_view<View> || !has_flavors<View>,
                "allot: the view's flavors must be `allot::flavor_menu<N> flavors(const job&, std::uint32_t "
                "pods) const`, N as in request(job)");
  static_assert(
      capacity_view<View> || !has_capacity<View>,
      "allot: the view's capacity must be `allot::resources<N> capacity() const`, N as in request(job)");

  constexpr bool checkpoint_is_right = requires(const View& view, const typename View::job& job) {
    { view.checkpoint(job) } -> span_for<View>;
  };
  constexpr bool restart_is_right = requires(const View& view, const typename View::job& job) {
    { view.restart(job) } -> span_for<View>;
  };
  static_assert(checkpoint_is_right || !has_checkpoint<View>,
                "allot: the view's checkpoint must be `allot::instant checkpoint(const job&) const`, or with "
                "`using time_point = ...` return a std::chrono::duration");
  static_assert(restart_is_right || !has_restart<View>,
                "allot: the view's restart must be `allot::instant restart(const job&) const`, or with "
                "`using time_point = ...` return a std::chrono::duration");
  static_assert(has_checkpoint<View> == has_restart<View>,
                "allot: checkpoint and restart go together: the view must have `allot::instant "
                "checkpoint(const job&) const` and `allot::instant restart(const job&) const`");

  constexpr bool pods_is_right = requires(const View& view, const typename View::job& job) {
    { view.pods(job) } -> count_for<std::uint32_t>;
  };
  constexpr bool min_pods_is_right = requires(const View& view, const typename View::job& job) {
    { view.min_pods(job) } -> count_for<std::uint32_t>;
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

/// True, or an error that names what the placement needs and the view lacks.
template <job_view View, placement Placement>
[[nodiscard]] consteval bool shows_demands() {
  using pod_request = typename Placement::pod_request;
  static_assert(
      placed_view<View, Placement>,
      "allot: with a placement the view must have `Placement::pod_request pod_request(const job&) const`");
  constexpr bool by_pods = requires(const View& view, const typename View::job& job, std::uint32_t pods) {
    { view.pod_request(job, pods) } -> value_for<pod_request>;
  };
  static_assert(
      by_pods || flavored_view<View> || !elastic_view<View>,
      "allot: with a placement and min_pods the view must have `Placement::pod_request pod_request(const "
      "job&, std::uint32_t pods) const`");
  constexpr bool by_flavors =
      requires(const View& view, const typename View::job& job, std::uint32_t pods, const flavor_pick& pick) {
    { view.pod_request(job, pods, pick) } -> value_for<pod_request>;
  };
  static_assert(by_flavors || !flavored_view<View>,
                "allot: with a placement and flavors the view must have `Placement::pod_request "
                "pod_request(const job&, "
                "std::uint32_t pods, const allot::flavor_pick&) const`");
  constexpr bool charges = requires(const View& view, const typename View::job& job) {
    view.is_charged_by_place(job);
  };
  static_assert(!charges || charging_view<View, Placement>,
                "allot: with is_charged_by_place the view must have `bool is_charged_by_place(const job&) "
                "const` and `allot::resources<N> request_at(const job&, const allot::resources<N>& request, "
                "const Placement&, const Placement::allocation&) const`, N as in request(job)");
  return true;
}

/// True, or an error that names a required member that the view lacks.
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
      { view.priority(j) } -> integer_for<std::int64_t>;
    };
    static_assert(shows_priority,
                  "allot: the view must have `std::int64_t priority(const job&) const`, or return an integer "
                  "of which every value fits into that: no std::uint64_t");
  }
  return true;
}

/// The number of dimensions of the view's requests, or an error that names what it lacks.
template <class View>
[[nodiscard]] consteval std::size_t checked_dimensions() {
  if constexpr (job_view<View>) {
    return dimensions<View>;
  } else {
    return shows_jobs<View>() ? 1 : 0;
  }
}

/// True, or an error whose first line names what the view lacks, or a member that is never called. The
/// concepts alone would report the former in many lines. For the latter they would assume the default, and
/// jobs that may not be evicted would be.
template <class View, class Placement>
[[nodiscard]] consteval bool is_view() {
  bool all = shows_jobs<View>();
  if constexpr (job_view<View>) {
    all = all && check_spelling<View>() && answers_by_its_names<View>();
    if constexpr (placement<Placement> && !std::same_as<Placement, no_placement>) {
      all = all && shows_demands<View, Placement>();
    }
  }
  return all;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
