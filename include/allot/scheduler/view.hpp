// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/flavors.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

/// The number of dimensions of a T of amounts; 0 for any other type.
template <class T>
inline constexpr std::size_t dimensions_of = 0;
template <std::size_t N>
inline constexpr std::size_t dimensions_of<resources<N>> = N;

template <class T, std::size_t N>
concept amounts_of = (dimensions_of<std::remove_cvref_t<T>> == N);
template <class T>
concept any_amounts = (dimensions_of<std::remove_cvref_t<T>> != 0);

/// The integer as which an enumeration is stored; any other type itself.
template <class T>
struct stored_as {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct stored_as<T> {
  using type = std::underlying_type_t<T>;
};

/// Whether the integer type `Target` has every value of the integer type T, which is no bool.
template <class T, class Target>
concept held_by = std::integral<T> && !std::same_as<T, bool> &&
                  (std::is_signed_v<T> == std::is_signed_v<Target>
                       ? sizeof(T) <= sizeof(Target)
                       : std::is_signed_v<Target> && sizeof(T) < sizeof(Target));
/// A class that represents a number: what it converts to fits into the target and is not a bool.
template <class T, class Target>
concept number_class = std::is_class_v<T> && requires(const T& value) {
  Target{value};
} && !requires(const T& value) {
  bool{value};
};

/// Whether a view may return a T where the library expects the integer `Target`: an integer or an unscoped
/// enumeration of which every value fits, or a class that converts to it without narrowing. Never a bool or a
/// fraction, which would silently lose its meaning.
template <class T, class Target>
concept integer_for = std::convertible_to<T, Target> &&
    (held_by<typename stored_as<std::remove_cvref_t<T>>::type, Target> ||
     number_class<std::remove_cvref_t<T>, Target>);
/// The same where the library expects the unsigned integer `Target`: a signed one will do, too. What becomes
/// of a negative value is up to the reader.
template <class T, class Target>
concept count_for = integer_for<T, Target> || integer_for<T, std::make_signed_t<Target>>;

/// The same for a target of any type: a placement may measure requests by an integer.
template <class T, class Target>
concept value_for = (!std::integral<Target> && std::convertible_to<T, Target>) || integer_for<T, Target>;

template <class T, class Target>
concept same_value_as = std::same_as<std::remove_cvref_t<T>, Target>;

/// Whether the view says how the host measures time.
template <class V>
concept has_time_point = requires {
  typename V::time_point;
};
template <class T>
concept has_rep = requires {
  typename T::rep;
};
/// What std::chrono's conversions don't ask: whether a type of the shape of its durations or time points
/// counts in an integer that an `instant` can hold.
template <class T>
concept counts_exactly = !has_rep<T> || integer_for<typename T::rep, instant>;
/// Whether the view may return a T where a point in time is expected, or a span of time.
template <class T, class V>
concept point_for = (!has_time_point<V> && integer_for<T, instant>) || requires {
  requires point_in_time<typename V::time_point> && std::convertible_to<T, typename V::time_point>;
  requires counts_exactly<std::remove_cvref_t<T>>;
};
template <class T, class V>
concept span_for = (!has_time_point<V> && integer_for<T, instant>) || requires {
  requires point_in_time<typename V::time_point>;
  requires std::convertible_to<T, typename V::time_point::duration>;
  requires counts_exactly<std::remove_cvref_t<T>>;
};

/// How many of a duration of the shape of std::chrono's make one of T's. Precondition: a whole number.
template <class T, class Span>
inline constexpr instant ticks_of_each =
    static_cast<instant>(static_cast<wide>(T::period::num) * static_cast<wide>(Span::period::den) /
                         (static_cast<wide>(T::period::den) * static_cast<wide>(Span::period::num)));
/// A span of time as a number of ticks of `Span`. The longest hours are more than an `instant` of seconds can
/// say: where std::chrono's conversion would overflow, this saturates.
template <class Span, class T>
[[nodiscard]] constexpr instant ticks_in(const T& span) {
  if constexpr (!std::same_as<T, Span> && requires { T::period::num + span.count() + Span::period::num; }) {
    constexpr instant each = ticks_of_each<T, Span>;
    using limits = std::numeric_limits<instant>;
    const auto count = static_cast<instant>(span.count());
    if (count > limits::max() / each) return limits::max();
    return count < limits::min() / each ? limits::min() : count * each;
  } else {
    return static_cast<Span>(span).count();
  }
}
/// What such a view returns, as the library counts.
template <class V, point_for<V> T>
[[nodiscard]] constexpr instant point_of(const T& point) {
  if constexpr (has_time_point<V>) {
    using span = typename V::time_point::duration;
    if constexpr (requires { point.time_since_epoch(); }) {
      return ticks_in<span>(point.time_since_epoch());
    } else {
      return static_cast<typename V::time_point>(point).time_since_epoch().count();
    }
  } else {
    return static_cast<instant>(point);
  }
}
template <class V, span_for<V> T>
[[nodiscard]] constexpr instant span_of(const T& span) {
  if constexpr (has_time_point<V>) {
    return ticks_in<typename V::time_point::duration>(span);
  } else {
    return static_cast<instant>(span);
  }
}

/// So many seconds in the unit of this view, rounded down.
template <has_time_point V>
[[nodiscard]] constexpr instant ticks_of_seconds(instant seconds) {
  using period = typename V::time_point::duration::period;
  const wide ticks =
      static_cast<wide>(seconds) * static_cast<wide>(period::den) / static_cast<wide>(period::num);
  return ticks < static_cast<wide>(without_end) ? static_cast<instant>(ticks) : without_end;
}

/// The type in which the host of this view says a point in time.
template <class V>
struct time_point_of {
  using type = instant;
};
template <has_time_point V>
struct time_point_of<V> {
  using type = typename V::time_point;
};

}  // namespace detail

