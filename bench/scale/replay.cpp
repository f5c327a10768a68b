// SPDX-License-Identifier: BSL-1.0
// Whole replays on 16 nodes of 8 GPUs, all metrics on and nothing written, under each preset:
// - `teams`: the two weeks of three teams (sim/generate.hpp) under their tree of quotas;
// - `uniform`: 50,000 jobs of three tenants that lend each other what they leave idle, at 90 % load;
// - `tenants`: the same of 100 tenants;
// - `philly128`: the real trace, if it is in the directory ALLOT_TRACES or in ../shared/traces.
// The set-up of the simulation is not measured. `jobs` and `events` are per second.
#include <allot/lab/generate.hpp>
#include <allot/lab/metrics/metrics.hpp>
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_jobs.hpp>
#include <allot/sim/observers.hpp>
#include <allot/sim/run_log.hpp>
#include <allot/sim/simulator.hpp>
#include <allot/systems/by_name/catalog.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace allot::lab;
using namespace allot::sim;
using allot::gpus;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;

/// A workload and the quotas that it is submitted to.
struct input {
  std::vector<quota_spec<1>> specs;
  std::vector<job<1>> jobs;
};

/// Every tenant of the trace is submitted to the quota of its name.
input make_input(trace t, std::vector<quota_spec<1>> specs) {
  std::vector<quota_id> quotas(t.tenants.size(), quota_id{0});
  for (std::size_t x = 0; x < specs.size(); ++x) {
    if (const name_id tenant = t.tenants.find(specs[x].name)) quotas[tenant.index()] = quota_id{x};
  }
  std::vector<job<1>> jobs = to_jobs<1>(t, quotas, quota_id{0});
  return {std::move(specs), std::move(jobs)};
}

/// The cluster divided evenly among the tenants, who lend each other all of it.
input share_evenly(const trace& t) {
  return make_input(t, tenant_quotas<1>(t, resources<1>{gpus(128)}));
}

input teams() {
  std::vector<quota_spec<1>> specs(3);
  specs[0].name = "quota1";
  specs[0].nominal = resources<1>{gpus(128)};
  specs[0].inclusive = true;
  specs[1].name = "quota1.1";
  specs[1].parent = "quota1";
  specs[1].nominal = resources<1>{gpus(48)};
  specs[2].name = "quota1.2";
  specs[2].parent = "quota1";
  specs[2].nominal = resources<1>{gpus(80)};
  return make_input(generate_teams({}), std::move(specs));
}

input uniform(std::size_t tenants) {
  uniform_workload w;
  w.jobs = 50'000;
  w.tenants = tenants;
  return share_evenly(generate_uniform(w));
}

/// The real trace, without jobs if it is not there.
input philly() {
  const char* directory = std::getenv("ALLOT_TRACES");
  // This file is in <repository>/bench/scale.
  const std::filesystem::path sources = std::filesystem::path{__FILE__}.parent_path() / ".." / "..";
  const std::filesystem::path traces =
      directory != nullptr ? directory : sources / ".." / "shared" / "traces";
  std::ifstream file{traces / "philly128" / "jobs.csv", std::ios::binary};
  trace_reading reading = read_trace_csv(file);
  return reading ? share_evenly(reading.value) : input{};
}

template <class Preset>
void replay(benchmark::State& state, const std::shared_ptr<const input>& given) {
  const auto cluster = allot::gpu::build_cluster({{.name = "n", .count = 16, .gpus = 8}}).value();
  std::uint64_t events = 0;
  std::uint64_t preemptions = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.PauseTiming();
    setup<1> s{allot::build_quota_tree(given->specs).value(),
               std::vector<allot::queue_settings>(given->specs.size(), Preset{}.defaults()),
               places{cluster},
               given->jobs,
               {},
               {}};
    // The service of the teams takes what it needs from the quotas below.
    if (!Preset::ignores_quotas) s.settings.front().preempt.children = true;
    auto simulation = simulator<1>::make(std::move(s), Preset{});
    metrics<1> measure;
    run_log log;
    run_logger<1> runs{log};
    observers<1> watch{&measure, &runs};
    state.ResumeTiming();
    if (!simulation.value().run(watch).empty()) state.SkipWithError("the replay stopped");
    const run_figures figures = measure.figures(simulation.value());
    preemptions = figures.of.preemptions;
    events = simulation.value().events();
  }
  const auto per_second = [](std::uint64_t n) {
    return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["jobs"] = per_second(given->jobs.size());
  state.counters["events"] = per_second(events);
  state.counters["preemptions"] = static_cast<double>(preemptions);
}

void add(const std::string& name, input given) {
  if (given.jobs.empty()) return;
  const auto kept = std::make_shared<const input>(std::move(given));
  allot::for_each_preset([&](auto preset) {
    const std::string full = "replay/" + name + '/' + std::string{preset.name};
    benchmark::RegisterBenchmark(full.c_str(), replay<decltype(preset)>, kept)->Unit(benchmark::kMillisecond);
  });
}

/// Before main(), as BENCHMARK() does it, because the names depend on what there is.
const bool added = [] {
  add("teams", teams());
  add("uniform", uniform(3));
  add("tenants", uniform(100));
  add("philly128", philly());
  return true;
}();

}  // namespace
