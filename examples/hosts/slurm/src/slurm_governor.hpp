// SPDX-License-Identifier: BSL-1.0
//
// The governor of a Slurm: that of all hosts, with the one that it governs.
#pragma once

#include "governor/src/governor.hpp"
#include "slurm_host.hpp"
#include "words.hpp"

#include <utility>

namespace allot_slurm {

struct slurm_surroundings : surroundings {
  /// The groups of a job's user, which are its roles; empty: nobody has any.
  job_facts::groups_of groups{};
};

/// What a governor needs before there is one.
struct governed_slurm {
  slurm_host host;
};

class slurm_governor : private governed_slurm, public governor {
 public:
  /// With `observes` it only logs what it would do.
  slurm_governor(config c, cluster& slurm, slurm_surroundings around, bool observes)
      : governed_slurm{{std::move(c), slurm, std::move(around.groups), observes}},
        governor({.words = words,
                  .observes = observes,
                  .explanations_per_tick = host.configuration().slurm.comments_per_tick},
                 host, std::move(around)) {
    host.log_to(log());
  }

  /// Takes another configuration over, with the next tick. Jobs keep their runs and their turn.
  void reconfigure(config c) {
    host.reconfigure(std::move(c));
    accept_config();
    explain_per_tick(configuration().slurm.comments_per_tick);
  }
  void tick(moment now) {
    host.step(now);
    governor::tick(now);
  }
  [[nodiscard]] const config& configuration() const noexcept { return host.configuration(); }
};

}  // namespace allot_slurm
