// SPDX-License-Identifier: BSL-1.0
// The command line of the program `allot`: one function for each command.
#include "lab/cli/guide.hpp"
#include "lab/cli/help_format.hpp"
#include "lab/decide/check.hpp"
#include "lab/decide/decide.hpp"
#include "lab/decide/explain_job.hpp"
#include "lab/import/import.hpp"
#include "lab/io/files.hpp"
#include "lab/io/json_reader.hpp"
#include "lab/io/terminal.hpp"
#include "lab/replay/replay.hpp"
#include "lab/report/draw.hpp"
#include "lab/sweep/compare.hpp"
#include "lab/sweep/compare_page.hpp"
#include "lab/sweep/sweep.hpp"
#include "lab/workload/fill.hpp"
#include "lab/workload/generate.hpp"
#include "lab/workload/generated.hpp"

#include <allot/core/version.hpp>
#include <allot/lab/own_policy.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace lab = allot::lab;

[[nodiscard]] std::string version() {
  return "allot " + std::to_string(allot::version_major) + '.' + std::to_string(allot::version_minor) + '.' +
         std::to_string(allot::version_patch);
}

/// Checks that an option is a whole number in plain digits. What the library would make of other texts
/// depends on the type: -1 is a large number, 010 is eight.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[=](std::string& text) -> std::string {
            std::uint64_t n = 0;
            const char* const end = text.data() + text.size();
            const auto [after, error] = std::from_chars(text.data(), end, n);
            if (error != std::errc{} || after != end || n < least || n > most) {
              return "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                     ", found \"" + lab::shortened(text, 40) + '"';
            }
            text = std::to_string(n);
            return {};
          },
          ""};
}
constexpr std::uint64_t any_seed = std::numeric_limits<std::uint64_t>::max();
/// Where the command says what the range is.
constexpr std::uint64_t any_count = std::numeric_limits<std::int64_t>::max();

/// The bytes in "4G" or "1048576".
[[nodiscard]] std::optional<std::uint64_t> read_size(std::string_view text) {
  constexpr std::string_view units = "KMGT";
  unsigned shift = 0;
  if (const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
      unit != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    text.remove_suffix(1);
  }
  std::uint64_t n = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool is_whole = error == std::errc{} && after == text.data() + text.size();
  if (!is_whole || n == 0 || n > (std::uint64_t{1} << 50U) >> shift) return std::nullopt;
  return n << shift;
}

/// How much a file may hold, for every command that reads one.
void add_max_input(CLI::App& command) {
  command.add_option_function<std::string>(
      "--max-input",
      [](const std::string& text) {
        const auto size = read_size(text);
        if (!size) {
          throw CLI::ValidationError("--max-input",
                                     "expected bytes, as in 1048576, 512M or 4G, at most 1024T, found \"" +
                                         lab::shortened(text, 40) + '"');
        }
        lab::limits_of_input().document = *size;
        lab::limits_of_input().table = *size;
      },
      "the most that is read of one file, unpacked, as in 4G (1G; traces, which are read row by row, 4G)");
}
/// And how deep its quotas may be.
void add_limits(CLI::App& command) {
  add_max_input(command);
  command.add_option("--max-depth", lab::limits_of_input().depth, "the most levels of a tree of quotas")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
}

void add_source(CLI::App& command, lab::scenario_source& source) {
  add_limits(command);
  command.add_option("--nodes", source.nodes, "COUNTxGPUS, as in 16x8: instead of the scenario's cluster");
  command.add_option("--trace", source.trace, "CSV of more jobs, instead of the scenario's trace");
  command.add_option("--policy", source.policy, "a preset (see: allot policies), instead of the scenario's");
}

void add_measuring(CLI::App& command, lab::measuring_options& measured) {
  command.add_option("--window", measured.window,
                     "FROM,TO, as in 3600,86400 or 12h,3d: figures over time are of this part, and those of "
                     "jobs of jobs that come in it; either may be left out");
  command.add_option(
      "--warm-up", measured.warm_up,
      "that much after the first submission is left out of the figures: seconds, or as in 12h");
  command.add_flag("--no-drain", measured.no_drain, "what comes after the last submission is left out");
  command.add_option("--grace", measured.grace,
                     "so long may a quota wait for what it has lent before it counts as violated (60): "
                     "seconds, or as in 5m");
  command.add_flag("--isolated", measured.isolated,
                   "also replay each tenant alone, on its quota and on its weight share of the cluster");
}

