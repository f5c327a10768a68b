// SPDX-License-Identifier: BSL-1.0
//
// What is remembered of decisions that Slurm can't show, in one small file: who leaves for whom and since
// when, first reservations, backoffs, past usage. It is replaced as a whole, so it is there or it is the old one.
#pragma once

#include "cluster.hpp"

#include <allot/core/time.hpp>
#include <allot/scheduler/reservation.hpp>

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

/// Times are milliseconds since 1970.
struct memory {
  struct leaving_job {
    job_identity job{};
    /// When it was warned; 0: not yet.
    std::int64_t warned = 0;

    friend bool operator==(const leaving_job&, const leaving_job&) = default;
  };
  struct nominated_job {
    job_identity job{};
    std::vector<job_key> victims{};
    std::vector<node_share> where{};

    friend bool operator==(const nominated_job&, const nominated_job&) = default;
  };
  struct backoff {
    job_identity job{};
    std::int64_t until = 0;
    std::uint32_t failures = 0;

    friend bool operator==(const backoff&, const backoff&) = default;
  };
  /// An account that does not borrow again for now (`queue_settings::borrow_backoff`).
  struct reclaimed_account {
    std::string account;
    std::string resource;
    std::int64_t until = 0;
    std::int64_t since = 0;
    std::uint32_t times = 0;

    friend bool operator==(const reclaimed_account&, const reclaimed_account&) = default;
  };
  struct reservation_entry {
    job_identity job{};
    allot::reservation what{};

    friend bool operator==(const reservation_entry&, const reservation_entry&) = default;
  };

  /// In the order of the decisions.
  std::vector<leaving_job> leaving{};
  std::vector<nominated_job> nominated{};
  std::vector<job_identity> announced{};
  std::vector<reservation_entry> reservations{};
  std::vector<backoff> backoffs{};
  std::vector<reclaimed_account> reclaimed{};
  std::vector<std::uint64_t> past_usage{};

  friend bool operator==(const memory&, const memory&) = default;
};

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
