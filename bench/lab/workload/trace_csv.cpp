// SPDX-License-Identifier: BSL-1.0
#include <allot/core/pod_counts.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/csv_table.hpp>
#include <allot/lab/trace_csv.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// In the form that `csv_table` takes.
constexpr std::array<csv_column, trace_column_names.size()> trace_columns = [] {
  std::array<csv_column, trace_column_names.size()> columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = {trace_column_names[i], i <= static_cast<std::size_t>(trace_column::gpus)};
  }
  return columns;
}();

class trace_csv_parser {
 public:
  trace_csv_parser(byte_source source, const trace_csv_limits& limits)
      : rows_(std::move(source), trace_columns, limits.record), most_problems_(limits.problems) {}

  [[nodiscard]] trace_reading run() && {
    if (open()) {
      while (advance()) read_job();
      if (out_.problems.empty()) close_sets();
    }
    if (!out_.problems.empty()) out_.value = {};
    return std::move(out_);
  }

 private:
  using outcome = csv_table<trace_column>::outcome;

  /// Far beyond any cluster or calendar, and small enough that sums and products with time can't overflow.
  static constexpr std::int64_t most_units = 1'000'000'000'000;
  static constexpr std::int64_t most_pods = std::numeric_limits<std::int32_t>::max();
  static constexpr const char* seconds = "a number of seconds";
  /// The place of a model is looked for in a list.
  static constexpr std::size_t most_models = 100;

  bool open() {
    if (rows_.open()) {
      for (std::size_t i = 0; i < rows_.others(); ++i) {
        out_.value.tag_columns.emplace_back(rows_.other_name(i));
      }
      return true;
    }
    take_problems();
    out_.stopped = !rows_.at_end();
    return false;
  }
  void take_problems() {
    for (const text_problem& p : rows_.problems()) {
      if (out_.problems.size() < most_problems_) out_.problems.push_back(p);
    }
  }

  /// Moves to the next row that has all its fields, unless there is none or it is time to stop.
  bool advance() {
    for (;;) {
      if (out_.problems.size() >= most_problems_) {
        out_.stopped = true;
        return false;
      }
      const outcome o = rows_.next();
      take_problems();
      if (o == outcome::failed) out_.stopped = true;
      if (o != outcome::bad_row) return o == outcome::row;
    }
  }

  void read_job() {
    trace_job job;
    const std::string_view pod_set = rows_.text(trace_column::pod_set);
    const bool is_new = read_id(job, !pod_set.empty());
    job.submit = required_milli(trace_column::submit_s, seconds);
    job.duration = required_milli(trace_column::duration_s, seconds);
    job.gpus = quantity::milli(required_milli(trace_column::gpus, "a number of GPUs"));
    job.tenant = name(trace_column::tenant, out_.value.tenants);
    job.job_class = name(trace_column::job_class, out_.value.words);
    job.gpu_model = name(trace_column::gpu_model, out_.value.words);
    job.user = name(trace_column::user, out_.value.words);
    read_pods(job);
    job.priority =
        rows_.whole(trace_column::priority, -highest_job_priority, highest_job_priority).value_or(0);
    job.preemptible = read_flag(trace_column::preemptible, true);
    job.cpu_milli = rows_.whole(trace_column::cpu_milli, 0, most_units).value_or(0);
    job.memory_mib = rows_.whole(trace_column::memory_mib, 0, most_units).value_or(0);
    job.checkpoint = rows_.milli(trace_column::checkpoint_s, seconds, 0, most_units);
    job.restart = rows_.milli(trace_column::restart_s, seconds, 0, most_units).value_or(0);
    job.deadline = rows_.milli(trace_column::deadline_s, seconds, 0, most_units);
    if (job.deadline && *job.deadline < job.submit) {
      rows_.report(trace_column::deadline_s,
                   "expected a point in time, as submit_s is one, and not before it");
    }
    job.estimate = rows_.whole(trace_column::estimate_s, 1, most_units).value_or(0);
    job.ready = rows_.milli(trace_column::ready_s, seconds, 0, most_units).value_or(0);
    take_problems();
    if (!out_.problems.empty()) return;
    note_places(job);
    if (!pod_set.empty()) read_set(job, out_.value.words.intern(pod_set).name);
    if (!is_new) return check_agreement(job);
    vector<trace_job>& jobs = out_.value.jobs;
    // Copying into newly allocated memory is the largest cost of reading, and untouched memory costs nothing.
    if (jobs.size() == jobs.capacity()) jobs.reserve(std::max<std::size_t>(1024, 4 * jobs.size()));
    jobs.push_back(job);
    for (std::size_t i = 0; i < rows_.others(); ++i) {
      const std::string_view text = rows_.other(i);
      out_.value.tags.push_back(text.empty() ? name_id::none() : out_.value.words.intern(text).name);
    }
  }