/// An option with nothing as its value is a mistake, as when a variable of a script is empty.
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* const command : app.get_subcommands({})) {
    for (CLI::Option* const option : command->get_options()) {
      // No column, for the tenant, is one of the choices.
      if (option->get_items_expected_max() == 0 || option->check_lname("tenant")) continue;
      option->check(CLI::Validator{
          [](std::string& text) { return text.empty() ? "expected a value, found nothing" : std::string{}; },
          ""});
    }
  }
}

/// The texts name files as they are in the sources: after this, as they are on this machine.
void point_to_files(CLI::App& app) {
  const lab::guide files = lab::find_guide();
  app.footer(lab::with_paths_of(files, app.get_footer()));
  for (CLI::App* const command : app.get_subcommands({})) {
    command->footer(lab::with_paths_of(files, command->get_footer()));
  }
}

/// The parsed command line; returns the exit status.
struct command_line {
  explicit command_line(CLI::App& app) : app_(app) {
    app.require_subcommand(1);
    app.set_version_flag("--version", version());
    app.footer(
        "A command says more:  allot decide --help\n"
        "Files are described in bench/lab/README.md; - stands for standard input or output.\n"
        "The exit status is 2 when the input is wrong; then nothing is written.");
    add_check();
    add_decide();
    add_explain();
    add_draw();
    add_replay();
    add_sweep();
    add_compare();
    add_import();
    add_generate();
    add_fill();
    add_policies();
    refuse_empty_values(app);
    point_to_files(app);
  }

  [[nodiscard]] int run() const {
    if (check_->parsed()) return lab::run_check(check_source_);
    if (decide_->parsed()) return lab::run_decide(decide_options_);
    if (explain_->parsed()) return run_explain();
    if (draw_->parsed()) return lab::run_draw(draw_options_);
    if (replay_->parsed()) return run_replay();
    if (sweep_->parsed()) return lab::sweep(sweep_options_);
    if (compare_->parsed()) return run_compare();
    if (import_->parsed()) return lab::run_import(import_options_);
    if (generate_->parsed()) return lab::generate(generate_options_);
    if (fill_->parsed()) return lab::fill(fill_command_);
    return lab::print_result(lab::list_policies(lab::terminal_width(stdout)), "the list")
               ? 0
               : lab::bad_input_status;
  }

