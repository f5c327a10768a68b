// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a replay is made of. All are as the options of `allot replay`; what is empty is not given.
struct replay_input {
  /// The path of a scenario; without one, `nodes` and `trace` are required.
  std::string scenario{};
  /// The path of a CSV of jobs, instead of the scenario's trace.
  std::string trace{};
  /// COUNTxGPUS, as in "16x8", instead of the scenario's cluster.
  std::string nodes{};
  /// The name of a policy, instead of the scenario's: a preset, or one of your own (`add_policy`).
  std::string policy{};
};

/// Replays it with all metrics, as `allot replay` does, and writes summary.json, jobs.csv, tenants.csv,
/// cdf.csv and report.html to the directory `out`, which must not exist, or whose files of an earlier run are
/// replaced. Prints the headline on standard output and complaints on standard error. Returns the exit
/// status: 0; or 2 if the input is wrong or the output can't be written, and then no file is left.
[[nodiscard]] int replay_to_files(const replay_input& input, const std::string& out, bool replace = false);

}  // namespace lab
}  // namespace v0
}  // namespace allot
