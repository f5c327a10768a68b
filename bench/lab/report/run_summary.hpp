// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include "lab/io/errors.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The input of a run, as in summary.json.
struct run_input {
  /// Of everything but the policy and its seed.
  std::string hash{};
  /// Of the jobs alone; empty in files of older versions.
  std::string jobs_hash{};
};

/// The numbers of a summary.json under their paths: "queue_s/mean", "tenants/team-a/lost_gpu_h". All numbers
/// are included, in file order, and after them "worst_tenant/...": the maximum over the tenants of each
/// figure of waiting and completion. They are floating-point, since they are only compared and shown.
struct run_summary {
  std::string label;
  /// Where its other files are, if it was read from a file.
  std::string directory{};
  /// With all that is set; only the preset in files of older versions.
  std::string policy;
  std::uint64_t seed = 0;
  /// The version that made it; empty in files of older versions.
  std::string version{};
  run_input input{};
  /// Which part of the run its figures are of ("without the first 12h"); empty: the whole.
  std::string measured{};
  std::string decision_hash;
  /// Why it ended early ("interrupt"); empty if it did not.
  std::string stopped;
  vector<std::pair<std::string, double>> figures;
  /// The indexes of the figures, sorted by name.
  vector<std::uint32_t> by_name{};

  /// O(log figures).
  [[nodiscard]] std::optional<double> find(std::string_view name) const;
  /// Makes `by_name` after `figures` were added.
  void sort_names();
};

/// Parses the summary in `text`.
[[nodiscard]] std::optional<run_summary> parse_summary(std::string label, const std::string& path,
                                                       std::string_view text, errors& found);
[[nodiscard]] std::optional<run_summary> read_summary(std::string label, const std::string& path,
                                                      errors& found);

/// What two runs have in common.
enum class shared_input : std::uint8_t {
  /// Everything but the policy and its seed.
  all,
  /// The jobs, on other nodes or under other quotas.
  jobs,
  none,
};
[[nodiscard]] shared_input shared_by(const run_input& a, const run_input& b);
/// The remark on runs that share only this with the first of a comparison, after their names: "ran the jobs
/// of FIRST on other nodes or under other quotas."; empty for `all`.
[[nodiscard]] std::string remark_on(shared_input shared, std::string_view first);
/// What a run measures, from `run_summary::measured`: "the whole run" if that is empty.
[[nodiscard]] std::string measured_part(std::string_view measured);
/// The remark on runs that measure another part of themselves than the first; empty if it is the same.
[[nodiscard]] std::string remark_on_window(std::string_view part, std::string_view part_of_first,
                                           std::string_view first);

/// How a figure is shown.
enum class figure_kind : std::uint8_t {
  count,
  /// Seconds.
  time,
  gpu_hours,
  /// A fraction, shown in percent.
  rate,
  /// A fraction, shown as it is.
  index,
  /// Any other number.
  plain,
};
/// Determined by the name: a figure is a time if its name, or a part of its path, ends in "_s".
[[nodiscard]] figure_kind kind_of(std::string_view name);

/// Which of two values of a figure is better.
enum class preferred : std::uint8_t { neither, less, more };

/// One of the main figures.
struct shown_figure {
  std::string name;
  std::string label;
  figure_kind kind = figure_kind::plain;
  preferred better = preferred::neither;
};
/// The main figures of all jobs.
[[nodiscard]] vector<shown_figure> figures_shown_first();
[[nodiscard]] vector<shown_figure> figures_of_tenant(std::string_view tenant);
/// "tenants/a/lost_gpu_h" for "a" and "lost_gpu_h".
[[nodiscard]] std::string figure_of_tenant(std::string_view tenant, std::string_view figure);
/// "a" for "tenants/a/lost_gpu_h"; empty for other names.
[[nodiscard]] std::string tenant_of(std::string_view name);

/// The value as text: "4.2 h", "62.97 %".
[[nodiscard]] std::string shown(double value, figure_kind kind);
/// A difference with its sign: for a rate in percentage points, else in the unit of the value.
[[nodiscard]] std::string shown_difference(double difference, figure_kind kind);
/// A difference from the value `first`: in percent of it, in percentage points for a rate, or as it is if one
/// of the values is negative.
[[nodiscard]] std::string relative_difference(double difference, double first, figure_kind kind);
/// A number for a file: at most six decimals, without trailing zeros.
[[nodiscard]] std::string plain_number(double value);

}  // namespace lab
}  // namespace v0
}  // namespace allot
