// SPDX-License-Identifier: BSL-1.0
//
// allot-slurm: quotas with lending, reclaim, fair shares and reservations in front of Slurm.
#include "check.hpp"
#include "config.hpp"
#include "daemon.hpp"
#include "governor/src/commands.hpp"
#include "governor/src/lock.hpp"
#include "governor/src/log.hpp"
#include "import_associations.hpp"
#include "let_go.hpp"
#include "slurm_client.hpp"
#include "words.hpp"

#include <allot/core/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/io/json_reader.hpp"

namespace {

using namespace allot_slurm;

int complain(const std::vector<std::string>& problems) {
  return allot_governor::complain(words, problems);
}

int check(const std::string& file) {
  auto reading = read_config(file);
  for (const std::string& p : reading.problems) std::cout << p << '\n';
  if (!reading.value) return std::ifstream{file} ? finding_status : bad_usage_status;
  slurm_client slurm;
  cluster_settings settings;
  cluster_changes now;
  outcome o = slurm.settings(settings);
  if (o) o = slurm.poll(now);
  if (!o) return complain({"slurmctld does not answer: " + o.text + " (SLURM_CONF names the cluster)"});
  const auto found = findings(*reading.value, settings, now);
  for (const std::string& f : found) std::cout << f << '\n';
  if (found.empty()) std::cout << "nothing found\n";
  return found.empty() ? 0 : finding_status;
}

/// Undoes what a governor has left in Slurm. None may start meanwhile.
int let_go(const std::string& file, bool unmarked) {
  auto reading = read_config(file);
  if (!reading.value) return complain(reading.problems);
  lock only;
  if (const std::string why = only.take(reading.value->slurm.directory + "/lock"); !why.empty()) {
    std::cerr << "allot-slurm: " << why << '\n';
    return finding_status;
  }
  slurm_client slurm;
  cluster_changes now;
  if (const outcome o = slurm.poll(now); !o) return complain({"slurmctld does not answer: " + o.text});
  const let_go_result r = let_go(*reading.value, now.jobs, slurm, unmarked,
                                 [](const std::string& line) { std::cout << line << '\n'; });
  std::cout << r.text() << '\n';
  return r.failed == 0 ? 0 : finding_status;
}

/// What those need of the configuration who only ask the governor that runs: with a file that it has refused
/// it goes on with the one before, and so do they, if the file still says where its directory is.
std::optional<slurm_options> options_in(const std::string& file) {
  const config_reading reading = read_config(file);
  if (reading.value) return reading.value->slurm;
  std::ifstream in{file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const std::regex directory{R"re("directory"\s*:\s*"([^"\\]+)")re"};
  std::smatch found;
  if (!std::regex_search(text, found, directory)) {
    static_cast<void>(complain(reading.problems));
    return std::nullopt;
  }
  std::cerr << "allot-slurm: " << file
            << " has errors (allot-slurm check says which): a governor that runs goes on "
            << "with the one before\n";
  slurm_options o;
  o.directory = found[1];
  return o;
}

std::optional<commands> commands_for(const std::string& file) {
  const auto options = options_in(file);
  return options ? std::optional<commands>{std::in_place, words, options->directory, options->poll_ms}
                 : std::nullopt;
}

/// What is read without --config: the file that the environment names, or the one beside slurm.conf.
std::string default_config() {
  const char* const own = std::getenv("ALLOT_SLURM_CONFIG");
  if (own != nullptr && *own != '\0') return own;
  const char* const conf = std::getenv("SLURM_CONF");
  const std::filesystem::path beside = conf != nullptr && *conf != '\0' ? conf : "/etc/slurm/slurm.conf";
  return (beside.parent_path() / "allot.json").string();
}

/// What was probably meant by a command that does not exist; empty if there is nothing similar.
std::string what_was_meant(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names;
  for (const CLI::App* const sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (given.empty() || given.front() == '-' || std::find(names.begin(), names.end(), given) != names.end())
    return {};
  const std::string_view meant = allot::lab::nearest(given, {names.begin(), names.end()});
  return "there is no command " + escaped(given) +
         (meant.empty() ? ": --help lists them" : ": did you mean " + std::string{meant} + "?");
}

int print_shares(const std::string& file) {
  auto reading = read_config(file);
  if (!reading.value) return complain(reading.problems);
  const slurm_options& o = reading.value->slurm;
  return commands{words, o.directory, o.poll_ms}.shares(reading.value->quotas);
}

int start(const commands& with, const std::string& job) {
  const auto key = parse_job_key(job);
  if (!key) return complain({job + ": expected the id of a job, or of an array and its task: 123_4"});
  return with.start(to_string(*key));
}

int what_if(const std::string& file, const std::vector<std::string>& changes, bool as_json) {
  auto reading = read_config(file);
  if (!reading.value) return complain(reading.problems);
  const std::string& path = reading.value->slurm.events;
  if (!path.empty()) return allot_governor::what_if(words, path, changes, as_json);
  return complain({file + ": --if needs the log of events: set \"events\" under \"slurm\", and reload"});
}

int replay_log(const std::string& config_file, const std::string& file) {
  if (config_file.empty()) return allot_governor::replay_log(words, std::nullopt, file);
  auto reading = read_config(config_file);
  if (!reading.value) return complain(reading.problems);
  return allot_governor::replay_log(words, reading.value->text, file);
}

int import(const std::string& file, const std::string& cluster) {
  std::string text;
  if (file.empty()) {
    const auto close = [](std::FILE* f) { return pclose(f); };
    const std::unique_ptr<std::FILE, decltype(close)> from{popen(associations_command, "r"), close};
    std::array<char, 4096> part{};
    while (from != nullptr) {
      const std::size_t n = std::fread(part.data(), 1, part.size(), from.get());
      text.append(part.data(), n);
      if (n == 0) break;
    }
  } else {
    std::ifstream in{file};
    if (!in)
      return complain({file + ": can't be read (expected the output of " + associations_command + ')'});
    text.assign(std::istreambuf_iterator<char>{in}, {});
  }
  const imported_quotas got = import_associations(text, cluster);
  if (!got.problem.empty()) return complain({got.problem});
  for (const std::string& n : got.notes) std::cerr << "allot-slurm: " << n << '\n';
  std::cout << got.config;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Gives a Slurm cluster quotas with lending, reclaim, fair shares, reservations and explanations.\n"
      "Jobs of the governed partitions are held on submission (job_submit.lua) and released when the policy\n"
      "admits them. The cluster is that of SLURM_CONF.\n"};
  app.name("allot-slurm");
  app.footer(
      "\nExit status: 0, 1 if something was found, 2 if the command line or the configuration is wrong.\n"
      "The sources are under the Boost Software License 1.0. This program is linked with libslurm, which is\n"
      "under the GNU General Public License, version 2 or later, with an exception for OpenSSL: whoever "
      "passes\n"
      "the program on does so under these terms.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "allot-slurm " + std::to_string(allot::version_major) + '.' +
                                        std::to_string(allot::version_minor) + '.' +
                                        std::to_string(allot::version_patch));
  std::string config_file;
  std::string log_file;
  daemon_options options;

  CLI::App* const run = app.add_subcommand("run", "Govern the cluster, in the foreground");
  run->add_option("--config", config_file,
                  "The configuration: $ALLOT_SLURM_CONFIG, or allot.json beside slurm.conf");
  run->add_flag("--observe", options.observes, "Only say what would be done: nothing is touched");
  run->add_option("--ticks", options.ticks, "End after so many polls");
  run->footer("SIGTERM and SIGINT end it, and jobs go on. SIGHUP reads the configuration again.");

  CLI::App* const checks =
      app.add_subcommand("check", "Say what is wrong with the configuration and the cluster");
  checks->add_option("--config", config_file, "The configuration");

  bool as_json = false;
  CLI::App* const states =
      app.add_subcommand("status", "Print quotas, loans, reservations and jobs, as of a moment ago");
  states->add_option("--config", config_file, "The configuration");
  states->add_flag("--json", as_json, "For programs: all that is known");
  std::vector<std::string> changes;
  states
      ->add_option("--if", changes,
                   "What would be otherwise: quota:NAME:gpu+8 (or -8), job:ID:priority=5, job:ID:gone,\n"
                   "node:NAME:gone. From the log of events")
      ->allow_extra_args(false);

  CLI::App* const shares =
      app.add_subcommand("shares", "Print what quotas own, are due, use, borrow and lend");
  shares->add_option("--config", config_file, "The configuration");

  std::string cluster;
  std::string associations_file;
  CLI::App* const imports =
      app.add_subcommand("import-associations", "Make a configuration of the accounts of sacctmgr");
  imports->add_option("--cluster", cluster, "The cluster, if there are several");
  imports->add_option("FILE", associations_file,
                      "What sacctmgr has printed (see the manual); otherwise it is run");

  job_filter filter;
  states->add_option("--quota", filter.quota, "Only jobs of this quota, and of those below it");
  states->add_option("--user", filter.user, "Only this user's jobs");
  states->add_option("--account", filter.account, "Only jobs of this account");
  states->add_option("--state", filter.state, "Only jobs in this state")
      ->check(CLI::IsMember(std::vector<std::string>{job_phase_names.begin(), job_phase_names.end()}));

  std::string job;
  CLI::App* const whys = app.add_subcommand("why", "Print all that is known of one job");
  whys->add_option("JOB", job, "Its id, or that of an array and the task: 123_4")->required();
  whys->add_option("--config", config_file, "The configuration");

  std::string span;
  std::string reason;
  CLI::App* const freezes = app.add_subcommand("freeze", "Evict nobody until thaw");
  freezes->add_option("--config", config_file, "The configuration");
  freezes->add_option("--for", span, "It ends after this time: 90s, 30m, 2h, 1d");
  freezes->add_option("--why", reason, "For those who read status, page and log");
  CLI::App* const thaws = app.add_subcommand("thaw", "End a freeze");
  thaws->add_option("--config", config_file, "The configuration");

  CLI::App* const starts =
      app.add_subcommand("start", "Start a job that waits by force, whatever the quotas say");
  starts->add_option("JOB", job, "Its id, or that of an array and the task: 123_4")->required();
  starts->add_option("--config", config_file, "The configuration");

  bool unmarked = false;
  CLI::App* const lets_go = app.add_subcommand(
      "let-go", "Undo what a governor that has ended left on jobs: holds, nodes, comments");
  lets_go->add_option("--config", config_file, "The configuration");
  lets_go->add_flag(
      "--unmarked", unmarked,
      "Also release jobs that are held and carry no mark: those that it had not commented yet,\n"
      "and whatever others hold");

  CLI::App* const replays =
      app.add_subcommand("replay-log", "Replay a log of events and compare the plans of every cycle");
  replays->add_option("--config", config_file, "Replaces the configuration that the log repeats");
  replays->add_option("EVENTS", log_file, "The file that \"events\" of the configuration names")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const std::string meant = what_was_meant(app, argc > 1 ? argv[1] : "");
    if (!meant.empty()) return complain({meant});
    return app.exit(e) == 0 ? 0 : bad_usage_status;
  }
  if (*replays) return replay_log(config_file, log_file);
  if (config_file.empty()) config_file = default_config();
  if (as_json && filter != job_filter{}) return complain({"--json prints all jobs: filter what it prints"});
  if (!changes.empty() && filter != job_filter{})
    return complain({"--if prints all jobs that the change touches: filter what it prints"});
  if (*checks) return check(config_file);
  if (*states && !changes.empty()) return what_if(config_file, changes, as_json);
  if (*shares) return print_shares(config_file);
  if (*imports) return import(associations_file, cluster);
  if (*lets_go) return let_go(config_file, unmarked);
  if (*run) {
    options.config_file = config_file;
    return run_daemon(options);
  }
  const auto asked = commands_for(config_file);
  if (!asked) return bad_usage_status;
  if (*states) return asked->status(as_json, filter);
  if (*whys) {
    const auto key = parse_job_key(job);
    return asked->why(key ? to_string(*key) : job);
  }
  if (*freezes) return asked->freeze(span, reason);
  if (*thaws) return asked->thaw();
  return start(*asked, job);
}
