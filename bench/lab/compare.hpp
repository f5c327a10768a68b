// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/deviation.hpp"
#include "lab/errors.hpp"
#include "lab/run_summary.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

struct compare_options {
  /// Directories that replay wrote, or their summary.json; directories of sweeps, each configuration of which
  /// is one side; or directories with several replays below them, which are one side together.
  std::vector<std::string> runs{};
  /// "text", "csv" or "markdown".
  std::string format = "text";
  /// All figures, not only those that are looked at first. CSV always has all.
  bool all = false;
  /// Only these, by their names in CSV.
  std::vector<std::string> figures{};
};

/// Runs that are one side of a comparison: of one configuration, with several seeds.
struct run_group {
  std::string label;
  std::vector<run_summary> runs;
  /// Of a sweep: what it ran on ("mix, load 0.9"; empty if all of the sweep did), and the name of the policy.
  std::string set{};
  std::string side = label;
};

/// Of a group: what each run that has the figure says, with its seed.
[[nodiscard]] std::vector<seeded_value> values_of(const run_group& group, std::string_view figure);
/// The least that runs of one seed share, where each seed is there once; of one run each the seed does not
/// matter: it may be of the policy only.
[[nodiscard]] shared_input shared_by(const run_group& a, const run_group& b);
[[nodiscard]] mean_and_deviation summary_of(const std::vector<seeded_value>& values);

/// The groups that the names stand for.
[[nodiscard]] std::vector<run_group> read_groups(const std::vector<std::string>& names, errors& found);

/// The figures of all groups side by side, each with its difference from the first.
[[nodiscard]] std::string compared(const std::vector<run_group>& groups, const compare_options& options);

/// `allot compare A B [...]`: prints `compared` on standard output. Returns the exit status: 0, or 2 when one
/// of them can't be read.
int compare(const compare_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
