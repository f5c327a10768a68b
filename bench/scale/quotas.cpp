// SPDX-License-Identifier: BSL-1.0
// What a quota costs: `quotas/PRESET/n` replays n jobs of as many quotas, which share the cluster evenly and
// lend each other all that they leave idle. All wait at once for 32 GPUs, one each, which they have for an
// hour or two. It is what `allot replay --nodes 4x8 --trace FILE` does between reading and writing, as in
// lab_replay.cpp, with all that is said there. `deciding_s` and the like are parts of the time of one replay.
#include "lab/replay/replay.hpp"
#include "lab/replay/replay_run.hpp"
#include "lab/scenario/scenario.hpp"

#include <allot/core/quantity.hpp>
#include <allot/lab/trace.hpp>
#include <allot/sim/job.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace {

namespace lab = allot::lab;

lab::trace one_job_each(std::int64_t quotas) {
  lab::trace t;
  for (std::int64_t i = 0; i < quotas; ++i) {
    lab::trace_job& j = t.jobs.emplace_back();
    j.id = t.ids.intern('j' + std::to_string(i)).name;
    j.tenant = t.tenants.intern('t' + std::to_string(i)).name;
    j.duration = (3600 + i * 37 % 3600) * allot::sim::second;
    j.gpus = allot::gpus(1);
  }
  return t;
}

void quotas(benchmark::State& state, const char* policy) {
  const lab::trace trace = one_job_each(state.range(0));
  lab::scenario_source source;
  source.file = "scenario";
  source.workload = &trace;
  source.workload_name = "one job each";
  const std::string text = std::string{R"({"format": "allot-scenario/1", "policy": ")"} + policy +
                           R"(", "cluster": {"nodes": [{"name": "n", "count": 4, "gpus": 8}]}})";
  lab::replay_control control;
  control.timed = true;
  control.show_progress = false;
  lab::replay_timing spent;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.PauseTiming();
    lab::errors found;
    auto scenario = lab::parse_scenario(text, source, found);
    if (!scenario) return state.SkipWithError(found.to_string().c_str());
    state.ResumeTiming();
    lab::replay_result r = lab::result_for(*scenario, 1, true);
    lab::output_file nowhere;
    const lab::replay_stop stop = lab::run_replay<1>(*scenario, {nowhere, nullptr}, r, control);
    if (!stop.problems.empty() || !stop.found.empty()) state.SkipWithError("the replay stopped");
    spent = r.timing;
  }
  const auto seconds = [](std::chrono::nanoseconds n) { return static_cast<double>(n.count()) / 1e9; };
  state.counters["deciding_s"] = seconds(spent.simulation - spent.metrics - spent.runs - spent.series);
  state.counters["metrics_s"] = seconds(spent.metrics);
  state.counters["series_s"] = seconds(spent.runs + spent.series);
  state.SetComplexityN(state.range(0));
}

/// Each up to as many quotas as it takes seconds for.
void add(std::initializer_list<const char*> policies, std::int64_t most) {
  for (const char* const policy : policies) {
    auto* const family =
        benchmark::RegisterBenchmark((std::string{"quotas/"} + policy).c_str(), quotas, policy);
    for (const std::int64_t n : {1'000, 3'000, 10'000, 30'000, 100'000}) {
      if (n <= most) family->Arg(n);
    }
    family->Iterations(1)->Unit(benchmark::kMillisecond)->Complexity();
  }
}

const bool added = [] {
  add({"standard", "hyperpod", "pai", "fifo", "kueue", "kueue_fair"}, 100'000);
  add({"runai"}, 3'000);
  return true;
}();

}  // namespace
