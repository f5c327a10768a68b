// SPDX-License-Identifier: BSL-1.0
//
// Whether a job would exceed a limit of Slurm's if it were released now: Slurm would not start it then,
// however much room there is. What is used is counted here, by job, so it is never older than what is known
// of the jobs.
#pragma once

#include "cluster.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace allot_slurm {

/// The limits, and how much of them is used.
class limit_usage {
 public:
  /// How a job counts.
  enum class as : std::uint8_t {
    nothing,
    /// It is to be decided: other jobs of its quota are not tried while it would use up a limit.
    waiting,
    /// It runs, or Slurm may start it.
    running,
  };

  /// Nothing counts any more.
  void take(limits l);
  void count(const job& j, as what, std::size_t quota);

  /// Which limit the job would exceed now: "the QOS small runs at most 8 gres/gpu at once (QOSGrpGRES)".
  /// Empty if none.
  [[nodiscard]] std::string obstacle(const job& j, std::size_t quota) const;
  /// Another number whenever a job began to count as running.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  /// Which limit, and of whom where there is one for each.
  enum class scope : std::uint8_t { association, association_jobs, quality, quality_user, quality_account };
  using key = std::tuple<scope, std::size_t, std::string>;
  struct sum {
    limits::amounts has{};
    std::uint64_t jobs = 0;
  };
  struct counter {
    sum running{};
    std::map<std::size_t, sum> waiting{};
  };
  struct charge {
    as what{};
    std::size_t quota = 0;
    std::uint64_t jobs = 1;
    limits::amounts has{};
    std::vector<key> of{};
  };

  /// There is no limit.
  [[nodiscard]] bool is_idle() const;
  template <class Visit>
  void for_each_bound(const job& j, Visit visit) const;
  [[nodiscard]] std::vector<const limits::quality*> qualities_of(const job& j) const;
  [[nodiscard]] const limits::association* association_of(const job& j) const;
  [[nodiscard]] limits::amounts amounts_of(const job& j) const;
  [[nodiscard]] std::string obstacle_of_partitions(const job& j) const;
  [[nodiscard]] std::string obstacle_alone(const job& j) const;
  void add(const charge& c, bool is_more);

  limits limits_{};
  std::map<std::string, std::size_t> by_user_{};
  std::map<std::uint32_t, std::size_t> by_id_{};
  std::map<key, counter> counters_{};
  std::map<job_key, charge> charges_{};
  std::uint64_t version_ = 0;
};

}  // namespace allot_slurm
