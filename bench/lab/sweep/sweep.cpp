// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/sweep/sweep.hpp"

#include "lab/io/atomic_files.hpp"
#include "lab/io/terminal.hpp"
#include "lab/replay/progress.hpp"
#include "lab/replay/replay.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"
#include "lab/sweep/sweep_results.hpp"
#include "lab/sweep/sweep_workers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

namespace fs = std::filesystem;

/// The status of a process that could not write; another process could not either.
constexpr int unwritable_status = 5;

/// The files of a point. point.json is last: if it exists, everything does.
constexpr std::array<std::string_view, 8> point_file_names = {"jobs.csv",     "tenants.csv", "cdf.csv",
                                                              "events.csv",   "trace.json",  "report.html",
                                                              "summary.json", "point.json"};

sweep_record record_of(const experiment& e) {
  sweep_record sweep{e.name, e.id, e.baseline, {}};
  for (const experiment_point& p : e.points) {
    const experiment_scenario& s = e.scenarios[p.scenario];
    sweep.points.push_back(
        {p.name, s.name, e.policies[p.policy].name, p.load.name, p.seed, p.key, window_text(s.measured)});
  }
  return sweep;
}

/// Writes the directory of a point that has no other files.
std::string publish_point(const std::string& sweep_directory, const swept_point& p) {
  atomic_directory directory;
  std::string problem = directory.open(directory_of_point(sweep_directory, p.name), point_file_names, true);
  if (!problem.empty()) return problem;
  output_file file{directory.path_of("point.json")};
  file.text() = point_json(p);
  problem = file.close();
  return problem.empty() ? directory.publish() : problem;
}

/// Replays a point, in a separate process. Returns its exit status; errors are on standard error.
int run_point(const experiment& e, const experiment_point& which, swept_point p,
              const std::string& sweep_directory, bool full) {
  const auto begin = std::chrono::steady_clock::now();
  errors found;
  auto s = scenario_of(e, which, found);
  if (s) check_for_replay(*s, found);
  if (!s || !found.empty()) return complain(found);
  replay_result r = result_for(*s, which.seed, true);
  r.measured = e.scenarios[which.scenario].measured;
  replay_control control;
  control.until = e.until;
  control.max_queue = e.max_queue;
  if (e.max_time) control.max_time = std::chrono::milliseconds{*e.max_time};
  control.show_progress = false;

  const auto can_not_write = [](const std::string& problem) {
    print_error(printable(problem) + '\n');
    return unwritable_status;
  };
  atomic_directory directory;
  std::string problem = directory.open(directory_of_point(sweep_directory, p.name), point_file_names, true);
  if (!problem.empty()) return can_not_write(problem);
  const replay_conclusion done = replay_into(directory, *s, r, control, {full, full, false, false}, begin);
  if (!done.found.empty()) return complain(done.found);
  if (done.asked != 0) return 128 + done.asked;
  if (!done.problem.empty()) return can_not_write(done.problem);
  p.is = swept_point::state::done;
  if (r.stopped && r.stopped->why != stop_reason::until) {
    p.is = swept_point::state::stopped;
    p.reason = fmt::format("{} at {} s", word_of(r.stopped->why), decimal(r.stopped->at));
  }
  output_file file{directory.path_of("point.json")};
  file.text() = point_json(p);
  problem = file.close();
  if (problem.empty()) problem = directory.publish();
  return problem.empty() ? 0 : can_not_write(problem);
}

/// Whether the point need not be run.
bool is_settled(const swept_point& p) {
  const bool depends_on_machine = p.reason.compare(0, 8, "max_time") == 0;
  return p.is == swept_point::state::done || (p.is == swept_point::state::stopped && !depends_on_machine);
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') line += ';';
    line += c == '\n' ? ' ' : c;
  }
  return line;
}

std::string reason_of(const worker_pool::outcome& o) {
  std::string reason = one_line(o.said);
  if (o.status > 128) {
    if (!reason.empty()) reason += "; ";
    reason +=
        fmt::format("its process was ended by signal {} ({})", o.status - 128, ::strsignal(o.status - 128));
  }
  return reason.empty() ? fmt::format("its process ended with status {}", o.status) : reason;
}

/// Runs the missing points of a shard.
class sweeper {
 public:
  sweeper(const experiment& e, sweep_record& sweep, const sweep_options& options, sweep_shard shard)
      : e_(e), sweep_(sweep), options_(options), pool_(options.jobs == 0 ? usable_cores() : options.jobs) {
    for (std::size_t i = 0; i < sweep_.points.size(); ++i) {
      if (shard.has(i)) mine_.push_back(i);
    }
  }

