// SPDX-License-Identifier: BSL-1.0
#include "lab/report/replay_headline.hpp"

#include "lab/io/time_text.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/text_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

using namespace report;

std::string hours(wide gpu_time) {
  return rounded(milli_gpu_hours(gpu_time), 1);
}

void append_line(std::string& text, std::string_view name, std::string_view value) {
  text.append("  ").append(name).append(15 - name.size(), ' ').append(value).append("\n");
}

std::string counted_jobs(std::uint64_t n) {
  return grouped(n) + (n == 1 ? " job" : " jobs");
}

/// More names than anyone reads on a terminal; the files have all of them.
constexpr std::size_t most_named = 10;

void append_unfinished(std::string& text, const replay_result& r) {
  std::size_t named = 0;
  for (const replayed_job& j : r.jobs) {
    const bool is_over = j.is_over() || j.outcome == sim::job_outcome::refused;
    if (is_over || named++ >= most_named) continue;
    text += fmt::format("  {} ({}): {} {}, {}\n", j.id, r.quotas[j.quota.index()].name, decimal(j.gpus),
                        j.gpus == 1000 ? "GPU" : "GPUs",
                        j.outcome == sim::job_outcome::future ? "had not come yet" : to_string(j.outcome));
  }
  if (named > most_named) text += "  ... and " + grouped(named - most_named) + " more: see jobs.csv\n";
}

std::string explain_stopped(const early_end& stopped) {
  const std::string at = fmt::format(" at {} ({} s)", clock_time(stopped.at), decimal(stopped.at));
  switch (stopped.why) {
    case stop_reason::until:
      return "stopped" + at + ", as --until says\n";
    case stop_reason::interrupt:
      return "interrupted" + at + ": the figures are of the time before\n";
    case stop_reason::max_queue:
      return "stopped" + at +
             ": more jobs waited than --max-queue allows. Either the load is above what the cluster can do, "
             "and "
             "the queue only grows, or this policy admits too little of it\n";
    case stop_reason::max_time:
      return "stopped" + at + ": it took longer than --max-time allows\n";
  }
  return {};
}

text_table times_table(const replay_result& r) {
  text_table table{{"", "mean", "median", "p90", "p99", "max"}};
  const auto row = [&table](std::string name, const sample_summary& s, std::string most) {
    table.add({std::move(name), human_time(s, s.mean()), human_time(s, s.p50), human_time(s, s.p90),
               human_time(s, s.p99), std::move(most)});
  };
  // The longest wait is that of every job that came, also of those that never started.
  const job_figures& all = r.figures.of;
  row("wait", all.queue, all.came == 0 ? "-" : human_time(all.max_wait));
  // Of the jobs that completed, also what they waited after their first start.
  row("wait in all", all.wait, human_time(all.wait, all.wait.max));
  row("completion", all.jct, human_time(all.jct, all.jct.max));
  return table;
}

std::string quota_table(const replay_result& r) {
  // More rows than this scroll away what is above them. (The table may be two, one below the other.)
  constexpr std::size_t most = 100;
  text_table table{{"quota", "jobs", "wait mean", "wait p99", "completion", "GPU-h", "borrowed", "lent",
                    "evicted", "lost"}};
  const vector<quota_id> listed = listed_quotas(r, most);
  for (const quota_id x : listed) {
    const quota_figures& q = r.figures.quotas[x.index()];
    table.add({r.quotas[q.quota.index()].name, grouped(q.of.jobs.total),
               human_time(q.of.queue, q.of.queue.mean()), human_time(q.of.queue, q.of.queue.p99),
               human_time(q.of.jct, q.of.jct.mean()), hours(q.of.allocated), hours(q.of.borrowed),
               hours(q.of.lent), grouped(q.of.preemptions), hours(q.of.lost)});
  }
  std::string text = table.text();
  if (const std::size_t all = listed_quotas(r, r.quotas.size()).size(); all > listed.size()) {
    text += "  ... and " + grouped(all - listed.size()) + " with less GPU time: see summary.json\n";
  }
  return text;
}

std::string waiting_line(const wait_split& waited) {
  constexpr std::array<std::string_view, wait_cause_count> words = {"for fair share", "by fragmentation",
                                                                    "by a full cluster", "for their turn"};
  std::string text;
  for (std::size_t c = 0; c < words.size(); ++c) {
    if (waited.by[c] == 0) continue;
    if (!text.empty()) text += ", ";
    text += percent(rate_in_millionths(waited.by[c], waited.total())) + ' ';
    text += words[c];
  }
  return text;
}

/// `against`: what each job would have had otherwise.
void append_finish_times(std::string& text, const finish_time_figures& f, std::string_view against) {
  if (f.jobs == 0) return;
  append_line(text, "finish times",
              "rho " + index_text(f.mean(), 2) + " on average, " + index_text(f.max, 2) + " at most, " +
                  percent(rate_in_millionths(f.unfair, f.jobs)) + " above 1.05, against " +
                  std::string{against});
}

/// What sharing means to the tenants, compared with running alone.
void append_isolated(std::string& text, const replay_result& r) {
  finish_time_figures tenants_alone;
  std::string worst;
  std::int64_t anomaly = 0;
  std::size_t tenants = 0;
  for (std::size_t x = 0; x < r.alone.size(); ++x) {
    const tenant_alone& t = r.alone[x];
    tenants_alone += t.finish_time;
    tenants += t.anomaly.jobs != 0 ? 1U : 0U;
    if (t.anomaly.jobs == 0 || (!worst.empty() && t.anomaly.anomaly() <= anomaly)) continue;
    worst = r.quotas[x].name;
    anomaly = t.anomaly.anomaly();
  }
  if (!worst.empty()) {
    append_line(text, "sharing",
                (tenants > 1 ? "at worst " : "") + worst + " waits " +
                    human_time(anomaly < 0 ? -anomaly : anomaly) + (anomaly < 0 ? " less" : " more") +
                    " than alone on its quota");
  }
  append_finish_times(text, tenants_alone, "its tenant's share alone");
}

}  // namespace

