// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/replay_run.hpp"
#include "lab/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot replay`: simulates a scenario and writes what came of it to a directory.
struct replay_options {
  scenario_source source{};
  /// Instead of the scenario's seed.
  std::optional<std::uint64_t> seed{};
  /// The directory that is made; "runs/a" is made with "runs".
  std::string out{};
  /// It may exist: then the files of an earlier run in it are replaced, and others are left alone.
  bool force = false;
  /// Also events.csv.
  bool events = false;
  /// Also trace.json, for Perfetto and chrome://tracing.
  bool chrome = false;
  /// Times as `read_time` takes them; empty: not given. Where it ends, what may take how long on the wall's
  /// clock, and the time of which the dashboard is printed.
  std::string until{};
  std::string max_time{};
  std::string at{};
  /// It ends when more jobs than this wait.
  std::optional<std::uint64_t> max_queue{};
  /// Of each list of the dashboard.
  std::size_t rows = 20;
  /// Also say where the time went.
  bool timing = false;
};

/// Of a run that `--max-queue` or `--max-time` ended, and of a sweep of which not every point is there.
inline constexpr int incomplete_status = 3;

/// Returns the exit status: 0; 2 when the input is wrong or the output can't be written, and then no file is
/// left under a final name; `incomplete_status`; or 128 + the number of the signal that ended it early. The
/// headline and the dashboard go to standard output, everything else to standard error. Without an output
/// directory nothing but the dashboard is made.
int replay(const replay_options& options);

/// What is written of a scenario that was replayed with this seed, before it is replayed.
[[nodiscard]] replay_result result_for(const scenario& s, std::uint64_t seed, bool has_own_quotas);
/// What makes a scenario valid that can't be replayed.
void check_for_replay(const scenario& s, errors& found);
/// What was wrong with a change of the quotas on the way, with its place in the scenario.
[[nodiscard]] errors explain_stop(const scenario& s, const replay_stop& stop);
/// "interrupt".
[[nodiscard]] std::string_view word_of(stop_reason why) noexcept;

}  // namespace lab
}  // namespace v0
}  // namespace allot
