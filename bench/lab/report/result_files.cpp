// SPDX-License-Identifier: BSL-1.0
#include "lab/report/result_files.hpp"

#include "lab/report/figures_json.hpp"

#include <allot/core/vector.hpp>
#include <allot/core/version.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/sim/hash.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// A time that may be missing; then null.
void write_time(json_writer& json, std::string_view name, const std::optional<instant>& time) {
  json.key(name);
  time ? json.raw(decimal(*time)) : json.null();
}

struct span_of_jobs {
  std::optional<instant> first_submit;
  std::optional<instant> end;

  [[nodiscard]] std::optional<instant> makespan() const {
    return first_submit && end ? std::optional{*end - *first_submit} : std::nullopt;
  }
};

/// When the jobs of each quota were submitted and when the last of them ended.
vector<span_of_jobs> spans_of_quotas(const replay_result& r) {
  vector<span_of_jobs> spans(r.quotas.size());
  for (const replayed_job& j : r.jobs) {
    if (j.outcome == sim::job_outcome::refused || j.quota.index() >= spans.size()) continue;
    span_of_jobs& s = spans[j.quota.index()];
    if (!s.first_submit) s.first_submit = j.submit;
    if (j.start && j.end) s.end = std::max(s.end.value_or(0), *j.end);
  }
  return spans;
}

void write_quota(json_writer& json, const replay_result& r, const quota_figures& q,
                 const span_of_jobs& span) {
  json.key(r.quotas[q.quota.index()].name).begin_object();
  write_counts(json, q.of.jobs);
  write_times(json, q.of);
  write_time(json, "makespan_s", span.makespan());
  write_time(json, "end_s", span.end);
  write_rate(json, "allocation_rate", q.of.allocated, r.figures.capacity);
  write_hours(json, "allocated_gpu_h", q.of.allocated);
  json.member("preemptions", q.of.preemptions);
  write_hours(json, "lost_gpu_h", q.of.lost);
  write_hours(json, "borrowed_gpu_h", q.of.borrowed);
  write_hours(json, "lent_gpu_h", q.of.lent);
  write_rate(json, "satisfaction", q.satisfaction, static_cast<wide>(q.active) * 1'000'000);
  write_hours(json, "fair_share_error_gpu_h", q.of.fair_share_error);
  write_claims(json, q.reclaims);
  write_hardships(json, q.of);
  json.key("max_wait_s").raw(decimal(q.of.max_wait));
  write_finish_times(json, q.of.fairness);
  json.end_object();
}

/// Hash of all jobs and their submissions, whatever runs them.
[[nodiscard]] std::string jobs_hash(const replay_result& r) {
  sim::fingerprint jobs;
  for (const replayed_job& j : r.jobs) {
    jobs.add_text(j.id);
    jobs.add(j.submit);
    jobs.add(j.duration);
  }
  return jobs.hex();
}

void append_time(std::string& text, const std::optional<instant>& time) {
  if (time) append_milli(text, *time);
}

}  // namespace

std::string_view word_of(stop_reason why) noexcept {
  switch (why) {
    case stop_reason::until:
      return "until";
    case stop_reason::interrupt:
      return "interrupt";
    case stop_reason::max_queue:
      return "max_queue";
    case stop_reason::max_time:
      return "max_time";
  }
  return "";
}

std::string own_version() {
  std::string text = std::to_string(version_major);
  return text.append(".")
      .append(std::to_string(version_minor))
      .append(".")
      .append(std::to_string(version_patch));
}

std::string decimal(std::int64_t thousandths) {
  std::string text;
  append_milli(text, thousandths);
  return text;
}

std::string decimal_of_millionths(std::int64_t millionths) {
  std::string text = std::to_string(millionths / 1'000'000);
  if (millionths % 1'000'000 == 0) return text;
  const std::string places = std::to_string(1'000'000 + millionths % 1'000'000);
  text += '.';
  return text.append(places, 1, places.find_last_not_of('0'));
}

