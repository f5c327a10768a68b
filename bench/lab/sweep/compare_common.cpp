// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/compare_common.hpp"

#include "lab/io/files.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/csv_table.hpp>
#include <allot/lab/metrics/statistics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Whether the name has this part between slashes, in front of another.
bool has_part(std::string_view figure, std::string_view part) {
  for (std::size_t at = figure.find(part); at != std::string_view::npos; at = figure.find(part, at + 1)) {
    const bool begins = at == 0 || figure[at - 1] == '/';
    if (begins && figure.substr(at + part.size(), 1) == "/") return true;
  }
  return false;
}

/// The runs of the sides that belong together: those of one seed if every side has each of its seeds once,
/// else all of them if there is one on each side.
vector<vector<const run_summary*>> runs_together(const vector<const run_group*>& sides) {
  const auto is_single = [](const run_group* g) { return g->runs.size() == 1; };
  if (std::all_of(sides.begin(), sides.end(), is_single)) {
    vector<const run_summary*> runs;
    for (const run_group* g : sides) runs.push_back(&g->runs.front());
    return {std::move(runs)};
  }
  std::map<std::uint64_t, vector<const run_summary*>> of_seed;
  for (const run_group* g : sides) {
    for (const run_summary& r : g->runs) of_seed[r.seed].push_back(&r);
  }
  vector<vector<const run_summary*>> all;
  for (auto& [seed, runs] : of_seed) {
    if (runs.size() == sides.size()) all.push_back(std::move(runs));
  }
  return all;
}

/// The sides of each set: those of different sets ran other jobs anyway.
vector<vector<const run_group*>> sets_among(const vector<const run_group*>& sides) {
  vector<vector<const run_group*>> sets;
  for (const run_group* g : sides) {
    const auto same = [&](const auto& set) { return set.front()->set == g->set; };
    auto at = std::find_if(sets.begin(), sets.end(), same);
    if (at == sets.end()) at = sets.insert(sets.end(), vector<const run_group*>{});
    at->push_back(g);
  }
  return sets;
}

/// Whether the runs of each set have the same jobs of a kind. `missing_of` is how many of a run's jobs are
/// not of it.
template <class Missing>
same_jobs same_among(const vector<const run_group*>& sides, Missing missing_of) {
  same_jobs worst = same_jobs::yes;
  for (const auto& set : sets_among(sides)) {
    for (const auto& runs : runs_together(set)) {
      const std::optional<double> first = missing_of(*runs.front());
      for (const run_summary* r : runs) {
        const std::optional<double> missing = missing_of(*r);
        if (!missing || !first || runs.size() < 2) continue;
        if (*missing != *first) return same_jobs::no;
        if (*missing != 0) worst = same_jobs::perhaps;
      }
    }
  }
  return worst;
}

/// "fifo 53, standard 60", of the first sides.
std::string counts_of(const vector<const run_group*>& sides, std::string_view figure) {
  constexpr std::size_t most_named = 6;
  const bool one_set = sets_among(sides).size() == 1;
  std::string text;
  for (std::size_t i = 0; i < sides.size() && i < most_named; ++i) {
    const mean_and_deviation s = summary_of(values_of(*sides[i], figure));
    if (s.count == 0) continue;
    text.append(text.empty() ? "" : ", ").append(one_set ? sides[i]->side : sides[i]->label).append(" ");
    text += shown(s.mean, figure_kind::count);
  }
  return sides.size() > most_named ? text + ", ..." : text;
}

/// A job that was completed.
struct completed_job {
  instant jct = 0;
  instant queue = 0;
  instant wait = 0;
};

enum class job_column : std::uint8_t { id, state, submit, start, end, wait };
constexpr std::array<csv_column, 6> job_columns = {
    {{"job_id"}, {"state"}, {"submit_s"}, {"start_s"}, {"end_s"}, {"wait_s"}}};

/// The completed jobs of a run, by id; nullopt, and an error, if its table of them can't be read.
std::optional<std::map<std::string, completed_job>> completed_jobs(const run_summary& run, errors& found) {
  const std::string path = run.directory.empty() ? "jobs.csv" : run.directory + "/jobs.csv";
  packed_input file{path};
  const auto text = file.read_all();
  if (!text) {
    found.add(path, {}, file.problem() + " (expected the jobs of the run: a sweep keeps them with --full)");
    return std::nullopt;
  }
  csv_table<job_column> rows{string_source{*text}, job_columns};
  const auto fail = [&]() -> std::optional<std::map<std::string, completed_job>> {
    for (const text_problem& p : rows.problems()) found.add(path, {}, to_string(p));
    return std::nullopt;
  };
  if (!rows.open()) {
    for (const csv_column& c : job_columns) {
      if (rows.find(c.name)) continue;
      found.add(path, {},
                "the column " + std::string{c.name} + " is missing (expected the jobs of a replay)");
      return std::nullopt;
    }
    return fail();
  }
  std::map<std::string, completed_job> jobs;
  const auto time = [&](job_column column) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
    return rows.required_milli(column, "a number of seconds", -most, most).value_or(0);
  };
  for (auto row = rows.next(); row != csv_table_base::outcome::end; row = rows.next()) {
    if (row != csv_table_base::outcome::row) return fail();
    if (rows.text(job_column::state) != "completed") continue;
    const instant submit = time(job_column::submit);
    const completed_job job{time(job_column::end) - submit, time(job_column::start) - submit,
                            time(job_column::wait)};
    if (!rows.problems().empty()) return fail();
    jobs.emplace(rows.text(job_column::id), job);
  }
  return jobs;
}

