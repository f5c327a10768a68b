// SPDX-License-Identifier: BSL-1.0
// The published traces that are tables: how their columns map to the canonical trace.
#include "lab/import/file_kind.hpp"
#include "lab/import/import_table.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/openb_csv.hpp>

#include <array>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::int64_t most_gpus = 1'000'000;
constexpr std::int64_t most_cores = 100'000'000;

/// Microsoft, 2017, in its circulated form: a row per job, without ids.
struct philly {
  enum class column : std::uint8_t { timestamp, duration, num_gpus, cluster };
  static constexpr std::array<csv_column, 4> columns = {
      {{"timestamp"}, {"duration"}, {"num_gpus"}, {"cluster", false}}};
  static constexpr std::string_view name = "philly";
  static constexpr std::string_view tenant = "cluster";
  static constexpr bool has_dates = true;
  static constexpr bool numbers_jobs = true;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>&) { return {}; }
  static void read(csv_table<column>& row, imported_job& job) {
    job.submit = read_date(row, column::timestamp);
    job.duration = read_seconds(row, column::duration);
    job.gpus = row.required_whole(column::num_gpus, 0, most_gpus).value_or(0) * 1000;
  }
};

/// SenseTime, 2020.
struct helios {
  enum class column : std::uint8_t { job_id, user, vc, gpu_num, cpu_num, submit_time, duration };
  static constexpr std::array<csv_column, 7> columns = {{{"job_id"},
                                                         {"user", false},
                                                         {"vc", false},
                                                         {"gpu_num"},
                                                         {"cpu_num", false},
                                                         {"submit_time"},
                                                         {"duration"}}};
  static constexpr std::string_view name = "helios";
  static constexpr std::string_view tenant = "vc";
  static constexpr bool has_dates = true;
  static constexpr bool numbers_jobs = false;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>& table) {
    vector<trace_column> all;
    if (table.has(column::cpu_num)) all.push_back(trace_column::cpu_milli);
    if (table.has(column::user)) all.push_back(trace_column::user);
    return all;
  }
  static void read(csv_table<column>& row, imported_job& job) {
    job.id = row.required_text(column::job_id, "the id of a job");
    job.user = row.text(column::user);
    job.gpus = row.required_whole(column::gpu_num, 0, most_gpus).value_or(0) * 1000;
    job.cpu_milli = row.whole(column::cpu_num, 0, most_cores).value_or(0) * 1000;
    job.submit = read_date(row, column::submit_time);
    job.duration = read_seconds(row, column::duration);
  }
};

/// Shanghai AI Laboratory, 2023: like Helios, with the kind of work and without virtual clusters.
struct acme {
  enum class column : std::uint8_t { job_id, user, gpu_num, cpu_num, type, submit_time, duration };
  static constexpr std::array<csv_column, 7> columns = {{{"job_id"},
                                                         {"user", false},
                                                         {"gpu_num"},
                                                         {"cpu_num", false},
                                                         {"type", false},
                                                         {"submit_time"},
                                                         {"duration"}}};
  static constexpr std::string_view name = "acme";
  static constexpr std::string_view tenant = {};
  static constexpr bool has_dates = true;
  static constexpr bool numbers_jobs = false;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>& table) {
    vector<trace_column> all;
    if (table.has(column::type)) all.push_back(trace_column::job_class);
    if (table.has(column::cpu_num)) all.push_back(trace_column::cpu_milli);
    if (table.has(column::user)) all.push_back(trace_column::user);
    return all;
  }
  static void read(csv_table<column>& row, imported_job& job) {
    job.id = row.required_text(column::job_id, "the id of a job");
    job.user = row.text(column::user);
    job.job_class = row.text(column::type);
    job.gpus = row.required_whole(column::gpu_num, 0, most_gpus).value_or(0) * 1000;
    job.cpu_milli = row.whole(column::cpu_num, 0, most_cores).value_or(0) * 1000;
    job.submit = read_date(row, column::submit_time);
    job.duration = read_seconds(row, column::duration);
  }
};

/// The jobs of Alibaba's PAI simulator, 2020: an instance requests a fraction of a GPU, or several GPUs.
struct pai {
  enum class column : std::uint8_t {
    job_id,
    submit_time,
    duration,
    num_gpu,
    num_cpu,
    num_inst,
    gpu_type,
    user,
  };
  static constexpr std::array<csv_column, 8> columns = {{{"job_id"},
                                                         {"submit_time"},
                                                         {"duration"},
                                                         {"num_gpu"},
                                                         {"num_cpu", false},
                                                         {"num_inst", false},
                                                         {"gpu_type", false},
                                                         {"user", false}}};
  static constexpr std::string_view name = "pai";
  static constexpr std::string_view tenant = {};
  static constexpr bool has_dates = false;
  static constexpr bool numbers_jobs = false;

