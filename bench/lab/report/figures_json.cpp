// SPDX-License-Identifier: BSL-1.0
#include "lab/report/figures_json.hpp"

#include "lab/report/result_files.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/metrics/node_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// A sum of milliseconds in seconds.
void write_sum(json_writer& json, std::string_view name, wide milliseconds) {
  json.key(name).raw(decimal(static_cast<std::int64_t>(milliseconds)));
}

void write_group(json_writer& json, std::string_view name, const job_figures& f) {
  json.key(name).begin_object();
  write_counts(json, f.jobs);
  write_times(json, f);
  json.member("preemptions", f.preemptions);
  write_hours(json, "lost_gpu_h", f.lost);
  write_hardships(json, f);
  json.key("max_wait_s").raw(decimal(f.max_wait));
  write_finish_times(json, f.fairness);
  json.end_object();
}

void write_gpus(json_writer& json, std::string_view name, const std::optional<std::int64_t>& milli) {
  json.key(name);
  milli ? json.raw(decimal(*milli)) : json.null();
}

/// A ratio in millionths that exists only if there are jobs.
void write_ratio(json_writer& json, std::string_view name, std::size_t jobs, std::int64_t millionths) {
  json.key(name);
  jobs != 0 ? json.raw(decimal_of_millionths(millionths)) : json.null();
}

/// The allocation rate of the GPUs of each part of the nodes that has a name.
void write_parts(json_writer& json, std::string_view key, const vector<std::string>& names,
                 const vector<part_figures>& figures) {
  json.key(key).begin_object();
  for (std::size_t p = 0; p < std::min(names.size(), figures.size()); ++p) {
    // A pool that is split by flavors is one pool to the user.
    const std::string_view name = pool_as_given(names[p]);
    const auto is_it = [&](const std::string& other) { return pool_as_given(other) == name; };
    const auto first = std::find_if(names.begin(), names.end(), is_it) - names.begin();
    if (name.empty() || static_cast<std::size_t>(first) != p) continue;
    part_figures all;
    for (std::size_t q = p; q < figures.size(); ++q) {
      if (!is_it(names[q])) continue;
      all.capacity += figures[q].capacity;
      all.allocated += figures[q].allocated;
    }
    json.key(name).begin_object();
    write_rate(json, "allocation_rate", all.allocated, all.capacity);
    write_hours(json, "capacity_gpu_h", all.capacity);
    json.end_object();
  }
  json.end_object();
}

/// How evenly the nodes were used: the minimum, median and maximum allocation rate of a node.
void write_nodes(json_writer& json, const replay_result& r) {
  json.key("nodes").begin_object();
  const time_window& w = r.figures.window;
  if (r.cluster != nullptr && w.begin < w.end) {
    const vector<wide> times = gpu_time_by_node(r.log, r.cluster->size(), w);
    vector<std::int64_t> rates;
    for (std::size_t n = 0; n < times.size(); ++n) {
      const std::int64_t gpus = r.cluster->gpus(gpu::node_id{n});
      if (gpus == 0) continue;
      rates.push_back(
          rate_in_millionths(times[n], static_cast<wide>(gpus * 1000) * static_cast<wide>(w.end - w.begin)));
    }
    std::sort(rates.begin(), rates.end());
    if (!rates.empty()) {
      json.key("allocation_rate").begin_object();
      json.key("min").raw(decimal_of_millionths(rates.front()));
      json.key("p50").raw(decimal_of_millionths(rates[percentile_index(rates.size(), 50)]));
      json.key("max").raw(decimal_of_millionths(rates.back()));
      json.end_object();
    }
  }
  json.end_object();
}
}  // namespace

void write_sample(json_writer& json, std::string_view name, const sample_summary& s) {
  json.key(name).begin_object();
  // Without jobs there is no mean.
  const auto write = [&](std::string_view key, std::int64_t value) {
    json.key(key);
    s.count == 0 ? json.null() : json.raw(decimal(value));
  };
  write("mean", s.mean());
  write("p50", s.p50);
  write("p90", s.p90);
  write("p99", s.p99);
  write("max", s.max);
  json.end_object();
}

