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
  int submitted, ready_at, id, preemptible, preempts, duration, pods, min_pods, pod_sets, flavors, time_limit,
      estimate, checkpoint, restart, capacity;
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
concept has_preempts = !requires { &view_and_names<View>::preempts; } || requires { &View::preempts; } ||
    requires(View& v, typename View::job& j) { v.preempts(j); };
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
concept has_pod_sets = !requires { &view_and_names<View>::pod_sets; } || requires { &View::pod_sets; } ||
    requires(View& v, typename View::job& j) { v.pod_sets(j); };
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
  static_assert(preempting_view<View> || !has_preempts<View>,
                "allot: the view's preempts must be `bool preempts(const job&) const`");
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
  constexpr bool is_semi_preemptible = requires(const View& view, const typename View::job& job) {
    view.preemptible(job, pod_set_id{});
  };
  static_assert(semi_preemptible_view<View> || !is_semi_preemptible,
                "allot: with preemptible(job, set) the view must have `bool preemptible(const job&, "
                "allot::pod_set_id set) const`, `bool preemptible(const job&) const`, pods and min_pods");
  static_assert(
      pod_set_view<View> || !has_pod_sets<View>,
      "allot: with pod_sets the view must have `std::uint32_t pod_sets(const job&) const`, pods, "
      "min_pods, and for `allot::pod_set_id set`: `std::uint32_t pods(const job&, set) const`, "
      "`std::uint32_t min_pods(const job&, set) const` and `allot::resources<N> request(const job&, "
      "set) const`, N as in request(job)");
  if constexpr (pod_set_view<View> && flavored_view<View>) {
    constexpr bool by_set = requires(const View& view, const typename View::job& job, pod_set_id set) {
      { view.flavors(job, set) } -> same_value_as<flavor_menu<dimensions<View>>>;
    };
    static_assert(by_set,
                  "allot: with pod_sets and flavors the view must have `allot::flavor_menu<N> flavors(const "
                  "job&, allot::pod_set_id set) const`, N as in request(job)");
  }
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
  constexpr bool by_set =
      requires(const View& view, const typename View::job& job, pod_set_id set, const flavor_pick& pick) {
    requires !flavored_view<View>;
    { view.pod_request(job, set) } -> value_for<pod_request>;
  }
  || requires(const View& view, const typename View::job& job, pod_set_id set, const flavor_pick& pick) {
    { view.pod_request(job, set, pick) } -> value_for<pod_request>;
  };
  static_assert(
      by_set || !pod_set_view<View>,
      "allot: with a placement and pod_sets the view must have `Placement::pod_request "
      "pod_request(const job&, allot::pod_set_id set) const`, with flavors also with `const "
      "allot::flavor_pick&`; where requests can't say several sets, allot::with_pod_sets<Placement> "
      "has some that can");
  constexpr bool charges = requires(const View& view, const typename View::job& job) {
    view.is_charged_by_place(job);
  };
  static_assert(!charges || charging_view<View, Placement>,
                "allot: with is_charged_by_place the view must have `bool is_charged_by_place(const job&) "
                "const` and `allot::resources<N> request_at(const job&, const allot::resources<N>& request, "
                "const Placement&, const Placement::allocation&) const`, N as in request(job)");
  static_assert(!charges || !pod_set_view<View> || set_charging_view<View, Placement>,
                "allot: with is_charged_by_place and pod_sets the view must also have `allot::resources<N> "
                "request_at(const job&, allot::pod_set_id set, const allot::resources<N>& request, const "
                "Placement&, const Placement::allocation&) const`, for one pod of that set");
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

/// True, or an error whose first line names what the view lacks, or an optional member with the wrong
/// signature. The concepts alone would report the former in many lines. For the latter they would assume the
/// default, and jobs that may not be evicted would be.
template <class View, class Placement>
[[nodiscard]] consteval bool is_view() {
  bool all = shows_jobs<View>();
  if constexpr (job_view<View>) {
    all = all && answers_by_its_names<View>();
    if constexpr (placement<Placement> && !std::same_as<Placement, no_placement>) {
      all = all && shows_demands<View, Placement>();
    }
  }
  return all;
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
