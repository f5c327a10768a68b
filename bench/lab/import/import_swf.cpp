// SPDX-License-Identifier: BSL-1.0
#include "lab/import/import_trace.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/swf.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The fields without a counterpart in a canonical trace.
constexpr std::array tag_fields = {
    swf_field::wait_time,      swf_field::average_cpu_time, swf_field::used_memory,
    swf_field::requested_time, swf_field::status,           swf_field::executable,
    swf_field::partition,      swf_field::preceding_job,    swf_field::think_time};

[[nodiscard]] std::string_view name_of(swf_field f) {
  return swf_field_names[static_cast<std::size_t>(f)];
}

/// In whole seconds, rounded up.
[[nodiscard]] std::int64_t whole_seconds(instant t) {
  return (t + 999) / 1000;
}

[[nodiscard]] std::string text_of(const swf_job& job, swf_field f) {
  std::string text;
  if (const auto n = job.time(f)) append_milli(text, *n);
  return text;
}

/// "q2/g5": the owner of the job, as far as it is known.
[[nodiscard]] std::string tenant_of(const swf_job& job, const std::optional<swf_field>& chosen) {
  if (chosen) return text_of(job, *chosen);
  std::string path;
  const auto append = [&](swf_field f, char mark) {
    const auto n = job.whole(f);
    if (!n) return;
    if (!path.empty()) path += '/';
    path += mark + std::to_string(*n);
  };
  append(swf_field::queue, 'q');
  append(swf_field::group, 'g');
  return path;
}

/// The fields of which the trace needs no number: those that are only tags, or not in it at all.
[[nodiscard]] vector<swf_field> unneeded_fields(bool has_tenants, const std::optional<swf_field>& tenant) {
  vector<swf_field> fields;
  const auto add = [&](swf_field f) {
    if (f != tenant) fields.push_back(f);
  };
  add(swf_field::allocated_processors);
  for (const swf_field f : tag_fields) {
    if (f != swf_field::requested_time) add(f);
  }
  if (!has_tenants || tenant) add(swf_field::queue);
  if (!has_tenants || tenant) add(swf_field::group);
  return fields;
}

/// What is wrong first with a line that is left out, without what was found there.
[[nodiscard]] std::string reason_of(const vector<text_problem>& problems, const vector<swf_field>& unneeded) {
  const auto is_needed = [&](const text_problem& p) {
    return std::none_of(unneeded.begin(), unneeded.end(), [&](swf_field f) { return name_of(f) == p.field; });
  };
  const text_problem& p = *std::find_if(problems.begin(), problems.end(), is_needed);
  const std::string wrong = p.text.substr(0, p.text.find(", found"));
  return p.field.empty() ? wrong : p.field + ": " + wrong;
}

/// Fills in what the job asks for and how long it runs. Returns whether that is longer than it asked for.
[[nodiscard]] bool ask_for(const swf_job& from, instant run, std::int64_t processors, imported_job& job) {
  job.duration = run;
  job.gpus = std::min(processors, most_imported_units) * 1000;
  // Memory is in KB and per processor.
  constexpr std::int64_t kib_per_mib = 1024;
  const auto memory = from.whole(swf_field::requested_memory).value_or(0);
  job.memory_mib = memory > most_imported_units / std::max<std::int64_t>(1, processors)
                       ? most_imported_units + 1
                       : (memory * processors + kib_per_mib - 1) / kib_per_mib;
  // The archive's logs have jobs that ran a little longer than they had requested: they were not ended at
  // once. Simulations of backfilling take the run time for the estimate then.
  const instant requested = from.time(swf_field::requested_time).value_or(0);
  if (requested > 0) job.estimate = std::max(whole_seconds(requested), whole_seconds(run));
  return job.estimate > 0 && run > requested;
}

void note_left_out(const std::map<std::string, std::size_t>& lines,
                   const std::map<std::string, std::size_t>& values, import_log& log) {
  for (const auto& [reason, n] : lines) {
    log.note({}, counted(n, "line is", "lines are") + " left out: " + reason);
  }
  if (values.empty()) return;
  std::string all;
  for (const auto& [field, n] : values) {
    all.append(all.empty() ? "" : ", ").append(field).append(" (").append(std::to_string(n)).append(")");
  }
  log.note({}, "values that are no numbers are as if they were unknown: " + all);
}

}  // namespace

