// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "lab/import/import_trace.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv_table.hpp>
#include <allot/lab/timestamp.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A point in time with a date, in milliseconds since 1970. Reports a problem and returns 0 if it is none.
template <class Column>
[[nodiscard]] instant read_date(csv_table<Column>& row, Column column) {
  const std::string_view text = row.required_text(column, "a date and time, as in 2017-10-09 07:01:55");
  if (text.empty()) return 0;
  if (const auto t = parse_timestamp(text)) return *t;
  row.report(column, "expected a date and time, as in 2017-10-09 07:01:55, found " + shown(text));
  return 0;
}

/// A number of seconds that is not negative, in milliseconds.
template <class Column>
[[nodiscard]] std::int64_t read_seconds(csv_table<Column>& row, Column column) {
  return row.required_milli(column, "a number of seconds", 0, most_imported_units).value_or(0);
}

/// Leaves out the row because of these problems. If the text breaks off in this row, reports that and returns
/// false, since more is probably missing.
[[nodiscard]] inline bool leave_out(const csv_table_base& row, std::span<const text_problem> problems,
                                    const packed_input& file, import_log& log) {
  if (!row.is_cut_off()) {
    log.reject(problems);
    return true;
  }
  report_failure(problems, file, log);
  log.fail({}, "the file ends in the middle of this row (is it truncated?)");
  return false;
}

/// Calls `read(number)` for each row; it returns the problems of the row, which is left out if there are any.
/// Returns false if the import can't go on, and reports why.
template <class Table, class Read>
[[nodiscard]] bool for_each_row(Table& rows, const packed_input& file, import_log& log, Read read) {
  for (std::size_t number = 0;; ++number) {
    const auto o = rows.next();
    if (o == Table::outcome::end) return true;
    if (o == Table::outcome::failed) {
      report_failure(rows.problems(), file, log);
      return false;
    }
    std::span<const text_problem> wrong = rows.problems();
    if (o == Table::outcome::row) wrong = read(number);
    if (!wrong.empty() && !leave_out(rows, wrong, file, log)) return false;
  }
}

/// Reads a table whose rows are jobs. `Format` has: `column`, the enumeration of the columns that it knows,
/// and `columns`, their names; `name`; `has_dates`; `tenant`, the name of the tenant column; `written()`, the
/// canonical columns besides the required ones and the tenant; `read(table, job)`, which may report problems
/// of the row. It may have a `dialect`; a `header`, the names of the columns of a file without a header row;
/// `problem_of(table)`, what is wrong with the header row; `skips(table)`, whether the row is no job; and
/// `conclude()`, called after the last row.
template <class Format>
int import_table(packed_input& file, import_log& log, const import_options& options, Format format) {
  using table = csv_table<typename Format::column>;
  csv_dialect dialect;
  if constexpr (requires { Format::dialect; }) dialect = Format::dialect;
  table rows{packed_source{&file}, Format::columns, csv_reader::default_record_limit, dialect};
  bool is_open = false;
  if constexpr (requires { format.header; }) {
    vector<std::string> names;
    for (const std::string_view name : format.header) names.emplace_back(name);
    is_open = rows.open(names);
  } else {
    is_open = rows.open();
  }
  if (!is_open) {
    report_failure(rows.problems(), file, log);
    return bad_input_status;
  }
  if constexpr (requires { format.problem_of(rows); }) {
    if (const std::string problem = format.problem_of(rows); !problem.empty()) {
      log.fail({}, problem);
      return bad_input_status;
    }
  }
  const std::string tenant = options.tenant.value_or(std::string{Format::tenant});
  const auto tenant_at = tenant.empty() ? std::nullopt : rows.find(tenant);
  if (!tenant_at && options.tenant && !tenant.empty()) {
    return complain("--tenant: the file has no column \"" + tenant + '"', "allot import");
  }
  vector<trace_column> written = format.written(rows);
  if (tenant_at) written.insert(written.begin(), trace_column::tenant);
  vector<std::string> others;
  for (std::size_t i = 0; i < rows.others(); ++i) others.emplace_back(rows.other_name(i));
  trace_spool spool{std::move(written), tag_names(others, Format::name, log)};

  vector<std::string_view> tags(rows.others());
  std::size_t without_gpus = 0;
  const auto read = [&](std::size_t number) -> std::span<const text_problem> {
    if constexpr (requires { format.skips(rows); }) {
      if (format.skips(rows)) return {};
    }
    imported_job job;
    const std::string own_id = Format::numbers_jobs ? std::to_string(number) : std::string{};
    job.id = own_id;
    if (tenant_at) job.tenant = rows.field(*tenant_at);
    format.read(rows, job);
    if (!rows.problems().empty()) return rows.problems();
    if (options.gpu_only && job.gpus == 0) {
      ++without_gpus;
      return {};
    }
    for (std::size_t i = 0; i < tags.size(); ++i) tags[i] = rows.other(i);
    if (auto problem = spool.add(job, tags, rows.place().line); !problem.empty()) {
      const text_problem at{rows.place(), {}, std::move(problem)};
      log.reject({&at, 1});
    }
    return {};
  };
  if (!for_each_row(rows, file, log, read)) return bad_input_status;
  log.leave_out(without_gpus, "job without GPUs is", "jobs without GPUs are");
  if constexpr (requires { format.conclude(); }) format.conclude();
  std::optional<instant> origin = 0;
  if (Format::has_dates) origin = origin_of(spool, log, options);
  if (!origin) return bad_input_status;
  return finish_import(spool, *origin, log, options);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
