// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/json_reader.hpp"

#include <allot/core/time.hpp>
#include <allot/sim/generate.hpp>
#include <allot/sim/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// What an experiment says under "generate": a model of sim/generate.hpp and its parameters, but for the
/// seed.
struct generated_workload {
  /// "teams": several that train and one that serves; "uniform": jobs without rhythm.
  std::string model = "teams";
  std::int64_t days = 14;
  std::int64_t gpus = 128;
  /// In thousandths of the cluster.
  std::int64_t load = 900;
  /// Of "teams": the part of it that is serving, who trains with how many GPUs, and who serves.
  std::int64_t serving = 110;
  std::vector<sim::training_team> training{};
  std::string serving_tenant = "quota1";
  /// Of "uniform".
  std::int64_t jobs = 10'000;
  std::int64_t tenants = 3;
  instant mean_duration = sim::hour;
};

/// Nothing when something is wrong with it, and then that is reported.
[[nodiscard]] std::optional<generated_workload> read_generated(json_value value, errors& found);

/// The workload of a seed: the same on every machine.
[[nodiscard]] sim::trace make_generated(const generated_workload& w, std::uint64_t seed);

}  // namespace lab
}  // namespace v0
}  // namespace allot
