// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/errors.hpp"
#include "lab/report/run_summary.hpp"
#include "lab/sweep/compare.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The list of points; its presence marks the directory of a sweep.
inline constexpr const char* sweep_file = "sweep.json";
/// Contains the directory of each point.
inline constexpr const char* points_directory = "points";

/// A point of a sweep and its result.
struct swept_point {
  std::string name;
  std::string scenario;
  std::string policy;
  /// "0.9", "x2.6"; empty if the workload is unchanged.
  std::string load;
  std::uint64_t seed = 1;
  /// A fingerprint of everything that its result depends on.
  std::string key;
  /// Which part of the run its figures are of; empty: the whole.
  std::string measured{};

  enum class state : std::uint8_t {
    missing,
    done,
    /// A guard ended it early, so its figures say nothing about the whole.
    stopped,
    failed,
  };
  state is = state::missing;
  /// Why it was stopped or failed.
  std::string reason{};
  /// Present if the point is done or stopped.
  std::optional<run_summary> summary{};
};

/// A sweep: its experiment, and its points in order.
struct sweep_record {
  std::string experiment;
  /// Fingerprint of the names and keys of all points: two directories of one sweep have the same.
  std::string id;
  std::string baseline;
  vector<swept_point> points;

  [[nodiscard]] std::size_t count(swept_point::state is) const;
};

/// The contents of sweep.json.
[[nodiscard]] std::string to_json(const sweep_record& sweep);
/// Reads it back; without results.
[[nodiscard]] std::optional<sweep_record> read_sweep_file(const std::string& directory, errors& found);
/// The contents of point.json, which is beside the summary.
[[nodiscard]] std::string point_json(const swept_point& p);
/// Takes the results in the directory of the point, if they were made from the same input. Unreadable results
/// count as missing: the point is run again.
void read_point(const std::string& sweep_directory, swept_point& p);
[[nodiscard]] std::string directory_of_point(const std::string& sweep_directory, const std::string& point);

/// A row per point, with all figures that any point has.
[[nodiscard]] std::string results_csv(const sweep_record& sweep);
/// A row per configuration (scenario, load and policy): for each figure the mean and standard deviation over
/// its seeds, and the mean and deviation of the differences from the baseline between runs of one seed.
[[nodiscard]] std::string table_csv(const sweep_record& sweep);
[[nodiscard]] std::string table_json(const sweep_record& sweep);
/// The same for people: the main figures, with a table for each scenario and load.
[[nodiscard]] std::string shown_table(const sweep_record& sweep, bool markdown);

/// A group for each configuration with a result in the sweep of that directory.
[[nodiscard]] vector<run_group> groups_of_sweep(const std::string& directory, errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
