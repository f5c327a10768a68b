// SPDX-License-Identifier: BSL-1.0
// The rows of Slurm's accounting, printed as text or as JSON.
#pragma once

#include "lab/import/import.hpp"
#include "lab/import/import_log.hpp"
#include "lab/io/packed_input.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

/// The columns of sacct that an import reads.
enum class sacct_column : std::uint8_t {
  job_id,
  submit,
  user,
  account,
  elapsed,
  elapsed_raw,
  time_limit,
  time_limit_raw,
  allocated,
  requested,
  qos,
  eligible,
  // From here on they are tags, too.
  cluster,
  start,
  end,
  state,
  suspended,
  restarts,
  node_list,
  allocated_nodes,
  requested_nodes,
  allocated_cpus,
  cpus,
  requested_cpus,
};

/// Their names in the header row, in the order of `sacct_column`.
inline constexpr std::array<std::string_view, 24> sacct_column_names = {
    "JobID",     "Submit",   "User",     "Account",    "Elapsed",  "ElapsedRaw", "Timelimit", "TimelimitRaw",
    "AllocTRES", "ReqTRES",  "QOS",      "Eligible",   "Cluster",  "Start",      "End",       "State",
    "Suspended", "Restarts", "NodeList", "AllocNodes", "ReqNodes", "AllocCPUS",  "NCPUS",     "ReqCPUS"};

/// The columns of a file.
class sacct_columns {
 public:
  explicit sacct_columns(vector<std::string> names);

  [[nodiscard]] const vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool has(sacct_column c) const { return at(c).has_value(); }
  [[nodiscard]] std::optional<std::size_t> at(sacct_column c) const {
    return at_[static_cast<std::size_t>(c)];
  }
  /// The first column of that name, in any case.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// Those that the import does not use up: the tags.
  [[nodiscard]] const vector<std::size_t>& tags() const noexcept { return tags_; }

 private:
  vector<std::string> names_;
  std::array<std::optional<std::size_t>, sacct_column_names.size()> at_{};
  vector<std::size_t> tags_;
};

/// A row: a job, one run of it, or a step.
class sacct_row {
 public:
  sacct_row(const sacct_columns& columns, vector<std::string> fields, vector<text_place> places,
            std::size_t number, std::string where)
      : columns_(&columns),
        fields_(std::move(fields)),
        places_(std::move(places)),
        number_(number),
        where_(std::move(where)) {}

  [[nodiscard]] std::string_view field(std::size_t at) const { return fields_[at]; }
  /// Empty if the file has no such column.
  [[nodiscard]] std::string_view text(sacct_column c) const {
    const auto at = columns_->at(c);
    return at ? std::string_view{fields_[*at]} : std::string_view{};
  }
  /// Its line, or its number in the list of jobs.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

  void report(sacct_column c, std::string text);
  [[nodiscard]] bool is_wrong() const noexcept { return !problems_.empty(); }
  /// Leaves the row out because of what was reported.
  void leave_out(import_log& log) const;

 private:
  const sacct_columns* columns_;
  vector<std::string> fields_;
  vector<text_place> places_;
  std::size_t number_;
  /// For files without lines.
  std::string where_;
  vector<text_problem> problems_;
};

/// Where the rows of a file go.
struct sacct_sink {
  /// Called first; the columns are there until `close` returns. False, after a message, ends the reading.
  std::function<bool(const sacct_columns&)> open;
  std::function<void(sacct_row&)> take;
  /// Called after the last row.
  std::function<void()> close;
};

/// Reads what `sacct --parsable2`, `--parsable` or `--json` prints. A text may have separators and line
/// breaks in it, as sacct does not escape them. False, after a message, if the file can't be read to its end.
[[nodiscard]] bool read_sacct(packed_input& file, import_log& log, const import_options& options,
                              const sacct_sink& to);

}  // namespace lab
}  // namespace v0
}  // namespace allot
