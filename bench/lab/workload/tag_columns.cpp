// SPDX-License-Identifier: BSL-1.0
#include "lab/workload/tag_columns.hpp"

#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_csv_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// What other systems and traces call these columns; in lower case.
constexpr std::array<std::pair<std::string_view, std::string_view>, 44> other_names = {
    {{"vc", "tenant"},
     {"virtual_cluster", "tenant"},
     {"queue", "tenant"},
     {"queue_name", "tenant"},
     {"team", "tenant"},
     {"group", "tenant"},
     {"project", "tenant"},
     {"account", "tenant"},
     {"organization", "tenant"},
     {"namespace", "tenant"},
     {"partition", "tenant"},
     {"quota", "tenant"},
     {"cluster", "tenant"},
     {"gang", "pods"},
     {"replicas", "pods"},
     {"workers", "pods"},
     {"worker_num", "pods"},
     {"num_inst", "pods"},
     {"num_pods", "pods"},
     {"min_available", "min_pods"},
     {"min_member", "min_pods"},
     {"job_type", "class"},
     {"job_class", "class"},
     {"qos", "class"},
     {"prio", "priority"},
     {"model", "gpu_model"},
     {"gpu_type", "gpu_model"},
     {"cpu", "cpu_milli"},
     {"cpus", "cpu_milli"},
     {"cpu_num", "cpu_milli"},
     {"memory", "memory_mib"},
     {"mem", "memory_mib"},
     {"username", "user"},
     {"checkpoint", "checkpoint_s"},
     {"ckpt_s", "checkpoint_s"},
     {"restart", "restart_s"},
     {"deadline", "deadline_s"},
     {"begin_time", "ready_s"},
     {"eligible_s", "ready_s"},
     {"ready_at", "ready_s"},
     {"timelimit", "estimate_s"},
     {"time_limit", "estimate_s"},
     {"walltime", "estimate_s"},
     {"requested_time", "estimate_s"}}};

[[nodiscard]] std::string lower_case(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Whether some job says something in that column.
[[nodiscard]] bool is_used(const trace& t, std::string_view column) {
  const auto* const at = std::find(trace_column_names.begin(), trace_column_names.end(), column);
  const auto which = static_cast<trace_column>(at - trace_column_names.begin());
  return std::any_of(t.jobs.begin(), t.jobs.end(), [&](const trace_job& j) { return says(j, which); });
}

}  // namespace

std::string_view trace_column_meant_by(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const auto& [other, column] : other_names) {
    if (other == lower) return column;
  }
  return nearest(lower, {trace_column_names.begin(), trace_column_names.end()});
}

vector<tag_column> unread_tag_columns(const trace& t, const std::set<std::size_t>& read) {
  vector<tag_column> columns;
  for (std::size_t i = 0; i < t.tag_columns.size(); ++i) {
    if (read.contains(i)) continue;
    const std::string& name = t.tag_columns[i];
    const std::string_view meant = trace_column_meant_by(name);
    const bool is_there = !meant.empty() && is_used(t, meant);
    columns.push_back({name, is_there ? std::string_view{} : meant});
  }
  return columns;
}

std::string doubtful_tags(const trace& t, std::string_view file, const std::set<std::size_t>& read) {
  std::string text;
  for (const tag_column& c : unread_tag_columns(t, read)) {
    if (c.meant.empty()) continue;
    text.append(file).append(": the column ").append(c.name).append(" is a tag, which no policy looks at");
    text.append(did_you_mean(c.meant)).append("\n");
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
