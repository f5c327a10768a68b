// SPDX-License-Identifier: BSL-1.0
//
// The way back: jobs wait as their users have submitted them, as if there had been no governor.
#pragma once

#include "cluster.hpp"
#include "config.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace allot_slurm {

struct let_go_result {
  std::size_t changed = 0;
  std::size_t released = 0;
  /// Held by others, so they stay held.
  std::size_t stay_held = 0;
  /// Held and without a mark: a hold on submission that the governor has not commented yet, or somebody's.
  std::size_t unmarked = 0;
  std::size_t failed = 0;

  /// One line for people.
  [[nodiscard]] std::string text() const;
};

/// Undoes what a governor has left on these jobs, as far as they carry its mark and are in partitions that
/// are governed: comments, holds, and nodes that they are pinned to or kept away from. With `unmarked` it
/// also releases those that are held and carry no mark. Says a line for each job.
[[nodiscard]] let_go_result let_go(const config& c, const std::vector<job>& jobs, cluster& slurm,
                                   bool unmarked, const std::function<void(const std::string&)>& say);

}  // namespace allot_slurm
