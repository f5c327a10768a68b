// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/placement/detail/node_fragmentation.hpp>
#include <allot/gpu/placement/scored_placement.hpp>
#include <allot/gpu/placement/typical_pods.hpp>
#include <allot/gpu/pod_request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

namespace detail {

/// 10^9 ln(k / (100 - k)) for k from 50 to 99, rounded: where 100 times the logistic function reaches k.
inline constexpr std::array<std::int64_t, 50> logistic_steps = {0,
                                                                40'005'335,
                                                                80'042'708,
                                                                120'144'312,
                                                                160'342'650,
                                                                200'670'695,
                                                                241'162'057,
                                                                281'851'152,
                                                                322'773'392,
                                                                363'965'377,
                                                                405'465'108,
                                                                447'312'218,
                                                                489'548'225,
                                                                532'216'814,
                                                                575'364'145,
                                                                619'039'208,
                                                                663'294'217,
                                                                708'185'058,
                                                                753'771'802,
                                                                800'119'300,
                                                                847'297'860,
                                                                895'384'047,
                                                                944'461'609,
                                                                994'622'575,
                                                                1'045'968'555,
                                                                1'098'612'289,
                                                                1'152'679'510,
                                                                1'208'311'206,
                                                                1'265'666'373,
                                                                1'324'925'415,
                                                                1'386'294'361,
                                                                1'450'010'176,
                                                                1'516'347'489,
                                                                1'585'627'264,
                                                                1'658'228'077,
                                                                1'734'601'055,
                                                                1'815'289'967,
                                                                1'900'958'761,
                                                                1'992'430'165,
                                                                2'090'741'097,
                                                                2'197'224'577,
                                                                2'313'634'929,
                                                                2'442'347'035,
                                                                2'586'689'344,
                                                                2'751'535'313,
                                                                2'944'438'979,
                                                                3'178'053'830,
                                                                3'476'098'690,
                                                                3'891'820'298,
                                                                4'595'119'850};

}  // namespace detail

/// How little a pod would fragment a node: the decrease of F (see `node_fragmentation`), from 0 to 99, as the
/// policy FGD in the simulator of the paper scores it (Weng et al., "Beware of Fragmentation", ATC 2023): 100
/// times the logistic function of the decrease in GPUs, rounded down. The steps are integer thresholds, so
/// ties are those of the paper: decreases between two thresholds are equal, and a tie is broken by the lowest
/// node.
///
/// For a fraction the score is that of its best device; of several, one on which it can start at once, then
/// the lowest. Whole GPUs, fractions of several devices and MIG instances as in `free_index::choose_devices`.
class gradient_score {
 public:
  /// The type of the scores.
  using score_type = std::int8_t;

  /// Without typical pods all nodes are equal.
  gradient_score() : gradient_score(cluster{}, typical_pods{}) {}
  gradient_score(const cluster& layout, const typical_pods& typical) : fragmentation_(layout, typical) {
    // F is in milli, times the weight of all pods; the steps are in millionths of a milli.
    constexpr std::int64_t steps_per_milli = 1'000'000;
    for (std::size_t k = 0; k < detail::logistic_steps.size(); ++k) {
      const std::int64_t step = detail::logistic_steps[k] * fragmentation_.weight();
      at_least_[middle + k] = step / steps_per_milli + (step % steps_per_milli != 0 ? 1 : 0);
      if (k > 0) at_least_[middle - k] = -(step / steps_per_milli);
    }
  }

  /// The fragmentation that it minimizes.
  [[nodiscard]] const node_fragmentation& fragmentation() const noexcept { return fragmentation_; }

  [[nodiscard]] std::int8_t operator()(const free_index& from, node_id n, const pod_shape& here) const {
    const before now = look(from, n);
    if (!is_one_fraction(here)) {
      gap_list gaps = now.gaps;
      for (std::uint64_t left = from.choose_devices(n, here).value_or(0); left != 0; left &= left - 1) {
        const std::uint32_t gap = from.devices().gap(n, device_use::lowest(left));
        gaps.replace(gap, gap - here.milli);
      }
      return step_of(now.f - fragmentation_.of(now.type, gaps, now.cpu - here.cpu_milli));
    }
    std::optional<std::int64_t> best;
    std::uint32_t last = 0;
    for (const std::uint16_t gap : now.gaps.values()) {
      if (gap < here.milli) break;
      if (gap == last) continue;
      last = gap;
      const std::int64_t fall = fall_on(now, here, gap);
      if (!best || fall > *best) best = fall;
    }
    return best ? step_of(*best) : std::int8_t{0};
  }

  /// The devices that the pod gets there; none if it does not fit.
  [[nodiscard]] std::uint64_t devices(const free_index& from, node_id n, const pod_shape& here) const {
    if (!is_one_fraction(here)) return from.choose_devices(n, here).value_or(0);
    const before now = look(from, n);
    const device_use& use = from.devices();
    std::optional<std::uint32_t> best;
    std::pair<std::int8_t, bool> best_rank;
    for (std::uint32_t d = 0; d < use.count(n); ++d) {
      const std::uint32_t gap = use.gap(n, d);
      if (gap < here.milli) continue;
      const bool at_once = use.used(n, d) + use.held(n, d) + here.milli <= milli_per_gpu;
      const std::pair rank{step_of(fall_on(now, here, gap)), at_once};
      if (!best || rank > best_rank) best = d, best_rank = rank;
    }
    return best ? std::uint64_t{1} << *best : 0;
  }

 private:
  /// A node before the pod is placed.
  struct before {
    std::size_t type;
    gap_list gaps;
    std::int64_t cpu;
    std::int64_t f;
  };
  static constexpr std::size_t middle = detail::logistic_steps.size() - 1;

  [[nodiscard]] static constexpr bool is_one_fraction(const pod_shape& here) noexcept {
    return here.is_fraction() && here.devices == 1 && here.mig.is_none();
  }
  [[nodiscard]] before look(const free_index& from, node_id n) const {
    before now{from.layout().position_of(n).type, {from, n}, node_fragmentation::free_cpu(from, n), 0};
    now.f = fragmentation_.of(now.type, now.gaps, now.cpu);
    return now;
  }
  [[nodiscard]] std::int64_t fall_on(const before& now, const pod_shape& here, std::uint32_t gap) const {
    gap_list gaps = now.gaps;
    gaps.replace(gap, gap - here.milli);
    return now.f - fragmentation_.of(now.type, gaps, now.cpu - here.cpu_milli);
  }
  [[nodiscard]] std::int8_t step_of(std::int64_t fall) const {
    return static_cast<std::int8_t>(std::upper_bound(at_least_.begin(), at_least_.end(), fall) -
                                    at_least_.begin());
  }

  node_fragmentation fragmentation_;
  /// The smallest decreases that score 1, 2, ... 99.
  std::array<std::int64_t, 2 * middle + 1> at_least_{};
};

/// Fragmentation gradient descent: the node with the highest `gradient_score`, then the lowest. Made for the
/// typical pods of a workload, given or learned (`seen_pods`); what is learned later takes effect through
/// `set_score`.
using fragmentation_gradient = scored_placement<gradient_score>;
static_assert(placement_policy<fragmentation_gradient>);

}  // namespace gpu
}  // namespace v0
}  // namespace allot
