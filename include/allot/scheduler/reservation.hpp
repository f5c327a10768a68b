// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {
inline namespace v0 {

/// Why a job starts later than it was first to.
enum class delay_cause : std::uint8_t {
  /// It does not.
  none,
  /// A job runs longer than expected.
  overrun,
  /// An owner uses what is its own, which the job was to borrow or where it was to stand, or its quota does
  /// not borrow for now because owners have reclaimed what it borrowed.
  owner,
  /// A job of higher priority was submitted to the same quota, or got it there.
  higher_priority,
  /// The host changed what runs or where jobs may run: a node failed or was closed, a start failed, a running
  /// job was adopted, or is expected to run longer or moved to another quota (`scheduler::update`).
  cluster,
  /// The quotas or their settings changed.
  quotas,
  /// A job ended before it was expected to, or without being expected to, or another reservation moved. So
  /// others with a reservation are placed elsewhere than planned; where places do not matter that delays no
  /// job.
  placement,
  /// Jobs that may not be preempted for it, or that the host could not evict, use what it was to have.
  protection,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(delay_cause value) noexcept {
  switch (value) {
    case delay_cause::none:
      return "none";
    case delay_cause::overrun:
      return "overrun";
    case delay_cause::owner:
      return "owner";
    case delay_cause::higher_priority:
      return "higher_priority";
    case delay_cause::cluster:
      return "cluster";
    case delay_cause::quotas:
      return "quotas";
    case delay_cause::placement:
      return "placement";
    case delay_cause::protection:
      return "protection";
  }
  return "";
}

/// A start held in the future for a pending job, the latest that it has, if all running jobs end as expected.
/// It is kept by the rules that `queue_head::reserve` states.
struct reservation {
  /// When it starts at the latest. A time that has passed: at any moment, since it waits for a job that
  /// overruns. `without_end`: no longer known, but it keeps its turn. While it gathers: when it gives up.
  instant start = without_end;
  /// Its first start.
  instant first_start = without_end;
  /// The running or nominated job, or the one with an earlier reservation, whose end it waits for last.
  job_id after{};
  /// Whether the job is to borrow: then owners take precedence.
  bool borrows = false;
  /// Whether the start stands on what the quota owns: then only its own jobs count, for others give back what
  /// they borrow of it (`queue_head::reserve`).
  bool owned = false;
  /// Why `start` is later than `first_start`, or why it is overdue; of several causes the latest.
  delay_cause cause = delay_cause::none;
  /// Set if the job gathers capacity (`queue_settings::gather`): it is not known when it starts, because jobs
  /// without an expected end are in its way. Those that ran before this time count as gone by `start`.
  std::optional<instant> gathers_since{};

  friend bool operator==(const reservation&, const reservation&) = default;
};

}  // namespace v0
}  // namespace allot
