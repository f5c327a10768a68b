// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// HyperPod: how idle compute is given out.
enum class hyperpod_idle : std::uint8_t { fcfs, fair_share };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(hyperpod_idle value) noexcept {
  switch (value) {
    case hyperpod_idle::fcfs:
      return "fcfs";
    case hyperpod_idle::fair_share:
      return "fair_share";
  }
  return "";
}
/// HyperPod: how the tasks of a team are ordered.
enum class hyperpod_tasks : std::uint8_t { fcfs, ranking };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(hyperpod_tasks value) noexcept {
  switch (value) {
    case hyperpod_tasks::fcfs:
      return "fcfs";
    case hyperpod_tasks::ranking:
      return "ranking";
  }
  return "";
}

/// How a HyperPod team takes part in sharing idle compute (ResourceSharingConfig). The default is to lend and
/// borrow.
enum class hyperpod_sharing : std::uint8_t { dont_lend, lend, lend_and_borrow };
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(hyperpod_sharing value) noexcept {
  switch (value) {
    case hyperpod_sharing::dont_lend:
      return "dont_lend";
    case hyperpod_sharing::lend:
      return "lend";
    case hyperpod_sharing::lend_and_borrow:
      return "lend_and_borrow";
  }
  return "";
}

/// A team within its own allocation comes first; idle compute is then given out by fair-share weight, or by
/// submission alone, whatever the priority.
struct hyperpod_idle_order {
  /// How idle compute is given out.
  hyperpod_idle idle = hyperpod_idle::fair_share;

  template <std::size_t N>
  [[nodiscard]] within_nominal_then_borrowed_share::key operator()(const ledger<N>& l,
                                                                   const contender<N>& c) const {
    auto key = within_nominal_then_borrowed_share{}(l, c);
    if (idle == hyperpod_idle::fcfs) {
      key.share = {.borrows = key.share.borrows};
      key.head.key = 0;
    }
    return key;
  }
};

/// Lowest priority first; under fair share, then the team that borrows most for its weight; then the newest.
struct hyperpod_victim_order {
  /// How idle compute is given out.
  hyperpod_idle idle = hyperpod_idle::fair_share;

  template <std::size_t N>
  [[nodiscard]] auto operator()(const ledger<N>& l, const victim_candidate<N>& v) const {
    auto key = lowest_priority_then_highest_share{}(l, v);
    if (idle == hyperpod_idle::fcfs) {
      key.share = {};
      key.use_of_supply = {};
    }
    return key;
  }
};

/// The task governance of Amazon SageMaker HyperPod: flat teams below the quota of a cluster, whose nominal
/// is the whole cluster. Compute that is allocated to no team is idle too, a pool that all may borrow from
/// (IdleResourceSharing); a cluster without a nominal has no such pool.
///
/// | policy                  | option                   | here                                              |
/// |-------------------------|--------------------------|---------------------------------------------------|
/// | Idle compute allocation | Fair-share (its default) | lowest weighted borrowed share; weight 0 last     |
/// |                         | First-come first-serve   | by submission, regardless of team                 |
/// | Task prioritization     | Task ranking             | by priority class, then submission; in its team a |
/// |                         |                          | task preempts lower ones (PreemptTeamTasks)       |
/// |                         | First-come first-serve   | by submission; no preemption within a team        |
///
/// - A team reclaims its allocation from borrowers at once, whatever their priority.
/// - FairShareWeight 0 to 100 is `fair_weight::whole` of the same number; a quota that specifies none has 1,
///   not 0: with equal weights all are equal either way.
/// - A class's weight, 0 to 100, is the priority of its jobs. Task ranking is the default of this preset;
///   without classes it is first come, first served.
/// - Where the documentation is silent: in a team a task that does not fit lets later ones pass; victims are
///   chosen as above; the cycle is our own, one task after the other rather than one head per team as in
///   Kueue, on which HyperPod is built. No team takes from another what neither of them owns.
///
/// It satisfies the same laws as `standard`. But fairness is considered only when compute is given out: the
/// first borrower keeps its loan until an owner reclaims it, and under first-come first-serve one team may
/// have all idle compute while the others wait.
struct hyperpod {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "hyperpod";
  static constexpr std::string_view summary =
      "SageMaker HyperPod: teams lend and borrow idle compute by weight or first come, reclaim their own";
  static constexpr bool ignores_quotas = false;

  // Qualified, for `policies` is a member here.
  using policies_type = allot::policies<hyperpod_idle_order, by_settings, hyperpod_victim_order>;
  /// @}

  /// How idle compute is given out.
  hyperpod_idle idle = hyperpod_idle::fair_share;
  /// How the tasks of a team are ordered.
  hyperpod_tasks tasks = hyperpod_tasks::ranking;

  /// The parts under these options.
  [[nodiscard]] constexpr policies_type policies() const {
    policies_type parts;
    parts.quotas.idle = parts.victims.idle = idle;
    return parts;
  }
  /// The settings of teams: by priority class, or by submission if `tasks` says so.
  [[nodiscard]] constexpr queue_settings defaults() const noexcept {
    if (tasks == hyperpod_tasks::ranking) return {};
    return {.order = queue_order::fifo, .preempt = {.within = preempt_within::never}};
  }

  /// The cluster's nominal contains its teams', which can't be allocated more than there is.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    vector<std::string_view> parents;
    for (const quota_spec<N>& team : specs) parents.push_back(team.parent);
    detail::sort(parents.begin(), parents.end());
    for (quota_spec<N>& s : specs) {
      const bool holds_teams = std::binary_search(parents.begin(), parents.end(), std::string_view{s.name});
      s.inclusive = holds_teams && s.nominal != resources<N>{};
      s.overcommit = false;
    }
  }

  /// Sets a team's part in the sharing: a team that does not lend does not borrow either; a borrower may use
  /// `borrow_percent` of its allocation on top of it, 50 by default (HyperPod allows 1 to 500). A limit for
  /// one resource, AbsoluteBorrowLimits, is `limit::at_most`.
  template <std::size_t N>
  static void share(quota_spec<N>& team, hyperpod_sharing how, std::int64_t borrow_percent = 50) {
    team.lend = how == hyperpod_sharing::dont_lend ? limit::none() : limit::all();
    team.borrow = how == hyperpod_sharing::lend_and_borrow ? limit::percent(borrow_percent) : limit::none();
  }
};
static_assert(preset<hyperpod>);

}  // namespace v0
}  // namespace allot
