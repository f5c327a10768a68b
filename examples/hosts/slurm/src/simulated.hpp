// SPDX-License-Identifier: BSL-1.0
//
// The simulator with Slurm's nodes.
#pragma once

#include "engine.hpp"
#include "places.hpp"

#include <allot/scheduler/any_policies.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

namespace allot_slurm {

using simulated_view = allot::sim::workload_view<dimensions>;
using simulator = allot::sim::simulator<dimensions, slurm_places>;
using simulation_observer = allot::sim::observer<dimensions, slurm_places>;

}  // namespace allot_slurm

// Compiled in policies_simulated.cpp.
extern template allot::any_policies<allot_slurm::simulated_view, allot_slurm::slurm_places>
allot::any_preset::policies_for<allot_slurm::simulated_view, allot_slurm::slurm_places>() const;
