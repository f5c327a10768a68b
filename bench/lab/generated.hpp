// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/json_reader.hpp"

#include <allot/core/time.hpp>
#include <allot/lab/generate_parts.hpp>
#include <allot/lab/generate_stream.hpp>
#include <allot/lab/trace.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

struct checkpointing {
  /// Nothing: they save nothing on the way.
  std::optional<instant> every{};
};

/// A workload by a model, as `allot generate` and an experiment's "generate" say it, but for the seed. What
/// was not said is nothing, and has the default of its model.
struct generated_workload {
  std::string model = "mix";
  std::optional<std::int64_t> days{};
  std::optional<std::int64_t> jobs{};
  std::int64_t gpus = 128;
  /// All work, and the parts of it that are serving and interactive, in thousandths of the cluster.
  std::int64_t load = 900;
  std::optional<std::int64_t> serving{};
  std::optional<std::int64_t> interactive{};
  /// team-1, team-2... (of "uniform" t0, t1...).
  std::optional<std::int64_t> tenants{};
  /// Or who trains and opens sessions, with their shares of it, and who serves.
  std::vector<tenant_share> training{};
  std::optional<std::string> serving_tenant{};
  /// Of training jobs.
  std::optional<checkpointing> checkpoint{};
  std::optional<instant> restart{};
  /// Of "uniform".
  std::optional<instant> mean_duration{};
};

struct generate_model {
  std::string_view name;
  std::string_view summary;
};
/// The models that there are, for help.
[[nodiscard]] const std::vector<generate_model>& generate_models();

/// A parameter, as the key of an experiment calls it ("checkpoint_s"), and what is wrong with it.
struct parameter_problem {
  std::string_view parameter;
  std::string text;
};
/// Everything that is wrong with the workload. The functions below want one with which nothing is.
[[nodiscard]] std::vector<parameter_problem> problems_of(const generated_workload& w);

/// What an experiment says under "generate": without a "model", "teams". Nothing when something is wrong with
/// it, and then that is reported.
[[nodiscard]] std::optional<generated_workload> read_generated(json_value value, errors& found);

/// The same workload at another load, in thousandths: serving and sessions keep their part of it.
[[nodiscard]] generated_workload at_load(generated_workload w, std::int64_t load);

/// The most that a load of a generated workload may be, in thousandths.
inline constexpr std::int64_t most_generated_load = 10'000;

/// The jobs of a seed one by one, the same on every machine. Nothing for a model that is made as a whole,
/// "teams" and "uniform".
[[nodiscard]] std::optional<workload_stream> stream_of(const generated_workload& w, std::uint64_t seed);

/// The workload of a seed as a whole: of any model, and the same jobs as the stream's.
[[nodiscard]] trace make_generated(const generated_workload& w, std::uint64_t seed);

}  // namespace lab
}  // namespace v0
}  // namespace allot
