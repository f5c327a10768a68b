// SPDX-License-Identifier: BSL-1.0
//
// The simulator with the host's machines.
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/places.hpp"

#include <allot/scheduler/any_policies.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/any_preset.hpp>

namespace allot_governor {

using simulated_view = allot::sim::workload_view<dimensions>;
using simulator = allot::sim::simulator<dimensions, host_places>;
using simulation_observer = allot::sim::observer<dimensions, host_places>;

}  // namespace allot_governor

// Compiled in policies_simulated.cpp.
extern template allot::any_policies<allot_governor::simulated_view, allot_governor::host_places>
allot::any_preset::policies_for<allot_governor::simulated_view, allot_governor::host_places>() const;
