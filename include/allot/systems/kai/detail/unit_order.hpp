// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/session.hpp>
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

/// The same of a unit whose pods may differ: of the first of them.
template <class Session>
[[nodiscard]] auto request_of_pods(const Session& session, const typename Session::record& r,
                                   std::uint32_t pods) {
  if constexpr (pod_set_view<typename Session::view_type>) {
    if (r.has_unlike_pods && !r.facts.elastic && pods != pods_of_unit(r)) {
      resources<Session::n> some = session.view().request(r.what, pods);
      if constexpr (flavored_view<typename Session::view_type>) {
        some += session.view().flavors(r.what, pods).request(r.pick);
      }
      return some;
    }
  }
  return request_of_pods(r, pods);
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

/// Where pods may be, as far as a pod request says it.
struct acceptable_nodes {
  std::uint64_t pools = 0;
  std::uint64_t models = 0;
  std::uint8_t required_level = 0;
  std::uint8_t preferred_level = 0;

  template <class PodRequest>
  [[nodiscard]] static acceptable_nodes of(const PodRequest& r) {
    acceptable_nodes a;
    if constexpr (pooled_request<PodRequest>) a.pools = r.pools;
    if constexpr (requires { r.models; }) a.models = r.models;
    if constexpr (requires { r.required_level; }) a.required_level = r.required_level;
    if constexpr (requires { r.preferred_level; }) a.preferred_level = r.preferred_level;
    return a;
  }
  friend constexpr auto operator<=>(const acceptable_nodes&, const acceptable_nodes&) noexcept = default;
  friend constexpr bool operator==(const acceptable_nodes&, const acceptable_nodes&) noexcept = default;
};

/// What distinguishes the chances of a pending unit from another's of its quota, besides its request: its
/// priority, the places that would do, and its size in pods. What a pod is charged only where it is placed
/// counts as nothing: KAI compares parts of GPUs, and GPU memory is none.
template <std::size_t N>
struct unit_kind {
  /// Pods of its job that are alike, beside others that differ.
  struct pod_kind {
    /// What one pod requests; the kinds are sorted by it.
    resources<N> pod{};
    acceptable_nodes where{};
    std::uint32_t pods = 0;

    friend constexpr auto operator<=>(const pod_kind&, const pod_kind&) noexcept = default;
    friend constexpr bool operator==(const pod_kind&, const pod_kind&) noexcept = default;
  };

  std::int64_t priority = 0;
  capacity_kind in = capacity_kind::any;
  acceptable_nodes where{};
  /// The unit's pods, plus those that its job could have in addition.
  std::uint32_t pods = 1;
  /// What one pod requests, if they are alike.
  resources<N> pod{};
  /// All these pods, if they are not.
  vector<pod_kind> unlike{};

  /// Of an extra pod, with how many pods of each set there are that the session does not know.
  template <class Session>
  [[nodiscard]] static unit_kind of(Session& session, const typename Session::record& r,
                                    [[maybe_unused]] const pods_by_set& more = {}) {
    unit_kind k{r.facts.priority, r.facts.in, acceptable_nodes::of(r.pod_request), pods_of_unit(r), {}, {}};
    const bool is_known = !is_charged_by_place(session, r);
    k.pods += r.facts.elastic ? session.jobs().at(r.facts.core).pods_to_come : r.pods_to_come;
    if constexpr (pod_set_view<typename Session::view_type>) {
      if (r.has_unlike_pods) {
        k.read_sets(session, r, more, is_known);
        return k;
      }
    }
    if (is_known) k.pod = request_of_pods(r, 1);
    return k;
  }
  /// Whether the failure of one may represent the other. A job's signature is made of those of its pods, so
  /// jobs with different numbers of pods do not represent each other.
  [[nodiscard]] bool is_like(const unit_kind& other) const {
    if (priority != other.priority || in != other.in || where != other.where || pods != other.pods)
      return false;
    if (unlike.empty() && other.unlike.empty()) return true;
    const auto is_same = [](const pod_kind& a, const pod_kind& b) {
      return a.where == b.where && a.pods == b.pods;
    };
    return std::is_permutation(unlike.begin(), unlike.end(), other.unlike.begin(), other.unlike.end(),
                               is_same);
  }
  /// Whether it asks for less than one like it that has failed: of unlike pods, from the smallest on, some
  /// pod asks for less than the one of the same number (KAI v0.13).
  [[nodiscard]] bool is_easier_than(const unit_kind& failed) const {
    if (unlike.empty()) return all_at_most(pod, failed.pod) && pod != failed.pod;
    return any_pair(failed,
                    [](const resources<N>& a, const resources<N>& b) { return all_at_most(a, b) && a != b; });
  }
  /// Whether no pod of it asks for more than one of another like it.
  [[nodiscard]] bool is_at_most(const unit_kind& other) const {
    if (unlike.empty()) return all_at_most(pod, other.pod);
    return !any_pair(other, [](const resources<N>& a, const resources<N>& b) { return !all_at_most(a, b); });
  }
  friend bool operator==(const unit_kind&, const unit_kind&) = default;

 private:
  template <class Session>
  void read_sets(Session& session, const typename Session::record& r, const pods_by_set& more,
                 bool is_known) {
    using shown = view_or_default<typename Session::view_type>;
    const auto& view = session.view();
    const auto& core = r.facts.elastic ? session.jobs().at(r.facts.core) : r;
    const bool starts = &core == &r;
    const pods_by_set has = starts ? more : session.jobs().pods_of(core);
    for (std::size_t s = 0; s < shown::sets(view, r.what); ++s) {
      const std::uint32_t waits = !starts && r.facts.id && r.set == s ? 1 : 0;
      const std::uint32_t taken = has[s] + (starts ? 0 : more[s]) - waits;
      const std::uint32_t most = shown::pods(view, r.what, s).most;
      pod_kind& p = unlike.emplace_back();
      // What all runs asks for nothing, and so matters to none.
      if (most <= taken) continue;
      p.pods = most - taken;
      if (is_known) p.pod = shown::request_of_pod(view, r.what, s, r.pick);
      if constexpr (requires { r.pod_request.sets[s].of(1, r.pod_request); }) {
        p.where = acceptable_nodes::of(r.pod_request.sets[s].of(1, r.pod_request));
      }
    }
    detail::sort(unlike.begin(), unlike.end());
  }
  /// Whether `is(request, other's request)` of some pods of the same number. Precondition: as many pods.
  template <class Is>
  [[nodiscard]] bool any_pair(const unit_kind& other, Is is) const {
    auto theirs = other.unlike.begin();
    std::uint32_t used = 0;
    for (const pod_kind& ours : unlike) {
      for (std::uint32_t left = ours.pods; left > 0;) {
        while (theirs != other.unlike.end() && used == theirs->pods) ++theirs, used = 0;
        if (theirs == other.unlike.end()) return false;
        if (is(ours.pod, theirs->pod)) return true;
        const std::uint32_t both = std::min(left, theirs->pods - used);
        left -= both;
        used += both;
      }
    }
    return false;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
