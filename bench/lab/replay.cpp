// SPDX-License-Identifier: BSL-1.0
#include "lab/replay.hpp"

#include "lab/errors.hpp"
#include "lab/files.hpp"
#include "lab/outputs.hpp"
#include "lab/replay_headline.hpp"
#include "lab/replay_run.hpp"
#include "lab/report.hpp"
#include "lab/staging.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// All that a replay may write. The summary is last: where it is, everything is.
constexpr auto file_names = [] {
  constexpr std::array<std::string_view, 6> always = {"jobs.csv",   "tenants.csv", "events.csv",
                                                      "trace.json", "report.html", "summary.json"};
  std::array<std::string_view, std::size(chart_files) + always.size()> names;
  std::copy(always.begin(), always.end(),
            std::copy(std::begin(chart_files), std::end(chart_files), names.begin()));
  return names;
}();

int complain(const std::string& problem) {
  std::fprintf(stderr, "allot: %s\n", problem.c_str());
  return bad_input_status;
}
int complain(const errors& found) {
  std::fputs(found.to_string().c_str(), stderr);
  return bad_input_status;
}

/// What makes a scenario valid that can't be replayed.
void check(const scenario& s, errors& found) {
  if (s.jobs.empty() && (!s.trace || s.trace->jobs.empty())) {
    found.add(s.file, {}, "there are no jobs to replay: name some under \"jobs\", or give a trace");
  }
}

/// Where the changes of the quotas are that were made at that time.
std::string places_of_changes(const scenario& s, instant at) {
  std::string places;
  for (const event_entry& e : s.events) {
    if (e.at != at || !std::holds_alternative<quota_change<max_resources>>(e.what)) continue;
    if (!places.empty()) places += ", ";
    places += e.place;
  }
  return places;
}

int complain(const scenario& s, const replay_stop& stop) {
  errors found = stop.found;
  for (const problem& p : stop.problems) {
    found.add(s.file, places_of_changes(s, stop.at), "at " + decimal(stop.at) + " s: " + p.text);
  }
  return complain(found);
}

/// Without its directories, so that a report does not depend on where its input was.
std::string file_name_of(const std::string& path) {
  return path == "-" ? shown_path(path) : std::filesystem::path{path}.filename().string();
}

replay_result result_for(const scenario& s, const replay_options& options) {
  replay_result r;
  r.policy = s.policy.preset;
  r.seed = options.seed.value_or(s.policy.seed);
  // Not of the policy and the seed, which stand beside it: two policies on one workload have one input.
  r.input_hash = s.input.hex();
  r.cluster = s.cluster ? &*s.cluster : nullptr;
  if (options.source.file) r.scenario_file = file_name_of(*options.source.file);
  r.trace_file = file_name_of(options.source.trace.value_or(s.trace_file));
  r.resources = s.resources;
  r.has_own_quotas = options.source.file.has_value();
  for (const quota_entry& q : s.quotas) r.quotas.push_back({q.spec.name, {}, {}});
  for (std::size_t x = 0; x < s.quotas.size(); ++x) {
    for (std::size_t p = 0; p < s.quotas.size() && !s.quotas[x].spec.parent.empty(); ++p) {
      if (s.quotas[p].spec.name == s.quotas[x].spec.parent) r.quotas[x].parent = quota_id{p};
    }
  }
  return r;
}

/// Writes one file by `write(file)`; returns what went wrong, or nothing.
template <class Write>
std::string write_file(const staging_directory& staging, std::string_view name, Write write) {
  output_file file{staging.path_of(name)};
  write(file);
  return file.close();
}

}  // namespace

int replay(const replay_options& options) {
  const auto begin = std::chrono::steady_clock::now();
  errors found;
  const std::optional<scenario> s = read_scenario(options.source, found);
  if (s) check(*s, found);
  if (!s || !found.empty()) return complain(found);

  staging_directory staging;
  std::string problem = staging.open(options.out, file_names, options.force);
  if (!problem.empty()) return complain(problem);

  replay_result r = result_for(*s, options);
  {
    output_file tenants{staging.path_of("tenants.csv")};
    std::optional<output_file> events;
    if (options.events) events.emplace(staging.path_of("events.csv"));
    const replay_streams streams{tenants, events ? &*events : nullptr};
    const replay_stop stop =
        with_dimensions(*s, [&](auto n) { return run_replay<decltype(n)::value>(*s, streams, r); });
    if (!stop.problems.empty() || !stop.found.empty()) return complain(*s, stop);
    problem = tenants.close();
    if (problem.empty() && events) problem = events->close();
  }
  explain_refusals(r);

  if (problem.empty()) {
    problem = write_file(staging, "jobs.csv", [&](output_file& f) { write_jobs(f, r); });
  }
  if (problem.empty()) {
    problem = write_file(staging, "report.html", [&](output_file& f) { write_report(f, r); });
  }
  if (problem.empty() && options.chrome) {
    std::string note;
    problem = write_file(staging, "trace.json", [&](output_file& f) { note = write_chrome_trace(f, r); });
    if (!note.empty()) std::fprintf(stderr, "trace.json: %s\n", note.c_str());
  }
  std::string charts;
  if (options.svg) {
    const std::vector<std::string> drawn = standalone_charts(r);
    for (std::size_t i = 0; i < drawn.size() && problem.empty(); ++i) {
      if (drawn[i].empty()) continue;
      charts.append(", ").append(chart_files[i]);
      problem = write_file(staging, chart_files[i], [&](output_file& f) { f.text() += drawn[i]; });
    }
  }
  const auto wall =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  if (problem.empty()) {
    problem = write_file(staging, "summary.json", [&](output_file& f) { write_summary(f, r, wall.count()); });
  }
  if (problem.empty()) problem = staging.publish();
  if (!problem.empty()) return complain(problem);

  std::fputs(warnings(r).c_str(), stderr);
  std::fputs(headline(r).c_str(), stdout);
  std::printf("\n%s: summary.json, jobs.csv, tenants.csv, report.html%s%s%s (%s s)\n", options.out.c_str(),
              options.events ? ", events.csv" : "", options.chrome ? ", trace.json" : "", charts.c_str(),
              decimal(wall.count()).c_str());
  return 0;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
