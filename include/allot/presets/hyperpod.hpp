// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/presets/options.hpp>
#include <allot/scheduler/policies.hpp>
#include <allot/scheduler/preset.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// How a HyperPod team takes part in the sharing of idle compute (ResourceSharingConfig). Its default is to
/// lend and to borrow.
enum class hyperpod_sharing : std::uint8_t { dont_lend, lend, lend_and_borrow };

/// Who stays within its own goes first; then, of idle compute, by fair-share weight or by submission alone,
/// whatever the priority.
struct hyperpod_idle_order {
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

/// Lowest priority; under fair share then the team that borrows most by its weight; newest.
struct hyperpod_victim_order {
  hyperpod_idle idle = hyperpod_idle::fair_share;

  template <std::size_t N>
  [[nodiscard]] auto operator()(const ledger<N>& l, const victim_candidate<N>& d) const {
    auto key = lowest_priority_then_highest_share{}(l, d);
    if (idle == hyperpod_idle::fcfs) {
      key.share = {};
      key.use_of_supply = {};
    }
    return key;
  }
};

/// The task governance of Amazon SageMaker HyperPod: flat teams below the quota of a cluster, whose nominal
/// is the whole of it. What is allocated to no team is idle compute too, a pool that all may borrow from
/// (IdleResourceSharing); a cluster without a nominal has no such pool.
///
/// | policy                  | option                   | here                                              |
/// |-------------------------|--------------------------|---------------------------------------------------|
/// | Idle compute allocation | Fair-share (its default) | lowest weighted borrowed share; weight 0 last     |
/// |                         | First-come first-serve   | by submission, teams are not told apart           |
/// | Task prioritization     | Task ranking             | by priority class, then submission; in its team a |
/// |                         |                          | task preempts lower ones (PreemptTeamTasks)       |
/// |                         | First-come first-serve   | by submission; no task preempts another of a team |
///
/// - What is allocated to a team it takes back from borrowers at once, whatever their priority.
/// - FairShareWeight 0 to 100 is a weight of 0 to 100,000 here; a quota that names none has 1, not 0: with
///   equal weights all are equal either way.
/// - A class's weight, 0 to 100, is the priority of its jobs. Task ranking is what this preset does unless it
///   is told otherwise: without classes it is first come, first serve.
/// - Where the documentation is silent: in a team a task that does not fit lets later ones pass; victims as
///   above; the cycle is ours, one task after the other and not one head a team as in Kueue, on which
///   HyperPod is built. No team takes from another what neither of them owns.
///
/// Of the laws it keeps those of `standard`. But what is fair is asked only when compute is given out: who
/// borrowed first keeps the loan until an owner comes, and under first-come first-serve one team may have all
/// that is idle while the others wait.
struct hyperpod {
  static constexpr std::string_view name = "hyperpod";
  static constexpr std::string_view summary =
      "SageMaker HyperPod: teams lend and borrow idle compute by weight or first come, reclaim their own";
  static constexpr bool ignores_quotas = false;

  using policies_type = policies<hyperpod_idle_order, by_settings, hyperpod_victim_order>;

  [[nodiscard]] static policies_type configure(const preset_options& o) {
    policies_type parts;
    parts.quotas.idle = parts.victims.idle = o.idle.value_or(hyperpod_idle::fair_share);
    return parts;
  }
  [[nodiscard]] static constexpr queue_settings defaults(const preset_options& o) noexcept {
    if (o.tasks == hyperpod_tasks::fcfs) {
      return {.order = queue_order::fifo, .preempt = {.within = preempt_within::never}};
    }
    return {};
  }
  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return defaults(preset_options{}); }

  /// The nominal of the cluster contains its teams', which can't be allocated more than there is.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    for (quota_spec<N>& s : specs) {
      const bool holds_teams = std::any_of(specs.begin(), specs.end(),
                                           [&](const quota_spec<N>& team) { return team.parent == s.name; });
      s.inclusive = holds_teams && s.nominal != resources<N>{};
      s.overcommit = false;
    }
  }

  /// A team's part in the sharing: who does not lend does not borrow either; who borrows may use so many
  /// percent of what it is allocated beyond that, 50 unless it is said (HyperPod has 1 to 500). A limit for
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
