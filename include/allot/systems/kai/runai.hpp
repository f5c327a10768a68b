// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/systems/kai/detail/action_cycle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {

/// NVIDIA KAI-Scheduler v0.13, the open-source scheduler of Run:ai, decision for decision.
///
/// - A quota is a KAI queue: its nominal is what it *deserves* (unlimited: everything), nominal plus borrow
///   limit is its limit, weight is its over-quota weight. Only leaves run jobs; inner quotas bound and rank
///   them. The total deserved may exceed the capacity.
/// - Shares: `whole_unit_division` of the capacity of the nodes.
/// - Order: `saturation_standing` at every level; within a quota by priority, then jobs below their minimum,
///   then age.
/// - A cycle (`action_cycle`): allocate, consolidation, reclaim, preempt.
/// - A job starts if no limit on its path forbids it and it fits on the nodes, whatever its quota's share:
///   the surplus is lent first come, first served, and taken back. Non-preemptible jobs stay within what
///   every quota on their path deserves.
/// - Reclaim: `fair_reclaim`. Preempt: lower priority, same quota. Consolidation: every moved job fits again.
/// - Minimum runtimes protect jobs; of an elastic job, only what it needs.
/// - A pipelined job is active until the end of the cycle: the capacity it waits for is not free, and it may
///   yield or move like a running one, though it holds nothing that could be deducted from its queue. One
///   that yields waits for the next cycle. An elastic one goes on with its other pods: as many as fit when
///   allocating, then one in each action.
/// - Victims are placed again pod by pod, on their former nodes if there is room; only pods placed
///   elsewhere are evicted. The plan says how many of a gang; the gang itself restarts as a whole.
/// - A job that can never fit stays in the queue and counts in the shares.
/// - A job whose pods differ (`pod_set_view`) is a pod group with subgroups, each with its minimum: a search
///   serves them set by set, sets grow and yield in the proportions of their minimums (`set_growth`), and
///   without levels their pods are placed in the order of the sets.
/// - A job with flavors, which KAI does not know, gets the first choice that works.
/// - GPU memory is charged by the node on which it runs, in percent of the device, rounded up; while it is
///   pending, as its part of the smallest GPU (views: `charging_view`). A pod with parts of several GPUs is
///   charged all of them.
///
/// Where KAI follows the order of a hash table, ours is by age: nodes by number, the oldest of the movable
/// jobs, reclaimed parts in the order in which they were taken. Where KAI would loop forever, taking from a
/// job in the cycle that allocated it and waiting for it to terminate, the pending job starts in the next
/// cycle.
///
/// Known differences from KAI (4 of 2,310 cycles, 2 of 380 divisions):
/// - KAI sums and divides in floating point, in the order of a hash table, and what a search added and took
///   back leaves its rounding errors. Where a request uses up a share exactly, that decides whether it fits.
///   Here sums are exact, but for the parts of GPUs that a gang requests (`float_sums`): of such ties in
///   random worlds, one in a hundred is then decided as KAI never does. Of quotas that are due the same
///   fraction of a GPU, rounding errors choose who gets the GPU that is left over, here it is the older (2
///   divisions). Later versions of KAI compare with a tolerance, which is to say exactly;
/// - what KAI counts wrong once it undoes that a fraction moved to another device of its node. Here a
///   fraction that waits alone on its device no longer frees it, and its node loses one device each time. But
///   nothing is counted wrong of a running fraction, of which KAI counts the old part as leaving, so that the
///   node is a candidate; nor of two that wait on one device, which free none and lose one (1). Each search
///   that fails adds to it, and of those that can't succeed only what strands fractions is tried here;
/// - a pod that was told to move in this cycle and would be placed where it ran before moves as it was told,
///   even if others have been given that place: more is given than there is. So it is here in a search;
///   when that is carried out, the pod keeps its place, and who was to have it waits elsewhere (1);
/// - a further pod of a pipelined elastic job that could start at once starts in the next cycle;
/// - subgroups of subgroups with a topology of their own can't be said; unlike pods with levels are placed
///   wherever they all fit, also where KAI, which tries one order of the sets, finds no place; and no job
///   runs with less than its minimum, so none is completed;
/// - devices are filled by thousandths of their memory, rounded up, in KAI by MiB; where a limit forbids what
///   a pod is charged on the best node, KAI tries the next node; and of a pod with memory of several GPUs it
///   holds one part against the limits;
/// - quotas that are unlimited, but have a limit: their nominal is the limit here, for the division too.
///
/// The last two are of pods with parts of several GPUs: KAI's test tables do not pass on how many
/// (gpu-fraction-num-devices), so each was asked for one part and charged for one, in 16 divisions more. That
/// got a place where there is none for all of them (1), and the cycle after it, in which they are all there,
/// can't be read: its node would need a fifth device (1).
///
/// What it does not do, because KAI does not (`standard` does):
/// - distribute all of the surplus: with weights of zero it stays unassigned; a share may exceed the request
///   (tests: "runai, trap 22", "trap 24");
/// - serve higher priorities first: what rounding leaves over may go to a lower one ("trap 21");
/// - protect usage within nominal: a quota over its share by one GPU may lose a gang of eight ("trap 29"),
///   and borrowers keep owed capacity from a queue that requests more than its floored share ("trap 25");
/// - reserve what victims free for the job they were evicted for: another job may take it ("nothing is
///   assumed");
/// - keep to limits where it takes pods from elastic jobs: it may evict a pod for one pod of a gang and again
///   for the next, and then deducts it twice until the end of the cycle, so that the gang may use more than
///   the limit of their quota ("a gang that evicts elastic pods").
struct runai {
  /// @{
  /// What the concept `preset` asks for.
  static constexpr std::string_view name = "runai";
  static constexpr std::string_view summary =
      "KAI (Run:ai): fair shares in whole GPUs; allocate, consolidate, reclaim, preempt";
  static constexpr bool ignores_quotas = false;