 private:
  void add_check() {
    check_ = app_.add_subcommand("check",
                                 "read all of a scenario or a trace, and say what is in it or wrong with it");
    check_->add_option("FILE", check_source_.file, "a scenario (JSON), or a trace called *.csv")->required();
    add_source(*check_, check_source_);
    check_->footer("Example:  allot check bench/lab/scenarios/three_teams.json");
  }
  void add_decide() {
    decide_ = app_.add_subcommand("decide",
                                  "one cycle of a scheduler: which jobs start, are evicted or wait, and why");
    decide_->add_option("SCENARIO", decide_options_.source.file, "a scenario (JSON)")->required();
    add_source(*decide_, decide_options_.source);
    decide_
        ->add_option("--rounds", decide_options_.rounds,
                     "up to so many cycles, until nothing more is decided; in between, the evicted go")
        ->check(whole_number(1, 1'000'000))
        ->capture_default_str();
    decide_->footer(
        "Examples:  allot decide bench/lab/scenarios/hyperpod_example.json\n"
        "           allot decide --rounds 10 --policy pai bench/lab/scenarios/three_teams.json");
  }
  void add_explain() {
    explain_ = app_.add_subcommand(
        "explain",
        "one job: why it waits and what would admit it, or where it runs and which jobs may preempt it; or a "
        "change: which jobs would start, have to go, or wait for less or longer");
    explain_->add_option("SCENARIO", explain_options_.source.file, "a scenario (JSON)")->required();
    CLI::Option* const job = explain_->add_option("JOB", explain_options_.job, "the id of a job");
    add_source(*explain_, explain_options_.source);
    CLI::Option* const rounds =
        explain_
            ->add_option("--rounds", explain_options_.rounds,
                         "the state after up to so many cycles; evicted jobs end in between")
            ->check(whole_number(1, 1'000'000))
            ->capture_default_str();
    explain_
        ->add_option(
            "--if", explain_options_.changes,
            "instead of JOB: what if quota:NAME:gpu+8 (or -8), job:NAME:priority=5, job:NAME:gone or "
            "node:NAME:gone; may be repeated. All that can be decided at once is, and those who are "
            "evicted go at once")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->excludes(job)
        ->excludes(rounds);
    explain_->add_flag("--json", explain_options_.json, "as data, for programs");
    explain_->footer(
        "Examples:  allot explain --policy static_quotas bench/lab/scenarios/hyperpod_example.json b2\n"
        "           allot explain bench/lab/scenarios/hyperpod_example.json --if quota:team-a:gpu-3");
  }
  void add_draw() {
    draw_ = app_.add_subcommand("draw", "the quotas of a scenario, or its topology, as a graph for GraphViz");
    draw_->add_option("SCENARIO", draw_options_.source.file, "a scenario (JSON)")->required();
    add_source(*draw_, draw_options_.source);
    draw_->add_flag("--topology", draw_options_.topology,
                    "the nodes and the domains around them, instead of the quotas");
    draw_->add_option("--out", draw_options_.out, "the file that is made (DOT); - for standard output")
        ->capture_default_str();
    draw_->add_flag("--force", draw_options_.force, "replace the file if it is there");
    draw_->footer(
        "Examples:  allot draw bench/lab/scenarios/three_teams.json | dot -Tsvg >quotas.svg\n"
        "           allot draw --topology bench/lab/scenarios/topology_and_mig.json --out topology.dot");
  }
  void add_replay() {
    replay_ = app_.add_subcommand("replay",
                                  "simulate a scenario or a trace, and write what came of it to a directory");
    replay_->add_option("SCENARIO", replay_options_.source.file,
                        "a scenario (JSON); without: --trace and --nodes");
    add_source(*replay_, replay_options_.source);
    lab::replay_options& r = replay_options_;
    replay_->add_option("--out", r.out, "the directory that is made; not needed with --at");
    replay_->add_option("--seed", replay_options_.seed, "instead of the scenario's seed")
        ->check(whole_number(0, any_seed));
    replay_->add_flag("--force", replay_options_.force,
                      "replace the files of an earlier run in that directory");
    replay_->add_flag("--events", replay_options_.events, "also events.csv: everything that happened");
    replay_->add_flag("--chrome", replay_options_.chrome, "also trace.json, for Perfetto");
    replay_->add_flag("--svg", r.svg, "also the charts of the report as *.svg, for papers");
    replay_
        ->add_option("--show", r.show,
                     "these quotas have colours in the charts and rows in the tables, at most 8; without: "
                     "those with the most GPU time")
        ->delimiter(',');
    replay_->add_option("--tenants-step", r.tenants_step,
                        "tenants.csv has at most one row of a quota in that time, as in 10m, how it stood at "
                        "the end, instead of one for each change; 0: each change of each quota, also where "
                        "others' jobs alone change what it is entitled to or lends");
    replay_->add_option("--until", r.until, "end at that simulated time: seconds, or as in 3d or 12h30m");
    replay_->add_option("--at", r.at, "print the state of the cluster at that simulated time");
    replay_->add_option("--rows", r.rows, "of each list of --at")
        ->check(whole_number(0, 1'000'000'000))
        ->capture_default_str();
    replay_->add_option("--max-queue", r.max_queue, "end when more jobs than this wait (exit status 3)")
        ->check(whole_number(0, any_count));
    replay_->add_option("--max-time", r.max_time,
                        "end after that time on the clock, as in 10m (exit status 3)");
    replay_->add_flag("--timing", r.timing, "say where the time went, and how many events a second");
    add_measuring(*replay_, replay_options_.measured);
    replay_->footer(
        "An interrupt ends it too; what has happened until then is written and marked in summary.json, and "
        "the "
        "exit status is 128 + the signal's number (130 of Ctrl-C). A second one ends it at once, without "
        "files.\n"
        "Examples:  allot replay bench/lab/scenarios/two_weeks_lending.json --trace jobs.csv --out "
        "runs/lending\n"
        "           allot replay --nodes 16x8 --trace jobs.csv --policy fifo --out runs/fifo\n"
        "           allot replay --nodes 16x8 --trace jobs.csv --policy fifo --at 3d12h");
  }
  void add_sweep() {
    sweep_ = app_.add_subcommand("sweep", "replay an experiment: policies x scenarios x loads x seeds");
    lab::sweep_options& s = sweep_options_;
    sweep_->add_option("EXPERIMENT", s.source.file, "an experiment (JSON)");
    add_limits(*sweep_);
    sweep_->add_option("--out", s.out, "the directory of the sweep; points that are there are not run again");
    sweep_->add_option("--jobs", s.jobs, "how many replays run at once (default: one a core)")
        ->check(whole_number(1, 4096));
    sweep_->add_option("--shard", s.shard, "i/n: run part i of n only, i from 0 to n - 1");
    sweep_->add_option("--merge", s.merge, "directories of shards, put together in --out");
    sweep_->add_option("--trace", s.source.traces, "SCENARIO=CSV: instead of that scenario's trace");
    sweep_->add_flag("--full", s.source.full, "keep tables and report of every point, not its summary only");
    sweep_->add_flag("--list", s.list, "print the points and run nothing");
    sweep_->add_option("--format", s.format, "of the table that is printed")
        ->check(CLI::IsMember({"text", "markdown"}))
        ->capture_default_str();
    sweep_->footer(
        "It can be interrupted; the same command goes on where it was, and runs what failed again. The exit "
        "status is 3 when a point failed or was stopped by a guard: results.csv says why.\n"
        "Examples:  allot sweep bench/lab/experiments/generated_mix.json --out sweeps/mix\n"
        "           allot sweep experiment.json --out part-$SLURM_ARRAY_TASK_ID --shard "
        "$SLURM_ARRAY_TASK_ID/8\n"
        "           allot sweep --merge part-0 part-1 part-2 --out all");
  }
  void add_compare() {
    compare_ = app_.add_subcommand("compare", "replays, or sweeps, side by side with their differences");
    lab::compare_options& c = compare_options_;
    compare_
        ->add_option(
            "RUNS", c.runs,
            "directories of replays (or their summary.json), of sweeps, or with several replays of one "
            "configuration below them")
        ->required()
        ->expected(1, 256);
    compare_->add_option("--format", c.format, "of the table; csv has every figure")
        ->check(CLI::IsMember({"text", "csv", "markdown"}))
        ->capture_default_str();
    compare_->add_flag("--all", c.all, "every figure there is, not only the first to look at");
    compare_->add_flag("--common", c.common,
                       "also the waits and completion times of the jobs that were completed on all sides");
    compare_->add_option("--figures", c.figures, "only these, by their names in csv, as in queue_s/mean")
        ->delimiter(',');
    compare_->add_option("--html", comparison_page_,
                         "instead: a page with curves of replays, or with means of sweeps, into this file (- "
                         "for standard output)");
    compare_
        ->add_option("--curve", c.curves,
                     "of sweeps over loads: these figures of every policy over the load, as in queue_s/mean")
        ->delimiter(',')
        ->excludes("--all")
        ->excludes("--figures");
    compare_
        ->add_option("--svg", c.svg,
                     "also a drawing of each curve, in this directory (without --curve, of the main figures)")
        ->excludes("--html")
        ->excludes("--all")
        ->excludes("--figures");
    compare_->add_flag("--force", c.force, "replace the page or the drawings if they are there");
    add_max_input(*compare_);
    compare_->footer(
        "Of several runs a side it shows mean ± standard deviation, and ~ where the difference is within "
        "it.\n"
        "Examples:  allot compare runs/fifo runs/standard\n"
        "           allot compare sweeps/mix --figures queue_s/mean,preemptions\n"
        "           allot compare sweeps/loads --curve queue_s/mean,jain --svg figures\n"
        "           allot compare runs/fifo runs/standard --html comparison.html");
  }
  void add_import() {
    import_ =
        app_.add_subcommand("import", "make a canonical trace, or a scenario, of another system's files");
    lab::import_options& i = import_options_;
    std::string formats = "one of:";
    for (const lab::import_format& f : lab::import_formats()) {
      formats.append("\n  ").append(f.name).append(": ").append(f.summary);
    }
    import_->add_option("FORMAT", i.format, formats)->required();
    import_->add_option("FILE", i.file, "the file; - for standard input; may be packed with gzip")
        ->required();
    add_limits(*import_);
    import_->add_option("--out", i.out, "the file that is made; - for standard output")
        ->capture_default_str();
    import_->add_flag("--force", i.force, "replace the file if it is there");
    import_->add_flag("--strict", i.strict, "a row that can't be carried over is an error");
    import_->add_option("--shown", i.shown, "how many of those rows are reported; the others are counted")
        ->check(whole_number(0, any_count))
        ->capture_default_str();
    import_
        ->add_option(
            "--map", i.map,
            "csv: KEY=COLUMN or KEY=COLUMN:UNIT, separated by commas. Keys are the columns of a trace "
            "(job_id, submit_s, duration_s, gpus, tenant, estimate_s, ...) and gpus_per_pod, start_s and "
            "end_s; a column that has the name of a key is that key. Units: times ms, s, m, h, d or a "
            "multiple as 40ms; spans also clock (1-02:30:00); points in time also date, unix, unix_ms or "
            "a format as %d.%m.%Y %H:%M; gpus: gpus, percent, milli; cpu_milli: milli, cores; memory_mib: "
            "mib, gib, kib, tib, bytes, kb, mb, gb")
        ->delimiter(',');
    import_
        ->add_option("--columns", i.columns,
                     "csv, sacct, nodes: the names of the columns of a file without a header row")
        ->delimiter(',');
    import_
        ->add_option("--separator", i.separator,
                     "csv, sacct (| there): what separates fields: one character, or tab")
        ->capture_default_str();
    import_->add_option("--tenant", i.tenant,
                        "the column that names the tenant, instead of the format's own");
    import_->add_option("--origin", i.origin,
                        "the date from which submissions count, instead of the first submission");
    import_->add_flag("--gpu-only", i.gpu_only, "leave out jobs without GPUs");
    import_->add_option("--gap", i.gap, "openb lists without times: seconds from one pod to the next (1)");
    import_->add_option("--duration", i.duration, "openb lists without times: how long each runs (3600)");
    import_
        ->add_option("--unit", i.unit, "pai: what num_gpu counts, instead of what the first rows look like")
        ->check(CLI::IsMember({"percent", "gpus"}));
    import_->add_option(
        "--time-format", i.time_format,
        "sacct: how times are written (SLURM_TIME_FORMAT), unless standard or seconds since "
        "1970: a format as %d/%m/%y %H:%M, or relative:2026-03-01, the day on which it was printed");
    import_->add_option("--throughputs", i.throughputs,
                        "gavel: the JSON with the steps a second of each kind of job on each GPU model");
    import_->add_option("--gpu-model", i.gpu_model, "gavel: the model whose throughputs count (the first)");
    import_
        ->add_option("--topology", i.topology, "nodes: the columns that are its levels, the outermost first")
        ->delimiter(',');
    import_->add_option("--gpus", i.gpus, "nodes: how many GPUs each has, if no column says so")
        ->check(whole_number(0, any_count));
    import_->add_option("--shards", i.shards, "sacct: how many gres/shard are a GPU")
        ->check(whole_number(1, any_count));
    import_->add_option("--mps", i.mps, "sacct: how many gres/mps are a GPU")
        ->check(whole_number(1, any_count));
    import_
        ->add_option("--gpu-resource", i.gpu_resources,
                     "kubernetes: another resource that is a GPU, as in example.com/gpu")
        ->delimiter(',');
    import_->add_option("--quotas", i.quotas,
                        "kubernetes: a scenario whose quotas are those of the namespaces of their names");
    import_
        ->add_option(
            "--quota-check-strategy", i.quota_check_strategy,
            "kueue: what is done with requests that a ClusterQueue does not cover, as its configuration "
            "says (BlockUndeclared)")
        ->check(CLI::IsMember({"BlockUndeclared", "IgnoreUndeclared"}));
    import_->footer(
        "Examples:  allot import csv log.csv --map "
        "gpus=num_gpus,tenant=vc,submit_s=submitted:date,duration_s=run:m "
        "--out jobs.csv\n"
        "           SLURM_TIME_FORMAT=%s sacct -aDP "
        "--format=JobID,User,Account,Submit,Eligible,Start,ElapsedRaw,Timelimit,ReqTRES,AllocTRES,State |\n"
        "             allot import sacct - --out jobs.csv\n"
        "           kubectl get "
        "clusterqueues,cohorts,workloads,localqueues,resourceflavors,topologies,namespaces "
        "-A -o json |\n"
        "             allot import kueue - --out now.json");
  }
  void add_generate() {
    generate_ = app_.add_subcommand("generate", "make a workload by a model as a trace");
    lab::generate_options& g = generate_options_;
    std::string models = "one of:";
    for (const lab::generate_model& m : lab::generate_models()) {
      models.append("\n  ").append(m.name).append(": ").append(m.summary);
    }
    generate_->add_option("--out", g.out, "the CSV file that is made; - for standard output")->required();
    generate_->add_flag("--force", g.force, "replace the file if it is there");
    generate_->add_option("--model", g.model, models)->capture_default_str();
    generate_->add_option("--days", g.days, "how long jobs are submitted (14)")
        ->check(whole_number(0, any_count));
    generate_
        ->add_option("--jobs", g.jobs, "how many jobs there are, instead; the load says in how many days")
        ->check(whole_number(0, any_count));
    generate_->add_option("--seed", g.seed, "the same seed, the same trace")
        ->check(whole_number(0, any_seed))
        ->capture_default_str();
    generate_->add_option("--load", g.load, "all work, as a part of what the cluster can do")
        ->capture_default_str();
    generate_->add_option("--serving", g.serving, "the part of it that is serving (mix, teams: 0.11)");
    generate_->add_option("--interactive", g.interactive, "the part of it that is interactive (mix: 0.08)");
    generate_->add_option("--gpus", g.gpus, "of the cluster")
        ->check(whole_number(0, any_count))
        ->capture_default_str();
    generate_
        ->add_option("--tenants", g.tenants,
                     "team-1, team-2, ... with ever smaller shares, instead of the demo's quotas")
        ->check(whole_number(0, any_count));
    generate_->add_option("--checkpoint", g.checkpoint,
                          "how often training jobs save their work, or none (30m)");
    generate_->add_option("--restart", g.restart, "the extra cost of a restart (2m)");
    generate_->add_option("--mean-duration", g.mean_duration, "of jobs (uniform: 1h)");
    std::string estimates = "estimates of the run times, in the column estimate_s; they are the same jobs:";
    for (const lab::estimate_model_name& m : lab::estimate_models) {
      estimates.append("\n  ").append(m.name).append(": ").append(m.summary);
    }
    generate_->add_option("--estimates", g.estimates, estimates)->capture_default_str();
    generate_->footer(
        "Examples:  allot generate --days 14 --out mix.csv\n"
        "           allot generate --model helios --jobs 1000000 --gpus 10000 --tenants 20 --out year.csv");
  }
  void add_fill() {
    fill_ = app_.add_subcommand(
        "fill",
        "pods fill a cluster and stay: what a placement policy gets out of it, as CSV on standard output");
    lab::fill_command& f = fill_command_;
    fill_
        ->add_option("--nodes-csv", f.nodes_csv, "sn,cpu_milli,memory_mib,gpu,model: a list of openb's nodes")
        ->required();
    fill_
        ->add_option("--pods-csv", f.pods_csv,
                     "name,cpu_milli,memory_mib,num_gpu,gpu_milli,...: a list of openb's pods")
        ->required();
    fill_
        ->add_option("--policy", f.policy,
                     "random, best_fit (of CPU and GPUs), worst_fit, first_fit, dot_product, gpu_packing, "
                     "gpu_clustering or fgd")
        ->capture_default_str();
    fill_
        ->add_option("--arrivals", f.arrivals,
                     "the GPUs that are asked for, as a multiple of those there are")
        ->capture_default_str();
    add_max_input(*fill_);
    fill_->add_option("--seed", f.seed, "of the order of pods and nodes; the same seed, the same figures")
        ->check(whole_number(0, any_seed))
        ->capture_default_str();
    fill_->footer(
        "Example:  allot fill --nodes-csv openb_node_list_gpu_node.csv --pods-csv openb_pod_list_default.csv "
        "--seed 42");
  }
  void add_policies() { app_.add_subcommand("policies", "the presets and parts that a policy is made of"); }

  [[nodiscard]] int run_explain() const {
    if (!explain_options_.job.empty() || !explain_options_.changes.empty())
      return lab::run_explain(explain_options_);
    return lab::complain("expected a JOB, or --if (see: allot explain --help)", "allot explain");
  }
  [[nodiscard]] int run_replay() const {
    if (replay_options_.source.file || replay_options_.source.trace) return lab::replay(replay_options_);
    return lab::complain("expected a scenario, or --trace (see: allot replay --help)", "allot replay");
  }

  [[nodiscard]] int run_compare() const {
    if (comparison_page_.empty()) {
      lab::compare_options options = compare_options_;
      options.width = lab::terminal_width(stdout);
      return lab::compare(options);
    }
    return lab::write_comparison_page(compare_options_.runs, comparison_page_, compare_options_.force,
                                      compare_options_.curves, compare_options_.common);
  }

  CLI::App& app_;
  CLI::App* check_ = nullptr;
  CLI::App* decide_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* draw_ = nullptr;
  CLI::App* replay_ = nullptr;
  CLI::App* sweep_ = nullptr;
  CLI::App* compare_ = nullptr;
  CLI::App* import_ = nullptr;
  CLI::App* generate_ = nullptr;
  CLI::App* fill_ = nullptr;
  lab::scenario_source check_source_;
  lab::decide_options decide_options_;
  lab::explain_options explain_options_;
  lab::draw_options draw_options_;
  lab::replay_options replay_options_;
  lab::sweep_options sweep_options_;
  lab::compare_options compare_options_;
  lab::import_options import_options_;
  std::string comparison_page_;
  lab::generate_options generate_options_;
  lab::fill_command fill_command_;
};

/// The arguments in the order in which the parser takes them, last first. It would take the argument after
/// "--nodes=" for the value.
[[nodiscard]] std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> all;
  bool has_options = true;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    has_options = has_options && text != "--";
    const bool is_empty = text.size() > 3 && text.substr(0, 2) == "--" && text.find('=') == text.size() - 1;
    if (has_options && is_empty) text.pop_back();
    all.push_back(std::move(text));
    if (has_options && is_empty) all.emplace_back();
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// A command that there is not, and what was probably meant; empty if there is that command, or none is
/// given.
[[nodiscard]] std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || *argv[1] == '-') return {};
  const std::string given = argv[1];
  std::vector<std::string> known;
  for (const CLI::App* const sub : app.get_subcommands({})) {
    if (sub->check_name(given)) return {};
    known.push_back(sub->get_name());
  }
  const std::string_view meant = lab::nearest(given, {known.begin(), known.end()});
  std::string text = meant.empty() ? "" : given + ": did you mean " + std::string{meant} + "?\n";
  return text + "There is no command \"" + lab::shortened(given, 40) +
         "\": run with --help for those that there are.\n";
}

