// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace sim {

/// The progress of a job's work, run after run, in exact integers.
///
/// Work is counted in pod-milliseconds. A job of n pods that takes time d with all of them has n x d to do,
/// and with k of its pods it does k per millisecond, so it progresses at the rate k/n. It ends at the first
/// millisecond by which all work is done.
///
/// - Work is saved after every checkpoint interval c of the whole job, that is, after every n x c of work, by
///   whatever number of pods. A run that is cut short loses what was done since, by all pods.
/// - Pods that join or leave a continuing run cost nothing: the others keep what a leaving pod did.
/// - Resuming after a run that was cut short takes the restart time, in which no pod does any work.
class job_progress {
 public:
  constexpr job_progress() noexcept = default;
  /// Precondition: pods > 0 and duration >= 0.
  constexpr job_progress(instant duration, std::uint32_t pods) noexcept : work_(duration * pods), of_(pods) {}

  /// A run begins at `now` with this many pods; for `restart` it does no work yet. Precondition: it does not
  /// run.
  constexpr void begin(instant now, std::uint32_t pods, instant restart = 0) {
    ALLOT_ASSERT(pods_ == 0 && pods > 0, "a run begins with some pods");
    since_ = now;
    works_from_ = now + restart;
    pods_ = pods;
  }
  /// From now on it has this many pods. Precondition: it runs and 0 < pods.
  constexpr void resize(instant now, std::uint32_t pods) {
    ALLOT_ASSERT(pods_ > 0 && pods > 0, "a run has pods");
    pass(now);
    pods_ = pods;
  }
  /// When all work is done if the number of pods stays the same. Precondition: it runs.
  [[nodiscard]] constexpr instant end() const {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    return std::max(since_, works_from_) + (left() + pods_ - 1) / pods_;
  }
  /// The run ends for good, with the work done by then. Precondition: it runs.
  constexpr void stop(instant now) {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    pass(now);
    kept_ = done_;
    pods_ = 0;
  }
  /// The run is cut short, to be resumed later; returns the work lost. `checkpoint`: as in `job`.
  /// Precondition: it runs.
  constexpr instant cut_short(instant now, const std::optional<instant>& checkpoint) {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    pass(now);
    if (checkpoint) {
      const instant interval = *checkpoint * of_;
      kept_ = interval <= 0 ? done_ : std::max(kept_, done_ / interval * interval);
    }
    const instant lost = done_ - kept_;
    done_ = kept_;
    lost_ += lost;
    pods_ = 0;
    return lost;
  }

  /// The number of its pods that run.
  [[nodiscard]] constexpr std::uint32_t pods() const noexcept { return pods_; }
  /// The remaining work, as of the last change.
  [[nodiscard]] constexpr instant left() const noexcept { return work_ - done_; }
  /// What was lost: work since the last checkpoint of runs that were cut short, and restarts, during which
  /// the pods were held but idle.
  [[nodiscard]] constexpr instant lost() const noexcept { return lost_; }
  /// Work as the time that it takes with all pods, rounded down.
  [[nodiscard]] constexpr instant in_time_of_all(instant work) const noexcept { return work / of_; }

 private:
  /// Accounts for the time since the last change.
  constexpr void pass(instant now) {
    const instant from = std::min(std::max(since_, works_from_), now);
    lost_ += (from - since_) * pods_;
    done_ += std::min(left(), (now - from) * pods_);
    since_ = now;
  }

  instant work_ = 0;
  instant done_ = 0;
  /// The part of that which is saved for good.
  instant kept_ = 0;
  instant lost_ = 0;
  instant since_ = 0;
  instant works_from_ = 0;
  /// The number of its pods, and of those that run.
  std::uint32_t of_ = 1;
  std::uint32_t pods_ = 0;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