/// A host shows its jobs through one view object: `using job = …`, a cheap regular handle (the library never
/// owns a job), and const member functions that take it. Three are required; each concept below adds what a
/// finer policy can use, and a view without it gets the default stated there.
///
/// A function may take the job by value or by reference to const, and return a value or a reference. Where an
/// integer is expected, one of which every value fits will do (a `std::uint32_t` for `instant`), and for
/// `pods`, `min_pods` and `id`, which are unsigned, a signed one of the same width. Others don't compile: a
/// `std::uint64_t` for `instant`, of which the largest would become the least, a wider one, a bool, a
/// fraction. `preemptible` and `preempts` return bool itself. A member with one of these names but the wrong
/// signature is not ignored: a scheduler does not compile with it, and says so (`detail::is_view`).
///
/// The view is read when a job is submitted (or adopted), so it may answer from tables that change later, and
/// again when the host says that they have (`scheduler::update`).
/// While the scheduler decides, it is read only for jobs with flavors and for further pods of elastic ones. A
/// function may throw where a job is submitted, adopted or `started`; elsewhere that leaves the scheduler
/// unusable: see `scheduler`.
template <class V>
concept job_view = std::copyable<V> && requires(const V& view, const typename V::job& job) {
  requires std::regular<typename V::job>;
  { view.quota(job) } -> detail::same_value_as<quota_id>;
  /// Of the whole job, all pods together: a `resources<N>`.
  { view.request(job) } -> detail::any_amounts;
  /// Higher first.
  { view.priority(job) } -> detail::integer_for<std::int64_t>;
};

/// The number of dimensions of the view's requests.
template <job_view V>
inline constexpr std::size_t dimensions = detail::dimensions_of<
    std::remove_cvref_t<decltype(std::declval<const V&>().request(std::declval<const typename V::job&>()))>>;

/// A view that says how the host measures time: `using time_point = …`, a std::chrono::time_point of a signed
/// 64-bit integer, or a type of that shape. Points and spans of time can't be mixed up then, nor can units:
/// `submitted` and `ready_at` return what converts to it, `duration`, `estimate`, `time_limit`, `checkpoint`
/// and `restart` what converts to its `duration`; `step` and the other calls of a scheduler that take or
/// return a time
/// (`scheduler::time_point`) use it. Where settings, plans and reservations have an `instant`, that is a
/// number of ticks: see `ticks` and `scheduler::time_of`. What a view returns in a coarser unit saturates:
/// `std::chrono::hours::max()` is the longest span. Default: an `instant` everywhere, in a unit of the host's
/// choice.
template <class V>
concept clocked_view = job_view<V> && detail::point_in_time<typename V::time_point>;

