// SPDX-License-Identifier: BSL-1.0
//
// What `allot-slurm status` and the like print.
#pragma once

#include "governor/src/snapshot.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace allot_governor {

struct status_options {
  /// In characters, as far as the names allow.
  std::size_t width = 100;
  /// Jobs that are listed of each phase.
  std::size_t most_jobs = 50;
  /// Also those that run.
  bool with_running = false;
};

/// For people: quotas, loans, reservations, and every job that does not run with the reason. Whatever names
/// hold, a line stays a line and a terminal obeys none of it.
[[nodiscard]] std::string status_text(const snapshot& s, const status_options& options = {});

/// For programs: all of the snapshot. Times are seconds since 1970, as in `squeue --json`; amounts are by
/// resource, an unlimited one is the text "unlimited"; what is unknown is null.
[[nodiscard]] std::string status_json(const snapshot& s);
/// What it says of quotas, jobs, nodes, loans and reservations; none if it is something else.
[[nodiscard]] std::optional<snapshot> read_status(std::string_view json, const host_words& words);

/// Jobs to be shown; an empty text admits all.
struct job_filter {
  /// Also jobs of the quotas below it.
  std::string quota{};
  std::string user{};
  std::string account{};
  /// A name of `job_phase_names`.
  std::string state{};

  friend bool operator==(const job_filter&, const job_filter&) = default;
};
/// Leaves out all other jobs.
void keep_only(snapshot& s, const job_filter& f);

/// All that is known of one job; empty if it is not among those that are listed.
[[nodiscard]] std::string why_text(const snapshot& s, std::string_view id);

[[nodiscard]] inline std::string status_format(const host_words& words) {
  return words.program() + "-status/1";
}

}  // namespace allot_governor
