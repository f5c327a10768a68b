// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/io/errors.hpp"
#include "lab/report/measuring.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/workload/generated.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The load of a workload.
struct load_setting {
  enum class kind : std::uint8_t {
    as_is,
    /// The work as a part of what the cluster can do while jobs arrive, in thousandths.
    load,
    /// How many times as fast the jobs arrive as in the trace, in thousandths.
    arrivals,
  };
  kind is = kind::as_is;
  std::int64_t value = 0;
  /// "0.9", "x2.6"; empty if the workload is unchanged.
  std::string name{};
};

/// A cluster with its quotas, and the jobs that are submitted to it.
struct experiment_scenario {
  std::string name;
  /// The path of the scenario (or of the experiment, if the scenario is part of it), and its text.
  std::string file;
  std::string text;
  /// Replaces the scenario's trace.
  std::optional<std::string> trace{};
  std::optional<generated_workload> generate{};
  /// Its JSON.
  std::string generate_text{};
  /// The model of the estimates, instead of those of the trace.
  std::optional<estimate_model> estimates{};
  /// Its place in the experiment.
  std::string place{};
  /// Replaces the experiment's loads.
  std::optional<vector<load_setting>> loads{};
  /// How its replays are measured: as the experiment says, or as it says itself.
  measuring measured{};
  /// Its own policy places pods at random.
  bool draws_places = false;
  /// Hash of the scenario and its trace; for a generated workload, of the scenario only.
  std::string input_hash{};
};

struct experiment_policy {
  std::string name;
  /// Empty: the scenario's own policy.
  std::optional<policy_choice> choice{};
  /// Its JSON.
  std::string text{};
};

/// One replay.
struct experiment_point {
  /// "philly128.standard.load-0.9.seed-3"; also the name of its directory.
  std::string name;
  std::size_t scenario = 0;
  std::size_t policy = 0;
  load_setting load{};
  std::uint64_t seed = 1;
  /// A fingerprint of everything that its result depends on.
  std::string key;
};

/// What `allot sweep` runs: every policy on every scenario at every load with every seed. (A trace under a
/// policy that does not place at random does not depend on the seed and is run with the first one only.)
struct experiment {
  std::string name;
  std::string file;
  vector<experiment_scenario> scenarios;
  vector<experiment_policy> policies;
  vector<load_setting> loads;
  vector<std::uint64_t> seeds;
  std::optional<instant> until{};
  std::optional<std::uint64_t> max_queue{};
  std::optional<instant> max_time{};
  /// How replays are measured; `isolated`: also each tenant alone, for the sharing anomaly.
  measuring measured{};
  /// The name of the policy that the others are compared with; may be empty.
  std::string baseline{};
  vector<experiment_point> points;
  /// Fingerprint of the names and keys of all points.
  std::string id;
};

/// The command-line options that concern an experiment.
struct experiment_source {
  std::string file;
  /// "philly128=/data/jobs.csv"; the name may be omitted if there is only one scenario.
  vector<std::string> traces{};
  /// Keep all files of each replay, not only the summary.
  bool full = false;
};

/// Reads an experiment of the format "allot-experiment/1" whose scenarios and traces can all be read. On any
/// error returns nullopt and adds all errors to `found`.
[[nodiscard]] std::optional<experiment> read_experiment(const experiment_source& source, errors& found);

/// The scenario of a point, with its policy, workload and load.
[[nodiscard]] std::optional<scenario> scenario_of(const experiment& e, const experiment_point& p,
                                                  errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
