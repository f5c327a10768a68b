// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot fill`: pods arrive at a cluster and stay, until they have asked for more than it has (see
/// sim/static_fill.hpp). The lists are those of Alibaba's openb trace, as they were published.
struct fill_command {
  std::string nodes_csv{};
  std::string pods_csv{};
  std::string policy = "fgd";
  /// What arrives, as a multiple of the GPUs that the cluster has: "1.3".
  std::string arrivals = "1.3";
  std::uint64_t seed = 1;
};

/// The policies that fill knows, with the names that the published figures have. `best_fit` looks at CPU and
/// GPUs, as theirs does.
inline constexpr std::array<std::string_view, 8> fill_policies = {
    "random", "best_fit", "worst_fit", "first_fit", "dot_product", "gpu_packing", "gpu_clustering", "fgd"};

/// Writes the figures as CSV to standard output. Returns the exit status: 0, or 2 when an option or a file is
/// wrong; then nothing is written.
int fill(const fill_command& command);

}  // namespace lab
}  // namespace v0
}  // namespace allot
