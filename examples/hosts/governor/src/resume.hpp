// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/memory.hpp"

#include <allot/scheduler/reservation.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace allot_governor {

/// A job as its host has it, for a scheduler that continues from what another one knew.
struct continued_job {
  job_name name{};
  facts what{};
  /// Whether it has its share; and then where, and since when it runs. 0: it has not started yet.
  bool holds = false;
  std::vector<node_share> where{};
  milliseconds started = 0;
  /// `what` is what it has: it chooses nothing any more.
  bool has_chosen = false;
};
/// The first event of a scheduler that continues from `s`, as far as the host agrees: what has its share
/// there runs, what waits there waits. Jobs that `find` does not find are left out. What has changed is news
/// for who waits.
[[nodiscard]] event resume_from(
    const saved_state& s, allot::delay_cause changed, milliseconds now,
    const std::function<std::optional<continued_job>(const job_identity& job)>& find);

}  // namespace allot_governor
