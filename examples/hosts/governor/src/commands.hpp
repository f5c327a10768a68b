// SPDX-License-Identifier: BSL-1.0
//
// What people ask of a governor that runs, or of what it has written. Each command prints, and returns the
// exit status of the program.
#pragma once

#include "governor/src/facts.hpp"
#include "governor/src/host_words.hpp"
#include "governor/src/orders.hpp"
#include "governor/src/status.hpp"

#include <allot/lab/quotas_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot_governor {

inline constexpr int finding_status = 1;
inline constexpr int bad_usage_status = 2;

/// Prints what is wrong with the command line or the configuration.
int complain(const host_words& words, const std::vector<std::string>& problems);

/// An operator's freeze for this time, as `parse_span` takes it; empty: until it is thawed. None, after a
/// complaint, if the time can't be read.
[[nodiscard]] std::optional<freeze_order> make_freeze(const host_words& words, const std::string& span,
                                                      const std::string& why);

class commands {
 public:
  /// Of the governor with its files in this directory, which polls so often.
  commands(const host_words& words, std::string directory, std::int64_t poll_ms)
      : words_(words), directory_(std::move(directory)), poll_ms_(poll_ms) {}

  [[nodiscard]] int status(bool as_json, const job_filter& filter) const;
  [[nodiscard]] int shares(const allot::lab::quotas_file& quotas) const;
  /// All that is known of one job.
  [[nodiscard]] int why(const job_name& job) const;
  /// See `make_freeze`.
  [[nodiscard]] int freeze(const std::string& span, const std::string& why) const;
  [[nodiscard]] int thaw() const;
  [[nodiscard]] int start(const job_name& job) const;

 private:
  [[nodiscard]] std::string last_status(const std::string& name) const;
  [[nodiscard]] int say(const std::string& finding) const;
  /// Whether a governor runs that acts.
  [[nodiscard]] bool is_governed() const;

  host_words words_;
  std::string directory_;
  std::int64_t poll_ms_;
};

/// From a log of events.
[[nodiscard]] int what_if(const host_words& words, const std::string& events_file,
                          const std::vector<std::string>& changes, bool as_json);
[[nodiscard]] int replay_log(const host_words& words, const std::optional<std::string>& config_text,
                             const std::string& events_file);

}  // namespace allot_governor