void write_counts(json_writer& json, const job_counts& jobs) {
  json.key("jobs").begin_object();
  json.member("total", std::uint64_t{jobs.total});
  json.member("completed", std::uint64_t{jobs.completed});
  json.member("unfinished", std::uint64_t{jobs.unfinished});
  json.member("refused", std::uint64_t{jobs.refused});
  json.member("cancelled", std::uint64_t{jobs.cancelled});
  json.member("time_limit", std::uint64_t{jobs.time_limit});
  json.member("waiting", std::uint64_t{jobs.waiting});
  json.member("running", std::uint64_t{jobs.running});
  json.member("not_submitted", std::uint64_t{jobs.future});
  json.end_object();
}

void write_hours(json_writer& json, std::string_view name, wide gpu_time) {
  json.key(name).raw(decimal(milli_gpu_hours(gpu_time)));
}

void write_rate(json_writer& json, std::string_view name, wide part, wide whole) {
  json.key(name).raw(decimal_of_millionths(rate_in_millionths(part, whole)));
}

void write_times(json_writer& json, const job_figures& f) {
  write_sample(json, "jct_s", f.jct);
  write_sample(json, "queue_s", f.queue);
  write_sample(json, "wait_s", f.wait);
  write_sample(json, "slowdown", f.slowdown);
  json.key("waited_s").begin_object();
  write_sum(json, "total", f.waited.total());
  for (std::size_t c = 0; c < wait_cause_count; ++c) {
    write_sum(json, to_string(static_cast<wait_cause>(c)), f.waited.by[c]);
  }
  json.end_object();
}

void write_hardships(json_writer& json, const job_figures& f) {
  json.member("preempted_jobs", f.preempted_jobs);
  write_rate(json, "preemptions_per_job", f.preemptions, f.submitted);
  json.member("max_preemptions", std::uint64_t{f.most_preemptions});
  json.member("unstarted", std::uint64_t{f.unstarted});
  write_rate(json, "starved", f.starved, f.came);
  json.key("deadlines").begin_object();
  json.member("jobs", std::uint64_t{f.deadlines.jobs});
  json.member("met", std::uint64_t{f.deadlines.met});
  write_ratio(json, "attainment", f.deadlines.jobs, rate_in_millionths(f.deadlines.met, f.deadlines.jobs));
  json.end_object();
}

void write_finish_times(json_writer& json, const finish_time_figures& f) {
  json.key("finish_time_fairness").begin_object();
  json.member("jobs", std::uint64_t{f.jobs});
  write_ratio(json, "mean", f.jobs, f.mean());
  write_ratio(json, "max", f.jobs, f.max);
  write_rate(json, "above_1", f.above_one, f.jobs);
  write_rate(json, "above_1.05", f.unfair, f.jobs);
  json.end_object();
}

void write_claims(json_writer& json, const reclaim_figures& f) {
  json.key("quota_violation_s").raw(decimal(f.violated));
  json.key("reclaims").begin_object();
  json.member("met", std::uint64_t{f.latency.count});
  json.member("open", std::uint64_t{f.open});
  write_sample(json, "latency_s", f.latency);
  json.end_object();
}

void write_window(json_writer& json, const replay_result& r) {
  const run_figures& f = r.figures;
  json.key("window").begin_object();
  json.key("from_s").raw(decimal(f.window.begin));
  json.key("to_s").raw(decimal(f.window.end));
  json.member("jobs", std::uint64_t{f.of.submitted});
  json.end_object();
  json.key("grace_s").raw(decimal(r.measured.grace));
  json.key("measured").begin_object();
  for (const auto& [option, value] : window_options(r.measured)) json.member(option, value);
  json.end_object();
}

