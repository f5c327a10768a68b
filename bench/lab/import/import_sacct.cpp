// SPDX-License-Identifier: BSL-1.0
// The accounting of a Slurm cluster, as `sacct --parsable2` prints it.
#include "lab/import/import_table.hpp"
#include "lab/import/import_times.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>

#include <algorithm>
#include <array>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1", as Slurm writes trackable resources.
struct trackable_resources {
  std::optional<std::int64_t> gpus{};
  std::string_view gpu_model{};
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
};

/// The amount in thousandths; memory in MiB: "64G", "500M", "1.50T", without a unit MiB.
[[nodiscard]] std::optional<std::int64_t> parse_amount(std::string_view text, bool is_memory) {
  column_unit unit;
  if (is_memory && !text.empty()) {
    constexpr std::array<std::pair<char, column_unit>, 4> units = {
        {{'K', {1000, 1024}}, {'M', {1000, 1}}, {'G', {1'024'000, 1}}, {'T', {1'048'576'000, 1}}}};
    for (const auto& [letter, of_letter] : units) {
      if (text.back() != letter) continue;
      unit = of_letter;
      text.remove_suffix(1);
      break;
    }
  }
  return parse_in_unit(text, unit);
}

/// Returns nullopt if the text is no such list.
[[nodiscard]] std::optional<trackable_resources> parse_resources(std::string_view text) {
  trackable_resources all;
  std::int64_t typed_gpus = 0;
  bool has_types = false;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = item.substr(0, equals);
    constexpr std::string_view gpu = "gres/gpu";
    const bool is_typed = name.size() > gpu.size() && name.substr(0, gpu.size() + 1) == "gres/gpu:";
    const bool is_memory = name == "mem";
    if (name != gpu && !is_typed && !is_memory && name != "cpu") continue;
    const auto n = parse_amount(item.substr(equals + 1), is_memory);
    if (!n) return std::nullopt;
    if (name == gpu) all.gpus = *n;
    if (name == "cpu") all.cpu_milli = *n;
    if (is_memory) all.memory_mib = (*n + 999) / 1000;
    if (is_typed) {
      typed_gpus += *n;
      // Of several types none is the model.
      all.gpu_model = has_types ? std::string_view{} : name.substr(gpu.size() + 1);
      has_types = true;
    }
  }
  if (!all.gpus && has_types) all.gpus = typed_gpus;
  return all;
}

class sacct {
 public:
  enum class column : std::uint8_t {
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
  };
  static constexpr std::array<csv_column, 11> columns = {{{"JobID"},
                                                          {"Submit"},
                                                          {"User", false},
                                                          {"Account", false},
                                                          {"Elapsed", false},
                                                          {"ElapsedRaw", false},
                                                          {"Timelimit", false},
                                                          {"TimelimitRaw", false},
                                                          {"AllocTRES", false},
                                                          {"ReqTRES", false},
                                                          {"QOS", false}}};
  static constexpr std::string_view name = "sacct";
  static constexpr std::string_view tenant = "Account";
  static constexpr bool has_dates = true;
  static constexpr bool numbers_jobs = false;
  static constexpr csv_dialect dialect{'|', false};

  explicit sacct(import_log& log) : log_(&log) {}

  [[nodiscard]] std::string problem_of(const csv_table<column>& table) {
    state_at_ = table.find("State");
    start_at_ = table.find("Start");
    if (!table.has(column::allocated) && !table.has(column::requested)) {
      return "expected the column AllocTRES or ReqTRES, which says how many GPUs a job has (sacct "
             "--format=...,AllocTRES)";
    }
    if (!table.has(column::elapsed) && !table.has(column::elapsed_raw)) {
      return "expected the column Elapsed or ElapsedRaw, which says how long a job ran (sacct "
             "--format=...,Elapsed)";
    }
    return {};
  }

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>& table) {
    vector<trace_column> all{trace_column::gpu_model, trace_column::cpu_milli, trace_column::memory_mib};
    if (table.has(column::qos)) all.insert(all.begin(), trace_column::job_class);
    if (table.has(column::user)) all.push_back(trace_column::user);
    if (table.has(column::time_limit) || table.has(column::time_limit_raw)) {
      all.push_back(trace_column::estimate_s);
    }
    return all;
  }

  /// Whether the row is not about a job that ran and ended.
  [[nodiscard]] bool skips(const csv_table<column>& row) {
    const std::string_view state = state_at_ ? row.field(*state_at_) : std::string_view{};
    const auto is = [&](std::string_view word) { return state.substr(0, word.size()) == word; };
    if (row.text(column::job_id).find('.') != std::string_view::npos) {
      ++steps_;
      return true;
    }
    if (is("RUNNING") || is("PENDING") || is("SUSPENDED") || is("REQUEUED") || is("RESIZING")) {
      ++unfinished_;
      return true;
    }
    if (start_at_ && is_unknown(row.field(*start_at_))) {
      ++never_ran_;
      return true;
    }
    return false;
  }

  void read(csv_table<column>& row, imported_job& job) const {
    job.id = row.required_text(column::job_id, "the id of a job");
    job.submit = read_date(row, column::submit);
    job.duration = read_duration(row);
    job.user = row.text(column::user);
    job.job_class = row.text(column::qos);
    const column resources = row.text(column::allocated).empty() ? column::requested : column::allocated;
    const auto has = parse_resources(row.text(resources));
    if (!has) {
      row.report(resources,
                 "expected resources, as in cpu=8,gres/gpu=2,mem=64G, found " + shown(row.text(resources)));
      return;
    }
    job.gpus = has->gpus.value_or(0);
    job.gpu_model = has->gpu_model;
    job.cpu_milli = has->cpu_milli;
    job.memory_mib = has->memory_mib;
    job.estimate = read_estimate(row);
  }

  void conclude() const {
    const auto note = [this](std::size_t n, std::string_view one, std::string_view several) {
      if (n > 0) log_->note({}, counted(n, one, several) + " left out");
    };
    note(steps_, "step of a job is", "steps of jobs are");
    note(unfinished_, "job that had not ended is", "jobs that had not ended are");
    note(never_ran_, "job that never ran is", "jobs that never ran are");
  }

 private:
  [[nodiscard]] static bool is_unknown(std::string_view text) {
    return text.empty() || text == "Unknown" || text == "None";
  }

  [[nodiscard]] static instant read_duration(csv_table<column>& row) {
    if (row.has(column::elapsed_raw)) return read_seconds(row, column::elapsed_raw);
    const std::string_view text = row.text(column::elapsed);
    const auto t = parse_clock_span(text);
    if (!t) row.report(column::elapsed, "expected a time as 1-02:30:00 or 02:30:00, found " + shown(text));
    return t.value_or(0);
  }

  /// In seconds; 0 for a limit that is none.
  [[nodiscard]] static std::int64_t read_estimate(csv_table<column>& row) {
    constexpr std::int64_t seconds_per_minute = 60;
    const std::string_view raw = row.text(column::time_limit_raw);
    if (!raw.empty() && raw != "UNLIMITED" && raw != "Partition_Limit") {
      return row.whole(column::time_limit_raw, 0, most_imported_units / seconds_per_minute).value_or(0) *
             seconds_per_minute;
    }
    const std::string_view text = row.text(column::time_limit);
    if (text.empty() || text == "UNLIMITED" || text == "Partition_Limit") return 0;
    const auto t = parse_clock_span(text);
    if (!t)
      row.report(column::time_limit, "expected a time as 1-02:30:00, or UNLIMITED, found " + shown(text));
    return t.value_or(0) / second;
  }

  import_log* log_;
  /// Where these are: they stay tags.
  std::optional<std::size_t> state_at_{};
  std::optional<std::size_t> start_at_{};
  std::size_t steps_ = 0;
  std::size_t unfinished_ = 0;
  std::size_t never_ran_ = 0;
};

}  // namespace

int import_sacct(packed_input& file, import_log& log, const import_options& options) {
  return import_table(file, log, options, sacct{log});
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
