// SPDX-License-Identifier: BSL-1.0
// What `allot replay` does between reading and writing, on generated workloads: the policy chosen by name,
// all metrics, the series of every quota, jobs and places remembered; only that nothing reaches a disk.
// - `philly128`: as many jobs, tenants and GPUs as philly128, at its load;
// - `philly`: as many as the whole of Philly, 82,247 of 11 tenants on 2,816 GPUs;
// - `million`: 1,000,000 jobs of 30 tenants on 10,000 GPUs, 1.25 jobs a second; `million_of_100` and
//   `million_of_10000`: the same of so many tenants;
// - `million_mix`: as many of the generator's mix, in which a fifth of the jobs may not be preempted and the
//   others make way.
// `events` and `decisions` are per second; the others are the parts of the time of one replay, and the most
// memory that the program ever had.
#include "lab/replay/replay.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/scenario/scenario.hpp"
#include "lab/workload/generated.hpp"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace {

namespace lab = allot::lab;

/// Its tenants own equal parts of the cluster and lend each other all that they leave idle.
lab::generated_workload workload(const char* model, std::int64_t gpus, std::int64_t jobs,
                                 std::int64_t tenants, std::int64_t load_permille) {
  lab::generated_workload w;
  w.model = model;
  w.gpus = gpus;
  w.jobs = jobs;
  w.tenants = tenants;
  w.load = load_permille;
  return w;
}
const lab::generated_workload philly128 = workload("uniform", 128, 53'069, 3, 734);
const lab::generated_workload philly = workload("uniform", 2'816, 82'247, 11, 700);
const lab::generated_workload million = workload("uniform", 10'000, 1'000'000, 30, 800);
const lab::generated_workload million_of_100 = workload("uniform", 10'000, 1'000'000, 100, 800);
const lab::generated_workload million_of_10000 = workload("uniform", 10'000, 1'000'000, 10'000, 800);
const lab::generated_workload million_mix = workload("mix", 10'000, 1'000'000, 3, 800);

std::string scenario_text(std::int64_t gpus, const std::string& policy) {
  return R"({"format": "allot-scenario/1", "policy": ")" + policy +
         R"(", "cluster": {"nodes": [{"name": "n", "count": )" + std::to_string(gpus / 8) +
         R"(, "gpus": 8}]}})";
}

void lab_replay(benchmark::State& state, const lab::generated_workload& w, const char* policy) {
  const allot::lab::trace trace = lab::make_generated(w, 1);
  lab::scenario_source source;
  source.file = "scenario";
  source.workload = &trace;
  source.workload_name = "generated";
  lab::errors found;

  lab::replay_control control;
  control.timed = true;
  control.show_progress = false;
  std::uint64_t events = 0;
  std::uint64_t decisions = 0;
  lab::replay_timing spent;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.PauseTiming();
    auto scenario = lab::parse_scenario(scenario_text(w.gpus, policy), source, found);
    if (!scenario) return state.SkipWithError(found.to_string().c_str());
    state.ResumeTiming();
    lab::replay_result r = lab::result_for(*scenario, 1, true);
    lab::output_file nowhere;
    const lab::replay_stop stop = lab::run_replay<1>(*scenario, {nowhere, nullptr}, r, control);
    if (!stop.problems.empty() || !stop.found.empty()) state.SkipWithError("the replay stopped");
    events += r.events;
    decisions += r.decisions;
    spent = r.timing;
  }
  const auto rate = [](std::uint64_t n) {
    return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate);
  };
  const auto seconds = [](std::chrono::nanoseconds n) { return static_cast<double>(n.count()) / 1e9; };
  state.counters["events"] = rate(events);
  state.counters["decisions"] = rate(decisions);
  state.counters["deciding_s"] = seconds(spent.simulation - spent.metrics - spent.runs - spent.series);
  state.counters["metrics_s"] = seconds(spent.metrics);
  state.counters["series_s"] = seconds(spent.runs + spent.series);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  state.counters["most_memory_MB"] = static_cast<double>(used.ru_maxrss) / 1024;
}

BENCHMARK_CAPTURE(lab_replay, philly128 / standard, philly128, "standard")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lab_replay, philly128 / fifo, philly128, "fifo")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lab_replay, philly128 / kueue, philly128, "kueue")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lab_replay, philly / standard, philly, "standard")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lab_replay, million / standard, million, "standard")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(lab_replay, million_of_100 / standard, million_of_100, "standard")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(lab_replay, million_of_10000 / standard, million_of_10000, "standard")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(lab_replay, million_mix / standard, million_mix, "standard")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(lab_replay, million_mix / fifo, million_mix, "fifo")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
