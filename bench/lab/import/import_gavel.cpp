// SPDX-License-Identifier: BSL-1.0
// The traces of Gavel and Shockwave: how many steps a job has, and a table of how many each kind of job does
// in a second on each GPU model.
#include "lab/import/import_table.hpp"
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The names of the fields, which the files do not have, by the number of fields: three generations of Gavel,
/// and Shockwave.
constexpr std::array<std::string_view, 6> of_six = {"job_type",    "command",      "num_steps_arg",
                                                    "total_steps", "arrival_time", "scale_factor"};
constexpr std::array<std::string_view, 9> of_nine = {"job_type",        "command",     "num_steps_arg",
                                                     "needs_data_dir",  "total_steps", "scale_factor",
                                                     "priority_weight", "slo",         "arrival_time"};
constexpr std::array<std::string_view, 10> of_ten = {
    "job_type",    "command",      "working_directory", "num_steps_arg", "needs_data_dir",
    "total_steps", "scale_factor", "priority_weight",   "slo",           "arrival_time"};
constexpr std::array<std::string_view, 12> of_twelve = {
    "job_type",     "command", "working_directory", "num_steps_arg", "needs_data_dir", "total_steps",
    "scale_factor", "mode",    "priority_weight",   "slo",           "duration",       "arrival_time"};

[[nodiscard]] std::span<const std::string_view> fields_of(std::size_t number) {
  switch (number) {
    case of_six.size():
      return of_six;
    case of_nine.size():
      return of_nine;
    case of_ten.size():
      return of_ten;
    case of_twelve.size():
      return of_twelve;
    default:
      return {};
  }
}

/// Steps a second of each kind of job with so many GPUs of one model, without others on them.
class throughputs {
 public:
  /// Reads {"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 55.1, ...}}}. On an error, `problem` says
  /// what it is.
  [[nodiscard]] bool read(const std::string& path, const std::string& model, std::string& problem) {
    errors found;
    packed_input file{path};
    const auto text = file.read_all();
    const auto document = text ? json_document::parse(path, *text, found) : std::nullopt;
    if (!document || !document->root().is_object()) {
      problem = path + ": " + (text ? "expected a table of throughputs, as JSON" : file.problem());
      return false;
    }
    std::string models;
    std::optional<json_value> chosen;
    document->root().for_each([&](json_value value) {
      models.append(models.empty() ? "" : ", ").append(value.key());
      if (!chosen && (model.empty() || value.key() == model)) chosen = value;
    });
    if (!chosen || !chosen->is_object()) {
      problem = path + ": there is no GPU model \"" + model + "\" (expected " + models + ')';
      return false;
    }
    model_ = chosen->key();
    chosen->for_each([&](json_value kind) {
      const auto alone = kind.is_object() ? kind.find("null") : std::nullopt;
      double rate = 0;
      if (!alone || !alone->is_number()) return;
      const std::string_view digits = alone->text();
      std::from_chars(digits.data(), digits.data() + digits.size(), rate);
      if (rate > 0) rates_.emplace(kind.key(), rate);
    });
    return true;
  }
  [[nodiscard]] const std::string& model() const noexcept { return model_; }
  [[nodiscard]] std::optional<double> of(std::string_view job_type, std::int64_t gpus) const {
    const auto at = rates_.find(fmt::format("('{}', {})", job_type, gpus));
    return at == rates_.end() ? std::nullopt : std::optional{at->second};
  }

 private:
  std::string model_;
  std::map<std::string, double, std::less<>> rates_;
};

struct gavel {
  enum class column : std::uint8_t { job_type, total_steps, scale_factor, arrival_time, duration };
  static constexpr std::array<csv_column, 5> columns = {
      {{"job_type"}, {"total_steps"}, {"scale_factor"}, {"arrival_time"}, {"duration", false}}};
  static constexpr std::string_view name = "gavel";
  static constexpr std::string_view tenant = {};
  static constexpr bool has_dates = false;
  static constexpr bool numbers_jobs = true;
  static constexpr csv_dialect dialect{'\t', false};

  std::span<const std::string_view> header;
  const throughputs* rates = nullptr;

  [[nodiscard]] static vector<trace_column> written(const csv_table<column>&) {
    return {trace_column::job_class};
  }
  void read(csv_table<column>& row, imported_job& job) const {
    constexpr std::int64_t largest = 1'000'000;
    constexpr std::int64_t most_steps = 1'000'000'000'000;
    // Of a model and its batch size; policies that know speeds look them up by it.
    job.job_class = row.required_text(column::job_type, "a model and its batch size");
    job.submit = read_seconds(row, column::arrival_time);
    const auto gpus = row.required_whole(column::scale_factor, 1, largest);
    const auto steps = row.required_whole(column::total_steps, 0, most_steps);
    job.gpus = gpus.value_or(0) * 1000;
    if (rates == nullptr) {
      job.duration = read_seconds(row, column::duration);
      return;
    }
    if (!gpus || !steps) return;
    const auto rate = rates->of(job.job_class, *gpus);
    if (!rate) {
      row.report(column::job_type, fmt::format("the throughputs of {} have no {} on {} GPUs", rates->model(),
                                               shown(job.job_class), *gpus));
      return;
    }
    constexpr double milliseconds = 1000;
    job.duration = std::llround(static_cast<double>(*steps) * milliseconds / *rate);
  }
};

}  // namespace

int import_gavel(packed_input& file, import_log& log, const import_options& options) {
  constexpr std::size_t enough = std::size_t{1} << 14U;
  const std::string_view beginning = file.peek(enough);
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const auto fields = static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t')) + 1;
  gavel format{fields_of(fields)};
  if (format.header.empty()) {
    log.fail("line 1",
             fmt::format("expected 6, 9, 10 or 12 fields with tabs between them, found {}", fields));
    return bad_input_status;
  }
  throughputs rates;
  if (!options.throughputs.empty()) {
    std::string problem;
    if (!rates.read(options.throughputs, options.gpu_model, problem))
      return complain(problem, "allot import");
    log.note({},
             "durations are those on GPUs of the model " + rates.model() + ", from " + options.throughputs);
    format.rates = &rates;
  } else if (fields != of_twelve.size()) {
    log.fail({},
             "the file says how many steps a job has, not how long one takes: expected --throughputs FILE");
    return bad_input_status;
  }
  return import_table(file, log, options, format);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
