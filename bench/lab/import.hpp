// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot import FORMAT FILE`: a trace of another system as a canonical trace, or the objects of a cluster as
/// a scenario.
struct import_options {
  /// One of `import_formats`.
  std::string format{};
  /// "-" for standard input; may be packed with gzip.
  std::string file{};
  /// "-" for standard output.
  std::string out = "-";
  bool force = false;
  /// A row that can't be carried over is an error.
  bool strict = false;
  /// How many of those rows are told; the others are counted.
  std::size_t shown = 20;
  /// Of traces: the column that names the tenant, instead of the format's own; empty for none.
  std::optional<std::string> tenant{};
  /// Of traces with dates: the point in time from which submissions count, instead of the first.
  std::optional<std::string> origin{};
  /// Of traces: jobs without GPUs are left out.
  bool gpu_only = false;
  /// Of pod lists without times: the seconds from one submission to the next, and how long each runs.
  std::optional<std::string> gap{};
  std::optional<std::string> duration{};
  /// Of `pai`: "percent" or "gpus"; nothing: told from the first rows.
  std::optional<std::string> unit{};
};

struct import_format {
  std::string_view name;
  std::string_view summary;
};
/// The formats that there are, for help.
[[nodiscard]] const std::vector<import_format>& import_formats();

/// Returns the exit status: 0, or 2 when the input is wrong or the output can't be written; then nothing is
/// written.
int run_import(const import_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