  bool in_percent = false;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>& table) {
    vector<trace_column> all{trace_column::pods};
    if (table.has(column::gpu_type)) all.push_back(trace_column::gpu_model);
    if (table.has(column::num_cpu)) all.push_back(trace_column::cpu_milli);
    if (table.has(column::user)) all.push_back(trace_column::user);
    return all;
  }
  void read(csv_table<column>& row, imported_job& job) const {
    constexpr std::int64_t percent = 100;
    job.id = row.required_text(column::job_id, "the id of a job");
    job.user = row.text(column::user);
    job.submit = read_seconds(row, column::submit_time);
    job.duration = read_seconds(row, column::duration);
    job.pods = row.whole(column::num_inst, 1, most_gpus).value_or(1);
    const std::int64_t gpus =
        row.required_milli(column::num_gpu, "a number of GPUs", 0, most_gpus).value_or(0);
    const std::int64_t cores = row.milli(column::num_cpu, "a number of cores", 0, most_cores).value_or(0);
    if (in_percent && gpus % percent != 0) {
      row.report(column::num_gpu,
                 "expected whole percents, or tenths of one, found " + shown(row.text(column::num_gpu)));
    }
    job.gpus = in_percent ? gpus / percent : gpus;
    job.cpu_milli = (in_percent ? cores / percent : cores) * job.pods;
    const std::string_view type = row.text(column::gpu_type);
    // Jobs without GPUs have the type "CPU" there.
    if (type != "CPU") job.gpu_model = type;
  }
};

/// Whether GPUs are counted in percent, judging by the first rows: no machine has more than 16 of them.
[[nodiscard]] bool counts_percent(std::string_view beginning) {
  using table = csv_table<pai::column>;
  // The last row may be cut off.
  beginning = beginning.substr(0, beginning.rfind('\n') + 1);
  table rows{string_source{beginning}, pai::columns};
  if (!rows.open()) return false;
  constexpr std::int64_t most_of_machine = 16'000;
  for (;;) {
    const table::outcome o = rows.next();
    if (o == table::outcome::end || o == table::outcome::failed) return false;
    if (o != table::outcome::row) continue;
    const auto n = parse_milli(rows.text(pai::column::num_gpu));
    if (n.problem == decimal_problem::none && n.value > most_of_machine) return true;
  }
}

/// Alibaba, 2026: high-priority jobs and spot jobs. Requests are per worker.
struct spot {
  enum class column : std::uint8_t {
    job_name,
    organization,
    gpu_model,
    cpu_request,
    gpu_request,
    worker_num,
    submit_time,
    duration,
    job_type,
  };
  static constexpr std::array<csv_column, 9> columns = {{{"job_name"},
                                                         {"organization", false},
                                                         {"gpu_model", false},
                                                         {"cpu_request", false},
                                                         {"gpu_request"},
                                                         {"worker_num"},
                                                         {"submit_time"},
                                                         {"duration"},
                                                         {"job_type"}}};
  static constexpr std::string_view name = "spot";
  static constexpr std::string_view tenant = "organization";
  static constexpr bool has_dates = false;
  static constexpr bool numbers_jobs = false;
  static constexpr std::int64_t high_priority = 100;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>& table) {
    vector<trace_column> all{trace_column::pods, trace_column::priority, trace_column::job_class,
                             trace_column::preemptible};
    if (table.has(column::gpu_model)) all.push_back(trace_column::gpu_model);
    if (table.has(column::cpu_request)) all.push_back(trace_column::cpu_milli);
    return all;
  }
  static void read(csv_table<column>& row, imported_job& job) {
    job.id = row.required_text(column::job_name, "the name of a job");
    job.gpu_model = row.text(column::gpu_model);
    job.submit = read_seconds(row, column::submit_time);
    job.duration = read_seconds(row, column::duration);
    job.pods = row.required_whole(column::worker_num, 1, most_gpus).value_or(1);
    job.gpus = row.required_milli(column::gpu_request, "a number of GPUs", 0, most_gpus).value_or(0);
    job.cpu_milli = row.milli(column::cpu_request, "a number of cores", 0, most_cores).value_or(0) * job.pods;
    job.job_class = row.text(column::job_type);
    if (job.job_class == "HP") {
      job.preemptible = false;
      job.priority = high_priority;
    } else if (job.job_class != "Spot") {
      row.report(column::job_type, "expected HP or Spot, found " + shown(job.job_class));
    }
  }
};

}  // namespace

int import_philly(packed_input& file, import_log& log, const import_options& options) {
  constexpr std::size_t enough = 4096;
  if (look_of(file.peek(enough)).kind == file_kind::json) return import_philly_log(file, log, options);
  return import_table(file, log, options, philly{});
}
int import_helios(packed_input& file, import_log& log, const import_options& options) {
  return import_table(file, log, options, helios{});
}
int import_acme(packed_input& file, import_log& log, const import_options& options) {
  return import_table(file, log, options, acme{});
}
int import_spot(packed_input& file, import_log& log, const import_options& options) {
  return import_table(file, log, options, spot{});
}

int import_pai(packed_input& file, import_log& log, const import_options& options) {
  pai format;
  if (options.unit) {
    format.in_percent = *options.unit == "percent";
  } else {
    constexpr std::size_t enough = std::size_t{1} << 16U;
    format.in_percent = counts_percent(file.peek(enough));
    log.note("column num_gpu", format.in_percent
                                   ? "read as percents of a GPU, by the first rows (--unit says otherwise)"
                                   : "read as GPUs, by the first rows (--unit says otherwise)");
  }
  return import_table(file, log, options, format);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
