// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/systems/kueue/detail/one_head_policies.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {

namespace detail {

/// A Kueue ClusterQueue with nothing configured: BestEffortFIFO by priority, no preemption.
inline constexpr queue_settings kueue_defaults{
    .preempt = {.within = preempt_within::never, .reclaim = preempt_reclaim::never}};

}  // namespace detail

/// Kueue (v0.20) without fair sharing, decision for decision (`one_head_cycle`, `hierarchical_reclaim`). A
/// cohort is a quota with children, its nominal a pool beside theirs; a ClusterQueue is a quota without.
///
/// With the option `preserve_scan_progress` off, a head that is passed over starts over with its first
/// flavor, and what it has recorded of the others is lost when the world changes; one that has no place in a
/// flavor tries no other in the same cycle (Kueue's gate FlavorFungibilityPreserveScanProgress, on since
/// 0.20). That changed Kueue's decision in 6 of 6,849 random worlds without nodes.
///
/// With `recompute_overlaps` off, a head is passed over if an earlier head of the same cycle has claimed one
/// of its victims (Kueue's gate RecomputeAssignmentUponPreemptionTargetsOverlap, on since 0.19). With both
/// off these are the decisions of Kueue 0.17.
///
/// Where Kueue is nondeterministic or says nothing:
/// - Heads equal in borrowing level, priority and time are ordered by id.
/// - Jobs of a quota with children compete like those of another of its children; see the searches.
/// - A quota that does not list a flavor owns none of it: it may borrow it.
/// - A step goes on to the next cycle while a cycle only finds heads inadmissible. A change requeues the jobs
///   of all trees; in Kueue, those of one cohort, up to a second later.
/// - An elastic job is admitted once, with the pods that fit then (partial admission), and does not grow.
/// - A job lists the flavors that it accepts. Kueue remembers where a search stopped in the queue's list. If
///   only flavors that the pod set does not accept come after that, its next cycle tries just these.
/// - If a head does not fit, and its pod sets reach the end of their flavors in different cycles, Kueue tries
///   it forever, and never the jobs behind it. Here it is inadmissible after 256 cycles.
///
/// In 2,000 random worlds with workloads of up to four pod sets, Kueue 0.17 decided differently in two, one
/// for each of the last two reasons. In 1,000 with nodes and topologies it decided differently in 97: in 80
/// only in that a head whose nodes another took had to wait for the next cycle (until 0.19); see the
/// documentation of the preset.
///
/// A job that fits free capacity when a cycle begins may be admitted after others that preempt, and what
/// their victims have not released yet counts as free by then. A cohort may thus use more than it has until
/// they are gone. Kueue does the same.
///
/// It does not keep these laws: *Guarantee*, because by default no quota takes back what it lent, and with
/// `preempt.reclaim` below `any` not from higher priorities. *Quiet* (an unchanged world gives an empty
/// plan), because the lower borrowing level goes first, so a victim may be admitted before its preemptor and
/// evicted again, forever. *Fair*: shares are ignored. The tests have the examples.
struct kueue {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "kueue";
  static constexpr std::string_view summary =
      "Kueue: one head a quota a cycle, nearest capacity first, hierarchical preemption by priority";
  static constexpr bool ignores_quotas = false;

  using policies_type = one_head_by_priority;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return detail::kueue_defaults; }
  /// @}

  /// Whether a head that is passed over goes on with its next flavor in the next cycle, and one without a
  /// place with its next in the same (Kueue 0.20), rather than with its first.
  bool preserve_scan_progress = true;

  /// Whether a head whose victims were claimed to an earlier one looks for others in the same cycle (Kueue
  /// 0.19), rather than in the next.
  bool recompute_overlaps = true;

  /// The parts under these options.
  [[nodiscard]] policies_type policies() const {
    return {.preserve_scan_progress = preserve_scan_progress, .recompute_overlaps = recompute_overlaps};
  }

  /// The nominal of a cohort is a pool beside its members'. An inclusive one is reduced to what they leave.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    vector<std::pair<std::string_view, std::size_t>> inclusive;
    vector<resources<N>> given;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].inclusive) inclusive.emplace_back(specs[i].name, i);
      given.push_back(specs[i].nominal);
    }
    detail::sort(inclusive.begin(), inclusive.end());
    for (std::size_t m = 0; m < specs.size(); ++m) {
      const std::string_view parent = specs[m].parent;
      auto at = std::lower_bound(inclusive.begin(), inclusive.end(), std::pair{parent, std::size_t{0}});
      for (; at != inclusive.end() && at->first == parent; ++at) {
        resources<N>& left = specs[at->second].nominal;
        for (std::size_t d = 0; d < N; ++d) {
          if (!left[d].is_unlimited()) left[d] = std::max(quantity{}, left[d] - given[m][d]);
        }
      }
    }
    for (quota_spec<N>& s : specs) s.inclusive = false;
  }
};
static_assert(preset<kueue>);

}  // namespace v0
}  // namespace allot