  /// Returns what could not be written, or an empty string.
  [[nodiscard]] std::string run() {
    vector<std::size_t> todo;
    for (const std::size_t i : mine_) {
      if (!is_settled(sweep_.points[i])) todo.push_back(i);
    }
    were_there_ = mine_.size() - todo.size();
    std::set<std::string> names;
    for (const std::size_t i : todo) names.insert(sweep_.points[i].name);
    remove_leftovers_in((fs::path{options_.out} / points_directory).string(),
                        [&](const std::string& name) { return names.count(name) != 0; }, point_file_names);
    std::size_t next = 0;
    while (problem_.empty() && (next < todo.size() || pool_.running() > 0)) {
      const bool is_asked = interruptible::asked() != 0;
      if (is_asked && !was_asked_) pool_.interrupt();
      was_asked_ = was_asked_ || is_asked;
      if (was_asked_) next = todo.size();
      while (next < todo.size() && pool_.has_room()) begin(todo[next++]);
      const std::size_t before = pool_.running();
      pool_.collect([&](const worker_pool::outcome& o) { take(o); });
      if (status_.is_due()) show(todo.size());
      if (pool_.running() == before && before > 0) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    status_.clear();
    return problem_;
  }

  [[nodiscard]] bool was_interrupted() const noexcept { return was_asked_; }
  [[nodiscard]] std::size_t ran() const noexcept { return ran_; }
  [[nodiscard]] std::size_t were_there() const noexcept { return were_there_; }
  /// The points of this shard, by number.
  [[nodiscard]] const vector<std::size_t>& points() const noexcept { return mine_; }

 private:
  void begin(std::size_t i) {
    const bool has_begun = pool_.begin(
        i, [&] { return run_point(e_, e_.points[i], sweep_.points[i], options_.out, options_.source.full); });
    if (!has_begun) fail(sweep_.points[i], "there could be no process for it");
  }

  void take(const worker_pool::outcome& o) {
    swept_point& p = sweep_.points[o.work];
    ++ran_;
    if (o.status == unwritable_status) {
      problem_ = one_line(o.said);
      return;
    }
    p.is = swept_point::state::missing;
    p.summary.reset();
    if (o.status == 0) {
      read_point(options_.out, p);
      if (p.is != swept_point::state::missing) return;
      return fail(p, "its result can't be read");
    }
    // The point is not to blame for the interruption of the sweep.
    if (was_asked_ || interruptible::asked() != 0) return;
    fail(p, reason_of(o));
  }

  void fail(swept_point& p, std::string reason) {
    p.is = swept_point::state::failed;
    p.reason = std::move(reason);
    if (problem_.empty()) problem_ = publish_point(options_.out, p);
  }

  void show(std::size_t todo) {
    const std::size_t failed = sweep_.count(swept_point::state::failed);
    std::string text = fmt::format("{} of {} points done", were_there_ + ran_, mine_.size());
    if (failed != 0) text += fmt::format(", {} failed", failed);
    if (ran_ > 0) {
      const double left = static_cast<double>(status_.elapsed().count()) * static_cast<double>(todo - ran_) /
                          static_cast<double>(ran_);
      text +=
          fmt::format(", {} left", shown_span(std::chrono::milliseconds{static_cast<std::int64_t>(left)}));
    }
    status_.show(text);
  }

  const experiment& e_;
  sweep_record& sweep_;
  const sweep_options& options_;
  worker_pool pool_;
  status_line status_;
  vector<std::size_t> mine_;
  std::size_t ran_ = 0;
  std::size_t were_there_ = 0;
  std::string problem_;
  bool was_asked_ = false;
};

/// Writes the tables of the available results. Returns what could not be written, or an empty string.
std::string write_tables(const std::string& directory, const sweep_record& sweep) {
  std::string problem = publish_file(directory + "/results.csv", results_csv(sweep), true);
  if (problem.empty()) problem = publish_file(directory + "/table.csv", table_csv(sweep), true);
  if (problem.empty()) problem = publish_file(directory + "/table.json", table_json(sweep), true);
  return problem;
}

/// Whether there is anything in it but what somebody is writing: another shard may have just made it.
bool has_files(const std::string& directory, std::error_code& error) {
  for (const auto& entry : fs::directory_iterator{directory, error}) {
    if (!is_partial(entry.path().filename().string())) return true;
  }
  return false;
}

/// Makes sure that the directory exists and belongs to this sweep, and reads what is in it.
void open_directory(const std::string& directory, sweep_record& sweep, errors& found) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(directory, error))) {
    if (!fs::is_directory(directory, error)) return found.add(directory, {}, "expected a directory");
    // Looked at before sweep.json, which another shard, starting just now, writes before all else.
    const bool is_used = has_files(directory, error);
    if (fs::exists(fs::path{directory} / sweep_file, error)) {
      const auto there = read_sweep_file(directory, found);
      if (!there) return;
      if (there->experiment != sweep.experiment) {
        return found.add(directory, {},
                         "it has the sweep of the experiment \"" + there->experiment +
                             "\", expected one of \"" + sweep.experiment + "\", or another directory");
      }
    } else if (is_used) {
      return found.add(directory, {},
                       "it has other files, and no " + std::string{sweep_file} +
                           ": expected a new directory, or one of this sweep");
    }
  }
  fs::create_directories(directory, error);
  // It says whose directory it is, so it comes first.
  const std::string problem = error ? "can't make the directory: " + error.message()
                                    : publish_file(directory + '/' + sweep_file, to_json(sweep), true);
  if (!problem.empty()) return found.add(directory, {}, problem);
  fs::create_directories(fs::path{directory} / points_directory, error);
  if (error) return found.add(directory, {}, "can't make a directory in it: " + error.message());
  for (swept_point& p : sweep.points) read_point(directory, p);
}

