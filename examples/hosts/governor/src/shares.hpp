// SPDX-License-Identifier: BSL-1.0
//
// What `allot-slurm shares` and the like print, as sshare does for Slurm's own fair share.
#pragma once

#include <allot/lab/quotas_file.hpp>

#include <string>
#include <string_view>

namespace allot_governor {

/// A table of quotas for each resource, from a status (see status_json) and the weights of the configuration.
/// Empty if it is no status.
[[nodiscard]] std::string shares_text(std::string_view status, const allot::lab::quotas_file& c);

}  // namespace allot_governor