/// A span of the host's time as settings take it: `ticks<my_view>(std::chrono::minutes{5})`.
template <clocked_view V>
[[nodiscard]] constexpr instant ticks(const typename V::time_point::duration& span) {
  return span.count();
}

/// When the job was submitted. Default: the order of the `submit` calls.
template <class V>
concept timed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.submitted(job) } -> detail::point_for<V>;
};

/// From when the job can start: what it depends on is there by then, its user has put it off, its nodes are
/// still being cleaned up after its last run. Read when the job is submitted and again after an eviction; a
/// host that learns of another time says so (`scheduler::update`). A time that has passed: it can
/// start now. The last (`without_end`): it is not known when, it only waits. Default: every job can start at
/// once.
///
/// Before its time a job is never started or decided on, evicts none and is in nobody's way, but: what it
/// would take back as soon as it is ready is not lent any more shortly before
/// (`queue_settings::ready_horizon`); and with an estimate, in a queue that reserves, it may hold a
/// reservation for that time or later. In Kueue and KAI a job that is not ready is not there, and so it is
/// under `kueue`, `kueue_fair` and `runai`.
template <class V>
concept ready_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.ready_at(job) } -> detail::point_for<V>;
};

/// A stable number of the job, to break ties regardless of the order of the calls: the least first, but
/// negative ones, in their order, after all others. Default: the order of the calls.
template <class V>
concept identified_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.id(job) } -> detail::count_for<std::uint64_t>;
};

/// Whether the job may be evicted. Default: it may.
template <class V>
concept preemptible_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.preemptible(job) } -> detail::same_value_as<bool>;
};

/// Whether others may be evicted for the job (Kubernetes' `preemptionPolicy: Never`). Default: they may. If
/// not it starts where there is room, in its turn, and takes back nothing that its quota has lent.
template <class V>
concept preempting_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.preempts(job) } -> detail::same_value_as<bool>;
};

/// How long the job is expected to run, for orders by size.
template <class V>
concept duration_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.duration(job) } -> detail::span_for<V>;
};

/// What the job needs of a placement. Required unless the scheduler has none.
template <class V, class Placement>
concept placed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.pod_request(job) } -> detail::value_for<typename Placement::pod_request>;
};

/// How many pods the job has and how many of them it needs to run at all: it is elastic if these differ.
/// `request(job, pods)`, and with a placement `pod_request(job, pods)`, are for `pods` of its pods. A job
/// with a negative number of them is refused (`refusal::invalid_request`). Default: all pods start together.
template <class V>
concept elastic_view = job_view<V> &&
    requires(const V& view, const typename V::job& job, std::uint32_t pods) {
  { view.pods(job) } -> detail::count_for<std::uint32_t>;
  { view.min_pods(job) } -> detail::count_for<std::uint32_t>;
  { view.request(job, pods) } -> detail::amounts_of<dimensions<V>>;
};

/// Whether pods of an elastic job that may not be evicted may be, one by one, as far as its minimum does not
/// need them: those of that set, which is the first if all are alike. What they have their quota may borrow,
/// as for jobs that may be evicted. Default: they may not. (KAI-Scheduler's semi-preemptible jobs.)
template <class V>
concept semi_preemptible_view = preemptible_view<V> && elastic_view<V> &&
    requires(const V& view, const typename V::job& job, pod_set_id set) {
  { view.preemptible(job, set) } -> detail::same_value_as<bool>;
};