  using policies_type = kai_policies;

  [[nodiscard]] static constexpr queue_settings defaults() noexcept { return {}; }
  /// @}

  /// How strongly past usage counts when the surplus is divided, in thousandths (KAI's kValue); 0: not at
  /// all. Below 0 it counts as 0.
  std::int64_t k = 0;
  /// The time after which past usage counts half; 0: all usage in the window counts alike.
  instant half_life = 0;
  /// How far back usage counts.
  instant window = 604'800;
  /// How often a cycle is due though nothing has happened, while past usage counts: KAI's schedule period, 1
  /// s. In the unit of `step(now)`; below 1 it counts as 1.
  instant period = 1;
  /// KAI's relcaimerSaturationMultiplier (its spelling), in thousandths. Below 1,000 it counts as 1,000.
  std::int64_t saturation_multiplier = 1000;
  /// Whether the parts of GPUs that a gang requests are added as KAI does, in double precision, where it
  /// would use up exactly what its quota is due beyond what it deserves: three pods of 0.8 do not reclaim a
  /// share of 2.4. If not, sums are exact.
  bool float_sums = true;
  /// By dimension, in thousandths, the unit that shares are rounded down to. What is not listed is rounded
  /// to 1,000, a whole GPU.
  vector<std::int64_t> share_units{};

  /// The parts under these options.
  [[nodiscard]] policies_type policies() const noexcept {
    policies_type parts;
    parts.k = std::max<std::int64_t>(0, k);
    parts.half_life = half_life;
    parts.window = window;
    parts.period = std::max<instant>(1, period);
    parts.saturation_multiplier = std::max<std::int64_t>(1000, saturation_multiplier);
    parts.float_sums = float_sums;
    std::copy_n(share_units.begin(), std::min(parts.units.size(), share_units.size()), parts.units.begin());
    return parts;
  }
  /// Makes every quota inclusive, and lets what is below it deserve more than it does.
  template <std::size_t N>
  static void adapt(std::vector<quota_spec<N>>& specs) {
    for (quota_spec<N>& s : specs) {
      s.inclusive = true;
      s.overcommit = true;
    }
  }
};
static_assert(preset<runai>);

}  // namespace v0
}  // namespace allot
