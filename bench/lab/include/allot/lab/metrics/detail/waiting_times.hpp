// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/sim/job.hpp>

#include <cstddef>
#include <limits>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

/// How long each job of a simulation is pending, wait by wait.
class waiting_times {
 public:
  /// Job j of `jobs` begins to wait.
  void begin(std::size_t jobs, sim::job_index j, instant now) {
    if (stays_.size() < jobs) stays_.resize(jobs);
    stays_[j].since = now;
  }
  /// Precondition: it waits.
  void end(sim::job_index j, instant now) {
    stay& s = stays_[j];
    s.total += now - s.since;
    if (s.before_start == not_waiting) s.before_start = s.total;
    s.since = not_waiting;
  }
  /// The pending job is withdrawn.
  void give_up(sim::job_index j, instant now) {
    stays_[j].total += now - stays_[j].since;
    stays_[j].since = not_waiting;
  }

  /// Whether it was ever pending, even for zero time.
  [[nodiscard]] bool has_come(sim::job_index j) const { return stay_of(j).since != never_came; }
  [[nodiscard]] bool waits(sim::job_index j) const {
    return stay_of(j).since != never_came && stay_of(j).since != not_waiting;
  }
  /// In all its waits; `now` is not before the last change.
  [[nodiscard]] instant total(sim::job_index j, instant now) const {
    return stay_of(j).total + (waits(j) ? now - stay_of(j).since : 0);
  }
  /// Before its first start, if any.
  [[nodiscard]] std::optional<instant> before_start(sim::job_index j) const {
    const instant t = stay_of(j).before_start;
    return t == not_waiting ? std::nullopt : std::optional{t};
  }

 private:
  static constexpr instant never_came = std::numeric_limits<instant>::min();
  static constexpr instant not_waiting = never_came + 1;

  struct stay {
    instant since = never_came;
    instant total = 0;
    instant before_start = not_waiting;
  };

  [[nodiscard]] const stay& stay_of(sim::job_index j) const {
    static constexpr stay none;
    return j < stays_.size() ? stays_[j] : none;
  }

  vector<stay> stays_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
