// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a host needs: the parts, the scheduler, and the presets assembled from the parts. Not included:
/// systems with their own cycle (systems/kueue/, systems/kai/), the choice of any preset by name
/// (systems/by_name/any_preset.hpp), the GPU inventory (gpu/), the simulator (sim/) and quota/graph.hpp.

#include <allot/core/dimension_names.hpp>
#include <allot/core/version.hpp>
#include <allot/presets/hyperpod.hpp>
#include <allot/presets/pai.hpp>
#include <allot/presets/single_queue.hpp>
#include <allot/presets/standard.hpp>
#include <allot/presets/static_quotas.hpp>
#include <allot/quota/access.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>