void write_summary(output_file& file, const replay_result& r, std::int64_t wall_ms) {
  const run_figures& f = r.figures;
  json_writer json{3};
  json.begin_object();
  json.member("format", "allot-summary/1");
  json.member("policy", r.policy);
  json.member("policy_name", r.policy_name);
  json.key("policy_set").begin_object();
  for (const auto& [key, value] : r.policy_given) json.member(key, value);
  json.end_object();
  json.member("version", own_version());
  json.member("seed", r.seed);
  json.member("input_hash", r.input_hash);
  json.member("jobs_hash", jobs_hash(r));
  json.member("decision_hash", r.decision_hash);
  if (r.stopped) {
    json.key("stopped").begin_object().member("reason", word_of(r.stopped->why));
    json.key("at_s").raw(decimal(r.stopped->at));
    json.end_object();
  }
  write_counts(json, f.of.jobs);
  write_times(json, f.of);
  write_window(json, r);
  json.key("makespan_s").raw(decimal(f.makespan()));
  json.key("end_s").raw(decimal(f.end));
  if (f.capacity_is_bounded) {
    write_rate(json, "allocation_rate", f.of.allocated, f.capacity);
    write_rate(json, "fragmentation", f.stranded, f.idle);
  } else {
    json.key("allocation_rate").null();
    json.key("fragmentation").null();
  }
  write_cluster(json, r);
  write_hours(json, "allocated_gpu_h", f.of.allocated);
  json.member("preemptions", f.of.preemptions);
  json.key("preemptions_by").begin_object();
  for (std::size_t i = 0; i < f.preemptions_by.size(); ++i) {
    json.member(to_string(static_cast<relation>(i)), f.preemptions_by[i]);
  }
  json.end_object();
  json.member("pods_given_up", f.pods_given_up);
  json.key("gang_collateral_gpus").raw(decimal(static_cast<std::int64_t>(f.over_preempted)));
  json.member("node_failures", f.of.node_failures);
  // Only where faults are simulated.
  if (f.of.failed_starts > 0) json.member("failed_starts", f.of.failed_starts);
  if (f.of.failed_evictions > 0) json.member("failed_evictions", f.of.failed_evictions);
  write_hours(json, "lost_gpu_h", f.of.lost);
  write_hours(json, "borrowed_gpu_h", f.of.borrowed);
  write_hours(json, "lent_gpu_h", f.of.lent);
  json.key("churn").raw(decimal_of_millionths(per_gpu_hour_in_millionths(f.of.preemptions, f.of.lent)));
  if (const auto index = mean_jain(f)) {
    json.key("jain").raw(decimal_of_millionths(*index));
  } else {
    json.key("jain").null();
  }
  write_hours(json, "fair_share_error_gpu_h", f.of.fair_share_error);
  write_hours(json, "max_fair_share_error_gpu_h", f.largest_fair_share_error());
  write_claims(json, f.reclaims);
  write_hardships(json, f.of);
  json.key("max_wait_s").raw(decimal(f.of.max_wait));
  write_finish_times(json, f.of.fairness);
  json.key("tenants").begin_object();
  const vector<span_of_jobs> spans = spans_of_quotas(r);
  for (const quota_figures& q : f.quotas) {
    if (r.shows(q.quota)) write_quota(json, r, q, spans[q.quota.index()]);
  }
  json.end_object();
  write_groups(json, r);
  write_isolated(json, r);
  json.member("decisions", r.decisions);
  json.member("events", r.events);
  json.member("livelocks", r.livelocks.instants);
  json.key("wall_s").raw(decimal(wall_ms));
  json.end_object();
  file.text() += json.text();
}

void write_jobs(output_file& file, const replay_result& r) {
  vector<std::string> quota_fields;
  for (const replayed_quota& q : r.quotas) append_csv_field(quota_fields.emplace_back(","), q.name);
  vector<std::string> node_fields;
  for (std::size_t n = 0; r.cluster != nullptr && n < r.cluster->size(); ++n) {
    append_csv_field(node_fields.emplace_back(), r.cluster->name(gpu::node_id{n}));
  }
  vector<std::string> class_fields;
  for (const std::string& name : r.classes) append_csv_field(class_fields.emplace_back(","), name);
  const bool has_estimates =
      std::any_of(r.jobs.begin(), r.jobs.end(), [](const replayed_job& j) { return j.estimate != 0; });
  std::string& text = file.text();
  text +=
      "job_id,quota,submit_s,start_s,end_s,wait_s,jct_s,preemptions,lost_s,nodes,state,reason,gpus,duration_"
      "s,class,fair_share_wait_s,fragmentation_wait_s,capacity_wait_s";
  text += has_estimates ? ",estimate_s,finish_time_fairness" : ",finish_time_fairness";
  text += r.has_speeds ? ",work_s\n" : "\n";
  std::string nodes;
  for (const replayed_job& j : r.jobs) {
    append_csv_field(text, j.id);
    text += quota_fields[j.quota.index()];
    append_milli(text += ',', j.submit);
    append_time(text += ',', j.start);
    append_time(text += ',', j.end);
    // A job that was never submitted has no waiting time, rather than zero.
    const bool came = j.outcome != sim::job_outcome::future;
    text += ',';
    if (came) append_milli(text, j.wait);
    text += ',';
    if (j.outcome == sim::job_outcome::completed) append_milli(text, *j.end - j.submit);
    append_whole(text += ',', j.preemptions);
    append_milli(text += ',', j.lost);
    text += ',';
    if (const sim::job_run* run = j.index ? r.log.last_run(*j.index) : nullptr; run != nullptr) {
      const auto pods = r.log.pods(*run);
      if (pods.size() == 1) {
        text += node_fields[pods.front().where.node.index()];
      } else if (!pods.empty()) {
        nodes.clear();
        append_nodes(nodes, *r.cluster, pods);
        append_csv_field(text, nodes);
      }
    }
    text += ',';
    text += to_string(j.outcome);
    text += ',';
    text += j.reason;
    append_milli(text += ',', j.gpus);
    append_milli(text += ',', j.duration);
    text += j.job_class < class_fields.size() ? class_fields[j.job_class] : ",";
    // The rest of the waiting time is `order`.
    for (const wait_cause c : {wait_cause::fair_share, wait_cause::fragmentation, wait_cause::capacity}) {
      text += ',';
      if (came) append_milli(text, j.wait_for[static_cast<std::size_t>(c)]);
    }
    if (has_estimates) text += ',';
    if (j.estimate != 0) append_whole(text, j.estimate);
    text += ',';
    if (j.fairness) text += decimal_of_millionths(*j.fairness);
    if (r.has_speeds) append_milli(text += ',', j.work);
    text += '\n';
    file.flush_if_full();
  }
}

void append_nodes(std::string& text, const gpu::cluster& cluster, std::span<const sim::run_pod> pods) {
  vector<gpu::node_id> named;
  named.reserve(pods.size());
  gpu::node_id last;
  for (const sim::run_pod& pod : pods) {
    const gpu::node_id node = pod.where.node;
    // Mostly they are in the order of the nodes.
    const bool is_new = named.empty() || last < node;
    if (!is_new && std::find(named.begin(), named.end(), node) != named.end()) continue;
    if (!named.empty()) text += ';';
    text += cluster.name(node);
    named.push_back(node);
    last = is_new ? node : last;
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
