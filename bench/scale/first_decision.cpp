// SPDX-License-Identifier: BSL-1.0
// The first decision of a fresh scheduler: one step in a world that others can decide on, too.
// `first_decision/FILE` is a scenario of the directory that the environment variable ALLOT_WORLDS names, and
// `first_decision/NAME/SIZE` a world like those, made here:
// - `kueue`, `kueue_fair`: SIZE queues in cohorts of ten under one root. Every second one uses half as much
//   again as it owns; every one has a head, and nearly all heads preempt.
// - `runai`: a cluster of SIZE nodes of 8 is full of one-GPU jobs of one queue, and a gang of another, which
//   owns all of it, reclaims a tenth.
// A scenario of Kueue is decided on by both of its presets.
//
// The time is that of `step()` alone. Beside it: `build_ms` for the scheduler with its running and pending
// jobs, and what was decided: `admitted`, `evicted`, and `pending` after it; `quotas` and `jobs` are sizes.
#include "lab/decide/scenario_host.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/lab/dimensions.hpp>
#include <allot/lab/random.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace {

namespace lab = allot::lab;
using lab_errors = lab::errors;
using wall = std::chrono::steady_clock;

[[nodiscard]] double seconds_since(wall::time_point begin) {
  return std::chrono::duration<double>(wall::now() - begin).count();
}

/// N is the number of dimensions that a host with these resources would compile, as `allot replay` does.
template <std::size_t N>
void first_decision_of(benchmark::State& state, const lab::scenario& scenario) {
  lab_errors found;
  double building = 0;
  std::size_t admitted = 0;
  std::size_t evicted = 0;
  std::size_t pending = 0;
  std::size_t jobs = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const auto begin = wall::now();
    const auto host = lab::host_jobs<N>(scenario, found);
    building += seconds_since(begin);
    if (!host) return state.SkipWithError(found.to_string().c_str());
    const auto start = wall::now();
    const auto& plan = host->scheduler.step(host->now);
    state.SetIterationTime(seconds_since(start));
    admitted = plan.admissions.size();
    evicted = plan.evictions.size();
    pending = plan.pending.size();
    jobs = host->ids.size();
  }
  state.counters["build_ms"] = benchmark::Counter(building * 1e3, benchmark::Counter::kAvgIterations);
  state.counters["quotas"] = static_cast<double>(scenario.quotas.size());
  state.counters["jobs"] = static_cast<double>(jobs);
  state.counters["admitted"] = static_cast<double>(admitted);
  state.counters["evicted"] = static_cast<double>(evicted);
  state.counters["pending"] = static_cast<double>(pending);
}

/// `read` fills in its errors, so that a file that can't be read fails its own benchmark only.
void first_decision(benchmark::State& state,
                    const std::function<std::optional<lab::scenario>(lab_errors&)>& read) {
  lab_errors found;
  const auto scenario = read(found);
  if (!scenario) return state.SkipWithError(found.to_string().c_str());
  lab::with_dimensions(scenario->resources.size(), [&](auto n) { first_decision_of<n()>(state, *scenario); });
}

std::string member(const char* key, const std::string& value) {
  return std::string{"\""} + key + "\": \"" + value + "\"";
}
std::string member(const char* key, std::int64_t value) {
  return std::string{"\""} + key + "\": " + std::to_string(value);
}

