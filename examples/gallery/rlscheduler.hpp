// SPDX-License-Identifier: BSL-1.0
// The orders that RLScheduler is compared with: Zhang et al., "RLScheduler: An Automated HPC Batch Job
// Scheduler Using Reinforcement Learning" (SC '20), by the cycle of its simulator.
//
// - `committed`: by priority, then submission. FCFS, SJF and F1 do not change while jobs wait, so each can
//   be given as priorities.
// - `wfp3` and `unicep`, of Tang et al., "Fault-Aware, Utility-Based Job Scheduling on Blue Gene/P Systems"
//   (Cluster '09): by the time that a job has waited. RLScheduler takes -1 for the start of a waiting job, so
//   its published figures are those of another order, which does not change either.
//
// Left out: the policy that it learns.
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

#include "committed_cycle.hpp"
#include "cycle_parts.hpp"

struct highest_priority {
  template <class Session>
  std::int64_t operator()(const Session& s, const typename Session::record& r) const {
    return ~static_cast<std::int64_t>(s.view().priority(r.what));
  }
};

/// What both orders are made of, in seconds and whole processors.
struct waited {
  allot::wide wait, estimate, processors;
  template <class Session>
  waited(const Session& s, const typename Session::record& r)
      : wait(static_cast<allot::wide>((s.now() - s.view().submitted(r.what)) / allot::sim::second)),
        estimate(static_cast<allot::wide>(std::max(allot::sim::second, s.view().estimate(r.what)) /
                                          allot::sim::second)),
        processors(static_cast<allot::wide>(
            std::max<std::int64_t>(1, s.view().request(r.what)[0].in_milli() / 1'000))) {}
};
/// The cube of waiting time over estimate, times processors.
struct by_wfp3 {
  template <class Session>
  largest_first operator()(const Session& s, const typename Session::record& r) const {
    const waited w(s, r);
    return {w.wait * w.wait * w.wait * w.processors, w.estimate * w.estimate * w.estimate};
  }
};
/// log2(n), in 65536ths, rounded down. Precondition: 0 < n < 2^32.
constexpr allot::wide log2_of(std::uint64_t n) {
  allot::wide log = static_cast<allot::wide>(std::bit_width(n)) - 1;
  allot::wide mantissa = (allot::wide{n} << 62) >> static_cast<int>(log);
  for (int bit = 0; bit < 16; ++bit) {
    mantissa = mantissa * mantissa >> 62;
    const int doubles = mantissa >> 63 != 0 ? 1 : 0;
    mantissa >>= doubles;
    log = 2 * log + static_cast<allot::wide>(doubles);
  }
  return log;
}
static_assert(log2_of(1) == 0 && log2_of(2) == 65'536 && log2_of(3) == 103'872 &&
              log2_of(1 << 20) == 20 * 65'536);
/// Waiting time over estimate and the logarithm of processors; jobs of one processor first.
struct by_unicep {
  template <class Session>
  auto operator()(const Session& s, const typename Session::record& r) const {
    const waited w(s, r);
    return std::pair{largest_first{w.wait, w.estimate * log2_of(static_cast<std::uint64_t>(w.processors))},
                     largest_first{w.wait, w.estimate}};
  }
};

struct committed : allot::fifo {
  static constexpr std::string_view name = "committed",
                                    summary = "highest priority first, which then stays first";
  static constexpr bool ignores_quotas = false;
  using policies_type = committed_policies<highest_priority>;
};
struct wfp3 : committed {
  static constexpr std::string_view name = "wfp3",
                                    summary = "WFP3: the cube of waiting over running, times processors";
  using policies_type = committed_policies<by_wfp3>;
};
struct unicep : committed {
  static constexpr std::string_view name = "unicep",
                                    summary = "UNICEP: waiting over running and the log of processors";
  using policies_type = committed_policies<by_unicep>;
};