  /// Returns whether it is a new job, rather than another pod set of one.
  bool read_id(trace_job& job, bool is_set) {
    const std::string_view text = rows_.required_text(trace_column::job_id, "the id of a job");
    const auto [id, added] = out_.value.ids.intern(text);
    job.id = id;
    if (added) {
      id_lines_.push_back(rows_.place().line);
    } else if (!text.empty() && !(is_set && has_sets(id))) {
      rows_.report(trace_column::job_id, "the job id " + shown(text) + " was given before, on line " +
                                             std::to_string(id_lines_[id.index()]) +
                                             (is_set ? ", without a pod_set" : ""));
    }
    return added;
  }
  [[nodiscard]] bool has_sets(name_id id) const {
    return id.index() < out_.value.jobs.size() && out_.value.jobs[id.index()].sets != 0;
  }

  /// The row as a pod set of the job.
  void read_set(trace_job& job, name_id name) {
    ++job.sets;
    sets_.push_back({job.id,
                     rows_.place_of(trace_column::pod_set),
                     {name, job.gpu_model, std::max<std::uint32_t>(1, job.pods), job.min_pods, job.gpus,
                      job.cpu_milli, job.memory_mib}});
  }
  /// Another row of a job says the same of the whole job as its first one.
  void check_agreement(const trace_job& job) {
    const trace_job& first = out_.value.jobs[job.id.index()];
    const auto expect_same = [&](auto member, trace_column column) {
      if (job.*member == first.*member) return;
      rows_.report(column, "expected the same in all rows of the job, as on line " +
                               std::to_string(id_lines_[job.id.index()]) + ", found " +
                               shown(rows_.text(column)));
    };
    expect_same(&trace_job::submit, trace_column::submit_s);
    expect_same(&trace_job::duration, trace_column::duration_s);
    expect_same(&trace_job::tenant, trace_column::tenant);
    expect_same(&trace_job::priority, trace_column::priority);
    expect_same(&trace_job::job_class, trace_column::job_class);
    expect_same(&trace_job::preemptible, trace_column::preemptible);
    expect_same(&trace_job::user, trace_column::user);
    expect_same(&trace_job::checkpoint, trace_column::checkpoint_s);
    expect_same(&trace_job::restart, trace_column::restart_s);
    expect_same(&trace_job::deadline, trace_column::deadline_s);
    expect_same(&trace_job::estimate, trace_column::estimate_s);
    expect_same(&trace_job::ready, trace_column::ready_s);
    take_problems();
  }
  /// Gives the jobs their sets, in the order of the file.
  void close_sets() {
    const auto before = [](const set_row& a, const set_row& b) { return a.job < b.job; };
    std::stable_sort(sets_.begin(), sets_.end(), before);
    for (std::size_t i = 0; i < sets_.size();) {
      trace_job& job = out_.value.jobs[sets_[i].job.index()];
      job.first_set = static_cast<std::uint32_t>(i);
      job.gpu_model = name_id::none();
      job.gpus = quantity{};
      job.cpu_milli = job.memory_mib = 0;
      job.sets = 0;
      std::uint64_t pods = 0;
      std::uint64_t least = 0;
      for (; i < sets_.size() && sets_[i].job == job.id; ++i) {
        const trace_pod_set& set = out_.value.pod_sets.emplace_back(sets_[i].set);
        const auto is_same = [&](const trace_pod_set& other) { return other.name == set.name; };
        const auto others = out_.value.sets_of(job);
        if (job.sets == most_pod_sets) {
          out_.problems.push_back({sets_[i].place, "pod_set",
                                   "a job has at most " + std::to_string(most_pod_sets) + " pod sets"});
        } else if (job.sets < most_pod_sets && std::any_of(others.begin(), others.end(), is_same)) {
          out_.problems.push_back({sets_[i].place, "pod_set",
                                   "the job has more than one pod set " + shown(out_.value.words[set.name])});
        }
        ++job.sets;
        job.gpus += set.gpus;
        job.cpu_milli += set.cpu_milli;
        job.memory_mib += set.memory_mib;
        pods += set.pods;
        least += set.min_pods == 0 ? set.pods : set.min_pods;
      }
      if (job.sets == 1) job.gpu_model = out_.value.pod_sets.back().gpu_model;
      if (pods > std::uint64_t{most_pods}) {
        out_.problems.push_back(
            {sets_[i - 1].place, "pods", "all pods of the job are more than can be counted"});
      }
      job.pods = static_cast<std::uint32_t>(pods);
      job.min_pods = least == pods ? 0 : static_cast<std::uint32_t>(least);
    }
    const auto is_earlier = [](const text_problem& a, const text_problem& b) {
      return a.place.line < b.place.line;
    };
    std::stable_sort(out_.problems.begin(), out_.problems.end(), is_earlier);
    if (out_.problems.size() <= most_problems_) return;
    out_.problems.resize(most_problems_);
    out_.stopped = true;
  }

