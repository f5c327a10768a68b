// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace allot_governor {

/// What became of a call to the host.
struct outcome {
  enum class kind : std::uint8_t {
    done,
    /// The host does not answer: nobody knows whether it was done. Once the host does know, it reports the
    /// job.
    away,
    /// The same of this job alone.
    in_doubt,
    /// The job is not, or no longer, in a state that allows it. What it is now will be reported.
    too_late,
    /// The host says no, for another reason.
    refused,
  };
  kind is = kind::done;
  /// In the host's words, if it failed.
  std::string text{};

  [[nodiscard]] explicit operator bool() const noexcept { return is == kind::done; }
};

}  // namespace allot_governor
