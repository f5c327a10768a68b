// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_trace.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/number_text.hpp"
#include "lab/scenario/scenario_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/timestamp.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Precedes the texts of a job in the temporary file.
struct spooled {
  instant submit = 0;
  std::optional<instant> ready{};
  std::optional<instant> deadline{};
  std::uint32_t id_size = 0;
  std::uint32_t rest_size = 0;
};

[[nodiscard]] std::string last_error(std::string_view doing) {
  return std::string{doing}.append(": ").append(std::strerror(errno));
}

/// Of what a job says of all its pod sets.
[[nodiscard]] std::size_t hash_of_job(const imported_job& job) {
  std::string all;
  for (const std::string_view text : {job.tenant, job.job_class, job.user})
    append_csv_field(all += ',', text);
  for (const std::int64_t n :
       {job.submit, job.duration, job.priority, std::int64_t{job.preemptible}, job.checkpoint.value_or(-1),
        job.restart, job.estimate, job.ready.value_or(-1), job.deadline.value_or(-1)}) {
    all.append(",").append(std::to_string(n));
  }
  return std::hash<std::string>{}(all);
}

}  // namespace

trace_spool::trace_spool(vector<trace_column> columns, vector<std::string> tags)
    : columns_(std::move(columns)), tags_(std::move(tags)), file_(std::tmpfile()) {
  const auto take = [this](trace_column column) {
    const auto at = std::find(columns_.begin(), columns_.end(), column);
    const bool is_there = at != columns_.end();
    if (is_there) columns_.erase(at);
    return is_there;
  };
  has_ready_ = take(trace_column::ready_s);
  has_deadline_ = take(trace_column::deadline_s);
  // With a file size limit, writing too much is then an error like a full disk instead of a fatal signal.
  std::signal(SIGXFSZ, SIG_IGN);
}

trace_spool::~trace_spool() {
  if (file_ != nullptr) std::fclose(file_);
}

std::string trace_spool::problem_of(const imported_job& job, std::size_t line) {
  if (job.id.empty()) return "the job has no id";
  if (job.gpus / 1000 > most_imported_units / std::max<std::int64_t>(1, job.pods) ||
      job.cpu_milli > most_imported_units || job.memory_mib > most_imported_units) {
    return "the job asks for more than can be counted (expected at most " +
           std::to_string(most_imported_units) + ")";
  }
  if (auto problem = problem_of_gpus(quantity::milli(job.gpus)); !problem.empty()) return problem;
  const auto known = ids_.find(job.id);
  if (!job.pod_set.empty() && (!known || agreed_[known.index()])) {
    const std::size_t said = hash_of_job(job);
    if (known && agreed_[known.index()] != said) {
      return "the job says something else than on line " + std::to_string(lines_[known.index()]) +
             " (expected the same in all rows of a job, but for the pods of each pod_set)";
    }
    const std::size_t number = known ? known.index() : ids_.size();
    if (!sets_.intern(std::to_string(number).append("/").append(job.pod_set)).added) {
      return "the job has more than one pod set " + shown(job.pod_set);
    }
    if (known) return {};
    agreed_.push_back(said);
  } else if (known) {
    return "the job id " + shown(job.id) + " was given before, on line " +
           std::to_string(lines_[known.index()]);
  } else {
    agreed_.emplace_back();
  }
  ids_.intern(job.id);
  lines_.push_back(line);
  return {};
}

void trace_spool::append_field(trace_column column, const imported_job& job) {
  switch (column) {
    case trace_column::tenant:
      return append_csv_field(row_, job.tenant);
    case trace_column::pods:
      if (job.pods != 0) row_ += std::to_string(job.pods);
      return;
    case trace_column::min_pods:
      if (job.min_pods != 0) row_ += std::to_string(job.min_pods);
      return;
    case trace_column::checkpoint_s:
      if (job.checkpoint) append_milli(row_, *job.checkpoint);
      return;
    case trace_column::restart_s:
      return append_milli(row_, job.restart);
    case trace_column::priority:
      row_ += std::to_string(job.priority);
      return;
    case trace_column::job_class:
      return append_csv_field(row_, job.job_class);
    case trace_column::preemptible:
      row_ += job.preemptible ? "true" : "false";
      return;
    case trace_column::gpu_model:
      return append_csv_field(row_, job.gpu_model);
    case trace_column::cpu_milli:
      row_ += std::to_string(job.cpu_milli);
      return;
    case trace_column::memory_mib:
      row_ += std::to_string(job.memory_mib);
      return;
    case trace_column::user:
      return append_csv_field(row_, job.user);
    case trace_column::pod_set:
      return append_csv_field(row_, job.pod_set);
    case trace_column::estimate_s:
      if (job.estimate != 0) row_ += std::to_string(job.estimate);
      return;
    default:
      ALLOT_ASSERT(column == trace_column::user, "a column that importers fill in");
  }
}

