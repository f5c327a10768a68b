// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"
#include "lab/generated.hpp"
#include "lab/scenario.hpp"

#include <allot/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// How busy a workload is made.
struct load_setting {
  enum class kind : std::uint8_t {
    as_is,
    /// The work as a part of what the cluster can do while jobs come, in thousandths.
    load,
    /// How many times as fast the jobs come as in the trace, in thousandths.
    arrivals,
  };
  kind is = kind::as_is;
  std::int64_t value = 0;
  /// "0.9", "x2.6"; empty when it is as it is.
  std::string name{};
};

/// A cluster with its quotas, and the jobs that are submitted to it.
struct experiment_scenario {
  std::string name;
  /// The scenario's path, or that of the experiment if the scenario is in it; and its text.
  std::string file;
  std::string text;
  /// Instead of the scenario's trace.
  std::optional<std::string> trace{};
  std::optional<generated_workload> generate{};
  /// The JSON of that.
  std::string generate_text{};
  /// Where it stands in the experiment.
  std::string place{};
  /// Instead of the experiment's.
  std::optional<std::vector<load_setting>> loads{};
  /// Its own policy places pods at random.
  bool draws_places = false;
  /// Of the scenario and its trace; of a generated one, of the scenario.
  std::string input_hash{};
};

struct experiment_policy {
  std::string name;
  /// Nothing: the scenario's own.
  std::optional<policy_choice> choice{};
  /// The JSON of that.
  std::string text{};
};

/// One replay.
struct experiment_point {
  /// "philly128.standard.load-0.9.seed-3", which names its directory.
  std::string name;
  std::size_t scenario = 0;
  std::size_t policy = 0;
  load_setting load{};
  std::uint64_t seed = 1;
  /// A fingerprint of everything that its result depends on.
  std::string key;
};

/// What `allot sweep` runs: every policy on every scenario at every load with every seed. (Where nothing is
/// drawn, a trace under a policy that does not place at random, the first seed only.)
struct experiment {
  std::string name;
  std::string file;
  std::vector<experiment_scenario> scenarios;
  std::vector<experiment_policy> policies;
  std::vector<load_setting> loads;
  std::vector<std::uint64_t> seeds;
  std::optional<instant> until{};
  std::optional<std::uint64_t> max_queue{};
  std::optional<instant> max_time{};
  /// The name of the policy that the others are compared with; empty: none.
  std::string baseline{};
  std::vector<experiment_point> points;
  /// Of the names and keys of all points.
  std::string id;
};

/// What the command line says of an experiment.
struct experiment_source {
  std::string file;
  /// "philly128=/data/jobs.csv", or without a name of the only scenario.
  std::vector<std::string> traces{};
  /// All files of each replay are kept, not only the summary.
  bool full = false;
};

/// An experiment of the format "allot-experiment/1" whose scenarios and traces could all be read. Nothing
/// when anything is wrong with it, and then everything that is, is in `found`.
[[nodiscard]] std::optional<experiment> read_experiment(const experiment_source& source, errors& found);

/// The scenario of a point, with its policy, its workload and its load.
[[nodiscard]] std::optional<scenario> scenario_of(const experiment& e, const experiment_point& p,
                                                  errors& found);

}  // namespace lab
}  // namespace v0
}  // namespace allot
