// SPDX-License-Identifier: BSL-1.0
#include "runs.hpp"

#include "stepper.hpp"

#include "lab/io/json_reader.hpp"
#include "lab/io/time_text.hpp"
#include "lab/replay/replay.hpp"
#include "lab/report/measuring.hpp"
#include "lab/report/replay_headline.hpp"
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

namespace allot_python {

namespace {

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional{text};
}

std::optional<allot::instant> time_of(const std::string& text, const char* name, lab::errors& found) {
  if (text.empty()) return std::nullopt;
  const auto time = lab::read_time(text);
  if (!time) found.add(name, {}, "expected " + std::string{lab::time_forms} + ", found \"" + text + '"');
  return time;
}

void close(lab::output_file& file) {
  const std::string problem = file.close();
  if (!problem.empty()) throw output_error{problem};
}

template <class Write>
void write_file(const std::string& path, Write write) {
  lab::output_file file{path};
  write(file);
  close(file);
}

}  // namespace

lab::scenario read(const run_input& input) {
  lab::errors found;
  lab::scenario_source source;
  source.file = given(input.scenario);
  source.trace = given(input.trace);
  source.nodes = given(input.nodes);
  source.policy = given(input.policy);
  if (!source.file && (!source.trace || !source.nodes)) {
    found.add("allot", {}, "expected a scenario, or a trace and nodes");
    throw input_error{found};
  }
  if (!input.policy_json.empty()) {
    std::string name;
    const auto json = lab::json_document::parse("policy", input.policy_json, found);
    if (json) source.chosen = lab::read_policy(json->root(), "policy", name, found);
    if (!found.empty()) throw input_error{found};
  }
  auto s = input.scenario_text ? lab::parse_scenario(*input.scenario_text, source, found)
                               : lab::read_scenario(source, found);
  if (s && (s->policy.preset == outside_name) != input.is_stepped) {
    found.add("policy", {}, "\"outside\" is the policy of a Simulator, and of nothing else");
  }
  if (!s || !found.empty()) throw input_error{found};
  return std::move(*s);
}

run::run(const run_input& input, const run_options& options, std::string directory)
    : directory_(std::move(directory)), scenario_(read(input)), report_(options.report) {
  lab::errors found;
  control_.until = time_of(options.until, "until", found);
  control_.tenants_step = time_of(options.tenants_step, "tenants_step", found);
  if (const auto wall = time_of(options.max_time, "max_time", found)) {
    control_.max_time = std::chrono::milliseconds{*wall};
  }
  control_.max_queue = options.max_queue;
  control_.show_progress = false;
  lab::measuring_options measured;
  measured.window = options.window;
  measured.warm_up = options.warm_up;
  measured.no_drain = options.no_drain;
  measured.isolated = options.isolated;
  const lab::measuring how = lab::read_measuring(measured, found);
  lab::check_for_replay(scenario_, found);
  if (!found.empty()) throw input_error{found};
  if (options.seed) scenario_.policy.seed = *options.seed;
  result_ = lab::result_for(scenario_, scenario_.policy.seed, !input.scenario.empty());
  result_.measured = how;
  result_.timing.reading = std::chrono::steady_clock::now() - begin_;
  tenants_ = lab::output_file{path_of("tenants.csv")};
  events_ = lab::output_file{path_of("events.csv")};
}

void run::simulate() {
  const lab::replay_streams streams{tenants_, &events_};
  stop_ = allot::lab::with_dimensions(scenario_.resources.size(), [&](auto n) {
    return lab::run_replay<decltype(n)::value>(scenario_, streams, result_, control_);
  });
}

void run::check() const {
  lab::errors found = lab::explain_stop(scenario_, stop_);
  if (!found.empty()) throw input_error{std::move(found)};
}

void run::conclude() {
  check();
  close(tenants_);
  close(events_);
  lab::explain_refusals(result_);
  write_file(path_of("jobs.csv"), [&](lab::output_file& f) { lab::write_jobs(f, result_); });
  if (report_)
    write_file(path_of("report.html"), [&](lab::output_file& f) { lab::write_report(f, result_); });
  const auto wall = std::chrono::steady_clock::now() - begin_;
  write_file(path_of("summary.json"), [&](lab::output_file& f) {
    lab::write_summary(f, result_, std::chrono::duration_cast<std::chrono::milliseconds>(wall).count());
  });
}

std::string run::headline() const {
  return lab::headline(result_);
}
std::string run::warnings() const {
  return lab::warnings(result_);
}

// The lab's own handlers are for a program: they end the process. Here they are called once, to ask, and
// those of Python are there again as soon as nothing is simulated.

namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
std::mutex guarding;
std::size_t guards = 0;
std::array<struct sigaction, signals.size()> before{};
std::optional<lab::interruptible> asks;
void (*ask)(int) = nullptr;
std::atomic<bool> has_asked{false};

extern "C" void allot_python_ask_once(int number) {
  if (!has_asked.exchange(true) && ask != nullptr) ask(number);
}

void remember() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], nullptr, &before[i]);
}
void restore() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before[i], nullptr);
}

}  // namespace

interruptible_by_python::interruptible_by_python() {
  const std::lock_guard lock{guarding};
  if (guards++ != 0) return;
  remember();
  has_asked = false;
  asks.emplace();
  struct sigaction own {};
  ::sigaction(SIGINT, nullptr, &own);
  ask = own.sa_handler == before[0].sa_handler ? nullptr : own.sa_handler;
  restore();
  if (ask == nullptr) return;  // SIGINT is ignored here
  struct sigaction action {};
  action.sa_handler = allot_python_ask_once;
  ::sigaction(SIGINT, &action, nullptr);
}

interruptible_by_python::~interruptible_by_python() {
  const std::lock_guard lock{guarding};
  if (--guards != 0) return;
  restore();
  ask = nullptr;
  asks.reset();
  // Nothing is asked any more: the next simulation begins anew.
  asks.emplace();
  asks.reset();
  restore();
}

bool interruptible_by_python::was_asked() noexcept {
  return has_asked;
}

}  // namespace allot_python
