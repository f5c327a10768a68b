// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kueue_host.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace allot_kueue {

struct daemon_options {
  /// Where the cluster is: see `find_credentials`.
  std::string kubeconfig{};
  std::string context{};
  kueue_host_options host{};
  /// Where the lock, the journal and the status are.
  std::string directory{"/var/lib/allot-kueue"};
  /// Files that are written; empty: not.
  std::string page{};
  std::string events{};
  /// "ADDRESS:PORT" for metrics and probes; empty: nowhere.
  std::string listen{};
  /// "NAMESPACE/NAME" of the Lease that decides which of several governs; empty: there is only one.
  std::string lease{};
  bool observes = false;
  /// How long the loop waits if there is nothing to do.
  std::int64_t poll_ms = 1000;
};

/// Governs until it is told to end. Returns the exit status of the program.
int run_daemon(daemon_options options);

/// Writes a freeze, as `make_freeze` has it, to the Lease of `options.lease`, whose holder obeys it; or
/// removes it. Returns the exit status.
int freeze_by_lease(const daemon_options& options, const std::string& span, const std::string& why);
int thaw_by_lease(const daemon_options& options);

/// Reads the cluster and says what of it can't be governed, or not as it is. Returns the exit status.
int check_cluster(const daemon_options& options);

}  // namespace allot_kueue
