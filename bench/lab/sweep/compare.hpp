// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/deviation.hpp"
#include "lab/io/errors.hpp"
#include "lab/report/run_summary.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

struct compare_options {
  /// Directories written by replay, or their summary.json; directories of sweeps, each configuration of which
  /// is one side; or directories with several replays below them, which together are one side.
  vector<std::string> runs{};
  /// "text", "csv" or "markdown".
  std::string format = "text";
  /// All figures, not only the main ones. CSV always has all.
  bool all = false;
  /// Only these, by their names in CSV.
  vector<std::string> figures{};
  /// Also the figures of the jobs that were completed on all sides.
  bool common = false;
  /// Instead, these over the loads of sweeps.
  vector<std::string> curves{};
  /// The directory for a drawing of each of them; empty: none. Without `curves` it gets the main figures.
  std::string svg{};
  /// Drawings may be replaced.
  bool force = false;
  /// Of tables for people, in characters.
  std::size_t width = 80;
};

/// Runs that are one side of a comparison: one configuration with several seeds.
struct run_group {
  std::string label;
  vector<run_summary> runs;
  /// For a sweep: the input ("mix, load 0.9"; empty if it is the same for the whole sweep), and the policy's
  /// name.
  std::string set{};
  std::string side = label;
  /// For a sweep: the scenario, and the load ("0.9", "x2.6"; empty if the workload is unchanged).
  std::string scenario{};
  std::string load{};
};

/// Sides that can be compared with each other: they are of one scenario at one load.
struct side_set {
  /// "mix, load 0.9"; empty if all sides are in one set.
  std::string name;
  vector<const run_group*> sides;
  /// What the sides are called in it.
  vector<std::string> names;
};
/// Each set with what the others of it are compared with first: the baseline of the experiment, or the first
/// there is. If no set had two sides, all of them are one.
[[nodiscard]] vector<side_set> sets_of(const vector<run_group>& groups);

/// The figure in each run of the group that has it, with the run's seed.
[[nodiscard]] vector<seeded_value> values_of(const run_group& group, std::string_view figure);
/// What the runs say, each text once: "standard, standard (guard none)".
[[nodiscard]] std::string texts_of(const run_group& group,
                                   const std::function<std::string(const run_summary&)>& text_of);
/// "3", or "1 to 10" of several.
[[nodiscard]] std::string seeds_of(const run_group& group);
/// Which part of its runs a side measures: "the whole run", "without the first 12h".
[[nodiscard]] std::string measured_by(const run_group& group);
/// The same for all sides, if it is the same part and not the whole; else empty. Precondition: there is one.
[[nodiscard]] std::string measured_by_all(const vector<const run_group*>& sides);
/// The least that runs with the same seed share, if each seed occurs once. With one run per side the seed
/// does not matter, since it may belong to the policy only.
[[nodiscard]] shared_input shared_by(const run_group& a, const run_group& b);
[[nodiscard]] mean_and_deviation summary_of(const vector<seeded_value>& values);

/// Reports, as of that option, figures that no run has, and that there is no sweep over loads.
void check_curves(const vector<run_group>& groups, const vector<std::string>& curves, const char* option,
                  errors& found);

/// The groups that the names refer to.
[[nodiscard]] vector<run_group> read_groups(const vector<std::string>& names, errors& found);

/// The figures of all groups side by side, each with its difference from the first of its set.
[[nodiscard]] std::string compared(const vector<run_group>& groups, const compare_options& options);

/// `allot compare A B [...]`: prints `compared` on standard output. Returns the exit status: 0, or 2 if one
/// of them can't be read.
int compare(const compare_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
