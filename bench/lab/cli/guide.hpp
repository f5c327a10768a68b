// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// Where the files are that help texts refer to. Empty if they are not found; relative to the working
/// directory if they are below it.
struct guide {
  /// The description of files and commands.
  std::string readme{};
  std::string scenarios{};
  std::string experiments{};
};

/// Looks for them from the directory of the given program upwards: in share/ of a prefix that allot is
/// installed in, or in a tree of its sources.
[[nodiscard]] guide find_guide(const std::string& program);
/// For the running program.
[[nodiscard]] guide find_guide();

/// A text that names files as in the sources ("bench/lab/scenarios/three_teams.json") with the paths under
/// which they were found; those that were not stay.
[[nodiscard]] std::string with_paths_of(const guide& files, std::string text);

}  // namespace lab
}  // namespace v0
}  // namespace allot
