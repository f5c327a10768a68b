// SPDX-License-Identifier: BSL-1.0
// trace.json: what ran where, for Perfetto and chrome://tracing. The format is Chrome's trace events.
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/core/version.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The viewers show only one slice of a thread at a time, so each share of a GPU needs its own thread.
class lanes {
 public:
  /// The first lane that is free from `begin` on, which is then taken until `end`. To be called in order of
  /// time.
  std::size_t take(instant begin, instant end) {
    std::size_t i = 0;
    while (i < free_from_.size() && free_from_[i] > begin) ++i;
    if (i == free_from_.size()) free_from_.emplace_back();
    free_from_[i] = end;
    return i;
  }
  [[nodiscard]] std::size_t count() const noexcept { return free_from_.size(); }

 private:
  vector<instant> free_from_;
};

struct slice {
  instant begin = 0;
  instant end = 0;
  std::uint32_t run = 0;
  /// Starts at 1; 0 is for the counters.
  std::size_t process = 0;
  std::size_t thread = 0;
  std::uint32_t milli = gpu::milli_per_gpu;
};

/// Thread numbers: 1000 x lane + device.
constexpr std::size_t threads_per_lane = 1000;

class trace_writer {
 public:
  trace_writer(output_file& file, const replay_result& r, std::size_t most_jobs)
      : file_(file), r_(r), jobs_(report::jobs_by_index(r)), kept_(jobs_.size(), true) {
    if (jobs_.size() > most_jobs) keep_largest(most_jobs);
  }

  std::string write() {
    std::string& text = file_.text();
    text += "{\"displayTimeUnit\": \"ms\",\n \"otherData\": ";
    write_origin();
    text += ",\n \"traceEvents\": [\n";
    const vector<slice> slices = all_slices();
    write_names(slices);
    // Everything by time, counters first.
    std::size_t next = 0;
    const std::size_t spans = r_.time.used.means.size();
    for (std::size_t i = 0; i <= spans; ++i) {
      const instant until = r_.time.begin + static_cast<instant>(i) * r_.time.width;
      for (; next < slices.size() && (i == spans || slices[next].begin < until); ++next) {
        write_slice(slices[next]);
      }
      if (i < spans) write_counters(i, until);
    }
    text += "\n]}\n";
    return std::move(note_);
  }

 private:
  static constexpr std::int64_t microseconds = 1000;

  /// Keeps the jobs with the most GPU time.
  void keep_largest(std::size_t most) {
    vector<wide> had(jobs_.size(), 0);
    for (const sim::job_run& run : r_.log.runs()) {
      had[run.job] += wide{static_cast<std::uint64_t>(jobs_[run.job]->gpus)} *
                      static_cast<std::uint64_t>(report::end_of(r_, jobs_, run) - run.begin);
    }
    vector<sim::job_index> order(jobs_.size());
    std::iota(order.begin(), order.end(), sim::job_index{0});
    const auto larger = [&](sim::job_index a, sim::job_index b) {
      return had[a] != had[b] ? had[a] > had[b] : a < b;
    };
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(order.begin(), middle, order.end(), larger);
    std::for_each(middle, order.end(), [&](sim::job_index j) { kept_[j] = false; });
    note_ = "the " + grouped(most) + " of " + grouped(jobs_.size()) + " jobs that had the most GPU time";
  }

  template <class Fill>
  void event(Fill fill) {
    std::string& text = file_.text();
    if (std::exchange(has_events_, true)) text += ",\n";
    json_writer json{0};
    json.begin_object();
    fill(json);
    json.end_object();
    text += json.text();
    text.pop_back();  // the line break
    file_.flush_if_full();
  }
  void write_origin() {
    json_writer json{0};
    json.begin_object();
    json.member("program", "allot " + std::to_string(version_major) + '.' + std::to_string(version_minor) +
                               '.' + std::to_string(version_patch));
    json.member("policy", r_.policy_name).member("scenario", r_.scenario_file).member("trace", r_.trace_file);
    json.member("seed", r_.seed).member("input_hash", r_.input_hash);
    json.member("decision_hash", r_.decision_hash);
    json.member("jobs", note_.empty() ? "all" : note_);
    json.end_object();
    file_.text() += json.text();
    file_.text().pop_back();
  }

