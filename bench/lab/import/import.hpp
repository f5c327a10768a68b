// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// `allot import FORMAT FILE`: converts a trace of another system to a canonical trace, or the objects of a
/// cluster to a scenario.
struct import_options {
  /// One of `import_formats`.
  std::string format{};
  /// "-" for standard input; may be packed with gzip.
  std::string file{};
  /// "-" for standard output.
  std::string out = "-";
  bool force = false;
  /// Treat a row that can't be carried over as an error.
  bool strict = false;
  /// How many of those rows are reported; the others are counted.
  std::size_t shown = 20;
  /// For traces: the column with the tenant's name, instead of the format's own; empty for none.
  std::optional<std::string> tenant{};
  /// For traces with dates: the time from which submissions count, instead of the first submission.
  std::optional<std::string> origin{};
  /// For traces: leave out jobs without GPUs.
  bool gpu_only = false;
  /// For pod lists without times: the seconds from one submission to the next, and each pod's run time.
  std::optional<std::string> gap{};
  std::optional<std::string> duration{};
  /// For `pai`: "percent" or "gpus"; empty: inferred from the first rows.
  std::optional<std::string> unit{};
  /// For `sacct`: "standard", "relative:DATE" (the day on which it was printed), or a format of strftime;
  /// empty: standard, or seconds since 1970.
  std::string time_format{};
  /// For `sacct`: how many of gres/shard and of gres/mps are a GPU; 0: it is not known.
  std::int64_t shards = 0;
  std::int64_t mps = 0;
  /// For `kubernetes`: what else is the name of a GPU; and a file with the quotas, as a scenario has them.
  vector<std::string> gpu_resources{};
  std::string quotas{};
  /// For `kueue`: "BlockUndeclared" or "IgnoreUndeclared", as in Kueue's configuration; empty: the former,
  /// its default.
  std::string quota_check_strategy{};
  /// For `csv`: KEY=COLUMN or KEY=COLUMN:UNIT.
  vector<std::string> map{};
  /// For `gavel`: the file with the throughputs, and the GPU model that counts; empty: its first.
  std::string throughputs{};
  std::string gpu_model{};
  /// For `nodes`: the columns that are levels of the topology, the outermost first; and how many GPUs each
  /// has, if no column says so.
  vector<std::string> topology{};
  std::int64_t gpus = -1;
  /// For `csv`: the names of the columns of a file without a header row.
  vector<std::string> columns{};
  /// For `csv`: one character, or "tab".
  std::string separator = ",";
};

struct import_format {
  std::string_view name;
  std::string_view summary;
};
/// The available formats, for help.
[[nodiscard]] const vector<import_format>& import_formats();

/// Returns the exit status: 0, or 2 if the input is wrong or the output can't be written; then nothing is
/// written.
int run_import(const import_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
