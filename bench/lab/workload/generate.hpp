// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot generate`: writes a workload of one of the models (generated.hpp) as a canonical trace. Options
/// that are text are parsed by it.
struct generate_options {
  /// The output file; "-" for standard output.
  std::string out{};
  bool force = false;
  std::string model = "mix";
  /// The days in which jobs are submitted; 14 unless `jobs` gives the number of jobs.
  std::optional<std::int64_t> days{};
  std::optional<std::int64_t> jobs{};
  std::uint64_t seed = 1;
  /// All work, and the serving and interactive parts of it, as parts of what the cluster can do in that time:
  /// "0.9".
  std::string load = "0.9";
  std::optional<std::string> serving{};
  std::optional<std::string> interactive{};
  std::int64_t gpus = 128;
  /// team-1, team-2...; empty: the three of the demo, quota1, quota1.1 and quota1.2.
  std::optional<std::int64_t> tenants{};
  /// For training jobs: "30m", "none".
  std::optional<std::string> checkpoint{};
  std::optional<std::string> restart{};
  std::optional<std::string> mean_duration{};
  /// A name in `estimate_models`.
  std::string estimates = "none";
};

/// Returns the exit status: 0, or 2 if an option is out of range or the file can't be written.
int generate(const generate_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
