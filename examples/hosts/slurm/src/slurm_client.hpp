// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cluster.hpp"

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace allot_slurm {

/// What slurm.conf says that matters here.
struct cluster_settings {
  std::string name;
  std::string version;
  std::string job_submit_plugins;
  std::string priority_type;
  std::string auth_info;
  std::string scheduler_parameters;
  std::string config_file;
  bool counts_memory = false;
  bool counts_cpus = false;
  bool requeues = true;
  std::uint32_t max_jobs = 0;
  std::uint32_t kill_wait_s = 0;
  /// 0: jobs that have ended are never forgotten.
  std::uint32_t min_job_age_s = 300;
  std::string gres_types{};
  /// The partitions that exist.
  std::vector<std::string> partitions{};
  /// The accounts of its associations, without root; none where there is no slurmdbd.
  std::vector<std::string> accounts{};
  /// job_submit.lua beside slurm.conf, if it can be read.
  std::optional<std::string> job_submit_lua{};
};

/// The Slurm that SLURM_CONF names, through libslurm. One at a time in a process.
class slurm_client final : public cluster {
 public:
  slurm_client();
  ~slurm_client() override;

  [[nodiscard]] outcome settings(cluster_settings& to);

  [[nodiscard]] outcome poll(cluster_changes& to) override;
  [[nodiscard]] std::vector<network_switch> topology() override;
  [[nodiscard]] outcome release(const job& j, const std::vector<std::string>& nodes, bool first,
                                const comments& say) override;
  [[nodiscard]] outcome hold(const job& j, const comments& say) override;
  [[nodiscard]] outcome warn(const job& j, int signal) override;
  [[nodiscard]] outcome requeue(const job& j) override;
  [[nodiscard]] outcome comment(const job& j, const comments& say,
                                const std::vector<std::uint32_t>& tasks = {}) override;
  [[nodiscard]] outcome let_go(const job& j, const comments& say) override;

 private:
  struct known_job {
    std::uint64_t fingerprint = 0;
    std::uint64_t seen = 0;
  };
  struct known_record {
    std::string tasks{};
    std::vector<std::uint32_t> numbers{};
    std::uint64_t seen = 0;
  };

  [[nodiscard]] outcome poll_jobs(cluster_changes& to);
  [[nodiscard]] outcome poll_reservations(cluster_changes& to);
  [[nodiscard]] outcome poll_nodes(cluster_changes& to);
  void poll_limits(cluster_changes& to);
  [[nodiscard]] const std::string& user(std::uint32_t id);

  std::time_t jobs_since_ = 0;
  std::time_t nodes_since_ = 0;
  std::time_t reservations_since_ = 0;
  /// The wall clock, of the one that never steps, at the last poll.
  std::int64_t ahead_by_ = 0;
  /// By node.
  std::unordered_map<std::string, std::vector<node_reservation>> reserved_;
  std::uint64_t polls_ = 0;
  bool counts_memory_ = false;
  std::unordered_map<job_key, known_job, job_key_hash> jobs_;
  std::unordered_map<std::uint32_t, known_record> arrays_;
  std::unordered_map<std::uint32_t, std::string> users_;
  std::vector<node> nodes_;
  limits limits_{};
  /// On a clock that never steps, in seconds: when they are to be read again.
  std::int64_t limits_due_ = 0;
};

}  // namespace allot_slurm