std::string_view word_of_state(const swept_point& p) {
  switch (p.is) {
    case swept_point::state::done:
      return "done";
    case swept_point::state::stopped:
      return "stopped";
    case swept_point::state::failed:
      return "failed";
    case swept_point::state::missing:
      break;
  }
  return "to run";
}

/// Lists the points that are not done. Returns how many there are.
std::size_t list_undone(const sweep_record& sweep, const vector<std::size_t>& of) {
  constexpr std::size_t most_named = 20;
  std::size_t undone = 0;
  for (const std::size_t i : of) {
    const swept_point& p = sweep.points[i];
    if (p.is == swept_point::state::done || ++undone > most_named) continue;
    print_error(printable(fmt::format("{}: {}{}{}", p.name, word_of_state(p), p.reason.empty() ? "" : ": ",
                                      p.reason)) +
                '\n');
  }
  if (undone > most_named) std::fprintf(stderr, "... and %zu more: see results.csv\n", undone - most_named);
  return undone;
}

/// Lists the points that measured no job.
void list_empty(const sweep_record& sweep, const vector<std::size_t>& of) {
  constexpr std::size_t most_named = 20;
  std::size_t empty = 0;
  for (const std::size_t i : of) {
    const swept_point& p = sweep.points[i];
    if (p.is != swept_point::state::done || p.measured.empty()) continue;
    if (p.summary->find("window/jobs").value_or(1) != 0 || ++empty > most_named) continue;
    print_error(
        printable(p.name + ": no job was submitted in the part that is measured (" + p.measured + ')') +
        '\n');
  }
  if (empty > most_named)
    std::fprintf(stderr, "... and %zu more: see window/jobs in results.csv\n", empty - most_named);
}

int print(const std::string& text) {
  return print_result(printable_lines(text), "the table") ? 0 : bad_input_status;
}

int list_points(const sweep_options& options, sweep_record& sweep, sweep_shard shard) {
  std::string text;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (!shard.has(i)) continue;
    swept_point& p = sweep.points[i];
    if (!options.out.empty()) read_point(options.out, p);
    text += fmt::format("{:<7} {}\n", word_of_state(p), p.name);
  }
  return print(text);
}

int run_sweep(const sweep_options& options, sweep_shard shard) {
  errors found;
  const auto e = read_experiment(options.source, found);
  if (!e) return complain(found);
  sweep_record sweep = record_of(*e);
  if (options.list) return list_points(options, sweep, shard);
  const interruptible may_be_stopped;
  open_directory(options.out, sweep, found);
  if (!found.empty()) return complain(found);

  sweeper runs{*e, sweep, options, shard};
  std::string problem = runs.run();
  if (!problem.empty()) return complain(problem);
  problem = write_tables(options.out, sweep);
  if (!problem.empty()) return complain(problem);

  const std::size_t undone = list_undone(sweep, runs.points());
  list_empty(sweep, runs.points());
  if (runs.was_interrupted()) {
    std::fprintf(stderr, "interrupted: %zu of %zu points are to run; the same command goes on\n", undone,
                 runs.points().size());
    return 128 + interruptible::asked();
  }
  std::string text = shown_table(sweep, options.format == "markdown");
  text += fmt::format(
      "\n{}: results.csv, table.csv, table.json ({} points run, {} were there, {} of {} not done)\n",
      options.out, runs.ran(), runs.were_there(), undone, runs.points().size());
  const int status = print(text);
  return status != 0 ? status : undone == 0 ? 0 : incomplete_status;
}

