// SPDX-License-Identifier: BSL-1.0
// The parts that the importers of traces share.
#pragma once

#include "lab/import.hpp"
#include "lab/import_log.hpp"
#include "lab/packed_input.hpp"

#include <allot/core/time.hpp>
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
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A job in the words of the canonical trace. The texts are those of the row that is being read.
struct imported_job {
  std::string_view id{};
  /// In milliseconds since whatever the format counts from.
  instant submit = 0;
  instant duration = 0;
  /// Of one pod, in thousandths; of the whole job when `pods` is 0.
  std::int64_t gpus = 0;
  std::int64_t pods = 0;
  std::string_view tenant{};
  std::string_view job_class{};
  std::string_view gpu_model{};
  std::string_view user{};
  std::int64_t priority = 0;
  bool preemptible = true;
  /// Of the whole job.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
};

/// What a whole job may ask for: as much as a canonical trace may say.
inline constexpr std::int64_t most_imported_units = 1'000'000'000'000;

/// Takes the jobs of a trace one at a time and keeps them in a temporary file, because submissions can be
/// counted from the first of them only when all are known, and nothing may be written when a later row turns
/// out to end the import. In memory it has the ids alone, to find those that come twice.
class trace_spool {
 public:
  /// Besides the required columns those of `columns`, and then `tags`.
  trace_spool(std::vector<trace_column> columns, std::vector<std::string> tags);
  trace_spool(const trace_spool&) = delete;
  trace_spool& operator=(const trace_spool&) = delete;
  ~trace_spool();

  /// Nothing, or why the job can't be in a canonical trace: its id was there before, say. `line` is where it
  /// stands, and `tags` has a text for each tag column.
  [[nodiscard]] std::string add(const imported_job& job, std::span<const std::string_view> tags,
                                std::size_t line);

  [[nodiscard]] std::size_t jobs() const noexcept { return jobs_; }
  [[nodiscard]] instant first_submit() const noexcept { return first_; }
  [[nodiscard]] instant last_submit() const noexcept { return last_; }

  /// Writes the canonical trace, submissions counted from `origin`, to where the options say. Returns what is
  /// wrong, or nothing; then nothing is written.
  [[nodiscard]] std::string write(instant origin, const import_options& options);

 private:
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string problem_of(const imported_job& job, std::size_t line);
  void append_field(trace_column column, const imported_job& job);

  std::vector<trace_column> columns_;
  std::vector<std::string> tags_;
  std::FILE* file_ = nullptr;
  std::string row_;
  name_table ids_;
  std::vector<std::size_t> lines_;
  std::size_t jobs_ = 0;
  instant first_ = 0;
  instant last_ = 0;
};

/// The unpacked bytes of a file, for the readers of the library.
struct packed_source {
  packed_input* file;
  std::ptrdiff_t operator()(char* to, std::size_t size) const { return file->read(to, size); }
};

/// What is left to do when all rows have been read: says what was left out, and writes the rest. Returns the
/// exit status.
[[nodiscard]] int finish_import(trace_spool& spool, instant origin, import_log& log,
                                const import_options& options);

/// Where submissions count from in a trace with dates: the option, or the first submission. Nothing, and a
/// message, if that is no point in time or a job is submitted before it.
[[nodiscard]] std::optional<instant> origin_of(const trace_spool& spool, import_log& log,
                                               const import_options& options);

/// Names for the tag columns: their own, unless a canonical column is called that.
[[nodiscard]] std::vector<std::string> tag_names(const std::vector<std::string>& columns,
                                                 std::string_view format, import_log& log);

/// The text that a record or a line of the file breaks off, when that may be why it can't be read.
void report_failure(std::span<const text_problem> problems, const packed_input& file, import_log& log);

// The formats; each returns the exit status.

int import_philly(packed_input& file, import_log& log, const import_options& options);
int import_helios(packed_input& file, import_log& log, const import_options& options);
int import_acme(packed_input& file, import_log& log, const import_options& options);
int import_pai(packed_input& file, import_log& log, const import_options& options);
int import_spot(packed_input& file, import_log& log, const import_options& options);
int import_openb(packed_input& file, import_log& log, const import_options& options);
int import_swf(packed_input& file, import_log& log, const import_options& options);

}  // namespace lab
}  // namespace v0
}  // namespace allot
