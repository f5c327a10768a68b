// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/replay.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/errors.hpp"
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/terminal.hpp"
#include "lab/io/time_text.hpp"
#include "lab/report/dashboard.hpp"
#include "lab/report/distributions.hpp"
#include "lab/report/replay_headline.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"
#include "lab/scenario/workload.hpp"
#include "lab/workload/doubtful_times.hpp"
#include "lab/workload/load_level.hpp"
#include "lab/workload/tag_columns.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/lab/text_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Without its directories, so that a report does not depend on where its input was.
std::string file_name_of(const std::string& path) {
  return std::filesystem::path{path}.filename().string();
}

/// The places of the quota changes at that time, and of those that are announced then.
std::string places_of_changes(const scenario& s, instant at) {
  std::string places;
  for (const event_entry& e : s.events) {
    const bool is_of_then = e.at == at || e.known_since == at;
    if (!is_of_then || !std::holds_alternative<quota_change<max_resources>>(e.what)) continue;
    if (!places.empty()) places += ", ";
    places += e.place;
  }
  return places;
}

/// The time given by an option, if any.
std::optional<instant> time_of(const std::string& text, const char* option, errors& found) {
  if (text.empty()) return std::nullopt;
  const auto time = read_time(text);
  if (!time) found.add(option, {}, "expected " + std::string{time_forms} + ", found \"" + text + '"');
  return time;
}

/// The work requested as a part of what the cluster can do between the first and the last submission, in
/// thousandths; nullopt if that has no bound or no length.
std::optional<std::int64_t> load_of(const scenario& s) {
  if (!s.trace || !s.cluster || s.trace->jobs.empty()) return std::nullopt;
  return offered_load(*s.trace, s.cluster->gpus());
}

/// A queue that only grows makes a replay slow, and its figures then depend more on the length of the trace
/// than on the policy.
void warn_of_load(const scenario& s, const replay_control& control) {
  // A few jobs are done in no time, whatever their load.
  constexpr std::size_t few_jobs = 1000;
  const auto load = load_of(s);
  if (!load || s.trace->jobs.size() < few_jobs || *load <= 1000 || control.until || control.max_queue ||
      control.max_time)
    return;
  std::fprintf(
      stderr,
      "allot: the jobs ask for %s of what the cluster can do while they come, so the queue grows and the "
      "end is far (--until, --max-queue and --max-time end a replay early)\n",
      percent(*load * 1000).c_str());
}

/// All policies are measured by one tree, the scenario's, so what a preset decides by may be another one.
std::string note_of_nominals(const scenario& s) {
  const auto preset = policy_of(s);
  if (!preset || preset->ignores_quotas) return {};
  std::vector<quota_spec<max_resources>> specs;
  std::set<std::string_view> parents;
  for (const quota_entry& q : s.quotas) {
    specs.push_back(q.spec);
    parents.insert(q.spec.parent);
  }
  preset->adapt(specs);
  std::string otherwise;
  for (std::size_t x = 0; x < specs.size(); ++x) {
    const quota_spec<max_resources>& told = s.quotas[x].spec;
    if (!specs[x].inclusive || told.inclusive || parents.count(told.name) == 0) continue;
    otherwise.append(otherwise.empty() ? "" : ", ").append(told.name);
  }
  if (otherwise.empty()) return {};
  return fmt::format(
      "note: {} decides as if the nominal of {} contained that of its children; in the figures it comes on "
      "top of theirs. With \"inclusive\": true both are the same\n",
      s.policy.preset, shortened(otherwise, 200));
}

std::string timing_text(const replay_result& r) {
  const replay_timing& t = r.timing;
  const auto seconds = [](std::chrono::nanoseconds n) { return static_cast<double>(n.count()) / 1e9; };
  const auto rest = t.simulation - t.metrics - t.runs - t.series;
  const auto all = t.reading + t.simulation + t.writing;
  text_table table{{"time", "seconds", "part"}};
  const auto row = [&](const char* name, std::chrono::nanoseconds n) {
    table.add({name, fmt::format("{:.3f}", seconds(n)),
               fmt::format("{:.1f} %", all.count() == 0 ? 0 : seconds(n) / seconds(all) * 100)});
  };
  row("reading", t.reading);
  row("events and decisions", rest);
  row("metrics", t.metrics);
  row("runs and places", t.runs);
  row("series and events", t.series);
  row("writing", t.writing);
  row("all", all);
  const auto rate = [&](std::uint64_t n, std::chrono::nanoseconds in) {
    return in.count() == 0 ? std::string{"-"}
                           : grouped(static_cast<std::uint64_t>(static_cast<double>(n) / seconds(in)));
  };
  return table.text() +
         fmt::format("  {} events/s and {} decisions/s simulated, {} events/s without the measuring\n",
                     rate(r.events, t.simulation), rate(r.decisions, t.simulation), rate(r.events, rest));
}

