// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/recorder.hpp"
#include "lab/replay_result.hpp"
#include "lab/scenario.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Where a replay writes while it runs.
struct replay_streams {
  output_file& tenants;
  /// May be null.
  output_file* events = nullptr;
};

/// What stopped a replay.
struct replay_stop {
  /// A change of the quotas that is not valid.
  instant at = 0;
  std::vector<problem> problems{};
  /// Before it began: jobs that can't run where they are said to.
  errors found{};
};

/// Simulates the scenario under its policy. N is 1 or `max_resources` and holds the resources of the
/// scenario. `result` refers to texts of the scenario.
template <std::size_t N>
[[nodiscard]] replay_stop run_replay(const scenario& s, const replay_streams& streams, replay_result& result);
extern template replay_stop run_replay<1>(const scenario&, const replay_streams&, replay_result&);
extern template replay_stop run_replay<max_resources>(const scenario&, const replay_streams&, replay_result&);

}  // namespace lab
}  // namespace v0
}  // namespace allot