std::string kueue_world(const std::string& policy, std::int64_t queues) {
  lab::random_stream random{1};
  std::string quotas = "{" + member("name", "root") + "}";
  std::string jobs;
  const auto job = [&](const std::string& id, const std::string& queue, std::int64_t units,
                       std::int64_t priority, const std::string& more) {
    jobs += (jobs.empty() ? "{" : ", {") + member("id", id) + ", " + member("quota", queue) + ", " +
            member("priority", priority) + ", \"total\": true, \"request\": {" + member("fa/acc", units) +
            "}, " + more + "}";
  };
  for (std::int64_t i = 0; i < queues; ++i) {
    const std::string cohort = "h" + std::to_string(i / 10);
    if (i % 10 == 0) quotas += ", {" + member("name", cohort) + ", " + member("parent", "root") + "}";
    const std::string queue = cohort + "-q" + std::to_string(i % 10);
    quotas += ", {" + member("name", queue) + ", " + member("parent", cohort) +
              R"(, "nominal": {"fa/acc": 20}, "preempt": {"within": "lower_priority", "reclaim": "any"}})";
    for (std::int64_t k = 0; k < 10; ++k) {
      job("r" + std::to_string(k) + "-" + queue, queue, i % 2 == 0 ? 1 : 3, lab::draw_between(random, 0, 3),
          R"("state": "running", )" + member("submit_s", 0) + ", " +
              member("start_s", lab::draw_between(random, 1, 100'000)));
    }
    job("p-" + queue, queue, lab::draw_between(random, 2, 6), lab::draw_between(random, 1, 4),
        member("submit_s", lab::draw_between(random, 1, 20'000)));
  }
  return R"({"format": "allot-scenario/1", "resources": ["fa/acc"], )" + member("policy", policy) +
         R"(, "quotas": [)" + quotas + R"(], "jobs": [)" + jobs + "]}";
}

std::string runai_world(std::int64_t nodes) {
  std::string jobs;
  for (std::int64_t i = 0; i < 8 * nodes; ++i) {
    jobs += "{" + member("id", "r" + std::to_string(i)) +
            R"(, "quota": "borrower", "request": {"gpu": 1}, )" +
            R"("submit_s": 0, "state": "running", "nodes": [")" + "node-" + std::to_string(i / 8) + "\"]}, ";
  }
  return R"({"format": "allot-scenario/1", "resources": ["gpu"], "policy": "runai", "cluster": {"nodes": [)" +
         std::string{R"({"name": "node", "gpus": 8, )"} + member("count", nodes) +
         R"(}]}, "quotas": [{"name": "all", "nominal": {"gpu": "unlimited"}, "inclusive": true, "overcommit": true}, )" +
         R"({"name": "borrower", "parent": "all", "nominal": {"gpu": 0}, "weight": 0}, )" +
         R"({"name": "owner", "parent": "all", "weight": 0, "nominal": {)" + member("gpu", 8 * nodes) +
         R"(}}], "jobs": [)" + jobs +
         R"({"id": "gang", "quota": "owner", "request": {"gpu": 8}, "submit_s": 1, )" +
         member("pods", nodes / 10) + "}]}";
}

void add(const std::string& name, std::function<std::optional<lab::scenario>(lab_errors&)> read) {
  benchmark::RegisterBenchmark(
      ("first_decision/" + name).c_str(),
      [read = std::move(read)](benchmark::State& state) { first_decision(state, read); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}
void add_made(const std::string& name, const std::string& text) {
  add(name, [text](lab_errors& found) {
    lab::scenario_source source;
    source.file = "a made world";
    return lab::parse_scenario(text, source, found);
  });
}
void add_file(const std::string& name, const std::string& path, const std::string& policy) {
  add(name, [path, policy](lab_errors& found) {
    lab::scenario_source source;
    source.file = path;
    if (!policy.empty()) source.policy = policy;
    return lab::read_scenario(source, found);
  });
}

bool add_all() {
  for (const std::int64_t queues : {50, 100, 200, 400, 1'000, 2'000}) {
    for (const char* policy : {"kueue", "kueue_fair"}) {
      add_made(std::string{policy} + "/" + std::to_string(queues), kueue_world(policy, queues));
    }
  }
  for (const std::int64_t nodes : {50, 100, 200, 400}) {
    add_made("runai/" + std::to_string(nodes), runai_world(nodes));
  }
  const char* directory = std::getenv("ALLOT_WORLDS");
  if (directory == nullptr) return true;
  std::error_code none;
  std::set<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator{directory, none}) {
    if (file.path().filename().string().find(".json") != std::string::npos) files.insert(file.path());
  }
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    const std::string stem = name.substr(0, name.find(".json"));
    if (stem.starts_with("kueue")) {
      for (const char* policy : {"kueue", "kueue_fair"}) add_file(stem + "/" + policy, file.string(), policy);
    } else {
      add_file(stem, file.string(), "");
    }
  }
  return true;
}
const bool added = add_all();

}  // namespace
