// SPDX-License-Identifier: BSL-1.0
// What a cycle in phases (KAI) costs on full clusters of (nodes) with eight GPUs each: when nothing has
// changed, when a gang as large as an eighth of the cluster can't be served, and when it can; and how an
// event grows with the number of quotas.
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kai/runai.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace {

using allot::gpus;
using allot::quota_id;

struct job_entry {
  quota_id quota;
  std::int64_t each = 1;
  std::uint32_t pods = 1;
  std::uint64_t number = 0;
  bool may_go = true;
};
struct view {
  using job = const job_entry*;
  allot::resources<> has{};

  quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return gpus(j->each) * j->pods; }
  std::int64_t priority(job) const { return 0; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  bool preemptible(job j) const { return j->may_go; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = gpus(j->each), .pods = j->pods}; }
  allot::resources<> capacity() const { return has; }
};
using scheduler = allot::scheduler<view, allot::gpu::inventory, allot::kai_policies>;

/// Two teams share a full cluster, and a third waits that deserves `deserved`.
class world {
 public:
  world(std::int64_t nodes, std::int64_t deserved, bool a_keeps = false) : scheduler_(make(nodes, deserved)) {
    for (std::int64_t n = 0; n < nodes; ++n) {
      const bool of_a = n % 2 == 0;
      jobs_.push_back({scheduler_.tree().find(of_a ? "a" : "b"), 8, 1, jobs_.size() + 1, !(of_a && a_keeps)});
      const auto at = scheduler_.take_place({.gpus = gpus(8)});
      static_cast<void>(scheduler_.adopt(&jobs_.back(), 0, *at));
    }
    jobs_.push_back({scheduler_.tree().find("c"), 1, static_cast<std::uint32_t>(nodes), jobs_.size() + 1});
  }
  [[nodiscard]] scheduler& get() { return scheduler_; }
  [[nodiscard]] const job_entry& gang() const { return jobs_.back(); }

 private:
  static scheduler make(std::int64_t nodes, std::int64_t deserved) {
    std::vector<allot::quota_spec<>> specs(4);
    const std::int64_t half = nodes * 4;
    const std::int64_t nominal[] = {nodes * 8, half, half, deserved};
    const char* names[] = {"root", "a", "b", "c"};
    for (std::size_t i = 0; i < 4; ++i) {
      specs[i].name = names[i];
      if (i > 0) specs[i].parent = "root";
      specs[i].nominal = gpus(i == 1 || i == 2 ? nominal[i] - deserved / 2 : nominal[i]);
    }
    allot::runai{}.adapt(specs);
    std::vector<allot::gpu::node_spec> layout(static_cast<std::size_t>(nodes));
    for (std::size_t n = 0; n < layout.size(); ++n) {
      layout[n].name = std::to_string(n);
      layout[n].gpus = 8;
    }
    return scheduler{view{gpus(nodes * 8)}, allot::build_quota_tree(specs).value(),
                     allot::gpu::inventory{allot::gpu::build_cluster(layout).value()}, allot::kai_policies{}};
  }

  std::deque<job_entry> jobs_;
  scheduler scheduler_;
};

void unchanged(benchmark::State& state) {
  world w{state.range(0), 0};
  static_cast<void>(w.get().submit(&w.gang()));
  w.get().step(1);
  allot::instant now = 1;
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(w.get().step(++now).evictions.size());
}
BENCHMARK(unchanged)->ArgName("nodes")->Arg(512);

/// One team is protected, and half of the gang can be served by the other: that this is not enough is found
/// out by the search.
void failing_gang(benchmark::State& state) {
  world w{state.range(0), state.range(0), true};
  static_cast<void>(w.get().submit(&w.gang()));
  allot::instant now = 0;
  std::size_t evictions = 0;
  for ([[maybe_unused]] auto _ : state) {
    w.get().retry();
    evictions += w.get().step(++now).evictions.size();
  }
  if (evictions != 0) state.SkipWithError("a job went");
}
BENCHMARK(failing_gang)->ArgName("nodes")->Arg(64)->Arg(512)->Arg(2048)->Unit(benchmark::kMicrosecond);

/// An eighth of the cluster comes back.
void reclaiming_gang(benchmark::State& state) {
  std::size_t evictions = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    world w{state.range(0), state.range(0)};
    static_cast<void>(w.get().submit(&w.gang()));
    state.ResumeTiming();
    evictions += w.get().step(1).evictions.size();
  }
  state.counters["evictions"] =
      benchmark::Counter(static_cast<double>(evictions), benchmark::Counter::kAvgIterations);
}
BENCHMARK(reclaiming_gang)->ArgName("nodes")->Arg(16)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

/// Quotas with equal parts of a cluster of two nodes each, and 20 jobs of 1 to 8 GPUs each, five times what
/// there is. One job ends, its quota or another submits one, and the plans are carried out until there are
/// none.
void event_among_quotas(benchmark::State& state) {
  const auto quotas = static_cast<std::size_t>(state.range(0));
  const auto parents = static_cast<std::size_t>(state.range(1));
  const auto nodes = static_cast<std::int64_t>(2 * quotas);
  std::vector<allot::quota_spec<>> specs(1);
  specs[0].name = "root";
  specs[0].nominal = gpus(8 * nodes);
  for (std::size_t p = 0; p < parents; ++p)
    specs.push_back({.name = "p" + std::to_string(p), .parent = "root"});
  for (std::size_t q = 0; q < quotas; ++q) {
    const std::string parent = parents == 0 ? "root" : "p" + std::to_string(q % parents);
    specs.push_back({.name = std::to_string(q), .parent = parent, .nominal = gpus(16)});
  }
  allot::runai{}.adapt(specs);
  scheduler s{
      view{gpus(nodes * 8)}, allot::build_quota_tree(specs).value(),
      allot::gpu::inventory{allot::gpu::build_cluster({{.name = "n", .count = nodes, .gpus = 8}}).value()},
      allot::kai_policies{}};
  std::deque<job_entry> jobs;
  std::deque<allot::job_id> running;
  std::uint64_t random = 1;
  const auto draw = [&](std::size_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(random >> 33U) % below;
  };
  const auto submit = [&](std::size_t q) {
    jobs.push_back({s.tree().find(std::to_string(q)), std::int64_t{1} << draw(4), 1, jobs.size() + 1});
    static_cast<void>(s.submit(&jobs.back()));
  };
  allot::instant now = 0;
  std::size_t evictions = 0;
  const auto settle = [&] {
    for (;;) {
      const auto& plan = s.step(++now);
      if (plan.admissions.empty() && plan.evictions.empty()) return;
      evictions += plan.evictions.size();
      for (const auto& a : plan.admissions) running.push_back(a.id);
      std::vector<allot::job_id> gone;
      for (const auto& e : plan.evictions) gone.push_back(e.id);
      for (const allot::job_id id : gone) s.evicted(id);
    }
  };
  for (std::size_t j = 0; j < 20 * quotas; ++j) submit(j % quotas);
  settle();
  evictions = 0;
  for ([[maybe_unused]] auto _ : state) {
    allot::job_id ended{};
    do {
      ended = running.front();
      running.pop_front();
    } while (s.state(ended) != allot::job_state::running);
    s.finished(ended);
    submit(draw(quotas));
    settle();
  }
  state.counters["evictions"] =
      benchmark::Counter(static_cast<double>(evictions), benchmark::Counter::kAvgIterations);
}
BENCHMARK(event_among_quotas)
    ->ArgNames({"quotas", "parents"})
    ->ArgsProduct({{10, 20, 50, 100, 200}, {0}})
    ->Args({100, 10})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(20);

}  // namespace
