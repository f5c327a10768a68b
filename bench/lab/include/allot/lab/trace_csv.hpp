// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/trace.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// The columns of a canonical trace, in the order in which they are written; the first four are required.
/// `tag` is any other column.
enum class trace_column : std::uint8_t {
  job_id,
  submit_s,
  duration_s,
  gpus,
  tenant,
  pods,
  min_pods,
  priority,
  job_class,
  preemptible,
  gpu_model,
  cpu_milli,
  memory_mib,
  user,
  checkpoint_s,
  restart_s,
  deadline_s,
  estimate_s,
  ready_s,
  pod_set,
  tag,
};

/// The names of the columns in the header row, in the order of `trace_column`.
inline constexpr std::array<std::string_view, 20> trace_column_names = {
    "job_id",       "submit_s",  "duration_s",  "gpus",       "tenant",    "pods",       "min_pods",
    "priority",     "class",     "preemptible", "gpu_model",  "cpu_milli", "memory_mib", "user",
    "checkpoint_s", "restart_s", "deadline_s",  "estimate_s", "ready_s",   "pod_set"};

struct trace_csv_limits {
  /// The longest record, in bytes.
  std::size_t record = std::size_t{1} << 20U;
  /// Reading stops after this many problems.
  std::size_t problems = 20;
};

/// Where a trace says for the first time what may turn out to be wrong only later, beside a cluster and its
/// quotas.
struct trace_places {
  /// By tenant.
  vector<text_place> tenants;
  vector<std::pair<name_id, text_place>> models;
  std::optional<text_place> without_tenant;
  /// GPUs of a pod (or of a job without pods) that are neither whole nor a fraction of one.
  std::optional<text_place> mixed_gpus;
};

/// A trace, or the problems with its file.
struct [[nodiscard]] trace_reading {
  /// Empty if there are problems.
  trace value;
  /// In the order of the file.
  vector<text_problem> problems;
  trace_places places{};
  /// Whether reading stopped before the end of the file, so that there may be more problems.
  bool stopped = false;

  [[nodiscard]] explicit operator bool() const noexcept { return problems.empty(); }
};

/// Reads a trace in canonical CSV from any source. Columns and jobs may be in any order; columns unknown to
/// the library become tags. An empty optional field is as if it were absent.
///
/// Rows with a `pod_set` are of one job each time that they have its id: each is one of its sets, with what
/// it requests; in all else they agree (tags are those of the first row).
///
/// Every problem is reported with its line and column, up to a limit: a header row that lacks a required
/// column or has one twice, a record with too many or too few fields, a number that is malformed, negative,
/// too fine (1 ms and 1/1000 GPU are the finest, and whole seconds of estimates) or too large, a job id that
/// is empty or duplicate, and whatever `csv_reader` refuses, which ends the reading. A file with a header row
/// only is a valid, empty trace. O(bytes); memory for the jobs, and for one record.
trace_reading read_trace_csv(byte_source source, const trace_csv_limits& limits = {});

/// The same from a stream, which should be binary and is read to its end unless there are problems. A stream
/// that was never opened can't be read.
trace_reading read_trace_csv(std::istream& stream, const trace_csv_limits& limits = {});

/// The same from text in memory.
trace_reading parse_trace_csv(std::string_view text, const trace_csv_limits& limits = {});

}  // namespace lab
}  // namespace v0
}  // namespace allot