/// Copies a point's directory so that it appears at once or not at all.
std::string copy_point(const std::string& from, const std::string& to, const std::string& point) {
  atomic_directory directory;
  std::string problem = directory.open(directory_of_point(to, point), point_file_names, true);
  if (!problem.empty()) return problem;
  for (const std::string_view name : point_file_names) {
    std::error_code error;
    const fs::path file = fs::path{directory_of_point(from, point)} / name;
    if (!fs::exists(file, error)) continue;
    fs::copy_file(file, directory.path_of(name), error);
    if (error) return "can't copy " + file.string() + ": " + error.message();
  }
  return directory.publish();
}

/// Takes from another directory the points that this sweep lacks. Returns what could not be written, or an
/// empty string.
std::string take_points(const std::string& from, const std::string& to, sweep_record& sweep, errors& found) {
  for (swept_point& p : sweep.points) {
    swept_point there = p;
    there.is = swept_point::state::missing;
    there.reason.clear();
    there.summary.reset();
    read_point(from, there);
    if (there.is == swept_point::state::missing) continue;
    if (p.is == swept_point::state::done && there.is == swept_point::state::done) {
      if (p.summary->decision_hash != there.summary->decision_hash) {
        found.add(directory_of_point(from, p.name), {},
                  "the same point was decided otherwise in another directory (" +
                      there.summary->decision_hash + " and " + p.summary->decision_hash + ")");
      }
      continue;
    }
    if (p.is == swept_point::state::done) continue;
    std::error_code error;
    if (!fs::equivalent(from, to, error)) {
      std::string problem = copy_point(from, to, p.name);
      if (!problem.empty()) return problem;
    }
    p = std::move(there);
  }
  return {};
}

int merge_sweeps(const sweep_options& options) {
  errors found;
  std::optional<sweep_record> sweep;
  for (const std::string& directory : options.merge) {
    auto part = read_sweep_file(directory, found);
    if (!part) continue;
    if (!sweep) {
      sweep = std::move(part);
    } else if (sweep->experiment != part->experiment) {
      found.add(directory, {},
                "it has the sweep of the experiment \"" + part->experiment + "\", and " +
                    options.merge.front() + " that of \"" + sweep->experiment + '"');
    } else if (sweep->id != part->id) {
      found.add(directory, {},
                "its points are not those of " + options.merge.front() +
                    ": the experiment or its inputs were changed in between");
    }
  }
  if (!found.empty() || !sweep) return complain(found);
  const interruptible may_be_stopped;
  open_directory(options.out, *sweep, found);
  if (!found.empty()) return complain(found);
  for (const std::string& directory : options.merge) {
    const std::string problem = take_points(directory, options.out, *sweep, found);
    if (!problem.empty()) return complain(problem);
  }
  if (!found.empty()) return complain(found);
  std::string problem = publish_file(options.out + '/' + sweep_file, to_json(*sweep), true);
  if (problem.empty()) problem = write_tables(options.out, *sweep);
  if (!problem.empty()) return complain(problem);
  vector<std::size_t> all(sweep->points.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::size_t undone = list_undone(*sweep, all);
  std::string text = shown_table(*sweep, options.format == "markdown");
  text += fmt::format("\n{}: results.csv, table.csv, table.json ({} of {} points not done)\n", options.out,
                      undone, all.size());
  const int status = print(text);
  return status != 0 ? status : undone == 0 ? 0 : incomplete_status;
}

}  // namespace

std::optional<sweep_shard> read_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::size_t> {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional{n} : std::nullopt;
  };
  const auto index = number(text.substr(0, slash));
  const auto count = number(text.substr(slash + 1));
  if (!index || !count || *index >= *count) return std::nullopt;
  return sweep_shard{*index, *count};
}

int sweep(const sweep_options& options) {
  errors found;
  sweep_options o = options;
  while (o.out.size() > 1 && o.out.back() == '/') o.out.pop_back();
  if (o.out.empty() && !o.list) found.add("--out", {}, "expected the directory of the sweep");
  std::optional<sweep_shard> shard = sweep_shard{};
  if (!o.shard.empty()) {
    shard = read_shard(o.shard);
    if (!shard) {
      found.add("--shard", {},
                "expected i/n, part i of n with i from 0 to n - 1, as in 0/8; found \"" + o.shard + '"');
    }
  }
  if (o.merge.empty() == o.source.file.empty()) {
    found.add("allot sweep", {}, "expected an experiment, or --merge with the directories of its shards");
  }
  if (!o.merge.empty() && !o.shard.empty()) found.add("--shard", {}, "--merge is of all shards");
  if (!found.empty()) return complain(found);
  return o.merge.empty() ? run_sweep(o, *shard) : merge_sweeps(o);
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
