// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"
#include "slurm_client.hpp"

#include <string>
#include <vector>

namespace allot_slurm {

/// Everything about a cluster that keeps the governor from doing its work, a line each: what is wrong, and
/// what to do.
[[nodiscard]] std::vector<std::string> findings(const config& c, const cluster_settings& slurm,
                                                const cluster_changes& now);

}  // namespace allot_slurm
