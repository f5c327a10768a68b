// SPDX-License-Identifier: BSL-1.0
//
// The log of events, simulated once more: the simulator's view, its books and its scheduler are told what the
// governor was told, tick by tick, and must decide the same.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace allot_governor {

/// What became of a replay.
struct replay_result {
  std::size_t schedulers = 0;
  std::size_t events = 0;
  std::size_t cycles = 0;
  /// Cycles in which something was decided.
  std::size_t plans = 0;
  /// What the simulator counted, of all schedulers: starts, and runs that were cut short.
  std::size_t starts = 0;
  std::size_t evictions = 0;
  /// The first lines that differ from what the simulator decides: "line 7: logged ..., now ...".
  std::vector<std::string> differences{};
  /// What can't be read; the replay stops there.
  std::string problem{};
};
/// Simulates a log and compares the plans of every cycle, and every answer. A log that ends in the middle of
/// a line was written by a governor that was killed: its last line is left out. `config_text` replaces the
/// configuration of the log, if there is one.
[[nodiscard]] replay_result replay(std::istream& in, const std::optional<std::string>& config_text);

}  // namespace allot_governor
