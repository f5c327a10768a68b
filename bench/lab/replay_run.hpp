// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/dashboard.hpp"
#include "lab/errors.hpp"
#include "lab/recorder.hpp"
#include "lab/replay_result.hpp"
#include "lab/scenario.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Where a replay writes while it runs.
struct replay_streams {
  output_file& tenants;
  /// May be null.
  output_file* events = nullptr;
};

/// What stopped a replay.
struct replay_stop {
  /// A change of the quotas that is not valid.
  instant at = 0;
  std::vector<problem> problems{};
  /// Before it began: jobs that can't run where they are said to.
  errors found{};
};

/// How far a replay goes, and what is told of it on the way.
struct replay_control {
  /// It ends after what happens at this time.
  std::optional<instant> until{};
  /// It ends when more jobs than this wait.
  std::optional<std::uint64_t> max_queue{};
  /// It ends after this time of the clock on the wall.
  std::optional<std::chrono::milliseconds> max_time{};
  /// After what happens at that time `show` is called with how things stand then.
  std::optional<instant> look_at{};
  std::function<void(const cluster_state&)> show{};
  /// It ends when it has shown that.
  bool only_look = false;
  /// Of `cluster_state`: of how many waiting jobs the reason is asked for.
  std::size_t most_reasons = 20;
  /// tenants.csv has a row of a quota at most once in this time; 0: for each change.
  instant tenants_step = 0;
  /// Take the time of each part.
  bool timed = false;
  /// Say on a terminal how far it is.
  bool show_progress = true;
};

/// Simulates the scenario under its policy. N is 1 or `max_resources` and holds the resources of the
/// scenario. `result` refers to texts of the scenario; the jobs of its trace are gone afterwards, because a
/// million of them take room that the simulation needs. An interrupt ends it while there is an
/// `interruptible`.
template <std::size_t N>
[[nodiscard]] replay_stop run_replay(scenario& s, const replay_streams& streams, replay_result& result,
                                     const replay_control& control = {});
extern template replay_stop run_replay<1>(scenario&, const replay_streams&, replay_result&,
                                          const replay_control&);
extern template replay_stop run_replay<max_resources>(scenario&, const replay_streams&, replay_result&,
                                                      const replay_control&);

}  // namespace lab
}  // namespace v0
}  // namespace allot
