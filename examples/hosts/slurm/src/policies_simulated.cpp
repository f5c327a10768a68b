// SPDX-License-Identifier: BSL-1.0
// The cycles of all presets once more, for the simulator with Slurm's nodes.
#include "simulated.hpp"

template allot::any_policies<allot_slurm::simulated_view, allot_slurm::slurm_places>
allot::any_preset::policies_for<allot_slurm::simulated_view, allot_slurm::slurm_places>() const;