int import_swf(packed_input& file, import_log& log, const import_options& options) {
  std::optional<swf_field> tenant;
  if (options.tenant && !options.tenant->empty()) {
    const auto at = std::find(swf_field_names.begin(), swf_field_names.end(), *options.tenant);
    if (at == swf_field_names.end()) {
      return complain("--tenant: SWF has no field \"" + *options.tenant +
                          "\" (expected queue, group, user, partition or executable)",
                      "allot import");
    }
    tenant = static_cast<swf_field>(at - swf_field_names.begin());
  }
  const bool has_tenants = !options.tenant || !options.tenant->empty();
  vector<trace_column> columns{trace_column::memory_mib, trace_column::user, trace_column::estimate_s};
  if (has_tenants) columns.insert(columns.begin(), trace_column::tenant);
  vector<std::string> names;
  names.reserve(tag_fields.size());
  for (const swf_field f : tag_fields) names.emplace_back(name_of(f));
  trace_spool spool{std::move(columns), tag_names(names, "swf", log)};

  const vector<swf_field> unneeded = unneeded_fields(has_tenants, tenant);
  swf_reader lines{packed_source{&file}, swf_reader::default_line_limit, unneeded};
  // How many lines are left out, and values of fields that nothing needs, by reason.
  std::map<std::string, std::size_t> left_out;
  std::map<std::string, std::size_t> unread;
  const auto reject = [&](std::size_t line, swf_field f, std::string text, std::string_view reason = {}) {
    ++left_out[reason.empty() ? text : std::string{reason}];
    const text_problem problem{{line, 1}, std::string{name_of(f)}, std::move(text)};
    log.reject({&problem, 1});
  };
  std::array<std::string, tag_fields.size()> tags;
  std::array<std::string_view, tag_fields.size()> tag_texts;
  std::size_t without_gpus = 0;
  std::size_t overruns = 0;
  for (;;) {
    const swf_reader::outcome o = lines.next();
    if (o == swf_reader::outcome::end) break;
    if (o == swf_reader::outcome::failed) {
      report_failure(lines.problems(), file, log);
      return bad_input_status;
    }
    if (o == swf_reader::outcome::bad_line) {
      if (lines.is_cut_off()) {
        report_failure(lines.problems(), file, log);
        log.fail({}, "the file ends in the middle of this line (is it truncated?)");
        return bad_input_status;
      }
      ++left_out[reason_of(lines.problems(), unneeded)];
      log.reject(lines.problems());
      continue;
    }
    for (const text_problem& p : lines.problems()) ++unread[p.field];
    const swf_job& from = lines.job();
    const auto number = from.whole(swf_field::job_number);
    const auto submit = from.time(swf_field::submit_time);
    const auto run = from.time(swf_field::run_time);
    auto processors = from.whole(swf_field::requested_processors);
    if (!processors) processors = from.whole(swf_field::allocated_processors);
    if (!number) {
      reject(lines.line(), swf_field::job_number, "the job has no number");
    } else if (!submit) {
      reject(lines.line(), swf_field::submit_time, "it is not known when the job was submitted");
    } else if (!run) {
      reject(lines.line(), swf_field::run_time, "it is not known how long the job ran");
    } else if (!processors) {
      reject(lines.line(), swf_field::requested_processors,
             "it is not known how many processors the job had");
    } else if (*processors == 0 && options.gpu_only) {
      ++without_gpus;
    } else {
      const std::string id = std::to_string(*number);
      const std::string user = text_of(from, swf_field::user);
      const std::string tenant_name = has_tenants ? tenant_of(from, tenant) : std::string{};
      imported_job job;
      job.id = id;
      job.submit = *submit;
      job.user = user;
      job.tenant = tenant_name;
      const bool is_overrun = ask_for(from, *run, *processors, job);
      for (std::size_t i = 0; i < tags.size(); ++i) tag_texts[i] = tags[i] = text_of(from, tag_fields[i]);
      if (auto problem = spool.add(job, tag_texts, lines.line()); !problem.empty()) {
        reject(lines.line(), swf_field::job_number, std::move(problem),
               "its number was given before, or it asks for more than can be counted");
      } else if (is_overrun) {
        ++overruns;
      }
    }
  }
  if (spool.jobs() == 0 && log.rejected() == 0 && without_gpus == 0) {
    log.fail({}, "there is no job in the file (expected lines of 18 numbers)");
    return bad_input_status;
  }
  if (without_gpus > 0)
    log.note({},
             counted(without_gpus, "job without processors is", "jobs without processors are") + " left out");
  note_left_out(left_out, unread, log);
  log.note({}, "a processor of the trace is a GPU here");
  if (overruns > 0) {
    log.note({}, counted(overruns, "job", "jobs") +
                     " ran longer than requested_time says: the run time is the estimate");
  }
  return finish_import(spool, 0, log, options);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
