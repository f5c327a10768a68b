// SPDX-License-Identifier: BSL-1.0
// The cycles of all presets for this host's view: they take most of the time that this program compiles.
#include "engine.hpp"

template allot::any_policies<allot_slurm::slurm_view, allot_slurm::slurm_places>
allot::any_preset::policies_for<allot_slurm::slurm_view, allot_slurm::slurm_places>() const;
