// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/estimates.hpp>
#include <allot/lab/generate_parts.hpp>
#include <allot/lab/generate_stream.hpp>
#include <allot/lab/trace.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

struct checkpointing {
  /// Empty: the jobs save no checkpoints.
  std::optional<instant> every{};
};

/// A workload of a model, as specified by `allot generate` or by an experiment's "generate", but without the
/// seed. Empty members take the default of the model.
struct generated_workload {
  std::string model = "mix";
  std::optional<std::int64_t> days{};
  std::optional<std::int64_t> jobs{};
  std::int64_t gpus = 128;
  /// All work, and the serving and interactive parts of it, in thousandths of the cluster.
  std::int64_t load = 900;
  std::optional<std::int64_t> serving{};
  std::optional<std::int64_t> interactive{};
  /// team-1, team-2... (for "uniform" t0, t1...).
  std::optional<std::int64_t> tenants{};
  /// Alternatively, the tenants that train and open sessions, with their shares, and the one that serves.
  vector<tenant_share> training{};
  std::optional<std::string> serving_tenant{};
  /// For training jobs.
  std::optional<checkpointing> checkpoint{};
  std::optional<instant> restart{};
  /// For "uniform".
  std::optional<instant> mean_duration{};
  /// The model of the estimates. It does not change the jobs.
  estimate_model estimates = estimate_model::none;
};

struct generate_model {
  std::string_view name;
  std::string_view summary;
};
/// The available models, for help.
[[nodiscard]] const vector<generate_model>& generate_models();

/// A parameter, under its key in an experiment ("checkpoint_s"), and what is wrong with it.
struct parameter_problem {
  std::string_view parameter;
  std::string text;
};
/// Everything that is wrong with the workload. The functions below require a workload without problems.
[[nodiscard]] vector<parameter_problem> problems_of(const generated_workload& w);

/// Reads an experiment's "generate"; the default "model" is "teams". On an error, reports it and returns
/// nullopt.
[[nodiscard]] std::optional<generated_workload> read_generated(json_value value, errors& found);

/// The same workload at another load, in thousandths. Serving and sessions keep their part of it.
[[nodiscard]] generated_workload at_load(generated_workload w, std::int64_t load);

/// The maximum load of a generated workload, in thousandths.
inline constexpr std::int64_t most_generated_load = 10'000;

/// The model of estimates of that name. If there is none, `problem` says so.
[[nodiscard]] std::optional<estimate_model> read_estimates(std::string_view name, std::string& problem);
/// The same from an experiment; reports what is wrong.
[[nodiscard]] std::optional<estimate_model> read_estimates(json_value value, errors& found);

/// The jobs of a seed one by one, the same on every machine, without their estimates. Returns nullopt for
/// models that are made as a whole, "teams" and "uniform".
[[nodiscard]] std::optional<workload_stream> stream_of(const generated_workload& w, std::uint64_t seed);

/// The whole workload of a seed, for any model; the same jobs as in the stream, with their estimates.
[[nodiscard]] trace make_generated(const generated_workload& w, std::uint64_t seed);

}  // namespace lab
}  // namespace v0
}  // namespace allot