void add_sample(run_summary& to, const std::string& name, vector<instant> values) {
  if (values.empty()) return;
  const sample_summary s = summarize(values);
  const auto add = [&](const char* what, instant value) {
    to.figures.emplace_back("common/" + name + '/' + what, static_cast<double>(value) / 1000);
  };
  add("mean", s.mean());
  add("p50", s.p50);
  add("p99", s.p99);
}

/// Adds the figures to runs that belong together.
void add_common(const vector<run_summary*>& runs, errors& found) {
  vector<std::map<std::string, completed_job>> of;
  for (const run_summary* r : runs) {
    auto jobs = completed_jobs(*r, found);
    if (!jobs) return;
    of.push_back(std::move(*jobs));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    vector<instant> jct;
    vector<instant> queue;
    vector<instant> wait;
    for (const auto& [id, job] : of[i]) {
      const auto has_it = [&, key = &id](const auto& others) { return others.find(*key) != others.end(); };
      if (!std::all_of(of.begin(), of.end(), has_it)) continue;
      jct.push_back(job.jct);
      queue.push_back(job.queue);
      wait.push_back(job.wait);
    }
    run_summary& r = *runs[i];
    r.figures.emplace_back("common/jobs", static_cast<double>(jct.size()));
    add_sample(r, "queue_s", std::move(queue));
    add_sample(r, "wait_s", std::move(wait));
    add_sample(r, "jct_s", std::move(jct));
    r.sort_names();
  }
}

}  // namespace

same_jobs completed_by(const vector<const run_group*>& sides) {
  return same_among(sides, [](const run_summary& r) -> std::optional<double> {
    const auto total = r.find("jobs/total");
    const auto completed = r.find("jobs/completed");
    return total && completed ? std::optional{*total - *completed} : std::nullopt;
  });
}

same_jobs started_by(const vector<const run_group*>& sides) {
  return same_among(sides, [](const run_summary& r) -> std::optional<double> {
    const auto unstarted = r.find("unstarted");
    const auto future = r.find("jobs/not_submitted");
    const auto refused = r.find("jobs/refused");
    return unstarted ? std::optional{*unstarted + future.value_or(0) + refused.value_or(0)} : std::nullopt;
  });
}

std::string_view other_jobs::mark_of(std::string_view figure) const {
  if (figure.substr(0, 7) == "common/") return {};
  const auto is_any_of = [&](auto... parts) { return (has_part(figure, parts) || ...); };
  if (completed != same_jobs::yes && is_any_of("jct_s", "wait_s", "slowdown")) return " *";
  if (started != same_jobs::yes && is_any_of("queue_s")) return " *";
  return {};
}

other_jobs other_jobs_of(const vector<const run_group*>& sides) {
  return {completed_by(sides), started_by(sides)};
}

std::string remark_on_jobs(const other_jobs& jobs, const vector<const run_group*>& sides) {
  if (jobs.completed == same_jobs::yes && jobs.started == same_jobs::yes) return {};
  const bool do_differ = jobs.completed == same_jobs::no || jobs.started == same_jobs::no;
  std::string text = "*: over the jobs that each side completed (of waits: started)";
  text += do_differ ? ", which are not the same.\n" : ": as many, but\nperhaps not the same ones. ";
  text += "Completed: " + counts_of(sides, "jobs/completed");
  text += "; never started: " + counts_of(sides, "unstarted") + '.';
  const bool has_common = sides.front()->runs.front().find("common/jobs").has_value();
  return has_common ? text : text + "\n--common compares the jobs that all sides completed.";
}

void add_common_figures(vector<run_group>& groups, errors& found) {
  vector<std::string_view> sets;
  for (const run_group& g : groups) {
    if (std::find(sets.begin(), sets.end(), g.set) == sets.end()) sets.push_back(g.set);
  }
  const bool all_single =
      std::all_of(groups.begin(), groups.end(), [](const run_group& g) { return g.runs.size() == 1; });
  for (const std::string_view set : sets) {
    std::map<std::uint64_t, vector<run_summary*>> together;
    std::size_t sides = 0;
    for (run_group& g : groups) {
      if (g.set != set) continue;
      ++sides;
      for (run_summary& r : g.runs) together[all_single ? 0 : r.seed].push_back(&r);
    }
    for (const auto& [seed, runs] : together) {
      if (runs.size() == sides) add_common(runs, found);
    }
  }
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
