// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/lab/quotas_file.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// The object "slurm" of the configuration.
struct slurm_options {
  /// The governed ones.
  std::vector<std::string> partitions{"main"};
  /// Whether allot chooses the nodes, or Slurm does.
  bool places_jobs = true;
  std::int64_t poll_ms = 1000;
  /// Between a signal of the governor's own and the requeue. 0: it is requeued at once, and the grace is
  /// Slurm's (KillWait): then it is never seen to have failed.
  std::int64_t grace_ms = 0;
  /// How long a released job may wait for Slurm before it is held again.
  std::int64_t start_ms = 60'000;
  int signal = 15;
  /// Where the lock, the journal and the status are.
  std::string directory{"/var/lib/allot-slurm"};
  /// Files that are written; empty: not.
  std::string page{};
  std::string metrics{};
  std::string events{};
  /// Accounts that are not named like their quota.
  std::map<std::string, std::string, std::less<>> accounts{};
  /// The priority of jobs by QOS; nice is subtracted.
  std::map<std::string, std::int32_t, std::less<>> qos{};
  /// The most comments that are written in one tick.
  std::size_t comments_per_tick = 10;
};

struct config {
  allot::lab::quotas_file quotas;
  slurm_options slurm{};
  /// The file itself, which the log of events repeats.
  std::string text{};
  /// By dimension: what of Slurm's it counts.
  enum class counted : std::uint8_t { gpus, cpus, memory_mib, nodes };
  struct dimension {
    counted what{};
    /// Of GPUs: only those of this type; empty: of any.
    std::string gpu_type{};
  };
  std::vector<dimension> dimensions{};

  /// The quota of an account, by index.
  [[nodiscard]] std::optional<std::size_t> quota_of(std::string_view account) const;
  [[nodiscard]] bool governs(std::string_view partitions) const;
};

struct config_reading {
  std::optional<config> value{};
  /// One line each.
  std::vector<std::string> problems{};
};
[[nodiscard]] config_reading parse_config(std::string text, const std::string& file);
/// What differs between two configurations, in one line for the log.
[[nodiscard]] std::string changes_between(const config& before, const config& after);
[[nodiscard]] config_reading read_config(const std::string& file);

}  // namespace allot_slurm
