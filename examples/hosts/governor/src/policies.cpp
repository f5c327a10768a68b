// SPDX-License-Identifier: BSL-1.0
// The cycles of all presets for this host's view: they take most of the time that this program compiles.
#include "governor/src/engine.hpp"

template allot::any_policies<allot_governor::host_view, allot_governor::host_places>
allot::any_preset::policies_for<allot_governor::host_view, allot_governor::host_places>() const;