void write_cluster(json_writer& json, const replay_result& r) {
  const run_figures& f = r.figures;
  const wide useful = f.of.allocated - std::min(f.of.allocated, f.lost_of_allocated);
  if (f.capacity_is_bounded) {
    write_rate(json, "useful_utilisation", useful, f.capacity);
    write_hours(json, "idle_gpu_h", f.idle);
    write_hours(json, "stranded_gpu_h", f.idle_while_unplaceable);
    write_hours(json, "gathered_idle_gpu_h", f.idle_while_gathered);
  } else {
    json.key("useful_utilisation").null();
    json.key("idle_gpu_h").null();
    json.key("stranded_gpu_h").null();
    json.key("gathered_idle_gpu_h").null();
  }
  if (f.fragments && f.capacity_is_bounded) {
    json.key("fragments").begin_object();
    write_rate(json, "of_capacity", *f.fragments, f.capacity);
    write_rate(json, "of_idle", *f.fragments, f.idle);
    json.end_object();
  } else {
    json.key("fragments").null();
  }
  static const vector<std::string> none;
  write_parts(json, "models", r.cluster != nullptr ? r.cluster->models() : none, r.figures.models);
  write_parts(json, "pools", r.cluster != nullptr ? r.cluster->pools() : none, r.figures.pools);
  write_nodes(json, r);
  const auto span = static_cast<wide>(f.window.end - f.window.begin);
  json.key("largest_gang").begin_object();
  if (f.smallest_largest_gang && span != 0) {
    json.key("mean").raw(decimal(static_cast<std::int64_t>((f.largest_gang * 1000 + span / 2) / span)));
    json.member("min", *f.smallest_largest_gang);
  } else {
    json.key("mean").null();
    json.key("min").null();
  }
  json.end_object();
}

void write_groups(json_writer& json, const replay_result& r) {
  const run_figures& f = r.figures;
  json.key("classes").begin_object();
  // If no job has a class, there are no classes.
  for (std::size_t c = 0; f.classes.size() > 1 && c < f.classes.size() && c < r.classes.size(); ++c) {
    if (f.classes[c].jobs.total == 0) continue;
    write_group(json, r.classes[c], f.classes[c]);
  }
  json.end_object();
  json.key("sizes").begin_object();
  for (std::size_t s = 0; s < f.sizes.size(); ++s) {
    if (f.sizes[s].jobs.total != 0) write_group(json, size_names[s], f.sizes[s]);
  }
  json.end_object();
}

void write_isolated(json_writer& json, const replay_result& r) {
  if (!r.measured.isolated) return;
  finish_time_figures all;
  const tenant_alone* worst = nullptr;
  for (const tenant_alone& t : r.alone) {
    all += t.finish_time;
    const bool is_known = t.quota_gpus && t.anomaly.jobs != 0;
    if (is_known && (worst == nullptr || t.anomaly.anomaly() > worst->anomaly.anomaly())) worst = &t;
  }
  json.key("isolated").begin_object();
  json.key("sharing_anomaly_s");
  worst != nullptr ? json.raw(decimal(worst->anomaly.anomaly())) : json.null();
  json.key("of");
  if (worst != nullptr) {
    json.value(r.quotas[static_cast<std::size_t>(worst - r.alone.data())].name);
  } else {
    json.null();
  }
  write_finish_times(json, all);
  json.key("tenants").begin_object();
  for (std::size_t x = 0; x < r.alone.size(); ++x) {
    const tenant_alone& t = r.alone[x];
    if (!t.quota_gpus && !t.share_gpus) continue;
    json.key(r.quotas[x].name).begin_object();
    json.key("on_quota").begin_object();
    write_gpus(json, "gpus", t.quota_gpus);
    json.member("jobs", std::uint64_t{t.anomaly.jobs});
    json.member("too_large", std::uint64_t{t.too_large_for_quota});
    const auto seconds = [&](std::string_view name, std::int64_t value) {
      json.key(name);
      t.anomaly.jobs != 0 ? json.raw(decimal(value)) : json.null();
    };
    seconds("queue_shared_s", t.anomaly.mean_shared());
    seconds("queue_alone_s", t.anomaly.mean_alone());
    seconds("sharing_anomaly_s", t.anomaly.anomaly());
    json.end_object();
    json.key("on_share").begin_object();
    write_gpus(json, "gpus", t.share_gpus);
    json.member("too_large", std::uint64_t{t.too_large_for_share});
    write_finish_times(json, t.finish_time);
    json.end_object();
    json.end_object();
  }
  json.end_object();
  json.end_object();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
