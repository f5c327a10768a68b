// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/measuring.hpp"
#include "lab/replay_run.hpp"
#include "lab/report.hpp"
#include "lab/scenario.hpp"
#include "lab/staging.hpp"

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
  /// How far the rows of a quota in tenants.csv are apart; empty: not given, each change has one.
  std::string tenants_step{};
  /// Also say where the time went.
  bool timing = false;
  measuring_options measured{};
  /// Also the charts of the report as files of their own, for papers.
  bool svg = false;
};

/// Of a run that `--max-queue` or `--max-time` ended, and of a sweep of which not every point is there.
inline constexpr int incomplete_status = 3;

/// Returns the exit status: 0; 2 when the input is wrong or the output can't be written, and then no file is
/// left under a final name; `incomplete_status`; or 128 + the number of the signal that ended it early. The
/// headline and the dashboard go to standard output, everything else to standard error. Without an output
/// directory nothing but the dashboard is made.
int replay(const replay_options& options);

/// Which files a replay leaves besides its summary.
struct replay_outputs {
  /// jobs.csv and tenants.csv.
  bool tables = true;
  bool report = true;
  bool events = false;
  bool chrome = false;
  bool svg = false;
};
/// All that a replay may write. The summary is last: where it is, everything is.
inline constexpr auto replay_file_names = [] {
  constexpr std::array<std::string_view, 6> always = {"jobs.csv",   "tenants.csv", "events.csv",
                                                      "trace.json", "report.html", "summary.json"};
  std::array<std::string_view, std::size(chart_files) + always.size()> names;
  std::copy(always.begin(), always.end(),
            std::copy(std::begin(chart_files), std::end(chart_files), names.begin()));
  return names;
}();

/// What came of a replay into a directory, but for its figures.
struct replay_conclusion {
  /// What was wrong with the scenario; then there are no figures.
  errors found{};
  /// What could not be written.
  std::string problem{};
  /// The charts that were drawn: ", gpus.svg, quotas.svg".
  std::string charts{};
  /// The signal that ended it, 0: none.
  int asked = 0;
  std::chrono::milliseconds wall{0};
};
/// Replays the scenario and writes the files into the directory, which is then to be published. `begin` is
/// when the work on it began.
[[nodiscard]] replay_conclusion replay_into(const staging_directory& staging, scenario& s, replay_result& r,
                                            const replay_control& control, const replay_outputs& outputs,
                                            std::chrono::steady_clock::time_point begin);

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
