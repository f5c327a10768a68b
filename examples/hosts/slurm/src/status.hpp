// SPDX-License-Identifier: BSL-1.0
//
// What `allot-slurm status` prints.
#pragma once

#include "snapshot.hpp"

#include <cstddef>
#include <string>

namespace allot_slurm {

struct status_options {
  /// In characters, as far as the names allow.
  std::size_t width = 100;
  /// Jobs that are listed of each phase.
  std::size_t most_jobs = 50;
};

/// For people: quotas, loans, reservations, and every job that does not run with the reason. Whatever names
/// hold, a line stays a line and a terminal obeys none of it.
[[nodiscard]] std::string status_text(const snapshot& s, const status_options& options = {});

/// For programs: all of the snapshot. Times are seconds since 1970, as in `squeue --json`; amounts are by
/// resource, an unlimited one is the text "unlimited"; what is unknown is null.
[[nodiscard]] std::string status_json(const snapshot& s);
inline constexpr const char* status_format = "allot-slurm-status/1";

}  // namespace allot_slurm
