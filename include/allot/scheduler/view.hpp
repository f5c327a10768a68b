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
/// The view is read when a job is submitted (or adopted), not while the scheduler decides, so it may answer
/// from tables that change later.
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
