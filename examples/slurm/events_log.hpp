// SPDX-License-Identifier: BSL-1.0
//
// The log of all that the scheduler was told, and of its plans: lines of JSON that replay to the same plans.
#pragma once

#include "engine.hpp"

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// The beginning of a scheduler, with the configuration file, nodes and switches.
[[nodiscard]] std::string to_json(const engine_setup& setup, const std::string& config_text);
/// With the answer of the scheduler, if it refused.
[[nodiscard]] std::string to_json(const event& e, std::string_view why_not);
/// A cycle at `now`, and its plan.
[[nodiscard]] std::string to_json(const decision& d, std::int64_t now);

/// What became of a replay.
struct replay_result {
  std::size_t schedulers = 0;
  std::size_t events = 0;
  std::size_t cycles = 0;
  /// Cycles in which something was decided.
  std::size_t plans = 0;
  /// The first lines that differ from what the scheduler says now: "line 7: logged ..., now ...".
  std::vector<std::string> differences{};
  /// What can't be read; the replay stops there.
  std::string problem{};
};
/// Tells a fresh scheduler everything again and compares its plans. A log that ends in the middle of a line
/// was written by a governor that was killed: its last line is left out. `config_text` replaces the
/// configuration of the log, if there is one.
[[nodiscard]] replay_result replay(std::istream& in, const std::optional<std::string>& config_text);

}  // namespace allot_slurm
