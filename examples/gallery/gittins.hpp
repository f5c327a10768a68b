// SPDX-License-Identifier: BSL-1.0
// The Gittins index, with which Tiresias orders jobs if it knows how their services are distributed, but
// not that of each: Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning" (NSDI '19).
//
// The same: the index of a job with service a is the largest, over all further services d, of the chance to
// complete within d over the expected service until then: P(S - a <= d | S > a) / E[min(S - a, d) | S > a];
// the largest goes first. It is exact: of n services that are known it is a fraction of a count and a sum.
// Jobs with more service than any known come last. Indices are compared at events and once a quantum.
//
// Left out: the discretisation by queues, in place of which there is the quantum; the distribution is
// given, not learnt from a log.
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/presets/single_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "ranked_cycle.hpp"

/// The index of a job that has had `attained`; `services` are sorted, in the same unit. O(n).
inline largest_first gittins_index(std::span<const std::int64_t> services, std::int64_t attained) {
  const auto first = std::upper_bound(services.begin(), services.end(), attained);
  const auto more = static_cast<std::size_t>(services.end() - first);
  largest_first best;
  allot::wide done = 0;
  for (std::size_t k = 0; k < more; ++k) {
    const auto d = static_cast<allot::wide>(first[static_cast<std::ptrdiff_t>(k)] - attained);
    done += d;
    // Those that complete within d, and what all would have had by then.
    best = std::min(best, largest_first{k + 1, done + d * (more - k - 1)});
  }
  return best;
}

struct by_gittins_index {
  /// Services of earlier jobs, in GPU-seconds, sorted; the default says that most jobs are short and some are
  /// not.
  std::span<const std::int64_t> services = usual;
  allot::instant quantum = 600'000;
  static constexpr std::int64_t usual[] = {60,      120,     300,     600,      900,    1'800,
                                           3'600,   7'200,   14'400,  28'800,   57'600, 115'200,
                                           230'400, 460'800, 921'600, 1'843'200};

  template <class Session>
  auto operator()(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const std::int64_t each = view.request(r.what)[0].in_milli() / view.pods(r.what);
    const std::int64_t attained = view.attained(r.what, s.now()) * each / 1'000'000;
    return std::tuple{gittins_index(services, attained), r.state != allot::job_state::running,
                      view.submitted(r.what)};
  }
  template <class Session>
  std::optional<allot::instant> wakes_at(const Session& s, const typename Session::record&) const {
    return (s.now() / quantum + 1) * quantum;
  }
};

struct gittins : allot::fifo {
  static constexpr std::string_view name = "gittins",
                                    summary = "largest Gittins index of attained GPU time first, preemptive";
  using policies_type = ranked_policies<by_gittins_index>;
};