/// Parses the options that are texts.
replay_control control_of(const replay_options& options, errors& found) {
  replay_control control;
  control.until = time_of(options.until, "--until", found);
  control.look_at = time_of(options.at, "--at", found);
  control.tenants_step = time_of(options.tenants_step, "--tenants-step", found);
  if (const auto wall = time_of(options.max_time, "--max-time", found)) {
    control.max_time = std::chrono::milliseconds{*wall};
  }
  if (control.until && control.look_at && *control.until < *control.look_at) {
    found.add("--at", {}, "the replay ends before, at --until " + options.until);
  }
  control.max_queue = options.max_queue;
  control.only_look = control.look_at.has_value() && options.out.empty();
  control.most_reasons = options.rows;
  control.timed = options.timing;
  return control;
}

/// Prints the state, and remembers whether that worked.
struct dashboard_printer {
  std::size_t rows = 0;
  bool was_shown = false;
  bool failed = false;

  void operator()(const cluster_state& state) {
    was_shown = true;
    const std::string text = dashboard(state, rows);
    failed = !print_result(printable_lines(text), "the dashboard");
  }
};

replay_stop simulate(scenario& s, const replay_streams& streams, replay_result& r,
                     const replay_control& control) {
  return with_dimensions(s.resources.size(),
                         [&](auto n) { return run_replay<decltype(n)::value>(s, streams, r, control); });
}

/// The quotas with these names.
vector<quota_id> chosen_quotas(const replay_result& r, const vector<std::string>& names, errors& found) {
  vector<quota_id> chosen;
  if (names.size() > report::most_colours) {
    found.add("--show", {},
              fmt::format("expected at most {} quotas, as many as there are colours, found {}",
                          report::most_colours, names.size()));
  }
  for (const std::string& name : names) {
    const auto is_it = [&](const replayed_quota& q) { return q.name == name; };
    const auto at = std::find_if(r.quotas.begin(), r.quotas.end(), is_it);
    if (at != r.quotas.end()) {
      chosen.emplace_back(static_cast<std::size_t>(at - r.quotas.begin()));
      continue;
    }
    vector<std::string_view> known;
    for (const replayed_quota& q : r.quotas) known.emplace_back(q.name);
    found.add("--show", {},
              "there is no quota \"" + shortened(name, 100) + '"' + did_you_mean(nearest(name, known)));
  }
  return chosen;
}

/// Only the dashboard, no files.
int look(scenario& s, replay_result& r, replay_control control, dashboard_printer& printer) {
  output_file nowhere;
  control.show = std::ref(printer);
  const replay_stop stop = simulate(s, {nowhere, nullptr}, r, control);
  if (!stop.problems.empty() || !stop.found.empty()) return complain(explain_stop(s, stop));
  if (printer.failed) return bad_input_status;
  if (printer.was_shown) return 0;
  std::fprintf(stderr, "allot: the replay ended before that time, at %s s (%s)\n",
               decimal(r.stopped ? r.stopped->at : 0).c_str(),
               std::string{r.stopped ? word_of(r.stopped->why) : "end"}.c_str());
  return incomplete_status;
}

/// Writes one file by `write(file)`. Returns an error message, or an empty string.
template <class Write>
std::string write_file(const atomic_directory& directory, std::string_view name, Write write) {
  output_file file{directory.path_of(name)};
  write(file);
  return file.close();
}

}  // namespace

void check_for_replay(const scenario& s, errors& found) {
  if (s.jobs.empty() && (!s.trace || s.trace->jobs.empty())) {
    found.add(s.file, {}, "there are no jobs to replay: name some under \"jobs\", or give a trace");
  }
}

errors explain_stop(const scenario& s, const replay_stop& stop) {
  errors found = stop.found;
  for (const problem& p : stop.problems) {
    found.add(s.file, places_of_changes(s, stop.at), "at " + decimal(stop.at) + " s: " + p.text);
  }
  return found;
}

replay_result result_for(const scenario& s, std::uint64_t seed, bool has_own_quotas) {
  replay_result r;
  r.policy = s.policy.preset;
  r.policy_name = s.policy.full_name();
  r.policy_given = s.policy.given;
  r.seed = seed;
  // Excludes the policy and the seed, which are stored beside it: two policies on one workload have one
  // input.
  r.input_hash = s.input.hex();
  r.cluster = s.cluster ? &*s.cluster : nullptr;
  if (has_own_quotas) r.scenario_file = file_name_of(s.file);
  r.trace_file = file_name_of(s.trace_file);
  r.resources = s.resources;
  r.has_own_quotas = has_own_quotas;
  for (const quota_entry& q : s.quotas) r.quotas.push_back({q.spec.name, {}, {}});
  std::unordered_map<std::string_view, quota_id> ids;
  for (std::size_t x = 0; x < s.quotas.size(); ++x) ids.emplace(s.quotas[x].spec.name, quota_id{x});
  for (std::size_t x = 0; x < s.quotas.size(); ++x) {
    const auto parent = ids.find(s.quotas[x].spec.parent);
    if (!s.quotas[x].spec.parent.empty() && parent != ids.end()) r.quotas[x].parent = parent->second;
  }
  return r;
}