  void note_places(const trace_job& job) {
    trace_places& places = out_.places;
    const text_place of_tenant = rows_.place_of(trace_column::tenant);
    if (job.tenant.is_none()) {
      if (!places.without_tenant) places.without_tenant = of_tenant;
    } else if (job.tenant.index() == places.tenants.size()) {
      places.tenants.push_back(of_tenant);
    }
    const auto is_model = [&](const auto& known) { return known.first == job.gpu_model; };
    if (job.gpu_model && std::none_of(places.models.begin(), places.models.end(), is_model) &&
        places.models.size() < most_models) {
      places.models.emplace_back(job.gpu_model, rows_.place_of(trace_column::gpu_model));
    }
    const std::int64_t each = job.gpus.in_milli() / std::max<std::int64_t>(1, job.pods);
    if (each > 1000 && each % 1000 != 0 && !places.mixed_gpus) {
      places.mixed_gpus = rows_.place_of(trace_column::gpus);
    }
  }

  void read_pods(trace_job& job) {
    const auto pods = rows_.whole(trace_column::pods, 1, most_pods);
    const auto min_pods = rows_.whole(trace_column::min_pods, 1, most_pods);
    if (pods && job.gpus.in_milli() % *pods != 0) {
      rows_.report(trace_column::pods, "the GPUs of the job can't be split evenly over " +
                                           std::to_string(*pods) + " pods (to a thousandth)");
    }
    if (min_pods && !pods && rows_.text(trace_column::pods).empty()) {
      rows_.report(trace_column::min_pods, "min_pods means nothing without pods");
    } else if (min_pods && pods && *min_pods > *pods) {
      rows_.report(trace_column::min_pods, "expected at most the " + std::to_string(*pods) +
                                               " of pods, found " +
                                               shown(rows_.text(trace_column::min_pods)));
    }
    job.pods = static_cast<std::uint32_t>(pods.value_or(0));
    job.min_pods = static_cast<std::uint32_t>(min_pods.value_or(0));
  }

  [[nodiscard]] bool read_flag(trace_column column, bool otherwise) {
    const std::string_view text = rows_.text(column);
    if (text.empty()) return otherwise;
    // Python writes True.
    const bool is_true = text == "true" || text == "True" || text == "TRUE";
    if (!is_true && text != "false" && text != "False" && text != "FALSE") {
      rows_.report(column, "expected true or false, found " + shown(text));
    }
    return is_true;
  }

  [[nodiscard]] name_id name(trace_column column, name_table& names) {
    const std::string_view text = rows_.text(column);
    return text.empty() ? name_id::none() : names.intern(text).name;
  }
  /// A number that is not negative, in thousandths; zero if it is missing or wrong.
  [[nodiscard]] std::int64_t required_milli(trace_column column, const char* expected) {
    return rows_.required_milli(column, expected, 0, most_units).value_or(0);
  }

  csv_table<trace_column> rows_;
  std::size_t most_problems_;
  vector<std::size_t> id_lines_;
  /// In the order of the file, by job.
  struct set_row {
    name_id job;
    text_place place;
    trace_pod_set set;
  };
  vector<set_row> sets_;
  trace_reading out_;
};

}  // namespace

trace_reading read_trace_csv(byte_source source, const trace_csv_limits& limits) {
  return trace_csv_parser{std::move(source), limits}.run();
}

trace_reading read_trace_csv(std::istream& stream, const trace_csv_limits& limits) {
  return read_trace_csv(stream_source{stream}, limits);
}

trace_reading parse_trace_csv(std::string_view text, const trace_csv_limits& limits) {
  return read_trace_csv(string_source{text}, limits);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