/// What was probably meant by each option that does not exist; empty if there is nothing similar.
[[nodiscard]] std::string what_was_meant(const CLI::App& app, int argc, char** argv) {
  std::string text;
  const CLI::App* command = &app;
  for (int i = 1; i < argc && std::string_view{argv[i]} != "--"; ++i) {
    const std::string given = std::string{argv[i]}.substr(0, std::string_view{argv[i]}.find('='));
    if (command == &app) {
      for (const CLI::App* const sub : app.get_subcommands({})) {
        if (sub->check_name(given)) command = sub;
      }
    }
    if (given.size() <= 2 || given.substr(0, 2) != "--" || command->get_option_no_throw(given) != nullptr)
      continue;
    std::vector<std::string> known;
    for (const CLI::Option* const option : command->get_options())
      known.push_back("--" + option->get_single_name());
    const std::string_view meant = lab::nearest(given, {known.begin(), known.end()});
    if (!meant.empty()) text.append(given).append(": did you mean ").append(meant).append("?\n");
  }
  return text;
}

/// A program may be started without standard input or output. Without this the first file that it opens would
/// take the place, and get what is meant for a terminal. Reading and writing still fail.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace

int allot::lab::run_program(int argc, char** argv) {
  keep_standard_descriptors();
  try {
    CLI::App app{"allot: quotas, lending and preemption on GPU clusters, tried out", "allot"};
    app.formatter(std::make_shared<lab::help_formatter>(lab::shows_colours(STDOUT_FILENO)));
    const command_line line{app};
    try {
      app.parse(arguments_of(argc, argv));
    } catch (const CLI::ParseError& e) {
      std::ostringstream help;
      std::ostringstream problem;
      if (app.exit(e, help, problem) == 0)
        return lab::print_result(help.str(), "the help") ? 0 : lab::bad_input_status;
      const std::string unknown = unknown_command(app, argc, argv);
      lab::print_error(unknown.empty() ? what_was_meant(app, argc, argv) + problem.str() : unknown);
      return lab::bad_input_status;
    }
    return line.run();
  } catch (const std::bad_alloc&) {
    lab::print_error("allot: there is not enough memory\n");
    return 1;
  } catch (const std::exception& e) {
    lab::print_error("allot: " + lab::printable(e.what()) + '\n');
    return 1;
  }
}
