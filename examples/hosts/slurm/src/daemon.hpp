// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace allot_slurm {

struct daemon_options {
  std::string config_file;
  bool observes = false;
  /// End after so many polls; 0: never.
  std::uint64_t ticks = 0;
};

/// Governs until a signal or the number of ticks ends it. Returns the exit status.
[[nodiscard]] int run_daemon(const daemon_options& options);

}  // namespace allot_slurm
