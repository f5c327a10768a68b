// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace sim {

/// How fast a job works, in thousandths of the nominal speed: that at which its duration is meant.
using speed = std::uint32_t;
inline constexpr speed nominal_speed = 1000;

/// The progress of a job's work, run after run, in exact integers.
///
/// Work is counted in pod-milliseconds at the nominal speed, and thousandths of these. A job of n pods that
/// takes time d with all of them has n x d to do, and with k of its pods at speed s it does k x s thousandths
/// per millisecond, so it progresses at the rate k/n of that speed. It ends at the first millisecond by which
/// all work is done; nothing else is rounded.
///
/// - Work is saved after every checkpoint interval c of the whole job, that is, after every n x c of work, by
///   whatever number of pods at whatever speed. A run that is cut short loses what was done since, by all
///   pods.
/// - Pods that join or leave a continuing run cost nothing: the others keep what a leaving pod did.
/// - Resuming after a run that was cut short takes the restart time, in which no pod does any work.
/// - What is lost is the time in which the pods were held for it, whatever their speed.
class job_progress {
 public:
  constexpr job_progress() noexcept = default;
  /// Precondition: pods > 0 and duration >= 0.
  constexpr job_progress(instant duration, std::uint32_t pods) noexcept : work_(duration * pods), of_(pods) {}

  /// A run begins at `now` with this many pods, at the nominal speed; for `restart` it does no work yet.
  /// Precondition: it does not run.
  constexpr void begin(instant now, std::uint32_t pods, instant restart = 0) {
    ALLOT_ASSERT(pods_ == 0 && pods > 0, "a run begins with some pods");
    since_ = now;
    works_from_ = now + restart;
    pods_ = pods;
    speed_ = nominal_speed;
    saved_at_ = held_;
  }
  /// From now on it has this many pods. Precondition: it runs and 0 < pods.
  constexpr void resize(instant now, std::uint32_t pods) {
    ALLOT_ASSERT(pods_ > 0 && pods > 0, "a run has pods");
    pass(now);
    pods_ = pods;
  }
  /// From now on it has this speed, at least a thousandth. `checkpoint`: as in `job`. Precondition: it runs.
  constexpr void pace(instant now, speed s, const std::optional<instant>& checkpoint) {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    pass(now);
    if (interval_ == unpaced) {
      interval_ = checkpoint ? *checkpoint * of_ : never;
      saved_at_ = held_ - (interval_ > 0 ? done_ % interval_ : done_ - kept_);
    }
    speed_ = std::max<speed>(1, s);
  }
  /// When all work is done if number and speed of the pods stay the same. Precondition: it runs.
  [[nodiscard]] constexpr instant end() const {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    const instant from = std::max(since_, works_from_);
    if (speed_ == nominal_speed && part_ == 0) return from + (left() + pods_ - 1) / pods_;
    const wide rate = wide{pods_} * speed_;
    const wide due = static_cast<wide>(left()) * nominal_speed - part_;
    return from + static_cast<instant>((due + rate - 1) / rate);
  }
  /// The run ends for good, with the work done by then. Precondition: it runs.
  constexpr void stop(instant now) {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    pass(now);
    kept_ = done_;
    pods_ = 0;
  }
  /// The run is cut short, to be resumed later; returns what it lost of its pods' time. `checkpoint`: as in
  /// `job`. Precondition: it runs.
  constexpr instant cut_short(instant now, const std::optional<instant>& checkpoint) {
    ALLOT_ASSERT(pods_ > 0, "it does not run");
    pass(now);
    if (checkpoint && *checkpoint <= 0) {
      kept_ = done_;
      saved_at_ = held_;
    } else {
      if (checkpoint) kept_ = std::max(kept_, done_ - done_ % (*checkpoint * of_));
      part_ = 0;
    }
    // At the nominal speed time and work are the same.
    const instant lost = interval_ == unpaced ? done_ - kept_ : held_ - saved_at_;
    done_ = kept_;
    lost_ += lost;
    pods_ = 0;
    return lost;
  }

  /// The number of its pods that run.
  [[nodiscard]] constexpr std::uint32_t pods() const noexcept { return pods_; }
  /// The speed of the current or last run.
  [[nodiscard]] constexpr speed current_speed() const noexcept { return speed_; }
  /// The remaining work, as of the last change, rounded up.
  [[nodiscard]] constexpr instant left() const noexcept { return work_ - done_; }
  /// What was lost: the time of work since the last checkpoint of runs that were cut short, and restarts,
  /// during which the pods were held but idle.
  [[nodiscard]] constexpr instant lost() const noexcept { return lost_; }
  /// How long its pods have been held in all runs until `now`, whatever they did: its attained service.
  [[nodiscard]] constexpr instant held(instant now) const noexcept {
    return held_ + (pods_ == 0 ? 0 : (now - since_) * pods_);
  }
  /// The work done by `now`, rounded down; of runs that were cut short what was saved.
  [[nodiscard]] constexpr instant done(instant now) const {
    job_progress then = *this;
    if (pods_ > 0) then.pass(now);
    return then.done_;
  }
  /// Work as the time that it takes with all pods, rounded down.
  [[nodiscard]] constexpr instant in_time_of_all(instant work) const noexcept { return work / of_; }

 private:
  static constexpr instant never = -1, unpaced = -2;

  /// Accounts for the time since the last change.
  constexpr void pass(instant now) {
    const instant from = std::min(std::max(since_, works_from_), now);
    const instant idle = (from - since_) * pods_;
    lost_ += idle;
    held_ += (now - since_) * pods_;
    since_ = now;
    const instant before = done_;
    if (speed_ == nominal_speed && part_ == 0) {
      done_ += std::min(left(), (now - from) * pods_);
    } else {
      const wide due = static_cast<wide>(left()) * nominal_speed - part_;
      const wide more = part_ + std::min(due, static_cast<wide>(now - from) * pods_ * speed_);
      done_ += static_cast<instant>(more / nominal_speed);
      part_ = static_cast<speed>(more % nominal_speed);
    }
    if (interval_ == unpaced) return;
    // A restart is lost already.
    saved_at_ += idle;
    if (interval_ <= 0 || done_ / interval_ == before / interval_) return;
    const wide since_saved = static_cast<wide>(done_ % interval_) * nominal_speed + part_;
    saved_at_ = held_ - static_cast<instant>(since_saved / speed_);
  }

  instant work_ = 0;
  instant done_ = 0;
  /// The part of that which is saved for good.
  instant kept_ = 0;
  instant lost_ = 0;
  instant held_ = 0;
  /// `held_` when work was saved last, less restarts since; and after how much work it is saved. Only of use
  /// once the job was paced.
  instant saved_at_ = 0;
  instant interval_ = unpaced;
  instant since_ = 0;
  instant works_from_ = 0;
  /// The number of its pods, and of those that run.
  std::uint32_t of_ = 1;
  std::uint32_t pods_ = 0;
  speed speed_ = nominal_speed;
  /// Thousandths of work, beyond `done_`.
  speed part_ = 0;
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