replay_conclusion replay_into(const atomic_directory& directory, scenario& s, replay_result& r,
                              const replay_control& control, const replay_outputs& outputs,
                              std::chrono::steady_clock::time_point begin) {
  replay_conclusion done;
  std::string& problem = done.problem;
  {
    const interruptible may_be_stopped;
    // Without a name, what is written to it is discarded.
    output_file tenants;
    if (outputs.tables) tenants = output_file{directory.path_of("tenants.csv")};
    std::optional<output_file> events;
    if (outputs.events) events.emplace(directory.path_of("events.csv"));
    const replay_stop stop = simulate(s, {tenants, events ? &*events : nullptr}, r, control);
    done.found = explain_stop(s, stop);
    if (!done.found.empty()) return done;
    if (outputs.tables) problem = tenants.close();
    if (problem.empty() && events) problem = events->close();
    done.asked = interruptible::asked();
  }
  const auto before_writing = std::chrono::steady_clock::now();
  explain_refusals(r);
  const auto write = [&](bool wanted, std::string_view name, auto to) {
    if (wanted && problem.empty()) problem = write_file(directory, name, to);
  };
  write(outputs.tables, "jobs.csv", [&](output_file& f) { write_jobs(f, r); });
  write(outputs.tables, "cdf.csv", [&](output_file& f) { write_distributions(f, r); });
  write(outputs.report, "report.html", [&](output_file& f) { write_report(f, r); });
  std::string note;
  write(outputs.chrome, "trace.json", [&](output_file& f) { note = write_chrome_trace(f, r); });
  if (!note.empty()) print_error("trace.json: " + note + '\n');
  if (outputs.svg) {
    const vector<std::string> drawn = standalone_charts(r);
    for (std::size_t i = 0; i < drawn.size() && problem.empty(); ++i) {
      if (drawn[i].empty()) continue;
      done.charts.append(", ").append(chart_files[i]);
      write(true, chart_files[i], [&](output_file& f) { f.text() += drawn[i]; });
    }
  }
  const auto end = std::chrono::steady_clock::now();
  r.timing.writing = end - before_writing;
  done.wall = std::chrono::duration_cast<std::chrono::milliseconds>(end - begin);
  write(true, "summary.json", [&](output_file& f) { write_summary(f, r, done.wall.count()); });
  return done;
}

int replay(const replay_options& options) {
  const auto begin = std::chrono::steady_clock::now();
  errors found;
  replay_control control = control_of(options, found);
  const measuring measured = read_measuring(options.measured, found);
  if (found.empty()) {
    const std::string nothing = nothing_measured(measured, control.until);
    if (!nothing.empty()) found.add(measured.from ? "--window" : "--warm-up", {}, nothing);
  }
  if (options.out.empty() && !control.look_at) {
    found.add("--out", {}, "expected the directory that is made (or --at, to print one moment)");
  }
  if (!found.empty()) return complain(found);
  std::optional<scenario> s = read_scenario(options.source, found);
  if (s) check_for_replay(*s, found);
  if (!s || !found.empty()) return complain(found);
  if (options.seed) s->policy.seed = *options.seed;

  replay_result r = result_for(*s, s->policy.seed, options.source.file.has_value());
  r.measured = measured;
  r.chosen = chosen_quotas(r, options.show, found);
  if (!found.empty()) return complain(found);
  r.timing.reading = std::chrono::steady_clock::now() - begin;
  dashboard_printer printer{options.rows};
  print_error(note_of_nominals(*s));
  if (control.only_look) return look(*s, r, control, printer);
  warn_of_load(*s, control);
  if (s->trace) {
    print_error(doubtful_tags(*s->trace, shown_path(s->trace_file), columns_of_speeds(*s)));
    if (const std::string doubt = doubt_of_times(times_of(*s->trace)); !doubt.empty()) {
      print_error(shown_path(s->trace_file) + ": " + doubt + '\n');
    }
  }

  atomic_directory directory;
  remove_leftovers(options.out, replay_file_names);
  std::string problem = directory.open(options.out, replay_file_names, options.force);
  if (!problem.empty()) return complain(problem);
  control.show = std::ref(printer);
  const replay_outputs outputs{true, true, options.events, options.chrome, options.svg};
  const replay_conclusion done = replay_into(directory, *s, r, control, outputs, begin);
  if (!done.found.empty()) return complain(done.found);
  if (printer.failed) return bad_input_status;
  problem = done.problem.empty() ? directory.publish() : done.problem;
  if (!problem.empty()) return complain(problem);

  print_error(warnings(r));
  if (options.timing) print_error(timing_text(r));
  const std::string text =
      headline(r) +
      fmt::format("\n{}: summary.json, jobs.csv, tenants.csv, cdf.csv, report.html{}{}{} ({} s)\n",
                  options.out, options.events ? ", events.csv" : "", options.chrome ? ", trace.json" : "",
                  done.charts, decimal(done.wall.count()));
  if (!print_result(printable_lines(text), "the headline")) return bad_input_status;
  if (!r.stopped || r.stopped->why == stop_reason::until) return 0;
  return r.stopped->why == stop_reason::interrupt ? 128 + done.asked : incomplete_status;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
