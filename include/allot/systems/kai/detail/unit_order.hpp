// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/view.hpp>
#include <allot/systems/kai/placements.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v0 {
namespace detail {

/// The order of KAI-Scheduler v0.13 within a queue: the key (priority, highest first), jobs below their
/// minimum before those at it before those above it, then age, oldest first. Victims are taken in reverse.
struct unit_rank {
  std::int64_t key = 0;
  std::uint8_t stage = 0;
  instant submitted = 0;
  std::uint64_t order = 0;
  /// A host may submit the same job twice.
  job_id job{};
  /// Among the elastic pods of one job.
  std::uint32_t position = 0;

  /// The rank of a unit of a job at that stage.
  template <class Record>
  [[nodiscard]] static unit_rank of(const Record& r, std::uint8_t stage) {
    return {r.rank.key, stage, r.rank.submitted, r.rank.id, r.facts.elastic ? r.facts.core : r.facts.id, 0};
  }

  friend constexpr auto operator<=>(const unit_rank&, const unit_rank&) noexcept = default;
  friend constexpr bool operator==(const unit_rank&, const unit_rank&) noexcept = default;
  /// The same, mostly decided here.
  friend constexpr bool operator<(const unit_rank& a, const unit_rank& b) noexcept {
    return a.key != b.key ? a.key < b.key : (a <=> b) < 0;
  }
};
/// Among units sorted by rank, the first that does not rank before `rank`.
template <class Units>
[[nodiscard]] auto first_from(Units& units, const unit_rank& rank) {
  return std::lower_bound(units.begin(), units.end(), rank,
                          [](const auto& u, const unit_rank& r) { return u.rank < r; });
}

/// How many pods a unit has: the placement may know it where the view does not say.
template <class Record>
[[nodiscard]] std::uint32_t pods_of_unit(const Record& r) {
  if constexpr (podded_request<decltype(r.pod_request)>) {
    return std::max(r.facts.pods, static_cast<std::uint32_t>(r.pod_request.pods));
  } else {
    return r.facts.pods;
  }
}
/// What `pods` of the pods of a pending unit request.
template <class Record>
[[nodiscard]] auto request_of_pods(const Record& r, std::uint32_t pods) {
  auto some = r.facts.request;
  const std::uint32_t all = pods_of_unit(r);
  if (pods == all) return some;
  for (std::size_t d = 0; d < some.size(); ++d) {
    if (some[d] != quantity{}) some[d] = quantity::milli(some[d].in_milli() / all) * pods;
  }
  return some;
}

/// The same of the placement.
template <class Record>
[[nodiscard]] auto pod_request_of(const Record& r, std::uint32_t pods) {
  auto request = r.pod_request;
  if constexpr (podded_request<decltype(request)>) {
    if (pods != pods_of_unit(r)) request.pods = pods;
  }
  return request;
}

/// Whether what the unit is charged depends on its place, and is thus not known before it has one.
template <class Session>
[[nodiscard]] bool is_charged_by_place(const Session& session, const typename Session::record& r) {
  if constexpr (charging_view<typename Session::view_type, typename Session::placement_type>) {
    return session.view().is_charged_by_place(r.what);
  }
  return false;
}
/// What the unit requests while it is pending, also if it runs and is charged something else now.
template <class Session>
[[nodiscard]] auto demand_of(const Session& session, const typename Session::record& r) {
  if (!is_charged_by_place(session, r)) return r.facts.request;
  auto demand = r.base;
  if (!r.menu.empty()) demand += r.menu.request(r.pick);
  return demand;
}

/// What distinguishes the chances of a pending unit from another's of its quota, besides its request: its
/// priority, the places that would do, and its size in pods. What a pod is charged only where it is placed
/// counts as nothing: KAI compares parts of GPUs, and GPU memory is none.
template <std::size_t N>
struct unit_kind {
  std::int64_t priority = 0;
  capacity_kind in = capacity_kind::any;
  std::uint64_t pools = 0;
  /// The unit's pods, plus those that its job could have in addition.
  std::uint32_t pods = 1;
  /// What one pod requests.
  resources<N> pod{};

  template <class Session>
  [[nodiscard]] static unit_kind of(Session& session, const typename Session::record& r) {
    unit_kind k{r.facts.priority, r.facts.in, 0, pods_of_unit(r), {}};
    if (!is_charged_by_place(session, r)) k.pod = request_of_pods(r, 1);
    k.pods += r.facts.elastic ? session.jobs().at(r.facts.core).pods_to_come : r.pods_to_come;
    if constexpr (pooled_request<typename Session::pod_request>) k.pools = r.pod_request.pools;
    return k;
  }
  /// Whether the failure of one may represent the other. A job's signature is made of those of its pods, so
  /// jobs with different numbers of pods do not represent each other.
  [[nodiscard]] bool is_like(const unit_kind& other) const {
    return priority == other.priority && in == other.in && pools == other.pools && pods == other.pods;
  }
  friend bool operator==(const unit_kind&, const unit_kind&) = default;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
