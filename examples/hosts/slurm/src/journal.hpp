// SPDX-License-Identifier: BSL-1.0
//
// What is remembered of decisions that Slurm can't show, in one small file: the state of the scheduler, since
// when jobs leave, and which starts have failed. It is replaced as a whole, so it is there or it is the old
// one.
#pragma once

#include "cluster.hpp"
#include "reasons.hpp"

#include <allot/scheduler/state.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace allot_slurm {

/// A job with the time of its submission: a Slurm that has lost its state uses ids again.
struct job_identity {
  job_key key{};
  seconds submitted = 0;

  friend bool operator==(const job_identity&, const job_identity&) = default;
};

/// All that a scheduler knew.
using saved_state = allot::scheduler_state<job_identity, std::vector<node_share>>;

/// Times are milliseconds since 1970.
struct memory {
  struct leaving_job {
    job_identity job{};
    /// When it was warned; 0: not yet.
    std::int64_t warned = 0;

    friend bool operator==(const leaving_job&, const leaving_job&) = default;
  };
  struct backoff {
    job_identity job{};
    std::int64_t until = 0;
    std::uint32_t failures = 0;
    /// See the governor's records.
    bool had_victims = false;
    bool is_spent = false;
    bool is_impossible = false;
    cure needs = cure::room;

    friend bool operator==(const backoff&, const backoff&) = default;
  };
  std::vector<leaving_job> leaving{};
  std::vector<backoff> backoffs{};
  /// None: there was no scheduler.
  std::optional<saved_state> state{};

  friend bool operator==(const memory&, const memory&) = default;
};

/// Whether both say the same of what is decided: past usage, and the order of those that wait, change all the
/// time.
[[nodiscard]] bool decides_the_same(const memory& a, const memory& b);

/// The text of the file: one line of JSON, and a line with its checksum.
[[nodiscard]] std::string journal_text(const memory& m, const std::string& cluster, std::int64_t now);

/// What the text says, or why it is not used.
struct journal_reading {
  std::optional<memory> value{};
  std::string problem{};
};
/// Older than a day, or of another cluster: it is not used.
[[nodiscard]] journal_reading parse_journal(const std::string& text, const std::string& cluster,
                                            std::int64_t now);

/// Replaces a file: writes another one beside it, synchronizes, renames. Empty, or what went wrong.
[[nodiscard]] std::string replace_file(const std::string& path, const std::string& text,
                                       bool synchronize = true);

}  // namespace allot_slurm
