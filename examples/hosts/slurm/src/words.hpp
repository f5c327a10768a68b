// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/host_words.hpp"

namespace allot_slurm {

inline constexpr allot_governor::host_words words{.key = "slurm",
                                                  .host = "Slurm",
                                                  .server = "slurmctld",
                                                  .server_key = "slurmctld",
                                                  .client = "libslurm",
                                                  .comment = "AdminComment",
                                                  .log = "slurm",
                                                  .eviction = "warn"};

}  // namespace allot_slurm