void explain_refusals(replay_result& r) {
  for (replayed_job& j : r.jobs) {
    if (j.outcome != sim::job_outcome::refused || !j.explanation.empty()) continue;
    const std::string asked = decimal(j.gpus) + (j.gpus == 1000 ? " GPU" : " GPUs");
    if (j.reason == "unknown_quota") {
      j.explanation = "its quota " + r.quotas[j.quota.index()].name + " does not exist at that time";
    } else {
      j.explanation = "asks for " + asked + ", which is not a request";
    }
  }
}

std::string warnings(const replay_result& r) {
  std::string text;
  if (r.stopped) text += explain_stopped(*r.stopped);
  if (r.measured.isolated && r.stopped && r.stopped->why != stop_reason::until) {
    text += "--isolated: each tenant alone is not replayed, because the replay was ended\n";
  }
  const auto is_too_small = [](const tenant_alone& t) { return t.share_gpus == 0; };
  if (const auto n = std::count_if(r.alone.begin(), r.alone.end(), is_too_small); n != 0) {
    text += fmt::format(
        "--isolated: the shares of {} of the tenants are less than a GPU, and no cluster to be alone on: "
        "their jobs are in no finish-time fairness of tenants (that of jobs, each with 1/N of the cluster, "
        "has them)\n",
        n);
  }
  if (r.figures.of.submitted == 0 && !window_options(r.measured).empty()) {
    text += "no job was submitted in the part that is measured (" + window_text(r.measured) +
            "): there are no means, and figures over time may be of nothing\n";
  }
  const job_counts& jobs = r.figures.of.jobs;
  if (jobs.refused != 0) {
    text += counted_jobs(jobs.refused) + " refused:\n";
    std::size_t named = 0;
    for (const replayed_job& j : r.jobs) {
      if (j.outcome != sim::job_outcome::refused || named++ >= most_named) continue;
      text.append("  ").append(j.id).append(": ").append(j.explanation).append("\n");
    }
    if (named > most_named) text += "  ... and " + grouped(named - most_named) + " more: see jobs.csv\n";
  }
  if (jobs.unfinished != 0) {
    text += counted_jobs(jobs.unfinished);
    const std::string of_them = jobs.unfinished == 1 ? "it" : "them";
    text += r.stopped ? " had not finished when it was stopped:\n"
                      : " never finished: nothing would ever make room for " + of_them + ":\n";
    append_unfinished(text, r);
  }
  if (const std::uint64_t times = r.livelocks.instants; times != 0) {
    text += r.policy;
    text += " never came to rest at " + grouped(times) + (times == 1 ? " instant" : " instants");
    text += " and was stopped there, the first time at " + decimal(r.livelocks.first) + " s";
    if (const auto job = r.livelocks.job) {
      for (const replayed_job& j : r.jobs) {
        if (j.index == *job) text.append(" (").append(j.id).append(" was evicted again and again)");
      }
    }
    text += ": the figures are not those of a system that runs\n";
  }
  return text;
}

std::string headline(const replay_result& r) {
  const run_figures& f = r.figures;
  std::string text = r.policy_name + ": " + counted_jobs(f.of.jobs.total);
  if (r.cluster != nullptr) text += ", " + decimal(r.cluster->gpus().in_milli()) + " GPUs";
  text += ", " + human_time(f.makespan()) + "\n\n";
  std::string jobs = grouped(f.of.jobs.completed);
  if (f.of.jobs.unfinished != 0) jobs += ", " + unfinished_jobs(f.of.jobs);
  if (f.of.jobs.refused != 0) jobs += ", " + grouped(f.of.jobs.refused) + " refused";
  if (f.of.jobs.cancelled != 0) jobs += ", " + grouped(f.of.jobs.cancelled) + " cancelled";
  if (f.of.jobs.time_limit != 0) jobs += ", " + grouped(f.of.jobs.time_limit) + " at their time limit";
  append_line(text, "completed", jobs);
  if (f.capacity_is_bounded) {
    const wide useful = f.of.allocated - std::min(f.of.allocated, f.lost_of_allocated);
    append_line(text, "utilisation",
                percent(rate_in_millionths(f.of.allocated, f.capacity)) + ", useful " +
                    percent(rate_in_millionths(useful, f.capacity)));
  }
  append_line(text, "preemptions", grouped(f.of.preemptions) + ", " + hours(f.of.lost) + " GPU-h lost");
  append_line(text, "borrowed", hours(f.of.borrowed) + " GPU-h");
  append_line(text, "fairness",
              "Jain " + jain_text(f) + ", " + hours(f.of.fair_share_error) + " GPU-h short of fair shares");
  append_finish_times(text, f.of.fairness, "1/N of the cluster for each job");
  if (const std::string part = window_text(r.measured); !part.empty()) append_line(text, "measured", part);
  append_line(text, "made by", "allot " + own_version() + ", seed " + std::to_string(r.seed));
  if (f.of.waited.total() != 0) append_line(text, "waiting", waiting_line(f.of.waited));
  append_isolated(text, r);
  return text + '\n' + times_table(r).text() + '\n' + quota_table(r);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
