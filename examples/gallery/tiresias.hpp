// SPDX-License-Identifier: BSL-1.0
// Tiresias, discretised two-dimensional least attained service (2D-LAS): Gu et al., "Tiresias: A GPU
// Cluster Manager for Distributed Deep Learning" (NSDI '19).
//
// The same: a job's service is its GPUs times the time that it ran, whatever became of the work. A job is
// in the queue of its service, by thresholds; lower queues go first, and may preempt higher ones. Within a
// queue those that have started come first, by their first start, then those that have not, by submission.
//
// Left out: the promotion of jobs that starve (PROMOTEKNOB), placement by skew.
#pragma once

#include <allot/presets/single_queue.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "ranked_cycle.hpp"

struct two_dimensional_las {
  /// In GPU-seconds. Simulations of others have one of 18,000 or 57,600.
  std::array<std::int64_t, 1> thresholds{3600};

  /// The queue of a job, and the service that its pods lack to the next, in GPU-milliseconds times 1000; 0:
  /// none.
  template <class Session>
  std::pair<std::size_t, std::int64_t> queue_of(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const auto each = view.request(r.what)[0].in_milli() / view.pods(r.what);
    const std::int64_t service = view.attained(r.what, s.now()) * each;
    for (std::size_t q = 0; q < thresholds.size(); ++q) {
      const std::int64_t bound = thresholds[q] * 1'000'000;
      if (service < bound) return {q, bound - service};
    }
    return {thresholds.size(), 0};
  }
  template <class Session>
  auto operator()(const Session& s, const typename Session::record& r) const {
    const auto& view = s.view();
    const bool has_run = view.runs(r.what) > 0;
    const allot::instant since = has_run ? view.first_start(r.what) : view.submitted(r.what);
    return std::tuple{queue_of(s, r).first, !has_run, since};
  }
  template <class Session>
  std::optional<allot::instant> wakes_at(const Session& s, const typename Session::record& r) const {
    const std::int64_t lacks = queue_of(s, r).second;
    const std::int64_t rate = s.view().request(r.what)[0].in_milli();
    if (lacks == 0 || rate == 0) return std::nullopt;
    return s.now() + (lacks + rate - 1) / rate;
  }
};

struct tiresias : allot::fifo {
  static constexpr std::string_view name = "tiresias",
                                    summary = "discretised least attained GPU time first, preemptive";
  using policies_type = ranked_policies<two_dimensional_las>;
};
