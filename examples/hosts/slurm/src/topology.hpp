// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cluster.hpp"

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <optional>
#include <vector>

namespace allot_slurm {

/// The topology that the switches make of these nodes. None if there are no switches, or they are no tree of
/// equal depth.
[[nodiscard]] std::optional<allot::gpu::topology> topology_of(const allot::gpu::cluster& nodes,
                                                              const std::vector<network_switch>& switches);

}  // namespace allot_slurm
