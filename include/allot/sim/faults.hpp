// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>
#include <allot/sim/job.hpp>

#include <cstdint>

namespace allot {
inline namespace v0 {
namespace sim {

/// What lies between a decision and its effect in a real cluster: starts and evictions take their time, and
/// some of them fail. Without any of it, as by default, each takes effect at once.
///
/// - A job that is starting holds its share and does no work yet: what it holds is lost time. A start fails
///   when it should have been done; the job is then pending, and not tried before a while (`start_failed`).
/// - A job that is being evicted works on until it has gone, or is refused the eviction then: it runs on, and
///   others are evicted (`not_evicted`). One that a later plan no longer needs to go stays.
/// - The pods of an elastic job beyond those that it needs start at once, and never fail.
///
/// What is drawn depends on the seed, the job and how often it was started or evicted, on nothing else: so
/// policies are compared with the same luck.
struct host_faults {
  /// How long something takes, evenly distributed over the whole milliseconds from `least` to `most`.
  struct span {
    /// @{
    /// In ticks; not negative, and `least` not above `most`.
    instant least = 0;
    instant most = 0;
    /// @}
  };
  /// How long starts take.
  span start{};
  /// How long evictions take.
  span eviction{};
  /// @{
  /// How many of 100,000 starts or evictions fail.
  std::uint32_t failed_starts = 0;
  std::uint32_t failed_evictions = 0;
  /// @}
  /// How long a job whose start has failed is not tried: at least a millisecond, so that an instant ends.
  instant start_again_after = minute;
  /// The same of one whose eviction has failed: it is not preempted.
  instant evict_again_after = minute;
  /// Whether a job that has lost some of its pods to a failed node has these replaced, if there is room: it
  /// starts again at once, from what it has saved, and keeps its other pods (`scheduler::replace_pods`).
  bool replaces_failed_pods = false;
  /// Of all that is drawn.
  std::uint64_t seed = 1;

  /// What is drawn for one start or one eviction of a job.
  struct outcome {
    /// How long it takes.
    instant takes = 0;
    /// Whether it then fails.
    bool fails = false;
  };
  /// Of the n-th start of a job.
  [[nodiscard]] constexpr outcome of_start(job_index j, std::uint64_t n) const noexcept {
    return drawn(start, failed_starts, j, 2 * n);
  }
  /// Of the n-th eviction of a job.
  [[nodiscard]] constexpr outcome of_eviction(job_index j, std::uint64_t n) const noexcept {
    return drawn(eviction, failed_evictions, j, 2 * n + 1);
  }
  /// Whether evictions may take time, or fail.
  [[nodiscard]] constexpr bool delays_evictions() const noexcept {
    return eviction.most > 0 || failed_evictions > 0;
  }

 private:
  [[nodiscard]] constexpr outcome drawn(const span& s, std::uint32_t failing, job_index j,
                                        std::uint64_t which) const noexcept {
    if (s.most == 0 && failing == 0) return {};
    const std::uint64_t number = mixed(mixed(mixed(seed) ^ j) ^ which);
    const auto width = static_cast<std::uint64_t>(s.most - s.least) + 1;
    return {s.least + static_cast<instant>(number % width), mixed(number) % 100'000 < failing};
  }
  /// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
  [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }
};

}  // namespace sim
}  // namespace v0
}  // namespace allot
