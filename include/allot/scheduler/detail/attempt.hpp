// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/reservation.hpp>

#include <algorithm>
#include <optional>

namespace allot {
inline namespace v0 {
namespace detail {

/// What became of trying a pending job.
struct attempt {
  bool is_admitted = false;
  /// Whether it takes precedence over some reservation.
  bool claims = false;
  /// Whether a search for victims ended before it was known that there are none.
  bool gave_up = false;
  /// Whether others are to be tried before, and it again.
  bool is_put_off = false;
  /// Whether it could preempt, but its victims would lose too much.
  bool declined = false;
  /// Whether it might, but has not waited long enough.
  bool is_patient = false;
  /// What it is late for if what it asks for is kept for a job that is ready soon; else none.
  delay_cause kept_by = delay_cause::none;
  /// If it ended by then, it might be admitted: see `is_delaying`.
  std::optional<instant> ends_by{};

  /// It would delay a reserved start if it ran from now to `end`. A start may be delayed by a job that is
  /// gone by then, too; one that is gone earlier still is tried again.
  void is_delaying(instant start, instant end) {
    const instant by = std::min(start, end - 1);
    ends_by = std::max(ends_by.value_or(by), by);
  }
  /// Why it was not admitted, if the books do not say it.
  [[nodiscard]] pending_reason why() const noexcept {
    if (declined) return pending_reason::lost_work;
    if (is_patient) return pending_reason::preempts_later;
    return gave_up ? pending_reason::not_proven : pending_reason::quota;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
