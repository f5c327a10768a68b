// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/compare.hpp"
#include "lab/errors.hpp"
#include "lab/run_summary.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Which points there are; its presence makes a directory that of a sweep.
inline constexpr const char* sweep_file = "sweep.json";
/// Where each point has its directory.
inline constexpr const char* points_directory = "points";

/// A point of a sweep and what came of it.
struct swept_point {
  std::string name;
  std::string scenario;
  std::string policy;
  /// "0.9", "x2.6"; empty when the workload is as it is.
  std::string load;
  std::uint64_t seed = 1;
  /// A fingerprint of everything that its result depends on.
  std::string key;

  enum class state : std::uint8_t {
    missing,
    done,
    /// A guard ended it early, so its figures say nothing of the whole.
    stopped,
    failed,
  };
  state is = state::missing;
  /// Why it was stopped or failed.
  std::string reason{};
  /// Of one that is done or stopped.
  std::optional<run_summary> summary{};
};

/// A sweep: what it is of, and its points in order.
struct sweep_record {
  std::string experiment;
  /// Of the names and keys of all points: two directories of one sweep have the same.
  std::string id;
  std::string baseline;
  std::vector<swept_point> points;

  [[nodiscard]] std::size_t count(swept_point::state is) const;
};

/// What sweep.json says.
[[nodiscard]] std::string to_json(const sweep_record& sweep);
/// The same back; without results.
[[nodiscard]] std::optional<sweep_record> read_sweep_file(const std::string& directory, errors& found);
/// point.json, which stands beside the summary.
[[nodiscard]] std::string point_json(const swept_point& p);
/// Takes what is in the directory of the point, if it was made of the same input. Whatever can't be read is
/// as if it were not there: the point is run again.
void read_point(const std::string& sweep_directory, swept_point& p);
[[nodiscard]] std::string directory_of_point(const std::string& sweep_directory, const std::string& point);

/// A row a point, with all figures that any of them has.
[[nodiscard]] std::string results_csv(const sweep_record& sweep);
/// A row a configuration (scenario, load and policy): of each figure mean and standard deviation over its
/// seeds, and the mean and deviation of the differences to the baseline in runs of one seed.
[[nodiscard]] std::string table_csv(const sweep_record& sweep);
[[nodiscard]] std::string table_json(const sweep_record& sweep);
/// The same for people, the figures that are looked at first, a table a scenario and load.
[[nodiscard]] std::string shown_table(const sweep_record& sweep, bool markdown);

/// A group for each configuration of the sweep in that directory of which there is a result.
[[nodiscard]] std::vector<run_group> groups_of_sweep(const std::string& directory, errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
