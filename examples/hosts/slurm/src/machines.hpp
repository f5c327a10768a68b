// SPDX-License-Identifier: BSL-1.0
//
// Slurm's nodes and switches as the scheduler's machines.
#pragma once

#include "cluster.hpp"

#include <string>
#include <vector>

namespace allot_slurm {

/// What tells nodes apart besides their size: partitions, features and reservations.
[[nodiscard]] std::string pool_of(const node& n);

struct machines {
  std::vector<machine> all{};
  /// Of the network; none if there are no switches, or they are no tree of equal depth above all nodes.
  std::vector<std::string> levels{};
};
[[nodiscard]] machines machines_of(const std::vector<node>& nodes,
                                   const std::vector<network_switch>& switches);

}  // namespace allot_slurm
