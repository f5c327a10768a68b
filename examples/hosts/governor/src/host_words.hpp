// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

namespace allot_governor {

/// What a governor and its host are called.
struct host_words {
  /// In names: "slurm" in those of metrics and members, and of the program, allot-slurm.
  std::string_view key{};
  /// In sentences: "Slurm".
  std::string_view host{};
  /// What answers its calls, in sentences and in names: "slurmctld".
  std::string_view server{};
  std::string_view server_key{};
  /// What loads its jobs and nodes: "libslurm".
  std::string_view client{};
  /// Where a job shows why it waits: "AdminComment".
  std::string_view comment{};
  /// The words of the log for the host, and for an eviction.
  std::string_view log{"host"};
  std::string_view eviction{"evict"};

  [[nodiscard]] std::string program() const { return "allot-" + std::string{key}; }
  [[nodiscard]] std::string away() const {
    return std::string{server} + " does not answer: this is what was known last";
  }
};

}  // namespace allot_governor