/// The pods of an elastic job in sets, for jobs whose pods differ: a leader and its workers, roles with
/// minimums of their own. `pods(job)` and `min_pods(job)` are the sums over its `pod_sets(job)`, at most
/// `most_pod_sets`, of `pods(job, set)` and `min_pods(job, set)`; the sets are numbered from 0. The minimums
/// of all sets start together, and go last; further pods come one by one, as `next_to_grow` says for the
/// growth of the policies (`growing_policies`).
/// `request(job, set)`, with flavors `flavors(job, set)`, and with a placement `pod_request(job, set)`, or
/// `pod_request(job, set, pick)`, are for one such pod; `request(job, pods)` and `pod_request(job, pods)` for
/// as many pods as `pods_of_sets` divides. A placement that knows pods of one kind places them by
/// `with_pod_sets`. Default, also of a job with no more than one set: all are alike.
template <class V>
concept pod_set_view = elastic_view<V> &&
    requires(const V& view, const typename V::job& job, pod_set_id set) {
  { view.pod_sets(job) } -> detail::count_for<std::uint32_t>;
  { view.pods(job, set) } -> detail::count_for<std::uint32_t>;
  { view.min_pods(job, set) } -> detail::count_for<std::uint32_t>;
  { view.request(job, set) } -> detail::amounts_of<dimensions<V>>;
};

/// The flavors that the job accepts, as a `flavor_menu` for `pods` of its pods (all of them, unless the job
/// is elastic). They are added to `request`, which then holds what the job requests in any case. With a
/// placement, `pod_request(job, pods, pick)` is the pod request under a choice. Default: no choice.
template <class V>
concept flavored_view = job_view<V> &&
    requires(const V& view, const typename V::job& job, std::uint32_t pods) {
  { view.flavors(job, pods) } -> detail::same_value_as<flavor_menu<dimensions<V>>>;
};

/// How long a run of the job may last, 0 or less: forever. Then it is evicted (`relation::time_limit`), and
/// is over. Read as it starts, and by `scheduler::update`. Default: forever.
template <class V>
concept time_limited_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.time_limit(job) } -> detail::span_for<V>;
};

/// How long a run of the job is expected to last: an estimate, or the limit that its user gave. It may end
/// earlier or overrun. 0 or less: unknown. Default: unknown, but a job ends at its time limit at the latest.
/// Reservations depend on it (see `queue_head::reserve`). Read when the job is submitted or adopted and again
/// after an eviction: then it is for the rest of its work; and by `scheduler::update`, of a job that runs as
/// of its start. So is the pod request, where it has an estimate.
template <class V>
concept estimated_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.estimate(job) } -> detail::span_for<V>;
};

/// The interval at which its work is saved, and what a restart costs, for the cost of an eviction; 0 or less:
/// never saved, and no cost. Default: 0.
template <class V>
concept checkpointed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.checkpoint(job) } -> detail::span_for<V>;
  { view.restart(job) } -> detail::span_for<V>;
};

/// What a job uses of its quota depends on where it runs: the same GPU memory is a smaller part of a larger
/// GPU. Of a job for which `is_charged_by_place`, its pods placed at `where` use `request_at`. A cycle that
/// supports this (KAI's) decides with it; while the job is pending, `request` is used instead. A view whose
/// jobs have unlike pods also has `request_at(job, set, ...)`, for one further pod of that set. Default: a
/// job uses what it requests.
template <class V, class Placement>
concept charging_view = placed_view<V, Placement> &&
    requires(const V& view, const typename V::job& job, const resources<dimensions<V>>& request,
             const Placement& in, const typename Placement::allocation& where) {
  { view.is_charged_by_place(job) } -> detail::same_value_as<bool>;
  { view.request_at(job, request, in, where) } -> detail::amounts_of<dimensions<V>>;
};

/// The same where further pods may be of several sets.
template <class V, class Placement>
concept set_charging_view = charging_view<V, Placement> && pod_set_view<V> &&
    requires(const V& view, const typename V::job& job, pod_set_id set,
             const resources<dimensions<V>>& request, const Placement& in,
             const typename Placement::allocation& where) {
  { view.request_at(job, set, request, in, where) } -> detail::amounts_of<dimensions<V>>;
};

/// The total capacity of the cluster, unlimited in a dimension where it is not known, for cycles that divide
/// it. What the nodes have, closed ones too, is no more than that. Default: what the quotas own.
template <class V>
concept capacity_view = job_view<V> && requires(const V& view) {
  { view.capacity() } -> detail::amounts_of<dimensions<V>>;
};

}  // namespace v0
}  // namespace allot
