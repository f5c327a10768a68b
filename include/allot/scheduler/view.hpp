// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// A host shows its jobs through one view object: `using job = …`, a cheap regular handle (the library never
/// owns a job), and const member functions that take it. Three are required; each concept below adds what a
/// finer policy can use, and a view that does not have it gets the default that is stated there.
///
/// The view is read when a job is submitted (or adopted), so it may answer from tables that change later.
/// Only of a job with flavors, and of the further pods of an elastic one, is it read while the scheduler
/// decides.
template <class V>
concept job_view = std::copyable<V> && requires(const V& view, const typename V::job& job) {
  requires std::regular<typename V::job>;
  { view.quota(job) } -> std::same_as<quota_id>;
  /// Of the whole job, all pods together: a `resources<N>`.
  view.request(job);
  { view.priority(job) } -> std::convertible_to<std::int32_t>;
};

/// When the job was submitted. Default: the order of the calls of `submit`.
template <class V>
concept timed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.submitted(job) } -> std::convertible_to<instant>;
};

/// A number that stays the job's, to break ties whatever the order of the calls. Default: that order.
template <class V>
concept identified_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.id(job) } -> std::convertible_to<std::uint64_t>;
};

/// Whether the job may be evicted. Default: it may.
template <class V>
concept preemptible_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.preemptible(job) } -> std::same_as<bool>;
};

/// How long the job is expected to run, for orders by size.
template <class V>
concept duration_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.duration(job) } -> std::convertible_to<instant>;
};

/// What the job needs of a placement. Required unless the scheduler has none.
template <class V, class Placement>
concept placed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.demand(job) } -> std::convertible_to<typename Placement::demand>;
};

/// How many pods the job has and how many of them it needs to run at all: it is elastic when these differ.
/// `request(job, pods)`, and with a placement `demand(job, pods)`, are those of so many of its pods.
/// Default: all pods start together.
template <class V>
concept elastic_view = job_view<V> &&
    requires(const V& view, const typename V::job& job, std::uint32_t pods) {
  { view.pods(job) } -> std::convertible_to<std::uint32_t>;
  { view.min_pods(job) } -> std::convertible_to<std::uint32_t>;
  view.request(job, pods);
};

/// The flavors that the job accepts, as a `flavor_menu` for so many of its pods (all of them, unless the job
/// is elastic). They come on top of `request`, which then holds what the job asks for in any case. With a
/// placement `demand(job, pods, pick)` is the demand under a choice. Default: no choice.
template <class V>
concept flavored_view = job_view<V> &&
    requires(const V& view, const typename V::job& job, std::uint32_t pods) {
  view.flavors(job, pods);
};

/// How long the job may run before it is told to go, 0: for ever. Default: for ever.
template <class V>
concept time_limited_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.time_limit(job) } -> std::convertible_to<instant>;
};

/// After how long its work is saved, and what a restart costs, for costs of an eviction. Default: 0, it is
/// never saved and costs nothing.
template <class V>
concept checkpointed_view = job_view<V> && requires(const V& view, const typename V::job& job) {
  { view.checkpoint(job) } -> std::convertible_to<instant>;
  { view.restart(job) } -> std::convertible_to<instant>;
};

namespace detail {
template <class T>
struct dimensions_of;
template <std::size_t N>
struct dimensions_of<resources<N>> : std::integral_constant<std::size_t, N> {};
}  // namespace detail

/// How many dimensions the view's requests have.
template <job_view V>
inline constexpr std::size_t dimensions =
    detail::dimensions_of<std::remove_cvref_t<decltype(std::declval<const V&>().request(
        std::declval<const typename V::job&>()))>>::value;

}  // namespace v0
}  // namespace allot
