// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/metrics/timeline.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// When lost time was spent, so that it can be reported for a part of the simulated time: the restart at the
/// beginning of a run, and the work at its end not saved by a checkpoint. In pod-milliseconds, exact.
class lost_time {
 public:
  /// What a run has lost in the window, and the part of that since the measuring has begun.
  struct amount {
    wide in_window = 0;
    wide since_begin = 0;
  };

  explicit lost_time(time_window window = {}) : window_(window) {}

  /// From now on the capacity is measured; jobs that run already may lose what they did before.
  void begin_measuring(instant now) noexcept { begin_ = now; }

  /// A run begins, with this many pods.
  void begin(std::size_t jobs, sim::job_index j, instant now, std::uint32_t pods) {
    if (runs_.size() < jobs) runs_.resize(jobs);
    runs_[j] = {now, pods};
  }
  /// The run has this many pods from now on.
  void resize(sim::job_index j, instant now, std::uint32_t pods) {
    earlier_[j].push_back({runs_[j].since, now, runs_[j].pods});
    runs_[j] = {now, pods};
  }
  [[nodiscard]] std::uint32_t pods(sim::job_index j) const { return runs_[j].pods; }

  /// The run ends: it restarted for `restart`, unless it ended before that, and the job has lost this many
  /// pod-milliseconds in all its runs (`job_progress::lost`). Returns those of this run, in the window.
  amount end(sim::job_index j, instant now, instant restart, instant lost_in_all) {
    const auto before = earlier_.find(j);
    if (before != earlier_.end()) {
      segments_ = std::move(before->second);
      earlier_.erase(before);
    } else {
      segments_.clear();
    }
    segments_.push_back({runs_[j].since, now, runs_[j].pods});
    instant left = lost_in_all;
    if (const auto seen = lost_before_.find(j); seen != lost_before_.end()) left -= seen->second;
    if (left == 0) return {};
    lost_before_[j] = lost_in_all;

    amount sum;
    const instant works_from = segments_.front().begin + restart;
    for (segment& s : segments_) {
      const instant to = std::min(s.end, std::max(s.begin, works_from));
      add(sum, s.begin, to, s.pods);
      left -= (to - s.begin) * s.pods;
      s.begin = to;
    }
    // The lost work is the last that was done; of a partly lost millisecond, the work of some pods.
    for (auto s = segments_.rbegin(); s != segments_.rend() && left > 0; ++s) {
      const instant whole = std::min(s->end - s->begin, left / s->pods);
      add(sum, s->end - whole, s->end, s->pods);
      left -= whole * s->pods;
      if (s->end - whole == s->begin || left == 0) continue;
      add(sum, s->end - whole - 1, s->end - whole, static_cast<std::uint32_t>(left));
      left = 0;
    }
    return sum;
  }
  /// Of a run that goes on: its restart, as far as `job_progress` has counted that, up to the last change of
  /// its pods.
  [[nodiscard]] amount so_far(sim::job_index j, instant restart) const {
    amount sum;
    const auto before = earlier_.find(j);
    if (before == earlier_.end()) return sum;
    const instant works_from = before->second.front().begin + restart;
    for (const segment& s : before->second) add(sum, s.begin, std::min(s.end, works_from), s.pods);
    return sum;
  }

 private:
  struct current {
    instant since = 0;
    std::uint32_t pods = 0;
  };
  struct segment {
    instant begin = 0;
    instant end = 0;
    std::uint32_t pods = 0;
  };

  void add(amount& sum, instant from, instant to, std::uint32_t pods) const {
    to = std::min(to, window_.end);
    from = std::max(from, window_.begin);
    if (from >= to) return;
    sum.in_window += static_cast<wide>(to - from) * pods;
    from = std::max(from, begin_);
    if (from < to) sum.since_begin += static_cast<wide>(to - from) * pods;
  }

  time_window window_;
  instant begin_ = std::numeric_limits<instant>::min();
  vector<current> runs_;
  /// Earlier segments of current runs, with other numbers of pods.
  std::map<sim::job_index, vector<segment>> earlier_;
  /// For jobs that have lost something.
  std::map<sim::job_index, instant> lost_before_;
  vector<segment> segments_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
