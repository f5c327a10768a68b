// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/errors.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// What a run was of, as summary.json has it.
struct run_input {
  /// Of everything but the policy and its seed.
  std::string hash{};
  /// Of the jobs alone; empty in the files of older versions.
  std::string jobs_hash{};
};

/// The numbers of a summary.json under their paths: "queue_s/mean", "tenants/team-a/lost_gpu_h". Whatever
/// numbers there are, in the order of the file, and after them "worst_tenant/...": the largest that a tenant
/// has of each figure of waiting and completion. They are floating-point: they are only compared and shown.
struct run_summary {
  std::string label;
  std::string policy;
  std::uint64_t seed = 0;
  run_input input{};
  std::string decision_hash;
  /// Why it ended early ("interrupt"); empty if it did not.
  std::string stopped;
  std::vector<std::pair<std::string, double>> figures;
  /// The places of the figures, by name.
  std::vector<std::uint32_t> by_name{};

  /// O(log figures).
  [[nodiscard]] std::optional<double> find(std::string_view name) const;
};

/// The summary whose text is `text`.
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
/// What is said of runs that share no more than that with the first of a comparison, after their names: "ran
/// the jobs of FIRST on other nodes or under other quotas."; empty for `all`.
[[nodiscard]] std::string remark_on(shared_input shared, std::string_view first);

/// How a figure is shown.
enum class figure_kind : std::uint8_t {
  count,
  /// Seconds.
  time,
  gpu_hours,
  /// A part of one, shown in percent.
  rate,
  /// A part of one, shown as it is.
  index,
  /// Any other number.
  plain,
};
/// By its name: what ends in "_s", or is in something that does, is a time.
[[nodiscard]] figure_kind kind_of(std::string_view name);

/// Which of two values of a figure is the better one.
enum class preferred : std::uint8_t { neither, less, more };

/// A figure that a person looks at first.
struct shown_figure {
  std::string name;
  std::string label;
  figure_kind kind = figure_kind::plain;
  preferred better = preferred::neither;
};
/// Those of all jobs; then, if `of_tenants`, those of each tenant of the runs, with a title before.
[[nodiscard]] std::vector<shown_figure> figures_shown_first();
[[nodiscard]] std::vector<shown_figure> figures_of_tenant(std::string_view tenant);
/// "tenants/a/lost_gpu_h" of "a" and "lost_gpu_h".
[[nodiscard]] std::string figure_of_tenant(std::string_view tenant, std::string_view figure);
/// "a" of "tenants/a/lost_gpu_h"; empty of others.
[[nodiscard]] std::string tenant_of(std::string_view name);

/// The value as a person reads it: "4.2 h", "62.97 %".
[[nodiscard]] std::string shown(double value, figure_kind kind);
/// A difference: in points of a rate, else in the unit of the value. With its sign.
[[nodiscard]] std::string shown_difference(double difference, figure_kind kind);
/// A difference of values of which the first is `first`: in percent of it, points of a rate, or as it is
/// where one of them is below zero.
[[nodiscard]] std::string relative_difference(double difference, double first, figure_kind kind);
/// A number for a file: at most six decimals, without trailing zeros.
[[nodiscard]] std::string plain_number(double value);

}  // namespace lab
}  // namespace v0
}  // namespace allot
