// SPDX-License-Identifier: BSL-1.0
// Microsoft's trace of 2017 as it was published: cluster_job_log, a list of jobs with their attempts in JSON.
#include "lab/import/import_table.hpp"
#include "lab/import/import_times.hpp"
#include "lab/io/json_reader.hpp"

#include <array>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The text or number there; empty if there is none.
[[nodiscard]] std::string_view text_of(json_value from, std::string_view key) {
  if (!from.is_object()) return {};
  const auto v = from.find(key);
  return v && (v->is_string() || v->is_number()) ? v->text() : std::string_view{};
}

template <class Visit>
void for_each_of(json_value from, std::string_view key, Visit visit) {
  if (!from.is_object()) return;
  const auto list = from.find(key);
  if (list && list->is_array()) list->for_each(visit);
}

/// A time that is known: "None" and null are none, and nothing ran in 1970.
[[nodiscard]] std::optional<instant> time_of(json_value from, std::string_view key) {
  const auto t = parse_timestamp(text_of(from, key));
  return t && is_known_time(*t) ? t : std::nullopt;
}

struct attempt {
  std::optional<instant> start;
  std::optional<instant> end;
  std::int64_t gpus = 0;
  std::size_t machines = 0;

  /// Whether it is known how long it ran, and on how many GPUs.
  [[nodiscard]] bool is_run() const { return start && end && *end >= *start && gpus > 0; }
};

[[nodiscard]] attempt read_attempt(json_value from) {
  attempt a{time_of(from, "start_time"), time_of(from, "end_time")};
  for_each_of(from, "detail", [&](json_value machine) {
    ++a.machines;
    for_each_of(machine, "gpus", [&](json_value) { ++a.gpus; });
  });
  return a;
}

}  // namespace

int import_philly_log(packed_input& file, import_log& log, const import_options& options) {
  const auto text = file.read_all();
  if (!text) {
    log.fail({}, file.problem());
    return bad_input_status;
  }
  errors found;
  const auto document = json_document::parse(shown_path(options.file), *text, found);
  if (!document) return complain(found);
  if (!document->root().is_array()) {
    log.fail({}, "expected a list of jobs, as cluster_job_log of Philly is");
    return bad_input_status;
  }
  const std::string tenant = options.tenant.value_or("vc");
  vector<trace_column> columns{trace_column::user};
  if (!tenant.empty()) columns.insert(columns.begin(), trace_column::tenant);
  trace_spool spool{std::move(columns), {"status", "attempts", "node_num"}};
  named_count never_ran;
  named_count retried;
  named_count open;
  named_count early;
  std::size_t earlier = 0;
  std::int64_t earlier_gpu_ms = 0;
  std::size_t number = 0;
  bool has_tenants = false;
  document->root().for_each([&](json_value from) {
    ++number;
    const std::string_view id = text_of(from, "jobid");
    const auto reject = [&](std::string_view wrong) {
      log.reject(from.pointer() + " (" + std::string{id} + ')', wrong);
    };
    if (id.empty()) return log.reject(from.pointer(), "expected a job with a jobid");
    std::size_t attempts = 0;
    std::size_t runs = 0;
    bool has_begun = false;
    bool has_open_end = false;
    attempt last;
    for_each_of(from, "attempts", [&](json_value v) {
      ++attempts;
      const attempt a = read_attempt(v);
      has_begun = has_begun || a.start || a.gpus > 0;
      has_open_end = a.start && !a.end;
      if (!a.is_run()) return;
      if (++runs > 1) {
        ++earlier;
        earlier_gpu_ms += last.gpus * (*last.end - *last.start);
      }
      last = a;
    });
    if (!has_begun) return never_ran.add(id);
    if (runs == 0) return reject("it is not known how long it ran, or on which GPUs");
    const auto submit = time_of(from, "submitted_time");
    if (!submit) return reject("it is not known when it was submitted (submitted_time)");
    imported_job job;
    job.id = id;
    job.submit = *submit;
    job.duration = *last.end - *last.start;
    job.gpus = last.gpus * 1000;
    job.tenant = text_of(from, tenant);
    has_tenants = has_tenants || !job.tenant.empty();
    job.user = text_of(from, "user");
    const std::string of_attempts = std::to_string(attempts);
    const std::string machines = std::to_string(last.machines);
    const std::array<std::string_view, 3> tags{text_of(from, "status"), of_attempts, machines};
    if (const auto wrong = spool.add(job, tags, number); !wrong.empty()) return reject(wrong);
    if (runs > 1) retried.add(id, 1);
    if (has_open_end) open.add(id);
    if (*last.start < *submit) early.add(id);
  });
  const auto note = [&](const named_count& jobs, std::string_view text_after) {
    if (!jobs.empty()) log.note({}, jobs.text("job", "jobs") + std::string{text_after});
  };
  log.leave_out(never_ran.size(), "job that never ran is", "jobs that never ran are",
                " " + never_ran.names());
  if (!retried.empty()) {
    constexpr std::int64_t ms_per_hour = 3'600'000;
    note(retried, " had several attempts: the last that ended is the job, and " +
                      counted(earlier, "earlier one", "earlier ones") + ", of " +
                      std::to_string(earlier_gpu_ms / ms_per_hour) +
                      " GPU-hours, were preempted or tried again: a replay has its own");
  }
  note(open, ": the end of the last attempt is not known; the one before it is the job");
  note(early, " started before submission: only the run time is used");
  if (options.tenant && !tenant.empty() && !has_tenants) {
    return complain("--tenant: no job has \"" + tenant + '"', "allot import");
  }
  const auto origin = origin_of(spool, log, options);
  return origin ? finish_import(spool, *origin, log, options) : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
