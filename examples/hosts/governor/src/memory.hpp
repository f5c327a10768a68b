// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/facts.hpp"

#include <allot/scheduler/state.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot_governor {

/// A job, and what tells it from another of that name: names may be used again.
struct job_identity {
  job_name name{};
  /// Its uid, or when it was submitted, as the host says.
  std::string uid{};

  friend bool operator==(const job_identity&, const job_identity&) = default;
};

/// All that a scheduler knew.
using saved_state = allot::scheduler_state<job_identity, std::vector<node_share>>;

/// What a governor knows that its host can't show: the next one goes on from there.
struct memory {
  struct leaving_job {
    job_identity job{};
    /// On the wall clock; 0: it has not been told yet.
    milliseconds since = 0;

    friend bool operator==(const leaving_job&, const leaving_job&) = default;
  };
  struct backoff {
    job_identity job{};
    milliseconds until = 0;
    std::uint32_t failures = 0;
    /// What else the host's adapter remembers of it: words, with commas between them.
    std::string own{};

    friend bool operator==(const backoff&, const backoff&) = default;
  };
  std::vector<leaving_job> leaving{};
  std::vector<backoff> backoffs{};
  /// None: there was no scheduler.
  std::optional<saved_state> state{};

  friend bool operator==(const memory&, const memory&) = default;
};

}  // namespace allot_governor
