// SPDX-License-Identifier: BSL-1.0
// The cycles of all presets once more, for the simulator with the host's machines.
#include "governor/src/simulated.hpp"

template allot::any_policies<allot_governor::simulated_view, allot_governor::host_places>
allot::any_preset::policies_for<allot_governor::simulated_view, allot_governor::host_places>() const;
