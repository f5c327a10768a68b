// SPDX-License-Identifier: BSL-1.0
// Alibaba's trace of 2023: a list of pods becomes a trace, a list of nodes the cluster of a scenario.
#include "lab/import/import_table.hpp"
#include "lab/io/number_text.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/openb_csv.hpp>

#include <algorithm>
#include <span>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Whether the header row is that of a list of nodes.
[[nodiscard]] bool lists_nodes(std::string_view beginning) {
  csv_reader csv{string_source{beginning}};
  if (csv.next() != csv_reader::outcome::record) return false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (csv.text(i) == "sn") return true;
  }
  return false;
}

/// "T4" for {"T4"}, "V100M16|V100M32" for both: the canonical trace has one text for the models.
[[nodiscard]] std::string joined(const vector<std::string>& models) {
  std::string text;
  for (const std::string& model : models) text += (text.empty() ? "" : "|") + model;
  return text;
}

[[nodiscard]] std::string seconds(instant t) {
  std::string text;
  append_milli(text, t);
  return text + " s";
}

[[nodiscard]] std::optional<instant> read_span(const std::optional<std::string>& text, const char* option,
                                               instant otherwise) {
  if (!text) return otherwise;
  const parsed_milli n = parse_milli(*text);
  if (n.problem == decimal_problem::none && n.value >= 0 && n.value <= most_imported_units) return n.value;
  complain(std::string{option} + ": expected a number of seconds, found \"" + *text + '"', "allot import");
  return std::nullopt;
}

int import_pods(packed_input& file, import_log& log, const import_options& options) {
  using table = csv_table<openb_pod_column>;
  using column = openb_pod_column;
  const auto gap = read_span(options.gap, "--gap", second);
  const auto duration = read_span(options.duration, "--duration", hour);
  if (!gap || !duration) return bad_input_status;
  table rows{packed_source{&file}, openb_pod_columns};
  if (!rows.open()) {
    report_failure(rows.problems(), file, log);
    return bad_input_status;
  }
  const bool has_times = rows.has(column::creation_time) && rows.has(column::deletion_time);
  if (!has_times && (rows.has(column::creation_time) || rows.has(column::deletion_time))) {
    log.fail("line 1", "expected both creation_time and deletion_time, or none of them");
    return bad_input_status;
  }
  const std::string tenant = options.tenant.value_or(std::string{});
  const auto tenant_at = tenant.empty() ? std::nullopt : rows.find(tenant);
  if (!tenant.empty() && !tenant_at) {
    return complain("--tenant: the file has no column \"" + tenant + '"', "allot import");
  }
  if (!has_times) {
    log.note({}, "the list has no times: its pods are submitted in its order, " + seconds(*gap) +
                     " apart (--gap), and each runs for " + seconds(*duration) + " (--duration)");
  }

  vector<trace_column> written{trace_column::pods};
  if (tenant_at) written.insert(written.begin(), trace_column::tenant);
  const bool has_qos = rows.has(column::qos);
  if (has_qos) written.append({trace_column::job_class, trace_column::preemptible});
  if (rows.has(column::gpu_spec)) written.push_back(trace_column::gpu_model);
  written.append({trace_column::cpu_milli, trace_column::memory_mib});
  vector<std::string> tags{"num_gpu", "gpu_milli"};
  const bool has_phase = rows.has(column::pod_phase);
  if (has_phase) tags.emplace_back("pod_phase");
  for (std::size_t i = 0; i < rows.others(); ++i) tags.emplace_back(rows.other_name(i));
  trace_spool spool{std::move(written), tag_names(tags, "openb", log)};

  vector<std::string_view> tag_texts(tags.size());
  std::size_t without_gpus = 0;
  std::size_t in_parts = 0;
  std::size_t never_ran = 0;
  const auto read = [&](std::size_t) -> std::span<const text_problem> {
    const openb_pod pod = read_openb_row(rows);
    if (has_times && !pod.creation_s && rows.text(column::creation_time).empty()) {
      rows.report(column::creation_time, "expected a number of seconds, found nothing");
    }
    if (has_times && !pod.deletion_s && rows.text(column::deletion_time).empty()) {
      rows.report(column::deletion_time, "expected a number of seconds, found nothing");
    }
    const bool is_scheduled = !rows.has(column::scheduled_time) || pod.scheduled_s.has_value();
    if (pod.scheduled_s && pod.deletion_s && *pod.scheduled_s > *pod.deletion_s) {
      rows.report(column::scheduled_time, "expected a time that is not after the deletion");
    }
    if (!rows.problems().empty()) return rows.problems();
    if (has_times && !is_scheduled) {
      ++never_ran;
      return {};
    }
    if (options.gpu_only && pod.num_gpu == 0) {
      ++without_gpus;
      return {};
    }
    imported_job job;
    job.id = pod.name;
    if (has_times) {
      job.submit = *pod.creation_s * second;
      job.duration = (*pod.deletion_s - pod.scheduled_s.value_or(*pod.creation_s)) * second;
    } else {
      job.submit = static_cast<instant>(spool.jobs()) * *gap;
      job.duration = *duration;
    }
    job.pods = 1;
    job.gpus = pod.num_gpu * pod.gpu_milli;
    in_parts += pod.num_gpu > 1 && pod.gpu_milli < 1000 ? 1U : 0U;
    if (tenant_at) job.tenant = rows.field(*tenant_at);
    job.job_class = pod.qos;
    job.preemptible = pod.qos != "LS" && pod.qos != "Guaranteed";
    const std::string models = joined(pod.gpu_spec);
    job.gpu_model = models;
    job.cpu_milli = pod.cpu_milli;
    job.memory_mib = pod.memory_mib;
    std::size_t t = 0;
    tag_texts[t++] = rows.text(column::num_gpu);
    tag_texts[t++] = rows.text(column::gpu_milli);
    if (has_phase) tag_texts[t++] = pod.pod_phase;
    for (std::size_t i = 0; i < rows.others(); ++i) tag_texts[t++] = rows.other(i);
    if (auto problem = spool.add(job, tag_texts, rows.place().line); !problem.empty()) {
      const text_problem at{rows.place(), {}, std::move(problem)};
      log.reject({&at, 1});
    }
    return {};
  };
  if (!for_each_row(rows, file, log, read)) return bad_input_status;
  log.leave_out(never_ran, "pod that was never scheduled is", "pods that were never scheduled are",
                " (it is not known how long it would have run)");
  log.leave_out(without_gpus, "pod without GPUs is", "pods without GPUs are");
  if (in_parts > 0) {
    log.note({}, counted(in_parts, "pod asks", "pods ask") +
                     " for parts of several GPUs: a canonical trace has the sum only");
  }
  return finish_import(spool, 0, log, options);
}

}  // namespace

int import_openb(packed_input& file, import_log& log, const import_options& options) {
  constexpr std::size_t enough = std::size_t{1} << 12U;
  const std::string_view beginning = file.peek(enough);
  return lists_nodes(beginning) ? import_nodes(file, log, options) : import_pods(file, log, options);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
