// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace_csv_writer.hpp>

#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/trace_csv.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// How much is passed on at once.
constexpr std::size_t piece = std::size_t{1} << 16U;

/// Appends the field of a job in a column; empty if it was not given.
void append_trace_field(std::string& row, const trace& t, const trace_job& job, name_id pod_set,
                        trace_column column) {
  const auto number = [&row](std::int64_t n) { row += std::to_string(n); };
  const auto time = [&row](std::optional<instant> value) {
    if (value) append_milli(row, *value);
  };
  switch (column) {
    case trace_column::job_id:
      return append_csv_field(row, t.ids[job.id]);
    case trace_column::submit_s:
      return append_milli(row, job.submit);
    case trace_column::duration_s:
      return append_milli(row, job.duration);
    case trace_column::gpus:
      return append_milli(row, job.gpus.in_milli());
    case trace_column::tenant:
      return append_csv_field(row, t.tenants[job.tenant]);
    case trace_column::pods:
      return job.pods != 0 ? number(job.pods) : void();
    case trace_column::min_pods:
      return job.min_pods != 0 ? number(job.min_pods) : void();
    case trace_column::priority:
      return number(job.priority);
    case trace_column::job_class:
      return append_csv_field(row, t.words[job.job_class]);
    case trace_column::preemptible:
      row += job.preemptible ? "true" : "false";
      return;
    case trace_column::gpu_model:
      return append_csv_field(row, t.words[job.gpu_model]);
    case trace_column::cpu_milli:
      return number(job.cpu_milli);
    case trace_column::memory_mib:
      return number(job.memory_mib);
    case trace_column::user:
      return append_csv_field(row, t.words[job.user]);
    case trace_column::checkpoint_s:
      return time(job.checkpoint);
    case trace_column::restart_s:
      return append_milli(row, job.restart);
    case trace_column::deadline_s:
      return time(job.deadline);
    case trace_column::estimate_s:
      return job.estimate != 0 ? number(job.estimate) : void();
    case trace_column::ready_s:
      return job.ready != 0 ? append_milli(row, job.ready) : void();
    case trace_column::pod_set:
      return append_csv_field(row, t.words[pod_set]);
    case trace_column::tag:
      return;
  }
}

/// The job as if it had the pods of this set alone.
[[nodiscard]] trace_job job_of_set(trace_job job, const trace_pod_set& set) {
  job.gpus = set.gpus;
  job.pods = set.pods;
  job.min_pods = set.min_pods;
  job.gpu_model = set.gpu_model;
  job.cpu_milli = set.cpu_milli;
  job.memory_mib = set.memory_mib;
  return job;
}

}  // namespace

bool says(const trace_job& job, trace_column column) {
  switch (column) {
    case trace_column::job_id:
    case trace_column::submit_s:
    case trace_column::duration_s:
    case trace_column::gpus:
      return true;
    case trace_column::tenant:
      return !job.tenant.is_none();
    case trace_column::pods:
      return job.pods != 0;
    case trace_column::min_pods:
      return job.min_pods != 0;
    case trace_column::priority:
      return job.priority != 0;
    case trace_column::job_class:
      return !job.job_class.is_none();
    case trace_column::preemptible:
      return !job.preemptible;
    case trace_column::gpu_model:
      return !job.gpu_model.is_none();
    case trace_column::cpu_milli:
      return job.cpu_milli != 0;
    case trace_column::memory_mib:
      return job.memory_mib != 0;
    case trace_column::user:
      return !job.user.is_none();
    case trace_column::checkpoint_s:
      return job.checkpoint.has_value();
    case trace_column::restart_s:
      return job.restart != 0;
    case trace_column::deadline_s:
      return job.deadline.has_value();
    case trace_column::estimate_s:
      return job.estimate != 0;
    case trace_column::ready_s:
      return job.ready != 0;
    case trace_column::pod_set:
      return job.sets != 0;
    case trace_column::tag:
      break;
  }
  return false;
}

void write_trace_csv(const trace& t, const text_sink& sink) {
  std::array<bool, trace_column_names.size()> written{};
  std::string text;
  for (std::size_t c = 0; c < written.size(); ++c) {
    const auto column = static_cast<trace_column>(c);
    written[c] = column <= trace_column::gpus;
    for (std::size_t i = 0; i < t.jobs.size() && !written[c]; ++i) {
      written[c] = says(t.jobs[i], column);
      for (const trace_pod_set& set : t.sets_of(t.jobs[i])) {
        written[c] = written[c] || says(job_of_set(t.jobs[i], set), column);
      }
    }
    if (!written[c]) continue;
    if (c != 0) text += ',';
    text += trace_column_names[c];
  }
  for (const std::string& name : t.tag_columns) append_csv_field(text += ',', name);
  text += '\n';

  const auto write_row = [&](const trace_job& job, name_id pod_set) {
    for (std::size_t c = 0; c < written.size(); ++c) {
      if (!written[c]) continue;
      if (c != 0) text += ',';
      append_trace_field(text, t, job, pod_set, static_cast<trace_column>(c));
    }
    for (std::size_t c = 0; c < t.tag_columns.size(); ++c) append_csv_field(text += ',', t.tag(job, c));
    text += '\n';
    if (text.size() >= piece) {
      sink(text);
      text.clear();
    }
  };
  for (const trace_job& job : t.jobs) {
    if (job.sets == 0) write_row(job, name_id::none());
    for (const trace_pod_set& set : t.sets_of(job)) write_row(job_of_set(job, set), set.name);
  }
  sink(text);
}

std::string to_csv(const trace& t) {
  std::string all;
  write_trace_csv(t, [&all](std::string_view text) { all += text; });
  return all;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
