// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot fill`: pods arrive at a cluster and stay, until their requests exceed its capacity (see
/// allot/lab/static_fill.hpp). The lists are those of Alibaba's openb trace, as published.
struct fill_command {
  std::string nodes_csv{};
  std::string pods_csv{};
  std::string policy = "fgd";
  /// The arriving requests, as a multiple of the GPUs of the cluster: "1.3".
  std::string arrivals = "1.3";
  std::uint64_t seed = 1;
};

/// The policies of fill, under the names in the published figures. `best_fit` considers CPU and GPUs, like
/// the published one.
inline constexpr std::array<std::string_view, 8> fill_policies = {
    "random", "best_fit", "worst_fit", "first_fit", "dot_product", "gpu_packing", "gpu_clustering", "fgd"};

/// Writes the figures as CSV to standard output. Returns the exit status: 0, or 2 if an option or a file is
/// wrong; then nothing is written.
int fill(const fill_command& command);

}  // namespace lab
}  // namespace v0
}  // namespace allot
