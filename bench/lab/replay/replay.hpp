// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/atomic_files.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/report/measuring.hpp"
#include "lab/report/report.hpp"
#include "lab/scenario/scenario.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot replay`: simulates a scenario and writes the results to a directory.
struct replay_options {
  scenario_source source{};
  /// Replaces the scenario's seed.
  std::optional<std::uint64_t> seed{};
  /// The output directory; for "runs/a", "runs" is created too.
  std::string out{};
  /// The directory may exist: files of an earlier run in it are replaced, others are left alone.
  bool force = false;
  /// Also events.csv.
  bool events = false;
  /// Also trace.json, for Perfetto and chrome://tracing.
  bool chrome = false;
  /// Times as `read_time` takes them; empty if not given. When the replay ends, the wall-clock limit, and the
  /// time at which the dashboard is printed.
  std::string until{};
  std::string max_time{};
  std::string at{};
  /// The replay ends when more jobs than this are pending.
  std::optional<std::uint64_t> max_queue{};
  /// For each list of the dashboard.
  std::size_t rows = 20;
  /// The least time between the rows of a quota in tenants.csv; empty: each change has a row.
  std::string tenants_step{};
  /// Also report where the time went.
  bool timing = false;
  measuring_options measured{};
  /// The quotas that charts and tables show by name, instead of those with the most GPU time.
  vector<std::string> show{};
  /// Also write the charts of the report as separate files, for papers.
  bool svg = false;
};

/// The exit status of a run that `--max-queue` or `--max-time` ended, and of an incomplete sweep.
inline constexpr int incomplete_status = 3;

/// Returns the exit status: 0; 2 if the input is wrong or the output can't be written, and then no file is
/// left under its final name; `incomplete_status`; or 128 + the number of the signal that ended it early. The
/// headline and the dashboard go to standard output, everything else to standard error. Without an output
/// directory only the dashboard is produced.
int replay(const replay_options& options);

/// The files that a replay writes besides its summary.
struct replay_outputs {
  /// jobs.csv, tenants.csv and cdf.csv.
  bool tables = true;
  bool report = true;
  bool events = false;
  bool chrome = false;
  bool svg = false;
};
/// All files that a replay may write. The summary is last: if it exists, everything does.
inline constexpr auto replay_file_names = [] {
  constexpr std::array<std::string_view, 7> always = {
      "jobs.csv", "tenants.csv", "cdf.csv", "events.csv", "trace.json", "report.html", "summary.json"};
  std::array<std::string_view, std::size(chart_files) + always.size()> names;
  std::copy(always.begin(), always.end(),
            std::copy(std::begin(chart_files), std::end(chart_files), names.begin()));
  return names;
}();

/// The outcome of a replay into a directory, without its figures.
struct replay_conclusion {
  /// Errors in the scenario; then there are no figures.
  errors found{};
  /// What could not be written.
  std::string problem{};
  /// The charts that were drawn: ", gpus.svg, quotas.svg".
  std::string charts{};
  /// The signal that ended it; 0 if none.
  int asked = 0;
  std::chrono::milliseconds wall{0};
};
/// Replays the scenario and writes the files into the directory, which must then be published. `begin` is
/// when the work on it began.
[[nodiscard]] replay_conclusion replay_into(const atomic_directory& directory, scenario& s, replay_result& r,
                                            const replay_control& control, const replay_outputs& outputs,
                                            std::chrono::steady_clock::time_point begin);

/// The result before the replay: what the files say of the scenario and the seed.
[[nodiscard]] replay_result result_for(const scenario& s, std::uint64_t seed, bool has_own_quotas);
/// Reports what prevents the replay of a valid scenario.
void check_for_replay(const scenario& s, errors& found);
/// The errors of a quota change during the replay, with its place in the scenario.
[[nodiscard]] errors explain_stop(const scenario& s, const replay_stop& stop);

}  // namespace lab
}  // namespace v0
}  // namespace allot
