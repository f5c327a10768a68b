// SPDX-License-Identifier: BSL-1.0
#pragma once

/// All that a host needs. The GPU inventory (gpu/) and the simulator (sim/) are included apart, and so is
/// quota/graph.hpp, which is dear to compile.

#include <allot/core/dimension_names.hpp>
#include <allot/core/version.hpp>
#include <allot/presets/catalog.hpp>
#include <allot/quota/access.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/settle.hpp>
