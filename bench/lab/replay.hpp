// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/scenario.hpp"

#include <cstdint>
#include <optional>
#include <string>

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
  /// Also the charts of the report as files of their own, for papers.
  bool svg = false;
};

/// Returns the exit status: 0, or 2 when the input is wrong or the output can't be written; then no file is
/// left under a final name. The headline goes to standard output, everything else to standard error.
int replay(const replay_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
