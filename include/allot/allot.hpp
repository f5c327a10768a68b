// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a host needs: the parts, the scheduler, and the presets that are assemblies of the parts. Systems
/// whose cycle is their own (systems/kueue/, systems/kai/), the choice of any preset by its name
/// (systems/by_name.hpp), the GPU inventory (gpu/), the simulator (sim/) and quota/graph.hpp are included by
/// who wants them.

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
