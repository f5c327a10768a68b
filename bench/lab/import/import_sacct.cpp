// SPDX-License-Identifier: BSL-1.0
// The accounting of a Slurm cluster, as sacct prints it. Its rows are runs and steps; those of one job are
// found by its id, which may be in any order and far apart, so all of them are in memory until the end.
#include "lab/import/import_fields.hpp"
#include "lab/import/import_times.hpp"
#include "lab/import/import_trace.hpp"
#include "lab/import/sacct_rows.hpp"
#include "lab/import/sacct_values.hpp"
#include "lab/io/errors.hpp"

#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/name_table.hpp>
#include <allot/lab/timestamp.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

namespace allot {
inline namespace v0 {
namespace lab {

namespace embedded {
extern const std::string_view sacct_tsv;
}  // namespace embedded

namespace {

enum class run_phase : std::uint8_t { never_ran, pending, running, ended };

/// A row that is no step.
struct sacct_run {
  /// Of the cluster, the id and the user, in `keys_`.
  name_id key;
  run_phase phase = run_phase::ended;
  sacct_state state = sacct_state::ended;
  instant submit = 0;
  std::optional<instant> start{};
  std::optional<instant> eligible{};
  instant duration = 0;
  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  /// On at least so many nodes, if that is more than one.
  std::int64_t nodes = 0;
  /// On how many it was.
  std::int64_t nodes_had = 0;
  std::int64_t estimate = 0;
  name_id user;
  name_id tenant;
  name_id job_class;
  name_id gpu_model;
  /// The end of each tag in `texts_`; the first begins where those of the run before end.
  std::size_t texts = 0;
  std::size_t line = 0;
};

/// A job: its last run, and what the others say about it.
struct sacct_job {
  sacct_run last;
  std::string id;
  /// What the whole is called of which it is a component.
  std::string gang;
  std::size_t earlier_runs = 0;
  bool is_rest_of_array = false;
  /// The runs of its components, if there are several; by their numbers.
  std::map<std::int64_t, sacct_run> components{};
};

[[nodiscard]] bool says_something(std::string_view text) {
  return !is_unknown(text) && text != "00:00:00" && text != "None assigned";
}

/// Whether it stands for a time that Slurm does not know.
[[nodiscard]] bool is_placeholder(std::string_view time) {
  return is_unknown(time) || time.starts_with("1970") || time.starts_with("1969");
}

class sacct_import {
 public:
  sacct_import(import_log& log, const import_options& options, sacct_times times)
      : log_(log), options_(options), times_(std::move(times)), fields_(embedded::sacct_tsv) {}

  bool open(const sacct_columns& columns) {
    columns_ = &columns;
    const auto missing = [&](std::string_view what) {
      log_.fail({}, "expected the column " + std::string{what});
      return false;
    };
    if (!columns.has(sacct_column::job_id)) return missing("JobID (in a header row, or named by --columns)");
    if (!columns.has(sacct_column::submit)) return missing("Submit, the time at which a job was submitted");
    if (!columns.has(sacct_column::allocated) && !columns.has(sacct_column::requested)) {
      return missing(
          "AllocTRES or ReqTRES, which says how many GPUs a job has (sacct --format=...,AllocTRES)");
    }
    if (!columns.has(sacct_column::elapsed) && !columns.has(sacct_column::elapsed_raw) &&
        !(columns.has(sacct_column::start) && columns.has(sacct_column::end))) {
      return missing("Elapsed or ElapsedRaw, which says how long a job ran (sacct --format=...,Elapsed)");
    }
    tenant_at_ = columns.at(sacct_column::account);
    if (options_.tenant)
      tenant_at_ = options_.tenant->empty() ? std::nullopt : columns.find(*options_.tenant);
    if (options_.tenant && !options_.tenant->empty() && !tenant_at_) {
      complain("--tenant: the file has no column \"" + *options_.tenant + '"', "allot import");
      return false;
    }
    for (const std::size_t at : columns.tags()) {
      const std::string& name = columns.names()[at];
      const imported_field* const field = fields_.find(columns_->names()[at]);
      if (field == nullptr) {
        log_.note("column " + name, "it is not known what it means: it is only kept as a tag");
      }
      noted_.push_back({field != nullptr && field->use == field_use::note ? field : nullptr, {}, {}});
    }
    return true;
  }

  void take(sacct_row& row) {
    const std::string_view text = row.text(sacct_column::job_id);
    const sacct_id id = parse_sacct_id(text);
    if (id.is_step) return steps_.add(text);
    if (text.empty()) row.report(sacct_column::job_id, "expected the id of a job, found nothing");
    sacct_run run;
    run.state = parse_sacct_state(row.text(sacct_column::state));
    run.line = row.number();
    run.submit = times_.parse(row.text(sacct_column::submit)).value_or(0);
    run.start = times_.parse(row.text(sacct_column::start));
    run.eligible = times_.parse(row.text(sacct_column::eligible));
    run.phase = phase_of(row, run);
    if (run.phase == run_phase::ended) read(row, run);
    if (row.is_wrong()) return row.leave_out(log_);
    const std::string_view cluster = row.text(sacct_column::cluster);
    if (!cluster.empty()) clusters_.intern(cluster);
    key_text_.assign(cluster).append(1, '\x1f').append(text).append(1, '\x1f').append(
        row.text(sacct_column::user));
    run.key = keys_.intern(key_text_).name;
    if (run.phase == run_phase::ended) {
      run.user = words_.intern(row.text(sacct_column::user)).name;
      run.job_class = words_.intern(row.text(sacct_column::qos)).name;
      run.tenant = words_.intern(tenant_at_ ? row.field(*tenant_at_) : std::string_view{}).name;
      for (const std::size_t at : columns_->tags()) texts_ += row.field(at), ends_.push_back(texts_.size());
      if (has_early_start(run)) has_early_starts_ = true;
      texts_ += row.text(sacct_column::submit);
      ends_.push_back(texts_.size());
    }
    run.texts = ends_.size();
    runs_.push_back(run);
  }

  int finish() {
    vector<sacct_job> jobs = find_jobs();
    merge_components(jobs);
    std::sort(jobs.begin(), jobs.end(),
              [](const sacct_job& a, const sacct_job& b) { return a.last.line < b.last.line; });
    const bool has_sets =
        std::any_of(jobs.begin(), jobs.end(), [](const sacct_job& j) { return j.components.size() > 1; });
    const bool has_pods = has_sets || std::any_of(jobs.begin(), jobs.end(),
                                                  [](const sacct_job& j) { return j.last.nodes > 0; });
    const bool has_earlier_runs =
        std::any_of(jobs.begin(), jobs.end(), [](const sacct_job& j) { return j.earlier_runs > 0; });
    vector<std::string> names;
    for (const std::size_t at : columns_->tags()) names.push_back(columns_->names()[at]);
    if (has_early_starts_)
      names.emplace_back(sacct_column_names[static_cast<std::size_t>(sacct_column::submit)]);
    if (has_earlier_runs) names.emplace_back("earlier_runs");
    trace_spool spool{written(has_pods, has_sets), tag_names(names, "sacct", log_)};
    for (const sacct_job& j : jobs) write(j, spool, has_earlier_runs);
    conclude();
    const auto origin = origin_of(spool, log_, options_);
    return origin ? finish_import(spool, *origin, log_, options_) : bad_input_status;
  }

 private:
  struct noted_column {
    /// What its values mean, if they are to be noted.
    const imported_field* field = nullptr;
    named_count jobs;
    std::string first_value;
    bool has_several = false;
  };

  [[nodiscard]] static bool has_early_start(const sacct_run& run) {
    return run.start && *run.start < run.submit;
  }

  // Rows.

  /// How long it ran, if that can be told.
  [[nodiscard]] std::optional<instant> elapsed_of(const sacct_row& row) const {
    if (columns_->has(sacct_column::elapsed_raw))
      return parse_in_unit(row.text(sacct_column::elapsed_raw), {});
    if (columns_->has(sacct_column::elapsed)) return parse_clock_span(row.text(sacct_column::elapsed));
    const auto start = times_.parse(row.text(sacct_column::start));
    const auto end = times_.parse(row.text(sacct_column::end));
    if (!start || !end || *end < *start) return std::nullopt;
    const std::string_view suspended = row.text(sacct_column::suspended);
    return *end - *start - std::min(*end - *start, parse_clock_span(suspended).value_or(0));
  }

  /// Whether the job had an allocation; nothing if no column says so.
  [[nodiscard]] std::optional<bool> was_allocated(const sacct_row& row) const {
    if (columns_->has(sacct_column::allocated)) return !row.text(sacct_column::allocated).empty();
    if (columns_->has(sacct_column::node_list)) return says_something(row.text(sacct_column::node_list));
    if (columns_->has(sacct_column::allocated_nodes)) {
      return says_something(row.text(sacct_column::allocated_nodes));
    }
    return std::nullopt;
  }

  /// By its state and what it had: Slurm gives a start to jobs that were cancelled while they waited, and
  /// none, or 1970, to some that ran.
  [[nodiscard]] run_phase phase_of(const sacct_row& row, const sacct_run& run) const {
    if (run.state == sacct_state::pending) return run_phase::pending;
    if (run.state == sacct_state::running) return run_phase::running;
    const bool has_time = elapsed_of(row).value_or(0) > 0;
    const bool starts =
        run.start || !columns_->has(sacct_column::start) || !is_placeholder(row.text(sacct_column::start));
    const auto allocated = was_allocated(row);
    const bool is_written_off = run.state == sacct_state::withdrawn && !has_time;
    if (!allocated) return (starts || has_time) && !is_written_off ? run_phase::ended : run_phase::never_ran;
    if (*allocated) return starts || has_time ? run_phase::ended : run_phase::never_ran;
    return starts && has_time ? run_phase::ended : run_phase::never_ran;
  }

  void read(sacct_row& row, sacct_run& run) {
    const std::string_view submit = row.text(sacct_column::submit);
    if (!times_.parse(submit)) {
      has_wrong_times_ = has_wrong_times_ || !is_placeholder(submit);
      row.report(sacct_column::submit,
                 "expected a date and time, as in 2017-10-09T07:01:55, found " + shown(submit));
    }
    read_duration(row, run);
    run.estimate = read_estimate(row);
    if (!read_resources(row, run)) return;
    if (run.nodes == 0) run.nodes = read_whole(row, sacct_column::requested_nodes);
    if (run.nodes < 2) run.nodes = 0;
  }

  void read_duration(sacct_row& row, sacct_run& run) const {
    const auto elapsed = elapsed_of(row);
    run.duration = elapsed.value_or(0);
    // No job runs that long: it is counted from 1970.
    constexpr instant longest = std::int64_t{20} * 365 * day;
    if (elapsed && run.duration > longest) {
      return row.report(sacct_column::start, "no job runs for " + std::to_string(run.duration / day) +
                                                 " days (its start is not known), found " +
                                                 shown(row.text(sacct_column::start)));
    }
    if (elapsed) return;
    if (columns_->has(sacct_column::elapsed_raw)) {
      row.report(sacct_column::elapsed_raw,
                 "expected a number of seconds, found " + shown(row.text(sacct_column::elapsed_raw)));
    } else if (columns_->has(sacct_column::elapsed)) {
      row.report(sacct_column::elapsed, "expected a time as 1-02:30:00 or 02:30:00, found " +
                                            shown(row.text(sacct_column::elapsed)));
    } else {
      row.report(sacct_column::end,
                 "expected a time that is not before the start, found " + shown(row.text(sacct_column::end)));
    }
  }

  /// In seconds; 0 for a limit that is none, or that of a partition.
  [[nodiscard]] std::int64_t read_estimate(sacct_row& row) {
    constexpr std::int64_t seconds_per_minute = 60;
    const std::string_view raw = row.text(sacct_column::time_limit_raw);
    const std::string_view text = row.text(sacct_column::time_limit);
    const auto is_none = [](std::string_view t) {
      return t.empty() || t == "UNLIMITED" || t == "Partition_Limit" || t == "INVALID" || t == "None";
    };
    if (raw == "Partition_Limit" || text == "Partition_Limit") {
      partition_limits_.add(row.text(sacct_column::job_id));
    }
    if (!is_none(raw)) {
      const auto minutes = parse_in_unit(raw, {1, 1});
      if (!minutes) {
        row.report(sacct_column::time_limit_raw, "expected a number of minutes, found " + shown(raw));
      }
      // The largest numbers of 32 bits are none to Slurm.
      constexpr std::int64_t none_from = 0xFFFFFFFE;
      return minutes.value_or(0) < none_from ? minutes.value_or(0) * seconds_per_minute : 0;
    }
    if (is_none(text)) return 0;
    const auto t = parse_clock_span(text);
    if (!t) {
      row.report(sacct_column::time_limit,
                 "expected a time as 1-02:30:00, or UNLIMITED, found " + shown(text));
    }
    return (t.value_or(0) + second - 1) / second;
  }

  [[nodiscard]] static std::int64_t read_whole(const sacct_row& row, sacct_column c) {
    const auto n = parse_in_unit(row.text(c), {1, 1});
    return n.value_or(0);
  }

  bool read_resources(sacct_row& row, sacct_run& run) {
    const std::string_view id = row.text(sacct_column::job_id);
    const auto requested = parse_trackable(row.text(sacct_column::requested));
    const bool is_allocated = !row.text(sacct_column::allocated).empty();
    const sacct_column which = is_allocated ? sacct_column::allocated : sacct_column::requested;
    const auto has = is_allocated ? parse_trackable(row.text(which)) : requested;
    if (!has) {
      row.report(which,
                 "expected resources, as in cpu=8,gres/gpu=2,mem=64G, found " + shown(row.text(which)));
      return false;
    }
    run.gpus = has->gpus + gpus_of_parts(has->shards, options_.shards, "gres/shard (--shards)", id) +
               gpus_of_parts(has->mps, options_.mps, "gres/mps (--mps)", id);
    // Parts of several GPUs are whole ones: a trace has none but whole GPUs and fractions of one.
    if (run.gpus > 1000 && has->shards + has->mps > 0) run.gpus = (run.gpus + 999) / 1000 * 1000;
    run.cpu_milli = has->cpu_milli;
    for (const sacct_column c :
         {sacct_column::allocated_cpus, sacct_column::cpus, sacct_column::requested_cpus}) {
      if (!has->has_cpu && run.cpu_milli == 0) run.cpu_milli = 1000 * read_whole(row, c);
    }
    run.memory_mib = has->memory_mib;
    run.gpu_model = words_.intern(has->gpu_model).name;
    if (requested) run.nodes = requested->nodes;
    if (is_allocated) run.nodes_had = has->nodes;
    if (has->has_several_models) several_models_.add(id);
    if (is_mig_profile(has->gpu_model)) mig_.add(id);
    for (const std::string& name : has->others) others_[name].add(id);
    return true;
  }

  /// Whether it is that of an instance of MIG: "1g.5gb", "a100_3g.20gb".
  [[nodiscard]] static bool is_mig_profile(std::string_view type) {
    const std::size_t g = type.find("g.");
    return g != std::string_view::npos && g > 0 && type[g - 1] >= '0' && type[g - 1] <= '9' &&
           type.find("gb", g) != std::string_view::npos;
  }

  /// In thousandths, rounded down so that the parts of a GPU still fit on it.
  [[nodiscard]] std::int64_t gpus_of_parts(std::int64_t parts, std::int64_t of_gpu, const char* name,
                                           std::string_view id) {
    if (parts == 0) return 0;
    if (of_gpu > 0) return std::max<std::int64_t>(1, std::min(parts, most_imported_units) * 1000 / of_gpu);
    parts_[name].add(id);
    return 0;
  }

  // Jobs.

  [[nodiscard]] std::string_view part_of_key(const sacct_run& run, std::size_t part) const {
    std::string_view key = keys_[run.key];
    for (; part > 0; --part) key.remove_prefix(key.find('\x1f') + 1);
    return key.substr(0, key.find('\x1f'));
  }
  [[nodiscard]] std::string_view cluster_of(const sacct_run& run) const { return part_of_key(run, 0); }
  [[nodiscard]] std::string_view id_of(const sacct_run& run) const { return part_of_key(run, 1); }

  /// The jobs that ran and ended: of the runs of each the last, in the order of their submissions and starts.
  [[nodiscard]] vector<sacct_job> find_jobs() {
    std::stable_sort(runs_.begin(), runs_.end(), [](const sacct_run& a, const sacct_run& b) {
      return std::tuple{a.key, a.submit, a.start.value_or(a.submit)} <
             std::tuple{b.key, b.submit, b.start.value_or(b.submit)};
    });
    vector<sacct_job> jobs;
    for (std::size_t i = 0; i < runs_.size();) {
      std::size_t end = i + 1;
      while (end < runs_.size() && runs_[end].key == runs_[i].key) ++end;
      add_job({runs_.data() + i, end - i}, jobs);
      i = end;
    }
    return jobs;
  }

  /// Whether two rows tell of one run at two times: files of overlapping spans of time have both.
  [[nodiscard]] static bool is_same_run(const sacct_run& a, const sacct_run& b) {
    return a.submit == b.submit && (!a.start || !b.start || a.start == b.start);
  }

  void add_job(std::span<const sacct_run> rows, vector<sacct_job>& jobs) {
    vector<sacct_run> runs;
    for (const sacct_run& r : rows) {
      if (!runs.empty() && is_same_run(runs.back(), r)) {
        ++told_again_;
        if (r.phase >= runs.back().phase) runs.back() = r;
      } else {
        runs.push_back(r);
      }
    }
    const sacct_run& first = runs.front();
    const std::string name = name_of(first);
    const sacct_id id = parse_sacct_id(id_of(first));
    if (id.at_once > 0 && arrays_.intern(id.base).added) throttled_.add(id.base);
    const sacct_run& newest = runs.back();
    const std::string gang = id.is_component ? name.substr(0, name.rfind('+')) : std::string{};
    const auto leave_out = [&] {
      if (id.is_component) unfinished_gangs_.intern(gang);
      unfinished_.add(name, tasks_of(id));
    };
    if (newest.phase == run_phase::pending || newest.phase == run_phase::running) return leave_out();
    const auto ran = [](const sacct_run& r) { return r.phase == run_phase::ended; };
    std::size_t last = runs.size();
    while (last > 0 && !ran(runs[last - 1])) --last;
    if (last == 0) return never_ran_.add(name, tasks_of(id));
    sacct_job job{runs[last - 1], name, gang, 0, id.is_rest_of_array};
    if (job.last.state == sacct_state::requeued || job.last.state == sacct_state::resized) {
      return leave_out();
    }
    if (job.last.state == sacct_state::cut_short) cut_short_.add(name);
    bool is_resized = false;
    for (std::size_t i = last - 1; i > 0; --i) {
      const sacct_run& before = runs[i - 1];
      if (!ran(before)) continue;
      if (before.state == sacct_state::resized && job.earlier_runs == 0) {
        job.last.duration += before.duration;
        is_resized = true;
      } else {
        ++job.earlier_runs;
        ++earlier_runs_;
        earlier_gpu_ms_ += static_cast<double>(before.gpus) / 1000 * static_cast<double>(before.duration);
      }
    }
    if (is_resized) resized_.add(name);
    if (job.earlier_runs > 0) rerun_.add(name);
    job.last.submit = first.submit;
    job.last.eligible = first.eligible;
    jobs.push_back(std::move(job));
  }

  /// With its cluster if there are several, and told from others that had the same id.
  [[nodiscard]] std::string name_of(const sacct_run& run) {
    std::string name;
    if (clusters_.size() > 1) name.append(cluster_of(run)).append(":");
    name += id_of(run);
    if (ids_.intern(name).added) return name;
    reused_.add(name);
    for (std::size_t n = 2;; ++n) {
      if (std::string other = name + '#' + std::to_string(n); ids_.intern(other).added) return other;
    }
  }

  [[nodiscard]] std::size_t tasks_of(const sacct_id& id) {
    if (!id.is_rest_of_array) return 1;
    const array_tasks tasks = count_tasks(id.tasks);
    if (!tasks.is_whole) cut_off_.add(id.base);
    return std::max<std::size_t>(1, tasks.count);
  }

  /// The components of a heterogeneous job start together: they are the pod sets of one gang.
  void merge_components(vector<sacct_job>& jobs) {
    std::map<std::pair<std::string, name_id>, std::size_t> gangs;
    vector<sacct_job> merged;
    for (sacct_job& j : jobs) {
      if (j.gang.empty()) {
        merged.push_back(std::move(j));
        continue;
      }
      // It goes on as long as one of them does.
      if (unfinished_gangs_.find(j.gang)) {
        unfinished_.add(j.id);
        continue;
      }
      const auto number =
          static_cast<std::int64_t>(parse_in_unit(j.id.substr(j.gang.size() + 1), {1, 1}).value_or(0));
      const auto [at, is_new] = gangs.try_emplace({j.gang, j.last.user}, merged.size());
      if (is_new) {
        heterogeneous_.add(j.gang);
        j.id = j.gang;
        merged.push_back(j);
      }
      sacct_job& to = merged[at->second];
      to.components.emplace(number, j.last);
      to.last.duration = std::max(to.last.duration, j.last.duration);
      to.last.submit = std::min(to.last.submit, j.last.submit);
      // Without a limit of one there is none of all.
      to.last.estimate =
          std::min(to.last.estimate, j.last.estimate) == 0 ? 0 : std::max(to.last.estimate, j.last.estimate);
      to.earlier_runs = std::max(to.earlier_runs, j.earlier_runs);
    }
    jobs = std::move(merged);
  }

  // The trace.

  [[nodiscard]] vector<trace_column> written(bool has_pods, bool has_sets) const {
    vector<trace_column> all;
    if (tenant_at_) all.push_back(trace_column::tenant);
    if (has_pods) all.push_back(trace_column::pods);
    if (columns_->has(sacct_column::qos)) all.push_back(trace_column::job_class);
    all.push_back(trace_column::gpu_model);
    all.push_back(trace_column::cpu_milli);
    all.push_back(trace_column::memory_mib);
    if (columns_->has(sacct_column::user)) all.push_back(trace_column::user);
    if (columns_->has(sacct_column::time_limit) || columns_->has(sacct_column::time_limit_raw)) {
      all.push_back(trace_column::estimate_s);
    }
    if (columns_->has(sacct_column::eligible)) all.push_back(trace_column::ready_s);
    if (has_sets) all.push_back(trace_column::pod_set);
    return all;
  }

  [[nodiscard]] std::string_view text_of(const sacct_run& run, std::size_t tag) const {
    const std::size_t at = run.texts - (columns_->tags().size() + 1) + tag;
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view{texts_}.substr(begin, ends_[at] - begin);
  }

  void write(const sacct_job& from, trace_spool& spool, bool has_earlier_runs) {
    const sacct_run& run = from.last;
    imported_job job;
    job.id = from.id;
    job.submit = run.submit;
    if (run.eligible && *run.eligible > run.submit) job.ready = run.eligible;
    job.duration = run.duration;
    job.estimate = run.estimate;
    job.tenant = words_[run.tenant];
    job.job_class = words_[run.job_class];
    job.user = words_[run.user];
    const auto has_gpus = [](const auto& component) { return component.second.gpus > 0; };
    const bool any_gpus =
        run.gpus > 0 || std::any_of(from.components.begin(), from.components.end(), has_gpus);
    if (options_.gpu_only && !any_gpus) return without_gpus_.add(from.id);
    vector<std::string_view> tags;
    for (std::size_t i = 0; i < columns_->tags().size(); ++i) tags.push_back(text_of(run, i));
    note_columns(from, tags);
    if (has_early_starts_) tags.push_back(text_of(run, columns_->tags().size()));
    const std::string earlier = std::to_string(from.earlier_runs);
    if (has_earlier_runs) tags.push_back(earlier);
    if (has_early_start(run)) early_.add(from.id);
    const auto add = [&] {
      const auto problem = spool.add(job, tags, run.line);
      if (problem.empty()) return;
      const text_problem at{{run.line, 1}, {}, problem};
      log_.reject({&at, 1});
    };
    if (from.components.size() > most_pod_sets) {
      many_components_.add(from.id);
      ask_for(sum_of(from), 0, job);
      return add();
    }
    if (from.components.size() < 2) {
      ask_for(run, run.nodes, job);
      return from.is_rest_of_array ? write_tasks(from, job, add) : add();
    }
    for (const auto& [number, component] : from.components) {
      const std::string name = std::to_string(number);
      job.pod_set = name;
      // A pod set without a number of pods is one pod.
      ask_for(component,
              component.nodes > 0 ? component.nodes : std::max<std::int64_t>(1, component.nodes_had), job);
      job.pods = std::max<std::int64_t>(1, job.pods);
      add();
    }
  }

  /// What the components had together.
  [[nodiscard]] static sacct_run sum_of(const sacct_job& job) {
    sacct_run all = job.components.begin()->second;
    for (auto c = std::next(job.components.begin()); c != job.components.end(); ++c) {
      const sacct_run& more = c->second;
      all.gpus += more.gpus;
      all.cpu_milli += more.cpu_milli;
      all.memory_mib += more.memory_mib;
      if (more.gpus > 0 && all.gpu_model != more.gpu_model) all.gpu_model = name_id::none();
    }
    return all;
  }

  /// What a run had, split over as many nodes, if that is any number.
  void ask_for(const sacct_run& run, std::int64_t nodes, imported_job& job) {
    job.gpus = run.gpus;
    job.cpu_milli = run.cpu_milli;
    job.memory_mib = run.memory_mib;
    job.gpu_model = words_[run.gpu_model];
    job.pods = 0;
    if (nodes == 0) return;
    if (job.gpus % (nodes * 1000) == 0) {
      job.pods = nodes;
      job.gpus /= nodes;
    } else if (nodes > 1) {
      uneven_.add(id_of(run));
    }
  }

  /// What ran of an array that is told in one row: each task is a job.
  template <class Add>
  void write_tasks(const sacct_job& from, imported_job& job, Add add) {
    // The most that Slurm allows an array to have.
    constexpr std::size_t most_tasks = 4'000'001;
    const std::size_t bracket = from.id.find('[');
    const sacct_id id = parse_sacct_id(id_of(from.last));
    const array_tasks tasks = count_tasks(id.tasks);
    if (!tasks.is_whole) cut_off_.add(id.base);
    written_tasks_ += tasks.count;
    if (tasks.count == 0 || tasks.count > most_tasks || written_tasks_ > most_tasks) {
      const text_problem at{{from.last.line, 1},
                            {},
                            "expected the tasks of an array, at most " + std::to_string(most_tasks) +
                                " in all, found " + shown(from.id)};
      return log_.reject({&at, 1});
    }
    std::string name;
    for_each_task(id.tasks, [&](std::int64_t n) {
      name.assign(from.id, 0, bracket).append(std::to_string(n));
      job.id = name;
      add();
    });
  }

  void note_columns(const sacct_job& job, const vector<std::string_view>& tags) {
    for (std::size_t i = 0; i < noted_.size(); ++i) {
      noted_column& n = noted_[i];
      if (n.field == nullptr || !says_something(tags[i])) continue;
      if (n.jobs.empty()) n.first_value = tags[i];
      n.has_several = n.has_several || n.first_value != tags[i];
      const bool is_told_otherwise = (n.field->path == "Restarts" && job.earlier_runs > 0) ||
                                     (n.field->path.ends_with("GRES") && job.last.gpus > 0);
      if (!is_told_otherwise) n.jobs.add(job.id);
    }
  }

  void conclude() {
    const auto left_out = [this](const named_count& jobs, std::string_view one, std::string_view several) {
      log_.leave_out(jobs.size(), one, several, " " + jobs.names());
    };
    if (!steps_.empty()) {
      log_.note({}, counted(steps_.size(), "step of a job is", "steps of jobs are") + " left out");
    }
    left_out(unfinished_, "job that had not ended is", "jobs that had not ended are");
    left_out(never_ran_, "job that never ran is", "jobs that never ran are");
    log_.leave_out(without_gpus_.size(), "job without GPUs is", "jobs without GPUs are");
    const auto note = [this](const named_count& jobs, std::string_view text) {
      if (!jobs.empty()) log_.note({}, jobs.text("job", "jobs").append(text));
    };
    constexpr double ms_per_hour = 3.6e6;
    note(rerun_, " ran more than once: the last run is the job, from its first submission; " +
                     counted(earlier_runs_, "earlier run", "earlier runs") + ", of " +
                     std::to_string(static_cast<std::int64_t>(earlier_gpu_ms_ / ms_per_hour)) +
                     " GPU-hours, were preempted or requeued, and a replay has its own");
    note(cut_short_,
         " ended by preemption or the failure of a node, and the file has no later run: the run time is "
         "what it ran until then (sacct -D prints all runs)");
    note(resized_,
         " changed the size while running: the size is that of the last part, the run time that of all");
    note(heterogeneous_,
         " had components: they are the pod sets of one gang, which runs for as long as the longest of them");
    note(many_components_,
         " had more components than a job may have pod sets: they are split over as few nodes as "
         "possible, together");
    note(reused_, " had an id that another user had before: #2, #3, ... tell them apart");
    note(early_,
         " started before submission (is it a change of the clock? SLURM_TIME_FORMAT=%s has none): only "
         "the run time is used");
    note(partition_limits_, " had the time limit of the partition, which is not in the file: no estimate");
    note(several_models_, " had GPUs of several types, or some without: gpu_model is empty, so any will do");
    note(mig_,
         " had instances of MIG: each is a GPU here, as Slurm counts them, of the model that is its profile");
    note(uneven_,
         " asked for several nodes over which the GPUs can't be split evenly: they are split over as few as "
         "possible");
    for (const auto& [name, jobs] : parts_) {
      note(jobs, " asked for " + name +
                     ", parts of GPUs: unless the option says how many are a GPU, they are none");
    }
    for (const auto& [name, jobs] : others_) {
      note(jobs,
           " asked for " + name + ", which is not counted: they may run together here where it was lacking");
    }
    if (!throttled_.empty()) {
      log_.note({}, throttled_.text("array", "arrays") +
                        " let only some of the tasks run at once (%), which is not carried over");
    }
    if (!cut_off_.empty()) {
      log_.note(
          {},
          cut_off_.text("array", "arrays") +
              " with a list of tasks that breaks off: what is there is counted (SLURM_BITSTR_LEN=0 sacct)");
    }
    if (told_again_ > 0) {
      log_.note({},
                counted(told_again_, "row tells", "rows tell") + " of a run that another row tells of, too");
    }
    for (std::size_t i = 0; i < noted_.size(); ++i) {
      const noted_column& n = noted_[i];
      // Of one partition alone nothing can be said.
      if (n.jobs.empty() || (n.field->path == "Partition" && !n.has_several)) continue;
      log_.note("column " + std::string{n.field->path},
                n.jobs.text("job", "jobs") + ": " + std::string{n.field->text});
    }
    if (has_wrong_times_) {
      log_.note({},
                "times that are not as sacct writes them by default need --time-format: what "
                "SLURM_TIME_FORMAT was when it wrote them");
    }
  }

  import_log& log_;
  const import_options& options_;
  sacct_times times_;
  imported_fields fields_;
  const sacct_columns* columns_ = nullptr;
  std::optional<std::size_t> tenant_at_{};

  vector<sacct_run> runs_;
  name_table keys_;
  name_table clusters_;
  name_table ids_;
  name_table arrays_;
  name_table unfinished_gangs_;
  name_table words_;
  std::string key_text_;
  /// The tags of the runs, and what they say about their submission.
  std::string texts_;
  vector<std::size_t> ends_;

  named_count steps_;
  named_count unfinished_;
  named_count never_ran_;
  named_count without_gpus_;
  named_count rerun_;
  named_count cut_short_;
  named_count resized_;
  named_count heterogeneous_;
  named_count many_components_;
  named_count reused_;
  named_count early_;
  named_count partition_limits_;
  named_count several_models_;
  named_count mig_;
  named_count uneven_;
  named_count throttled_;
  named_count cut_off_;
  std::map<std::string, named_count> parts_;
  std::map<std::string, named_count> others_;
  vector<noted_column> noted_;
  std::size_t earlier_runs_ = 0;
  double earlier_gpu_ms_ = 0;
  std::size_t told_again_ = 0;
  std::size_t written_tasks_ = 0;
  bool has_early_starts_ = false;
  bool has_wrong_times_ = false;
};

}  // namespace

int import_sacct(packed_input& file, import_log& log, const import_options& options) {
  std::string problem;
  sacct_times times{options.time_format, problem};
  if (!problem.empty()) return complain("--time-format: " + problem, "allot import");
  sacct_import import{log, options, std::move(times)};
  // The columns outlive the rows: what is left to do at the end needs them.
  int status = bad_input_status;
  const bool is_read =
      read_sacct(file, log, options,
                 {[&](const sacct_columns& columns) { return import.open(columns); },
                  [&](sacct_row& row) { import.take(row); }, [&] { status = import.finish(); }});
  return is_read ? status : bad_input_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
