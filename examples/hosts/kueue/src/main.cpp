// SPDX-License-Identifier: BSL-1.0
//
// allot-kueue: allot as the scheduler of Kueue's Workloads.
#include "daemon.hpp"
#include "governor/src/commands.hpp"
#include "words.hpp"

#include <allot/core/version.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace allot_kueue;

/// A policy as a scenario has it: the name of a preset, an object, or the file with one.
[[nodiscard]] std::string policy_text(const std::string& said) {
  if (said.empty() || said.starts_with('{') || said.starts_with('"')) return said;
  // Workloads may say how long they run: then it reserves, as wherever jobs are seen to.
  if (said == "standard") return R"({"preset": "standard", "reservations": 3})";
  if (std::ifstream in{said}) return std::string{std::istreambuf_iterator<char>{in}, {}};
  return '"' + said + '"';
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"allot as the scheduler of Kueue's Workloads", "allot-kueue"};
  app.get_formatter()->column_width(30);
  app.set_version_flag("--version", "allot-kueue " + std::to_string(allot::version_major) + '.' +
                                        std::to_string(allot::version_minor) + '.' +
                                        std::to_string(allot::version_patch));
  app.require_subcommand(1);
  daemon_options o;
  std::string policy;
  bool as_json = false;
  allot_governor::job_filter filter;
  std::string job;
  std::string span;
  std::string reason;
  std::string log_file;
  std::vector<std::string> changes;

  const auto with_connection = [&](CLI::App* c) {
    c->add_option("--kubeconfig", o.kubeconfig,
                  "Where the cluster is; else $KUBECONFIG, a pod's service account, ~/.kube/config");
    c->add_option("--context", o.context, "Of the kubeconfig");
  };
  const auto with_cluster = [&](CLI::App* c) {
    with_connection(c);
    c->add_option("--label", o.host.label, "Of ClusterQueues that are governed, if they are on Hold")
        ->capture_default_str();
    c->add_option("--policy", policy,
                  "A preset (standard, kueue, kueue_fair, runai, hyperpod, pai), or a policy as\n"
                  "in a scenario: JSON, or a file with it. Without: as Kueue is configured.\n"
                  "The name standard has three reservations; {\"preset\": \"standard\"} has none\n"
                  "unless it says \"reservations\": N");
    c->add_option("--quota-check-strategy", o.host.quota_check_strategy, "As in Kueue's configuration");
  };
  const auto with_directory = [&](CLI::App* c) {
    c->add_option("--directory", o.directory, "Where the lock, the journal and the status are")
        ->capture_default_str();
  };
  const auto with_lease = [&](CLI::App* c) {
    with_connection(c);
    c->add_option("--lease", o.lease, "NAMESPACE/NAME of the governors' Lease: the order is for its holder");
  };

  CLI::App* const run = app.add_subcommand("run", "Govern");
  with_cluster(run);
  with_directory(run);
  run->add_flag("--observe", o.observes, "Write nothing to the cluster: only log what it would do");
  run->add_option("--page", o.page, "An HTML file that shows quotas, jobs and loans");
  run->add_option("--events", o.events,
                  "A log of all that the scheduler is told, for replay-log and what-if");
  run->add_option("--listen", o.listen, "ADDRESS:PORT for /metrics, /healthz and /readyz");
  run->add_option("--lease", o.lease, "NAMESPACE/NAME of a Lease: of several that use it one governs");

  CLI::App* const checks = app.add_subcommand("check", "Say what of the cluster can't be governed");
  with_cluster(checks);

  CLI::App* const states = app.add_subcommand("status", "Print quotas, loans, reservations and jobs");
  with_directory(states);
  states->add_flag("--json", as_json, "For programs");
  states->add_option("--quota", filter.quota, "Only jobs of this quota and those below it");
  states->add_option("--state", filter.state, "Only jobs that are waiting, running, ...");
  CLI::App* const whys = app.add_subcommand("why", "Print all that is known of one Workload");
  with_directory(whys);
  whys->add_option("WORKLOAD", job, "NAMESPACE/NAME")->required();
  CLI::App* const freezes = app.add_subcommand("freeze", "Evict nobody until thaw");
  with_directory(freezes);
  with_lease(freezes);
  freezes->add_option("--for", span, "It ends after this time: 90s, 30m, 2h, 1d");
  freezes->add_option("--why", reason, "For those who read status, page and log");
  CLI::App* const thaws = app.add_subcommand("thaw", "End a freeze");
  with_directory(thaws);
  with_lease(thaws);
  CLI::App* const replays =
      app.add_subcommand("replay-log", "Replay a log of events and compare the plans of every cycle");
  replays->add_option("EVENTS", log_file, "The file that --events names")->required();
  CLI::App* const ifs = app.add_subcommand("what-if", "Print what would be otherwise, from a log of events");
  ifs->add_option("EVENTS", log_file, "The file that --events names")->required();
  ifs->add_option("CHANGE", changes, "quota:NAME:RESOURCE+8, job:NAME:priority=5, job:NAME:gone")->required();
  ifs->add_flag("--json", as_json, "For programs");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : allot_governor::bad_usage_status;
  }
  o.host.policy = policy_text(policy);
  if (*run) return run_daemon(std::move(o));
  if (*checks) return check_cluster(o);
  if (*replays) return allot_governor::replay_log(kueue_words, std::nullopt, log_file);
  if (*ifs) return allot_governor::what_if(kueue_words, log_file, changes, as_json);
  const allot_governor::commands of{kueue_words, o.directory, o.poll_ms};
  if (*states) return of.status(as_json, filter);
  if (*whys) return of.why(job);
  if (*freezes) return o.lease.empty() ? of.freeze(span, reason) : freeze_by_lease(o, span, reason);
  return o.lease.empty() ? of.thaw() : thaw_by_lease(o);
}
