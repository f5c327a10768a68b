// SPDX-License-Identifier: BSL-1.0
//
// What `allot-slurm shares` prints, as sshare does for Slurm's own fair share.
#pragma once

#include "config.hpp"

#include <string>
#include <string_view>

namespace allot_slurm {

/// A table of quotas for each resource, from a status (see status_json) and the weights of the configuration.
/// Empty if it is no status.
[[nodiscard]] std::string shares_text(std::string_view status, const config& c);

}  // namespace allot_slurm
