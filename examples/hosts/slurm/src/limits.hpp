// SPDX-License-Identifier: BSL-1.0
//
// Slurm's own limits, of associations, QOS and partitions, as plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace allot_slurm {

struct limits {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// A number for each of `resources`, or nothing at all.
  using amounts = std::vector<std::uint64_t>;

  /// What jobs may have together.
  struct bound {
    amounts most{};
    std::uint64_t jobs = none;

    [[nodiscard]] bool is_none() const {
      return jobs == none && std::all_of(most.begin(), most.end(), [](std::uint64_t n) { return n == none; });
    }
    friend bool operator==(const bound&, const bound&) = default;
  };
  struct association {
    std::uint32_t id = 0;
    std::uint32_t parent = 0;
    std::string account{};
    /// Empty: that of the account itself.
    std::string user{};
    std::string partition{};
    /// Its own jobs and those below it.
    bound group{};
    amounts per_job{};
    std::uint64_t jobs = none;
    std::uint64_t minutes = none;

    friend bool operator==(const association&, const association&) = default;
  };
  struct quality {
    std::string name{};
    bound group{};
    bound per_user{};
    bound per_account{};
    amounts per_job{};
    std::uint64_t minutes = none;
    /// Whether its limits go before those of the partition's QOS, and its jobs past these of the partition's.
    bool goes_first = false;
    bool ignores_partition_time = false;
    bool ignores_partition_nodes = false;

    friend bool operator==(const quality&, const quality&) = default;
  };
  struct partition {
    std::string name{};
    /// The QOS of all its jobs, besides their own.
    std::string qos{};
    std::uint64_t minutes = none;
    std::uint64_t nodes = none;
    bool is_up = true;
    /// Those that may use it, and those that may not; empty: all may.
    std::vector<std::string> accounts{};
    std::vector<std::string> denied_accounts{};
    std::vector<std::string> qualities{};
    std::vector<std::string> denied_qualities{};

    friend bool operator==(const partition&, const partition&) = default;
  };

  /// Of "cpu", "mem" (in MiB), "node", "gres/gpu" and "gres/gpu:TYPE" those that Slurm counts.
  std::vector<std::string> resources{};
  std::vector<association> associations{};
  std::vector<quality> qualities{};
  std::vector<partition> partitions{};

  friend bool operator==(const limits&, const limits&) = default;
};

}  // namespace allot_slurm
