// SPDX-License-Identifier: BSL-1.0
// The parts that the importers of traces share.
#pragma once

#include "lab/import/import.hpp"
#include "lab/import/import_log.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/workload/doubtful_times.hpp"

#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/name_table.hpp>
#include <allot/lab/trace_csv.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// A job in terms of the canonical trace. The texts belong to the row that is being read.
struct imported_job {
  std::string_view id{};
  /// Not empty: this is one of its pod sets, and what is asked for is that of the set.
  std::string_view pod_set{};
  /// In milliseconds since the format's origin of time.
  instant submit = 0;
  /// From when it can start, if that is after its submission.
  std::optional<instant> ready{};
  /// When it should be completed; not before its submission.
  std::optional<instant> deadline{};
  instant duration = 0;
  /// For one pod, in thousandths; for the whole job if `pods` is 0.
  std::int64_t gpus = 0;
  std::int64_t pods = 0;
  /// 0: all of them.
  std::int64_t min_pods = 0;
  std::string_view tenant{};
  std::string_view job_class{};
  std::string_view gpu_model{};
  std::string_view user{};
  std::int64_t priority = 0;
  bool preemptible = true;
  /// For the whole job.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  /// In seconds; 0 if it is not known.
  std::int64_t estimate = 0;
  std::optional<instant> checkpoint{};
  instant restart = 0;
};

/// The most that a whole job may request: as much as a canonical trace may state.
inline constexpr std::int64_t most_imported_units = 1'000'000'000'000;

/// Takes the jobs of a trace, or their pod sets, one at a time and keeps them in a temporary file.
/// Submissions can be counted from the first one only when all are known, and nothing may be written if a
/// later row ends the import. Only the ids are in memory, to find duplicates.
class trace_spool {
 public:
  /// Writes the required columns, then `columns`, then `tags`; ready_s and deadline_s, if they are among
  /// them, after submit_s.
  trace_spool(vector<trace_column> columns, vector<std::string> tags);
  trace_spool(const trace_spool&) = delete;
  trace_spool& operator=(const trace_spool&) = delete;
  ~trace_spool();

  /// Returns why the job can't be in a canonical trace (a duplicate id, for example), or an empty string.
  /// `line` is its line, and `tags` has a text for each tag column.
  [[nodiscard]] std::string add(const imported_job& job, std::span<const std::string_view> tags,
                                std::size_t line);

  [[nodiscard]] std::size_t jobs() const noexcept { return ids_.size(); }
  [[nodiscard]] instant first_submit() const noexcept { return times_.first_submit; }
  [[nodiscard]] const trace_times& times() const noexcept { return times_; }

  /// Writes the canonical trace, with submissions counted from `origin`, to where the options say. Returns
  /// what is wrong, or an empty string. On an error nothing is written.
  [[nodiscard]] std::string write(instant origin, const import_options& options);

 private:
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string problem_of(const imported_job& job, std::size_t line);
  void append_field(trace_column column, const imported_job& job);

  vector<trace_column> columns_;
  vector<std::string> tags_;
  bool has_ready_ = false;
  bool has_deadline_ = false;
  std::FILE* file_ = nullptr;
  std::string row_;
  name_table ids_;
  vector<std::size_t> lines_;
  /// By job: a hash of what all of its pod sets must agree in; none without sets.
  vector<std::optional<std::size_t>> agreed_;
  /// The sets, each as the number of its job and its name.
  name_table sets_;
  trace_times times_;
};

/// The unpacked bytes of a file, for the readers of the library.
struct packed_source {
  packed_input* file;
  std::ptrdiff_t operator()(char* to, std::size_t size) const { return file->read(to, size); }
};

/// Finishes the import when all rows have been read: reports what was left out, and writes the rest. Returns
/// the exit status.
[[nodiscard]] int finish_import(trace_spool& spool, instant origin, import_log& log,
                                const import_options& options);

/// The time from which submissions count in a trace with dates: the option, or the first submission. Prints a
/// message and returns nullopt if the option is not a point in time, or a job is submitted before it.
[[nodiscard]] std::optional<instant> origin_of(const trace_spool& spool, import_log& log,
                                               const import_options& options);

/// Names for the tag columns: their own, unless a canonical column has that name.
[[nodiscard]] vector<std::string> tag_names(const vector<std::string>& columns, std::string_view format,
                                            import_log& log);

/// The byte that --separator names.
[[nodiscard]] std::optional<char> separator_of(const std::string& text);

/// Reports why a record or line can't be read: the file's own problem if it has one, else `problems`.
void report_failure(std::span<const text_problem> problems, const packed_input& file, import_log& log);

// The formats; each returns the exit status.

int import_philly(packed_input& file, import_log& log, const import_options& options);
/// Philly's own job log, of which `import_philly` reads the table that circulates.
int import_philly_log(packed_input& file, import_log& log, const import_options& options);
int import_helios(packed_input& file, import_log& log, const import_options& options);
int import_acme(packed_input& file, import_log& log, const import_options& options);
int import_pai(packed_input& file, import_log& log, const import_options& options);
int import_spot(packed_input& file, import_log& log, const import_options& options);
int import_openb(packed_input& file, import_log& log, const import_options& options);
int import_swf(packed_input& file, import_log& log, const import_options& options);
int import_csv(packed_input& file, import_log& log, const import_options& options);
int import_sacct(packed_input& file, import_log& log, const import_options& options);
int import_gavel(packed_input& file, import_log& log, const import_options& options);
/// A table of nodes, which becomes the cluster of a scenario.
int import_nodes(packed_input& file, import_log& log, const import_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