std::string trace_spool::add(const imported_job& job, std::span<const std::string_view> tags,
                             std::size_t line) {
  if (auto problem = problem_of(job, line); !problem.empty()) return problem;
  row_.clear();
  append_csv_field(row_, job.id);
  spooled head{job.submit, job.ready, job.deadline, static_cast<std::uint32_t>(row_.size()), 0};
  row_ += ',';
  append_milli(row_, job.duration);
  row_ += ',';
  append_milli(row_, job.gpus * std::max<std::int64_t>(1, job.pods));
  for (const trace_column column : columns_) {
    row_ += ',';
    append_field(column, job);
  }
  for (const std::string_view tag : tags) append_csv_field(row_ += ',', tag);
  row_ += '\n';
  head.rest_size = static_cast<std::uint32_t>(row_.size()) - head.id_size;
  // A failed write is detected when the file is read back.
  if (file_ != nullptr) {
    std::fwrite(&head, sizeof head, 1, file_);
    std::fwrite(row_.data(), 1, row_.size(), file_);
  }
  times_.add(job.submit, job.duration);
  return {};
}

std::string trace_spool::header() const {
  std::string text = "job_id,submit_s";
  if (has_ready_) text += ",ready_s";
  if (has_deadline_) text += ",deadline_s";
  text += ",duration_s,gpus";
  for (const trace_column column : columns_) {
    text += ',';
    text += trace_column_names[static_cast<std::size_t>(column)];
  }
  for (const std::string& tag : tags_) append_csv_field(text += ',', tag);
  return text + '\n';
}

std::string trace_spool::write(instant origin, const import_options& options) {
  if (file_ == nullptr) return last_error("can't make a temporary file");
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0 || std::fseek(file_, 0, SEEK_SET) != 0) {
    return last_error("can't write a temporary file");
  }
  output_target out;
  if (std::string problem = out.open(options.out, options.force); !problem.empty()) return problem;
  out.text() += header();
  for (std::size_t i = 0; i < times_.rows; ++i) {
    spooled head;
    if (std::fread(&head, sizeof head, 1, file_) != 1) return last_error("can't read a temporary file");
    row_.resize(std::size_t{head.id_size} + head.rest_size);
    if (std::fread(row_.data(), 1, row_.size(), file_) != row_.size()) {
      return last_error("can't read a temporary file");
    }
    std::string& text = out.text();
    text.append(row_, 0, head.id_size);
    text += ',';
    append_milli(text, head.submit - origin);
    if (has_ready_) text += ',';
    if (has_ready_ && head.ready) append_milli(text, *head.ready - origin);
    if (has_deadline_) text += ',';
    if (has_deadline_ && head.deadline) append_milli(text, *head.deadline - origin);
    text.append(row_, head.id_size);
    out.flush_if_full();
  }
  return out.publish();
}

int finish_import(trace_spool& spool, instant origin, import_log& log, const import_options& options) {
  if (const std::string doubt = doubt_of_times(spool.times()); !doubt.empty()) log.note({}, doubt);
  log.finish();
  if (log.rejected() > 0 && options.strict) {
    log.fail({}, grouped(log.rejected()) + " rows are wrong, and --strict allows none: nothing is written");
    return bad_input_status;
  }
  if (spool.jobs() == 0 && log.rejected() > 0) {
    log.fail({}, "no row can be carried over: nothing is written");
    return bad_input_status;
  }
  if (const std::string problem = spool.write(origin, options); !problem.empty()) {
    return complain(problem, "allot import");
  }
  std::string text = grouped(spool.jobs()) + (spool.jobs() == 1 ? " job" : " jobs");
  if (log.left_out() > 0) text += " of " + grouped(spool.jobs() + log.left_out());
  if (log.rejected() > 0)
    text += ", " + grouped(log.rejected()) + (log.rejected() == 1 ? " row left out" : " rows left out");
  log.fail({}, text);
  return 0;
}

std::optional<instant> origin_of(const trace_spool& spool, import_log& log, const import_options& options) {
  if (!options.origin) {
    if (spool.jobs() > 0) {
      log.note({}, "submissions count from the first, " + to_timestamp(spool.first_submit()));
    }
    return spool.first_submit();
  }
  const auto origin = parse_timestamp(*options.origin);
  if (!origin) {
    complain("--origin: expected a date, as in \"2017-09-04\" or \"2017-09-04 10:30:00\", found \"" +
                 *options.origin + '"',
             "allot import");
    return std::nullopt;
  }
  if (spool.jobs() > 0 && spool.first_submit() < *origin) {
    complain(
        "--origin: the first job is submitted at " + to_timestamp(spool.first_submit()) + ", before that",
        "allot import");
    return std::nullopt;
  }
  return origin;
}

vector<std::string> tag_names(const vector<std::string>& columns, std::string_view format, import_log& log) {
  vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = column;
    const auto is_taken = [&] {
      return std::find(trace_column_names.begin(), trace_column_names.end(), name) !=
                 trace_column_names.end() ||
             std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_taken()) {
      name = std::string{format}.append("_").append(column);
      while (is_taken()) name += '_';
      std::string text{"kept as the tag "};
      text.append(name).append(", because a canonical trace has a column ").append(column);
      log.note("column " + column, text);
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::optional<char> separator_of(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  const bool is_one =
      text.size() == 1 && std::string_view{"\"\r\n"}.find(text.front()) == std::string_view::npos;
  return is_one && text.front() > '\0' ? std::optional{text.front()} : std::nullopt;
}

void report_failure(std::span<const text_problem> problems, const packed_input& file, import_log& log) {
  for (const text_problem& p : problems) {
    if (file.problem().empty()) {
      log.fail({}, to_string(p));
    } else {
      log.fail("line " + std::to_string(p.place.line) + ", column " + std::to_string(p.place.column),
               file.problem());
    }
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