  /// By time, then process and thread. Without nodes, quotas take the place of processes.
  [[nodiscard]] vector<slice> all_slices() {
    vector<slice> slices;
    const auto& runs = r_.log.runs();
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      const sim::job_run& run = runs[i];
      if (!kept_[run.job]) continue;
      slice s{run.begin, report::end_of(r_, jobs_, run), i};
      if (r_.cluster == nullptr) {
        s.process = jobs_[run.job]->quota.index() + 1;
        slices.push_back(s);
      }
      for (const sim::run_pod& pod : r_.log.pods(run)) {
        s.process = pod.where.node.index() + 1;
        s.milli = pod.milli;
        for (std::uint64_t left = pod.where.devices; left != 0; left &= left - 1) {
          s.thread = static_cast<std::size_t>(std::countr_zero(left));
          slices.push_back(s);
        }
      }
    }
    const auto key = [](const slice& s) { return std::tuple{s.begin, s.process, s.thread, s.run}; };
    std::sort(slices.begin(), slices.end(), [&](const slice& a, const slice& b) { return key(a) < key(b); });
    const std::size_t processes = r_.cluster == nullptr ? r_.quotas.size() : r_.cluster->size();
    lanes_.resize(processes);
    for (slice& s : slices) {
      auto& of_process = lanes_[s.process - 1];
      if (of_process.size() <= s.thread) of_process.resize(s.thread + 1);
      s.thread += threads_per_lane * of_process[s.thread].take(s.begin, s.end);
    }
    return slices;
  }

  void name(std::string_view what, std::uint64_t pid, std::uint64_t tid, std::string_view text) {
    event([&](json_writer& json) {
      json.member("ph", "M").member("name", what).member("pid", pid).member("tid", tid);
      json.key("args").begin_object().member("name", text).end_object();
    });
  }
  void sort_index(std::string_view what, std::uint64_t pid, std::uint64_t tid, std::uint64_t index) {
    event([&](json_writer& json) {
      json.member("ph", "M").member("name", what).member("pid", pid).member("tid", tid);
      json.key("args").begin_object().member("sort_index", index).end_object();
    });
  }
  void write_names(const vector<slice>& slices) {
    name("process_name", 0, 0, "quotas");
    sort_index("process_sort_index", 0, 0, 0);
    vector<bool> is_used(lanes_.size(), r_.cluster != nullptr);
    for (const slice& s : slices) is_used[s.process - 1] = true;
    for (std::size_t p = 0; p < lanes_.size(); ++p) {
      if (!is_used[p]) continue;
      name("process_name", p + 1, 0,
           r_.cluster == nullptr ? r_.quotas[p].name : r_.cluster->name(gpu::node_id{p}));
      sort_index("process_sort_index", p + 1, 0, p + 1);
      const std::size_t devices =
          r_.cluster == nullptr ? lanes_[p].size() : r_.cluster->gpus(gpu::node_id{p});
      for (std::size_t g = 0; g < devices; ++g) {
        const std::size_t count = g < lanes_[p].size() ? std::max<std::size_t>(1, lanes_[p][g].count()) : 1;
        for (std::size_t lane = 0; lane < count; ++lane) {
          const std::uint64_t tid = g + threads_per_lane * lane;
          const std::string text = r_.cluster == nullptr ? "job " + std::to_string(lane + 1)
                                   : count == 1
                                       ? "GPU " + std::to_string(g)
                                       : "GPU " + std::to_string(g) + ", share " + std::to_string(lane + 1);
          name("thread_name", p + 1, tid, text);
          sort_index("thread_sort_index", p + 1, tid, g * threads_per_lane + lane);
        }
      }
    }
  }
  void write_slice(const slice& s) {
    const sim::job_run& run = r_.log.runs()[s.run];
    const replayed_job& job = *jobs_[run.job];
    event([&](json_writer& json) {
      json.member("ph", "X").member("name", job.id).member("cat", r_.quotas[job.quota.index()].name);
      json.member("pid", std::uint64_t{s.process}).member("tid", std::uint64_t{s.thread});
      json.member("ts", s.begin * microseconds).member("dur", (s.end - s.begin) * microseconds);
      json.key("args").begin_object().member("quota", r_.quotas[job.quota.index()].name);
      json.key("gpus").raw(decimal(job.gpus));
      if (s.milli < gpu::milli_per_gpu) json.key("share").raw(decimal(s.milli));
      if (const auto sets = r_.pod_sets.find(run.job); sets != r_.pod_sets.end()) {
        json.member("pod_sets", sets->second);
      }
      json.key("waited_s").raw(decimal(job.wait));
      json.member("evicted", run.evicted).end_object();
    });
  }
  void write_counters(std::size_t i, instant at) {
    const auto counter = [&](std::string_view title, const vector<drawn_series>& of, std::int64_t unit) {
      event([&](json_writer& json) {
        json.member("ph", "C").member("name", title).member("pid", std::uint64_t{0});
        json.member("ts", at * microseconds);
        json.key("args").begin_object();
        for (std::size_t x = 0; x < r_.quotas.size(); ++x) {
          if (r_.shows(quota_id{x})) json.key(r_.quotas[x].name).raw(decimal(of[x].at(i) * unit));
        }
        json.end_object();
      });
    };
    counter("GPUs in use", r_.time.used_of, 1);
    counter("waiting jobs", r_.time.pending_of, 1000);
  }

  output_file& file_;
  const replay_result& r_;
  vector<const replayed_job*> jobs_;
  vector<bool> kept_;
  std::string note_{};
  bool has_events_ = false;
  /// By process, then device.
  vector<vector<lanes>> lanes_{};
};

}  // namespace

std::string write_chrome_trace(output_file& file, const replay_result& r, std::size_t most_jobs) {
  return trace_writer{file, r, most_jobs}.write();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
