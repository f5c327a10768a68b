// SPDX-License-Identifier: BSL-1.0
// The loop as a whole: one decision, a reclaim, and a cycle in which nothing changed.
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>
#include <allot/systems/kueue/kueue.hpp>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  int gpus = 1;
  int priority = 0;
};

/// Jobs by number in a table of the host.
struct view {
  using job = std::uint32_t;
  const std::vector<job_entry>* jobs;

  quota_id quota(job j) const { return (*jobs)[j].quota; }
  allot::resources<> request(job j) const { return gpus((*jobs)[j].gpus); }
  int priority(job j) const { return (*jobs)[j].priority; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus((*jobs)[j].gpus), .total = true}; }
};

using placed_scheduler = allot::scheduler<view, allot::gpu::inventory>;

allot::gpu::inventory nodes(std::int64_t count) {
  return allot::gpu::inventory{allot::gpu::build_cluster({{.name = "n", .count = count, .gpus = 8}}).value()};
}

/// `count` quotas of `each` GPUs under one root.
allot::quota_tree<> flat_tree(std::size_t count, std::int64_t each) {
  std::vector<allot::quota_spec<>> specs(1);
  specs[0].name = "root";
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back({.name = std::to_string(i), .parent = "root", .nominal = gpus(each)});
  }
  return allot::build_quota_tree(std::move(specs)).value();
}

/// A job is submitted, admitted and placed, and ends, on 128 GPUs of which half are in use.
void one_decision(benchmark::State& state) {
  std::vector<job_entry> jobs;
  const auto tree = flat_tree(4, 32);
  for (std::size_t i = 0; i < 64; ++i) jobs.push_back({quota_id{1 + i % 4}, 1});
  jobs.push_back({quota_id{2}, 4});
  placed_scheduler s{view{&jobs}, tree, nodes(16)};
  for (std::uint32_t j = 0; j < 64; ++j) static_cast<void>(s.submit(j));
  s.step(0);
  std::size_t admitted = 0;
  for (auto _ : state) {
    const allot::job_id id = s.submit(64);
    admitted += s.step(1).admissions.size();
    s.finished(id);
    benchmark::DoNotOptimize(s.step(1));
  }
  if (admitted != static_cast<std::size_t>(state.iterations())) state.SkipWithError("a job was not admitted");
}
BENCHMARK(one_decision);

/// Nothing has changed: quotas x pending jobs.
void no_change(benchmark::State& state) {
  const auto quotas = static_cast<std::size_t>(state.range(0));
  const auto pending = static_cast<std::size_t>(state.range(1));
  std::vector<job_entry> jobs;
  for (std::size_t i = 0; i < pending; ++i) jobs.push_back({quota_id{1 + i % quotas}, 1});
  const auto tree = flat_tree(quotas, 1);
  allot::scheduler<view> s{view{&jobs}, tree};
  for (std::uint32_t j = 0; j < pending; ++j) static_cast<void>(s.submit(j));
  s.step(0);
  std::size_t decided = 0;
  for (auto _ : state) decided += s.step(1).pending.size();
  if (decided != 0) state.SkipWithError("something was decided");
}
BENCHMARK(no_change)->ArgNames({"quotas", "pending"})->ArgsProduct({{10, 10'000}, {100'000, 1'000'000}});

/// One job ends and the next takes its place, with every quota full and `pending` jobs waiting.
void replace_one(benchmark::State& state) {
  const auto quotas = static_cast<std::size_t>(state.range(0));
  const auto pending = static_cast<std::size_t>(state.range(1));
  std::vector<job_entry> jobs;
  for (std::size_t i = 0; i < quotas + pending; ++i) jobs.push_back({quota_id{1 + i % quotas}, 1});
  const auto tree = flat_tree(quotas, 1);
  allot::scheduler<view> s{view{&jobs}, tree};
  std::vector<allot::job_id> running(quotas);
  for (std::uint32_t j = 0; j < jobs.size(); ++j) static_cast<void>(s.submit(j));
  for (const auto& a : s.step(0).admissions) running[a.what % quotas] = a.id;
  std::size_t next = 0;
  for (auto _ : state) {
    const std::size_t q = next++ % quotas;
    const std::uint32_t ended = s.what(running[q]);
    s.finished(running[q]);
    static_cast<void>(s.submit(ended));
    const auto& plan = s.step(1);
    if (plan.admissions.size() != 1) state.SkipWithError("not one for one");
    running[plan.admissions.front().what % quotas] = plan.admissions.front().id;
  }
}
BENCHMARK(replace_one)
    ->ArgNames({"quotas", "pending"})
    ->ArgsProduct({{10, 100, 1'000, 10'000}, {1'000, 100'000, 1'000'000}});

/// A gang of 64 takes back what its quota lent to hundreds of one-GPU jobs, on 64 nodes.
void reclaim(benchmark::State& state) {
  std::vector<job_entry> jobs(512, {quota_id{2}, 1});
  jobs.push_back({quota_id{1}, 64});
  const auto tree = flat_tree(2, 256);
  std::size_t evicted = 0;
  for (auto _ : state) {
    state.PauseTiming();
    placed_scheduler s{view{&jobs}, tree, nodes(64)};
    for (std::uint32_t j = 0; j < 512; ++j) static_cast<void>(s.submit(j));
    s.step(0);
    static_cast<void>(s.submit(512));
    state.ResumeTiming();
    evicted += s.step(1).evictions.size();
  }
  if (evicted != 64 * static_cast<std::size_t>(state.iterations())) state.SkipWithError("not 64 victims");
}
BENCHMARK(reclaim)->Unit(benchmark::kMicrosecond);

/// Jobs with pairwise different requests, by number.
struct different_view {
  using job = std::uint32_t;
  quota_id quota(job) const { return quota_id{0}; }
  allot::resources<> request(job j) const { return allot::quantity::milli(100 + j); }
  int priority(job) const { return 0; }
  allot::instant time_limit(job) const { return 1'000'000'000; }
};

/// A scheduler's long life: so many jobs arrive, run 100 steps and end. What a job costs, and what is held in
/// the end that was not held after the first 1,000 jobs.
template <class Preset>
void different_jobs(benchmark::State& state) {
  const auto jobs = static_cast<std::uint32_t>(state.range(0));
  std::size_t grown = 0;
  for (auto _ : state) {
    auto s = allot::make_scheduler(Preset{}, different_view{}, {{.name = "all", .nominal = gpus(1'000'000)}})
                 .value();
    std::vector<allot::job_id> running(100);
    std::size_t held = 0;
    for (std::uint32_t j = 0; j < jobs; ++j) {
      if (j == 1'000) held = mallinfo2().uordblks;
      s.finished(running[j % 100]);
      running[j % 100] = s.submit(j);
      benchmark::DoNotOptimize(s.step(j));
    }
    grown = mallinfo2().uordblks - std::min<std::size_t>(held, mallinfo2().uordblks);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(jobs) * static_cast<std::int64_t>(state.iterations()));
  state.counters["per_job"] = benchmark::Counter(
      static_cast<double>(jobs), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["grown_bytes"] = static_cast<double>(grown);
}
BENCHMARK(different_jobs<allot::standard>)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(different_jobs<allot::kueue>)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(different_jobs<allot::runai>)->Arg(10'000)->Arg(1'000'000);

}  // namespace
