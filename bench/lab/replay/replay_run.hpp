// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/report/dashboard.hpp"
#include "lab/report/replay_result.hpp"
#include "lab/scenario/scenario.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// The files that a replay writes while it runs.
struct replay_streams {
  output_file& tenants;
  /// May be null.
  output_file* events = nullptr;
};

/// What stopped a replay.
struct replay_stop {
  /// An invalid change of the quotas.
  instant at = 0;
  vector<problem> problems{};
  /// Before the start: jobs that can't run where the scenario places them.
  errors found{};
};

/// How far a replay goes, and what is reported on the way.
struct replay_control {
  /// It ends after the events at this time.
  std::optional<instant> until{};
  /// It ends when more jobs than this are pending.
  std::optional<std::uint64_t> max_queue{};
  /// It ends after this much wall-clock time.
  std::optional<std::chrono::milliseconds> max_time{};
  /// After the events at this time, `show` is called with the state.
  std::optional<instant> look_at{};
  std::function<void(const cluster_state&)> show{};
  /// It ends after showing that.
  bool only_look = false;
  /// For `cluster_state`: for how many pending jobs the reason is determined.
  std::size_t most_reasons = 20;
  /// The least time between two rows of a quota in tenants.csv; 0: a row for each change, also where only
  /// others' jobs have changed what many quotas are entitled to or lend. None: see `recorder`.
  std::optional<instant> tenants_step{};
  /// Measure the time of each part.
  bool timed = false;
  /// Show the progress on a terminal.
  bool show_progress = true;
};

/// Simulates the scenario under its policy. N is 1 or `max_resources`, for which it is compiled elsewhere,
/// and must hold the resources of the scenario. `result` refers to texts of the scenario. The jobs of its
/// trace are released, because a million of them take memory that the simulation needs. An interrupt ends it
/// while there is an `interruptible`.
template <std::size_t N>
[[nodiscard]] replay_stop run_replay(scenario& s, const replay_streams& streams, replay_result& result,
                                     const replay_control& control = {});

}  // namespace lab
}  // namespace v0
}  // namespace allot
