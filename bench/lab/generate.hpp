// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot generate`: a workload by one of the models (generated.hpp) as a canonical trace. What is text is
/// read by it.
struct generate_options {
  /// The file that is made; "-" for standard output.
  std::string out{};
  bool force = false;
  std::string model = "mix";
  /// How long jobs are submitted; 14 days unless `jobs` says how many there are.
  std::optional<std::int64_t> days{};
  std::optional<std::int64_t> jobs{};
  std::uint64_t seed = 1;
  /// All work, and the parts of it that are serving and interactive, as parts of what the cluster can do in
  /// that time: "0.9".
  std::string load = "0.9";
  std::optional<std::string> serving{};
  std::optional<std::string> interactive{};
  std::int64_t gpus = 128;
  /// team-1, team-2...; nothing: the three of the demo, quota1, quota1.1 and quota1.2.
  std::optional<std::int64_t> tenants{};
  /// Of training jobs: "30m", "none".
  std::optional<std::string> checkpoint{};
  std::optional<std::string> restart{};
  std::optional<std::string> mean_duration{};
};

/// Returns the exit status: 0, or 2 when an option is out of range or the file can't be written.
int generate(const generate_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
